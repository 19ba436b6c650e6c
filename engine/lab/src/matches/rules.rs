//! Terms of a refereed game: rules of the referee, endings, protocol errors.

use chess::ending;
use chess::quote::quote;
use shakmaty::{ByColor, Color, Move};
use std::fmt;
use std::time::Duration;
use uci::Score;

/// A player of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// Named first.
    First,
    /// Named second.
    Second,
}

/// Rules of the referee beside the laws of chess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Tolerated excess of the time limit.
    pub margin: Duration,
    /// Plies after the opening until a draw.
    pub max_plies: usize,
    pub draw: Option<DrawRule>,
    pub resign: Option<ResignRule>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { margin: Duration::from_millis(50), max_plies: 600, draw: None, resign: None }
    }
}

/// Draw once both players' scores stay within `score` for `moves` moves each, from move `from` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawRule {
    pub from: usize,
    pub moves: usize,
    pub score: i32,
}

/// Loss once both players' scores agree for `moves` moves each that it exceeds `score`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResignRule {
    pub moves: usize,
    pub score: i32,
}

/// Score as a number for adjudication: a mate exceeds every evaluation.
#[must_use]
pub fn adjudicable(score: Score) -> i32 {
    match score {
        Score::Centipawns(score) => score,
        Score::Mate(moves) if moves > 0 => 100_000,
        Score::Mate(_) => -100_000,
    }
}

/// Reason for the end of a game. The colour is the side at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Checkmate,
    Stalemate,
    InsufficientMaterial,
    Repetition,
    FiftyMoves,
    MaxPlies,
    DrawAdjudicated,
    WinAdjudicated,
    TimeLoss(Color),
    /// With the text sent as a move.
    IllegalMove(Color, String),
    Crash(Color, String),
    Stall(Color),
}

impl Ending {
    /// The PGN tag `Termination`.
    #[must_use]
    pub fn termination(&self) -> &'static str {
        match self {
            Ending::MaxPlies | Ending::DrawAdjudicated | Ending::WinAdjudicated => "adjudication",
            Ending::TimeLoss(_) => "time forfeit",
            Ending::IllegalMove(..) => "rules infraction",
            Ending::Crash(..) | Ending::Stall(_) => "abandoned",
            _ => "normal",
        }
    }
}

impl From<ending::Ending> for Ending {
    fn from(ending: ending::Ending) -> Ending {
        match ending {
            ending::Ending::Checkmate { .. } => Ending::Checkmate,
            ending::Ending::Stalemate => Ending::Stalemate,
            ending::Ending::InsufficientMaterial => Ending::InsufficientMaterial,
            ending::Ending::FiftyMoves => Ending::FiftyMoves,
            ending::Ending::Threefold => Ending::Repetition,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Checkmate => f.write_str("checkmate"),
            Ending::Stalemate => f.write_str("stalemate"),
            Ending::InsufficientMaterial => f.write_str("insufficient material"),
            Ending::Repetition => f.write_str("threefold repetition"),
            Ending::FiftyMoves => f.write_str("fifty-move rule"),
            Ending::MaxPlies => f.write_str("drawn by length"),
            Ending::DrawAdjudicated => f.write_str("drawn by adjudication"),
            Ending::WinAdjudicated => f.write_str("won by adjudication"),
            Ending::TimeLoss(color) => write!(f, "{color} loses on time"),
            Ending::IllegalMove(color, word) => {
                write!(f, "{color} played {}, no legal move", quote(word))
            }
            Ending::Crash(color, words) => write!(f, "{color} left the game ({words})"),
            Ending::Stall(color) => write!(f, "{color} does not answer"),
        }
    }
}

/// Protocol errors that do not lose the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Illegal move in a variation of an `info` line.
    IllegalPv,
    /// A variation continues after a draw by repetition or fifty-move rule.
    PvPastEnd,
    /// `bestmove` is not the first move of the last first variation.
    BestMoveOffPv,
    IllegalPonder,
    /// No `info` line with a score before `bestmove`.
    NoScore,
    /// A legal move in the wrong notation, such as king takes rook in standard chess.
    Notation,
}

impl Warning {
    pub const ALL: [Warning; 6] = [
        Warning::IllegalPv,
        Warning::PvPastEnd,
        Warning::BestMoveOffPv,
        Warning::IllegalPonder,
        Warning::NoScore,
        Warning::Notation,
    ];
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Warning::IllegalPv => "illegal variations",
            Warning::PvPastEnd => "variations past the end",
            Warning::BestMoveOffPv => "best move not first of the variation",
            Warning::IllegalPonder => "illegal ponder moves",
            Warning::NoScore => "moves without a score",
            Warning::Notation => "moves in wrong notation",
        })
    }
}

/// Counts in the order of [`Warning::ALL`].
pub type Warnings = [u64; Warning::ALL.len()];

/// A move with its player's search data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ply {
    pub color: Color,
    pub action: Move,
    pub score: Option<Score>,
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    pub elapsed: Duration,
}

/// A finished game.
#[derive(Clone, Debug)]
pub struct PlayedGame {
    pub plies: Vec<Ply>,
    pub winner: Option<Color>,
    pub ending: Ending,
    pub warnings: ByColor<Warnings>,
}
