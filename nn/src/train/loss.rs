//! What the heads should have said: losses of one group of examples and their gradients by the
//! heads' logits. The burn step computes the same sums through autodiff; a test compares them.

use super::buckets::Buckets;
use crate::cpu::{HeadGradients, Trace, ops};
use crate::data::{Example, Terminal};
use crate::encode::NextBoard;
use crate::net::{BUCKETS, Layout, TOKENS};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Weights of the losses and shapes of their targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LossConfig {
    pub policy: f32,
    /// Per example: mean over the moves whose value is known.
    pub actions: f32,
    pub value: f32,
    pub result: f32,
    pub terminal: f32,
    /// Per example: sum over the 4,096 pairs / 64.
    pub legality: f32,
    /// Per example: sum over tokens / 8.
    pub transition: f32,
    /// Share of the labelled best move in the policy target; the rest follows a softmax of the
    /// action values where all are known.
    pub best_share: f32,
    /// Temperature of that softmax, in win probability.
    pub policy_temperature: f32,
    /// HL-Gauss deviation in buckets; 0 = one-hot.
    pub bucket_deviation: f32,
}

impl Default for LossConfig {
    fn default() -> Self {
        LossConfig {
            policy: 1.0,
            actions: 0.5,
            value: 0.5,
            result: 0.1,
            terminal: 0.1,
            legality: 1.5,
            transition: 0.5,
            best_share: 0.7,
            policy_temperature: 0.02,
            bucket_deviation: 0.75,
        }
    }
}

/// Unweighted sums over examples, and how many examples had each label.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossSums {
    pub examples: f64,
    pub policy: (f64, f64),
    pub actions: (f64, f64),
    pub value: (f64, f64),
    pub result: (f64, f64),
    pub terminal: (f64, f64),
    pub legality: (f64, f64),
    pub transition: (f64, f64),
}

impl LossSums {
    /// Names and (sum, count) pairs, in the order of the CSV.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, (f64, f64)); 7] {
        [
            ("policy", self.policy),
            ("actions", self.actions),
            ("value", self.value),
            ("result", self.result),
            ("terminal", self.terminal),
            ("legality", self.legality),
            ("transition", self.transition),
        ]
    }

    /// Adds another group's sums.
    pub fn add(&mut self, other: &LossSums) {
        self.examples += other.examples;
        for (mine, theirs) in [
            (&mut self.policy, other.policy),
            (&mut self.actions, other.actions),
            (&mut self.value, other.value),
            (&mut self.result, other.result),
            (&mut self.terminal, other.terminal),
            (&mut self.legality, other.legality),
            (&mut self.transition, other.transition),
        ] {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
    }

    /// The weighted loss per example: what the gradient is the gradient of.
    #[must_use]
    pub fn total(&self, config: &LossConfig) -> f64 {
        let weights = [
            config.policy,
            config.actions,
            config.value,
            config.result,
            config.terminal,
            config.legality,
            config.transition,
        ];
        let sum: f64 =
            self.parts().iter().zip(weights).map(|((_, (s, _)), w)| s * f64::from(w)).sum();
        sum / self.examples.max(1.0)
    }
}

/// The policy target over an example's moves; empty if nothing is known. Sums to 1.
#[must_use]
pub fn policy_target(example: &Example, config: &LossConfig) -> Vec<f32> {
    let Some(best) = example.best.map(usize::from) else { return Vec::new() };
    let values = &example.action_values;
    let mut target = vec![0.0; example.moves.len()];
    let all_known = values.len() == target.len() && values.iter().all(|v| v.is_finite());
    let share = if all_known { config.best_share } else { 1.0 };
    if all_known && share < 1.0 {
        let top = values.iter().copied().fold(0.0, f32::max);
        for (t, v) in target.iter_mut().zip(values) {
            *t = ((v - top) / config.policy_temperature).exp();
        }
        let scale = (1.0 - share) / target.iter().sum::<f32>();
        target.iter_mut().for_each(|t| *t *= scale);
    }
    target[best] += share;
    target
}

/// Cross-entropy of softmax(`logits`) against `target` (sums to 1); `grad` gets `weight` times its gradient.
fn cross_entropy(logits: &[f32], target: &[f32], weight: f32, grad: &mut [f32]) -> f64 {
    let top = logits.iter().copied().fold(f32::MIN, f32::max);
    let mut total = 0.0;
    for (g, x) in grad.iter_mut().zip(logits) {
        *g = (x - top).exp();
        total += *g;
    }
    let mut expected = 0.0;
    for ((g, x), t) in grad.iter_mut().zip(logits).zip(target) {
        *g = weight * (*g / total - t);
        expected += t * x;
    }
    f64::from(top + total.ln() - expected)
}

/// [`cross_entropy`] for the 64 buckets, on the fast softmax.
fn bucket_entropy(logits: &[f32], target: &[f32; BUCKETS], weight: f32, grad: &mut [f32]) -> f64 {
    grad.copy_from_slice(logits);
    ops::softmax64(grad);
    // log-sum-exp from any one entry; the target's largest is never tiny for long.
    let (best, _) = logits
        .iter()
        .enumerate()
        .fold((0, f32::MIN), |a, (i, &x)| if x > a.1 { (i, x) } else { a });
    let log_sum = logits[best] - grad[best].max(f32::MIN_POSITIVE).ln();
    let loss = log_sum - ops::dot(target, logits);
    for (g, t) in grad.iter_mut().zip(target) {
        *g = weight * (*g - t);
    }
    f64::from(loss)
}

/// Binary cross-entropy of one logit; returns (loss, gradient).
fn binary(logit: f32, truth: bool) -> (f64, f32) {
    let p = 1.0 / (1.0 + (-logit).exp());
    let softplus = logit.max(0.0) + (-logit.abs()).exp().ln_1p();
    if truth { (f64::from(softplus - logit), p - 1.0) } else { (f64::from(softplus), p) }
}

/// Losses of `examples` after a pass over all heads; fills `grads` with the gradient of
/// [`LossSums::total`] for a batch of `batch` examples.
pub fn losses(
    layout: &Layout,
    config: &LossConfig,
    buckets: &Buckets,
    examples: &[Example],
    batch: usize,
    trace: &Trace,
    grads: &mut HeadGradients,
) -> LossSums {
    let moves = examples.iter().map(|e| e.moves.len()).sum();
    grads.reset(examples.len(), moves);
    let sums = LossSums { examples: examples.len() as f64, ..LossSums::default() };
    let scale = 1.0 / batch as f32;
    let mut sheet = Sheet { layout, config, buckets, scale, trace, grads, sums };
    let mut first = 0;
    for (p, example) in examples.iter().enumerate() {
        let moves = first..first + example.moves.len();
        first = moves.end;
        sheet.policy(example, moves.clone());
        sheet.actions(example, moves);
        sheet.board(example, p);
        sheet.legality(example, p);
        if let Some(next) = &example.next {
            sheet.transition(next, p);
        }
    }
    sheet.sums
}

/// Class of the terminal head.
#[must_use]
pub fn terminal_class(terminal: Terminal) -> usize {
    match terminal {
        Terminal::Ongoing => 0,
        Terminal::Lost => 1,
        Terminal::Drawn => 2,
    }
}

/// One pass being marked.
struct Sheet<'a> {
    layout: &'a Layout,
    config: &'a LossConfig,
    buckets: &'a Buckets,
    /// One over the batch's size.
    scale: f32,
    trace: &'a Trace,
    grads: &'a mut HeadGradients,
    sums: LossSums,
}

impl Sheet<'_> {
    fn policy(&mut self, example: &Example, moves: Range<usize>) {
        let target = policy_target(example, self.config);
        if target.is_empty() {
            return;
        }
        let (logits, grad) = (&self.trace.policy[moves.clone()], &mut self.grads.policy[moves]);
        self.sums.policy.0 += cross_entropy(logits, &target, self.scale * self.config.policy, grad);
        self.sums.policy.1 += 1.0;
    }

    fn actions(&mut self, example: &Example, moves: Range<usize>) {
        let known = example.action_values.iter().filter(|v| v.is_finite()).count();
        if known == 0 {
            return;
        }
        let weight = self.scale * self.config.actions / known as f32;
        let mut sum = 0.0;
        for (m, value) in moves.zip(&example.action_values) {
            if value.is_finite() {
                let row = m * BUCKETS..(m + 1) * BUCKETS;
                let grad = &mut self.grads.actions[row.clone()];
                let target = self.buckets.target(*value);
                sum += bucket_entropy(&self.trace.actions[row], target, weight, grad);
            }
        }
        self.sums.actions.0 += sum / known as f64;
        self.sums.actions.1 += 1.0;
    }

    /// Value, result and terminal of position `p`.
    fn board(&mut self, example: &Example, p: usize) {
        let (c, trace, grads, sums) = (self.config, self.trace, &mut *self.grads, &mut self.sums);
        if example.value.is_finite() {
            let row = p * BUCKETS..(p + 1) * BUCKETS;
            let target = self.buckets.target(example.value);
            let grad = &mut grads.value[row.clone()];
            sums.value.0 += bucket_entropy(&trace.value[row], target, self.scale * c.value, grad);
            sums.value.1 += 1.0;
        }
        let row = p * 3..p * 3 + 3;
        if let Some(result) = example.result {
            let target: [f32; 3] = one_hot(usize::from(result.min(2)));
            let (logits, grad) = (&trace.result[row.clone()], &mut grads.result[row.clone()]);
            sums.result.0 += cross_entropy(logits, &target, self.scale * c.result, grad);
            sums.result.1 += 1.0;
        }
        let target: [f32; 3] = one_hot(terminal_class(example.terminal));
        let (logits, grad) = (&trace.terminal[row.clone()], &mut grads.terminal[row]);
        sums.terminal.0 += cross_entropy(logits, &target, self.scale * c.terminal, grad);
        sums.terminal.1 += 1.0;
    }

    fn legality(&mut self, example: &Example, p: usize) {
        let square = TOKENS * TOKENS;
        let logits = &self.trace.legality[p * square..][..square];
        let weight = self.scale * self.config.legality / TOKENS as f32;
        let grad = &mut self.grads.legality[p * square..][..square];
        let mut sum = f64::from(ops::binary_negative(logits, weight, grad));
        let mut previous = None;
        let mut movers = 0u64;
        // Canonical order puts the four promotions of a pair side by side (the frame flips ranks only).
        for m in &example.moves {
            let pair = usize::from(m.from) * TOKENS + usize::from(m.to);
            if previous.replace(pair) != Some(pair) {
                // For a true pair the loss is softplus(x) - x instead of softplus(x).
                sum -= f64::from(logits[pair]);
                grad[pair] -= weight;
            }
            if movers & (1 << m.from) == 0 {
                movers |= 1 << m.from;
                let (_, logit) = self.trace.transition(self.layout, p, usize::from(m.from));
                let promotes = example.moves.iter().any(|o| o.from == m.from && o.promotion > 0);
                let (loss, slope) = binary(logit, promotes);
                sum += loss;
                self.grads.promotes[p * TOKENS + usize::from(m.from)] = weight * slope;
            }
        }
        self.sums.legality.0 += sum / TOKENS as f64;
        self.sums.legality.1 += 1.0;
    }

    fn transition(&mut self, next: &NextBoard, p: usize) {
        let weight = self.scale * self.config.transition / 8.0;
        let mut sum = 0.0;
        for t in 0..TOKENS {
            let (logits, _) = self.trace.transition(self.layout, p, t);
            let grad = &mut self.grads.transition[(p * TOKENS + t) * 16..][..16];
            let target: [f32; 13] = one_hot(usize::from(next.pieces[t]));
            sum += cross_entropy(&logits[..13], &target, weight, &mut grad[..13]);
            for bit in 0..3 {
                let (loss, slope) = binary(logits[13 + bit], next.flags[t] & (1 << bit) != 0);
                sum += loss;
                grad[13 + bit] = weight * slope;
            }
        }
        self.sums.transition.0 += sum / 8.0;
        self.sums.transition.1 += 1.0;
    }
}

fn one_hot<const N: usize>(class: usize) -> [f32; N] {
    let mut target = [0.0; N];
    target[class] = 1.0;
    target
}
