//! Positions with two labels each: that of the data file they come from, and another engine's. The file grows by
//! frames, so that a killed run resumes where it stopped.
//!
//! ```text
//! file = "MAVR1\n", u16 length, origin of the new labels (text), then pairs of games as MAVG1 has them, each of one
//!        position: first with the old label, then with the new one
//! ```

use super::chunks::Frames;
use super::error::DataError;
use super::read::{BUFFER, GameReader, WINDOW_LOG_MAX};
use super::record::{Format, Game, MavgGame};
use super::write::GameWriter;
use nn::files::open_regular;
use std::io::{BufReader, Chain, ErrorKind, Read};
use std::path::Path;

const MAGIC: &[u8; 6] = b"MAVR1\n";

/// A position with both labels.
#[derive(Clone, Debug)]
pub struct Relabelled {
    /// From the data file: a game of one position.
    pub old: MavgGame,
    /// The same position with the new label.
    pub new: MavgGame,
}

impl Relabelled {
    /// Best move and score of the new label, values of the other moves of the old one.
    ///
    /// # Errors
    /// The labels belong to positions with different numbers of legal moves.
    pub fn with_old_moves(&self) -> Result<MavgGame, DataError> {
        let mut game = MavgGame::new(self.old.header.clone());
        for (old, new) in self.old.positions.iter().zip(&self.new.positions) {
            let values = self.old.values(old);
            game.push(old.offset, (new.best, old.played), new.score, values)?;
        }
        Ok(game)
    }
}

/// Appends positions to a file.
pub struct RelabelWriter(Frames);

impl RelabelWriter {
    /// Opens a file for appending, or creates it; also returns the number of positions in it. `origin` says how the
    /// new labels are made.
    ///
    /// # Errors
    /// The file cannot be read or written, is written by another process, holds something else or labels of another
    /// origin, or is damaged before its last frame. It is then unchanged.
    pub fn open(path: &Path, origin: &str) -> Result<(RelabelWriter, u64), DataError> {
        let name = path.display().to_string();
        let length = u16::try_from(origin.len()).map_err(|_| {
            DataError::Config(format!("an origin of at most 65,535 bytes, found {}", origin.len()))
        })?;
        let (mut frames, held) = Frames::open(path, MAGIC, |content| {
            let content = BufReader::with_capacity(BUFFER, content);
            let Some(mut reader) = RelabelReader::new(content, &name)? else { return Ok(None) };
            if reader.origin != origin {
                return Err(DataError::Config(format!(
                    "{name} holds labels of another origin: {}, asked for: {origin}",
                    reader.origin
                )));
            }
            reader.by_ref().try_for_each(|position| position.map(drop))?;
            reader.games.check_whole()?;
            Ok(Some(reader.games.games() / 2))
        })?;
        if held.is_none() {
            let content = [MAGIC, &length.to_le_bytes()[..], origin.as_bytes()].concat();
            frames.write(&content)?;
        }
        Ok((RelabelWriter(frames), held.unwrap_or_default()))
    }

    /// Appends positions as one frame; no positions make no frame.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, positions: &[Relabelled]) -> Result<(), DataError> {
        if positions.is_empty() {
            return Ok(());
        }
        let mut writer = GameWriter::new(Vec::new(), Format::Mavg, "new labels")?;
        for Relabelled { old, new } in positions {
            writer.write(&Game::Mavg(old.clone()))?;
            writer.write(&Game::Mavg(new.clone()))?;
        }
        // Both magics have six bytes, and the frame leaves them out.
        self.0.write(&writer.into_inner())
    }
}

/// Iterates over the positions of a file. After an error it ends.
pub struct RelabelReader<R> {
    /// How the new labels were made.
    pub origin: String,
    games: GameReader<Chain<&'static [u8], R>>,
}

/// Opens a file.
///
/// # Errors
/// It cannot be read, or holds something else.
pub fn open(path: &Path) -> Result<RelabelReader<impl Read + use<>>, DataError> {
    let name = path.display().to_string();
    let decoder = open_regular(path).and_then(zstd::Decoder::new).and_then(|mut decoder| {
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        Ok(BufReader::with_capacity(BUFFER, decoder))
    });
    let decoder = decoder.map_err(|source| io(&name, 0, source))?;
    RelabelReader::new(decoder, &name)?
        .ok_or_else(|| fault(&name, MAGIC.len(), "the origin of the labels", "the end".to_owned()))
}

impl<R: Read> RelabelReader<R> {
    /// None if the content ends after the magic, as that of a run killed at once.
    fn new(mut content: R, name: &str) -> Result<Option<RelabelReader<R>>, DataError> {
        let mut magic = Vec::new();
        let read = content.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic);
        read.map_err(|source| io(name, 0, source))?;
        if magic != MAGIC {
            let found = format!("\"{}\"", magic.escape_ascii());
            return Err(fault(name, 0, "the magic MAVR1", found));
        }
        let mut length = [0; 2];
        match content.read_exact(&mut length) {
            Ok(()) => {}
            Err(why) if why.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(source) => return Err(io(name, MAGIC.len(), source)),
        }
        let mut origin = vec![0; usize::from(u16::from_le_bytes(length))];
        let at = MAGIC.len() + length.len();
        content.read_exact(&mut origin).map_err(|source| io(name, at, source))?;
        let origin = String::from_utf8(origin)
            .map_err(|why| fault(name, at, "an origin in UTF-8", why.to_string()))?;
        let magic: &'static [u8] = Format::Mavg.magic();
        let games = GameReader::new(magic.chain(content), name)?;
        Ok(Some(RelabelReader { origin, games }))
    }

    fn pair(&mut self) -> Option<Result<Relabelled, DataError>> {
        let old = match self.games.next()? {
            Ok(game) => game,
            Err(why) => return Some(Err(why)),
        };
        // A file cut short ends before its last pair.
        match (old, self.games.next()?) {
            (Game::Mavg(old), Ok(Game::Mavg(new))) => {
                let same = old.header.start == new.header.start && old.positions.len() == 1;
                let whole = same && new.positions.len() == 1;
                Some(if whole {
                    Ok(Relabelled { old, new })
                } else {
                    let found = "another position".to_owned();
                    Err(new.header.fault(0, "the new label of the position before", found))
                })
            }
            (_, Err(why)) => Some(Err(why)),
            // The reader of MAVG1 reads nothing else.
            (_, Ok(_)) => None,
        }
    }
}

impl<R: Read> Iterator for RelabelReader<R> {
    type Item = Result<Relabelled, DataError>;

    fn next(&mut self) -> Option<Result<Relabelled, DataError>> {
        self.pair()
    }
}

fn io(name: &str, offset: usize, source: std::io::Error) -> DataError {
    DataError::Io { file: name.into(), offset: offset as u64, source }
}

fn fault(name: &str, offset: usize, expected: &'static str, found: String) -> DataError {
    DataError::Format { file: name.into(), offset: offset as u64, expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::record::{GameResult, Header};
    use shakmaty::Chess;
    use std::fs;
    use std::path::PathBuf;

    fn path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("mavka-mavr-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        path
    }

    fn game(best: u8, score: i16, value: u8) -> MavgGame {
        let mut game = MavgGame::new(Header::new(Chess::default(), false, GameResult::Drawn));
        game.push(0, (best, 7), score, &[value; 20]).unwrap();
        game
    }

    fn position(score: i16) -> Relabelled {
        Relabelled { old: game(1, score, 60), new: game(2, score + 1, 70) }
    }

    fn scores(path: &Path) -> Vec<(i16, i16)> {
        let positions = open(path).unwrap().map(Result::unwrap);
        positions.map(|both| (both.old.positions[0].score, both.new.positions[0].score)).collect()
    }

    #[test]
    fn a_file_cut_anywhere_is_continued_with_both_labels() {
        let path = path("cut");
        let (mut writer, held) = RelabelWriter::open(&path, "an engine").unwrap();
        assert_eq!(held, 0);
        writer.write(&[position(10), position(20)]).unwrap();
        writer.write(&[position(30)]).unwrap();
        drop(writer);
        let bytes = fs::read(&path).unwrap();
        for cut in 0..=bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            let (mut writer, held) = RelabelWriter::open(&path, "an engine").unwrap();
            assert!([0, 2, 3].contains(&held), "{held} at {cut}");
            writer.write(&[position(50)]).unwrap();
            drop(writer);
            let mut expected = [10, 20, 30][..held as usize].to_vec();
            expected.push(50);
            let expected: Vec<_> = expected.into_iter().map(|old| (old, old + 1)).collect();
            assert_eq!(scores(&path), expected, "cut at {cut}");
        }
        assert_eq!(open(&path).unwrap().origin, "an engine");
        let why = RelabelWriter::open(&path, "another").err().unwrap().to_string();
        fs::remove_file(&path).unwrap();
        assert!(why.contains("an engine") && why.contains("another"), "{why}");
    }

    #[test]
    fn the_root_label_alone_may_be_taken() {
        let both = position(10);
        let game = both.with_old_moves().unwrap();
        let record = game.positions[0];
        assert_eq!((record.best, record.played, record.score), (2, 7, 11));
        assert_eq!(game.values(&record), [60; 20]);
    }

    #[test]
    fn other_files_are_refused_and_left_as_they_are() {
        let path = path("other");
        let packed = zstd::encode_all(&b"MAVG1\n"[..], 1).unwrap();
        for content in [&packed[..], b"letters to a friend"] {
            fs::write(&path, content).unwrap();
            assert!(open(&path).is_err() && RelabelWriter::open(&path, "x").is_err());
            assert_eq!(fs::read(&path).unwrap(), content);
        }
        fs::remove_file(&path).unwrap();
    }
}
