//! A second label for positions of data files, by another engine: a search of the position, then every move at a small
//! depth with the same hash table. Old and new label stand beside each other in the output ([`train::data::relabelled`]).

use super::annotate::{Annotator, LabelError, ask, ask_all_moves};
use super::harvest::stored;
use crate::uci_client::{Player, Transport};
use chess::action::Action;
use chess::game::Game;
use engine::process::errors::wraps;
use engine::process::interrupt::while_reading;
use engine::process::progress::progress;
use engine::process::shard::Shard;
use engine::process::workers::{WorkerLimits, cores, deal};
use nn::encode::canonical_moves;
use nn::encode::moves::canonical_move;
use nn::rng::scramble;
use serde_json::json;
use shakmaty::{CastlingMode, Chess, Position};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use train::data::label::{stored_value, win_probability};
use train::data::record::{Header, MavgGame, VALUE_UNKNOWN};
use train::data::relabelled::{RelabelWriter, Relabelled};
use train::data::{self, DataError, FileReader, MixConfig};

/// Positions per chunk: what a kill may lose, some 10 s of a core.
const CHUNK: usize = 1_000;
/// Option for the number of moves that a search values.
const MULTI_PV: &str = "MultiPV";
/// More than the legal moves of any position.
const ALL_MOVES: &str = "218";

/// Parameters.
pub struct Relabelling {
    /// Data file with action values (MAVG1 or SELF1); its held-out games are left out.
    pub file: PathBuf,
    /// Output file; the run continues after the labels in it.
    pub out: PathBuf,
    /// The labelling engine.
    pub annotator: Annotator,
    /// Nodes for the best move and the score.
    pub nodes: u64,
    /// Depth of the values of all moves, in plies.
    pub depth: u32,
    /// Which positions.
    pub selection: Selection,
    /// Which part of them.
    pub shard: Shard,
    /// Number of engines; None = one per core.
    pub concurrency: Option<usize>,
    /// Set to stop: no further position is started.
    pub stop: Arc<AtomicBool>,
}

/// Positions of a file, the same in every run.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Maximum number of positions.
    pub count: u64,
    /// One game in this many, at least 1.
    pub every: u64,
    /// Maximum number of positions of a game, evenly spread.
    pub per_game: usize,
}

/// Reason for the end of labelling.
#[derive(Debug)]
pub enum RelabelError {
    /// A file cannot be read or written.
    Data(DataError),
    /// The engine cannot be started, or failed.
    Label(LabelError),
    /// No position to label.
    Empty(PathBuf),
}

impl fmt::Display for RelabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RelabelError::Data(why) => why.fmt(f),
            RelabelError::Label(why) => why.fmt(f),
            RelabelError::Empty(path) => write!(
                f,
                "{} has no position with action values (MAVG1 or SELF1) that is not held out",
                path.display()
            ),
        }
    }
}

impl std::error::Error for RelabelError {}

wraps! { RelabelError: Data(DataError), Label(LabelError) }

impl Selection {
    /// Plies of a game.
    fn plies(&self, game: &data::Game) -> Vec<usize> {
        let data::Game::Mavg(game) = game else { return Vec::new() };
        let index = game.header.index;
        if MixConfig::new(Vec::new()).holds_out(index) || !index.is_multiple_of(self.every) {
            return Vec::new();
        }
        let len = game.positions.len();
        let taken = self.per_game.min(len);
        // Another phase in each game, or only plies of the same number would be taken.
        let phase = scramble(index) as usize % len.max(1);
        (0..taken).map(|at| (at * len + phase) / taken).collect()
    }

    /// Number of positions of a file.
    fn total(&self, path: &Path) -> Result<u64, DataError> {
        let mut total = 0;
        for game in FileReader::open(path)? {
            total += self.plies(&game?).len() as u64;
            if total >= self.count {
                return Ok(self.count);
            }
        }
        Ok(total)
    }
}

/// The position at `ply` with its label, as a game of its own.
fn single(game: &MavgGame, ply: usize, position: &Chess) -> Result<MavgGame, DataError> {
    let record = &game.positions[ply];
    let header = Header { start: position.clone(), ..game.header.clone() };
    let mut one = MavgGame::new(header);
    let moves = (record.best, record.played);
    one.push(record.offset, moves, record.score, game.values(record))?;
    Ok(one)
}

/// The selected positions of a game.
fn positions(game: &data::Game, selection: &Selection) -> Result<Vec<MavgGame>, DataError> {
    let plies = selection.plies(game);
    let data::Game::Mavg(game) = game else { return Ok(Vec::new()) };
    let mut position = game.header.start.clone();
    let mut found = Vec::with_capacity(plies.len());
    let last = plies.last().map_or(0, |last| last + 1);
    for ply in 0..last {
        if plies.contains(&ply) {
            found.push(single(game, ply, &position)?);
        }
        let played = usize::from(game.positions[ply].played);
        let Some(played) = canonical_move(&position, played) else { break };
        position.play_unchecked(played);
    }
    Ok(found)
}

/// Labels the position of `old`. The engine's hash table is not cleared before: clearing costs more than the label.
///
/// # Errors
/// The engine is lost, or returns no legal move or no score.
fn relabel<T: Transport>(
    old: &MavgGame,
    engine: &mut Player<T>,
    (nodes, depth): (u64, u32),
) -> Result<MavgGame, RelabelError> {
    let mode = CastlingMode::from_chess960(old.header.chess960);
    let game = Game::new(old.header.start.clone(), mode);
    let moves = canonical_moves(game.position());
    engine.set_option(MULTI_PV, "1").map_err(LabelError::from)?;
    let (best, score) = ask(engine, &game, nodes, None)?;
    engine.set_option(MULTI_PV, ALL_MOVES).map_err(LabelError::from)?;
    let asked = [(game, Vec::new())];
    let values = ask_all_moves(engine, &asked, depth)?.into_iter().flatten();
    let score = stored(score);
    // As in the data files: no move is better than the best one of the longer search.
    let most = win_probability(score);
    let mut values: Vec<(Action, f32)> =
        values.map(|(action, score)| (action, win_probability(stored(score)).min(most))).collect();
    values.retain(|(action, _)| *action != best);
    values.push((best, most));
    let value = |action: Action| values.iter().find(|(known, _)| *known == action);
    let bytes: Vec<u8> = moves
        .iter()
        .map(|m| value(Action::new(*m)).map_or(VALUE_UNKNOWN, |(_, win)| stored_value(*win)))
        .collect();
    let best = moves.iter().position(|m| Action::new(*m) == best).unwrap_or_default();
    let played = old.positions.first().map_or(0, |record| record.played);
    let mut new = MavgGame::new(old.header.clone());
    // At most 218 moves.
    new.push(0, (best as u8, played), score, &bytes)?;
    Ok(new)
}

impl Relabelling {
    /// Labels the remaining positions. Blocks; shows a progress bar on stderr. Returns the numbers of labelled and of
    /// all positions.
    ///
    /// # Errors
    /// A file cannot be read or written, or the engine fails. Finished chunks are kept.
    pub fn run(&self) -> Result<(u64, u64), RelabelError> {
        let total = while_reading(|| self.selection.total(&self.file))?;
        if total == 0 {
            return Err(RelabelError::Empty(self.file.clone()));
        }
        let all = self.shard.count(total);
        let (mut out, mut held) = while_reading(|| {
            RelabelWriter::open(&self.out, &self.origin()?).map_err(RelabelError::from)
        })?;
        let bar = progress(usize::try_from(all).unwrap_or(usize::MAX));
        bar.set_position(held);
        let mut left = self.left(held, total)?;
        while held < all && !self.stop.load(Ordering::Relaxed) {
            let tasks = left.by_ref().take(CHUNK).collect::<Result<Vec<_>, _>>()?;
            let (labels, result) = self.chunk(&tasks, &|| bar.inc(1));
            held += labels.len() as u64;
            out.write(&labels)?;
            result?;
            if tasks.is_empty() {
                break;
            }
        }
        bar.finish_and_clear();
        Ok((held, all))
    }

    /// Positions of this part after the first `held`.
    fn left(
        &self,
        held: u64,
        total: u64,
    ) -> Result<impl Iterator<Item = Result<MavgGame, DataError>>, DataError> {
        let selection = self.selection;
        let of_game = move |game: Result<data::Game, DataError>| match game
            .and_then(|game| positions(&game, &selection))
        {
            Ok(found) => found.into_iter().map(Ok).collect(),
            Err(why) => vec![Err(why)],
        };
        let all = FileReader::open(&self.file)?.flat_map(of_game);
        let first = self.shard.dealt(held);
        let step = self.shard.dealt(1) - self.shard.dealt(0);
        let whole = usize::try_from(total).unwrap_or(usize::MAX);
        Ok(all.take(whole).skip(first as usize).step_by(step as usize))
    }

    /// Labels of the first positions of a chunk, all unless it was stopped: the next run continues after them.
    fn chunk(
        &self,
        tasks: &[MavgGame],
        done: &dyn Fn(),
    ) -> (Vec<Relabelled>, Result<(), RelabelError>) {
        let start = || {
            let mut engine = self.annotator.start()?;
            let mut mode = None;
            Ok(move |&(at, old): &(usize, &MavgGame)| {
                let chess960 = old.header.chess960;
                if mode.replace(chess960) != Some(chess960) {
                    engine.new_game(chess960).map_err(LabelError::from)?;
                }
                Ok((at, relabel(old, &mut engine, (self.nodes, self.depth))?))
            })
        };
        let numbered: Vec<(usize, &MavgGame)> = tasks.iter().enumerate().collect();
        let crew = WorkerLimits { count: self.concurrency.unwrap_or_else(cores), stop: &self.stop };
        let mut new = vec![None; tasks.len()];
        let result = deal(&numbered, crew, start, |_, (at, label)| {
            new[at] = Some(label);
            done();
            Ok(())
        });
        let both = tasks
            .iter()
            .zip(new)
            .map_while(|(old, new)| new.map(|new| Relabelled { old: old.clone(), new }));
        (both.collect(), result)
    }

    /// How the new labels are made, and which positions they belong to.
    fn origin(&self) -> Result<String, LabelError> {
        let Selection { count, every, per_game } = self.selection;
        let file = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let origin = json!({
            "engine": self.annotator.start()?.name(),
            "options": self.annotator.options,
            "nodes": self.nodes,
            "depth": self.depth,
            "file": file,
            "count": count,
            "every": every,
            "per_game": per_game,
            "shard": [self.shard.dealt(0) + 1, self.shard.dealt(1) - self.shard.dealt(0)],
        });
        Ok(origin.to_string())
    }
}

#[cfg(test)]
mod tests;
