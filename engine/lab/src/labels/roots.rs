//! Roots of walks: positions of labelled games, or of a file of positions. A network knows the games it was trained on
//! and their neighbourhood; other positions are learnt from other games, such as its own.

use super::annotate::stored_values;
use crate::openings::{self, Opening, OpeningsError};
use chess::game::Game;
use engine::process::errors::wraps;
use nn::encode::moves::canonical_move;
use nn::rng::Rng;
use shakmaty::{CastlingMode, Position};
use std::fmt;
use std::path::{Path, PathBuf};
use train::data::record::{MavgGame, MavgPosition};
use train::data::{self, DataError, FileReader};

/// One game of a file in this many is held out, as in the network's own training.
const HELD_OUT: u64 = 50;
/// Average number of positions used per game; they resemble each other.
const PER_GAME: usize = 3;

/// A file.
enum Source {
    /// Games with action values.
    Games { path: PathBuf, reader: FileReader },
    /// Positions in random order, and the index of the next one.
    Positions { all: Vec<Game>, next: usize },
}

/// Error of a root.
#[derive(Debug)]
pub enum RootsError {
    /// A data file cannot be read.
    Data(DataError),
    /// A file of positions cannot be used.
    Positions(OpeningsError),
}

impl fmt::Display for RootsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootsError::Data(why) => why.fmt(f),
            RootsError::Positions(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for RootsError {}

wraps! { RootsError: Data(DataError), Positions(OpeningsError) }

impl Source {
    /// Files named `.epd` or `.fen` contain positions.
    fn open(path: &Path, random: &mut Rng) -> Result<Source, RootsError> {
        if !path.extension().is_some_and(|end| end == "epd" || end == "fen") {
            return Ok(Source::Games { path: path.to_owned(), reader: FileReader::open(path)? });
        }
        let root = |opening: Opening| {
            let mode = opening.position.castles().mode();
            Game::new(opening.position, mode)
        };
        let mut all: Vec<Game> = openings::open(path, false)?.into_iter().map(root).collect();
        random.shuffle(&mut all);
        Ok(Source::Positions { all, next: 0 })
    }
}

/// Endless roots without history: cycles through the files, and restarts each at its end.
pub struct Roots {
    sources: Vec<Source>,
    turn: usize,
    /// Roots of the last game, reversed.
    ready: Vec<Game>,
    random: Rng,
}

impl Roots {
    /// Opens the files.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn open(files: &[PathBuf], seed: u64) -> Result<Roots, RootsError> {
        let mut random = Rng::from_state(seed);
        let open = |file: &PathBuf| Source::open(file, &mut random);
        let sources = files.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Roots { sources, turn: 0, ready: Vec::new(), random })
    }

    /// The next root; None if the files contain none.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn draw(&mut self) -> Result<Option<Game>, RootsError> {
        let mut ended = 0;
        while self.ready.is_empty() && ended <= self.sources.len() {
            let at = self.turn % self.sources.len().max(1);
            let Some(source) = self.sources.get_mut(at) else { return Ok(None) };
            self.turn += 1;
            match source {
                Source::Games { path, reader } => match reader.next() {
                    Some(game) => self.take(&game?),
                    None => {
                        ended += 1;
                        *reader = FileReader::open(path)?;
                    }
                },
                Source::Positions { all, next } => {
                    self.ready.extend(all.get(*next).cloned());
                    ended += usize::from(all.is_empty());
                    *next = (*next + 1) % all.len().max(1);
                }
            }
        }
        Ok(self.ready.pop())
    }

    fn take(&mut self, game: &data::Game) {
        let data::Game::Mavg(game) = game else { return };
        if game.header.index.is_multiple_of(HELD_OUT) {
            return;
        }
        let mut position = game.header.start.clone();
        let mode = CastlingMode::from_chess960(game.header.chess960);
        for record in &game.positions {
            if self.random.below(game.positions.len()) < PER_GAME {
                let root = Game::new(position.clone(), mode);
                self.ready.extend(has_choice(game, record, &root).then_some(root));
            }
            let Some(action) = canonical_move(&position, usize::from(record.played)) else {
                return;
            };
            position.play_unchecked(action);
        }
    }
}

/// More than one legal move, each with a value, in an undecided game.
fn has_choice(game: &MavgGame, record: &MavgPosition, at: &Game) -> bool {
    stored_values(game, record, at.position())
        .is_some_and(|values| values.len() > 1 && values.iter().all(|(_, value)| !value.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Chess;
    use train::data::FileWriter;
    use train::data::record::{Format, GameResult, Header, VALUE_UNKNOWN};

    #[test]
    fn roots_have_a_choice_and_restart_at_the_end() {
        let path = std::env::temp_dir().join(format!("mavka-roots-{}.mavg", std::process::id()));
        let mut writer = FileWriter::create(&path, Format::Mavg).unwrap();
        for _ in 0..3 {
            let header = Header::new(Chess::default(), false, GameResult::Drawn);
            let mut game = MavgGame::new(header);
            let mut values = [50; 20];
            values[7] = 66;
            game.push(0, (7, 7), 40, &values).unwrap();
            writer.write(&data::Game::Mavg(game)).unwrap();
        }
        writer.finish_file().unwrap();
        let mut roots = Roots::open(std::slice::from_ref(&path), 1).unwrap();
        for _ in 0..5 {
            let root = roots.draw().unwrap().expect("a root");
            assert_eq!(root.legal_actions().len(), 20);
        }
        let _ = std::fs::remove_file(&path);
        assert!(Roots::open(&[path], 1).is_err());
    }

    #[test]
    fn positions_of_a_file_are_roots_one_after_the_other_and_again() {
        let path = std::env::temp_dir().join(format!("mavka-roots-{}.epd", std::process::id()));
        let open = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Roots::open(std::slice::from_ref(&path), 1)
        };
        let lines = "8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - -\n7k/8/8/8/8/8/6PP/7K w - -\n";
        let mut roots = open(lines).unwrap();
        let drawn: Vec<String> = (0..4).map(|_| roots.draw().unwrap().unwrap().fen()).collect();
        assert_ne!(drawn[0], drawn[1]);
        assert_eq!(drawn[..2], drawn[2..]);
        assert!(open("").unwrap().draw().unwrap().is_none());
        let error = open("nonsense").err().unwrap().to_string();
        let _ = std::fs::remove_file(&path);
        assert!(error.contains("line 1") && error.contains(".epd"), "{error}");
    }

    #[test]
    fn decided_positions_and_those_without_all_values_are_no_roots() {
        let record_of = |score, values: &[u8]| {
            let header = Header::new(Chess::default(), false, GameResult::Drawn);
            let mut game = MavgGame::new(header);
            game.push(0, (0, 0), score, values).unwrap();
            has_choice(
                &game,
                &game.positions[0],
                &Game::new(Chess::default(), CastlingMode::Standard),
            )
        };
        assert!(record_of(40, &[50; 20]));
        assert!(!record_of(2_000, &[50; 20]));
        let mut some = [50; 20];
        some[3] = VALUE_UNKNOWN;
        assert!(!record_of(40, &some));
    }
}
