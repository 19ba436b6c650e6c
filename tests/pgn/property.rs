//! Properties of every file of games, readable or not: it is read without a panic, and written and read again it has the same
//! games, moves, results and tags. For the seeded test and for the fuzz target of cargo-fuzz.

use engine::analyse::annotate;
use engine::analyse::found::over;
use engine::analyse::journal::{Journal, Origin};
use engine::analyse::judge::Glyphs;
use engine::analyse::review::Rules;
use engine::analyse::run::reviewed;
use engine::pgn::text::decode;
use engine::pgn::{PgnEntry, PgnGame, Positions, read_games};
use std::sync::OnceLock;

const RULES: Rules = Rules { lines: 1, glyphs: Glyphs::Mavka };

/// Checks it for the bytes of a file.
///
/// # Errors
/// What is lost, with the text that was written.
pub fn round_trip(bytes: &[u8]) -> Result<(), String> {
    let read = read_games(&decode(bytes), 1);
    let written: String = read.iter().map(write).collect();
    let again = read_games(&written, 1);
    let fault = |what: String| Err(format!("{what}; written as\n{written}"));
    if read.len() != again.len() {
        return fault(format!("{} games became {}", read.len(), again.len()));
    }
    for (before, after) in read.iter().zip(&again) {
        let same = match (before, after) {
            (PgnEntry::Game(before), PgnEntry::Game(after)) => same_game(before, after),
            (PgnEntry::Unreadable { raw, .. }, PgnEntry::Unreadable { raw: copy, .. }) => {
                raw == copy
            }
            _ => false,
        };
        if !same {
            return fault(format!("{before:?} became {after:?}"));
        }
    }
    Ok(())
}

/// Moves of the main line.
pub fn moves(game: &PgnGame) -> Vec<&str> {
    game.line.moves.iter().map(|made| made.san.as_str()).collect()
}

fn same_game(before: &PgnGame, after: &PgnGame) -> bool {
    // A name may occur twice.
    let kept = |(name, value): &(String, String)| {
        let same = |(other, found): &(String, String)| {
            let result = name.eq_ignore_ascii_case("Result") && value == "*" && ends(after);
            other.eq_ignore_ascii_case(name) && (printing(found) == printing(value) || result)
        };
        after.tags.iter().any(same)
    };
    moves(before) == moves(after)
        && (before.result == after.result || before.result == "*" && ends(after))
        && Positions::of(after).plies() == moves(before).len()
        && before.tags.iter().all(kept)
}

/// Whether the board ends the game, which gives it a result.
fn ends(game: &PgnGame) -> bool {
    let positions = Positions::of(game);
    over(positions.board(positions.plies())).is_some()
}

/// A tag's value is one line of printing characters, without a backslash at its end.
fn printing(value: &str) -> String {
    value.replace(char::is_control, " ").trim_end_matches('\\').trim().to_owned()
}

/// As `mavka analyse` writes it before any search.
fn write(entry: &PgnEntry) -> String {
    match entry {
        PgnEntry::Game(game) => match journal() {
            Some(journal) => annotate::write(&reviewed(game, journal, RULES), "Mavka"),
            None => String::new(),
        },
        PgnEntry::Unreadable { raw, .. } => raw.clone(),
    }
}

/// Without a search in it.
fn journal() -> Option<&'static Journal> {
    static JOURNAL: OnceLock<Option<Journal>> = OnceLock::new();
    let journal = JOURNAL.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("mavka-pgn-{}.journal", std::process::id()));
        let none = String::new;
        let origin = Origin { engine: none(), network: none(), search: none() };
        let opened = Journal::open(&path, &origin).ok();
        // The open file stays.
        let _ = std::fs::remove_file(&path);
        opened
    });
    journal.as_ref()
}
