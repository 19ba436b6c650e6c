//! Hand-crafted static evaluation: material, piece-square terms, attacks and defences. Paper 002 has material
//! 1/3/3/5/9 and bonuses for attackers and defenders; the piece-square terms are **ours**, rules of thumb, not tuned.

use shakmaty::{Bitboard, Chess, Color, Piece, Position, Role, Square};

/// Piece values in centipawns (paper 002).
#[must_use]
pub fn value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight | Role::Bishop => 300,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 0,
    }
}

/// Bonus per attacked enemy piece, per defended own piece, and per reachable square.
const ATTACK: i32 = 3;
const DEFENCE: i32 = 1;
const MOBILITY: i32 = 2;
/// Bonus of the side to move.
const TEMPO: i32 = 10;
/// Maximum phase: 4 minor pieces, 2 rooks and a queen of each side, weighted.
const FULL: i32 = 24;

/// Centipawns from the side to move's view; for quiet positions.
#[must_use]
pub fn evaluate(position: &Chess) -> i32 {
    let board = position.board();
    let phase = phase(board.iter().map(|(_, piece)| piece.role));
    let mut score = 0;
    for (square, piece) in board.iter() {
        let own = board.by_color(piece.color);
        let attacked = board.attacks_from(square);
        let piece_score = value(piece.role)
            + place(square, piece, phase)
            + ATTACK * count(attacked & !own & board.occupied())
            + DEFENCE * count(attacked & own)
            + mobility(piece.role, attacked & !own);
        score += if piece.color == position.turn() { piece_score } else { -piece_score };
    }
    score + TEMPO
}

/// Game phase from 0 to `FULL`.
fn phase(roles: impl Iterator<Item = Role>) -> i32 {
    roles.map(weight).sum::<i32>().min(FULL)
}

fn weight(role: Role) -> i32 {
    match role {
        Role::Pawn | Role::King => 0,
        Role::Knight | Role::Bishop => 1,
        Role::Rook => 2,
        Role::Queen => 4,
    }
}

fn count(squares: Bitboard) -> i32 {
    i32::try_from(squares.count()).unwrap_or(0)
}

fn mobility(role: Role, squares: Bitboard) -> i32 {
    match role {
        Role::Knight | Role::Bishop | Role::Rook => MOBILITY * count(squares),
        // No bonus for an early queen's mobility.
        Role::Queen => count(squares),
        Role::Pawn | Role::King => 0,
    }
}

/// Piece-square term, interpolated between middlegame (`phase` 24) and endgame (0).
fn place(square: Square, piece: Piece, phase: i32) -> i32 {
    let file = square.file().to_u32() as i32;
    let rank = match piece.color {
        Color::White => square.rank().to_u32() as i32,
        Color::Black => 7 - square.rank().to_u32() as i32,
    };
    // 0 in a corner, 6 in the centre.
    let centre = (14 - (2 * file - 7).abs() - (2 * rank - 7).abs()) / 2;
    let middle = (file == 3 || file == 4) as i32;
    let blend = |early: i32, late: i32| (early * phase + late * (FULL - phase)) / FULL;
    match piece.role {
        Role::Pawn => {
            let late = [0, 5, 10, 20, 40, 70, 120, 0][rank as usize & 7];
            blend(late / 4 + middle * [0, -10, 5, 20, 25, 25, 25, 0][rank as usize & 7], late)
        }
        Role::Knight => 8 * centre - 24,
        Role::Bishop => 4 * centre - 12,
        Role::Rook => blend(5 * middle, 0) + if rank == 6 { 15 } else { 0 },
        Role::Queen => 2 * centre - 6,
        Role::King => {
            // The king's bonus for a castled position.
            let home = match (rank, file) {
                (0, 0..=2 | 6 | 7) => 30,
                (0, _) => 0,
                _ => -20 * rank,
            };
            blend(home, 10 * centre - 30)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::game::Game;

    fn score(fen: &str) -> i32 {
        evaluate(Game::from_fen(fen, false).unwrap().position())
    }

    #[test]
    fn both_colours_are_judged_alike() {
        assert_eq!(evaluate(&Chess::default()), TEMPO);
        for (white, black) in [
            ("4k3/8/8/3p4/8/2N5/PP6/4K3 w - - 0 1", "4k3/pp6/2n5/8/3P4/8/8/4K3 b - - 0 1"),
            ("r3k3/8/8/8/8/8/5PPP/4Q1K1 b - - 0 1", "4q1k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"),
        ] {
            assert_eq!(score(white), score(black));
        }
    }

    #[test]
    fn material_counts_most_and_the_place_next() {
        let queen_up = score("4k3/8/8/8/8/8/8/3QK3 w - - 0 1");
        assert!((850..1000).contains(&queen_up), "{queen_up}");
        let (middle, corner) =
            ("4k3/8/8/8/3N4/8/8/4K3 w - - 0 1", "4k3/8/8/8/8/8/8/N3K3 w - - 0 1");
        assert!(score(middle) > score(corner) + 40);
        let (far, near) = ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "4k3/8/8/8/8/8/P7/4K3 w - - 0 1");
        assert!(score(far) > score(near) + 80);
    }
}
