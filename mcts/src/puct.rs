//! The formulas of the search as pure functions: prior (Eq. 1), PUCT, virtual counts. No atomics, no tree.

use crate::{
    params::{MAX_VIRTUAL, Params, VirtualCounts},
    tree::RankedEdge,
    world::Edge,
};

/// Turns a model's edges into priors; reuses its buffers.
#[derive(Debug)]
pub struct Ranker<A> {
    /// The best edges by value so far: sortable key of value and policy, and the edge.
    best: Vec<(u64, u32)>,
    /// The policy after its temperature, not normalised.
    policy: Vec<f32>,
    prior: Vec<f32>,
    /// Sortable key of descending prior, with the edge.
    order: Vec<u64>,
    ranked: Vec<RankedEdge<A>>,
}

impl<A> Default for Ranker<A> {
    fn default() -> Self {
        Ranker {
            best: Vec::new(),
            policy: Vec::new(),
            prior: Vec::new(),
            order: Vec::new(),
            ranked: Vec::new(),
        }
    }
}

impl<A: Copy> Ranker<A> {
    /// Priors of one state's edges, highest first.
    ///
    /// `policy_share * policy + (1 - policy_share) * Eq. 1`, where Eq. 1 (paper 000, section 3) is `(1 -
    /// epsilon) * softmax over the top_k best q / tau + epsilon / n`. The policy is raised to `1 /
    /// policy_temperature` and normalised first; a zero policy leaves only Eq. 1. Equal priors keep the world's
    /// order.
    ///
    /// None if any number is not finite.
    pub fn rank(&mut self, edges: &[Edge<A>], params: &Params) -> Option<&[RankedEdge<A>]> {
        if edges.iter().any(|e| !e.q.is_finite() || !e.policy.is_finite()) {
            return None;
        }
        let n = edges.len();
        self.select(edges, params.top_k);
        let top = self.best.first().map_or(0.0, |&(key, _)| f32::from_bits((key >> 32) as u32));
        let weight = |key: u64| ((f32::from_bits((key >> 32) as u32) - top) / params.tau).exp();
        let total: f32 = self.best.iter().map(|&(key, _)| weight(key)).sum();
        self.prior.clear();
        self.prior.resize(n, params.epsilon / n as f32);
        for &(key, i) in &self.best {
            self.prior[i as usize] += (1.0 - params.epsilon) * weight(key) / total;
        }

        self.policy.clear();
        self.policy.extend(edges.iter().map(|e| e.policy.max(0.0)));
        if params.policy_temperature != 1.0 {
            let exponent = 1.0 / params.policy_temperature;
            self.policy.iter_mut().for_each(|p| *p = p.powf(exponent));
        }
        let mass: f32 = self.policy.iter().sum();
        if mass.is_finite() && mass > 0.0 {
            for (p, policy) in self.prior.iter_mut().zip(&self.policy) {
                *p = (1.0 - params.policy_share) * *p + params.policy_share * policy / mass;
            }
        }
        // Sorting integer keys with embedded indices takes a third of the time of sorting edges.
        self.order.clear();
        self.order.extend(
            self.prior
                .iter()
                .zip(0u32..)
                .map(|(p, i)| !u64::from(p.to_bits()) << 32 | u64::from(i)),
        );
        self.order.sort_unstable();
        self.ranked.clear();
        self.ranked.extend(self.order.iter().map(|&key| {
            let i = key as u32 as usize;
            RankedEdge { action: edges[i].action, prior: self.prior[i], q: unit(edges[i].q) }
        }));
        Some(&self.ranked)
    }

    /// Selects the `k` best edges by value, then policy, then index, into `self.best`.
    fn select(&mut self, edges: &[Edge<A>], k: usize) {
        self.best.clear();
        for (edge, i) in edges.iter().zip(0..) {
            // Bits of non-negative floats sort like the floats.
            let policy = edge.policy.max(0.0) + 0.0;
            let key = u64::from(unit(edge.q).to_bits()) << 32 | u64::from(policy.to_bits());
            if self.best.len() == k {
                if self.best.last().is_none_or(|&(least, _)| key <= least) {
                    continue;
                }
                self.best.pop();
            }
            let place = self.best.iter().rposition(|&(other, _)| other >= key);
            self.best.insert(place.map_or(0, |place| place + 1), (key, i));
        }
    }
}

/// `q` clamped to [0, 1], without negative zero.
#[inline]
fn unit(q: f32) -> f32 {
    q.clamp(0.0, 1.0) + 0.0
}

/// Exploration constant at `visits` of the parent: `c_puct + c_factor * ln((N + c_base + 1) / c_base)`,
/// the form of AlphaZero (its pseudocode, `ucb_score`) with lc0's factor.
#[inline]
pub fn c_puct(visits: f32, params: &Params) -> f32 {
    params.c_puct + params.c_factor * ((visits + params.c_base + 1.0) / params.c_base).ln()
}

/// Factor of prior / (1 + visits) at `visits` of the parent, those in flight included: `c_puct * sqrt(N)`.
#[inline]
pub fn exploration(visits: u64, params: &Params) -> f32 {
    let visits = visits.max(1) as f32;
    c_puct(visits, params) * visits.sqrt()
}

/// Inputs of PUCT for one edge. `value` is the sum of utilities over `visits`, mover's view.
#[derive(Clone, Copy, Debug)]
pub struct EdgeStats {
    pub prior: f32,
    pub fpu: f32,
    pub visits: u64,
    pub in_flight: u64,
    pub value: f64,
}

/// Q of an edge: the mean, with visits in flight as losses (virtual loss; paper 000, App. A.1).
#[inline]
pub fn q(edge: &EdgeStats) -> f32 {
    let visits = edge.visits + edge.in_flight;
    // Signed: see `NodeStats::parents_utility`.
    if visits == 0 { edge.fpu } else { (edge.value / visits as i64 as f64) as f32 }
}

/// PUCT of one edge: Q + U, `U = exploration * P / (1 + n)`, where `exploration` is `c_puct * sqrt(N)` of the
/// parent and n counts visits in flight.
#[inline]
pub fn score(q: f32, edge: &EdgeStats, exploration: f32) -> f32 {
    q + exploration * edge.prior / (1 + edge.visits + edge.in_flight) as i64 as f32
}

/// [`score`] of an edge that was never visited.
#[inline]
pub fn fresh_score(q: f32, prior: f32, exploration: f32) -> f32 {
    q + exploration * prior
}

/// Virtual count at depth `depth` of a playout whose leaf is at depth `leaf`: `max(n_min, floor(n_max *
/// 2^(depth - leaf)))` (paper 000, section 3.2; its text prints `min`, its figure 7 and prose say `max`).
#[inline]
pub fn virtual_count(depth: usize, leaf: usize, counts: VirtualCounts) -> u32 {
    counts.min.max(counts.max.checked_shr((leaf - depth) as u32).unwrap_or(0))
}

/// Growth of the maximum virtual count for a search of `simulations`: the table of paper 000, App. A.3 (8, from
/// 1,000 on 16, from 2,000 on 32).
fn virtual_growth(simulations: u64) -> u32 {
    match simulations {
        0..=999 => 1,
        1000..=1999 => 2,
        _ => 4,
    }
}

/// Virtual counts for a search of `simulations`.
pub fn virtual_counts(simulations: u64, params: &Params) -> VirtualCounts {
    match params.dynamic_virtual {
        Some(counts) if params.adapt_virtual => {
            let max = counts.max * virtual_growth(simulations);
            VirtualCounts { max: max.min(MAX_VIRTUAL), ..counts }
        }
        Some(counts) => counts,
        None => VirtualCounts { min: params.static_virtual, max: params.static_virtual },
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

    fn priors(edges: &[Edge<u16>], params: &Params) -> Option<Vec<RankedEdge<u16>>> {
        Ranker::default().rank(edges, params).map(<[_]>::to_vec)
    }

    /// Reference for [`Ranker`]: sorts everything twice.
    fn by_sorting(edges: &[Edge<u16>], params: &Params) -> Vec<RankedEdge<u16>> {
        let n = edges.len();
        let mut best: Vec<usize> = (0..n).collect();
        let (q, policy) = (|i: usize| unit(edges[i].q), |i: usize| edges[i].policy.max(0.0));
        best.sort_by(|&a, &b| q(b).total_cmp(&q(a)).then(policy(b).total_cmp(&policy(a))));
        best.truncate(params.top_k);
        let weight = |i: usize| ((q(i) - q(best[0])) / params.tau).exp();
        let total: f32 = best.iter().map(|&i| weight(i)).sum();
        let tempered = |i: usize| policy(i).powf(1.0 / params.policy_temperature);
        let mass: f32 = (0..n).map(tempered).sum();
        let prior = |i: usize| {
            let mut eq1 = params.epsilon / n as f32;
            if best.contains(&i) {
                eq1 += (1.0 - params.epsilon) * weight(i) / total;
            }
            (1.0 - params.policy_share) * eq1 + params.policy_share * tempered(i) / mass
        };
        let ranked = |i: usize| RankedEdge { action: edges[i].action, prior: prior(i), q: q(i) };
        let mut all: Vec<RankedEdge<u16>> = (0..n).map(ranked).collect();
        all.sort_by(|a, b| b.prior.total_cmp(&a.prior));
        all
    }

    #[test]
    fn ranking_is_sorting_ties_included() {
        let mut rng = crate::rng::Rng::lane(5, 0);
        let mut ranker = Ranker::default();
        for n in (1..60).chain([218]) {
            // Few different values produce ties.
            let mut draw = || (0..n).map(|_| rng.below(6) as f32 / 4.0 - 0.1).collect::<Vec<_>>();
            let (q, mut policy) = (draw(), draw());
            policy[0] = 0.5;
            let edges = edges(&q, &policy);
            for top_k in [1, 5, 256] {
                let params = Params { top_k, policy_share: 0.5, ..Params::default() };
                assert_eq!(ranker.rank(&edges, &params).unwrap(), by_sorting(&edges, &params));
            }
        }
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
    fn the_policys_temperature_flattens_it_before_it_is_mixed() {
        let edges = edges(&[0.5; 3], &[0.64, 0.32, 0.04]);
        let params = Params { policy_temperature: 2.0, policy_share: 0.6, ..Params::default() };
        let ranked = priors(&edges, &params).unwrap();
        let roots = [0.8, 0.32f32.sqrt(), 0.2];
        let total: f32 = roots.iter().sum();
        for (ranked, root) in ranked.iter().zip(roots) {
            // Equal action values: Eq. 1 gives each a third.
            assert!((ranked.prior - (0.4 / 3.0 + 0.6 * root / total)).abs() < 1e-6, "{ranked:?}");
        }
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
        let dynamic = VirtualCounts { min: 2, max: 8 };
        let counts: Vec<u32> = (0..=4).map(|d| virtual_count(d, 4, dynamic)).collect();
        assert_eq!(counts, [2, 2, 2, 4, 8]);
        assert_eq!(virtual_count(0, 500, dynamic), 2);
        let fixed = VirtualCounts { min: 10, max: 10 };
        assert_eq!((0..3).map(|d| virtual_count(d, 2, fixed)).collect::<Vec<_>>(), [10, 10, 10]);
    }

    #[test]
    fn every_virtual_max_counts_and_grows_with_the_search() {
        let at = |min, max, simulations| {
            let dynamic_virtual = Some(VirtualCounts { min, max });
            virtual_counts(simulations, &Params { dynamic_virtual, ..Params::default() }).max
        };
        assert_eq!([500, 1000, 2000].map(|n| at(2, 8, n)), [8, 16, 32], "the paper's table");
        assert_eq!([500, 1000, 2000].map(|n| at(1, 1, n)), [1, 2, 4]);
        assert_eq!([500, 1000, 2000].map(|n| at(2, 3, n)), [3, 6, 12]);
        assert_eq!(at(2, 64, 2000), MAX_VIRTUAL);
    }

    #[test]
    fn virtual_loss_lowers_q() {
        let edge = EdgeStats { prior: 0.5, fpu: 0.3, visits: 2, in_flight: 2, value: 1.0 };
        assert_eq!(q(&edge), 0.25);
        let fresh = EdgeStats { visits: 0, in_flight: 0, value: 0.0, ..edge };
        assert_eq!(q(&fresh), 0.3);
        assert_eq!((score(0.3, &fresh, 2.0), fresh_score(0.3, 0.5, 2.0)), (1.3, 1.3));
    }
}
