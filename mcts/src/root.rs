//! Root-only logic: noise and restriction before the search, and the final move after it. Reads the tree only.

use crate::{
    node::{Node, NodeState, Proof, from_unit16},
    params::{FinalMove, Params},
    rng::{Rng, mix},
    tree::{EdgeWord, Tree},
    value::Wdl,
};
use std::cmp::Ordering;

/// Distribution of a search's visits over the root's moves. Moves that are proven lost or refused are excluded:
/// they are played only if there is no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Race {
    /// Visits of the most visited move.
    pub first: u64,
    /// Visits of the next one.
    pub second: u64,
    /// Moves in the race.
    pub moves: usize,
    /// Another move has a better mean value, and at least a third of the first one's visits.
    pub contested: bool,
}

/// The root's priors and moves in this run. The tree stores the priors without noise and root temperature, so
/// that a reused tree has no trace of them.
#[derive(Debug, Default)]
pub struct RootPolicy {
    /// By edge; empty = all allowed.
    allowed: Vec<bool>,
    /// By edge; empty = those of the tree.
    priors: Vec<f32>,
}

impl RootPolicy {
    /// For the expanded root of `tree`: only `actions`, unless none of them is among its edges.
    pub fn new(tree: &Tree, actions: &[u16], params: &Params) -> RootPolicy {
        let meta = tree.root().meta();
        if meta.state() != NodeState::Expanded {
            return RootPolicy::default();
        }
        let edges = tree.edges(meta.edges());
        let mut allowed: Vec<bool> = edges.iter().map(|e| actions.contains(&e.action())).collect();
        if !allowed.contains(&true) {
            allowed.clear();
        }
        let mut priors = Vec::new();
        let temperature = params.root_policy_temperature;
        if temperature > 0.0 && temperature != params.policy_temperature {
            let exponent = params.policy_temperature / temperature;
            priors.extend(edges.iter().map(|edge| edge.prior().powf(exponent)));
            let total: f32 = priors.iter().sum();
            priors.iter_mut().for_each(|prior| *prior /= total.max(f32::MIN_POSITIVE));
        }
        if params.noise_epsilon > 0.0 {
            if priors.is_empty() {
                priors.extend(edges.iter().map(|edge| edge.prior()));
            }
            let mut rng = Rng::lane(params.seed ^ mix(params.noise_seed), u64::MAX);
            let noise = rng.dirichlet(f64::from(params.noise_alpha), edges.len());
            for (prior, noise) in priors.iter_mut().zip(noise) {
                *prior = (1.0 - params.noise_epsilon) * *prior + params.noise_epsilon * noise;
            }
        }
        RootPolicy { allowed, priors }
    }

    #[inline]
    pub fn allows(&self, at: usize) -> bool {
        self.allowed.get(at).copied().unwrap_or(true)
    }

    /// The effective prior of an edge with prior `prior` in the tree: with root temperature and noise
    /// (AlphaZero), `(1 - epsilon) P + epsilon * Dirichlet`.
    #[inline]
    pub fn prior(&self, at: usize, prior: f32) -> f32 {
        self.priors.get(at).copied().unwrap_or(prior)
    }
}

/// One move of a node with the inputs of the final-move rule, for the side to move at the node.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub action: u16,
    pub prior: f32,
    pub visits: u64,
    pub value: Wdl,
    pub proof: Option<Proof>,
    pub child: Option<u32>,
    /// The model's action value.
    pub q: f32,
    pub refused: bool,
}

impl Candidate {
    fn new(tree: &Tree, edge: EdgeWord, prior: f32, draw: f32) -> Candidate {
        let q = from_unit16(edge.q_bits());
        let mut candidate = Candidate {
            action: edge.action(),
            prior,
            visits: 0,
            value: Wdl::from_score_and_draw(q, draw),
            proof: None,
            child: edge.child(),
            q,
            refused: false,
        };
        if let Some(child) = edge.child() {
            let (meta, stats) = (tree.node(child).meta(), tree.node(child).stats());
            candidate.q = meta.q();
            candidate.visits = stats.visits;
            candidate.refused = meta.state() == NodeState::Refused;
            candidate.proof = meta.proof().map(|proof| match proof {
                Proof::Win(plies) => Proof::Loss(plies + 1),
                Proof::Draw => Proof::Draw,
                Proof::Loss(plies) => Proof::Win(plies + 1),
            });
            let mean = stats.mean().map(Wdl::flip);
            let unvisited = || Wdl::from_score_and_draw(meta.q(), draw);
            candidate.value = candidate.proof.map(Proof::wdl).or(mean).unwrap_or_else(unvisited);
        }
        candidate
    }

    /// Plies to mate: positive when the mover mates.
    pub fn mate_plies(&self) -> Option<i32> {
        self.proof?.mate_plies()
    }

    /// Order of the final-move rule, best first. Proven wins lead, the shortest foremost; proven losses trail,
    /// the longest foremost; refused states come last. Then the rule itself (paper 000, App. A.3: most visits,
    /// ties by value), and the prior where nothing has been visited.
    fn order(&self, other: &Candidate, rule: FinalMove, draw_cost: f32) -> Ordering {
        let class = |c: &Candidate| match c.proof {
            _ if c.refused => (3, 0),
            Some(Proof::Win(plies)) => (0, i64::from(plies)),
            Some(Proof::Loss(plies)) => (2, -i64::from(plies)),
            _ => (1, 0),
        };
        let visits = other.visits.cmp(&self.visits);
        let value = other.value.utility(draw_cost).total_cmp(&self.value.utility(draw_cost));
        let by_rule = match rule {
            FinalMove::Robust => visits.then(value),
            FinalMove::Max => (self.visits == 0).cmp(&(other.visits == 0)).then(value).then(visits),
        };
        class(self).cmp(&class(other)).then(by_rule).then(other.prior.total_cmp(&self.prior))
    }
}

/// The root's moves, best first; empty unless it is expanded.
pub fn candidates(tree: &Tree, root_policy: &RootPolicy, params: &Params) -> Vec<Candidate> {
    ordered(tree, tree.root(), root_policy, params, 0)
}

/// The moves of an expanded node `plies` below the root, best first; empty for any other node.
pub fn ordered(
    tree: &Tree,
    node: Node<'_>,
    root_policy: &RootPolicy,
    params: &Params,
    plies: usize,
) -> Vec<Candidate> {
    let mut moves: Vec<Candidate> = unordered(tree, node, root_policy).collect();
    let draw_cost = params.draw_cost(plies);
    moves.sort_by(|a, b| a.order(b, params.final_move, draw_cost));
    moves
}

/// [`ordered`], in the order of the tree.
fn unordered<'a>(
    tree: &'a Tree,
    node: Node<'a>,
    root_policy: &'a RootPolicy,
) -> impl Iterator<Item = Candidate> + 'a {
    let meta = node.meta();
    let expanded = meta.state() == NodeState::Expanded;
    let draw = node.stats().mean().map_or(0.0, |mean| mean.draw);
    expanded
        .then(|| tree.edges(meta.edges()).iter())
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|&(at, _)| root_policy.allows(at))
        .map(move |(at, edge)| {
            let prior = root_policy.prior(at, edge.prior());
            Candidate::new(tree, edge, prior, draw)
        })
}

/// Whether one of the root's moves is proven to win, or all are proven. Called after every minibatch.
pub fn proven(tree: &Tree, root_policy: &RootPolicy) -> bool {
    let (mut moves, mut all) = (0, true);
    for candidate in unordered(tree, tree.root(), root_policy) {
        moves += 1;
        match candidate.proof {
            Some(Proof::Win(_)) if !candidate.refused => return true,
            proof => all &= proof.is_some(),
        }
    }
    moves > 0 && all
}

/// Distribution of the visits over the root's moves.
pub fn race(tree: &Tree, root_policy: &RootPolicy, params: &Params) -> Race {
    let draw_cost = params.draw_cost(0);
    let mut race = Race::default();
    let meta = tree.root().meta();
    if meta.state() != NodeState::Expanded {
        return race;
    }
    let edges = tree.edges(meta.edges());
    let running = || {
        edges.iter().enumerate().filter_map(|(at, edge)| {
            let child = edge.child().map(|child| tree.node(child));
            let lost = child.is_some_and(|child| {
                let meta = child.meta();
                meta.state() == NodeState::Refused || matches!(meta.proof(), Some(Proof::Win(_)))
            });
            (!lost && root_policy.allows(at)).then_some(child)
        })
    };
    let mut leaders_value = 0.0;
    for child in running() {
        race.moves += 1;
        let Some(stats) = child.map(Node::stats).filter(|stats| stats.visits > 0) else { continue };
        race.second = race.second.max(stats.visits.min(race.first));
        if stats.visits > race.first {
            (race.first, leaders_value) = (stats.visits, stats.parents_mean(draw_cost));
        }
    }
    race.contested = running().flatten().map(Node::stats).any(|stats| {
        let seen = stats.visits * 3 >= race.first && stats.visits > 0;
        seen && stats.parents_mean(draw_cost) > leaders_value
    });
    race
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        node::Fixed,
        tree::{ArenaChunk, RankedEdge},
    };

    fn candidate(visits: u64, q: f32, proof: Option<Proof>) -> Candidate {
        let value = Wdl::from_score_and_draw(q, 0.0);
        Candidate { action: 0, prior: 0.1, visits, value, proof, child: None, q, refused: false }
    }

    fn sorted(mut moves: Vec<Candidate>, rule: FinalMove) -> Vec<(u64, Option<Proof>)> {
        moves.sort_by(|a, b| a.order(b, rule, 0.0));
        moves.iter().map(|c| (c.visits, c.proof)).collect()
    }

    #[test]
    fn moves_proven_lost_and_refused_are_out_of_the_race() {
        let tree = Tree::new(1 << 20);
        let mut chunk = ArenaChunk::default();
        let ranked = [0u16, 1, 2, 3, 4].map(|action| RankedEdge { action, prior: 0.2, q: 0.5 });
        let block = tree.alloc_edges(&mut chunk, &ranked).unwrap();
        let expanded = tree.root().meta().with_edges(block).with_state(NodeState::Expanded);
        tree.root().publish(expanded);
        let edges = tree.edges(block);
        for (at, visits) in [(0, 50), (1, 6), (2, 9), (3, 20)] {
            let child = tree.node(tree.visit(&edges, at, &mut chunk).unwrap());
            for _ in 0..visits {
                child.back_up(Fixed::new(Wdl::DRAW), 0);
            }
        }
        let race = || super::race(&tree, &RootPolicy::default(), &Params::default());
        assert_eq!(race(), Race { first: 50, second: 20, moves: 5, contested: false });
        let child = |at| tree.node(edges.get(at).child().unwrap());
        // A mate refutes the leader, and the second was refused.
        let terminal = child(0).meta().with_state(NodeState::Terminal);
        child(0).publish(terminal.with_proof(Some(Proof::Win(3))));
        child(3).publish(child(3).meta().with_state(NodeState::Refused));
        assert_eq!(race(), Race { first: 9, second: 6, moves: 3, contested: false });
        for at in [1, 2] {
            child(at).publish(terminal.with_proof(Some(Proof::Win(1))));
        }
        let unseen = Race { first: 0, second: 0, moves: 1, contested: false };
        assert_eq!(race(), unseen, "the one not looked at yet");
    }

    #[test]
    fn a_root_is_proven_by_one_won_move_or_by_all_moves() {
        let proven = |proofs: [Option<Proof>; 2]| {
            let tree = Tree::new(1 << 20);
            let mut chunk = ArenaChunk::default();
            let ranked = [0u16, 1].map(|action| RankedEdge { action, prior: 0.5, q: 0.5 });
            let block = tree.alloc_edges(&mut chunk, &ranked).unwrap();
            let expanded = tree.root().meta().with_edges(block).with_state(NodeState::Expanded);
            tree.root().publish(expanded);
            for (at, proof) in proofs.into_iter().enumerate() {
                let child = tree.node(tree.visit(&tree.edges(block), at, &mut chunk).unwrap());
                child.publish(child.meta().with_state(NodeState::Terminal).with_proof(proof));
            }
            super::proven(&tree, &RootPolicy::default())
        };
        let [win, draw, loss] = [Proof::Loss(1), Proof::Draw, Proof::Win(1)].map(Some);
        assert!(proven([win, None]) && proven([None, win]) && proven([draw, loss]));
        for half in [draw, loss, None] {
            assert!(!proven([half, None]) && !proven([None, half]));
        }
    }

    #[test]
    fn a_rival_with_a_better_value_contests_the_first_place() {
        let contested = |rivals: &[(u64, f32)]| {
            let tree = Tree::new(1 << 20);
            let mut chunk = ArenaChunk::default();
            let ranked = [0u16, 1, 2].map(|action| RankedEdge { action, prior: 0.3, q: 0.5 });
            let block = tree.alloc_edges(&mut chunk, &ranked).unwrap();
            tree.root()
                .publish(tree.root().meta().with_edges(block).with_state(NodeState::Expanded));
            let edges = tree.edges(block);
            for (at, &(visits, q)) in rivals.iter().enumerate() {
                let child = tree.node(tree.visit(&edges, at, &mut chunk).unwrap());
                let value = Fixed::new(Wdl::from_score_and_draw(1.0 - q, 0.0));
                for _ in 0..visits {
                    child.back_up(value, 0);
                }
            }
            super::race(&tree, &RootPolicy::default(), &Params::default()).contested
        };
        assert!(!contested(&[]));
        assert!(!contested(&[(60, 0.5), (40, 0.45), (19, 0.9)]), "too few visits to tell");
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            assert!(contested(&order.map(|at| [(60, 0.5), (20, 0.55), (1, 0.1)][at])));
        }
    }

    #[test]
    fn the_roots_temperature_flattens_its_priors_alone() {
        let tree = Tree::new(1 << 20);
        let ranked = [0.64, 0.32, 0.04].map(|prior| RankedEdge { action: 0u16, prior, q: 0.5 });
        let block = tree.alloc_edges(&mut ArenaChunk::default(), &ranked).unwrap();
        let meta = tree.root().meta().with_edges(block).with_state(NodeState::Expanded);
        tree.root().publish(meta);
        let params = |root_policy_temperature| Params {
            policy_temperature: 1.5,
            root_policy_temperature,
            ..Params::default()
        };
        for temperature in [0.0, 1.5] {
            let policy = RootPolicy::new(&tree, &[], &params(temperature));
            assert_eq!(policy.prior(0, 0.64), 0.64, "as below the root");
        }
        let policy = RootPolicy::new(&tree, &[], &params(3.0));
        let roots = [0.8, 0.32f32.sqrt(), 0.2];
        let total: f32 = roots.iter().sum();
        for (at, root) in roots.into_iter().enumerate() {
            assert!((policy.prior(at, 0.0) - root / total).abs() < 1e-4);
        }
    }

    #[test]
    fn shorter_wins_first_longer_losses_first_among_the_last() {
        let (short, long) = (Some(Proof::Win(1)), Some(Proof::Win(9)));
        let (soon, late) = (Some(Proof::Loss(2)), Some(Proof::Loss(8)));
        let moves = [(90, soon), (5, None), (80, late), (1, long), (2, short), (0, None)];
        let moves = moves.iter().map(|&(visits, proof)| candidate(visits, 0.5, proof)).collect();
        let order = [(2, short), (1, long), (5, None), (0, None), (80, late), (90, soon)];
        assert_eq!(sorted(moves, FinalMove::Robust), order);
    }

    #[test]
    fn robust_breaks_ties_by_value_and_max_ignores_the_unvisited() {
        let moves = [candidate(5, 0.4, None), candidate(5, 0.6, None), candidate(7, 0.1, None)];
        let best = |moves: &[Candidate], rule, draw_cost| {
            *moves.iter().min_by(|a, b| a.order(b, rule, draw_cost)).unwrap()
        };
        assert_eq!(best(&moves, FinalMove::Robust, 0.0).visits, 7);
        assert_eq!(best(&moves[..2], FinalMove::Robust, 0.0).value.q(), 0.6);
        let moves = [candidate(0, 0.9, None), candidate(3, 0.6, None), candidate(7, 0.1, None)];
        assert_eq!(best(&moves, FinalMove::Max, 0.0).visits, 3);
        let draw = Candidate { value: Wdl::DRAW, ..moves[1] };
        let moves = [draw, candidate(4, 0.45, None)];
        assert_eq!([0.0, 0.1].map(|cost| best(&moves, FinalMove::Max, cost).visits), [3, 4]);
    }
}
