//! What the network imagines: legal moves, game end and next board, read off the heads' logits. The
//! answers are taken as they are; whether they make a position is for the caller to find out.

use crate::cpu::{Heads, Item, Trace, Weights, forward, move_heads};
use crate::data::Terminal;
use crate::encode::{Features, MoveCode, NextBoard};
use crate::evaluator::{EvalError, Evaluation};
use crate::infer::{CpuEvaluator, GROUP, evaluation, softmax};
use crate::metrics::best_index;
use crate::net::{Layout, TOKENS};
use crate::transition::{Imagined, Refusal, Step, Told, Transition, moves_a_man};
use shakmaty::Position;
use std::cell::RefCell;

/// The moves that the legality head finds legal at position `p` of a pass over all heads, by (from,
/// to, promotion) of the input's frame.
#[must_use]
pub fn legal_moves(layout: &Layout, trace: &Trace, p: usize) -> Vec<MoveCode> {
    moves_above(layout, trace, p, 0.0).into_iter().map(|(m, _)| m).collect()
}

/// The moves whose log-odds of being legal are above `bar`, with the probability that they are.
fn moves_above(layout: &Layout, trace: &Trace, p: usize, bar: f32) -> Vec<(MoveCode, f32)> {
    let pairs = &trace.legality[p * TOKENS * TOKENS..][..TOKENS * TOKENS];
    let mut moves = Vec::new();
    for (index, logit) in pairs.iter().enumerate().filter(|(_, logit)| **logit > bar) {
        let (from, to) = ((index / TOKENS) as u8, (index % TOKENS) as u8);
        let (_, promotes) = trace.transition(layout, p, usize::from(from));
        let promotions = if promotes > 0.0 { 1..=4 } else { 0..=0 };
        let certainty = 1.0 / (1.0 + (-logit).exp());
        moves.extend(promotions.map(|promotion| (MoveCode { from, to, promotion }, certainty)));
    }
    moves
}

/// Log-odds of being legal from which on a search in imagination may look at a move: an illegal one leads
/// to no state at all, while one that is missing is seldom the best. Measured: `assets/imagined.md`.
const LIKELY: f32 = 1.0;
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
    scratch: &mut Trace,
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
pub fn terminal(trace: &Trace, p: usize) -> Terminal {
    match largest(&trace.terminal[p * 3..][..3]) {
        0 => Terminal::Ongoing,
        1 => Terminal::Lost,
        _ => Terminal::Drawn,
    }
}

/// The board after the marked action, for a position `p` of the form `MAV(s, a)`.
#[must_use]
pub fn next_board(layout: &Layout, trace: &Trace, p: usize) -> NextBoard {
    let mut next = NextBoard { pieces: [0; 64], flags: [0; 64] };
    for t in 0..TOKENS {
        let (logits, _) = trace.transition(layout, p, t);
        next.pieces[t] = largest(&logits[..13]) as u8;
        for bit in 0..3 {
            next.flags[t] |= u8::from(logits[13 + bit] > 0.0) << bit;
        }
    }
    next
}

thread_local! {
    static TRACE: RefCell<Trace> = RefCell::default();
}

impl Transition for CpuEvaluator {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        TRACE.with_borrow_mut(|trace| {
            Ok(batch.chunks(GROUP).flat_map(|group| imagine_group(self, group, trace)).collect())
        })
    }

    fn look_again(&self, answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        let open = answers.iter_mut().filter_map(|answer| answer.as_mut().ok());
        let mut open: Vec<&mut Imagined> = open.filter(|state| !state.legal.is_empty()).collect();
        TRACE.with_borrow_mut(|trace| {
            open.chunks_mut(GROUP).for_each(|group| look_group(self, group, trace));
        });
        Ok(())
    }
}

/// The second look at a few states. One that answers no number, or no move, changes nothing.
fn look_group(
    CpuEvaluator { layout, weights }: &CpuEvaluator,
    group: &mut [&mut Imagined],
    trace: &mut Trace,
) {
    let seen: Vec<Features> =
        group.iter().map(|imagined| Features::imagined(&imagined.state)).collect();
    let items: Vec<Item<'_>> = seen.iter().map(|features| Item { features, moves: &[] }).collect();
    forward(layout, weights, &items, Heads::All, false, trace);
    let found: Vec<(Vec<MoveCode>, Vec<f32>)> = group
        .iter()
        .enumerate()
        .map(|(p, imagined)| {
            let (state, mover) = (&imagined.state, imagined.state.turn());
            let moves = moves_above(layout, trace, p, LIKELY).into_iter();
            moves.filter(|(m, _)| moves_a_man(state, mover, *m)).unzip()
        })
        .collect();
    let items: Vec<Item<'_>> =
        seen.iter().zip(&found).map(|(features, (moves, _))| Item { features, moves }).collect();
    move_heads(layout, weights, &items, trace);
    let mut start = 0;
    for (p, (imagined, (moves, certainty))) in group.iter_mut().zip(found).enumerate() {
        let range = start..start + moves.len();
        start = range.end;
        let Ok(evaluation) = evaluation(trace, range, p) else { continue };
        // A state keeps its moves in the frame of the side that moved before.
        imagined.legal = moves.into_iter().map(MoveCode::turned).collect();
        imagined.evaluation = Some(doubted(evaluation, &certainty));
        imagined.certainty = certainty;
    }
}

/// One pass for the states, then the move heads again over what it found legal.
fn imagine_group(
    CpuEvaluator { layout, weights }: &CpuEvaluator,
    group: &[Step<'_>],
    trace: &mut Trace,
) -> Vec<Result<Imagined, Refusal>> {
    let asked: Vec<Features> =
        group.iter().map(|step| Features::imagined_with_action(step.state, step.action)).collect();
    let items: Vec<Item<'_>> = asked.iter().map(|features| Item { features, moves: &[] }).collect();
    forward(layout, weights, &items, Heads::All, false, trace);
    let mut answers: Vec<Result<Imagined, Refusal>> = group
        .iter()
        .enumerate()
        .map(|(p, step)| told(layout, trace, p).and_then(|told| told.parse(step)))
        .collect();
    let found: Vec<&[MoveCode]> =
        answers.iter().map(|a| a.as_ref().map_or(&[][..], |a| a.legal.as_slice())).collect();
    let items: Vec<Item<'_>> =
        asked.iter().zip(&found).map(|(features, &moves)| Item { features, moves }).collect();
    move_heads(layout, weights, &items, trace);
    let mut start = 0;
    for (p, imagined) in answers.iter_mut().enumerate() {
        let Ok(state) = imagined else { continue };
        let moves = start..start + state.legal.len();
        start = moves.end;
        if moves.is_empty() {
            continue;
        }
        match evaluation(trace, moves, p) {
            Ok(evaluation) => state.evaluation = Some(doubted(evaluation, &state.certainty)),
            Err(EvalError::NotANumber(head)) => *imagined = Err(Refusal::NotANumber(head)),
            Err(_) => *imagined = Err(Refusal::NoMoves),
        }
    }
    answers
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

/// What the heads of the world model say of position `p` of a pass over all of them.
fn told(layout: &Layout, trace: &Trace, p: usize) -> Result<Told, Refusal> {
    let ends = &trace.terminal[p * 3..][..3];
    let pairs = &trace.legality[p * TOKENS * TOKENS..][..TOKENS * TOKENS];
    let board = (0..TOKENS).map(|token| trace.transition(layout, p, token));
    let finite = |logits: &[f32]| logits.iter().all(|x| x.is_finite());
    for (name, fine) in [
        ("terminal", finite(ends)),
        ("legality", finite(pairs)),
        (
            "transition",
            board.into_iter().all(|(row, promotes)| finite(row) && promotes.is_finite()),
        ),
    ] {
        if !fine {
            return Err(Refusal::NotANumber(name));
        }
    }
    let mut end = [0.0; 3];
    end.copy_from_slice(&softmax(ends));
    let mut legal = moves_above(layout, trace, p, LIKELY);
    if legal.is_empty() {
        legal = moves_above(layout, trace, p, PERHAPS);
    }
    Ok(Told { board: next_board(layout, trace, p), end, legal })
}

/// Index of the largest logit, the first of equals.
fn largest(logits: &[f32]) -> usize {
    best_index(logits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Network;
    use crate::cpu::Arithmetic;
    use crate::data::testing::position;
    use crate::encode::canonical_moves;
    use crate::net::NetConfig;

    #[test]
    fn moves_that_nobody_asked_for_are_asked_for() {
        let network = Network::new(&NetConfig::default(), 3);
        let state = position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
        let features = Features::of(&state);
        let legal: Vec<MoveCode> =
            canonical_moves(&state).iter().filter_map(|&m| MoveCode::new(m, false)).collect();
        let mut trace = Trace::default();
        let item = Item { features: &features, moves: &legal };
        let weights = network.weights(Arithmetic::Single);
        forward(&network.layout, &weights, &[item], Heads::All, false, &mut trace);
        let policy = trace.policy.clone();
        let best = best_index(&policy).map(|index| legal[index]);
        let mut pick = |found: &[MoveCode], known: &[MoveCode], policy: &[f32]| {
            choice((&network.layout, &weights), &features, found, (known, policy), &mut trace)
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
