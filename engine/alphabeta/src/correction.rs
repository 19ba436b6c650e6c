//! Correction history (Caissa and Stockfish 2024): the mean error of the static evaluation in positions with the same
//! pawns, the same minor pieces, the same pieces of a side, or reached by the same two moves.

use super::history::{PIECE_SQUARES, RecentMoves, add_with_gravity};
use shakmaty::{Bitboard, Chess, Position};

/// Entries of each table, for either side to move: a power of two.
const ENTRIES: usize = 1 << 14;
/// Maximum of an entry.
const MAX_ENTRY: i32 = 1_024;
/// Divisor from the weighted sum to points.
const UNITS_PER_POINT: i32 = 131_072;
/// Initial entries: of positions, of move pairs, and the sum where no move led to the position.
const INITIAL: i16 = -5;
const INITIAL_PAIR: i16 = 5;
const NO_MOVE_SUM: i32 = 64_049;
/// Tables: pawns, minor pieces, White's pieces, Black's pieces.
const TABLES: usize = 4;
/// Weight of each table, and its learning rate in 128ths.
const WEIGHTS: [i32; TABLES] = [15_341, 10_569, 12_906, 12_906];
const RATES: [i32; TABLES] = [128, 150, 186, 186];
/// The same for pairs of the last move and the one two or four plies before.
const PAIR_WEIGHT: i32 = 8_761;
const PAIR_RATES: [i32; 2] = [130, 70];

/// The tables.
pub(super) struct Corrections {
    shared: Vec<i16>,
    /// By the piece and square of two moves; no move is [`PIECE_SQUARES`].
    pairs: Vec<i16>,
}

/// A position's index in each table.
#[derive(Clone, Copy)]
pub(super) struct CorrectionIndices {
    shared: [usize; TABLES],
    /// None after a null move or at the root.
    pairs: Option<[usize; 2]>,
    /// Hash of the pawns, for the pawn history.
    pub pawns: usize,
}

impl Corrections {
    pub fn new() -> Corrections {
        let pairs = vec![INITIAL_PAIR; (PIECE_SQUARES + 1) * PIECE_SQUARES];
        Corrections { shared: vec![INITIAL; TABLES * 2 * ENTRIES], pairs }
    }

    /// Indices of `position`, reached by the moves `recent`.
    pub fn indices(position: &Chess, recent: &RecentMoves) -> CorrectionIndices {
        let board = position.board();
        let sides = [board.white(), board.black()];
        let mixed = |of: Bitboard, roles: &[Bitboard]| {
            roles.iter().fold(0, |key, role| mix(key ^ u64::from(of & *role)))
        };
        let minors = [board.knights(), board.bishops()];
        let pieces =
            [board.knights(), board.bishops(), board.rooks(), board.queens(), board.kings()];
        let keys = [
            mixed(board.pawns(), &sides),
            mix(mixed(sides[0], &minors)) ^ mixed(sides[1], &minors),
            mixed(sides[0], &pieces),
            mixed(sides[1], &pieces),
        ];
        let turn = usize::from(position.turn().is_white());
        let mut shared = [0; TABLES];
        for (table, (index, key)) in shared.iter_mut().zip(keys).enumerate() {
            // The upper bits of a product are mixed best.
            let entry = (key >> 40) as usize % ENTRIES;
            *index = (2 * table + turn) * ENTRIES + entry;
        }
        let of = |plies: usize| {
            recent[plies - 1]
                .map_or(PIECE_SQUARES, |continuation_key| continuation_key.piece_square())
        };
        let pairs = recent[0].map(|_| [2, 4].map(|plies| of(plies) * PIECE_SQUARES + of(1)));
        CorrectionIndices { shared, pairs, pawns: (keys[0] >> 40) as usize }
    }

    /// Correction of the static evaluation; convert with [`Corrections::points`].
    pub fn of(&self, indices: &CorrectionIndices) -> i32 {
        let of = |at: &usize, weight: i32| weight * i32::from(self.shared[*at]);
        let shared: i32 =
            indices.shared.iter().zip(WEIGHTS).map(|(at, weight)| of(at, weight)).sum();
        let pair = |at: usize| i32::from(self.pairs[at]);
        shared
            + indices
                .pairs
                .map_or(NO_MOVE_SUM, |[two, four]| PAIR_WEIGHT * (pair(two) + pair(four)))
    }

    pub fn points(error: i32) -> i32 {
        error / UNITS_PER_POINT
    }

    /// Moves the entries by about `bonus`: search score less corrected static eval.
    pub fn learn(&mut self, indices: &CorrectionIndices, bonus: i32) {
        for (at, rate) in indices.shared.iter().zip(RATES) {
            add_with_gravity(&mut self.shared[*at], bonus * rate / 128, MAX_ENTRY);
        }
        for (at, rate) in indices.pairs.iter().flatten().zip(PAIR_RATES) {
            add_with_gravity(&mut self.pairs[*at], bonus * rate / 128, MAX_ENTRY);
        }
    }

    /// Bonus after a search of this depth; `found`: it has a best move.
    pub fn bonus(error: i32, depth: i32, found: bool) -> i32 {
        let bonus = error * depth * if found { 12 } else { 18 } / 128;
        1_061 * bonus.clamp(-MAX_ENTRY / 4, MAX_ENTRY / 4) / 1_024
    }

    /// Bonus after a multi-cut: an excluded search failed high.
    pub fn bonus_of_others(error: i32, depth: i32) -> i32 {
        (error * depth * 177 / 1_024).clamp(-MAX_ENTRY / 4, MAX_ENTRY / 4)
    }
}

fn mix(key: u64) -> u64 {
    (key ^ key >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::super::history::NO_RECENT_MOVES;
    use super::*;
    use chess::game::Game;

    #[test]
    fn errors_are_shared_by_positions_with_the_same_pawns() {
        let indices = |fen: &str| {
            Corrections::indices(Game::from_fen(fen, false).unwrap().position(), &NO_RECENT_MOVES)
        };
        let here = indices("4k3/pp3p2/8/8/8/8/PP4P1/R3K3 w - - 0 1");
        let there = indices("r3k3/pp3p2/8/8/8/8/PP4P1/4K2R w - - 0 1");
        let elsewhere = indices("r4k2/p1p2p2/8/8/8/8/PP3PN1/4K1R1 w - - 0 1");
        let other = indices("4k3/pp3p2/8/8/8/8/PP4P1/R3K3 b - - 0 1");
        let mut corrections = Corrections::new();
        let untouched = corrections.of(&elsewhere);
        for _ in 0..50 {
            corrections.learn(&here, 200);
        }
        let [same, shared] = [here, there].map(|indices| corrections.of(&indices));
        assert!(same > shared && shared > untouched, "{same} {shared} {untouched}");
        assert!(
            Corrections::points(same)
                <= WEIGHTS.iter().sum::<i32>() * MAX_ENTRY / UNITS_PER_POINT + 1
        );
        assert_eq!(corrections.of(&elsewhere), untouched);
        assert_eq!(corrections.of(&other), untouched, "the other side's turn");
        assert_ne!(here.pawns, elsewhere.pawns);
        assert_eq!(here.pawns, there.pawns);
    }
}
