//! Opening book of a match: positions from EPD or FEN files, each to be played with both colours.

use engine::chess::epd;
use engine::chess::game::{Game, GameError};
use engine::errors::{FileError, wraps};
use engine::files::read_whole_text;
use nn::rng::Rng;
use shakmaty::{Chess, Position};
use std::fmt;
use std::path::Path;

/// An initial position.
#[derive(Clone, Debug)]
pub struct Opening {
    pub position: Chess,
    /// Line number in the file, from 1; 0 for the standard initial position.
    pub line: usize,
}

impl Default for Opening {
    /// The standard initial position.
    fn default() -> Opening {
        Opening { position: Chess::default(), line: 0 }
    }
}

impl Opening {
    #[must_use]
    pub fn chess960(&self) -> bool {
        self.position.castles().mode().is_chess960()
    }

    #[must_use]
    pub fn is_initial(&self) -> bool {
        self.position == Chess::default()
    }

    #[must_use]
    pub fn fen(&self) -> String {
        epd::fen(&self.position)
    }
}

/// An invalid line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOpening {
    /// Line number, from 1.
    pub line: usize,
    pub why: OpeningError,
}

/// Error of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningError {
    /// Fewer than four fields.
    NoPosition,
    /// Invalid position.
    Game(GameError),
    /// The game is already over.
    Over,
}

impl fmt::Display for OpeningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpeningError::NoPosition => f.write_str("a position has four fields"),
            OpeningError::Game(why) => why.fmt(f),
            OpeningError::Over => f.write_str("the game is over"),
        }
    }
}

impl std::error::Error for OpeningError {}

impl fmt::Display for InvalidOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is no opening: {}", self.line, self.why)
    }
}

impl std::error::Error for InvalidOpening {}

/// Error of a file of openings.
#[derive(Debug)]
pub enum OpeningsError {
    /// It cannot be read.
    File(FileError),
    /// An invalid line.
    Line(FileError<InvalidOpening>),
}

impl fmt::Display for OpeningsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpeningsError::File(why) => why.fmt(f),
            OpeningsError::Line(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for OpeningsError {}

wraps! { OpeningsError: File(FileError), Line(FileError<InvalidOpening>) }

/// Reads a file with [`read`].
///
/// # Errors
/// The file cannot be read, or a line is invalid.
pub fn open(path: &Path, chess960: bool) -> Result<Vec<Opening>, OpeningsError> {
    let text = read_whole_text(path)?;
    Ok(read(&text, chess960).map_err(FileError::of(path))?)
}

/// Parses EPD (four fields, operations ignored) or FEN (six), one per line; blank lines and lines with `#` are
/// skipped. Chess960 is detected by castling rights, or forced by `chess960`.
///
/// # Errors
/// An illegal position, or a finished game.
pub fn read(text: &str, chess960: bool) -> Result<Vec<Opening>, InvalidOpening> {
    let mut openings = Vec::new();
    for (line, content) in epd::lines(text) {
        let refused = |why| InvalidOpening { line, why };
        let record = epd::split(content).ok_or(refused(OpeningError::NoPosition))?;
        let game = Game::from_fen(&record.fen, chess960)
            .map_err(|why| refused(OpeningError::Game(why)))?;
        if game.position().is_game_over() {
            return Err(refused(OpeningError::Over));
        }
        openings.push(Opening { position: game.position().clone(), line });
    }
    Ok(openings)
}

/// Shuffles the openings by the seed; without one they stay in file order.
pub fn order(openings: &mut [Opening], seed: Option<u64>) {
    if let Some(seed) = seed {
        Rng::from_state(seed).shuffle(openings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epd_fen_comments_and_blank_lines_are_read() {
        let text = "# starts\n\
                    rnbqkbnr/pp1p1pp1/4p3/2p4p/P4P2/5N2/1PPPP1PP/RNBQKB1R w KQkq - 0 4\n\n\
                    8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - - bm Rxb2; id \"WAC.002\";\n";
        let openings = read(text, false).unwrap();
        assert_eq!(openings.iter().map(|opening| opening.line).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(
            openings[0].fen(),
            "rnbqkbnr/pp1p1pp1/4p3/2p4p/P4P2/5N2/1PPPP1PP/RNBQKB1R w KQkq - 0 4"
        );
        assert_eq!(openings[1].fen(), "8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - - 0 1");
        assert!(!openings[0].chess960());
    }

    #[test]
    fn chess960_is_seen_from_the_castling_rights() {
        let text = "nbbrkrqn/ppppp1pp/5p2/8/P2P4/8/1PP1PPPP/RKNNBBRQ b KQkq - 0 2";
        assert!(read(text, false).unwrap()[0].chess960());
        let standard = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert!(!read(standard, false).unwrap()[0].chess960());
        assert!(read(standard, true).unwrap()[0].chess960());
    }

    #[test]
    fn nonsense_and_finished_games_are_refused_with_their_line() {
        assert_eq!(read("\nhello", false).unwrap_err().line, 2);
        let mated = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3";
        assert_eq!(read(mated, false).unwrap_err().why, OpeningError::Over);
        assert_eq!(read("8/8/8/8/8/8/8/8 w - - 0 1", false).unwrap_err().line, 1);
    }

    #[test]
    fn seeded_order_repeats() {
        let text = "8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - -\n".repeat(20);
        let mut a = read(&text, false).unwrap();
        let mut b = a.clone();
        order(&mut a, Some(5));
        order(&mut b, Some(5));
        let lines = |openings: &[Opening]| openings.iter().map(|o| o.line).collect::<Vec<_>>();
        assert_eq!(lines(&a), lines(&b));
        assert_ne!(lines(&a), (1..=20).collect::<Vec<_>>());
        order(&mut b, None);
        assert_eq!(lines(&a), lines(&b));
    }
}
