//! From what the files store to what the network should answer: win probabilities and results from
//! the view of the side to move. Pure functions.

use super::example::Terminal;
use super::record::NO_SCORE;
use shakmaty::{Chess, Color, Position};

/// Per centipawn (paper 000, spec section 1: `win = 1 / (1 + exp(-0.00368208 * cp))`).
const WIN_PER_CENTIPAWN: f32 = 0.003_682_08;
/// A mate in n is ±(32000 − n); no file stores a centipawn score this large.
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

/// Win probability of the side to move `plies` after the position that `score` belongs to, if the
/// score holds along the line.
#[must_use]
pub fn along_line(score: i16, plies: usize) -> f32 {
    let win = win_probability(score);
    if plies.is_multiple_of(2) {
        win
    } else {
        1.0 - win
    }
}

/// 0 = lost, 1 = drawn, 2 = won by `turn`, from a file's 0 = Black won … 3 = unknown.
#[must_use]
pub fn result_for(turn: Color, result: u8) -> Option<u8> {
    match (turn, result) {
        (Color::White, 0..=2) => Some(result),
        (Color::Black, 0..=2) => Some(2 - result),
        _ => None,
    }
}

/// How `position` stands by the board alone: no clocks, no repetition. `legal` is its number of
/// legal moves.
#[must_use]
pub fn terminal(position: &Chess, legal: usize) -> Terminal {
    if legal == 0 {
        if position.is_check() {
            Terminal::Lost
        } else {
            Terminal::Drawn
        }
    } else if position.is_insufficient_material() {
        Terminal::Drawn
    } else {
        Terminal::Ongoing
    }
}
