//! A position, with or without a marked action, as 64 tokens; and the board after the action as the target of
//! the transition head.

use super::moves::MoveCode;
use shakmaty::{CastlingSide, Chess, Color, EnPassantMode, Position, Square};

/// Rows of the input embedding: 13 piece classes, the flags of [`Features::flags`], and two rows that are added
/// to every token.
pub const EMBEDDING_ROWS: usize = ROW_ACTION_GIVEN + 1;
/// First flag row: flag bit `i` has row `ROW_FLAGS + i`.
pub const ROW_FLAGS: usize = 13;
/// Row scaled by halfmoves / 100, added to every token.
pub const ROW_HALFMOVES: usize = ROW_FLAGS + FLAG_BITS;
/// Row added to every token when an action is marked.
pub const ROW_ACTION_GIVEN: usize = ROW_HALFMOVES + 1;

/// Classes of [`Features::mark`]: eight kinds of actions times neither square, `from`, `to`.
pub const MARKS: usize = 3 * 8;
/// Piece class of the own king.
const OUR_KING: u8 = 6;

/// Flag bits of a token.
pub const FLAG_OUR_CASTLING_ROOK: u16 = 1;
/// A castling rook of the other side.
pub const FLAG_THEIR_CASTLING_ROOK: u16 = 1 << 1;
/// Target square of an en passant capture.
pub const FLAG_EN_PASSANT: u16 = 1 << 2;
/// Origin of the marked action.
pub const FLAG_FROM: u16 = 1 << 3;
/// Target of the marked action.
pub const FLAG_TO: u16 = 1 << 4;
/// `FLAG_PROMOTION << (class - 1)` for promotion classes 1..=4, on the `to` token.
pub const FLAG_PROMOTION: u16 = 1 << 5;
/// Number of flag bits.
pub const FLAG_BITS: usize = 9;

/// The network's input. Token `t` is square `t` for White to move, `t ^ 56` for Black.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// 0 empty; 1..=6 own pawn, knight, bishop, rook, queen, king; 7..=12 theirs.
    pub pieces: [u8; 64],
    /// Flag bits, see `FLAG_*`.
    pub flags: [u16; 64],
    /// Halfmoves since the last capture or pawn move, at most 100.
    pub halfmoves: u8,
    /// True for `MAV(s, a)`.
    pub has_action: bool,
    /// Kind of the marked action: 0..=5 a move of our pawn, knight, bishop, rook, queen or king, 6 castling
    /// towards higher files, 7 towards lower ones. None without an action, or if it starts on no piece of ours.
    pub kind: Option<u8>,
}

/// Target of the transition head, in the frame and colours of the *input* position (own = the side that moves
/// the marked action).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextBoard {
    /// Piece classes, 0 empty; 1..=6 own pawn, knight, bishop, rook, queen, king; 7..=12 theirs.
    pub pieces: [u8; 64],
    /// Only the bits `FLAG_OUR_CASTLING_ROOK`, `FLAG_THEIR_CASTLING_ROOK`, `FLAG_EN_PASSANT`.
    pub flags: [u8; 64],
}

/// Piece classes and state flags of `position` from `viewer`'s side; `passed` selects which en passant squares
/// are encoded.
fn board_tokens(position: &Chess, viewer: Color, passed: EnPassantMode) -> ([u8; 64], [u16; 64]) {
    let turn: usize = if viewer == Color::Black { 56 } else { 0 };
    let token = |square: Square| u32::from(square) as usize ^ turn;
    let mut pieces = [0u8; 64];
    let mut flags = [0u16; 64];
    for (square, piece) in position.board() {
        let theirs = if piece.color == viewer { 0 } else { 6 };
        pieces[token(square)] = u32::from(piece.role) as u8 + theirs;
    }
    for color in [viewer, !viewer] {
        let flag = if color == viewer { FLAG_OUR_CASTLING_ROOK } else { FLAG_THEIR_CASTLING_ROOK };
        for side in [CastlingSide::KingSide, CastlingSide::QueenSide] {
            if let Some(rook) = position.castles().rook(color, side) {
                flags[token(rook)] |= flag;
            }
        }
    }
    if let Some(square) = position.ep_square(passed) {
        flags[token(square)] |= FLAG_EN_PASSANT;
    }
    (pieces, flags)
}

impl Features {
    /// `MAV(s)`: only the position. En passant only where a capture is legal.
    #[must_use]
    pub fn of(position: &Chess) -> Features {
        Features::encoded(position, EnPassantMode::Legal)
    }

    fn encoded(position: &Chess, passed: EnPassantMode) -> Features {
        let (pieces, flags) = board_tokens(position, position.turn(), passed);
        Features {
            pieces,
            flags,
            halfmoves: position.halfmoves().min(100) as u8,
            has_action: false,
            kind: None,
        }
    }

    /// `MAV(s, a)`: the position with a marked action.
    #[must_use]
    pub fn with_action(position: &Chess, action: MoveCode) -> Features {
        Features::of(position).marked(action)
    }

    /// `MAV(s)` of an imagined state, with its en passant square as predicted.
    #[must_use]
    pub fn imagined(state: &Chess) -> Features {
        Features::encoded(state, EnPassantMode::Always)
    }

    /// `MAV(s, a)` of an imagined state: its en passant square is used as predicted, without checking the
    /// rules.
    #[must_use]
    pub fn imagined_with_action(state: &Chess, action: MoveCode) -> Features {
        Features::imagined(state).marked(action)
    }

    fn marked(mut self, action: MoveCode) -> Features {
        self.has_action = true;
        self.kind = self.kind_of(action);
        self.flags[usize::from(action.from)] |= FLAG_FROM;
        self.flags[usize::from(action.to)] |= FLAG_TO;
        if action.promotion > 0 {
            self.flags[usize::from(action.to)] |= FLAG_PROMOTION << (action.promotion - 1);
        }
        self
    }

    /// Derived from the two squares only: the action need not be legal.
    fn kind_of(&self, action: MoveCode) -> Option<u8> {
        let (from, to) = (usize::from(action.from), usize::from(action.to));
        let castles = self.pieces[from] == OUR_KING && self.flags[to] & FLAG_OUR_CASTLING_ROOK != 0;
        match self.pieces[from] {
            _ if castles => Some(if to > from { 6 } else { 7 }),
            piece @ 1..=OUR_KING => Some(piece - 1),
            _ => None,
        }
    }

    /// Whether token `t` has a piece or a flag, as the target of an en passant capture or of the marked action has.
    #[must_use]
    pub fn is_occupied_or_flagged(&self, t: usize) -> bool {
        self.pieces[t] != 0 || self.flags[t] != 0
    }

    /// Relation of token `t` to the marked action, below [`MARKS`]. None if the kind of action is unknown.
    #[must_use]
    pub fn mark(&self, t: usize) -> Option<usize> {
        let place = match self.flags[t] {
            flags if flags & FLAG_FROM != 0 => 1,
            flags if flags & FLAG_TO != 0 => 2,
            _ => 0,
        };
        self.kind.map(|kind| 3 * usize::from(kind) + place)
    }

    /// The embedding rows that are summed for token `t`, each with its factor.
    pub fn embedding_rows(&self, t: usize, mut each: impl FnMut(usize, f32)) {
        each(usize::from(self.pieces[t]), 1.0);
        for bit in 0..FLAG_BITS {
            if self.flags[t] & (1 << bit) != 0 {
                each(ROW_FLAGS + bit, 1.0);
            }
        }
        if self.halfmoves > 0 {
            each(ROW_HALFMOVES, f32::from(self.halfmoves) / 100.0);
        }
        if self.has_action {
            each(ROW_ACTION_GIVEN, 1.0);
        }
    }
}

impl NextBoard {
    /// The true board after the action, from the side that made it.
    #[must_use]
    pub fn of(after: &Chess) -> NextBoard {
        NextBoard::encoded(after, EnPassantMode::Legal)
    }

    /// [`NextBoard::of`] an imagined state, with its en passant square as predicted.
    #[must_use]
    pub fn of_imagined(after: &Chess) -> NextBoard {
        NextBoard::encoded(after, EnPassantMode::Always)
    }

    fn encoded(after: &Chess, passed: EnPassantMode) -> NextBoard {
        let (pieces, flags) = board_tokens(after, !after.turn(), passed);
        NextBoard { pieces, flags: flags.map(|bits| bits as u8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::canonical_moves;
    use crate::testing::{position, random_game};
    use shakmaty::{CastlingMode, FromSetup};

    #[test]
    fn both_colours_see_the_same_board() {
        for seed in 0..60 {
            for (ply, state) in random_game(seed, 80).0.iter().enumerate() {
                let setup = state.to_setup(EnPassantMode::Legal).into_mirrored();
                let mirrored =
                    Chess::from_setup(setup, CastlingMode::Chess960).expect("a mirrored position");
                assert_eq!(Features::of(state), Features::of(&mirrored), "seed {seed} ply {ply}");
                assert_eq!(NextBoard::of(state), NextBoard::of(&mirrored), "seed {seed} ply {ply}");
                let codes = |state: &Chess| {
                    let mut codes: Vec<usize> = canonical_moves(state)
                        .iter()
                        .filter_map(|&m| MoveCode::new(m, state.turn() == Color::Black))
                        .map(MoveCode::index)
                        .collect();
                    codes.sort_unstable();
                    codes
                };
                assert_eq!(codes(state), codes(&mirrored), "seed {seed} ply {ply}");
            }
        }
    }

    #[test]
    fn tokens_hold_pieces_rights_and_en_passant() {
        let features = Features::of(&position("r3k3/8/8/8/Pp6/8/8/4K2R b Kq a3 7 30"));
        // From Black: a8 is token 0, e8 token 4; b4 is token 33 and a3 token 40.
        assert_eq!((features.pieces[0], features.flags[0]), (4, FLAG_OUR_CASTLING_ROOK));
        assert_eq!((features.pieces[63], features.flags[63]), (10, FLAG_THEIR_CASTLING_ROOK));
        assert_eq!((features.pieces[4], features.pieces[60]), (6, 12));
        assert_eq!((features.pieces[33], features.pieces[32]), (1, 7));
        assert_eq!(features.flags[40], FLAG_EN_PASSANT);
        assert_eq!((features.halfmoves, features.has_action), (7, false));
        assert_eq!(features.flags.iter().filter(|&&bits| bits != 0).count(), 3);
    }

    #[test]
    fn en_passant_without_a_capture_is_not_encoded() {
        let features = Features::of(&position("4k3/8/8/8/P7/8/8/4K3 b - a3 0 1"));
        assert!(features.flags.iter().all(|&bits| bits == 0));
    }

    #[test]
    fn an_action_marks_from_to_and_promotion() {
        let state = position("8/P6k/8/8/8/8/8/K7 w - - 0 1");
        let queen = MoveCode { from: 48, to: 56, promotion: 4 };
        let features = Features::with_action(&state, queen);
        assert!(features.has_action);
        assert_eq!(features.flags[48], FLAG_FROM);
        assert_eq!(features.flags[56], FLAG_TO | FLAG_PROMOTION << 3);
        let mut plain = features.clone();
        plain.flags.iter_mut().for_each(|bits| *bits &= FLAG_FROM - 1);
        (plain.has_action, plain.kind) = (false, None);
        assert_eq!(plain, Features::of(&state));
    }

    #[test]
    fn an_action_has_a_kind_and_marks_each_square() {
        let white = position("1r2k2r/8/8/8/8/8/P7/1R2K2R w KQkq - 0 1");
        let black = position("1r2k2r/8/8/8/8/8/P7/1R2K2R b KQkq - 0 1");
        let marked = |state: &Chess, from, to| {
            Features::with_action(state, MoveCode { from, to, promotion: 0 })
        };
        let kind = |state: &Chess, from, to| marked(state, from, to).kind;
        for (state, pawn) in [(&white, Some(0)), (&black, None)] {
            assert_eq!(kind(state, 8, 16), pawn, "a pawn is ours or theirs");
            assert_eq!((kind(state, 1, 2), kind(state, 4, 5)), (Some(3), Some(5)));
            assert_eq!((kind(state, 4, 7), kind(state, 4, 1)), (Some(6), Some(7)));
            assert_eq!(kind(state, 20, 21), None, "an empty square");
        }
        let moved = position("1r2k2r/8/8/8/8/8/P7/1R2K2R w Qkq - 0 1");
        assert_eq!(kind(&moved, 4, 7), Some(5), "a rook that may not castle");
        let castling = marked(&white, 4, 7);
        assert_eq!([4, 7, 30].map(|t| castling.mark(t)), [Some(19), Some(20), Some(18)]);
        assert!((0..64).all(|t| Features::of(&white).mark(t).is_none()));
    }
}
