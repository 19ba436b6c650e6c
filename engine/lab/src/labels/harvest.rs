//! Labels positions of many search trees with several engines in parallel. A [`Method`] selects and labels positions.
//! The file grows by chunks: an interrupted run, by Ctrl-C too, resumes where it stopped.

use super::annotate::{Annotator, LabelError};
use super::roots::{Roots, RootsError};
use crate::uci_client::{Player, Transport};
use chess::action::Action;
use chess::game::Game;
use engine::process::errors::wraps;
use engine::process::interrupt::while_reading;
use engine::process::progress::progress;
use engine::process::workers::{WorkerLimits, cores, deal};
use nn::EvalError;
use nn::encode::canonical_moves;
use nn::rng::{Rng, split_mix};
use shakmaty::CastlingMode;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use train::data::chunks::ChunkWriter;
use train::data::label::{stored_value, win_probability};
use train::data::record::{Format, GameResult, Header, MavgGame, VALUE_UNKNOWN};
use train::data::{self, DataError};
use train::nnue::Sample;
use train::nnue::samples::SampleWriter;
use uci::Score;

/// Roots per chunk: what a kill may lose, up to half a minute of two cores.
const CHUNK: usize = 1500;
/// File format: a mate in n is ±(32000 − n), other scores are smaller.
const MAX_CENTIPAWNS: i32 = 30_000;
pub(super) const MATE: i16 = 32_000;
const MAX_MATE_MOVES: i32 = 999;

/// Parameters of a run.
pub struct Harvest<M> {
    /// Data files with action values, of which the games that are not held out are used; or files of positions.
    pub files: Vec<PathBuf>,
    /// Output file; labels in it count towards `count`.
    pub out: PathBuf,
    /// Total number of labelled positions.
    pub count: u64,
    /// Selection and labelling.
    pub method: M,
    /// The labelling engine.
    pub annotator: Annotator,
    /// Number of engines; None = one per core.
    pub concurrency: Option<usize>,
    /// Seed of roots and walks.
    pub seed: u64,
    /// Set to stop: no further root is started.
    pub stop: Arc<AtomicBool>,
}

/// From a game's position to labelled positions of its search tree.
pub trait Method: Sync {
    /// State of a worker.
    type WorkerState;
    /// Format of the output.
    type Store: Store;

    /// State for another worker.
    ///
    /// # Errors
    /// A resource is unavailable.
    fn start(&self) -> Result<Self::WorkerState, HarvestError>;

    /// Labelled positions. The engine's hash table is not cleared in between: it does no harm, and clearing costs as
    /// much as a label.
    ///
    /// # Errors
    /// Engine or network fail.
    fn label<T: Transport>(
        &self,
        root: &Game,
        rng: &mut Rng,
        state: &mut Self::WorkerState,
        engine: &mut Player<T>,
    ) -> Result<Vec<LabelOf<Self>>, HarvestError>;
}

/// A label in the method's format.
pub type LabelOf<M> = <<M as Method>::Store as Store>::Label;

/// A growing file of labels.
pub trait Store: Sized {
    /// One label.
    type Label: Send;

    /// Opens or creates it; also returns the number of labels.
    ///
    /// # Errors
    /// It cannot be read or written, or is another format.
    fn open(path: &Path) -> Result<(Self, u64), DataError>;

    /// Adds labels.
    ///
    /// # Errors
    /// It cannot be written.
    fn add(&mut self, labels: Vec<Self::Label>) -> Result<(), DataError>;
}

impl Store for SampleWriter {
    type Label = Sample;

    fn open(path: &Path) -> Result<(SampleWriter, u64), DataError> {
        SampleWriter::open(path)
    }

    fn add(&mut self, labels: Vec<Sample>) -> Result<(), DataError> {
        self.write(&labels)
    }
}

/// Format MAVG1: each label is a game of one position with unknown values.
impl Store for ChunkWriter {
    type Label = MavgGame;

    fn open(path: &Path) -> Result<(ChunkWriter, u64), DataError> {
        ChunkWriter::open(path, Format::Mavg)
    }

    fn add(&mut self, labels: Vec<MavgGame>) -> Result<(), DataError> {
        self.write(&labels.into_iter().map(data::Game::Mavg).collect::<Vec<_>>())
    }
}

/// Reason for the end of labelling.
#[derive(Debug)]
pub enum HarvestError {
    /// The labels cannot be written.
    Data(DataError),
    /// A file to start from cannot be read.
    Roots(RootsError),
    /// The engine cannot be started, or failed.
    Label(LabelError),
    /// The network failed.
    Eval(EvalError),
    /// No root in the files.
    Empty,
}

impl fmt::Display for HarvestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HarvestError::Data(why) => why.fmt(f),
            HarvestError::Roots(why) => why.fmt(f),
            HarvestError::Label(why) => why.fmt(f),
            HarvestError::Eval(why) => why.fmt(f),
            HarvestError::Empty => f.write_str(
                "the files hold no position, or none with action values (MAVG1) that is open and not held out",
            ),
        }
    }
}

impl std::error::Error for HarvestError {}

wraps! { HarvestError: Data(DataError), Roots(RootsError), Label(LabelError), Eval(EvalError) }

struct HarvestTask {
    root: Game,
    seed: u64,
}

impl<M: Method> Harvest<M> {
    /// Labels until `count` is reached. Blocks; shows a progress bar on stderr. Returns the total number of labels.
    ///
    /// # Errors
    /// A file cannot be read or written, or engine or network fail. Finished chunks are kept.
    pub fn run(&self) -> Result<u64, HarvestError> {
        let (mut out, mut held) = while_reading(|| M::Store::open(&self.out))?;
        // Seed for other games and walks than those of existing labels.
        let mut seeds = Rng::new(split_mix(self.seed ^ split_mix(held)));
        let mut roots = Roots::open(&self.files, seeds.bits())?;
        let bar = progress(usize::try_from(self.count).unwrap_or(usize::MAX));
        bar.set_position(held);
        let count = self.concurrency.unwrap_or_else(cores);
        let crew = WorkerLimits { count, stop: &self.stop };
        while held < self.count && !self.stop.load(Ordering::Relaxed) {
            let mut tasks = Vec::new();
            while tasks.len() < CHUNK {
                let root = roots.draw()?.ok_or(HarvestError::Empty)?;
                tasks.push(HarvestTask { root, seed: seeds.bits() });
            }
            let start = || {
                let mut engine = self.annotator.start()?;
                let mut state = self.method.start()?;
                let mut mode = None;
                Ok(move |HarvestTask { root, seed }: &HarvestTask| {
                    if mode != Some(root.mode()) {
                        let chess960 = root.mode() == CastlingMode::Chess960;
                        engine.new_game(chess960).map_err(LabelError::from)?;
                        mode = Some(root.mode());
                    }
                    self.method.label(root, &mut Rng::new(*seed), &mut state, &mut engine)
                })
            };
            let mut labels = Vec::new();
            let result = deal(&tasks, crew, start, |_, labelled| {
                bar.inc(labelled.len() as u64);
                labels.extend(labelled);
                Ok(())
            });
            held += labels.len() as u64;
            out.add(labels)?;
            result?;
        }
        bar.finish_and_clear();
        Ok(held)
    }
}

/// A game of one position with some moves and their scores, best first.
pub(super) fn record(game: &Game, values: &[(Action, i16)]) -> Result<MavgGame, DataError> {
    let chess960 = game.mode() == CastlingMode::Chess960;
    let header = Header::new(game.position().clone(), chess960, GameResult::Unknown);
    let moves = canonical_moves(game.position());
    let mut stored = vec![VALUE_UNKNOWN; moves.len()];
    let mut best = None;
    for (action, score) in values {
        if let Some(index) = moves.iter().position(|m| Action::new(*m) == *action) {
            stored[index] = stored_value(win_probability(*score));
            best = best.or(Some((index as u8, *score)));
        }
    }
    // Legal moves, as checked by `ask`, and at most 218.
    let (best, score) = best.unwrap_or_default();
    let mut record = MavgGame::new(header);
    record.push(0, (best, best), score, &stored)?;
    Ok(record)
}

/// A score in the file format.
pub(crate) fn stored(score: Score) -> i16 {
    match score {
        Score::Centipawns(score) => score.clamp(-MAX_CENTIPAWNS, MAX_CENTIPAWNS) as i16,
        Score::Mate(moves) if moves > 0 => MATE - moves.min(MAX_MATE_MOVES) as i16,
        Score::Mate(moves) => -MATE - moves.max(-MAX_MATE_MOVES) as i16,
    }
}

/// Score of the position after a move for the side that made it: a mate is one move longer.
pub(super) fn before(score: i16) -> i16 {
    if score <= MAX_MATE_MOVES as i16 - MATE { -score - 1 } else { -score }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_stored_as_the_files_have_them() {
        assert_eq!(stored(Score::Centipawns(-73)), -73);
        assert_eq!(stored(Score::Centipawns(40_000)), 30_000);
        assert_eq!((stored(Score::Mate(3)), stored(Score::Mate(-2))), (31_997, -31_998));
        // Mated in two: the opponent's move before was a mate in three, and vice versa.
        assert_eq!((before(-31_998), before(31_997)), (31_997, -31_997));
        assert_eq!((before(-45), before(45)), (45, -45));
    }
}
