//! Writes the label formats, for data generation and for the tests' samples; reading returns the same records.

use super::error::DataError;
use super::record::{Format, Game, Header, NO_SCORE};
use shakmaty::EnPassantMode;
use shakmaty::fen::Fen;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// log2 of the window of the files we write: 64 MiB.
const WINDOW_LOG: u32 = 26;
/// zstd compression level: files are read far more often than written.
const LEVEL: i32 = 12;

/// Writes games to a stream of one format. An unfinished stream ends in a whole game or in a truncated one,
/// which readers drop.
pub struct GameWriter<W> {
    inner: W,
    format: Format,
    file: Arc<str>,
    offset: u64,
    buffer: Vec<u8>,
}

/// A writer of a compressed file; see [`FileWriter::finish_file`].
pub type FileWriter = GameWriter<zstd::Encoder<'static, File>>;

impl FileWriter {
    /// Creates a zstd-compressed file.
    ///
    /// # Errors
    /// If it cannot be created or written.
    pub fn create(path: &Path, format: Format) -> Result<FileWriter, DataError> {
        let name: Arc<str> = path.display().to_string().into();
        let encoder = File::create(path).and_then(|file| {
            let mut encoder = zstd::Encoder::new(file, LEVEL)?;
            encoder.window_log(WINDOW_LOG)?;
            encoder.long_distance_matching(true)?;
            Ok(encoder)
        });
        match encoder {
            Ok(encoder) => GameWriter::new(encoder, format, &name),
            Err(source) => Err(DataError::Io { file: name, offset: 0, source }),
        }
    }

    /// Writes the end of the compressed stream.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish_file(self) -> Result<(), DataError> {
        let (file, offset) = (self.file, self.offset);
        self.inner.finish().map(drop).map_err(|source| DataError::Io { file, offset, source })
    }
}

impl<W: Write> GameWriter<W> {
    /// Writes the magic; `name` is for messages.
    ///
    /// # Errors
    /// If `inner` cannot be written.
    pub fn new(inner: W, format: Format, name: &str) -> Result<GameWriter<W>, DataError> {
        let buffer = format.magic().to_vec();
        let mut writer = GameWriter { inner, format, file: name.into(), offset: 0, buffer };
        writer.flush()?;
        Ok(writer)
    }

    /// Appends a game.
    ///
    /// # Errors
    /// If it is of the other format, has more than 65,535 positions (nothing of it is written in these cases),
    /// or the stream cannot be written.
    pub fn write(&mut self, game: &Game) -> Result<(), DataError> {
        let header = game.header();
        let Ok(length) = u16::try_from(game.len()) else {
            return Err(header.fault(
                self.offset,
                "a game of at most 65,535 positions",
                game.len().to_string(),
            ));
        };
        self.buffer.clear();
        match (game, self.format) {
            (Game::Mavg(game), Format::Mavg | Format::SelfPlay) => {
                let searched = self.format == Format::SelfPlay;
                if searched && !game.has_visits() {
                    let found = "a MAVG1 game".to_owned();
                    return Err(header.fault(self.offset, "a SELF1 game", found));
                }
                self.buffer.push(u8::from(header.chess960));
                self.fen(header);
                self.buffer.push(header.result.byte());
                self.buffer.extend(length.to_le_bytes());
                for record in &game.positions {
                    self.buffer.extend([record.legal, record.best, record.played]);
                    self.buffer.extend(record.score.to_le_bytes());
                    self.buffer.extend(game.values(record));
                    if searched {
                        self.buffer.extend(game.visits(record));
                    }
                }
            }
            (Game::Pvgr(game), Format::Pvgr) => {
                self.buffer.extend([u8::from(header.chess960), header.result.byte()]);
                self.fen(header);
                self.buffer.extend(length.to_le_bytes());
                for record in &game.plies {
                    let line = game.line(record);
                    self.buffer.push(record.played);
                    self.buffer.extend(record.score.unwrap_or(NO_SCORE).to_le_bytes());
                    self.buffer.extend([record.depth, line.len() as u8]);
                    self.buffer.extend(line);
                }
            }
            (Game::Pvgr(_), Format::Mavg) => {
                return Err(header.fault(self.offset, "a MAVG1 game", "a PVGR1 game".into()));
            }
            (Game::Pvgr(_), Format::SelfPlay) => {
                return Err(header.fault(self.offset, "a SELF1 game", "a PVGR1 game".into()));
            }
            (Game::Mavg(_), Format::Pvgr) => {
                return Err(header.fault(self.offset, "a PVGR1 game", "a MAVG1 game".into()));
            }
        }
        self.flush()
    }

    /// The underlying stream.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// Length and text of the FEN, at most 100 bytes.
    fn fen(&mut self, header: &Header) {
        let fen = Fen::from_position(&header.start, EnPassantMode::Legal).to_string();
        self.buffer.push(fen.len() as u8);
        self.buffer.extend(fen.as_bytes());
    }

    fn flush(&mut self) -> Result<(), DataError> {
        self.inner.write_all(&self.buffer).map_err(|source| DataError::Io {
            file: self.file.clone(),
            offset: self.offset,
            source,
        })?;
        self.offset += self.buffer.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::GameReader;
    use crate::data::testing::{mavg_bytes, pvgr_bytes, self_play_bytes, unpack};

    #[test]
    fn what_was_read_is_written_again_byte_by_byte() {
        for bytes in [mavg_bytes(11, 6), pvgr_bytes(11, 6), self_play_bytes(11, 6)] {
            let reader = GameReader::new(bytes.as_slice(), "sample").expect("magic");
            let mut writer = GameWriter::new(Vec::new(), reader.format(), "copy").expect("magic");
            for game in reader {
                writer.write(&game.expect("game")).expect("write");
            }
            assert_eq!(writer.into_inner(), bytes);
        }
    }

    #[test]
    fn the_other_format_is_refused() {
        let bytes = mavg_bytes(12, 1);
        let game = GameReader::new(bytes.as_slice(), "sample")
            .expect("magic")
            .next()
            .expect("a game")
            .expect("game");
        let mut writer = GameWriter::new(Vec::new(), Format::Pvgr, "copy").expect("magic");
        assert!(
            writer.write(&game).expect_err("refused").to_string().contains("expected a PVGR1 game")
        );
        assert_eq!(writer.into_inner(), Format::Pvgr.magic());
        let mut writer = GameWriter::new(Vec::new(), Format::SelfPlay, "copy").expect("magic");
        let refused = writer.write(&game).expect_err("no visits").to_string();
        assert!(refused.contains("expected a SELF1 game, found a MAVG1 game"), "{refused}");
    }

    #[test]
    fn a_finished_file_is_read_back() {
        let bytes = pvgr_bytes(13, 4);
        let path = std::env::temp_dir().join(format!("mavka-write-{}.zst", std::process::id()));
        let mut writer = FileWriter::create(&path, Format::Pvgr).expect("create");
        for game in GameReader::new(bytes.as_slice(), "sample").expect("magic") {
            writer.write(&game.expect("game")).expect("write");
        }
        writer.finish_file().expect("finish");
        assert_eq!(unpack(&path).len(), 4);
        std::fs::remove_file(&path).expect("remove");
    }
}
