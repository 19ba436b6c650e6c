//! A move in two bytes, as stored in the tree.
//!
//! Castling is always king takes own rook, in standard chess too, so that a move has one code in every notation.
//! Decoding uses only the board, not a list of legal moves: the code must come from such a list.

use serde::{Deserialize, Serialize};
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, CastlingSide, Chess, File, Move, Position, Role, Square};
use std::fmt;

/// Origin (6 bits), target (6 bits), promotion (3 bits: 0 none, then knight, bishop, rook, queen).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Action(u16);

impl Action {
    /// The code of a move.
    #[inline]
    #[must_use]
    pub fn new(m: Move) -> Action {
        // Chess has no drops; a drop would become a move to its own square, which is never legal.
        let from = u16::from(m.from().unwrap_or(m.to()));
        let promotion = m.promotion().map_or(0, |role| role as u16 - 1);
        Action(from | u16::from(m.to()) << 6 | promotion << 12)
    }

    /// Origin square.
    #[inline]
    #[must_use]
    pub fn origin(self) -> Square {
        Square::new(u32::from(self.0 & 63))
    }

    /// Target square; for castling the rook's.
    #[inline]
    #[must_use]
    pub fn target(self) -> Square {
        Square::new(u32::from(self.0 >> 6 & 63))
    }

    /// Promotion piece.
    #[inline]
    #[must_use]
    pub fn promotion(self) -> Option<Role> {
        match self.0 >> 12 {
            1 => Some(Role::Knight),
            2 => Some(Role::Bishop),
            3 => Some(Role::Rook),
            4 => Some(Role::Queen),
            _ => None,
        }
    }

    /// From squares and the promotion's class, all as [`Action`] packs them.
    #[inline]
    #[must_use]
    pub fn of_classes(origin: u8, target: u8, promotion: u8) -> Action {
        Action(u16::from(origin) | u16::from(target) << 6 | u16::from(promotion) << 12)
    }

    /// The full move in `position`; None if no piece of the mover is on the origin.
    #[inline]
    #[must_use]
    pub fn to_move(self, position: &Chess) -> Option<Move> {
        let (from, to) = (self.origin(), self.target());
        let board = position.board();
        let piece = board.piece_at(from).filter(|piece| piece.color == position.turn())?;
        let role = piece.role;
        if role == Role::King && position.our(Role::Rook).contains(to) {
            return Some(Move::Castle { king: from, rook: to });
        }
        let capture = board.role_at(to);
        if role == Role::Pawn && capture.is_none() && from.file() != to.file() {
            return Some(Move::EnPassant { from, to });
        }
        Some(Move::Normal { role, from, capture, to, promotion: self.promotion() })
    }

    /// UCI notation: castling is `e1g1` in standard chess, `e1h1` in Chess960.
    #[must_use]
    pub fn to_uci(self, position: &Chess, mode: CastlingMode) -> String {
        match self.to_move(position) {
            Some(m) => m.to_uci(mode).to_string(),
            None => "0000".to_owned(),
        }
    }

    /// Standard algebraic notation; empty where [`Action::to_move`] is None.
    #[must_use]
    pub fn to_san(self, position: &Chess) -> String {
        let san = |m| SanPlus::from_move(position.clone(), m).to_string();
        self.to_move(position).map_or_else(String::new, san)
    }

    /// Parses a move in either castling notation. None unless it is legal in `position`.
    #[must_use]
    pub fn from_uci(text: &str, position: &Chess) -> Option<Action> {
        let written: UciMove = text.to_ascii_lowercase().parse().ok()?;
        if let Some(castling) = castling_by_kings_target(written, position) {
            return Some(castling);
        }
        written.to_move(position).ok().map(Action::new)
    }
}

/// Castling by the king's target, `e1g1` and its Chess960 forms: the king moves at least two squares, or stands there
/// already (`g1g1`, as Cute Chess and Stockfish write it without `UCI_Chess960`).
fn castling_by_kings_target(written: UciMove, position: &Chess) -> Option<Action> {
    let UciMove::Normal { from, to, promotion: None } = written else { return None };
    let mover = position.turn();
    if position.board().king_of(mover) != Some(from)
        || from.rank() != to.rank()
        || from.distance(to) == 1
    {
        return None;
    }
    let side = CastlingSide::from_king_side(from < to || from.file() == File::G && from == to);
    if to.file() != side.king_to_file() {
        return None;
    }
    // With an own rook on the target, it is king takes rook and parsed elsewhere.
    let rook = position.castles().rook(mover, side).filter(|rook| *rook != to)?;
    let m = Move::Castle { king: from, rook };
    position.is_legal(m).then(|| Action::new(m))
}

impl From<Action> for u16 {
    #[inline]
    fn from(action: Action) -> u16 {
        action.0
    }
}

impl From<u16> for Action {
    #[inline]
    fn from(code: u16) -> Action {
        Action(code)
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.target())?;
        self.promotion().map_or(Ok(()), |role| write!(f, "{}", role.char()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::fen::Fen;

    fn position(fen: &str, mode: CastlingMode) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(mode).unwrap()
    }

    #[test]
    fn every_legal_move_survives_packing() {
        let fens = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3pPk/8/4P3/8 b - g3 0 1",
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        ];
        for fen in fens {
            let position = position(fen, CastlingMode::Standard);
            for m in position.legal_moves() {
                let action = Action::new(m);
                assert_eq!(action.to_move(&position), Some(m));
                assert_eq!(Action::from(u16::from(action)), action);
            }
        }
    }

    #[test]
    fn castling_is_read_in_both_notations() {
        let position = position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", CastlingMode::Standard);
        let short = Action::from_uci("e1g1", &position).unwrap();
        assert_eq!(Action::from_uci("e1h1", &position), Some(short));
        assert_eq!(short.to_uci(&position, CastlingMode::Standard), "e1g1");
        assert_eq!(short.to_uci(&position, CastlingMode::Chess960), "e1h1");
        assert_eq!(short.to_san(&position), "O-O");
        let long = Action::from_uci("E1C1", &position).unwrap();
        assert_eq!(Action::from_uci("e1a1", &position), Some(long));
    }

    #[test]
    fn a_king_step_beside_its_rook_is_no_castling() {
        // King f1, rook h1: f1g1 is a step, f1h1 is castling.
        let position = position("4k3/8/8/8/8/8/8/5K1R w H - 0 1", CastlingMode::Chess960);
        assert_ne!(Action::from_uci("f1g1", &position), Action::from_uci("f1h1", &position));
        assert!(Action::from_uci("f1h1", &position).is_some());
    }

    #[test]
    fn a_far_king_castles_by_its_target() {
        let position = position("1k6/8/8/8/8/8/8/1K3R2 w F - 0 1", CastlingMode::Chess960);
        assert_eq!(Action::from_uci("b1g1", &position), Action::from_uci("b1f1", &position));
        assert!(Action::from_uci("b1g1", &position).is_some());
    }

    #[test]
    fn a_king_that_stands_on_its_target_castles_there() {
        for (fen, stays, takes) in [
            ("4k3/8/8/8/8/8/8/R5KR w HA - 0 1", "g1g1", "g1h1"),
            ("r1k4r/8/8/8/8/8/8/4K3 b ha - 0 1", "c8c8", "c8a8"),
        ] {
            let position = position(fen, CastlingMode::Chess960);
            assert!(Action::from_uci(takes, &position).is_some(), "{fen}");
            assert_eq!(Action::from_uci(stays, &position), Action::from_uci(takes, &position));
        }
        // No right, no castling; and no other file.
        let bare = position("4k3/8/8/8/8/8/8/R5KR w - - 0 1", CastlingMode::Chess960);
        assert_eq!(Action::from_uci("g1g1", &bare), None);
        let elsewhere = position("4k3/8/8/8/8/8/8/R4K1R w HA - 0 1", CastlingMode::Chess960);
        assert_eq!(Action::from_uci("f1f1", &elsewhere), None);
    }

    #[test]
    fn illegal_text_is_refused() {
        let position = Chess::default();
        for text in ["e2e5", "e7e5", "0000", "e2", "a1a1", "e2e4q", "héé", "P@e4", "e1g1"] {
            assert_eq!(Action::from_uci(text, &position), None, "{text}");
        }
    }
}
