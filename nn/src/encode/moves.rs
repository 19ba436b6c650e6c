//! Moves as (from, to, promotion) over tokens, and the canonical order of the data files.

use chess::action::Action;
use shakmaty::{Chess, Move, MoveList, Position, Role};

/// A move in the frame of the network's tokens. `promotion` 0 = none, 1..=4 = knight, bishop, rook, queen.
/// Castling is king takes own rook, in standard chess too.
///
/// An [`Action`] has 16 bits, as an edge of the tree needs, and one frame for both colours; these are from the mover's
/// view: three small numbers that index the encoder's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MoveCode {
    /// Token of the origin.
    pub from: u8,
    /// Token of the target; for castling that of the rook.
    pub to: u8,
    /// Promotion class.
    pub promotion: u8,
}

/// Number of [`MoveCode::index`] values.
pub const MOVE_CODES: usize = 64 * 64 * 5;

impl MoveCode {
    /// `flip` is true when the side to move *of the input position* is Black: for `MAV(s, a)` the moves of `s'`
    /// keep the frame of `s`. None for a drop (never in chess).
    #[must_use]
    pub fn new(m: Move, flip: bool) -> Option<MoveCode> {
        let turn = if flip { 56 } else { 0 };
        Some(MoveCode {
            from: (u32::from(m.from()?) ^ turn) as u8,
            to: (u32::from(m.to()) ^ turn) as u8,
            promotion: promotion_class(m.promotion()),
        })
    }

    /// The code of an action; `flip` as in [`MoveCode::new`].
    #[inline]
    #[must_use]
    pub fn of(action: Action, flip: bool) -> MoveCode {
        let code = MoveCode {
            from: action.origin().into(),
            to: action.target().into(),
            promotion: promotion_class(action.promotion()),
        };
        if flip { code.turned() } else { code }
    }

    /// Inverse of [`MoveCode::of`].
    #[inline]
    #[must_use]
    pub fn to_action(self, flip: bool) -> Action {
        let code = if flip { self.turned() } else { self };
        Action::of_classes(code.from, code.to, code.promotion)
    }

    /// The move in the other side's frame.
    #[must_use]
    pub fn turned(self) -> MoveCode {
        MoveCode { from: self.from ^ 56, to: self.to ^ 56, ..self }
    }

    /// A bijection between move codes and `0..MOVE_CODES`.
    #[must_use]
    pub fn index(self) -> usize {
        (usize::from(self.from) * 64 + usize::from(self.to)) * 5 + usize::from(self.promotion)
    }
}

fn promotion_class(role: Option<Role>) -> u8 {
    // Knight is role 2 in shakmaty; promotions are never to pawn or king.
    role.map_or(0, |role| u32::from(role) as u8 - 1)
}

/// Capacity of shakmaty's list.
const LIST: usize = 256;

/// Sort key of the canonical order with the move's list index in the low byte. Sorting such words takes half
/// the time of sorting moves by a key.
fn canonical_word(m: Move, index: usize) -> u32 {
    let from = m.from().map_or(64, u32::from);
    let key = (from * 64 + u32::from(m.to())) * 5 + u32::from(promotion_class(m.promotion()));
    key << 8 | index as u32
}

/// All legal moves in the order of the data files: by (from, to, promotion), a1 = 0 … h8 = 63, absolute
/// squares, castling as king takes rook.
#[must_use]
pub fn canonical_moves(position: &Chess) -> MoveList {
    let moves = position.legal_moves();
    let mut words = [u32::MAX; LIST];
    for (index, (m, word)) in moves.iter().zip(&mut words).enumerate() {
        *word = canonical_word(*m, index);
    }
    let words = &mut words[..moves.len()];
    words.sort_unstable();
    words.iter().map(|word| moves[(word & 0xff) as usize]).collect()
}

/// Element `index` of [`canonical_moves`], found without a full sort; None past the end.
#[must_use]
pub fn canonical_move(position: &Chess, index: usize) -> Option<Move> {
    let moves = position.legal_moves();
    if index >= moves.len() {
        return None;
    }
    // Replaying games dominates a loader's time: select the origin first, then among its few moves.
    let mut from_square = [0u8; 65];
    for m in &moves {
        from_square[m.from().map_or(64, usize::from)] += 1;
    }
    let mut rank = index;
    let mut from = 0;
    while rank >= usize::from(from_square[from]) {
        rank -= usize::from(from_square[from]);
        from += 1;
    }
    let mut words = [u32::MAX; LIST];
    let mut count = 0;
    for (index, m) in moves.iter().enumerate() {
        if m.from().map_or(64, usize::from) == from {
            words[count] = canonical_word(*m, index);
            count += 1;
        }
    }
    let (_, word, _) = words[..count].select_nth_unstable(rank);
    Some(moves[(*word & 0xff) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{position, random_game};
    use std::collections::HashSet;

    #[test]
    fn index_is_a_bijection() {
        let mut indices = HashSet::new();
        for (from, to) in (0..64).flat_map(|from| (0..64).map(move |to| (from, to))) {
            let codes = (0..5).map(|promotion| MoveCode { from, to, promotion });
            indices.extend(codes.map(MoveCode::index));
        }
        assert_eq!(indices, (0..MOVE_CODES).collect());
    }

    #[test]
    fn legal_moves_have_codes_of_their_own_in_canonical_order() {
        for seed in 0..60 {
            for (ply, state) in random_game(seed, 80).0.iter().enumerate() {
                let legal = canonical_moves(state);
                let codes: Vec<MoveCode> =
                    legal.iter().filter_map(|&m| MoveCode::new(m, false)).collect();
                assert_eq!(codes.len(), state.legal_moves().len(), "seed {seed} ply {ply}");
                let order: Vec<usize> = codes.iter().map(|code| code.index()).collect();
                assert!(order.is_sorted_by(|a, b| a < b), "seed {seed} ply {ply}: {order:?}");
                let flipped: HashSet<MoveCode> =
                    legal.iter().filter_map(|&m| MoveCode::new(m, true)).collect();
                assert_eq!(flipped.len(), codes.len(), "seed {seed} ply {ply}");
                assert!(codes.iter().all(|code| flipped.contains(&MoveCode {
                    from: code.from ^ 56,
                    to: code.to ^ 56,
                    promotion: code.promotion,
                })));
            }
        }
    }

    #[test]
    fn one_canonical_move_is_that_of_the_sorted_list() {
        for seed in 0..60 {
            for (ply, state) in random_game(seed, 40).0.iter().enumerate() {
                let legal = canonical_moves(state);
                for (index, &m) in legal.iter().enumerate() {
                    assert_eq!(canonical_move(state, index), Some(m), "seed {seed} ply {ply}");
                }
                assert_eq!(canonical_move(state, legal.len()), None);
            }
        }
    }

    #[test]
    fn castling_takes_the_rook_and_promotions_differ() {
        let code = |fen: &str, index: usize| {
            let state = position(fen);
            MoveCode::new(canonical_moves(&state)[index], false)
        };
        // Legal moves from e1 in canonical order: a1, d1, f1, h1, d2, e2, f2; a1's ten come first.
        let castle = code("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", 10);
        assert_eq!(castle, Some(MoveCode { from: 4, to: 0, promotion: 0 }));
        let under = code("8/P6k/8/8/8/8/8/K7 w - - 0 1", 3);
        assert_eq!(under, Some(MoveCode { from: 48, to: 56, promotion: 1 }));
    }
}
