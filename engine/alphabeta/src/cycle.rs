//! Upcoming repetitions: a cuckoo-style table of the key changes of all reversible moves finds a repeating move before
//! it is made (van Kervinck 2013, as in Stockfish).

use chess::ending::key_before;
use shakmaty::attacks::{attacks, between};
use shakmaty::zobrist::{Zobrist64, ZobristValue};
use shakmaty::{Bitboard, Chess, Color, Piece, Position, Role, Square};
use std::sync::LazyLock;

/// Size of the hash table: a power of two, several times the number of moves.
const SLOTS: usize = 1 << 14;

/// All reversible moves by their change of the key.
static REVERSIBLE_MOVES: LazyLock<Vec<Option<(u64, Square, Square)>>> = LazyLock::new(|| {
    let mut slots = vec![None; SLOTS];
    let turn = Zobrist64::zobrist_for_white_turn().0;
    let roles = Role::ALL.into_iter().filter(|role| *role != Role::Pawn);
    for (role, color) in roles.flat_map(|role| Color::ALL.map(|color| (role, color))) {
        let piece = Piece { role, color };
        let key = |square| Zobrist64::zobrist_for_piece(square, piece).0;
        for from in Square::ALL {
            let targets = attacks(from, piece, Bitboard::EMPTY);
            for to in targets.into_iter().filter(|to| *to > from) {
                let change = key(from) ^ key(to) ^ turn;
                let mut slot = slot_of(change);
                while slots[slot].is_some() {
                    slot = (slot + 1) % SLOTS;
                }
                slots[slot] = Some((change, from, to));
            }
        }
    }
    slots
});

fn slot_of(change: u64) -> usize {
    change as usize % SLOTS
}

/// The squares of the reversible move with this change of the key.
fn reversible_move(change: u64) -> Option<(Square, Square)> {
    let mut slot = slot_of(change);
    while let Some((of, from, to)) = REVERSIBLE_MOVES[slot] {
        if of == change {
            return Some((from, to));
        }
        slot = (slot + 1) % SLOTS;
    }
    None
}

/// Whether one move leads to a position of the last `reach` plies, or the opponent could have moved from one of them
/// to this position. `keys` are those of the game, this position's last.
pub(super) fn has_upcoming_repetition(position: &Chess, keys: &[u64], reach: usize) -> bool {
    let reach = reach.min(position.halfmoves() as usize);
    let Some(now) = key_before(keys, 0) else { return false };
    (3..=reach).step_by(2).map_while(|plies| key_before(keys, plies)).any(|before| {
        reversible_move(now ^ before)
            .is_some_and(|(from, to)| (between(from, to) & position.board().occupied()).is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::ending;
    use chess::game::Game;

    #[test]
    fn upcoming_repetitions_agree_with_trying_every_move() {
        let mut random = nn::rng::Rng::new(5);
        let mut repetitions = 0;
        for _ in 0..150 {
            let fen = "4k3/8/3b4/8/8/3R4/8/4K2N w - - 0 1";
            let mut game = Game::from_fen(fen, false).unwrap();
            let mut passed = vec![game.position().clone()];
            while game.ending().is_none() && passed.len() < 30 {
                let moves = game.legal_actions();
                game.play(moves[random.below(moves.len())]).unwrap();
                passed.push(game.position().clone());
                let keys: Vec<u64> = passed.iter().map(ending::key).collect();
                let here = game.position();
                let leads = |from: &Chess, to: u64| {
                    from.legal_moves().into_iter().any(|m| {
                        let mut next = from.clone();
                        next.play_unchecked(m);
                        ending::key(&next) == to
                    })
                };
                let reach = here.halfmoves() as usize;
                let tried =
                    (3..=reach).step_by(2).filter(|plies| *plies < keys.len()).any(|plies| {
                        let at = keys.len() - 1 - plies;
                        leads(here, keys[at]) || leads(&passed[at], ending::key(here))
                    });
                assert_eq!(has_upcoming_repetition(here, &keys, reach), tried, "{}", game.fen());
                assert!(!has_upcoming_repetition(here, &keys, 2));
                repetitions += i32::from(tried);
            }
        }
        assert!(repetitions > 100, "{repetitions}");
    }
}
