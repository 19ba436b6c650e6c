//! Policy losses: which move is best, and what a worse one costs.

use super::entropy::cross_entropy;
use super::place::PositionMoves;
use super::sums::LossConfig;
use crate::data::Example;
use nn::numeric::softmax;

/// Target distribution over an example's moves, sums to 1; empty if unknown.
#[must_use]
pub fn target(example: &Example, config: &LossConfig) -> Vec<f32> {
    let labelled = labelled(example, config);
    match &example.teacher {
        Some(teacher) if labelled.is_empty() => teacher.policy.clone(),
        Some(teacher) => {
            let pairs = labelled.iter().zip(&teacher.policy);
            pairs.map(|(label, teacher)| blend(*label, *teacher, config.trust)).collect()
        }
        None => labelled,
    }
}

/// `(1 - share) * label + share * teacher`.
pub(super) fn blend(label: f32, teacher: f32, share: f32) -> f32 {
    label + share * (teacher - label)
}

/// Target from the labels only.
fn labelled(example: &Example, config: &LossConfig) -> Vec<f32> {
    if !example.visits.is_empty() {
        return example.visits.clone();
    }
    let Some(best) = example.best.map(usize::from) else { return Vec::new() };
    let regrets = regrets(example);
    let mut target = vec![0.0; example.moves.len()];
    let share = if regrets.is_empty() { 1.0 } else { config.best_share };
    if share < 1.0 {
        for (t, regret) in target.iter_mut().zip(&regrets) {
            *t = (-regret / config.policy_temperature).exp();
        }
        let scale = (1.0 - share) / target.iter().sum::<f32>();
        target.iter_mut().for_each(|t| *t *= scale);
    }
    target[best] += share;
    target
}

/// Regret of each move against the best one, `[moves]`; empty unless all values are known.
#[must_use]
pub fn regrets(example: &Example) -> Vec<f32> {
    let values = &example.action_values;
    if values.len() != example.moves.len() || !values.iter().all(|v| v.is_finite()) {
        return Vec::new();
    }
    let top = values.iter().copied().fold(0.0, f32::max);
    values.iter().map(|v| top - v).collect()
}

/// Policy: cross-entropy of the softmax over the listed moves, `[moves]`, against
/// `best_share * (best move) + (1 - best_share) * softmax(action values / temperature)`, or against the shares of a
/// search's visits where they are known (paper 004). None without a label.
///
/// The best move alone is paper 001's behavioural cloning (section 3, L_BC). The soft part separates moves that
/// lose nothing from moves that lose much, which a single label cannot.
pub(super) fn policy(at: &mut PositionMoves<'_>, config: &LossConfig, weight: f32) -> Option<f64> {
    let target = target(at.example, config);
    if target.is_empty() {
        return None;
    }
    let grad = &mut at.grads.policy[at.moves.clone()];
    Some(cross_entropy(&at.activations.logits.policy[at.moves.clone()], &target, weight, grad))
}

/// Regret: the win probability that a move drawn from the policy gives away, `sum over moves of
/// policy * (best action value - action value)`, `[moves]`. None unless all values are known. Adds to the policy's
/// gradient.
///
/// The cross-entropy against the best move counts a slip between equals like a lost queen; this loss is a
/// player's cost. Its gradient is a policy gradient with every action's reward known (ours).
pub(super) fn regret(at: &mut PositionMoves<'_>, weight: f32) -> Option<f64> {
    let regrets = regrets(at.example);
    if regrets.is_empty() {
        return None;
    }
    let policy = softmax(&at.activations.logits.policy[at.moves.clone()]);
    let expected: f32 = policy.iter().zip(&regrets).map(|(p, r)| p * r).sum();
    let grads = at.grads.policy[at.moves.clone()].iter_mut();
    for ((grad, p), r) in grads.zip(&policy).zip(&regrets) {
        *grad += weight * p * (r - expected);
    }
    Some(f64::from(expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::cpu::tests::{distilled_examples, examples};

    #[test]
    fn the_best_move_keeps_its_share_and_good_moves_split_the_rest() {
        let mut example = examples().swap_remove(0);
        let n = example.moves.len();
        example.action_values = vec![0.0; n];
        (example.action_values[1], example.action_values[3]) = (0.5, 0.5);
        let config = LossConfig { best_share: 0.6, ..LossConfig::default() };
        let t = target(&example, &config);
        assert!((t.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((t[3] - 0.8).abs() < 1e-5 && (t[1] - 0.2).abs() < 1e-5, "{t:?}");
        // One unknown value: the others are unusable.
        example.action_values[0] = f32::NAN;
        assert_eq!(target(&example, &config)[3], 1.0);
        example.best = None;
        assert!(target(&example, &config).is_empty());
    }

    #[test]
    fn the_visits_of_a_search_are_the_target() {
        let mut example = examples().swap_remove(0);
        let n = example.moves.len();
        example.visits = vec![1.0 / n as f32; n];
        assert_eq!(target(&example, &LossConfig::default()), example.visits);
    }

    #[test]
    fn a_teacher_has_its_share_and_all_where_nothing_else_is_known() {
        let mut example = distilled_examples().swap_remove(2);
        let teacher = example.teacher.clone().expect("a teacher");
        let config = LossConfig { best_share: 1.0, trust: 0.25, ..LossConfig::default() };
        let best = usize::from(example.best.expect("a label"));
        for (i, t) in target(&example, &config).iter().enumerate() {
            let label = if i == best { 0.75 } else { 0.0 };
            assert!((t - label - 0.25 * teacher.policy[i]).abs() < 1e-6, "{i}: {t}");
        }
        example.best = None;
        assert_eq!(target(&example, &config), teacher.policy);
    }

    #[test]
    fn a_move_costs_what_the_best_one_is_better_by() {
        let mut example = examples().swap_remove(0);
        let n = example.moves.len();
        example.action_values = vec![0.25; n];
        example.action_values[2] = 0.75;
        let costs = regrets(&example);
        assert_eq!((costs.len(), costs[2], costs[0]), (n, 0.0, 0.5));
        example.action_values[0] = f32::NAN;
        assert!(regrets(&example).is_empty());
        example.action_values.clear();
        assert!(regrets(&example).is_empty());
    }
}
