//! Positions of labelled games to think about: what a decoder that weighs is taught with, and where the walks to
//! leaves begin.

use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::measure::tune::label::stored_values;
use nn::data::record::MavgGame;
use nn::data::{self, DataError, FileReader};
use nn::encode::moves::canonical_move;
use nn::rng::Rng;
use shakmaty::{CastlingMode, Position};
use std::path::PathBuf;

/// Every so many games of a file one is held out, as from the network's own training.
const HELD_OUT: u64 = 50;
/// Positions taken of each game, on average; they resemble each other.
const OF_GAME: usize = 3;

/// A position with the annotator's value of every legal move, for its mover.
#[derive(Clone, Debug)]
pub struct Root {
    /// Without its past.
    pub game: Game,
    /// The annotator's best move first, then the others in canonical order, each with its win probability.
    pub values: Vec<(Action, f32)>,
}

/// Roots without end: the games of the files in turn, from the start again after the last.
pub struct Roots {
    files: Vec<PathBuf>,
    readers: Vec<FileReader>,
    turn: usize,
    /// Roots of the last game, in reverse.
    ready: Vec<Root>,
    random: Rng,
}

impl Roots {
    /// Opens the files.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn open(files: &[PathBuf], seed: u64) -> Result<Roots, DataError> {
        let readers = files.iter().map(|file| FileReader::open(file)).collect::<Result<_, _>>()?;
        let random = Rng::from_state(seed);
        Ok(Roots { files: files.to_vec(), readers, turn: 0, ready: Vec::new(), random })
    }

    /// The next one; None if the files hold none.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn draw(&mut self) -> Result<Option<Root>, DataError> {
        let mut ended = 0;
        while self.ready.is_empty() && ended <= self.files.len() {
            let at = self.turn % self.files.len().max(1);
            let Some(reader) = self.readers.get_mut(at) else { return Ok(None) };
            self.turn += 1;
            match reader.next() {
                Some(game) => self.take(&game?),
                None => {
                    ended += 1;
                    *reader = FileReader::open(&self.files[at])?;
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
            if self.random.below(game.positions.len()) < OF_GAME {
                self.ready.extend(root(game, record, Game::new(position.clone(), mode)));
            }
            let Some(action) = canonical_move(&position, usize::from(record.played)) else {
                return;
            };
            position.play_unchecked(action);
        }
    }
}

/// None where there is no choice, one legal move or a game that is decided, or where not every move has a value.
fn root(game: &MavgGame, record: &data::record::MavgPosition, at: Game) -> Option<Root> {
    let mut values = stored_values(game, record, at.position())?;
    if values.len() < 2 || values.iter().any(|(_, value)| value.is_nan()) {
        return None;
    }
    values[..=usize::from(record.best)].rotate_right(1);
    Some(Root { game: at, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::data::FileWriter;
    use nn::data::label::win_probability;
    use nn::data::record::{Format, GameResult, Header};
    use nn::encode::canonical_moves;
    use shakmaty::Chess;

    #[test]
    fn roots_have_the_best_move_first_and_begin_again_at_the_end() {
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
            let expected = Action::new(canonical_moves(root.game.position())[7]);
            assert_eq!(root.values[0].0, expected);
            assert!((root.values[0].1 - win_probability(40)).abs() < 1e-6);
            assert_eq!(root.values.len(), 20);
        }
        let _ = std::fs::remove_file(&path);
        assert!(Roots::open(&[path], 1).is_err());
    }
}
