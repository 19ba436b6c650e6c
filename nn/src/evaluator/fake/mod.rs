//! Evaluators without a network, for tests, for `bench` and as a last resort when no weights load.
//!
//! `Uniform` has no preferences, `Hashed` arbitrary but deterministic ones, `Quick` the same in almost no time,
//! `Failing` fails on purpose, and `Perfect` imagines by the rules.

mod perfect;

pub use perfect::Perfect;

use super::Evaluator;
use super::error::EvalError;
use super::query::{Evaluation, Query};
use crate::rng::split_mix;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{EnPassantMode, Position};
use std::sync::atomic::{AtomicU64, Ordering};

/// Every position is level, every move equally good.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl Evaluator for Uniform {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        batch.iter().map(uniform).collect()
    }
}

fn uniform(query: &Query<'_>) -> Result<Evaluation, EvalError> {
    let moves = query.legal.len();
    if moves == 0 {
        return Err(EvalError::NoMoves);
    }
    Ok(Evaluation {
        wdl: [0.25, 0.5, 0.25],
        value: 0.5,
        value_mode: 0.5,
        action_values: vec![0.5; moves],
        action_modes: vec![0.5; moves],
        policy: vec![1.0 / moves as f32; moves],
    })
}

/// Outputs derived from the position's key: identical on every machine and in every batch, so that golden trees
/// and the bench signature change only when the search does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed {
    /// Other seeds give other values.
    pub seed: u64,
}

impl Evaluator for Hashed {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        batch.iter().map(|query| self.answer(query)).collect()
    }
}

impl Hashed {
    fn answer(self, query: &Query<'_>) -> Result<Evaluation, EvalError> {
        if query.legal.is_empty() {
            return Err(EvalError::NoMoves);
        }
        let key = query.position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0 ^ self.seed;
        let value = 0.1 + 0.8 * unit(key);
        let draw = 0.5 * unit(key ^ 1) * (2.0 * value.min(1.0 - value));
        let mut action_values = Vec::with_capacity(query.legal.len());
        let mut weights = Vec::with_capacity(query.legal.len());
        for m in query.legal {
            // The answer depends on the move, not on its index.
            let from = m.from().map_or(64, u64::from);
            let promotion = m.promotion().map_or(0, |role| role as u64);
            let code = (from << 12) | (u64::from(m.to()) << 4) | promotion;
            let noise = unit(split_mix(key) ^ (code << 20));
            // Most moves are worse than the position's value, a few slightly better.
            action_values.push((value * (0.6 + 0.45 * noise)).clamp(0.0, 1.0));
            let weight = unit(split_mix(key ^ 2) ^ (code << 20));
            weights.push(0.01 + weight * weight * weight);
        }
        let total: f32 = weights.iter().sum();
        let bucket = |q: f32| ((q * 64.0).floor().min(63.0) + 0.5) / 64.0;
        let action_modes = action_values.iter().copied().map(bucket).collect();
        Ok(Evaluation {
            wdl: [value - draw / 2.0, draw, 1.0 - value - draw / 2.0],
            value,
            value_mode: bucket(value),
            action_values,
            action_modes,
            policy: weights.iter().map(|w| w / total).collect(),
        })
    }
}

/// Outputs as arbitrary as [`Hashed`]'s for a fraction of the time, for measuring everything but the evaluator:
/// two multiplications per move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quick;

impl Evaluator for Quick {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        batch.iter().map(quick).collect()
    }
}

fn quick(query: &Query<'_>) -> Result<Evaluation, EvalError> {
    if query.legal.is_empty() {
        return Err(EvalError::NoMoves);
    }
    let (roles, colors) = query.position.board().clone().into_bitboards();
    let turn = u64::from(query.position.turn().is_white());
    // Odd, so that multiplication loses no bit of a board (Steele and Vigna, "Computationally easy, spectrally
    // good multipliers", 2021).
    const ODD: u64 = 0xD134_2543_DE82_EF95;
    let key = roles
        .into_iter()
        .chain(colors)
        .fold(turn, |key, board| (key ^ board.0).wrapping_mul(ODD).rotate_left(29));
    // 16 bits of a product's upper half.
    let part = |bits: u64, shift: u32| (bits >> shift & 0xFFFF) as f32 / 65536.0;
    let value = 0.1 + 0.8 * part(key, 40);
    let mut action_values = Vec::with_capacity(query.legal.len());
    let mut policy = Vec::with_capacity(query.legal.len());
    let mut total = 0.0;
    for m in query.legal {
        let to = u64::from(m.to()) | m.promotion().map_or(0, |role| role as u64) << 6;
        let from = m.from().map_or(64, u64::from);
        let noise = (key ^ (from << 10 | to)).wrapping_mul(ODD);
        let noise = (noise ^ noise >> 32).wrapping_mul(ODD);
        // Shaped as Hashed's.
        action_values.push((value * (0.6 + 0.45 * part(noise, 48))).min(1.0));
        let weight = part(noise, 32);
        policy.push(0.01 + weight * weight * weight);
        total += 0.01 + weight * weight * weight;
    }
    policy.iter_mut().for_each(|p| *p /= total);
    let action_modes = action_values.clone();
    let draw = 0.5 * value.min(1.0 - value);
    let wdl = [value - draw / 2.0, draw, 1.0 - value - draw / 2.0];
    Ok(Evaluation { wdl, value, value_mode: value, action_values, action_modes, policy })
}

/// A number in [0, 1) from 24 bits of the hash: exact in f32.
fn unit(seed: u64) -> f32 {
    (split_mix(seed) >> 40) as f32 / (1u64 << 24) as f32
}

/// Failure mode of [`Failing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakdown {
    /// Returns an error.
    Error,
    /// Rejects its network's NaN, as [`Evaluator::evaluate`] promises.
    NotANumber,
    /// Returns an answer that lacks one move.
    Short,
    /// Panics, as a buggy backend would.
    Panic,
}

/// Answers like [`Hashed`] for the first `calls` calls, then fails permanently.
#[derive(Debug)]
pub struct Failing {
    calls: u64,
    made: AtomicU64,
    how: Breakdown,
}

impl Failing {
    /// Fails from call number `calls` + 1 on.
    #[must_use]
    pub fn after(calls: u64, how: Breakdown) -> Failing {
        Failing { calls, made: AtomicU64::new(0), how }
    }
}

impl Evaluator for Failing {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        // Relaxed: only the count matters.
        let healthy = self.made.fetch_add(1, Ordering::Relaxed) < self.calls;
        match self.how {
            Breakdown::Error if !healthy => {
                let why = "the fake device failed as it was told to";
                return Err(EvalError::Device(why.to_owned()));
            }
            Breakdown::NotANumber if !healthy => return Err(EvalError::NotANumber("action value")),
            _ => {}
        }
        assert!(
            healthy || self.how != Breakdown::Panic,
            "the fake device panics as it was told to"
        );
        let mut answers = Hashed::default().evaluate(batch)?;
        if !healthy {
            for answer in &mut answers {
                answer.action_values.pop();
            }
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::{Chess, MoveList};

    fn ask(evaluator: &dyn Evaluator, position: &Chess, legal: &MoveList) -> Evaluation {
        evaluator.evaluate(&[Query { position, legal }]).unwrap().remove(0)
    }

    #[test]
    fn answers_are_probabilities() {
        let position = Chess::default();
        let legal = position.legal_moves();
        for evaluator in [&Uniform as &dyn Evaluator, &Quick, &Hashed::default()] {
            let answer = ask(evaluator, &position, &legal);
            assert!((answer.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!((answer.wdl.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(answer.action_values.iter().all(|q| (0.0..=1.0).contains(q)));
        }
    }

    #[test]
    fn hashed_answers_follow_the_move_not_its_place() {
        let position = Chess::default();
        let legal = position.legal_moves();
        let mut turned = legal.clone();
        turned.reverse();
        let there = ask(&Hashed::default(), &position, &legal);
        let mut back = ask(&Hashed::default(), &position, &turned);
        back.action_values.reverse();
        assert_eq!(there.action_values, back.action_values);
    }

    #[test]
    fn failing_fails_after_the_calls_it_was_given() {
        let position = Chess::default();
        let legal = position.legal_moves();
        let batch = [Query { position: &position, legal: &legal }];
        let failing = Failing::after(1, Breakdown::Error);
        assert!(failing.evaluate(&batch).is_ok());
        assert!(failing.evaluate(&batch).is_err());
    }
}
