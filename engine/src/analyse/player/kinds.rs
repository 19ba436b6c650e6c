//! Kinds of a player's errors, by simple signs on the board, the scores and the clock. A move may be of several.

use shakmaty::{Chess, Color, Move, Position, Role, Square};
use uci::Score;

/// Material that makes a capture an error to allow or to miss, in pawns.
const PIECE: i32 = 2;
/// Win probability of a won position, and the one below which it is given away. Guesses.
const WON: f32 = 0.8;
const GIVEN_AWAY: f32 = 0.6;
/// Seconds left below which time is short, and those of a move made in haste while more than a minute is left. Guesses.
pub const SHORT: f64 = 20.0;
const HASTE: f64 = 3.0;
const ENOUGH: f64 = 60.0;

/// A kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The opponent mates.
    AllowsMate,
    /// There was a forced mate.
    MissesMate,
    /// The opponent can take a piece.
    LeavesPiece,
    /// A piece could be taken.
    MissesCapture,
    /// A won position is none any more.
    GivesWinAway,
    /// Little time was left.
    ShortOfTime,
    /// Played at once, with time left.
    Haste,
    /// None of these.
    Other,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [ErrorKind; 8] = [
        ErrorKind::AllowsMate,
        ErrorKind::MissesMate,
        ErrorKind::LeavesPiece,
        ErrorKind::MissesCapture,
        ErrorKind::GivesWinAway,
        ErrorKind::ShortOfTime,
        ErrorKind::Haste,
        ErrorKind::Other,
    ];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            ErrorKind::AllowsMate => "allows a forced mate",
            ErrorKind::MissesMate => "misses a forced mate",
            ErrorKind::LeavesPiece => "leaves a piece to be taken",
            ErrorKind::MissesCapture => "misses the capture of a piece",
            ErrorKind::GivesWinAway => "gives a won position away",
            ErrorKind::ShortOfTime => "less than 20 seconds left",
            ErrorKind::Haste => "made in 3 seconds, with a minute left",
            ErrorKind::Other => "other",
        }
    }
}

/// An error and its surroundings.
#[derive(Clone, Copy)]
pub struct ErrorView<'a> {
    /// The position before it.
    pub before: &'a Chess,
    /// The position behind it.
    pub behind: &'a Chess,
    /// The better move.
    pub better: Option<Move>,
    /// The mover's scores before and behind it.
    pub scores: [Score; 2],
    /// The mover's win probabilities.
    pub wins: [f32; 2],
    /// Seconds left when the move began, and those that it took.
    pub left: Option<f64>,
    /// See there.
    pub spent: Option<f64>,
}

/// All kinds of an error, at least one.
#[must_use]
pub fn of(error: ErrorView<'_>) -> Vec<ErrorKind> {
    let ErrorView { before, behind, better, scores: [best, after], wins, left, spent } = error;
    let mates = |score| matches!(score, Score::Mate(moves) if moves > 0);
    let mated = |score| matches!(score, Score::Mate(moves) if moves <= 0);
    let hangs = || {
        let captures = behind.capture_moves();
        captures.iter().any(|capture| gain(behind, *capture) >= PIECE)
    };
    let captures =
        better.is_some_and(|better| better.is_capture() && gain(before, better) >= PIECE);
    let signs = [
        (ErrorKind::AllowsMate, mated(after) && !mated(best)),
        (ErrorKind::MissesMate, mates(best) && !mates(after)),
        (ErrorKind::LeavesPiece, hangs()),
        (ErrorKind::MissesCapture, captures),
        (ErrorKind::GivesWinAway, wins[0] >= WON && wins[1] < GIVEN_AWAY),
        (ErrorKind::ShortOfTime, left.is_some_and(|left| left < SHORT)),
        (
            ErrorKind::Haste,
            left.is_some_and(|left| left > ENOUGH) && spent.is_some_and(|spent| spent <= HASTE),
        ),
    ];
    let kinds: Vec<ErrorKind> =
        signs.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect();
    if kinds.is_empty() { vec![ErrorKind::Other] } else { kinds }
}

/// Material in pawns.
fn material(role: Role) -> i32 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => 100,
    }
}

/// Material that a capture wins by static exchange evaluation: both sides take on its square with their least piece first, and
/// may stop. Pins do not count.
fn gain(position: &Chess, capture: Move) -> i32 {
    let Some(taken) = capture.capture() else { return 0 };
    let (Some(from), to) = (capture.from(), capture.to()) else { return 0 };
    let mut occupied = position.board().occupied();
    occupied.discard(from);
    if capture.is_en_passant() {
        occupied.discard(Square::from_coords(to.file(), from.rank()));
    }
    let on_square = material(capture.role());
    material(taken) - exchange(position, to, occupied, !position.turn(), on_square).max(0)
}

/// Material that `side` wins by taking a piece of this value on `square`.
fn exchange(
    position: &Chess,
    square: Square,
    occupied: shakmaty::Bitboard,
    side: Color,
    on_square: i32,
) -> i32 {
    let board = position.board();
    let attackers = board.attacks_to(square, side, occupied) & occupied;
    let least = attackers
        .into_iter()
        .filter_map(|from| Some((from, material(board.role_at(from)?))))
        .min_by_key(|(_, value)| *value);
    let Some((from, value)) = least else { return 0 };
    let mut rest = occupied;
    rest.discard(from);
    on_square - exchange(position, square, rest, !side, value).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use shakmaty::uci::UciMove;

    fn position(fen: &str) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    fn wins(fen: &str, uci: &str) -> i32 {
        let position = position(fen);
        gain(&position, uci.parse::<UciMove>().unwrap().to_move(&position).unwrap())
    }

    #[test]
    fn exchanges_count_defenders_and_pieces_behind() {
        assert_eq!(wins("4k3/8/8/3n4/8/8/3R4/4K3 w - - 0 1", "d2d5"), 3, "not defended");
        assert_eq!(wins("4k3/8/4p3/3n4/8/8/3R4/4K3 w - - 0 1", "d2d5"), -2, "a rook for a knight");
        assert_eq!(wins("4k3/8/4p3/3n4/8/8/3R4/3QK3 w - - 0 1", "d2d5"), -1, "and a pawn behind");
        assert_eq!(wins("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6"), 1, "en passant");
    }

    #[test]
    fn kinds_have_their_signs() {
        let calm = position("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");
        let error = ErrorView {
            before: &calm,
            behind: &calm,
            better: None,
            scores: [Score::Centipawns(0), Score::Centipawns(-200)],
            wins: [0.5, 0.3],
            left: None,
            spent: None,
        };
        assert_eq!(of(error), [ErrorKind::Other]);
        let hangs = position("4k3/8/8/3n4/8/8/3R4/4K3 w - - 0 1");
        assert_eq!(of(ErrorView { behind: &hangs, ..error }), [ErrorKind::LeavesPiece]);
        let better = "d2d5".parse::<UciMove>().unwrap().to_move(&hangs).ok();
        let missed = ErrorView { before: &hangs, better, ..error };
        assert_eq!(of(missed), [ErrorKind::MissesCapture]);
        let scores = [Score::Mate(2), Score::Mate(-3)];
        let both = [ErrorKind::AllowsMate, ErrorKind::MissesMate];
        assert_eq!(of(ErrorView { scores, ..error }), both);
        let given = ErrorView { wins: [0.9, 0.5], left: Some(10.0), ..error };
        assert_eq!(of(given), [ErrorKind::GivesWinAway, ErrorKind::ShortOfTime]);
        let quick = ErrorView { left: Some(100.0), spent: Some(2.0), ..error };
        assert_eq!(of(quick), [ErrorKind::Haste]);
    }
}
