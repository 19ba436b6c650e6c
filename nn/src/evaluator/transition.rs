//! The network as a world model: the state after a move, without rules. A prediction is parsed into a state
//! here, or refused with a reason.
//!
//! A state has the board, side to move, castling rights, en passant as predicted, and the fifty-move clock,
//! which follows from the boards before and after.

use super::error::EvalError;
use super::query::Evaluation;
use crate::encode::{DecodeError, MoveCode, NextBoard};
use chess::composed::MOST_MOVES;
use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, FromSetup, Position, PositionError, Role, Square,
};
use std::fmt;

/// A query: the state after `action` in `state`. The move need not be legal.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// [`grounded`], or imagined.
    pub state: &'a Chess,
    /// In the frame of the state's mover, see [`MoveCode::new`].
    pub action: MoveCode,
}

/// A network's answer to one [`Step`]: the next state and everything predicted about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imagined {
    /// The next state.
    pub state: Chess,
    /// Probabilities that the game is ongoing, lost for the side now to move, drawn; they sum to 1.
    pub end: [f32; 3],
    /// Its legal moves, in the frame of the previous state; none if the game is over.
    pub legal: Vec<MoveCode>,
    /// Probability that each is legal.
    pub certainty: Vec<f32>,
    /// Number of moves predicted as legal but rejected: they start on no piece of the mover's, or capture one.
    pub rejected: usize,
    /// The evaluation of the new state, over `legal`; None without a legal move.
    pub evaluation: Option<Evaluation>,
}

/// A network with a world model; shared by threads.
pub trait Transition: Send + Sync {
    /// Answers in order, each from one pass over the form `MAV(s, a)`. Blocks. Batch size never changes an
    /// answer.
    ///
    /// # Errors
    /// The device failed. A prediction that is no state is not an error but a [`Refusal`].
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError>;

    /// Evaluates ongoing states again, as positions (`MAV(s)`), and replaces their legal moves and evaluations.
    /// Does nothing if that adds no information.
    ///
    /// # Errors
    /// The device failed.
    fn refine(&self, _answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        Ok(())
    }
}

/// Why a prediction is no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Invalid board.
    Board(DecodeError),
    /// A head answered NaN or infinity.
    NotANumber(&'static str),
    /// More legal moves than [`MOST_MOVES`].
    TooManyMoves(usize),
    /// No move predicted as legal moves a piece of the mover's.
    NoMoves,
}

impl Refusal {
    /// The kind of fault, without squares and numbers, for statistics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Board(fault) => match fault {
                DecodeError::PieceClass { .. } => "unknown piece",
                DecodeError::Flag { .. } => "unknown flag",
                DecodeError::NoKing(_) => "no king",
                DecodeError::TooManyKings(_) => "several kings",
                DecodeError::PawnOnBackRank(_) => "pawn on a back rank",
                DecodeError::CastlingWithoutRook(_) => "castling without a rook",
                DecodeError::Castling => "impossible castling rights",
                DecodeError::TwoEnPassant(..) => "en passant twice",
                DecodeError::EnPassant(_) => "impossible en passant",
                DecodeError::MoverInCheck(_) => "king left in check",
                DecodeError::Refused => "impossible board",
            },
            Refusal::NotANumber(_) => "NaN",
            Refusal::TooManyMoves(_) => "too many moves",
            Refusal::NoMoves => "no move of a piece",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Board(fault) => write!(f, "{fault}"),
            Refusal::NotANumber(head) => write!(f, "the {head} head answered NaN or infinity"),
            Refusal::TooManyMoves(count) => {
                write!(f, "{count} legal moves, no position has more than {MOST_MOVES}")
            }
            Refusal::NoMoves => {
                write!(f, "no move predicted as legal moves a piece of the mover's")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// A real position as a state to imagine from: en passant is set only where a capture is legal, as in training.
#[must_use]
pub fn grounded(position: &Chess) -> Chess {
    let ep_square = position.ep_square(EnPassantMode::Legal);
    if position.ep_square(EnPassantMode::Always) == ep_square {
        return position.clone();
    }
    let setup = position.to_setup(EnPassantMode::Legal);
    Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .unwrap_or_else(|_| position.clone())
}

/// Whether an imagined state is the true one: pieces, turn, castling rights, en passant.
#[must_use]
pub fn is_true(imagined: &Chess, truth: &Chess) -> bool {
    imagined.turn() == truth.turn() && NextBoard::of_imagined(imagined) == NextBoard::of(truth)
}

/// The heads' predictions for one step, before parsing.
pub(crate) struct RawPrediction {
    pub board: NextBoard,
    pub end: [f32; 3],
    /// With the probability of being legal.
    pub legal: Vec<(MoveCode, f32)>,
}

impl RawPrediction {
    /// The parsed state, without its evaluation.
    ///
    /// # Errors
    /// The first fault found.
    pub fn parse(self, step: &Step<'_>) -> Result<Imagined, Refusal> {
        let mover = step.state.turn();
        let state = self.board.decode(mover, clock(step)).map_err(Refusal::Board)?;
        let predicted = self.legal.len();
        if predicted > MOST_MOVES {
            return Err(Refusal::TooManyMoves(predicted));
        }
        let pieces = self.legal.into_iter().filter(|(m, _)| moves_a_piece(&state, mover, *m));
        let (legal, certainty): (Vec<MoveCode>, Vec<f32>) = pieces.unzip();
        if legal.is_empty() && predicted > 0 {
            return Err(Refusal::NoMoves);
        }
        let rejected = predicted - legal.len();
        Ok(Imagined { state, end: self.end, legal, certainty, rejected, evaluation: None })
    }
}

/// The square of a token as `viewer` sees it.
fn square(token: u8, viewer: Color) -> Square {
    Square::new(u32::from(token & 63) ^ if viewer == Color::Black { 56 } else { 0 })
}

/// Plies since the last capture or pawn move, after `step`, derived from the pieces on its two squares without
/// the rules.
fn clock(step: &Step<'_>) -> u32 {
    let (board, viewer) = (step.state.board(), step.state.turn());
    let pawn = board.role_at(square(step.action.from, viewer)) == Some(Role::Pawn);
    let capture = board.color_at(square(step.action.to, viewer)) == Some(!viewer);
    if pawn || capture { 0 } else { step.state.halfmoves() + 1 }
}

/// Whether the move starts on a piece of the mover's and does not end on another one except a castling king's
/// rook. `viewer` is the side that does not move in `state`.
pub(crate) fn moves_a_piece(state: &Chess, viewer: Color, m: MoveCode) -> bool {
    let (board, mover) = (state.board(), state.turn());
    let (from, to) = (square(m.from, viewer), square(m.to, viewer));
    let target = board.piece_at(to).filter(|piece| piece.color == mover);
    match board.piece_at(from).filter(|piece| piece.color == mover) {
        None => false,
        Some(piece) => target.is_none_or(|target| {
            piece.role == Role::King && target.role == Role::Rook && m.promotion == 0
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::canonical_moves;
    use crate::testing::{position, random_game};

    fn step(state: &Chess, from: u8, to: u8) -> Step<'_> {
        Step { state, action: MoveCode { from, to, promotion: 0 } }
    }

    #[test]
    fn the_clock_runs_as_in_the_rules() {
        for seed in 0..40 {
            let (states, moves) = random_game(seed, 100);
            for (ply, (pair, &index)) in states.windows(2).zip(&moves).enumerate() {
                let m = canonical_moves(&pair[0])[usize::from(index)];
                let action = MoveCode::new(m, pair[0].turn().is_black()).expect("no drop");
                let clock = clock(&Step { state: &pair[0], action });
                assert_eq!(clock, pair[1].halfmoves(), "seed {seed} ply {ply}");
            }
        }
    }

    #[test]
    fn a_grounded_position_keeps_only_legal_en_passant() {
        for seed in 0..60 {
            for (ply, state) in random_game(seed, 80).0.iter().enumerate() {
                let ground = grounded(state);
                assert_eq!(NextBoard::of_imagined(&ground), NextBoard::of(state));
                assert!(is_true(&ground, state), "seed {seed} ply {ply}");
                assert_eq!(ground.halfmoves(), state.halfmoves());
            }
        }
        let idle = position("4k3/8/8/8/P7/8/8/4K3 b - a3 0 1");
        assert_eq!(grounded(&idle).ep_square(EnPassantMode::Always), None);
    }

    #[test]
    fn an_answer_is_parsed_or_refused_by_name() {
        // White plays e1e2; the board after it is predicted in White's frame.
        let before = position("4k3/8/8/8/8/8/8/4K2R w - - 3 1");
        let after = position("4k3/8/8/8/8/8/4K3/7R b - - 4 1");
        let board = NextBoard::of(&after);
        let home = |to| MoveCode { from: 60, to, promotion: 0 };
        let parse = |legal: &[MoveCode], end: [f32; 3], change: &dyn Fn(&mut NextBoard)| {
            let legal = legal.iter().map(|m| (*m, 0.9)).collect();
            let mut raw = RawPrediction { board: board.clone(), end, legal };
            change(&mut raw.board);
            raw.parse(&step(&before, 4, 12))
        };
        let same = |_: &mut NextBoard| ();
        let (on, lost) = ([0.9, 0.1, 0.0], [0.1, 0.9, 0.0]);
        let good = parse(&[home(59)], on, &same).expect("a state");
        assert!(is_true(&good.state, &after));
        assert_eq!((good.state.halfmoves(), good.rejected, good.legal.len()), (4, 0, 1));
        // From an empty square, and with the other side's king.
        let from_empty = MoveCode { from: 30, to: 31, promotion: 0 };
        let theirs = MoveCode { from: 12, to: 13, promotion: 0 };
        let some = parse(&[from_empty, home(59), theirs], on, &same).expect("a state");
        assert_eq!((some.rejected, some.legal), (2, vec![home(59)]));
        assert_eq!(some.certainty, [0.9]);
        assert_eq!(parse(&[from_empty], on, &same), Err(Refusal::NoMoves));
        for end in [on, lost] {
            assert!(parse(&[], end, &same).is_ok_and(|end| end.legal.is_empty()));
        }
        let many = vec![home(59); MOST_MOVES + 1];
        assert_eq!(parse(&many, on, &same), Err(Refusal::TooManyMoves(219)));
        let king = parse(&[home(59)], on, &|board| board.pieces[60] = 0).expect_err("no king");
        assert_eq!(king.name(), "no king");
        assert!(king.to_string().contains("black has no king"), "{king}");
        let check = parse(&[home(59)], on, &|board| board.pieces[20] = 10).expect_err("in check");
        assert_eq!(check.name(), "king left in check");
    }
}
