//! One search tree between two moves: the part below the new position is kept, and what the network imagined for it.
//! How much memory it has is the session's matter.

use super::params;
use crate::options::settings::{Search, Settings, WorldModel};
use crate::play::network::Network;
use crate::play::network::timing::EvalTiming;
use crate::process::host;
use crate::world::memory::PredictionCache;
use crate::world::rollout;
use crate::world::{AnyWorld, LearnedWorld};
use chess::action::Action;
use chess::game::Game;
use chess::syzygy::Tables;
use mcts::{Ancestor, Control, Outcome, Params, Searcher};
use nn::{EvalError, Evaluator};
use std::sync::{Arc, Weak};

/// The tree of one player.
pub struct KeptTree {
    searcher: Searcher<AnyWorld>,
    /// States that the network imagined; made at the first need.
    imagined: Option<Arc<PredictionCache>>,
    /// The game whose last position is the tree's root.
    root: Option<Game>,
    /// The evaluator of the tree's values. Not kept alive by it, but no other network can take its place in memory.
    evaluator: Option<Weak<dyn Evaluator>>,
}

impl Default for KeptTree {
    fn default() -> KeptTree {
        KeptTree {
            searcher: Searcher::new(Params::default(), 0),
            imagined: None,
            root: None,
            evaluator: None,
        }
    }
}

impl KeptTree {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.root = None;
        self.imagined = None;
        self.searcher.clear();
    }

    /// Drops the tree and reserves this memory for it.
    pub fn resize(&mut self, bytes: usize) {
        self.clear();
        self.searcher.resize(bytes);
    }

    /// Memory reserved.
    pub fn bytes(&self) -> usize {
        self.searcher.bytes()
    }

    /// Makes the last position of `game` the root of a tree search by `settings`. The tree's knowledge of that position
    /// is kept, unless another network evaluated it.
    pub fn set_root(
        &mut self,
        network: &Network,
        settings: &Settings,
        tables: Option<Tables>,
        game: &Game,
    ) -> Root {
        let mut warnings = Vec::new();
        let world = self.world(network, settings).with_tables(tables);
        if settings.imagines() && world.learned().is_none() {
            let name = &network.name;
            warnings.push(format!("{name} imagines no positions; searching by the rules"));
        }
        let kept = self.reroot(&world, game);
        Root { world, kept, warnings }
    }

    /// Searches from `root`, as [`KeptTree::set_root`] returned it; blocks.
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
}

/// The root of a tree search.
pub struct Root {
    /// The tree search's world.
    pub world: AnyWorld,
    /// Visits that an earlier search left.
    pub kept: u64,
    /// Notes for the user.
    pub warnings: Vec<String>,
}

/// How one search is run.
#[derive(Clone)]
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
    /// All moves, without a limit, in minibatches of `batch`; through the lanes of a device with this `timing`.
    #[must_use]
    pub fn new(settings: &Settings, timing: EvalTiming, batch: usize) -> Self {
        let threads = host::threads(settings.threads);
        let params = params::search_params(settings, batch);
        let pipeline = timing.pipeline(batch).filter(|_| settings.search == Search::Mcts);
        Plan { params: Params { pipeline, ..params }, searchmoves: &[], threads, playouts: None }
    }
}
