//! What the network imagines: legal moves, game end and next board, read off the heads' logits. The
//! answers are taken as they are; whether they make a position is for the caller to find out.
//!
//! Who computes the logits is a `Mind`: the CPU's kernels here, a burn device elsewhere.

use crate::cpu::{Activations, Heads, Weights, forward, move_heads};
use crate::data::Terminal;
use crate::encode::Item;
use crate::encode::{Features, MoveCode, NextBoard};
use crate::evaluator::{EvalError, Evaluation};
use crate::infer::{CpuEvaluator, GROUP, evaluation, softmax};
use crate::metrics::best_index;
use crate::net::{Layout, TOKENS};
use crate::transition::{Imagined, Refusal, Step, Told, Transition, moves_a_man};
use shakmaty::Position;
use std::cell::RefCell;

/// What a pass over all heads says of position `p` of its batch, as logits.
pub trait Logits {
    /// Ongoing, lost, drawn.
    fn terminal(&self, p: usize) -> &[f32];
    /// `[64, 64]` (from, to).
    fn legality(&self, p: usize) -> &[f32];
    /// Of a token: the transition head's 16, and "moves from here promote".
    fn square(&self, p: usize, token: usize) -> (&[f32], f32);
}

/// The CPU's pass, over [`Heads::All`].
impl Logits for (&Layout, &Activations) {
    fn terminal(&self, p: usize) -> &[f32] {
        &self.1.terminal[p * 3..][..3]
    }

    fn legality(&self, p: usize) -> &[f32] {
        &self.1.legality[p * TOKENS * TOKENS..][..TOKENS * TOKENS]
    }

    fn square(&self, p: usize, token: usize) -> (&[f32], f32) {
        self.1.transition(self.0, p, token)
    }
}

/// The moves that the legality head finds legal at position `p`, by (from, to, promotion) of the input's
/// frame.
#[must_use]
pub fn legal_moves(logits: &impl Logits, p: usize) -> Vec<MoveCode> {
    likely_moves(logits, p).into_iter().map(|(m, _)| m).collect()
}

/// The same, with the probability that each is legal.
fn likely_moves(logits: &impl Logits, p: usize) -> Vec<(MoveCode, f32)> {
    let likely = moves_above(logits, p, LIKELY);
    if likely.is_empty() { moves_above(logits, p, PERHAPS) } else { likely }
}

/// The moves whose log-odds of being legal are above `bar`, with the probability that they are.
fn moves_above(logits: &impl Logits, p: usize, bar: f32) -> Vec<(MoveCode, f32)> {
    let mut moves = Vec::new();
    for (index, logit) in logits.legality(p).iter().enumerate().filter(|(_, logit)| **logit > bar) {
        let (from, to) = ((index / TOKENS) as u8, (index % TOKENS) as u8);
        let (_, promotes) = logits.square(p, usize::from(from));
        let promotions = if promotes > 0.0 { 1..=4 } else { 0..=0 };
        let certainty = 1.0 / (1.0 + (-logit).exp());
        moves.extend(promotions.map(|promotion| (MoveCode { from, to, promotion }, certainty)));
    }
    moves
}

/// Log-odds of being legal from which on a search in imagination looks at a move: an illegal one leads to no
/// state, and costs one look; a missing one may be the only good reply. Measured: `assets/imagined.md`.
const LIKELY: f32 = 0.0;
/// The same where no move is as likely as that: without any move the game would be over.
const PERHAPS: f32 = -1.0;

/// The move that the policy prefers among `found`, the moves found legal by [`legal_moves`]: the
/// network's choice if nobody tells it the rules. None if it found none. `known` are moves whose
/// `policy` was asked already; the network is asked again only if `found` has others.
#[must_use]
pub fn choice(
    (layout, weights): (&Layout, &Weights),
    features: &Features,
    found: &[MoveCode],
    (known, policy): (&[MoveCode], &[f32]),
    scratch: &mut Activations,
) -> Option<MoveCode> {
    let of = |m: &MoveCode| known.iter().position(|other| other == m).and_then(|i| policy.get(i));
    let scores: Option<Vec<f32>> = found.iter().map(|m| of(m).copied()).collect();
    let scores = scores.unwrap_or_else(|| {
        let item = Item { features, moves: found };
        forward(layout, weights, &[item], Heads::Play, false, scratch);
        scratch.policy.clone()
    });
    found.get(best_index(&scores)?).copied()
}

/// What the terminal head says of position `p`.
#[must_use]
pub fn terminal(logits: &impl Logits, p: usize) -> Terminal {
    match largest(logits.terminal(p)) {
        0 => Terminal::Ongoing,
        1 => Terminal::Lost,
        _ => Terminal::Drawn,
    }
}

/// The board after the marked action, for a position `p` of the form `MAV(s, a)`.
#[must_use]
pub fn next_board(logits: &impl Logits, p: usize) -> NextBoard {
    let mut next = NextBoard { pieces: [0; 64], flags: [0; 64] };
    for t in 0..TOKENS {
        let (square, _) = logits.square(p, t);
        next.pieces[t] = largest(&square[..13]) as u8;
        for bit in 0..3 {
            next.flags[t] |= u8::from(square[13 + bit] > 0.0) << bit;
        }
    }
    next
}

/// Who computes what is imagined.
pub(crate) trait Mind {
    /// One pass over all heads, kept until the next.
    ///
    /// # Errors
    /// The device failed; so below.
    fn look(&mut self, boards: &[Features]) -> Result<(), EvalError>;

    /// What the last look saw.
    fn logits(&self) -> impl Logits;

    /// The opinions of moves of the last look's boards: of each board that has some, in order. Outer errors
    /// are the device's, inner ones that board's.
    fn judge(
        &mut self,
        items: &[Item<'_>],
    ) -> Result<Vec<Result<Evaluation, EvalError>>, EvalError>;
}

/// Answers to a few steps: one look at all, then the opinions of the moves found legal.
pub(crate) fn imagine(
    mind: &mut impl Mind,
    group: &[Step<'_>],
) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
    let asked: Vec<Features> =
        group.iter().map(|step| Features::imagined_with_action(step.state, step.action)).collect();
    mind.look(&asked)?;
    let mut answers: Vec<Result<Imagined, Refusal>> = group
        .iter()
        .enumerate()
        .map(|(p, step)| told(&mind.logits(), p).and_then(|told| told.parse(step)))
        .collect();
    let found: Vec<&[MoveCode]> =
        answers.iter().map(|a| a.as_ref().map_or(&[][..], |a| a.legal.as_slice())).collect();
    let items: Vec<Item<'_>> =
        asked.iter().zip(&found).map(|(features, &moves)| Item { features, moves }).collect();
    let opinions = mind.judge(&items)?;
    let open = answers.iter_mut().filter(|a| a.as_ref().is_ok_and(|a| !a.legal.is_empty()));
    for (imagined, opinion) in open.zip(opinions) {
        match (&mut *imagined, opinion) {
            (Ok(state), Ok(opinion)) => state.evaluation = Some(doubted(opinion, &state.certainty)),
            (_, Err(EvalError::NotANumber(head))) => *imagined = Err(Refusal::NotANumber(head)),
            _ => *imagined = Err(Refusal::NoMoves),
        }
    }
    Ok(answers)
}

/// The second look at a few states that go on. One that answers no number, or no move, changes nothing.
pub(crate) fn look_again(
    mind: &mut impl Mind,
    group: &mut [&mut Imagined],
) -> Result<(), EvalError> {
    let seen: Vec<Features> =
        group.iter().map(|imagined| Features::imagined(&imagined.state)).collect();
    mind.look(&seen)?;
    let found: Vec<(Vec<MoveCode>, Vec<f32>)> = group
        .iter()
        .enumerate()
        .map(|(p, imagined)| {
            let (state, mover) = (&imagined.state, imagined.state.turn());
            let moves = likely_moves(&mind.logits(), p).into_iter();
            moves.filter(|(m, _)| moves_a_man(state, mover, *m)).unzip()
        })
        .collect();
    let items: Vec<Item<'_>> =
        seen.iter().zip(&found).map(|(features, (moves, _))| Item { features, moves }).collect();
    let opinions = mind.judge(&items)?;
    let open = group.iter_mut().zip(found).filter(|(_, (moves, _))| !moves.is_empty());
    for ((imagined, (moves, certainty)), opinion) in open.zip(opinions) {
        let Ok(opinion) = opinion else { continue };
        // A state keeps its moves in the frame of the side that moved before.
        imagined.legal = moves.into_iter().map(MoveCode::turned).collect();
        imagined.evaluation = Some(doubted(opinion, &certainty));
        imagined.certainty = certainty;
    }
    Ok(())
}

/// The states of `answers` that a second look is for.
pub(crate) fn open(answers: &mut [Result<Imagined, Refusal>]) -> Vec<&mut Imagined> {
    let states = answers.iter_mut().filter_map(|answer| answer.as_mut().ok());
    states.filter(|state| !state.legal.is_empty()).collect()
}

thread_local! {
    static ACTIVATIONS: RefCell<Activations> = RefCell::default();
}

/// The CPU's kernels, with their scratch.
struct CpuMind<'a> {
    layout: &'a Layout,
    weights: &'a Weights,
    activations: &'a mut Activations,
}

impl Mind for CpuMind<'_> {
    fn look(&mut self, boards: &[Features]) -> Result<(), EvalError> {
        let items: Vec<Item<'_>> =
            boards.iter().map(|features| Item { features, moves: &[] }).collect();
        forward(self.layout, self.weights, &items, Heads::All, false, self.activations);
        Ok(())
    }

    fn logits(&self) -> impl Logits {
        (self.layout, &*self.activations)
    }

    fn judge(
        &mut self,
        items: &[Item<'_>],
    ) -> Result<Vec<Result<Evaluation, EvalError>>, EvalError> {
        move_heads(self.layout, self.weights, items, self.activations);
        let mut start = 0;
        let judged = items.iter().enumerate().filter_map(|(p, item)| {
            let moves = start..start + item.moves.len();
            start = moves.end;
            (!moves.is_empty()).then(|| evaluation(self.activations, moves, p))
        });
        Ok(judged.collect())
    }
}

impl CpuEvaluator {
    /// Each group of a batch, with this thread's scratch.
    fn with_mind<T>(&self, work: impl FnOnce(&mut CpuMind<'_>) -> T) -> T {
        let CpuEvaluator { layout, weights } = self;
        ACTIVATIONS
            .with_borrow_mut(|activations| work(&mut CpuMind { layout, weights, activations }))
    }
}

impl Transition for CpuEvaluator {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        self.with_mind(|mind| {
            let mut answers = Vec::with_capacity(batch.len());
            for group in batch.chunks(GROUP) {
                answers.extend(imagine(mind, group)?);
            }
            Ok(answers)
        })
    }

    fn look_again(&self, answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        self.with_mind(|mind| {
            open(answers).chunks_mut(GROUP).try_for_each(|group| look_again(mind, group))
        })
    }
}

/// The evaluation with each move's policy weighed by the probability that it is legal: the policy was taught
/// on legal moves alone and says nothing of others.
fn doubted(mut evaluation: Evaluation, certainty: &[f32]) -> Evaluation {
    let policy = &mut evaluation.policy;
    policy.iter_mut().zip(certainty).for_each(|(policy, certainty)| *policy *= certainty);
    let total: f32 = policy.iter().sum();
    if total > 0.0 {
        policy.iter_mut().for_each(|policy| *policy /= total);
    }
    evaluation
}

/// What the heads of the world model say of position `p`.
fn told(logits: &impl Logits, p: usize) -> Result<Told, Refusal> {
    let (ends, pairs) = (logits.terminal(p), logits.legality(p));
    let mut board = (0..TOKENS).map(|token| logits.square(p, token));
    let finite = |logits: &[f32]| logits.iter().all(|x| x.is_finite());
    for (name, fine) in [
        ("terminal", finite(ends)),
        ("legality", finite(pairs)),
        ("transition", board.all(|(row, promotes)| finite(row) && promotes.is_finite())),
    ] {
        if !fine {
            return Err(Refusal::NotANumber(name));
        }
    }
    let mut end = [0.0; 3];
    end.copy_from_slice(&softmax(ends));
    Ok(Told { board: next_board(logits, p), end, legal: likely_moves(logits, p) })
}

/// Index of the largest logit, the first of equals.
fn largest(logits: &[f32]) -> usize {
    best_index(logits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Network;
    use crate::data::testing::position;
    use crate::encode::canonical_moves;
    use crate::net::NetConfig;
    use crate::precision::Arithmetic;

    #[test]
    fn moves_that_nobody_asked_for_are_asked_for() {
        let network = Network::new(&NetConfig::default(), 3);
        let state = position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
        let features = Features::of(&state);
        let legal: Vec<MoveCode> =
            canonical_moves(&state).iter().filter_map(|&m| MoveCode::new(m, false)).collect();
        let mut activations = Activations::default();
        let item = Item { features: &features, moves: &legal };
        let weights = network.weights(Arithmetic::Single);
        forward(&network.layout, &weights, &[item], Heads::All, false, &mut activations);
        let policy = activations.policy.clone();
        let best = best_index(&policy).map(|index| legal[index]);
        let mut pick = |found: &[MoveCode], known: &[MoveCode], policy: &[f32]| {
            choice((&network.layout, &weights), &features, found, (known, policy), &mut activations)
        };
        assert_eq!(pick(&legal, &legal, &policy), best);
        assert_eq!(pick(&legal, &[], &[]), best, "the same without any known move");
        assert_eq!(pick(&[], &legal, &policy), None);
        let invented = MoveCode { from: 30, to: 31, promotion: 0 };
        assert_eq!(pick(&[invented], &legal, &policy), Some(invented));
        let mut both = legal.clone();
        both.push(invented);
        let chosen = pick(&both, &legal, &policy);
        assert!(chosen == best || chosen == Some(invented));
    }
}
