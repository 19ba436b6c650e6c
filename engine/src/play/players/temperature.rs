//! Moves drawn at random, better ones more often. The first moves of a game can be drawn so: then two
//! deterministic engines do not play the same game over and over.
//!
//! Paper 001, section 4 ("Metrics"), plays its first five full moves by a softmax of low temperature:
//! 0.005 over action and state values, 0.05 over the policy, 0.5 over AlphaZero's visits. The
//! caller says what is drawn from; this file decides when, and draws.

use crate::options::settings::Settings;
use nn::rng::Rng;
use shakmaty::{Chess, Position};

/// The temperature for the move to be played here; None where the best one is.
#[must_use]
pub fn temperature(settings: &Settings, position: &Chess) -> Option<f32> {
    let early = position.fullmoves().get() <= settings.temperature_moves;
    (early && settings.temperature > 0.0 && !settings.analyse_mode).then_some(settings.temperature)
}

/// Draws a place of `logits` with probability proportional to `exp(logit / temperature)`. A logit of
/// minus infinity is never drawn; None if nothing else is left.
#[must_use]
pub fn draw(logits: &[f32], temperature: f32, seed: u64) -> Option<usize> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !top.is_finite() {
        return None;
    }
    let weight = |logit: &f32| (f64::from(logit - top) / f64::from(temperature)).exp();
    let weights: Vec<f64> = logits.iter().map(weight).collect();
    Rng::from_state(seed).draw(&weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(logits: &[f32], temperature: f32) -> Vec<usize> {
        let mut counts = vec![0; logits.len()];
        for seed in 0..4000 {
            counts[draw(logits, temperature, seed).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn draws_follow_the_softmax() {
        let thirds = counts(&[2.0_f32.ln(), 0.0], 1.0);
        assert!((2500..2830).contains(&thirds[0]), "{thirds:?}");
        let even = counts(&[0.3, 0.3, 0.3, 0.3], 0.005);
        assert!(even.iter().all(|count| (850..1150).contains(count)), "{even:?}");
        assert_eq!(counts(&[0.50, 0.60], 0.005), [0, 4000], "e^-20 is never");
    }

    #[test]
    fn equal_seeds_draw_alike() {
        let logits = [0.1, 0.2, 0.3];
        assert!((0..50).all(|seed| draw(&logits, 1.0, seed) == draw(&logits, 1.0, seed)));
    }

    #[test]
    fn nothing_impossible_is_drawn() {
        let never = f32::NEG_INFINITY;
        assert_eq!(counts(&[never, 0.0, never], 1.0), [0, 4000, 0]);
        assert_eq!(draw(&[never, never], 1.0, 1), None);
        assert_eq!(draw(&[], 1.0, 1), None);
        // The smallest temperature an option can ask for is no division by zero.
        assert_eq!(counts(&[0.5, 0.5001], f32::MIN_POSITIVE), [0, 4000]);
    }

    #[test]
    fn only_the_first_moves_are_drawn_and_only_if_asked() {
        let start = Chess::default();
        assert_eq!(temperature(&Settings::default(), &start), None);
        let settings = Settings { temperature: 0.5, ..Settings::default() };
        assert_eq!(temperature(&settings, &start), Some(0.5));
        let game = |fen| chess::game::Game::from_fen(fen, false).unwrap();
        let fifth = game("4k3/8/8/8/8/8/4P3/4K3 b - - 0 5");
        assert_eq!(temperature(&settings, fifth.position()), Some(0.5));
        let sixth = game("4k3/8/8/8/8/8/4P3/4K3 w - - 0 6");
        assert_eq!(temperature(&settings, sixth.position()), None);
    }
}
