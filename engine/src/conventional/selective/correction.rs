//! What the evaluation gets wrong, learnt while searching: positions with the same pawns, the same pieces of a side, or reached by the
//! same two moves err alike (correction history: Caissa and Stockfish 2024).

use super::history::{Prompt, draw_near};
use shakmaty::{Chess, Color, Position};

/// Entries of each table, for either mover: a power of two.
const ENTRIES: usize = 1 << 14;
/// No error beyond this is remembered.
const MOST: i32 = 1_024;
/// So much of a remembered error is a centipawn.
const CENTIPAWN: i32 = 16;
/// Tables: pawns, white's pieces, black's pieces, the last two moves.
const TABLES: usize = 4;

/// Errors by what positions have in common.
pub(super) struct Corrections(Vec<i16>);

/// Where a position's errors are, in each table.
#[derive(Clone, Copy)]
pub(super) struct Places([usize; TABLES]);

impl Corrections {
    pub fn new() -> Corrections {
        Corrections(vec![0; TABLES * 2 * ENTRIES])
    }

    /// Where `position`'s are, reached by the moves `past`.
    pub fn places(position: &Chess, past: [Option<Prompt>; 2]) -> Places {
        let board = position.board();
        let pieces = |color: Color| {
            let of = board.by_color(color);
            let roles =
                [board.knights(), board.bishops(), board.rooks(), board.queens(), board.kings()];
            roles.into_iter().fold(0, |key, role| mix(key ^ u64::from(of & role)))
        };
        let pawns = board.pawns();
        let moves =
            past.iter().flatten().fold(past.len() as u64, |key, m| key << 10 ^ m.number() as u64);
        let keys = [
            mix(mix(u64::from(pawns & board.white())) ^ u64::from(pawns & board.black())),
            pieces(Color::White),
            pieces(Color::Black),
            mix(moves),
        ];
        let turn = usize::from(position.turn().is_white());
        let mut places = [0; TABLES];
        for (table, (place, key)) in places.iter_mut().zip(keys).enumerate() {
            // A product's upper bits are its best.
            let entry = (key >> 40) as usize % ENTRIES;
            *place = (2 * table + turn) * ENTRIES + entry;
        }
        Places(places)
    }

    /// Centipawns to add to the evaluation.
    pub fn of(&self, places: Places) -> i32 {
        places.0.iter().map(|at| i32::from(self.0[*at])).sum::<i32>() / CENTIPAWN
    }

    /// The search of so many plies came to `error` more than the corrected evaluation.
    pub fn learn(&mut self, places: Places, error: i32, depth: i32) {
        let bonus = (error * depth / 8).clamp(-MOST / 4, MOST / 4);
        for at in places.0 {
            draw_near(&mut self.0[at], bonus, MOST);
        }
    }
}

fn mix(key: u64) -> u64 {
    (key ^ key >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    #[test]
    fn errors_are_shared_by_positions_with_the_same_pawns() {
        let places = |fen: &str| {
            Corrections::places(Game::from_fen(fen, false).unwrap().position(), [None; 2])
        };
        let here = places("4k3/pp3p2/8/8/8/8/PP4P1/R3K3 w - - 0 1");
        let there = places("r3k3/pp3p2/8/8/8/8/PP4P1/4K2R w - - 0 1");
        let elsewhere = places("r4k2/p1p2p2/8/8/8/8/PP3P2/4K1R1 w - - 0 1");
        let other = places("4k3/pp3p2/8/8/8/8/PP4P1/R3K3 b - - 0 1");
        let mut corrections = Corrections::new();
        for _ in 0..50 {
            corrections.learn(here, 40, 6);
        }
        let [same, shared] = [here, there].map(|places| corrections.of(places));
        assert!(same > shared && shared > 0, "{same} {shared}");
        assert!(same <= TABLES as i32 * MOST / CENTIPAWN);
        // What has no move before it is in common, too.
        assert!(corrections.of(elsewhere) < shared);
        assert_eq!(corrections.of(other), 0, "the other side's turn");
    }
}
