//! The network on the CPU: hand-written kernels on the calling thread, for play and for the world model.

use super::Evaluator;
use super::difference::difference;
use super::error::EvalError;
use super::insight::Insight;
use super::outputs;
use super::query::{Evaluation, Query};
use super::transition::{Imagined, Refusal, Step, Transition};
use super::world_model::{
    WorldModelLogits, WorldModelPass, imagine, likely_moves, ongoing, refine,
};
use crate::checkpoint::Network;
use crate::cpu::profile::Stages;
use crate::cpu::{Activations, Heads, Logits, Weights, forward, move_heads};
use crate::encode::{Encoded, Features, Item, MoveCode};
use crate::kernels::Isa;
use crate::kernels::gemm::Method;
use crate::kernels::ops::softmax64;
use crate::net::{BUCKETS, Layout, TOKENS};
use crate::numeric::sigmoid;
use crate::precision::Arithmetic;
use std::cell::RefCell;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Positions per pass: their activations stay in L2.
const GROUP: usize = 4;

/// Evaluates on the calling thread with the hand-written kernels. Scratch is thread-local, so threads do not
/// wait for each other.
pub struct CpuEvaluator {
    /// Offsets of the parameters.
    pub layout: Layout,
    /// The parameters, packed for the arithmetic.
    pub weights: Weights,
}

thread_local! {
    static ACTIVATIONS: RefCell<Activations> = RefCell::default();
}

impl CpuEvaluator {
    /// The network with its weights packed for `arithmetic` and the widest instructions of this CPU.
    #[must_use]
    pub fn new(network: &Network, arithmetic: Arithmetic) -> CpuEvaluator {
        CpuEvaluator::with(network, Method::widest(arithmetic))
    }

    /// The network with its weights packed for `method`, by which all is computed.
    #[must_use]
    pub fn with(network: &Network, method: Method) -> CpuEvaluator {
        let weights = Weights::new(method, &network.layout, &network.values);
        CpuEvaluator { layout: network.layout.clone(), weights }
    }

    /// The network in the fastest arithmetic of this CPU whose outputs are close to single precision on probe
    /// positions evaluated now.
    #[must_use]
    pub fn fastest(network: &Network) -> CpuEvaluator {
        CpuEvaluator::fastest_with(network, Isa::found())
    }

    /// [`CpuEvaluator::fastest`] with instructions up to `isa`.
    ///
    /// int8 is faster than bf16 wherever it has a kernel: `docs/src/speed.md`.
    #[must_use]
    pub fn fastest_with(network: &Network, isa: Isa) -> CpuEvaluator {
        let by = |arithmetic| CpuEvaluator::with(network, Method { isa, arithmetic });
        let best = by(Arithmetic::best(isa));
        if !Arithmetic::Int8.available(isa) {
            return best;
        }
        let (single, int8) = (by(Arithmetic::Single), by(Arithmetic::Int8));
        match difference(&single, &int8) {
            Ok(far) if far.is_rounding() => {
                log::debug!("int8 changes answers by {:.4} at most", far.most);
                int8
            }
            Ok(far) => {
                let instead = best.arithmetic();
                log::warn!("int8 changes answers by {:.4}; computing in {instead}", far.most);
                best
            }
            Err(why) => {
                log::warn!("the network does not compute ({why})");
                best
            }
        }
    }

    /// Arithmetic of its products over all tokens.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        self.weights.trunk_arithmetic()
    }

    /// Evaluates `batch` repeatedly for `time`, in groups as [`Evaluator::evaluate`] does; returns the number
    /// of positions and the profile by stage.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    pub fn measure(
        &self,
        batch: &[Query<'_>],
        time: Duration,
    ) -> Result<(usize, Stages), EvalError> {
        self.with_pass(|pass| pass.activations.stages = Stages::started());
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < time {
            done += self.evaluate(batch)?.len();
        }
        Ok((done, self.with_pass(|pass| std::mem::take(&mut pass.activations.stages))))
    }

    /// All outputs of the heads for one position.
    ///
    /// # Errors
    /// A head answered NaN or infinity.
    pub fn insight(&self, query: &Query<'_>) -> Result<Insight, EvalError> {
        let input = query.encode();
        self.with_pass(|pass| {
            pass.run(&[input.item()], Heads::All);
            let moves = 0..input.moves.len();
            let evaluation = evaluation_at(pass.isa(), pass.activations, moves.clone(), 0)?;
            let isa = pass.isa();
            let believed = likely_moves(&pass.logits(), 0);
            let Logits { value, actions, legality, .. } = &pass.activations.logits;
            if !legality[..TOKENS * TOKENS].iter().all(|logit| logit.is_finite()) {
                return Err(EvalError::NotANumber("legality"));
            }
            let pair = |m: &MoveCode| usize::from(m.from) * TOKENS + usize::from(m.to);
            let chances = |logits: &[f32]| {
                let mut rows = logits.to_vec();
                softmax64(isa, &mut rows);
                rows
            };
            Ok(Insight {
                evaluation,
                value: chances(&value[..BUCKETS]),
                actions: chances(&actions[..moves.end * BUCKETS]),
                legality: input.moves.iter().map(|m| sigmoid(legality[pair(m)])).collect(),
                believed,
            })
        })
    }

    /// Runs `work` with this thread's scratch.
    fn with_pass<T>(&self, work: impl FnOnce(&mut CpuPass<'_>) -> T) -> T {
        let CpuEvaluator { layout, weights } = self;
        ACTIVATIONS
            .with_borrow_mut(|activations| work(&mut CpuPass { layout, weights, activations }))
    }
}

impl Evaluator for CpuEvaluator {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.evaluate_encoded(batch, batch.iter().map(Query::encode).collect())
    }

    fn evaluate_encoded(
        &self,
        _batch: &[Query<'_>],
        inputs: Vec<Encoded>,
    ) -> Result<Vec<Evaluation>, EvalError> {
        let mut answers = Vec::with_capacity(inputs.len());
        self.with_pass(|pass| {
            for group in inputs.chunks(GROUP) {
                let items: Vec<Item<'_>> = group.iter().map(Encoded::item).collect();
                pass.run(&items, Heads::Play);
                let mut first = 0;
                for (p, item) in items.iter().enumerate() {
                    let moves = first..first + item.moves.len();
                    first = moves.end;
                    answers.push(evaluation_at(pass.isa(), pass.activations, moves, p)?);
                }
            }
            Ok(answers)
        })
    }

    /// One: a single position runs at more than nine tenths of the best batch's speed, and a search that waits
    /// for each answer chooses better moves (`docs/src/search.md`).
    fn preferred_batch(&self) -> usize {
        1
    }

    fn batches(&self) -> &[usize] {
        &[1, 2, GROUP, 2 * GROUP, 4 * GROUP]
    }

    fn transition(&self) -> Option<&dyn Transition> {
        Some(self)
    }
}

/// The evaluation of position `p`, whose moves have indices `moves` in the pass, by the kernels of `isa`.
pub fn evaluation_at(
    isa: Isa,
    activations: &Activations,
    moves: Range<usize>,
    p: usize,
) -> Result<Evaluation, EvalError> {
    let Logits { policy, actions, value, result, .. } = &activations.logits;
    outputs::evaluation(
        isa,
        &policy[moves.clone()],
        &actions[moves.start * BUCKETS..moves.end * BUCKETS],
        &value[p * BUCKETS..][..BUCKETS],
        &result[p * 3..][..3],
    )
}

/// After a pass over [`Heads::All`].
impl WorldModelLogits for (&Layout, &Activations) {
    fn terminal(&self, p: usize) -> &[f32] {
        &self.1.logits.terminal[p * 3..][..3]
    }

    fn legality(&self, p: usize) -> &[f32] {
        &self.1.logits.legality[p * TOKENS * TOKENS..][..TOKENS * TOKENS]
    }

    fn square(&self, p: usize, token: usize) -> (&[f32], f32) {
        self.1.transition(self.0, p, token)
    }
}

/// The CPU's kernels, with their scratch.
struct CpuPass<'a> {
    layout: &'a Layout,
    weights: &'a Weights,
    activations: &'a mut Activations,
}

impl CpuPass<'_> {
    fn isa(&self) -> Isa {
        self.weights.isa()
    }

    fn run(&mut self, items: &[Item<'_>], heads: Heads) {
        forward(self.layout, self.weights, items, heads, false, self.activations);
    }
}

impl WorldModelPass for CpuPass<'_> {
    fn forward(&mut self, boards: &[Features]) -> Result<(), EvalError> {
        let items: Vec<Item<'_>> =
            boards.iter().map(|features| Item { features, moves: &[] }).collect();
        self.run(&items, Heads::All);
        Ok(())
    }

    fn logits(&self) -> impl WorldModelLogits {
        (self.layout, &*self.activations)
    }

    fn score_moves(
        &mut self,
        items: &[Item<'_>],
    ) -> Result<Vec<Result<Evaluation, EvalError>>, EvalError> {
        move_heads(self.layout, self.weights, items, self.activations);
        let mut start = 0;
        let evaluations = items.iter().enumerate().filter_map(|(p, item)| {
            let moves = start..start + item.moves.len();
            start = moves.end;
            (!moves.is_empty()).then(|| evaluation_at(self.isa(), self.activations, moves, p))
        });
        Ok(evaluations.collect())
    }
}

impl Transition for CpuEvaluator {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        self.with_pass(|pass| {
            let mut answers = Vec::with_capacity(batch.len());
            for group in batch.chunks(GROUP) {
                answers.extend(imagine(pass, group)?);
            }
            Ok(answers)
        })
    }

    fn refine(&self, answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        self.with_pass(|pass| {
            ongoing(answers).chunks_mut(GROUP).try_for_each(|group| refine(pass, group))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::difference::Difference;
    use super::*;
    use crate::encode::canonical_moves;
    use crate::kernels::gemm::int8::Kernel;
    use crate::net::NetConfig;
    use shakmaty::{Chess, Position};

    #[test]
    fn batch_size_never_changes_an_answer() {
        let network = Network::new(&NetConfig::default(), 1);
        for isa in Isa::ALL.iter().copied().filter(|isa| *isa <= Isa::found()) {
            for arithmetic in [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8] {
                batches_agree(&CpuEvaluator::with(&network, Method { isa, arithmetic }));
            }
        }
    }

    fn batches_agree(evaluator: &CpuEvaluator) {
        let mut positions = vec![Chess::default()];
        for i in 0..6 {
            let mut next = positions[i].clone();
            next.play_unchecked(canonical_moves(&next)[i * 3]);
            positions.push(next);
        }
        let legal: Vec<_> = positions.iter().map(canonical_moves).collect();
        let queries: Vec<Query<'_>> = positions
            .iter()
            .zip(&legal)
            .map(|(position, legal)| Query { position, legal })
            .collect();
        let batched = evaluator.evaluate(&queries).unwrap();
        for (query, answer) in queries.iter().zip(&batched) {
            let alone = evaluator.evaluate(&[*query]).unwrap();
            assert_eq!(
                &alone[0],
                answer,
                "{}, {}",
                evaluator.weights.isa(),
                evaluator.arithmetic()
            );
            assert!((answer.policy.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            assert_eq!(answer.action_values.len(), query.legal.len());
        }
    }

    #[test]
    fn an_insight_contains_the_evaluation() {
        let network = Network::new(&NetConfig::default(), 7);
        let evaluator = CpuEvaluator::new(&network, Arithmetic::Single);
        let position = Chess::default();
        let legal = canonical_moves(&position);
        let query = Query { position: &position, legal: &legal };
        let insight = evaluator.insight(&query).unwrap();
        assert_eq!(Ok(vec![insight.evaluation.clone()]), evaluator.evaluate(&[query]));
        let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-4, "{a} against {b}");
        let rows = [&insight.value[..], &insight.actions[..]].concat();
        let of_play = [&[insight.evaluation.value][..], &insight.evaluation.action_values].concat();
        assert_eq!(rows.len(), 64 * of_play.len());
        for (row, value) in rows.chunks(64).zip(of_play) {
            near(row.iter().sum(), 1.0);
            near(row.iter().zip(0u8..).map(|(p, i)| p * (f32::from(i) + 0.5) / 64.0).sum(), value);
        }
        // A move counts as legal where its probability is above one half.
        for (m, certainty) in legal.iter().zip(&insight.legality) {
            let code = MoveCode::new(*m, false).unwrap();
            let believed = insight.believed.iter().find(|(other, _)| *other == code);
            match believed {
                Some((_, predicted)) => near(*predicted, *certainty),
                None => assert!(*certainty <= 0.5, "{code:?} has {certainty}"),
            }
        }
    }

    /// Without bf16 on the CPU, both are the same answer.
    #[test]
    fn bf16_answers_nearly_as_single_precision() {
        let network =
            Network::from_bytes(include_bytes!("../../../assets/mavka.safetensors")).unwrap();
        let position = Chess::default();
        let legal = canonical_moves(&position);
        let query = [Query { position: &position, legal: &legal }];
        let [single, half] = [Arithmetic::Single, Arithmetic::Bf16]
            .map(|arithmetic| CpuEvaluator::new(&network, arithmetic).evaluate(&query).unwrap());
        let near = |a: f32, b: f32| assert!((a - b).abs() < 0.02, "{a} against {b}");
        near(single[0].value, half[0].value);
        single[0].policy.iter().zip(&half[0].policy).for_each(|(a, b)| near(*a, *b));
        let values = single[0].action_values.iter().zip(&half[0].action_values);
        values.for_each(|(a, b)| near(*a, *b));
    }

    /// Difference of each int8 kernel of this CPU from single precision.
    fn differences(network: &Network) -> Vec<Difference> {
        let single = CpuEvaluator::new(network, Arithmetic::Single);
        let of = |kernel| {
            let weights = Weights::int8(Isa::found(), kernel, &network.layout, &network.values);
            let int8 = CpuEvaluator { layout: network.layout.clone(), weights };
            assert_eq!(int8.arithmetic(), Arithmetic::Int8);
            difference(&single, &int8).unwrap()
        };
        Kernel::all().into_iter().map(of).collect()
    }

    #[test]
    fn int8_answers_nearly_as_single_precision_and_is_refused_where_it_does_not() {
        let bytes = include_bytes!("../../../assets/mavka.safetensors");
        let mut network = Network::from_bytes(bytes).unwrap();
        for far in differences(&network) {
            println!("{far:?}");
            assert!(far.is_rounding() && far.mean > 0.0, "{far:?}");
        }
        let fastest = CpuEvaluator::fastest(&network).arithmetic();
        assert_eq!(fastest == Arithmetic::Int8, Arithmetic::Int8.available(Isa::found()));

        // A channel so large that the rest of its row rounds to zero, and that nothing reads.
        let layout = network.layout.clone();
        for block in &layout.blocks {
            let width = layout.config.width;
            let compress = block.dynamic_bias.iter().map(|bias| &bias.compress);
            for map in [&block.qkv, &block.up].into_iter().chain(compress) {
                let outputs = map.weight.len() / width;
                network.values[map.weight.start..][..outputs].fill(0.0);
            }
            network.values[block.norm1.beta.start] = 1e4;
            network.values[block.norm2.beta.start] = 1e4;
        }
        for far in differences(&network) {
            assert!(!far.is_rounding(), "{far:?}");
        }
        assert_eq!(CpuEvaluator::fastest(&network).arithmetic(), Arithmetic::best(Isa::found()));
    }

    #[test]
    fn a_head_that_answers_nan_is_named() {
        let mut network = Network::new(&NetConfig::default(), 1);
        let start = network.layout.value_buckets.bias.start;
        network.values[start] = f32::NAN;
        let position = Chess::default();
        let legal = canonical_moves(&position);
        let answer = CpuEvaluator::new(&network, Arithmetic::Single)
            .evaluate(&[Query { position: &position, legal: &legal }]);
        assert_eq!(answer, Err(EvalError::NotANumber("value")));
    }
}
