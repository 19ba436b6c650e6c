//! A board as the regressors see it: always from the side of whoever is to move, Black's turned upside down.

use shakmaty::{Chess, Color, Position};

/// At most so many pieces stand on a board of chess.
pub const PIECES: usize = 32;
/// No piece.
const NOBODY: u16 = u16::MAX;

/// Pieces and their squares: `64 * (role + 6 if it is the enemy's) + square`, none repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board([u16; PIECES]);

impl Board {
    /// The pieces of a position.
    #[must_use]
    pub fn new(position: &Chess) -> Board {
        let mut pieces = [NOBODY; PIECES];
        let mover = position.turn();
        for (slot, (square, piece)) in pieces.iter_mut().zip(position.board().iter()) {
            let seen = if mover == Color::White { square } else { square.flip_vertical() };
            let kind = piece.role as u16 - 1 + if piece.color == mover { 0 } else { 6 };
            *slot = 64 * kind + u16::from(seen);
        }
        Board(pieces)
    }

    /// Kind (0 to 11, the mover's pieces first) and square of each piece.
    fn pieces(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let there = self.0.iter().filter(|piece| **piece != NOBODY);
        there.map(|piece| (usize::from(piece / 64), usize::from(piece % 64)))
    }
}

/// How a board is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// One number for each kind of piece on each square: 1 where it stands.
    OneHot,
    /// For each of 32 pieces its file and rank in [0, 1], and whether it is there.
    Positional,
}

impl Features {
    /// All of them.
    pub const ALL: [Features; 2] = [Features::OneHot, Features::Positional];

    /// As files and command lines name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Features::OneHot => "one-hot",
            Features::Positional => "positional",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Features> {
        Features::ALL.into_iter().find(|features| features.name() == name)
    }

    /// Numbers of a board.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Features::OneHot => 12 * 64,
            Features::Positional => 3 * PIECES,
        }
    }

    /// Widths of the hidden layers. Ours: the paper's are lost.
    #[must_use]
    pub fn hidden(self) -> [usize; 3] {
        match self {
            Features::OneHot => [512, 256, 64],
            Features::Positional => [256, 256, 128],
        }
    }

    /// Writes a board into a row of zeros, `width` long.
    pub fn write(self, board: &Board, row: &mut [f32]) {
        match self {
            Features::OneHot => {
                board.pieces().for_each(|(kind, square)| row[64 * kind + square] = 1.0)
            }
            Features::Positional => write_positions(board, row),
        }
    }
}

/// First place and number of places of a role among its side's sixteen: as many as a game begins with. A
/// promoted piece takes the place of a pawn, which it was.
fn places(kind: usize) -> (usize, usize) {
    match kind % 6 {
        0 => (0, 8),
        1 => (8, 2),
        2 => (10, 2),
        3 => (12, 2),
        4 => (14, 1),
        _ => (15, 1),
    }
}

fn write_positions(board: &Board, row: &mut [f32]) {
    let mut taken = [false; PIECES];
    // Pawns first: promoted pieces get what they leave.
    let mut pieces: Vec<(usize, usize)> = board.pieces().collect();
    pieces.sort_by_key(|(kind, square)| (kind / 6, kind % 6 != 0, *kind, *square));
    for (kind, square) in pieces {
        let side = 16 * (kind / 6);
        let (first, count) = places(kind);
        let own = side + first..side + first + count;
        let free = own.chain(side..side + 8).find(|place| !taken[*place]);
        let Some(place) = free else { continue };
        taken[place] = true;
        let at = &mut row[3 * place..3 * place + 3];
        at.copy_from_slice(&[(square % 8) as f32 / 7.0, (square / 8) as f32 / 7.0, 1.0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;
    use shakmaty::Role;

    fn role_index(role: Role) -> usize {
        role as usize - 1
    }

    fn row(features: Features, fen: &str) -> Vec<f32> {
        let mut row = vec![0.0; features.width()];
        let game = Game::from_fen(fen, false).unwrap();
        features.write(&Board::new(game.position()), &mut row);
        row
    }

    #[test]
    fn both_colours_see_their_own_side_below() {
        let (white, black) =
            ("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1", "4k2r/4p3/8/8/8/8/8/4K3 b k - 0 1");
        for features in Features::ALL {
            assert_eq!(row(features, white), row(features, black), "{features:?}");
            assert_eq!(Features::named(features.name()), Some(features));
        }
        let hot = row(Features::OneHot, white);
        assert_eq!(hot.iter().sum::<f32>(), 4.0);
        assert_eq!(hot[64 * role_index(Role::Rook) + 7], 1.0);
        assert_eq!(hot[64 * (6 + role_index(Role::King)) + 60], 1.0);
    }

    #[test]
    fn every_piece_has_a_place_and_promoted_ones_a_pawns() {
        let full =
            row(Features::Positional, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        assert_eq!(full.iter().skip(2).step_by(3).sum::<f32>(), 32.0);
        let queens = row(Features::Positional, "4k3/8/8/8/8/8/PPPPPP2/QQ2K3 w - - 0 1");
        assert_eq!(queens.iter().skip(2).step_by(3).sum::<f32>(), 10.0);
        // Six pawns, then the second queen.
        assert_eq!(queens[3 * 6 + 2], 1.0);
        assert_eq!(queens[3 * 7 + 2], 0.0);
    }
}
