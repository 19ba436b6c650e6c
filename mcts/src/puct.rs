//! The formulas of the search as pure functions: prior (Eq. 1), PUCT, virtual counts. No atomics and
//! no tree, so each can be checked by hand.

use crate::{
    params::{Params, VirtualValue},
    world::Edge,
};

/// An edge with its final prior, as the tree will keep it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked<A> {
    pub action: A,
    pub prior: f32,
    pub q: f32,
}

/// Priors of one state's edges, highest first.
///
/// `policy_share * policy + (1 - policy_share) * Eq. 1`, where Eq. 1 (paper 000, section 3) is
/// `(1 - epsilon) * softmax over the top_k best q / tau + epsilon / n`. The policy is normalised
/// first; one without mass leaves Eq. 1 alone. Equal priors keep the world's order.
///
/// None if any number is not finite.
pub fn priors<A: Copy>(edges: &[Edge<A>], params: &Params) -> Option<Vec<Ranked<A>>> {
    if edges.iter().any(|e| !e.q.is_finite() || !e.policy.is_finite()) {
        return None;
    }
    let n = edges.len();
    let q = |i: usize| edges[i].q.clamp(0.0, 1.0);
    let policy = |i: usize| edges[i].policy.max(0.0);

    let mut best: Vec<usize> = (0..n).collect();
    best.sort_by(|&a, &b| q(b).total_cmp(&q(a)).then(policy(b).total_cmp(&policy(a))));
    best.truncate(params.top_k);
    let top = best.first().map_or(0.0, |&i| q(i));
    let weight = |i: usize| ((q(i) - top) / params.tau).exp();
    let total: f32 = best.iter().map(|&i| weight(i)).sum();
    let mut prior = vec![params.epsilon / n as f32; n];
    for &i in &best {
        prior[i] += (1.0 - params.epsilon) * weight(i) / total;
    }

    let mass: f32 = (0..n).map(policy).sum();
    if mass.is_finite() && mass > 0.0 {
        for (i, p) in prior.iter_mut().enumerate() {
            *p = (1.0 - params.policy_share) * *p + params.policy_share * policy(i) / mass;
        }
    }
    let mut ranked: Vec<Ranked<A>> = edges
        .iter()
        .zip(prior)
        .enumerate()
        .map(|(i, (e, prior))| Ranked { action: e.action, prior, q: q(i) })
        .collect();
    ranked.sort_by(|a, b| b.prior.total_cmp(&a.prior));
    Some(ranked)
}

/// Exploration constant at `visits` of the parent: `c_puct + c_factor * ln((N + c_base + 1) / c_base)`,
/// the form of AlphaZero (its pseudocode, `ucb_score`) with lc0's factor.
pub fn c_puct(visits: f32, params: &Params) -> f32 {
    params.c_puct + params.c_factor * ((visits + params.c_base + 1.0) / params.c_base).ln()
}

/// What PUCT needs to know of one edge. `value` is the sum over `visits`, mover's view.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub prior: f32,
    pub fpu: f32,
    pub visits: u64,
    pub in_flight: u64,
    pub value: f64,
}

/// Q of an edge with its virtual counts: the mean, counting visits under way as `kind` says.
pub fn q(arm: &Arm, kind: VirtualValue) -> f32 {
    let visits = match kind {
        VirtualValue::Loss => arm.visits + arm.in_flight,
        VirtualValue::Mean => arm.visits,
    };
    if visits == 0 { arm.fpu } else { (arm.value / visits as f64) as f32 }
}

/// PUCT of one edge: Q + U, `U = exploration * P / (1 + n)`, where `exploration` is
/// `c_puct * sqrt(N)` of the parent and n counts visits under way.
pub fn score(q: f32, arm: &Arm, exploration: f32) -> f32 {
    q + exploration * arm.prior / (1 + arm.visits + arm.in_flight) as f32
}

/// Virtual count at depth `depth` of a playout whose leaf is `leaf` deep:
/// `max(n_min, floor(n_max * 2^(depth - leaf)))` (paper 000, section 3.2; its text prints `min`, its
/// figure 7 and prose say `max`).
pub fn virtual_count(depth: usize, leaf: usize, (n_min, n_max): (u32, u32)) -> u32 {
    n_min.max(n_max.checked_shr((leaf - depth) as u32).unwrap_or(0))
}

/// n_max for a search of `simulations`, by the table of paper 000, App. A.3.
pub fn n_max_for(simulations: u64) -> u32 {
    match simulations {
        0..=999 => 8,
        1000..=1999 => 16,
        _ => 32,
    }
}

/// Virtual counts (n_min, n_max) in force for a search of `simulations`.
pub fn virtual_counts(simulations: u64, params: &Params) -> (u32, u32) {
    match params.dynamic_virtual {
        Some((n_min, n_max)) if params.adapt_virtual => (n_min, n_max.max(n_max_for(simulations))),
        Some(range) => range,
        None => (params.static_virtual, params.static_virtual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(q: &[f32], policy: &[f32]) -> Vec<Edge<u16>> {
        q.iter()
            .zip(policy)
            .enumerate()
            .map(|(i, (&q, &policy))| Edge { action: i as u16, policy, q })
            .collect()
    }

    #[test]
    fn eq1_is_the_papers_formula() {
        let params = Params { policy_share: 0.0, top_k: 2, ..Params::default() };
        let ranked = priors(&edges(&[0.1, 0.6, 0.5, 0.4], &[0.0; 4]), &params).unwrap();
        let (a, b) = ((0.6f32 / 0.1).exp(), (0.5f32 / 0.1).exp());
        assert_eq!(ranked.iter().map(|r| r.action).collect::<Vec<_>>(), [1, 2, 0, 3]);
        assert!((ranked[0].prior - (0.95 * a / (a + b) + 0.0125)).abs() < 1e-5);
        assert!((ranked[1].prior - (0.95 * b / (a + b) + 0.0125)).abs() < 1e-5);
        assert_eq!((ranked[2].prior, ranked[3].prior), (0.0125, 0.0125));
    }

    #[test]
    fn priors_sum_to_one_whatever_the_policy() {
        for policy in [[0.0, 0.0, 0.0], [5.0, 0.0, 1.0], [-1.0, 0.5, 0.5], [f32::MAX; 3]] {
            for share in [0.0, 0.5, 1.0] {
                let params = Params { policy_share: share, ..Params::default() };
                let sum: f32 = priors(&edges(&[0.0, 2.0, 0.5], &policy), &params)
                    .unwrap()
                    .iter()
                    .map(|r| r.prior)
                    .sum();
                assert!((sum - 1.0).abs() < 1e-5, "{policy:?} {share}: {sum}");
            }
        }
    }

    #[test]
    fn a_nan_is_noticed() {
        assert!(priors(&edges(&[0.1, f32::NAN], &[0.5, 0.5]), &Params::default()).is_none());
        assert!(priors(&edges(&[0.1, 0.1], &[f32::INFINITY, 0.5]), &Params::default()).is_none());
    }

    #[test]
    fn virtual_counts_halve_from_the_leaf_as_in_figure_7() {
        let counts: Vec<u32> = (0..=4).map(|d| virtual_count(d, 4, (2, 8))).collect();
        assert_eq!(counts, [2, 2, 2, 4, 8]);
        assert_eq!(virtual_count(0, 500, (2, 8)), 2);
        assert_eq!((0..3).map(|d| virtual_count(d, 2, (10, 10))).collect::<Vec<_>>(), [10, 10, 10]);
    }

    #[test]
    fn n_max_follows_the_papers_table() {
        let table = [(100, 8), (250, 8), (500, 8), (1000, 16), (2000, 32)];
        assert!(table.iter().all(|&(m, n)| n_max_for(m) == n));
    }

    #[test]
    fn virtual_loss_lowers_q_and_virtual_mean_does_not() {
        let arm = Arm { prior: 0.5, fpu: 0.3, visits: 2, in_flight: 2, value: 1.0 };
        assert_eq!(q(&arm, VirtualValue::Loss), 0.25);
        assert_eq!(q(&arm, VirtualValue::Mean), 0.5);
        let fresh = Arm { visits: 0, in_flight: 0, value: 0.0, ..arm };
        assert_eq!(q(&fresh, VirtualValue::Loss), 0.3);
        assert_eq!(score(0.3, &fresh, 2.0), 1.3);
    }
}
