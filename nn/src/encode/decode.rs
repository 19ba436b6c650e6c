//! Decodes the transition head's board: to the next input, without rules, or to a position, which the rules may
//! refuse with a reason. Never panics.

use super::board::{
    FLAG_EN_PASSANT, FLAG_OUR_CASTLING_ROOK, FLAG_THEIR_CASTLING_ROOK, Features, NextBoard,
};
use shakmaty::{
    Bitboard, CastlingMode, Chess, Color, FromSetup, Piece, PositionError, PositionErrorKinds,
    Role, Setup, Square,
};
use std::fmt;

/// Piece classes of one colour.
const ROLES: u8 = 6;

/// Why a predicted board is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A token's class is none of `0..=12`.
    PieceClass {
        /// Token index.
        token: usize,
        /// The class found.
        class: u8,
    },
    /// A token has a flag that no state has.
    Flag {
        /// Token index.
        token: usize,
        /// The bits found.
        bits: u8,
    },
    /// This side has no king.
    NoKing(Color),
    /// This side has several kings.
    TooManyKings(Color),
    /// A pawn stands on the first or last rank.
    PawnOnBackRank(Square),
    /// A castling right without a rook of that side on its square.
    CastlingWithoutRook(Square),
    /// Castling rights that the king's square forbids, or several on one side of it.
    Castling,
    /// En passant on two squares.
    TwoEnPassant(Square, Square),
    /// An en passant square that no pawn can just have passed.
    EnPassant(Square),
    /// The side that made the move is in check.
    MoverInCheck(Color),
    /// Anything else that shakmaty refuses.
    Refused,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::PieceClass { token, class } => {
                write!(f, "token {token} has piece class {class} of 0..=12")
            }
            DecodeError::Flag { token, bits } => {
                write!(f, "token {token} has flags {bits:#b}, a state has three")
            }
            DecodeError::NoKing(color) => write!(f, "{color} has no king"),
            DecodeError::TooManyKings(color) => write!(f, "{color} has several kings"),
            DecodeError::PawnOnBackRank(square) => write!(f, "a pawn on {square}"),
            DecodeError::CastlingWithoutRook(square) => {
                write!(f, "a castling right on {square} without its rook")
            }
            DecodeError::Castling => write!(f, "castling rights that the king's place forbids"),
            DecodeError::TwoEnPassant(one, two) => write!(f, "en passant on {one} and {two}"),
            DecodeError::EnPassant(square) => {
                write!(f, "en passant on {square}, which no pawn passed")
            }
            DecodeError::MoverInCheck(color) => write!(f, "{color} has moved and is in check"),
            DecodeError::Refused => write!(f, "refused by the rules"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl NextBoard {
    /// The input for `MAV(s')`, from the side that now moves. Checks no rules: an impossible board gives
    /// features too. `halfmoves` is the clock of `s'`.
    #[must_use]
    pub fn features(&self, halfmoves: u8) -> Features {
        let mut features = Features {
            pieces: [0; 64],
            flags: [0; 64],
            halfmoves: halfmoves.min(100),
            has_action: false,
            kind: None,
        };
        for (token, (&class, &bits)) in self.pieces.iter().zip(&self.flags).enumerate() {
            features.pieces[token ^ 56] = match class {
                0 => 0,
                class if class <= ROLES => class + ROLES,
                class => class - ROLES,
            };
            let bits = u16::from(bits);
            let mut turned = bits & FLAG_EN_PASSANT;
            if bits & FLAG_OUR_CASTLING_ROOK != 0 {
                turned |= FLAG_THEIR_CASTLING_ROOK;
            }
            if bits & FLAG_THEIR_CASTLING_ROOK != 0 {
                turned |= FLAG_OUR_CASTLING_ROOK;
            }
            features.flags[token ^ 56] = turned;
        }
        features
    }

    /// The position after the action. `viewer` is the side that made it; `halfmoves` is the clock of the
    /// decoded position, which the board lacks. The move number is 1. Too much material and impossible checks
    /// are accepted, because random boards have them too.
    ///
    /// # Errors
    /// The first fault, if the board is no position.
    pub fn decode(&self, viewer: Color, halfmoves: u32) -> Result<Chess, DecodeError> {
        let mut setup = Setup::empty();
        setup.turn = !viewer;
        setup.halfmoves = halfmoves;
        for (token, (&class, &bits)) in self.pieces.iter().zip(&self.flags).enumerate() {
            let square = square_of(token, viewer);
            if let Some(piece) =
                piece_of(class, viewer).map_err(|()| DecodeError::PieceClass { token, class })?
            {
                if piece.role == Role::Pawn && Bitboard::BACKRANKS.contains(square) {
                    return Err(DecodeError::PawnOnBackRank(square));
                }
                setup.board.set_piece_at(square, piece);
            }
            flags_of(&mut setup, Token { number: token, square, class, flags: bits })?;
        }
        for color in Color::ALL {
            match setup.board.by_piece(color.king()).count() {
                0 => return Err(DecodeError::NoKing(color)),
                1 => {}
                _ => return Err(DecodeError::TooManyKings(color)),
            }
        }
        let passed = setup.ep_square;
        Chess::from_setup(setup, CastlingMode::Chess960)
            .or_else(PositionError::ignore_too_much_material)
            .or_else(PositionError::ignore_impossible_check)
            .map_err(|error| fault_of(error.kinds(), viewer, passed))
    }
}

fn square_of(token: usize, viewer: Color) -> Square {
    Square::new(token as u32 ^ if viewer == Color::Black { 56 } else { 0 })
}

fn piece_of(class: u8, viewer: Color) -> Result<Option<Piece>, ()> {
    let (color, role) = match class {
        0 => return Ok(None),
        1..=ROLES => (viewer, class),
        _ => (!viewer, class - ROLES),
    };
    Role::try_from(role).map(|role| Some(Piece { color, role })).map_err(drop)
}

/// One token of a board.
struct Token {
    /// Index, 0 to 63.
    number: usize,
    /// Square.
    square: Square,
    /// Piece class.
    class: u8,
    /// Castling rights and en passant.
    flags: u8,
}

/// Transfers the flags of one token to `setup`.
fn flags_of(setup: &mut Setup, token: Token) -> Result<(), DecodeError> {
    let Token { number, square, class, flags: bits } = token;
    let has = |flag: u16| u16::from(bits) & flag != 0;
    if u16::from(bits) & !(FLAG_OUR_CASTLING_ROOK | FLAG_THEIR_CASTLING_ROOK | FLAG_EN_PASSANT) != 0
    {
        return Err(DecodeError::Flag { token: number, bits });
    }
    let rook = Role::Rook as u8;
    for (flag, class_of_rook) in
        [(FLAG_OUR_CASTLING_ROOK, rook), (FLAG_THEIR_CASTLING_ROOK, rook + ROLES)]
    {
        if has(flag) {
            if class != class_of_rook {
                return Err(DecodeError::CastlingWithoutRook(square));
            }
            setup.castling_rights.add(square);
        }
    }
    if has(FLAG_EN_PASSANT)
        && let Some(other) = setup.ep_square.replace(square)
    {
        return Err(DecodeError::TwoEnPassant(other, square));
    }
    Ok(())
}

fn fault_of(kinds: PositionErrorKinds, viewer: Color, passed: Option<Square>) -> DecodeError {
    match passed {
        Some(square) if kinds.contains(PositionErrorKinds::INVALID_EP_SQUARE) => {
            DecodeError::EnPassant(square)
        }
        _ if kinds.contains(PositionErrorKinds::OPPOSITE_CHECK) => {
            DecodeError::MoverInCheck(viewer)
        }
        _ if kinds.contains(PositionErrorKinds::INVALID_CASTLING_RIGHTS) => DecodeError::Castling,
        _ => DecodeError::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::testing::{position, random_game};
    use shakmaty::Position;

    #[test]
    fn every_board_of_a_game_comes_back() {
        // Castlings (Chess960's too), en passant captures, promotions.
        let mut met = [0; 3];
        for seed in 0..150 {
            let (states, moves) = random_game(seed, 100);
            for (ply, (pair, &index)) in states.windows(2).zip(&moves).enumerate() {
                let [before, after] = pair else { unreachable!() };
                let m = crate::encode::canonical_moves(before)[usize::from(index)];
                met[0] += usize::from(m.is_castle());
                met[1] += usize::from(m.is_en_passant());
                met[2] += usize::from(m.is_promotion());
                let board = NextBoard::of(after);
                let decoded = board.decode(before.turn(), after.halfmoves());
                assert_eq!(decoded.as_ref(), Ok(after), "seed {seed} ply {ply}");
                assert_eq!(
                    board.features(after.halfmoves().min(100) as u8),
                    Features::of(after),
                    "seed {seed} ply {ply}"
                );
            }
        }
        assert!(
            met.iter().all(|&count| count >= 10),
            "castlings, en passants, promotions: {met:?}"
        );
    }

    fn board(fen: &str) -> NextBoard {
        NextBoard::of(&position(fen))
    }

    #[test]
    fn every_fault_has_its_name() {
        // White has moved: tokens are squares.
        let good = board("4k3/8/8/8/8/8/8/4K2R b K - 1 1");
        let fault = |change: &dyn Fn(&mut NextBoard)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.decode(Color::White, 0).expect_err("a fault")
        };
        assert!(good.decode(Color::White, 0).is_ok());
        assert_eq!(fault(&|b| b.pieces[60] = 0), DecodeError::NoKing(Color::Black));
        assert_eq!(fault(&|b| b.pieces[4] = 0), DecodeError::NoKing(Color::White));
        assert_eq!(fault(&|b| b.pieces[20] = 6), DecodeError::TooManyKings(Color::White));
        assert_eq!(fault(&|b| b.pieces[57] = 7), DecodeError::PawnOnBackRank(Square::B8));
        assert_eq!(fault(&|b| b.pieces[30] = 13), DecodeError::PieceClass { token: 30, class: 13 });
        assert_eq!(fault(&|b| b.flags[30] = 8), DecodeError::Flag { token: 30, bits: 8 });
        assert_eq!(fault(&|b| b.flags[0] = 1), DecodeError::CastlingWithoutRook(Square::A1));
        assert_eq!(fault(&|b| b.flags[7] = 2), DecodeError::CastlingWithoutRook(Square::H1));
        assert_eq!(fault(&|b| b.pieces.swap(4, 12)), DecodeError::Castling);
        assert_eq!(fault(&|b| b.pieces[36] = 10), DecodeError::MoverInCheck(Color::White));
        assert_eq!(fault(&|b| b.flags[20] = 4), DecodeError::EnPassant(Square::E3));
        assert_eq!(
            fault(&|b| (b.flags[20], b.flags[21]) = (4, 4)),
            DecodeError::TwoEnPassant(Square::E3, Square::F3)
        );
    }

    #[test]
    fn any_answer_is_survived() {
        let mut rng = Rng::new(1);
        for round in 0..20_000 {
            let mut board =
                board("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
            for _ in 0..1 + rng.below(6) {
                board.pieces[rng.below(64)] =
                    rng.below(if round % 2 == 0 { 13 } else { 256 }) as u8;
                board.flags[rng.below(64)] = rng.below(if round % 3 == 0 { 256 } else { 8 }) as u8;
            }
            let _ = board.features(200);
            for viewer in Color::ALL {
                match board.decode(viewer, 3) {
                    // Moves must be generated for an accepted board.
                    Ok(state) => assert!(state.legal_moves().iter().all(|&m| state.is_legal(m))),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
}
