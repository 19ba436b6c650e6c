//! What stays from one search to the next: the tree, whose part below the new position is kept, and what
//! the network imagined for it.

use super::clock::TimeUse;
use super::host;
use super::lag::Lag;
use super::network::Network;
use super::params;
use crate::alphabeta::bundled::nnue;
use crate::alphabeta::{AlphaBeta, table};
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::options::settings::{Search, Settings, WorldModel};
use crate::syzygy::Tables;
use crate::world::memory::PredictionCache;
use crate::world::rollout;
use crate::world::{AnyWorld, LearnedWorld};
use mcts::{Ancestor, Control, Outcome, Params, Searcher};
use nn::{EvalError, Evaluator};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The search between two moves. Belongs to the engine, and to the search's thread while that runs.
pub struct SearchSession {
    searcher: Searcher<AnyWorld>,
    /// The memory that was asked for.
    wanted: HashSplit,
    /// The transposition table's part of what was got, in MB.
    table_mb: usize,
    /// States that the network imagined; made at the first need.
    imagined: Option<Arc<PredictionCache>>,
    /// The game whose last position is the tree's root.
    root: Option<Game>,
    /// Whose values are in the tree. Not kept alive by it, but no other network can take its place in memory.
    evaluator: Option<Weak<dyn Evaluator>>,
    /// Time of one evaluation in recent searches: on a busy machine more than when the network was loaded.
    evaluation_time: Duration,
    /// How the game's moves used their time so far.
    time_use: TimeUse,
    /// Time lost outside the searches; the machine's, so a new game begins with it.
    lag: Lag,
    /// The alpha-beta search with its transposition table.
    alpha_beta: Option<AlphaBeta>,
    /// What the blunder check has done in this game.
    blunders: BlunderCount,
}

/// Entries of a transposition table at least: 1 MB.
const LEAST_ENTRIES: usize = 1 << 16;

/// Divisor of `Hash` for the blunder check's transposition table. Guess.
const CHECKS_SHARE: usize = 8;

/// How `Hash` is divided, in MB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HashSplit {
    tree: usize,
    /// Alpha-beta's transposition table.
    table: usize,
}

impl HashSplit {
    fn of(settings: &Settings) -> HashSplit {
        match settings.search {
            Search::AlphaBeta => HashSplit { tree: 0, table: settings.hash_mb },
            _ if settings.checks_blunders() => {
                let table = settings.hash_mb / CHECKS_SHARE;
                HashSplit { tree: settings.hash_mb - table, table }
            }
            _ => HashSplit { tree: settings.hash_mb, table: 0 },
        }
    }

    fn total(self) -> usize {
        self.tree + self.table
    }
}

/// Moves of a game that the blunder check has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlunderCount {
    /// All that were checked.
    pub checked: u32,
    /// Those that were not played.
    pub replaced: u32,
}

/// Less memory than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashShortage {
    wanted_mb: usize,
    got_mb: usize,
}

impl fmt::Display for HashShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HashShortage { wanted_mb, got_mb } = self;
        write!(f, "Hash {wanted_mb} MB is more than this machine has free; using {got_mb} MB")
    }
}

impl Default for SearchSession {
    fn default() -> SearchSession {
        SearchSession {
            searcher: Searcher::new(Params::default(), 0),
            wanted: HashSplit::default(),
            table_mb: 0,
            imagined: None,
            root: None,
            evaluator: None,
            evaluation_time: Duration::ZERO,
            time_use: TimeUse::default(),
            lag: Lag::default(),
            alpha_beta: None,
            blunders: BlunderCount::default(),
        }
    }
}

impl SearchSession {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.root = None;
        self.imagined = None;
        self.searcher.clear();
        self.time_use = TimeUse::default();
        self.blunders = BlunderCount::default();
        if let Some(alpha_beta) = &mut self.alpha_beta {
            alpha_beta.clear();
        }
    }

    /// The alpha-beta search, with the transposition table that was reserved. None if its network is damaged.
    pub fn alpha_beta(&mut self) -> Option<&mut AlphaBeta> {
        if self.alpha_beta.is_none() {
            let nnue = nnue().inspect_err(|why| log::warn!("no alpha-beta search: {why}")).ok()?;
            let entries = ((self.table_mb << 20) / table::ENTRY_BYTES).max(LEAST_ENTRIES);
            self.alpha_beta = Some(AlphaBeta::new(nnue, 1 << entries.ilog2()));
        }
        self.alpha_beta.as_mut()
    }

    /// Reserves the memory of the search that `settings` ask for. Answers what was missing, the first time it is asked for.
    pub fn reserve(&mut self, settings: &Settings) -> Option<HashShortage> {
        let wanted = HashSplit::of(settings);
        if self.wanted == wanted {
            return None;
        }
        let shortage = self.reserve_of(wanted, host::available_mb());
        if wanted.table > 0 {
            self.alpha_beta();
        }
        shortage
    }

    /// The same on a machine with `free_mb`; None where it does not say.
    fn reserve_of(&mut self, wanted: HashSplit, free_mb: Option<usize>) -> Option<HashShortage> {
        let held_mb = (self.searcher.bytes() >> 20) + self.table_mb;
        let granted = host::granted_mb(wanted.total(), held_mb, free_mb);
        // Before the rest is cleared: its table is made anew.
        self.alpha_beta = None;
        self.clear();
        self.wanted = wanted;
        self.table_mb = wanted.table.min(granted);
        self.searcher.resize((granted - self.table_mb) << 20);
        let got_mb = (self.searcher.bytes() >> 20) + self.table_mb;
        let wanted_mb = wanted.total();
        (granted < wanted_mb).then_some(HashShortage { wanted_mb, got_mb })
    }

    /// Makes the last position of `game` the root of a tree search by `settings`, in memory reserved for it. What the
    /// tree knows about that position is kept, unless another network evaluated it.
    pub fn set_root(
        &mut self,
        network: &Network,
        settings: &Settings,
        tables: Option<Tables>,
        game: &Game,
    ) -> Root {
        let mut warnings: Vec<String> =
            self.reserve(settings).iter().map(HashShortage::to_string).collect();
        let world = self.world(network, settings).with_tables(tables);
        if settings.imagines() && world.learned().is_none() {
            let name = &network.name;
            warnings.push(format!("{name} imagines no positions; searching by the rules"));
        }
        let kept = self.reroot(&world, game);
        Root { world, kept, warnings }
    }

    /// The world that the options ask for, or the rules if `network` imagines no positions. A tree with
    /// another network's values is dropped.
    fn world(&mut self, network: &Network, settings: &Settings) -> AnyWorld {
        let evaluator = &network.evaluator;
        let same =
            self.evaluator.as_ref().is_some_and(|last| last.ptr_eq(&Arc::downgrade(evaluator)));
        if !same {
            self.clear();
            self.evaluator = Some(Arc::downgrade(evaluator));
        }
        if settings.search == Search::Rollout {
            return AnyWorld::Rules(rollout::world(rollout::SEED));
        }
        let rules = || params::rules_world(evaluator.clone(), settings);
        if settings.world_model == WorldModel::Rules {
            return AnyWorld::Rules(rules());
        }
        let bytes = self.searcher.bytes();
        let memory =
            self.imagined.get_or_insert_with(|| Arc::new(PredictionCache::new(bytes))).clone();
        match LearnedWorld::new(evaluator.clone(), rules(), memory) {
            Some(world) if settings.world_model == WorldModel::LearnedTwice => {
                AnyWorld::Learned(world.with_refinement())
            }
            Some(world) => AnyWorld::Learned(world),
            None => AnyWorld::Rules(rules()),
        }
    }

    /// Visits kept.
    fn reroot(&mut self, world: &AnyWorld, game: &Game) -> u64 {
        let last = self.root.replace(game.clone());
        let path = |back| last.as_ref().and_then(|last| game.continuation_of(last, back));
        let state = world.root(game);
        let forward = path(0).filter(|path| match (world.learned(), &last) {
            // An imagined tree is kept only if its new root has come true.
            (Some(world), Some(last)) => world.came_true(last, path, game),
            _ => true,
        });
        if let Some(path) = forward {
            return self.searcher.reroot(state, Ancestor::Root, path);
        }
        // Not a position below the last root, but perhaps one below the root before it: the opponent did not
        // play the move we pondered on.
        let sideways = self.searcher.plies_since_former_root().and_then(path);
        match sideways.filter(|_| world.learned().is_none()) {
            Some(path) => self.searcher.reroot(state, Ancestor::FormerRoot, path),
            None => {
                self.searcher.set_root(state);
                0
            }
        }
    }

    /// A move was checked for a blunder, and `replaced` or not. Answers the game's counts.
    pub fn count_check(&mut self, replaced: bool) -> BlunderCount {
        self.blunders.checked += 1;
        self.blunders.replaced += u32::from(replaced);
        self.blunders
    }

    /// How the moves since the game began used their time.
    #[must_use]
    pub fn time_use(&self) -> TimeUse {
        self.time_use
    }

    /// The lag of the moves before.
    pub fn lag(&mut self) -> &mut Lag {
        &mut self.lag
    }

    /// A move took `used` of its soft limit `soft`.
    pub fn learn_time_use(&mut self, used: Duration, soft: Duration) {
        self.time_use.learn(used, soft);
    }

    /// Time of one evaluation: as measured at loading, or longer if recent searches saw it take longer.
    #[must_use]
    pub fn evaluation_time(&self, at_loading: Duration) -> Duration {
        self.evaluation_time.max(at_loading)
    }

    /// Searches from `root`, as [`SearchSession::set_root`] returned it; blocks.
    pub fn run(
        &mut self,
        root: &Root,
        plan: &Plan<'_>,
        control: &dyn Control<AnyWorld>,
    ) -> Outcome<Action, EvalError> {
        self.searcher.set_params(plan.params.clone());
        self.searcher.restrict_root(plan.searchmoves);
        self.searcher.run(&root.world, plan.threads, plan.playouts, control)
    }

    /// Learns from a search on `threads` that took `taken` how long an evaluation takes.
    pub fn learn_speed(
        &mut self,
        search: &Outcome<Action, EvalError>,
        threads: usize,
        taken: Duration,
    ) {
        if let Ok(playouts @ 1..) = u32::try_from(search.snapshot.playouts) {
            let lanes = u32::try_from(threads).unwrap_or(1).min(playouts);
            self.evaluation_time = (self.evaluation_time + taken * lanes / playouts) / 2;
        }
    }
}

/// The root of a tree search.
pub struct Root {
    /// What the tree search asks about positions.
    pub world: AnyWorld,
    /// Visits that an earlier search left.
    pub kept: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How one search is run.
pub struct Plan<'a> {
    /// Constants of the search.
    pub params: Params,
    /// Root moves to consider; empty = all.
    pub searchmoves: &'a [Action],
    /// Workers, the calling thread included.
    pub threads: usize,
    /// Exact; None = until the control stops it.
    pub playouts: Option<u64>,
}

impl Plan<'_> {
    /// All moves, without a limit, in minibatches of `batch`.
    #[must_use]
    pub fn new(network: &Network, settings: &Settings, batch: usize) -> Self {
        // A GPU wants its next batch gathered while it computes one.
        let threads = host::threads(settings.threads).max(network.evaluator.in_flight());
        let params = params::search_params(settings, batch);
        Plan { params, searchmoves: &[], threads, playouts: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_beyond_the_machine_is_reported_once_and_cut() {
        let mut session = SearchSession::default();
        let wild = HashSplit { tree: 1_048_576, table: 0 };
        // 256 MB are left to others, so a tree of 2 MB is reserved.
        let shortage = session.reserve_of(wild, Some(258)).unwrap();
        assert!((1..=2).contains(&shortage.got_mb), "{shortage}");
        let got = shortage.got_mb;
        assert_eq!(
            shortage.to_string(),
            format!("Hash 1048576 MB is more than this machine has free; using {got} MB")
        );
        let settings = Settings { hash_mb: 1_048_576, blunder_check: false, ..Settings::default() };
        assert_eq!(session.reserve(&settings), None, "asked for already");
        assert_eq!(session.reserve_of(HashSplit { tree: 1, table: 0 }, Some(1000)), None);
    }

    #[test]
    fn the_alpha_beta_player_has_the_hash_for_its_table() {
        let mut session = SearchSession::default();
        let settings = Settings { hash_mb: 4, search: Search::AlphaBeta, ..Settings::default() };
        assert_eq!(session.reserve(&settings), None);
        assert!(session.searcher.bytes() < 1 << 20);
        assert_eq!(session.table_mb, 4);
        assert!(session.alpha_beta.is_some(), "made before the first search");
        let settings = Settings { hash_mb: 64, blunder_check: true, ..Settings::default() };
        assert_eq!(session.reserve(&settings), None);
        assert!((54..=56).contains(&(session.searcher.bytes() >> 20)));
        assert_eq!((session.table_mb, session.alpha_beta.is_some()), (8, true));
    }
}
