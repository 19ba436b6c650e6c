//! Whether a game is over, by the board alone: classes of the terminal head.

use shakmaty::{Chess, Position};

/// State of the answered position by the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// Not over.
    Ongoing,
    /// The side to move is checkmated.
    Lost,
    /// Stalemate or insufficient material.
    Drawn,
}

/// State of `position` by the board only: no clocks, no repetition. `legal` is its number of legal moves.
#[must_use]
pub fn terminal(position: &Chess, legal: usize) -> Terminal {
    if legal == 0 {
        if position.is_check() { Terminal::Lost } else { Terminal::Drawn }
    } else if position.is_insufficient_material() {
        Terminal::Drawn
    } else {
        Terminal::Ongoing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::position;

    #[test]
    fn mate_stalemate_and_bare_kings_are_ends() {
        let of = |fen| {
            let position = position(fen);
            terminal(&position, position.legal_moves().len())
        };
        assert_eq!(of("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"), Terminal::Lost);
        assert_eq!(of("7k/8/6Q1/8/8/8/8/K7 b - - 0 1"), Terminal::Drawn);
        assert_eq!(of("7k/8/8/8/8/8/8/K1B5 b - - 0 1"), Terminal::Drawn);
        assert_eq!(of("7k/8/8/8/8/8/7P/K7 b - - 0 1"), Terminal::Ongoing);
    }
}
