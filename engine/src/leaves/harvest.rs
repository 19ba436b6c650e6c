//! Labels leaves of many trees, several engines at work at the same time. The file grows chunk by chunk, so that a
//! run that was ended, by Ctrl-C too, goes on where it stopped.

use super::walk::Walk;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::errors::wraps;
use crate::internal::roots::{Root, Roots};
use crate::league::{Player, Transport};
use crate::measure::tune::label::{Annotator, LabelError, ask};
use crate::progress::progress;
use crate::workers::{Crew, cores, deal};
use nn::data::chunks::ChunkWriter;
use nn::data::record::{Format, GameResult, Header, PvgrGame};
use nn::data::{self, DataError};
use nn::encode::canonical_moves;
use nn::rng::{Rng, split_mix};
use nn::{EvalError, Evaluator};
use shakmaty::CastlingMode;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uci::Score;

/// Positions of games that a chunk starts from: what a kill may cost, some ten seconds of two cores.
const CHUNK: usize = 1_000;
/// A mate in n is ±(32000 − n), anything else less than this.
const MOST_CENTIPAWNS: i32 = 30_000;
const MATE: i32 = 32_000;

/// What is to be labelled, and how.
pub struct Harvest {
    /// Data files with action values; of each, the games that are not held out.
    pub files: Vec<PathBuf>,
    /// The labels, in the format PVGR1; what is in it already counts.
    pub out: PathBuf,
    /// Labels wanted in all.
    pub count: u64,
    /// How leaves are drawn.
    pub walk: Walk,
    /// Whose policy draws them.
    pub evaluator: Arc<dyn Evaluator>,
    /// Who labels.
    pub annotator: Annotator,
    /// Nodes of each label.
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
        let (mut out, mut held) = ChunkWriter::open(&self.out, Format::Pvgr)?;
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

    /// The leaves of one walk, each a game of one move. `mode` is the engine's: what it remembers of other positions
    /// does no harm, and to forget it would cost as much as a label.
    fn label<T: Transport>(
        &self,
        task: &Task,
        engine: &mut Player<T>,
        mode: &mut Option<CastlingMode>,
    ) -> Result<Vec<data::Game>, HarvestError> {
        let mut rng = Rng::new(task.seed);
        let leaves = self.walk.leaves(&task.root.game, &*self.evaluator, &mut rng)?;
        let own = task.root.game.mode();
        if *mode != Some(own) {
            engine.new_game(own == CastlingMode::Chess960).map_err(LabelError::from)?;
            *mode = Some(own);
        }
        let mut games = Vec::new();
        for leaf in &leaves {
            let (best, score) = ask(engine, leaf, self.nodes, None)?;
            games.push(data::Game::Pvgr(labelled(leaf, best, score)?));
        }
        Ok(games)
    }
}

/// A game of one move: the best one, with its score. Its depth is unknown, which says that it is to be learnt from.
fn labelled(leaf: &Game, best: Action, score: Score) -> Result<PvgrGame, DataError> {
    let chess960 = leaf.mode() == CastlingMode::Chess960;
    let header = Header::new(leaf.position().clone(), chess960, GameResult::Unknown);
    let moves = canonical_moves(leaf.position());
    // A legal move, as `ask` has made sure of; a position has 218 at most.
    let index = moves.iter().position(|m| Action::new(*m) == best).unwrap_or_default();
    let score = match score {
        Score::Centipawns(score) => score.clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS),
        Score::Mate(moves) if moves > 0 => MATE - moves.min(999),
        Score::Mate(moves) => -MATE - moves.max(-999),
    };
    let mut game = PvgrGame::new(header);
    game.push(0, index as u8, Some(score as i16), 0, &[])?;
    Ok(game)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::league::Patience;
    use crate::league::fake::Fake;
    use nn::data::label::win_probability;
    use nn::evaluator::fake::Uniform;

    /// Five moves; Black may go to g8 after any of them.
    const ROOT: &str = "7k/8/8/8/8/8/6PP/7K w - - 0 1";

    #[test]
    fn each_leaf_is_searched_once_and_an_engine_prepared_once_a_kind_of_chess() {
        let walk = Walk { plies: 0, breadth: 3, temperature: 1.0 };
        let harvest = Harvest {
            files: Vec::new(),
            out: PathBuf::new(),
            count: 0,
            walk,
            evaluator: Arc::new(Uniform),
            annotator: Annotator { program: PathBuf::new(), words: vec![], options: vec![] },
            nodes: 77,
            concurrency: None,
            seed: 0,
            stop: Arc::default(),
        };
        let fake = Fake::polite(|line| match line.starts_with("go") {
            true => vec![(1, "info depth 5 score cp -310"), (2, "bestmove h8g8")],
            false => vec![],
        });
        let sent = fake.sent();
        let mut player = Player::greet(fake, &[], Patience::default()).unwrap();
        let root = Root { game: Game::from_fen(ROOT, false).unwrap(), values: Vec::new() };
        let (task, mut mode) = (Task { root, seed: 5 }, None);
        for _ in 0..2 {
            let games = harvest.label(&task, &mut player, &mut mode).unwrap();
            assert_eq!(games.len(), 3);
            for game in &games {
                let data::Game::Pvgr(game) = game else { panic!("the format of lines") };
                assert_eq!(game.plies[0].score, Some(-310));
            }
        }
        let sent = sent.lock().unwrap();
        let count = |word: &str| sent.iter().filter(|line| line.contains(word)).count();
        assert_eq!((count("go nodes 77"), count("ucinewgame")), (6, 1));
    }

    #[test]
    fn a_label_keeps_move_and_score_as_the_files_have_them() {
        let leaf = Game::from_fen("7k/8/8/8/8/8/6PP/7K w - - 0 1", false).unwrap();
        let best = Action::from_uci("g2g4", leaf.position()).unwrap();
        let of = |score| {
            let game = labelled(&leaf, best, score).unwrap();
            let ply = game.plies[0];
            assert_eq!(
                Action::new(canonical_moves(leaf.position())[usize::from(ply.played)]),
                best
            );
            assert_eq!((game.plies.len(), ply.depth), (1, 0));
            ply.score.unwrap()
        };
        assert_eq!(of(Score::Centipawns(-73)), -73);
        assert_eq!(of(Score::Centipawns(40_000)), 30_000);
        assert_eq!((of(Score::Mate(3)), of(Score::Mate(-2))), (31_997, -31_998));
        assert_eq!(win_probability(of(Score::Mate(-2))), 0.0);
    }
}
