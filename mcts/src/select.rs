//! One descent: from the root along PUCT's choices to a leaf. Reads atomics, claims the leaf with one
//! compare-exchange, never waits: what cannot be had at once is reported as a [`Descent`].

use crate::{
    node::{Proof, State, Stats},
    params::Fpu,
    pool::Job,
    puct::{self, Arm},
    rng::Rng,
    tree::{Edges, Lot},
    value::Wdl,
    world::World,
};

/// Where a descent ended.
pub enum Descent {
    /// At a fresh node, now claimed by this worker; the slot has its state.
    Leaf,
    /// At an end of the game, or at a proven node: its value for the side to move there.
    End(Wdl),
    /// At a node another playout has in flight.
    Collision,
    /// At an edge whose child finds no room in the arena.
    Full,
    /// At a root none of whose moves may be chosen.
    Exhausted,
}

/// What a descent fills in; used again and again, so that descending allocates nothing.
pub struct Slot<S> {
    /// The nodes passed, root first, the end included.
    pub path: Vec<u32>,
    /// The state at the path's end.
    pub state: S,
}

/// Descends once. Puts the virtual count `n_min` on every node it leaves, so that another worker on its
/// heels looks elsewhere; the path's end has none of it yet. On the root, where all workers meet, the
/// worker has put `ahead` of them before, for this descent and later ones.
pub fn descend<W: World>(
    job: &Job<'_, W>,
    rng: &mut Rng,
    lot: &mut Lot,
    slot: &mut Slot<W::State>,
    (n_min, ahead): (u32, u32),
) -> Descent {
    let tree = job.tree;
    let Slot { path, state } = slot;
    state.clone_from(job.state);
    let mut at = tree.root;
    path.clear();
    path.push(at);
    loop {
        let node = tree.node(at);
        let meta = node.meta();
        match meta.state() {
            State::Fresh if node.claim(meta) => return Descent::Leaf,
            State::Fresh | State::Claimed => return Descent::Collision,
            State::Refused => {
                return if path.len() == 1 { Descent::Exhausted } else { Descent::Collision };
            }
            State::Shed => return Descent::Full,
            State::Terminal => {
                // A terminal is published after its first visit, so it has a mean.
                let mean = || node.stats().mean().unwrap_or(Wdl::DRAW);
                return Descent::End(meta.proof().map_or_else(mean, Proof::wdl));
            }
            State::Expanded => {}
        }
        // The root goes on when it is proven: its moves still have to be told apart.
        let root = path.len() == 1;
        if !root && let Some(proof) = meta.proof() {
            return Descent::End(proof.wdl());
        }
        let edges = tree.edges(meta.edges());
        let stats = if root { node.stats().without(ahead) } else { node.launch(n_min) };
        let passed = if root { 0 } else { n_min };
        let Some(pick) = choose(job, &edges, stats, root, rng) else {
            node.undo(passed);
            if root {
                return Descent::Exhausted;
            }
            node.refuse();
            return Descent::Collision;
        };
        let Some(child) = tree.visit(&edges, pick, lot) else {
            node.undo(passed);
            return Descent::Full;
        };
        path.push(child);
        if let Some(end) = job.world.step(state, W::Action::from(edges.get(pick).action())) {
            return Descent::End(end);
        }
        at = child;
    }
}

/// The edge with the highest PUCT score; among equals a random one. Refused children are out of the
/// question; proven losses are taken only when there is nothing else.
fn choose<W: World>(
    job: &Job<'_, W>,
    edges: &Edges<'_>,
    stats: Stats,
    root: bool,
    rng: &mut Rng,
) -> Option<usize> {
    let (tree, params) = (job.tree, job.params);
    let visits = (stats.visits + stats.in_flight).max(1) as f32;
    let exploration = puct::c_puct(visits, params) * visits.sqrt();
    let parent_fpu = match params.fpu {
        Fpu::ActionValue => None,
        Fpu::ParentQ { reduction } => {
            let mass: f32 = edges.iter().filter(|e| e.child().is_some()).map(|e| e.prior()).sum();
            Some((stats.mean().map_or(0.5, Wdl::q) - reduction * mass.sqrt()).max(0.0))
        }
    };
    let (mut open, mut losing) = (Best::default(), Best::default());
    for (at, edge) in edges.iter().enumerate() {
        let mut prior = edge.prior();
        if root {
            if !job.guide.allows(at) {
                continue;
            }
            prior = job.guide.prior(at, prior);
        }
        let Some(child) = edge.child() else {
            let q = parent_fpu.unwrap_or_else(|| crate::node::from_unit16(edge.q_bits()));
            open.offer(at, puct::fresh_score(q, prior, exploration), rng);
            continue;
        };
        let child = tree.node(child);
        let (meta, stats) = (child.meta(), child.stats());
        let arm = Arm {
            prior,
            fpu: parent_fpu.unwrap_or_else(|| meta.q()),
            visits: stats.visits,
            in_flight: stats.in_flight,
            value: stats.parents_value(),
        };
        let (best, q) = match meta.proof() {
            _ if meta.state() == State::Refused => continue,
            Some(proof @ Proof::Win(_)) => (&mut losing, proof.wdl().flip().q()),
            Some(proof) => (&mut open, proof.wdl().flip().q()),
            None => (&mut open, puct::q(&arm, params.virtual_value)),
        };
        best.offer(at, puct::score(q, &arm, exploration), rng);
    }
    open.at.or(losing.at)
}

/// The best offer so far; among equals each has the same chance.
#[derive(Default)]
struct Best {
    at: Option<usize>,
    score: f32,
    equals: u32,
}

impl Best {
    fn offer(&mut self, at: usize, score: f32, rng: &mut Rng) {
        if self.at.is_none() || score > self.score {
            *self = Best { at: Some(at), score, equals: 1 };
        } else if score == self.score {
            self.equals += 1;
            if rng.below(self.equals) == 0 {
                self.at = Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_fall_evenly_and_repeat_with_the_seed() {
        let draw = |seed| {
            let mut rng = Rng::lane(seed, 0);
            let mut counts = [0; 4];
            for _ in 0..4000 {
                let mut best = Best::default();
                (0..4).for_each(|at| best.offer(at, 1.0, &mut rng));
                best.offer(9, 0.5, &mut rng);
                counts[best.at.unwrap()] += 1;
            }
            counts
        };
        assert!(draw(1).iter().all(|&n| (900..1100).contains(&n)), "{:?}", draw(1));
        assert_eq!(draw(2), draw(2));
    }
}
