//! State shared by all workers of one run, read-only except for atomics.

use crate::{
    control::{Control, View},
    params::Params,
    queue::LeafQueue,
    root::RootPolicy,
    stats::RunStats,
    tree::Tree,
    world::World,
};

/// One run for all workers: search this tree in this world until a worker or the control asks to stop.
pub struct Job<'a, W: World> {
    /// Steps and evaluates states.
    pub world: &'a W,
    /// Grows by the workers' playouts.
    pub tree: &'a Tree,
    /// Constants of the search.
    pub params: &'a Params,
    /// The root's state; every descent begins with a clone of it.
    pub state: &'a W::State,
    /// The root's moves and priors.
    pub root_policy: &'a RootPolicy,
    /// Counters, remaining playouts and the stop reason.
    pub stats: &'a RunStats,
    /// The caller's hand on the search.
    pub control: &'a dyn Control<W>,
    /// Number of workers.
    pub threads: usize,
    /// Playouts of the whole run, if limited.
    pub max_playouts: Option<u64>,
    /// The way to a device; None = workers evaluate their own leaves.
    pub queue: Option<&'a LeafQueue<W::State>>,
}

impl<W: World> Job<'_, W> {
    /// The caller's view.
    pub fn view(&self) -> View<'_, W> {
        View::new(self.tree, self.root_policy, self.params, self.stats)
    }
}
