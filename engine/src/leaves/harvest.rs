//! Labels positions of many search trees, several engines at work at the same time: each of some competing moves is
//! searched by itself, so that the positions after them have a value and a best move, and the position before them
//! the values of these moves. The file grows chunk by chunk: a run that was ended, by Ctrl-C too, goes on where it
//! stopped.

use super::walk::{Fork, Walk};
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::errors::wraps;
use crate::internal::roots::{Root, Roots};
use crate::league::{Player, Transport};
use crate::measure::tune::label::{Annotator, LabelError, ask};
use crate::progress::progress;
use crate::workers::{Crew, cores, deal};
use nn::data::chunks::ChunkWriter;
use nn::data::label::{stored_value, win_probability};
use nn::data::record::{Format, GameResult, Header, MavgGame, VALUE_UNKNOWN};
use nn::data::{self, DataError};
use nn::encode::canonical_moves;
use nn::rng::{Rng, split_mix};
use nn::{EvalError, Evaluator};
use shakmaty::{CastlingMode, Position};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uci::Score;

/// Positions of games that a chunk starts from: what a kill may cost, some ten seconds of two cores.
const CHUNK: usize = 600;
/// A mate in n is ±(32000 − n), anything else less than this.
const MOST_CENTIPAWNS: i32 = 30_000;
const MATE: i16 = 32_000;
const MOST_MOVES: i32 = 999;

/// What is to be labelled, and how.
pub struct Harvest {
    /// Data files with action values; of each, the games that are not held out.
    pub files: Vec<PathBuf>,
    /// The labels, in the format MAVG1 with unknown values; what is in it already counts.
    pub out: PathBuf,
    /// Labelled positions wanted in all.
    pub count: u64,
    /// How positions are drawn.
    pub walk: Walk,
    /// Whose policy draws them.
    pub evaluator: Arc<dyn Evaluator>,
    /// Who labels.
    pub annotator: Annotator,
    /// Nodes of each search.
    pub nodes: u64,
    /// Engines at work; None = one for each core.
    pub concurrency: Option<usize>,
    /// Seed of positions and walks.
    pub seed: u64,
    /// Once it is raised, no further walk is begun.
    pub stop: Arc<AtomicBool>,
}

/// Why nothing more is labelled.
#[derive(Debug)]
pub enum HarvestError {
    /// A data file cannot be read, or the labels not be written.
    Data(DataError),
    /// The engine cannot be started, or failed.
    Label(LabelError),
    /// The network failed.
    Eval(EvalError),
    /// The files hold no position to start from.
    Empty,
}

impl fmt::Display for HarvestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HarvestError::Data(why) => why.fmt(f),
            HarvestError::Label(why) => why.fmt(f),
            HarvestError::Eval(why) => why.fmt(f),
            HarvestError::Empty => f.write_str(
                "the files hold no open position with action values (MAVG1) that is not held out",
            ),
        }
    }
}

impl std::error::Error for HarvestError {}

wraps! { HarvestError: Data(DataError), Label(LabelError), Eval(EvalError) }

/// A walk to take.
struct Task {
    root: Root,
    seed: u64,
}

impl Harvest {
    /// Labels until there are enough. Blocks; a bar on stderr tells how far it is. Answers how many labels there are
    /// by then.
    ///
    /// # Errors
    /// A file cannot be read or written, or engine or network fail. What was labelled before is kept.
    pub fn run(&self) -> Result<u64, HarvestError> {
        let (mut out, mut held) = ChunkWriter::open(&self.out, Format::Mavg)?;
        // Another stretch of games and other walks than those of the labels there are.
        let mut seeds = Rng::new(split_mix(self.seed ^ split_mix(held)));
        let mut roots = Roots::open(&self.files, seeds.bits())?;
        let bar = progress(usize::try_from(self.count).unwrap_or(usize::MAX));
        bar.set_position(held);
        let count = self.concurrency.unwrap_or_else(cores);
        let crew = Crew { count, stop: &self.stop };
        while held < self.count && !self.stop.load(Ordering::Relaxed) {
            let mut tasks = Vec::new();
            while tasks.len() < CHUNK {
                let root = roots.draw()?.ok_or(HarvestError::Empty)?;
                tasks.push(Task { root, seed: seeds.bits() });
            }
            let start = || {
                let mut engine = self.annotator.start()?;
                let mut mode = None;
                Ok(move |task: &Task| self.label(task, &mut engine, &mut mode))
            };
            let mut games = Vec::new();
            let result = deal(&tasks, crew, start, |_, labelled: Vec<data::Game>| {
                bar.inc(labelled.len() as u64);
                games.extend(labelled);
                Ok(())
            });
            out.write(&games)?;
            held += games.len() as u64;
            result?;
        }
        bar.finish_and_clear();
        Ok(held)
    }

    /// The positions of one walk, each a game of its own. `mode` is the engine's: what it remembers of other positions
    /// does no harm, and to forget it would cost as much as a label.
    fn label<T: Transport>(
        &self,
        task: &Task,
        engine: &mut Player<T>,
        mode: &mut Option<CastlingMode>,
    ) -> Result<Vec<data::Game>, HarvestError> {
        let mut rng = Rng::new(task.seed);
        let fork = self.walk.fork(&task.root.game, &*self.evaluator, &mut rng)?;
        let Some(Fork { game, mut moves }) = fork else { return Ok(Vec::new()) };
        if *mode != Some(game.mode()) {
            let chess960 = game.mode() == CastlingMode::Chess960;
            engine.new_game(chess960).map_err(LabelError::from)?;
            *mode = Some(game.mode());
        }
        let (favourite, _) = ask(engine, &game, self.nodes, None)?;
        if !moves.contains(&favourite) {
            moves.push(favourite);
        }
        let mut games = Vec::new();
        let mut values = Vec::new();
        for action in moves {
            let Some(m) = action.to_move(game.position()) else { continue };
            let mut after = game.position().clone();
            after.play_unchecked(m);
            let after = Game::new(after, game.mode());
            let score = match over(&after) {
                Some(score) => score,
                None => {
                    let (reply, score) = ask(engine, &after, self.nodes, None)?;
                    let score = stored(score);
                    games.push(record(&after, &[(reply, score)])?);
                    score
                }
            };
            values.push((action, before(score)));
        }
        // The best one first; of equals, the engine's own favourite.
        values.sort_by_key(|(action, score)| (-i32::from(*score), *action != favourite));
        games.push(record(&game, &values)?);
        Ok(games.into_iter().map(data::Game::Mavg).collect())
    }
}

/// A game of one position: some of its moves with their scores, the best one first.
fn record(game: &Game, values: &[(Action, i16)]) -> Result<MavgGame, DataError> {
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
    // Legal moves, as `ask` has made sure of, and never more than 218.
    let (best, score) = best.unwrap_or_default();
    let mut record = MavgGame::new(header);
    record.push(0, (best, best), score, &stored)?;
    Ok(record)
}

/// The score of a position in which the game is over, for its side to move.
fn over(game: &Game) -> Option<i16> {
    let ending = game.ending()?;
    // In the files, a mate in n is ±(32000 − n).
    Some(if ending.winner().is_some() { -MATE } else { 0 })
}

/// As the files have it.
fn stored(score: Score) -> i16 {
    match score {
        Score::Centipawns(score) => score.clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS) as i16,
        Score::Mate(moves) if moves > 0 => MATE - moves.min(MOST_MOVES) as i16,
        Score::Mate(moves) => -MATE - moves.max(-MOST_MOVES) as i16,
    }
}

/// A score of the position after a move, for the side that made the move: a mate is one move further away.
fn before(score: i16) -> i16 {
    if score <= MOST_MOVES as i16 - MATE { -score - 1 } else { -score }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::league::Patience;
    use crate::league::fake::Fake;
    use nn::data::label::action_value;
    use nn::evaluator::fake::Uniform;

    /// Five moves; Black may go to g8 after any of them.
    const ROOT: &str = "7k/8/8/8/8/8/6PP/7K w - - 0 1";

    #[test]
    fn the_competing_moves_and_the_favourite_are_searched_each() {
        let harvest = Harvest {
            files: Vec::new(),
            out: PathBuf::new(),
            count: 0,
            walk: Walk { plies: 0, breadth: 2, temperature: 1.0 },
            evaluator: Arc::new(Uniform),
            annotator: Annotator { program: PathBuf::new(), words: vec![], options: vec![] },
            nodes: 77,
            concurrency: None,
            seed: 0,
            stop: Arc::default(),
        };
        let mut to_move = 'w';
        // White's favourite is h2h3; after it White is better by more.
        let fake = Fake::polite(move |line| {
            if let Some(fen) = line.strip_prefix("position fen ") {
                to_move = fen.chars().skip_while(|c| *c != ' ').nth(1).unwrap();
            }
            match (line.starts_with("go"), to_move) {
                (true, 'w') => vec![(1, "info score cp 10"), (2, "bestmove h2h3")],
                (true, _) => vec![(1, "info score cp -310"), (2, "bestmove h8g8")],
                _ => vec![],
            }
        });
        let sent = fake.sent();
        let mut player = Player::greet(fake, &[], Patience::default()).unwrap();
        let root = Root { game: Game::from_fen(ROOT, false).unwrap(), values: Vec::new() };
        let mut mode = None;
        for seed in 0..4 {
            let root = root.clone();
            let games = harvest.label(&Task { root, seed }, &mut player, &mut mode).unwrap();
            let Some((data::Game::Mavg(parent), leaves)) = games.split_last() else {
                panic!("a parent")
            };
            assert!((2..=3).contains(&leaves.len()));
            let record = &parent.positions[0];
            let known: Vec<f32> = parent.values(record).iter().map(|v| action_value(*v)).collect();
            let known: Vec<&f32> = known.iter().filter(|value| !value.is_nan()).collect();
            assert_eq!((record.score, known.len()), (310, leaves.len()));
            let moves = canonical_moves(&parent.header.start);
            let best = Action::new(moves[usize::from(record.best)]);
            assert_eq!(root_word(best), "h2h3", "of equals, the favourite");
            for leaf in leaves {
                let data::Game::Mavg(leaf) = leaf else { panic!("the format of values") };
                assert_eq!(leaf.positions[0].score, -310);
            }
        }
        let sent = sent.lock().unwrap();
        assert_eq!(sent.iter().filter(|line| *line == "ucinewgame").count(), 1);
        assert!(sent.iter().filter(|line| line.starts_with("go")).all(|go| go == "go nodes 77"));
    }

    fn root_word(action: Action) -> String {
        Game::from_fen(ROOT, false).unwrap().uci(action)
    }

    #[test]
    fn scores_are_stored_as_the_files_have_them() {
        assert_eq!(stored(Score::Centipawns(-73)), -73);
        assert_eq!(stored(Score::Centipawns(40_000)), 30_000);
        assert_eq!((stored(Score::Mate(3)), stored(Score::Mate(-2))), (31_997, -31_998));
        // Who is mated in two was brought there by a mate in three; who mates in three was let.
        assert_eq!((before(-31_998), before(31_997)), (31_997, -31_997));
        assert_eq!((before(-45), before(45)), (45, -45));
    }

    #[test]
    fn the_end_of_a_game_needs_no_search() {
        let of = |fen| over(&Game::from_fen(fen, false).unwrap());
        assert_eq!(of("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1").map(before), Some(31_999));
        assert_eq!(of("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), Some(0));
        assert_eq!(of(ROOT), None);
    }
}
