//! The search without the protocol, for programs that link against it: a position in, lines out. `mavka
//! analyse` is one of them.
//!
//! Nothing here knows of clocks, GUIs or pondering; that is [`super::engine`]'s part.

use super::clock::Budget;
use super::clock::limits::Limits;
use super::network::open::{self, Source};
use super::network::timing::EvalTiming;
use super::network::{Network, NetworkError, Networks};
use super::search::blunder_check::{BlunderCheck, Examination};
use super::tree::kept_tree::Plan;
use super::tree::params::batch_within;
use super::tree::session::SearchSession;
use crate::options::settings::Settings;
use crate::process::host;
use crate::process::time::SystemClock;
use crate::world::AnyWorld;
use crate::world::rules::check;
use chess::action::Action;
use chess::game::Game;
use chess::syzygy::Tables;
use chess::syzygy::root::RootTables;
use mcts::{Control, Snapshot, View};
use nn::{EvalError, Evaluation, Query};
use shakmaty::Position;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The effort of one search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Playouts, exactly. With one thread such a search repeats itself to the last bit.
    Nodes(u64),
    /// Time.
    Time(Duration),
}

impl Effort {
    /// This effort `factor` times.
    #[must_use]
    pub fn times(self, factor: u32) -> Effort {
        match self {
            Effort::Nodes(nodes) => Effort::Nodes(nodes.saturating_mul(u64::from(factor))),
            Effort::Time(time) => Effort::Time(time.saturating_mul(factor)),
        }
    }
}

/// A network and a search tree, ready to look at positions.
///
/// ```
/// use engine::Game;
/// use engine::play::analyst::{Analyst, Effort};
/// use engine::play::network::{Only, hashed};
/// use engine::options::settings::Settings;
/// use std::ops::ControlFlow;
///
/// // Made-up values, so that the example needs no network; `Installed` opens a real one.
/// let mut analyst = Analyst::new(&Only(hashed()), Settings::default())?;
/// let mut game = Game::default();
/// game.play_uci("e2e4")?;
/// let found = analyst.search(&game, Effort::Nodes(200), &mut |view| {
///     assert!(view.playouts() <= 200);
///     ControlFlow::Continue(())
/// })?;
/// for line in found.lines.iter().take(3) {
///     println!("{} {:.0} % {} visits", game.uci(line.moves[0]), 100.0 * line.value.q(), line.visits);
/// }
/// # assert_eq!((found.playouts, found.lines.len()), (200, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Analyst {
    settings: Settings,
    network: Network,
    timing: EvalTiming,
    tables: Option<Tables>,
    session: SearchSession,
    /// Warnings in the log: each is logged once.
    logged: Arc<Mutex<HashSet<String>>>,
}

/// Shown the search after each minibatch; `Break` ends it.
pub type ViewWatch<'a> = dyn FnMut(&View<'_, AnyWorld>) -> ControlFlow<()> + Send + 'a;

impl Analyst {
    /// Opens the network that `settings` name and reserves the tree's memory; blocks for a second or so.
    /// A device that is missing is replaced by the CPU, which the log says.
    ///
    /// # Errors
    /// The network cannot be used.
    pub fn new(networks: &dyn Networks, settings: Settings) -> Result<Analyst, NetworkError> {
        let settings = alone(settings);
        let clock = SystemClock::default();
        let source = Source::of(&settings);
        let (mut network, timing) =
            open::open_named(networks, &clock, &source, host::threads(settings.threads))?;
        let (cache, shortage) = open::cache(&network, &settings);
        if let Some(shortage) = shortage {
            log::warn!("{shortage}");
        }
        if let Some(cache) = cache {
            network.evaluator = cache;
        }
        let mut session = SearchSession::default();
        if let Some(shortage) = session.reserve(&settings) {
            log::warn!("{shortage}");
        }
        let (tables, trouble) = Tables::open(&settings.syzygy_path);
        if let Some(trouble) = trouble {
            log::warn!("{trouble}");
        }
        let tables = tables.up_to(settings.syzygy_probe_limit).filter(|_| !settings.imagines());
        let logged = Arc::default();
        Ok(Analyst { settings, network, timing, tables, session, logged })
    }

    /// An analyst with the same network, cache and tables, and a search tree of its own in as much memory, for another
    /// thread.
    #[must_use]
    pub fn sibling(&self) -> Analyst {
        let mut session = SearchSession::default();
        if let Some(shortage) = session.reserve(&self.settings) {
            self.warn(shortage.to_string());
        }
        Analyst {
            settings: self.settings.clone(),
            network: self.network.clone(),
            timing: self.timing,
            tables: self.tables.clone(),
            session,
            logged: self.logged.clone(),
        }
    }

    /// Time of one evaluation by the network, as measured when it was loaded.
    #[must_use]
    pub fn evaluation_time(&self) -> Duration {
        self.timing.single
    }

    /// The network's name, for humans.
    #[must_use]
    pub fn network(&self) -> &str {
        &self.network.name
    }

    /// Players in the network's file.
    #[must_use]
    pub fn players(&self) -> usize {
        self.network.players
    }

    /// Searches by other options from now on. Those of the network, its cache and the tables have no effect.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = alone(settings);
    }

    /// Drops the trees of both searches, so that the next search owes nothing to the ones before it.
    pub fn forget(&mut self) {
        self.session.clear();
    }

    /// Searches the last position of `game`, from what is known of it where the search has been there.
    /// Blocks. Every root move is among the lines, the best first; there are none where the game is over.
    ///
    /// # Errors
    /// The network failed.
    pub fn search(
        &mut self,
        game: &Game,
        effort: Effort,
        watch: &mut ViewWatch<'_>,
    ) -> Result<Snapshot<Action>, EvalError> {
        let settings = &self.settings;
        let (playouts, budget) = match effort {
            Effort::Nodes(nodes) => (Some(nodes.max(1)), None),
            Effort::Time(time) => {
                (None, Some(Budget { soft: time, hard: time, flag: time, flexible: false }))
            }
        };
        let evaluator = &self.network.evaluator;
        let batch = match (settings.minibatch(), effort) {
            // A batch measured on this machine would be another search on the next.
            (None, Effort::Nodes(_)) => evaluator.preferred_batch(),
            (None, Effort::Time(_)) => {
                let limits = Limits { budget, ..Limits::default() };
                batch_within(&limits, self.timing.batch.max(1), self.timing.single)
            }
            (Some(size), _) => size,
        };
        let plan = Plan { playouts, ..Plan::new(settings, self.timing, batch) };
        let mut root = self.session.set_root(&self.network, settings, self.tables.clone(), game);
        root.warnings.drain(..).for_each(|warning| self.warn(warning));
        let time = budget.map(|budget| budget.hard);
        let control =
            WatchedSearch { time, over: AtomicBool::new(false), watch: Mutex::new(watch) };
        let outcome = self.session.run(&root, &plan, &control);
        outcome.error.map_or(Ok(outcome.snapshot), Err)
    }

    /// Examines the `chosen` move of a search by an alpha-beta search of `most` positions, among the moves `allowed`,
    /// empty = all. Its table is kept until [`Analyst::forget`]: positions of one game are best examined from the last
    /// one on. None if the options have no such check, or if it was too shallow. Blocks.
    pub fn examine(
        &mut self,
        game: &Game,
        chosen: Action,
        allowed: &[Action],
        most: u64,
    ) -> Option<Examination> {
        if !self.settings.checks_blunders() {
            return None;
        }
        let check = BlunderCheck { game, allowed, is_over: &|positions| positions >= most };
        check.examine(chosen, self.session.alpha_beta()?)
    }

    /// The moves of the last position of `game`, ranked by endgame tables. None where they do not have it, or where
    /// they leave its result open.
    #[must_use]
    pub fn ranked(&self, game: &Game) -> Option<RootTables> {
        let tables = self.tables.as_ref()?;
        RootTables::new(tables, game, &game.legal_actions()).filter(|root| root.value().is_some())
    }

    fn warn(&self, warning: String) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.insert(warning.clone()) {
            log::warn!("{warning}");
        }
    }

    /// The network's own answer for the last position of `game`, move by move in the order of
    /// [`Game::legal_actions`]. None where there is no move.
    ///
    /// # Errors
    /// The network failed.
    pub fn glance(&self, game: &Game) -> Result<Option<Evaluation>, EvalError> {
        let position = game.position();
        let legal = position.legal_moves();
        if legal.is_empty() {
            return Ok(None);
        }
        let answers = self.network.evaluator.evaluate(&[Query { position, legal: &legal }])?;
        let answer = answers.into_iter().next();
        answer.iter().try_for_each(|answer| check(answer, legal.len()))?;
        Ok(answer)
    }
}

/// An analyst is one player: all of `Hash` is its own.
fn alone(settings: Settings) -> Settings {
    Settings { team: 1, ..settings }
}

/// Ends a search by its time, or when the watcher says so.
struct WatchedSearch<'a, 'b> {
    time: Option<Duration>,
    over: AtomicBool,
    watch: Mutex<&'a mut ViewWatch<'b>>,
}

impl Control<AnyWorld> for WatchedSearch<'_, '_> {
    fn tick(&self, view: &View<'_, AnyWorld>) -> ControlFlow<()> {
        let late = self.time.is_some_and(|time| view.elapsed() >= time);
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let wished = (*watch)(view);
        if late || wished.is_break() {
            // Relaxed: the flag is all there is to know.
            self.over.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn stopped(&self) -> bool {
        // Relaxed: as above.
        self.over.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::settings::WorldModel;
    use crate::play::network::{Only, hashed};

    fn analyst() -> Analyst {
        let settings = Settings { threads: 1, hash_mb: 4, ..Settings::default() };
        Analyst::new(&Only(hashed()), settings).unwrap()
    }

    #[test]
    fn a_forgotten_search_repeats_itself() {
        let mut analyst = analyst();
        let mut late = Game::default();
        late.play_uci("d2d4").unwrap();
        let mut look = |game: &Game| {
            analyst.forget();
            analyst.search(game, Effort::Nodes(300), &mut |_| ControlFlow::Continue(())).unwrap()
        };
        let first = look(&Game::default());
        look(&late);
        assert_eq!(look(&Game::default()), first);
        assert_eq!(first.playouts, 300);
    }

    #[test]
    fn the_watcher_and_the_clock_end_a_search() {
        let mut analyst = analyst();
        let game = Game::default();
        let mut ticks = 0;
        let found = analyst.search(&game, Effort::Nodes(1_000_000), &mut |_| {
            ticks += 1;
            if ticks == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(found.unwrap().playouts < 1_000);
        let brief = Effort::Time(Duration::from_millis(1));
        let found = analyst.search(&game, brief, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(!found.lines.is_empty());
    }

    #[test]
    fn a_warning_is_logged_once() {
        let settings = Settings { threads: 1, hash_mb: 4, ..Settings::default() };
        // The made-up network imagines no positions.
        let settings = Settings { world_model: WorldModel::Learned, ..settings };
        let first = Analyst::new(&Only(hashed()), settings).unwrap();
        for mut analyst in [first.sibling(), first.sibling()] {
            for _ in 0..2 {
                let effort = Effort::Nodes(1);
                let found =
                    analyst.search(&Game::default(), effort, &mut |_| ControlFlow::Continue(()));
                assert_eq!(found.unwrap().playouts, 1);
            }
        }
        let logged = first.logged.lock().unwrap();
        assert_eq!(logged.len(), 1, "{logged:?}");
    }

    #[test]
    fn a_game_that_is_over_has_no_lines() {
        let mut analyst = analyst();
        let mate = Game::from_fen("7k/6Q1/5K2/8/8/8/8/8 b - - 0 1", false).unwrap();
        let found = analyst.search(&mate, Effort::Nodes(10), &mut |_| ControlFlow::Continue(()));
        assert!(found.unwrap().lines.is_empty());
        assert_eq!(analyst.glance(&mate).unwrap(), None);
    }
}
