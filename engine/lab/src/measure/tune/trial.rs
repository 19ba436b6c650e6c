//! Trial of settings: moves played in all labelled positions after a number of nodes, and puzzles solved. One thread
//! per search, so that results are deterministic; all cores over positions. Settings share only the network: its
//! evaluations do not depend on them, so that each worker caches them, and further settings are cheap.

use crate::labels::label_file::LabelledPosition;
use crate::measure::puzzles::{self, Puzzle};
use chess::action::Action;
use chess::game::Game;
use engine::options;
use engine::options::settings::{Search, Settings};
use engine::play::analyst::{Analyst, Effort};
use engine::play::network::{Network, Only};
use engine::process::errors::wraps;
use nn::EvalError;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use uci::SetOption;

/// Tree memory of a worker in MB: ample for a few thousand nodes.
const TREE_MB: usize = 32;
/// Evaluation cache of one worker, in MB.
const CACHE_MB: usize = 32;

/// A set of options.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Text of the setting, as in tables.
    pub name: String,
    /// All options.
    pub settings: Settings,
}

/// Error of a setting.
#[derive(Debug)]
pub enum TrialError {
    /// Not `NAME=VALUE`.
    Syntax(String),
    /// The option or its value is unknown.
    Option(options::OptionError),
    /// Value out of range.
    Range(options::OutOfRange),
    /// The setting has no tree search, or needs predictions that the network lacks.
    NoSearch(String),
    /// The network cannot be used.
    Open(String),
    /// The network failed.
    Network(EvalError),
    /// No move in this position.
    NoMove(String),
}

impl fmt::Display for TrialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrialError::Syntax(text) => write!(f, "expected NAME=VALUE, got `{text}`"),
            TrialError::Option(why) => why.fmt(f),
            TrialError::Range(why) => why.fmt(f),
            TrialError::NoSearch(name) => write!(f, "`{name}` is no setting of the tree search"),
            TrialError::Open(why) => f.write_str(why),
            TrialError::Network(why) => why.fmt(f),
            TrialError::NoMove(fen) => write!(f, "the search found no move in `{fen}`"),
        }
    }
}

impl std::error::Error for TrialError {}

wraps! { TrialError: Network(EvalError) }

impl Setting {
    /// Parses `NAME=VALUE,NAME=VALUE`; empty text means defaults.
    ///
    /// # Errors
    /// The invalid part.
    pub fn read(text: &str) -> Result<Setting, TrialError> {
        let mut settings = Settings::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| TrialError::Syntax(part.to_owned()))?;
            set(&mut settings, name, value)?;
        }
        let name = if text.trim().is_empty() { "as it is" } else { text };
        if settings.search != Search::Mcts {
            return Err(TrialError::NoSearch(name.to_owned()));
        }
        Ok(Setting { name: name.to_owned(), settings })
    }
}

/// Sets an option to the nearest permitted number.
///
/// # Errors
/// The option is unknown, or not a number.
pub fn set_near(settings: &mut Settings, name: &str, value: f64) -> Result<(), TrialError> {
    let whole = |kind: &options::Kind| matches!(kind, options::Kind::Spin { .. });
    let value = match options::find(name).is_some_and(|entry| whole(&entry.kind)) {
        true => value.round(),
        false => value,
    };
    let option = SetOption { name: name.to_owned(), value: Some(value.to_string()) };
    options::apply(settings, &option).map(|_| ()).map_err(TrialError::Option)
}

/// Sets an option; out of range is an error.
fn set(settings: &mut Settings, name: &str, value: &str) -> Result<(), TrialError> {
    let option = SetOption { name: name.trim().to_owned(), value: Some(value.trim().to_owned()) };
    match options::apply(settings, &option) {
        Ok((_, None)) => Ok(()),
        Ok((_, Some(out_of_range))) => Err(TrialError::Range(out_of_range)),
        Err(why) => Err(TrialError::Option(why)),
    }
}

/// A setting's choice in a labelled position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Win probability given away, 0 to 1.
    pub regret: f32,
    /// The best move was played.
    pub best: bool,
}

/// Parameters of a trial.
pub struct TrialParams<'a> {
    /// Evaluates positions.
    pub network: &'a Network,
    /// Nodes per search.
    pub nodes: u64,
    /// Maximum regret per position: a single blunder must not decide a comparison.
    pub cap: f32,
    /// Set to stop: no further position or puzzle is started, and those are omitted from the results.
    pub stop: &'a AtomicBool,
}

impl TrialParams<'_> {
    /// Choices by position and setting. `done` is called after each position.
    ///
    /// # Errors
    /// The network failed.
    pub fn choices(
        &self,
        positions: &[LabelledPosition],
        settings: &[Setting],
        done: &(impl Fn() + Sync),
    ) -> Result<Vec<Vec<Choice>>, TrialError> {
        self.check(settings)?;
        let choose = |worker: &mut Worker, position: &LabelledPosition| {
            let choice = |setting| {
                let action = worker.choose(&position.game, setting)?;
                let regret = position.regret(action).min(self.cap);
                Ok(Choice { regret, best: action == position.best })
            };
            let choices = settings.iter().map(choice).collect();
            done();
            choices
        };
        self.each(positions, choose)
    }

    /// Puzzles solved, by puzzle and setting.
    ///
    /// # Errors
    /// The network failed.
    pub fn solved(
        &self,
        puzzles: &[Puzzle],
        settings: &[Setting],
        done: &(impl Fn() + Sync),
    ) -> Result<Vec<Vec<bool>>, TrialError> {
        self.check(settings)?;
        let solve = |worker: &mut Worker, puzzle: &Puzzle| {
            let solves = |setting| {
                let mut solver = |game: &Game| worker.choose(game, setting);
                Ok(puzzles::attempt(puzzle, &mut solver)?.solved)
            };
            let solved = settings.iter().map(solves).collect();
            done();
            solved
        };
        self.each(puzzles, solve)
    }

    /// # Errors
    /// A setting imagines positions, which this network cannot.
    fn check(&self, settings: &[Setting]) -> Result<(), TrialError> {
        let imagines = self.network.evaluator.transition().is_some();
        let refused = settings.iter().find(|setting| setting.settings.imagines() && !imagines);
        refused.map_or(Ok(()), |setting| Err(TrialError::NoSearch(setting.name.clone())))
    }

    /// Results of `work` over all things that are begun, in order.
    fn each<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&mut Worker, &T) -> Result<R, TrialError> + Sync,
    ) -> Result<Vec<R>, TrialError> {
        let unless_stopped = |worker: &mut Option<Worker>, thing: &T| {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let worker = match worker {
                Some(worker) => worker,
                None => worker.insert(Worker::new(self)?),
            };
            work(worker, thing).map(Some)
        };
        let all = items.par_iter().map_init(|| None, unless_stopped);
        let all: Vec<Option<R>> = all.collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }
}

/// One thread's tree and cache.
struct Worker {
    nodes: u64,
    analyst: Analyst,
}

impl Worker {
    fn new(bench: &TrialParams<'_>) -> Result<Worker, TrialError> {
        let settings = in_memory_of_worker(&Settings::default());
        let analyst = Analyst::new(&Only(bench.network.clone()), settings)
            .map_err(|why| TrialError::Open(why.to_string()))?;
        Ok(Worker { nodes: bench.nodes, analyst })
    }

    /// The move after a search with a fresh tree.
    fn choose(&mut self, game: &Game, setting: &Setting) -> Result<Action, TrialError> {
        self.analyst.forget();
        self.analyst.set_settings(in_memory_of_worker(&setting.settings));
        let effort = Effort::Nodes(self.nodes);
        let found = self.analyst.search(game, effort, &mut |_| ControlFlow::Continue(()))?;
        let best = found.lines.first().and_then(|line| line.moves.first());
        best.copied().ok_or_else(|| TrialError::NoMove(game.fen()))
    }
}

/// `settings` with one thread and a worker's memory, without endgame tables.
fn in_memory_of_worker(settings: &Settings) -> Settings {
    Settings {
        hash_mb: TREE_MB,
        nn_cache_mb: CACHE_MB,
        threads: 1,
        blunder_check: false,
        syzygy_probe_limit: 0,
        ..settings.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::play::network;

    fn position(fen: &str) -> LabelledPosition {
        let game = Game::from_fen(fen, false).unwrap();
        let moves = game.legal_actions();
        let deep = moves.iter().zip([0.9, 0.6, 0.4]).map(|(m, value)| (*m, value)).collect();
        let shallow = moves.iter().skip(3).map(|m| (*m, 0.1)).collect();
        LabelledPosition { best: moves[0], game, deep, shallow }
    }

    #[test]
    fn settings_are_read_and_refused() {
        assert_eq!(Setting::read("").unwrap().settings, Settings::default());
        let setting = Setting::read("CPuct=1.5, FPU=parent").unwrap();
        assert_eq!(
            (setting.settings.tree.c_puct, setting.settings.tree.fpu),
            (1.5, mcts::Fpu::ParentQ)
        );
        let mut settings = setting.settings;
        set_near(&mut settings, "CPuct", 99.0).unwrap();
        set_near(&mut settings, "PriorTopK", 2.6).unwrap();
        assert_eq!((settings.tree.c_puct, settings.tree.top_k), (16.0, 3));
        assert!(set_near(&mut settings, "FPU", 1.0).is_err());
        for text in ["CPuct", "NoSuch=1", "CPuct=99", "Search=policy"] {
            assert!(Setting::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_setting_plays_the_same_after_any_other() {
        let network = network::hashed();
        let stop = AtomicBool::new(false);
        let bench = TrialParams { network: &network, nodes: 60, cap: 0.4, stop: &stop };
        let positions: Vec<_> = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        ]
        .map(position)
        .into();
        let of = |texts: &[&str]| {
            let settings: Vec<_> = texts.iter().map(|text| Setting::read(text).unwrap()).collect();
            bench.choices(&positions, &settings, &|| ()).unwrap()
        };
        let (alone, beside) = (of(&["CPuct=3"]), of(&["", "CPuct=0.1", "CPuct=3", ""]));
        for (alone, beside) in alone.iter().zip(&beside) {
            assert_eq!(alone[0], beside[2]);
            assert_eq!(beside[0], beside[3]);
            assert!((alone[0].regret == 0.0) == alone[0].best && alone[0].regret <= 0.4);
        }
        stop.store(true, Ordering::Relaxed);
        assert!(of(&[""]).is_empty(), "what was not begun is left out");
    }
}
