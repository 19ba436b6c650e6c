//! From stored labels to targets: win probabilities and results from the view of the side to move. Pure
//! functions.

use super::record::{NO_SCORE, VALUE_ONE, VALUE_UNKNOWN};

/// Per centipawn (paper 000, spec section 1: `win = 1 / (1 + exp(-0.00368208 * cp))`).
const WIN_PER_CENTIPAWN: f32 = 0.003_682_08;
/// A mate in n is ±(32000 − n); no stored centipawn score is this large.
const MATE: i16 = 31_000;

/// Win probability of the side to move, in [0, 1]; NaN for "no score". Mate is exactly 1 or 0.
#[must_use]
pub fn win_probability(score: i16) -> f32 {
    match score {
        NO_SCORE => f32::NAN,
        MATE.. => 1.0,
        _ if score <= -MATE => 0.0,
        _ => 1.0 / (1.0 + (-WIN_PER_CENTIPAWN * f32::from(score)).exp()),
    }
}

/// Win probability of the side to move `plies` after a position whose side to move has `win`, if the value
/// holds along the line.
#[must_use]
pub fn along_line(win: f32, plies: usize) -> f32 {
    if plies.is_multiple_of(2) { win } else { 1.0 - win }
}

/// Win probability of a stored action value for its mover, in [0, 1]; NaN = unknown.
#[must_use]
pub fn action_value(stored: u8) -> f32 {
    match stored {
        VALUE_UNKNOWN => f32::NAN,
        known => f32::from(known) / f32::from(VALUE_ONE),
    }
}

/// A win probability as a stored action value.
#[must_use]
pub fn stored_value(win: f32) -> u8 {
    // Float-to-integer casts saturate.
    (win.clamp(0.0, 1.0) * f32::from(VALUE_ONE)).round() as u8
}

/// A win probability as a stored score, the inverse of [`win_probability`]: 1 and 0 are mate.
#[must_use]
pub fn stored_score(win: f32) -> i16 {
    match win {
        1.0.. => MATE,
        0.0.. if win > 0.0 => ((win / (1.0 - win)).ln() / WIN_PER_CENTIPAWN).round() as i16,
        _ => -MATE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn win_probability_follows_the_paper() {
        assert_eq!(win_probability(0), 0.5);
        // 1 / (1 + exp(-0.368208)) by hand.
        assert!((win_probability(100) - 0.591_025).abs() < 1e-5);
        assert!((win_probability(-100) + win_probability(100) - 1.0).abs() < 1e-6);
        assert_eq!((win_probability(31_999), win_probability(-31_999)), (1.0, 0.0));
        assert!(win_probability(i16::MAX).is_nan());
    }

    #[test]
    fn scores_are_stored_as_they_are_read() {
        for win in [0.0, 1e-7, 0.01, 0.3, 0.5, 0.77, 0.999_999, 1.0] {
            assert!((win_probability(stored_score(win)) - win).abs() < 1e-3, "{win}");
        }
        assert_eq!((stored_score(0.5), stored_score(1.0), stored_score(0.0)), (0, MATE, -MATE));
    }

    #[test]
    fn action_values_are_read_as_they_were_stored() {
        for stored in 0..=VALUE_ONE {
            assert_eq!(stored_value(action_value(stored)), stored);
        }
        assert!(action_value(VALUE_UNKNOWN).is_nan());
        assert_eq!((stored_value(0.5), stored_value(-1.0), stored_value(2.0)), (64, 0, 127));
    }

    #[test]
    fn along_a_line_the_sides_take_turns() {
        for score in [-31_990, -250, 0, 42, 31_990] {
            let win = win_probability(score);
            assert_eq!((along_line(win, 0), along_line(win, 2)), (win, win));
            assert!((along_line(win, 1) - win_probability(-score)).abs() < 1e-6);
        }
        assert!(along_line(win_probability(i16::MAX), 1).is_nan());
    }
}
