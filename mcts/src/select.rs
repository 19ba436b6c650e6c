//! Selection: one descent from the root along the highest PUCT scores to a leaf. Reads atomics, claims the leaf
//! with one compare-exchange, never waits: anything unavailable is reported as a [`Descent`].

use crate::{
    job::Job,
    node::{NodeState, NodeStats, Proof, from_unit16},
    params::Fpu,
    puct::{self, EdgeStats},
    rng::Rng,
    slot::Slot,
    tree::{ArenaChunk, Edges},
    value::Wdl,
    world::World,
};

/// Where a descent ended.
pub enum Descent {
    /// At a fresh node, now claimed by this worker; the slot has its state.
    Leaf,
    /// At an end of the game, or at a proven node: its value for the side to move there.
    End(Wdl),
    /// At a node that is in flight in another playout.
    Collision,
    /// At an edge whose child finds no room in the arena.
    OutOfMemory,
    /// At a root without an allowed move.
    NoMove,
}

/// State of a worker's descents.
pub struct Selector<'a, W: World> {
    /// Shared by all workers.
    pub job: &'a Job<'a, W>,
    /// Breaks ties.
    pub rng: &'a mut Rng,
    /// Arena space for new nodes.
    pub chunk: &'a mut ArenaChunk,
    /// Virtual count for every node below the root that a descent passes, so that a concurrent worker goes
    /// elsewhere. The path's end has none of it yet.
    pub count: u32,
    /// Virtual counts that this worker has already put on the root for this descent and later ones: all workers
    /// contend there.
    pub root_count: u32,
}

impl<W: World> Selector<'_, W> {
    /// Descends once.
    pub fn descend(&mut self, slot: &mut Slot<W::State>) -> Descent {
        let tree = self.job.tree;
        let Slot { path, state, .. } = slot;
        state.clone_from(self.job.state);
        let mut at = tree.root;
        path.clear();
        path.push(at);
        loop {
            let node = tree.node(at);
            let meta = node.meta();
            // A proven root is still searched, because its moves must be compared.
            let is_root = path.len() == 1;
            match meta.state() {
                NodeState::Fresh if node.claim(meta) => return Descent::Leaf,
                NodeState::Fresh | NodeState::Claimed => return Descent::Collision,
                NodeState::Refused if is_root => return Descent::NoMove,
                NodeState::Refused => return Descent::Collision,
                NodeState::OutOfMemory => return Descent::OutOfMemory,
                NodeState::Terminal => {
                    // A terminal node is published after its first visit, so it has a mean.
                    let mean = || node.stats().mean().unwrap_or(Wdl::DRAW);
                    return Descent::End(meta.proof().map_or_else(mean, Proof::wdl));
                }
                NodeState::Expanded => {}
            }
            if !is_root && let Some(proof) = meta.proof() {
                return Descent::End(proof.wdl());
            }
            let edges = tree.edges(meta.edges());
            let (stats, count) = if is_root {
                (node.stats().without(self.root_count), 0)
            } else {
                (node.add_virtual(self.count), self.count)
            };
            let plies = path.len() - 1;
            let Some(choice) = self.choose(&edges, stats, plies) else {
                node.remove_virtual(count);
                if is_root {
                    return Descent::NoMove;
                }
                node.refuse();
                return Descent::Collision;
            };
            let Some(child) = tree.visit(&edges, choice, self.chunk) else {
                node.remove_virtual(count);
                return Descent::OutOfMemory;
            };
            let action = W::Action::from(edges.get(choice).action());
            if let Some(end) = self.job.world.step(state, action) {
                let Some(child) = tree.end_on_path(&edges, choice, self.chunk) else {
                    node.remove_virtual(count);
                    return Descent::OutOfMemory;
                };
                path.push(child);
                return Descent::End(end);
            }
            path.push(child);
            at = child;
        }
    }

    /// The edge with the highest PUCT score, `plies` below the root; ties are broken at random. Refused
    /// children are excluded; proven losses are taken only when there is nothing else.
    fn choose(&mut self, edges: &Edges<'_>, stats: NodeStats, plies: usize) -> Option<usize> {
        let Job { tree, params, root_policy, .. } = *self.job;
        let draw_cost = params.draw_cost(plies);
        let exploration = puct::exploration(stats.visits + stats.in_flight, params);
        let parents_q = match params.fpu {
            Fpu::ActionValue => None,
            Fpu::ParentQ => Some(stats.mean().map_or(0.5, Wdl::q)),
        };
        // Assumes that an unvisited move draws as often as its position.
        let reduction = match draw_cost {
            0.0 => 0.0,
            cost => cost * stats.mean().map_or(0.0, |mean| mean.draw),
        };
        let fpu = |action_value: f32| (parents_q.unwrap_or(action_value) - reduction).max(0.0);
        let (mut open, mut losing) = (Best::default(), Best::default());
        for (at, edge) in edges.iter().enumerate() {
            let mut prior = edge.prior();
            if plies == 0 {
                if !root_policy.allows(at) {
                    continue;
                }
                prior = root_policy.prior(at, prior);
            }
            let Some(child) = edge.child() else {
                let q = fpu(from_unit16(edge.q_bits()));
                open.offer(at, puct::fresh_score(q, prior, exploration), self.rng);
                continue;
            };
            let child = tree.node(child);
            let (meta, stats) = (child.meta(), child.stats());
            let edge = EdgeStats {
                prior,
                fpu: fpu(meta.q()),
                visits: stats.visits,
                in_flight: stats.in_flight,
                value: stats.parents_utility(draw_cost),
            };
            let (best, q) = match meta.proof() {
                _ if meta.state() == NodeState::Refused => continue,
                Some(proof @ Proof::Win(_)) => (&mut losing, proof.wdl().flip().utility(draw_cost)),
                Some(proof) => (&mut open, proof.wdl().flip().utility(draw_cost)),
                None => (&mut open, puct::q(&edge)),
            };
            best.offer(at, puct::score(q, &edge, exploration), self.rng);
        }
        open.at.or(losing.at)
    }
}

/// Running maximum; ties are broken uniformly (reservoir sampling).
#[derive(Default)]
struct Best {
    at: Option<usize>,
    score: f32,
    equals: u32,
}

impl Best {
    #[inline]
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
