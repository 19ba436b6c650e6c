//! Moves as (from, to, promotion) over tokens, and the canonical order of the data files.

use shakmaty::{Chess, Color, Move, MoveList, Position, PositionError, Rank, Role, attacks};

/// A move in the frame of the network's tokens. `promotion` 0 = none, 1..=4 = knight, bishop, rook, queen.
/// Castling is king takes own rook, in standard chess too.
///
/// The engine packs its moves in its own type; these are canonical, from the mover's view: three small numbers
/// that index the encoder's tables.
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

/// Most legal moves of a position that a game can reach (N. Petrovic, 1964).
pub const MOST_MOVES: usize = 218;
/// Capacity of shakmaty's list.
const LIST: usize = 256;

/// Accepts a position that was refused for its material alone and whose sides have at most [`MOST_MOVES`] moves:
/// composed ones, as those of paper 003, may have nine pawns or many bishops.
///
/// # Errors
/// The refusal, if it has other reasons or the moves could be too many for a list.
#[expect(clippy::result_large_err, reason = "both are shakmaty's, for `or_else`")]
pub fn composed(refused: PositionError<Chess>) -> Result<Chess, PositionError<Chess>> {
    let unchanged = refused.clone();
    let position = refused.ignore_too_much_material()?;
    let fits = Color::ALL.iter().all(|&side| moves_at_most(&position, side) <= MOST_MOVES);
    if fits { Ok(position) } else { Err(unchanged) }
}

/// Upper bound of the moves of `side`: its pieces' attacks, four promotions on each square, pushes and castling.
fn moves_at_most(position: &Chess, side: Color) -> usize {
    let board = position.board();
    let mut moves = 2;
    for square in board.by_color(side) {
        let Some(piece) = board.piece_at(square) else { continue };
        let reached = attacks::attacks(square, piece, board.occupied()) & !board.by_color(side);
        moves += match piece.role {
            Role::Pawn if square.rank() == side.relative_rank(Rank::Seventh) => 12,
            Role::Pawn => 4,
            _ => reached.count(),
        };
    }
    moves
}

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
    use shakmaty::fen::Fen;
    use shakmaty::{CastlingMode, PositionErrorKinds};
    use std::collections::HashSet;

    #[test]
    fn composed_positions_are_accepted_up_to_the_moves_of_a_list() {
        let read = |board: &str| {
            let fen: Fen = format!("{board} w - - 0 1").parse().expect("a FEN");
            let position = fen.into_position(CastlingMode::Chess960).or_else(composed);
            position.map_err(|refused| refused.kinds())
        };
        for board in [
            "8/p4p2/kpP2p2/qrp1bp2/rpP2p2/pP6/P3K3/8",
            "n1B4r/r1p2k2/BpPp3p/pP1PpBpP/P1RbPpPb/1R1RbPbB/R1K3R1/1R3R1R",
            "6bQ/1b1b2PR/2b1b1PQ/3b2P1/2b3PQ/1b2p1PQ/b3P1P1/2k1KBRR",
        ] {
            let position = read(board).expect("composed");
            let bound = moves_at_most(&position, Color::White);
            assert!((1..=bound).contains(&canonical_moves(&position).len()), "{board}: {bound}");
        }
        let queens = read("QQQQQQQQ/Q6Q/Q6Q/Q6Q/Q6Q/QQn4Q/nnQ4Q/knQQQQQK").expect_err("refused");
        assert_eq!(queens, PositionErrorKinds::TOO_MUCH_MATERIAL);
        let two_kings = read("8/p4p2/kpP2p2/qrp1bp2/rpP2p2/pP6/P3KK2/8").expect_err("refused");
        assert!(two_kings.contains(PositionErrorKinds::TOO_MANY_KINGS));
    }

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
