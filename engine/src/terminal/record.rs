//! A game with its tags: saved as PGN, and read again to be continued.

use crate::pgn::write::write_game;
use crate::pgn::{Line, PgnEntry, PgnGame, PgnMove, open_games};
use crate::process::files::{check_writable, write_whole};
use chess::action::Action;
use chess::epd;
use chess::game::Game;
use chess::quote::quote_path;
use nn::files::{MAX_TEXT, read_text};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Result of a game in progress.
pub const OPEN: &str = "*";
/// A game of a file begins with this line.
const FIRST_TAG: &str = "[Event \"";

/// A game that can be saved at any time.
#[derive(Clone, Debug)]
pub struct GameRecord {
    tags: Vec<(String, String)>,
    line: Line,
    game: Game,
}

impl GameRecord {
    /// A game without moves.
    #[must_use]
    pub fn new(game: Game, tags: &[(&str, &str)]) -> GameRecord {
        let mut record = GameRecord { tags: Vec::new(), line: Line::default(), game };
        tags.iter().for_each(|(name, value)| record.set_tag(name, value));
        if record.game.mode().is_chess960() {
            record.set_tag("Variant", "Chess960");
        }
        if !record.game.is_new() {
            record.set_tag("SetUp", "1");
            record.set_tag("FEN", &epd::fen(record.game.start()));
        }
        record
    }

    /// The game in progress at the end of a file, and the text of the games before it; None where that text cannot be separated.
    ///
    /// # Errors
    /// The file cannot be read, or its last game cannot be continued.
    pub fn open(path: &Path) -> io::Result<(GameRecord, Option<String>)> {
        let refused = |what: &str| {
            let file = quote_path(path);
            io::Error::new(ErrorKind::InvalidData, format!("{file}: the last game {what}"))
        };
        let mut last = None;
        for entry in open_games(path, 1)? {
            last = Some(entry?);
        }
        let last = match last {
            Some(PgnEntry::Game(game)) => *game,
            Some(PgnEntry::Unreadable { why, .. }) => return Err(refused(&why.to_string())),
            None => return Err(refused("is missing: no game was found")),
        };
        if let Some(cut) = &last.cut {
            return Err(refused(&format!("cannot be read whole, {cut}")));
        }
        let mut game = last.start.clone();
        for made in &last.line.moves {
            let played = made.played.and_then(|played| game.play(Action::new(played)).ok());
            played.ok_or_else(|| refused("has a move that is none"))?;
        }
        if last.result != OPEN || game.ending().is_some() {
            return Err(refused("is over; expected one in progress, with the result *"));
        }
        let before = before(path, &last);
        Ok((GameRecord { tags: last.tags, line: last.line, game }, before))
    }

    /// The game.
    #[must_use]
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// A tag's value.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Sets a tag.
    pub fn set_tag(&mut self, name: &str, value: &str) {
        match self.tags.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, old)) => value.clone_into(old),
            None => self.tags.push((name.to_owned(), value.to_owned())),
        }
    }

    /// Plays a legal move; another one changes nothing. Returns it in standard notation.
    pub fn play(&mut self, action: Action) -> String {
        let san = self.game.san(action);
        let played = action.to_move(self.game.position());
        if self.game.play(action).is_ok() {
            let (nags, comments, variations) = Default::default();
            let made = PgnMove { played, san: san.clone(), nags, comments, variations };
            self.line.moves.push(made);
        }
        san
    }

    /// Adds a comment to the last move, if there is one.
    pub fn comment(&mut self, text: String) {
        self.line.moves.last_mut().into_iter().for_each(|made| made.comments.push(text.clone()));
    }

    /// The comments of the last moves, the latest first.
    pub fn comments(&self) -> impl Iterator<Item = String> {
        self.line.moves.iter().rev().map(|made| made.comments.join(" "))
    }

    /// Takes back the last moves.
    pub fn take_back(&mut self, plies: usize) {
        let kept = self.line.moves.len().saturating_sub(plies);
        self.line.moves.truncate(kept);
        let mut game = Game::new(self.game.start().clone(), self.game.mode());
        // They were legal before.
        self.game.actions()[..kept].iter().for_each(|action| drop(game.play(*action)));
        self.game = game;
    }

    /// The game as PGN.
    #[must_use]
    pub fn pgn(&self) -> String {
        let result = self.tag("Result").unwrap_or(OPEN);
        write_game(&self.tags, self.game.start(), &self.line, result)
    }
}

/// The text before the last game of a file, if that game begins with the tag Event.
fn before(path: &Path, last: &PgnGame) -> Option<String> {
    let mut text = read_text(path, MAX_TEXT).ok()?;
    let at = match text.rfind(&format!("\n{FIRST_TAG}")) {
        Some(at) => at + 1,
        None if text.trim_start().starts_with(FIRST_TAG) => 0,
        None => return None,
    };
    let rest = crate::pgn::read_games(&text[at..], 1);
    let [PgnEntry::Game(found)] = &rest[..] else { return None };
    text.truncate(at);
    (found.line == last.line && found.tags == last.tags).then_some(text)
}

/// A file that games are saved in: the text before, and the game.
#[derive(Clone, Debug)]
pub struct SaveFile {
    /// Its name.
    pub path: std::path::PathBuf,
    before: String,
}

impl SaveFile {
    /// Games are added to the file, if there is one. Nothing is written yet.
    ///
    /// # Errors
    /// The file cannot be written, or holds no text.
    pub fn new(path: &Path) -> io::Result<SaveFile> {
        let before = match read_text(path, MAX_TEXT) {
            Err(why) if why.kind() == ErrorKind::NotFound => String::new(),
            Err(why) if why.kind() == ErrorKind::InvalidData => {
                let file = quote_path(path);
                let why = format!("{file} is no text in UTF-8; choose another file to save in");
                return Err(io::Error::new(ErrorKind::InvalidData, why));
            }
            before => before.map_err(|why| named(path, &why))?,
        };
        SaveFile::after(path, before)
    }

    /// The same for a file whose last game is saved anew, behind the text before it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn after(path: &Path, mut before: String) -> io::Result<SaveFile> {
        check_writable(path)?;
        // An empty line ends a game.
        while !before.is_empty() && !before.ends_with("\n\n") && !before.ends_with("\n\r\n") {
            before.push('\n');
        }
        Ok(SaveFile { path: path.to_owned(), before })
    }

    /// Writes the file: whole, or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, record: &GameRecord) -> io::Result<()> {
        let written = write_whole(&self.path, self.before.clone() + &record.pgn());
        written.map_err(|why| named(&self.path, &why))
    }
}

fn named(path: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", quote_path(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> GameRecord {
        let tags = [("Event", "Evening"), ("White", "Ann"), ("Black", "Mavka"), ("Result", OPEN)];
        let mut record = GameRecord::new(Game::default(), &tags);
        for word in ["e2e4", "e7e5", "g1f3"] {
            let action = Action::from_uci(word, record.game.position()).unwrap();
            record.play(action);
        }
        record
    }

    #[test]
    fn games_are_added_to_a_file_and_the_last_one_is_continued() {
        let path = std::env::temp_dir().join(format!("mavka-record-{}.pgn", std::process::id()));
        let old = "[Event \"Old\"]\n[Site \"?\"]\n\n1. d4 d5 1/2-1/2";
        std::fs::write(&path, old).unwrap();
        let mut record = record();
        record.comment("[%clk 0:01:00]".to_owned());
        let file = SaveFile::new(&path).unwrap();
        file.write(&record).unwrap();
        let (mut read, before) = GameRecord::open(&path).unwrap();
        assert_eq!((read.pgn(), before.as_deref()), (record.pgn(), Some(&*format!("{old}\n\n"))));
        assert_eq!(read.comments().next().as_deref(), Some("[%clk 0:01:00]"));
        read.take_back(2);
        assert_eq!((read.game.actions().len(), read.line.moves.len()), (1, 1));
        read.set_tag("Result", "1-0");
        SaveFile::after(&path, before.unwrap()).unwrap().write(&read).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(old) && text.ends_with("\n\n1. e4 1-0\n\n"), "{text}");
        let why = GameRecord::open(&path).unwrap_err().to_string();
        assert!(why.contains("is over; expected one in progress"), "{why}");
        for (text, part) in [
            ("", "no game was found"),
            ("[Event \"x\"]\n\n1. e4 Ke4 *\n", "cannot be read whole"),
            ("[Event \"x\"]\n\n1. e4 -- *\n", "a move that is none"),
            ("[Variant \"Atomic\"]\n\n1. e4 *\n", "is another game than chess"),
            ("1. f3 e5 2. g4 Qh4# *\n", "is over"),
        ] {
            std::fs::write(&path, text).unwrap();
            let why = GameRecord::open(&path).unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
        // Moves without tags: the text before them cannot be separated.
        std::fs::write(&path, "1. e4 *\n").unwrap();
        assert!(GameRecord::open(&path).unwrap().1.is_none());
        std::fs::write(&path, b"[White \"\xfc\"]\n").unwrap();
        let why = SaveFile::new(&path).unwrap_err().to_string();
        assert!(why.contains("is no text in UTF-8"), "{why}");
        std::fs::remove_file(&path).unwrap();
    }
}
