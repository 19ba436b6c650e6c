//! Features of Lai's Giraffe (2015, sections 3.1 and 3.2) as far as paper 002 repeats them: the whole board, each
//! piece, each square. Scales are **ours**.

use super::board::{Board, KINDS, PIECES};
use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

/// Castling rights, and piece counts by kind except kings.
pub const GLOBAL: usize = 4 + KINDS - 2;
/// File, rank, presence; attackers, defenders, mobility.
const OF_PIECE: usize = 6;
/// Features of all pieces.
pub const PIECEWISE: usize = OF_PIECE * PIECES;
/// The cheapest attacker of each square, by side.
pub const SQUAREWISE: usize = 2 * 64;

/// Maximum mobility: a queen in the centre of an empty board.
const REACH: f32 = 27.0;

/// Writes a board to a zeroed row.
pub fn write(board: &Board, row: &mut [f32]) {
    let (global, rest) = row.split_at_mut(GLOBAL);
    let (piecewise, squarewise) = rest.split_at_mut(PIECEWISE);
    let (own, enemy) = squarewise.split_at_mut(64);
    for (slot, right) in global.iter_mut().zip(board.castling) {
        *slot = f32::from(u8::from(right));
    }
    let occupied: Bitboard = board.pieces().filter_map(|(_, square)| at(square)).collect();
    for (kind, square) in board.pieces() {
        if kind % 6 < 5 {
            global[4 + kind - kind / 6] += 1.0 / if kind % 6 == 0 { 8.0 } else { 2.0 };
        }
        let map = if kind < 6 { &mut *own } else { &mut *enemy };
        for attacked in reach(kind, square, occupied) {
            let slot = &mut map[usize::from(attacked)];
            *slot = slot.max(cheapness(kind));
        }
    }
    let mine: Bitboard =
        board.pieces().filter(|(kind, _)| *kind < 6).filter_map(|(_, square)| at(square)).collect();
    for (place, kind, square) in board.placed() {
        let friends = if kind < 6 { mine } else { occupied & !mine };
        let moves = (reach(kind, square, occupied) & !friends).count() as f32;
        let (attacker, defender) = if kind < 6 { (&*enemy, &*own) } else { (&*own, &*enemy) };
        piecewise[OF_PIECE * place..][..OF_PIECE].copy_from_slice(&[
            (square % 8) as f32 / 7.0,
            (square / 8) as f32 / 7.0,
            1.0,
            attacker[square],
            defender[square],
            moves / REACH,
        ]);
    }
}

fn at(square: usize) -> Option<Square> {
    u32::try_from(square).ok().and_then(|square| Square::try_from(square).ok())
}

/// Squares attacked by a piece.
fn reach(kind: usize, square: usize, occupied: Bitboard) -> Bitboard {
    let color = if kind < 6 { Color::White } else { Color::Black };
    let role = Role::ALL[kind % 6];
    at(square)
        .map_or(Bitboard::EMPTY, |square| attacks::attacks(square, Piece { color, role }, occupied))
}

/// Feature of an attacker: the cheaper, the larger; 0 = none.
fn cheapness(kind: usize) -> f32 {
    [1.0, 0.8, 0.75, 0.5, 0.25, 0.1][kind % 6]
}

#[cfg(test)]
mod tests {
    use super::super::board::board;
    use super::*;

    #[test]
    fn features_have_the_cheapest_attackers_and_mobility() {
        let board = board("4k3/8/8/3p4/4P3/8/8/R3K3 w Q - 0 1");
        let mut row = vec![0.0; GLOBAL + PIECEWISE + SQUAREWISE];
        write(&board, &mut row);
        // Castling on the a side; one pawn of eight, one rook of two; the opponent's pawn.
        assert_eq!(row[..4], [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(row[4..GLOBAL], [0.125, 0.0, 0.0, 0.5, 0.0, 0.125, 0.0, 0.0, 0.0, 0.0]);
        // Own pawn on e4: attacked by a pawn, undefended; it reaches one capture and f5.
        let pawn = &row[GLOBAL..][..OF_PIECE];
        assert_eq!(pawn, [4.0 / 7.0, 3.0 / 7.0, 1.0, 1.0, 0.0, 2.0 / REACH]);
        // The rook on a1 reaches ten squares.
        let rook = &row[GLOBAL + OF_PIECE * 12..][..OF_PIECE];
        assert_eq!(rook, [0.0, 0.0, 1.0, 0.0, 0.1 * 0.0, 10.0 / REACH]);
        let (own, enemy) = row[GLOBAL + PIECEWISE..].split_at(64);
        assert_eq!((own[35], own[8], enemy[28], enemy[0]), (1.0, 0.5, 1.0, 0.0));
    }
}
