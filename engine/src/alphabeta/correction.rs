//! What the evaluation gets wrong, learnt while searching: positions with the same pawns, the same minor pieces, the same pieces of a
//! side, or reached by the same two moves err alike (correction history: Caissa and Stockfish 2024).

use super::history::{ARRIVALS, Past, draw_near};
use shakmaty::{Bitboard, Chess, Position};

/// Entries of each table, for either mover: a power of two.
const ENTRIES: usize = 1 << 14;
/// No error beyond this is remembered.
const MOST: i32 = 1_024;
/// So much of the errors' weighed sum is a point.
const POINT: i32 = 131_072;
/// What is believed before anything is known: of positions, of moves, of positions that no move led to.
const UNTRIED: i16 = -5;
const UNTRIED_MOVES: i16 = 5;
const NO_MOVE: i32 = 64_049;
/// By what they share: pawns, minor pieces, white's pieces, black's.
const TABLES: usize = 4;
/// How much each of these is believed, and how fast it learns, in 128ths.
const WEIGHTS: [i32; TABLES] = [15_341, 10_569, 12_906, 12_906];
const RATES: [i32; TABLES] = [128, 150, 186, 186];
/// The same for pairs of the last move and the one so many plies before it.
const PAIR_WEIGHT: i32 = 8_761;
const PAIR_RATES: [i32; 2] = [130, 70];

/// Errors by what positions have in common.
pub(super) struct Corrections {
    shared: Vec<i16>,
    /// By two moves' arrivals; no move's is [`ARRIVALS`].
    pairs: Vec<i16>,
}

/// Where a position's errors are, in each table.
#[derive(Clone, Copy)]
pub(super) struct Places {
    shared: [usize; TABLES],
    /// None where no move led to it.
    pairs: Option<[usize; 2]>,
    /// One for its pawns, to be taken as many bits of as are wanted.
    pub pawns: usize,
}

impl Corrections {
    pub fn new() -> Corrections {
        let pairs = vec![UNTRIED_MOVES; (ARRIVALS + 1) * ARRIVALS];
        Corrections { shared: vec![UNTRIED; TABLES * 2 * ENTRIES], pairs }
    }

    /// Where `position`'s are, reached by the moves `past`.
    pub fn places(position: &Chess, past: &Past) -> Places {
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
        for (table, (place, key)) in shared.iter_mut().zip(keys).enumerate() {
            // A product's upper bits are its best.
            let entry = (key >> 40) as usize % ENTRIES;
            *place = (2 * table + turn) * ENTRIES + entry;
        }
        let of = |plies: usize| past[plies - 1].map_or(ARRIVALS, |prompt| prompt.arrival());
        let pairs = past[0].map(|_| [2, 4].map(|plies| of(plies) * ARRIVALS + of(1)));
        Places { shared, pairs, pawns: (keys[0] >> 40) as usize }
    }

    /// What to add to the evaluation, [`Corrections::points`] of which are told.
    pub fn of(&self, places: &Places) -> i32 {
        let of = |at: &usize, weight: i32| weight * i32::from(self.shared[*at]);
        let shared: i32 =
            places.shared.iter().zip(WEIGHTS).map(|(at, weight)| of(at, weight)).sum();
        let pair = |at: usize| i32::from(self.pairs[at]);
        shared + places.pairs.map_or(NO_MOVE, |[two, four]| PAIR_WEIGHT * (pair(two) + pair(four)))
    }

    pub fn points(error: i32) -> i32 {
        error / POINT
    }

    /// A search came to more than the corrected evaluation, by `bonus` or so.
    pub fn learn(&mut self, places: &Places, bonus: i32) {
        for (at, rate) in places.shared.iter().zip(RATES) {
            draw_near(&mut self.shared[*at], bonus * rate / 128, MOST);
        }
        for (at, rate) in places.pairs.iter().flatten().zip(PAIR_RATES) {
            draw_near(&mut self.pairs[*at], bonus * rate / 128, MOST);
        }
    }

    /// What it learns of a search of so many plies; `found` that it has a best move.
    pub fn bonus(error: i32, depth: i32, found: bool) -> i32 {
        let bonus = error * depth * if found { 12 } else { 18 } / 128;
        1_061 * bonus.clamp(-MOST / 4, MOST / 4) / 1_024
    }

    /// What it learns where other moves than the best refute as well.
    pub fn bonus_of_others(error: i32, depth: i32) -> i32 {
        (error * depth * 177 / 1_024).clamp(-MOST / 4, MOST / 4)
    }
}

fn mix(key: u64) -> u64 {
    (key ^ key >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::super::history::NO_PAST;
    use super::*;
    use crate::chess::game::Game;

    #[test]
    fn errors_are_shared_by_positions_with_the_same_pawns() {
        let places = |fen: &str| {
            Corrections::places(Game::from_fen(fen, false).unwrap().position(), &NO_PAST)
        };
        let here = places("4k3/pp3p2/8/8/8/8/PP4P1/R3K3 w - - 0 1");
        let there = places("r3k3/pp3p2/8/8/8/8/PP4P1/4K2R w - - 0 1");
        let elsewhere = places("r4k2/p1p2p2/8/8/8/8/PP3PN1/4K1R1 w - - 0 1");
        let other = places("4k3/pp3p2/8/8/8/8/PP4P1/R3K3 b - - 0 1");
        let mut corrections = Corrections::new();
        let untouched = corrections.of(&elsewhere);
        for _ in 0..50 {
            corrections.learn(&here, 200);
        }
        let [same, shared] = [here, there].map(|places| corrections.of(&places));
        assert!(same > shared && shared > untouched, "{same} {shared} {untouched}");
        assert!(Corrections::points(same) <= WEIGHTS.iter().sum::<i32>() * MOST / POINT + 1);
        assert_eq!(corrections.of(&elsewhere), untouched);
        assert_eq!(corrections.of(&other), untouched, "the other side's turn");
        assert_ne!(here.pawns, elsewhere.pawns);
        assert_eq!(here.pawns, there.pawns);
    }
}
