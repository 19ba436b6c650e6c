//! The network's world model: decodes legal moves, game end and next board from the heads' logits. `transition`
//! decides whether they make a position.
//!
//! A `WorldModelPass` computes the logits: the CPU's kernels or a burn device.

use super::error::EvalError;
use super::query::Evaluation;
use super::transition::{Imagined, RawPrediction, Refusal, Step, moves_a_piece};
use crate::encode::Terminal;
use crate::encode::{Features, Item, MoveCode, NextBoard};
use crate::net::TOKENS;
use crate::numeric::{argmax, sigmoid, softmax};
use shakmaty::Position;

/// The logits of the world model's heads for position `p` of a batch.
pub trait WorldModelLogits {
    /// `[3]`: ongoing, lost, drawn.
    fn terminal(&self, p: usize) -> &[f32];
    /// `[64, 64]` (from, to).
    fn legality(&self, p: usize) -> &[f32];
    /// A token's 16 logits of the transition head, and the logit of "moves from here promote".
    fn square(&self, p: usize, token: usize) -> (&[f32], f32);
}

/// The moves that the legality head predicts at position `p`, by (from, to, promotion) of the input's frame.
#[must_use]
pub fn legal_moves(logits: &impl WorldModelLogits, p: usize) -> Vec<MoveCode> {
    likely_moves(logits, p).into_iter().map(|(m, _)| m).collect()
}

/// [`legal_moves`] with the probability that each is legal.
pub(super) fn likely_moves(logits: &impl WorldModelLogits, p: usize) -> Vec<(MoveCode, f32)> {
    let likely = moves_above(logits, p, LIKELY);
    if likely.is_empty() { moves_above(logits, p, PERHAPS) } else { likely }
}

/// The moves whose log-odds of being legal exceed `bar`, with their probabilities.
fn moves_above(logits: &impl WorldModelLogits, p: usize, bar: f32) -> Vec<(MoveCode, f32)> {
    let mut moves = Vec::new();
    for (index, logit) in logits.legality(p).iter().enumerate().filter(|(_, logit)| **logit > bar) {
        let (from, to) = ((index / TOKENS) as u8, (index % TOKENS) as u8);
        let (_, promotes) = logits.square(p, usize::from(from));
        let promotions = if promotes > 0.0 { 1..=4 } else { 0..=0 };
        let certainty = sigmoid(*logit);
        moves.extend(promotions.map(|promotion| (MoveCode { from, to, promotion }, certainty)));
    }
    moves
}

/// Log-odds of being legal above which a search in imagination considers a move: an illegal one leads to no
/// state and costs one evaluation; a missing one may be the only good reply. Measured: `docs/src/imagined.md`.
const LIKELY: f32 = 0.0;
/// The bar if no move reaches [`LIKELY`]: without any move the game would be over.
const PERHAPS: f32 = -1.0;

/// Prediction of the terminal head for position `p`.
#[must_use]
pub fn terminal(logits: &impl WorldModelLogits, p: usize) -> Terminal {
    match largest(logits.terminal(p)) {
        0 => Terminal::Ongoing,
        1 => Terminal::Lost,
        _ => Terminal::Drawn,
    }
}

/// The board after the marked action, for a position `p` of the form `MAV(s, a)`.
#[must_use]
pub fn next_board(logits: &impl WorldModelLogits, p: usize) -> NextBoard {
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

/// Computes the world model's heads on one device.
pub(crate) trait WorldModelPass {
    /// One pass over all heads. Its logits are kept until the next pass.
    ///
    /// # Errors
    /// The device failed.
    fn forward(&mut self, boards: &[Features]) -> Result<(), EvalError>;

    /// The logits of the last pass.
    fn logits(&self) -> impl WorldModelLogits;

    /// Evaluates moves of the last pass's boards: one evaluation for each board that has moves, in order. An
    /// inner error concerns only that board.
    ///
    /// # Errors
    /// The device failed.
    fn score_moves(
        &mut self,
        items: &[Item<'_>],
    ) -> Result<Vec<Result<Evaluation, EvalError>>, EvalError>;
}

/// Answers a few steps: one pass over all of them, then the evaluations of the moves predicted as legal.
pub(crate) fn imagine(
    pass: &mut impl WorldModelPass,
    group: &[Step<'_>],
) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
    let asked: Vec<Features> =
        group.iter().map(|step| Features::imagined_with_action(step.state, step.action)).collect();
    pass.forward(&asked)?;
    let mut answers: Vec<Result<Imagined, Refusal>> = group
        .iter()
        .enumerate()
        .map(|(p, step)| predict(&pass.logits(), p).and_then(|raw| raw.parse(step)))
        .collect();
    let found: Vec<&[MoveCode]> =
        answers.iter().map(|a| a.as_ref().map_or(&[][..], |a| a.legal.as_slice())).collect();
    let items: Vec<Item<'_>> =
        asked.iter().zip(&found).map(|(features, &moves)| Item { features, moves }).collect();
    let evaluations = pass.score_moves(&items)?;
    let open = answers.iter_mut().filter(|a| a.as_ref().is_ok_and(|a| !a.legal.is_empty()));
    for (imagined, evaluation) in open.zip(evaluations) {
        match (&mut *imagined, evaluation) {
            (Ok(state), Ok(evaluation)) => {
                state.evaluation = Some(weighed(evaluation, &state.certainty));
            }
            (_, Err(EvalError::NotANumber(head))) => *imagined = Err(Refusal::NotANumber(head)),
            _ => *imagined = Err(Refusal::NoMoves),
        }
    }
    Ok(answers)
}

/// Evaluates a few ongoing states again, as positions. An answer that is NaN or has no move changes nothing.
pub(crate) fn refine(
    pass: &mut impl WorldModelPass,
    group: &mut [&mut Imagined],
) -> Result<(), EvalError> {
    let seen: Vec<Features> =
        group.iter().map(|imagined| Features::imagined(&imagined.state)).collect();
    pass.forward(&seen)?;
    let found: Vec<(Vec<MoveCode>, Vec<f32>)> = group
        .iter()
        .enumerate()
        .map(|(p, imagined)| {
            let (state, mover) = (&imagined.state, imagined.state.turn());
            let moves = likely_moves(&pass.logits(), p).into_iter();
            moves.filter(|(m, _)| moves_a_piece(state, mover, *m)).unzip()
        })
        .collect();
    let items: Vec<Item<'_>> =
        seen.iter().zip(&found).map(|(features, (moves, _))| Item { features, moves }).collect();
    let evaluations = pass.score_moves(&items)?;
    let open = group.iter_mut().zip(found).filter(|(_, (moves, _))| !moves.is_empty());
    for ((imagined, (moves, certainty)), evaluation) in open.zip(evaluations) {
        let Ok(evaluation) = evaluation else { continue };
        // A state keeps its moves in the frame of the side that moved before.
        imagined.legal = moves.into_iter().map(MoveCode::turned).collect();
        imagined.evaluation = Some(weighed(evaluation, &certainty));
        imagined.certainty = certainty;
    }
    Ok(())
}

/// The ongoing states of `answers`, the input of [`refine`].
pub(crate) fn ongoing(answers: &mut [Result<Imagined, Refusal>]) -> Vec<&mut Imagined> {
    let states = answers.iter_mut().filter_map(|answer| answer.as_mut().ok());
    states.filter(|state| !state.legal.is_empty()).collect()
}

/// Multiplies each move's policy by the probability that the move is legal: the policy was trained on legal
/// moves only.
fn weighed(mut evaluation: Evaluation, certainty: &[f32]) -> Evaluation {
    let policy = &mut evaluation.policy;
    policy.iter_mut().zip(certainty).for_each(|(policy, certainty)| *policy *= certainty);
    let total: f32 = policy.iter().sum();
    if total > 0.0 {
        policy.iter_mut().for_each(|policy| *policy /= total);
    }
    evaluation
}

/// Predictions of the world model's heads for position `p`.
fn predict(logits: &impl WorldModelLogits, p: usize) -> Result<RawPrediction, Refusal> {
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
    Ok(RawPrediction { board: next_board(logits, p), end, legal: likely_moves(logits, p) })
}

/// Argmax; the first of equals.
fn largest(logits: &[f32]) -> usize {
    argmax(logits).unwrap_or(0)
}
