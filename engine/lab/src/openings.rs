//! Opening book of a match: positions of an EPD or FEN file, or last positions of the games of a PGN file, each to be played
//! with both colours.

use chess::epd;
use chess::game::{Game, GameError};
use chess::quote::quote;
use engine::pgn::text::read_decoded;
use engine::pgn::{PgnEntry, PgnGame, Positions, read_games};
use engine::process::errors::{FileError, wraps};
use nn::rng::Rng;
use shakmaty::{Chess, Position};
use std::fmt;
use std::path::Path;

/// An initial position.
#[derive(Clone, Debug)]
pub struct Opening {
    pub position: Chess,
    /// Line of an EPD file or game of a PGN file, from 1; 0 for the standard initial position.
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
        // Equal positions may differ in their counters.
        self.fen() == epd::fen(&Chess::default())
    }

    #[must_use]
    pub fn fen(&self) -> String {
        epd::fen(&self.position)
    }
}

/// An invalid opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOpening {
    /// The unit counted: lines of EPD, games of PGN.
    pub unit: &'static str,
    /// Its number, from 1.
    pub number: usize,
    pub why: OpeningError,
}

/// Error of an opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningError {
    /// Fewer than four fields.
    NoPosition(String),
    /// Invalid position.
    Game(GameError),
    /// A game that cannot be read to its end.
    Pgn(String),
    /// The game is already over.
    Over(String),
}

impl fmt::Display for OpeningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpeningError::NoPosition(text) => {
                write!(f, "{} does not begin with the four fields of a position", quote(text))
            }
            OpeningError::Game(why) => why.fmt(f),
            OpeningError::Pgn(why) => f.write_str(why),
            OpeningError::Over(fen) => write!(f, "the game is over in `{fen}`"),
        }
    }
}

impl std::error::Error for OpeningError {}

impl fmt::Display for InvalidOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} is no opening: {}", self.unit, self.number, self.why)
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

/// Reads a file with [`read`], or with [`read_pgn`] if it looks like PGN. It may be compressed, and in UTF-8, UTF-16 or
/// Windows-1252.
///
/// # Errors
/// The file cannot be read, or an opening is invalid.
pub fn open(path: &Path, chess960: bool) -> Result<Vec<Opening>, OpeningsError> {
    let text = read_decoded(path)?;
    let openings = match is_pgn(&text) {
        true => read_pgn(&text, chess960),
        false => read(&text, chess960),
    };
    Ok(openings.map_err(FileError::of(path))?)
}

/// Tags or moves at the beginning, where EPD has the ranks of a board.
fn is_pgn(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines
        .filter(|line| !line.starts_with(['#', '%', ';']))
        .flat_map(str::split_whitespace)
        .next();
    first.is_some_and(|word| word.starts_with(['[', '{']) || word.starts_with("1."))
}

/// Parses EPD (four fields, of the operations only the counters `hmvc` and `fmvn`) or FEN (six), one per line; blank lines and
/// lines with `#` are skipped. Chess960 is detected by castling rights, or forced by `chess960`.
///
/// # Errors
/// An illegal position, or a finished game.
pub fn read(text: &str, chess960: bool) -> Result<Vec<Opening>, InvalidOpening> {
    let mut openings = Vec::new();
    for (line, content) in epd::lines(text) {
        let refused = |why| InvalidOpening { unit: "line", number: line, why };
        let record = epd::split(content)
            .ok_or_else(|| refused(OpeningError::NoPosition(content.to_owned())))?;
        openings.push(opening(&record.fen, line, chess960).map_err(refused)?);
    }
    Ok(openings)
}

/// The positions after the last moves of the games of a PGN text. Comments and variations are ignored.
///
/// # Errors
/// A game whose moves cannot all be read, or that is over.
pub fn read_pgn(text: &str, chess960: bool) -> Result<Vec<Opening>, InvalidOpening> {
    let of_entry = |entry: PgnEntry| {
        let (number, last) = match entry {
            PgnEntry::Game(game) => (game.number, last_fen(&game)),
            PgnEntry::Unreadable { number, why, .. } => (number, Err(why.to_string())),
        };
        let refused = |why| InvalidOpening { unit: "game", number, why };
        let (fen, own) = last.map_err(|why| refused(OpeningError::Pgn(why)))?;
        opening(&fen, number, chess960 || own).map_err(refused)
    };
    read_games(text, 1).into_iter().map(of_entry).collect()
}

/// The position after the last move, and whether the game is Chess960.
fn last_fen(game: &PgnGame) -> Result<(String, bool), String> {
    match &game.cut {
        Some(cut) => Err(cut.clone()),
        None => {
            let positions = Positions::of(game);
            Ok((epd::fen(positions.board(positions.plies())), game.start.mode().is_chess960()))
        }
    }
}

fn opening(fen: &str, line: usize, chess960: bool) -> Result<Opening, OpeningError> {
    let game = Game::from_fen(fen, chess960).map_err(OpeningError::Game)?;
    if game.position().is_game_over() {
        return Err(OpeningError::Over(fen.to_owned()));
    }
    Ok(Opening { position: game.position().clone(), line })
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
        let fault = |text: &str| read(text, false).unwrap_err().to_string();
        assert!(fault("\nhello").starts_with("line 2 is no opening: `hello` does not begin"));
        let mated = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3";
        assert!(fault(mated).contains("the game is over in `rnb1kbnr"));
        assert!(fault("8/8/8/8/8/8/8/8 w - - 0 1").starts_with("line 1 is"));
        assert!(fault("4k3/8/8/8/8/8/8/R3K3 w Q - hmvc two;").contains("two"));
    }

    #[test]
    fn counters_of_an_epd_are_kept() {
        let text = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - hmvc 2; fmvn 4;";
        let opening = read(text, false).unwrap().remove(0);
        assert!(opening.fen().ends_with(" 2 4") && !opening.is_initial(), "{}", opening.fen());
        assert!(Opening::default().is_initial());
    }

    const PGN: &str = "[Event \"Book\"]\n[ECO \"B20\"]\n\n1. e4 c5 {Sicilian} (1... e5) 2. Nf3 *\n\n\
                       [Variant \"Chess960\"]\n[FEN \"nbbrkrqn/pppppppp/8/8/8/8/PPPPPPPP/NBBRKRQN w KQkq - 0 1\"]\n\n\
                       1. f3 *\n\n[Event \"c\"]\n\n1.d2-d4 Nf6 1/2-1/2\n";

    #[test]
    fn the_games_of_a_pgn_book_are_played_to_their_last_move() {
        assert!(is_pgn(PGN) && is_pgn("\n% a\n1. e4 e5 *") && is_pgn("{book} 1. e4 *"));
        assert!(!is_pgn("# x\n4k3/8/8/8/8/8/8/R3K3 w Q - 0 1") && !is_pgn(""));
        let openings = read_pgn(PGN, false).unwrap();
        assert_eq!(openings.iter().map(|opening| opening.line).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(
            openings[0].fen(),
            "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2"
        );
        assert_eq!(
            openings.iter().map(Opening::chess960).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(read_pgn(PGN, true).unwrap().iter().all(Opening::chess960));
    }

    #[test]
    fn a_game_that_is_no_opening_is_named_with_its_line_and_move() {
        let fault = |text: &str| read_pgn(text, false).unwrap_err().to_string();
        let cut = fault("1. e4 *\n\n[Event \"b\"]\n\n1. d4 d5\n2. Nxx5 *\n");
        assert_eq!(
            cut,
            "game 2 is no opening: line 6: the game is cut at 2. Nxx5, which is no move"
        );
        assert!(
            fault("1. f3 e5 2. g4 Qh4# 0-1").contains("game 1 is no opening: the game is over")
        );
        assert!(fault("[Variant \"Atomic\"]\n\n1. e4 *").contains("`Atomic`"));
        // Variations and comments do not matter.
        assert_eq!(read_pgn("1. e4 (1. Nx9) e5 $999 *", false).unwrap().len(), 1);
    }

    #[test]
    fn a_book_may_be_compressed_and_in_any_encoding() {
        let folder = std::env::temp_dir().join(format!("mavka-openings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("book.pgn.zst");
        std::fs::write(&path, zstd::encode_all(PGN.as_bytes(), 1).unwrap()).unwrap();
        assert_eq!(open(&path, false).unwrap().len(), 3);
        let path = folder.join("book.epd");
        std::fs::write(&path, b"\xef\xbb\xbf4k3/8/8/8/8/8/8/R3K3 w Q - id \"\xf6\";\n").unwrap();
        assert_eq!(open(&path, false).unwrap().len(), 1);
        std::fs::write(&path, "1. e4 e5 *\r1. e4 e5 *\r1. e4 e5 *\r").unwrap();
        assert_eq!(open(&path, false).unwrap().len(), 3, "one game a line");
        std::fs::write(&path, "4k3/8/8/8/8/8/8/R3K3 w Q -\nx\n").unwrap();
        let why = open(&path, false).unwrap_err().to_string();
        assert!(why.contains("book.epd: line 2 is no opening: `x`"), "{why}");
        std::fs::remove_dir_all(&folder).unwrap();
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
