//! Reads the label formats. A stream is read to its last whole game; a game truncated by the end of the stream
//! is dropped and reported by [`GameReader::cut`]. Anything else that is malformed is a [`DataError`] with its
//! offset, never a panic.

use super::error::DataError;
use super::record::{Format, Game, GameResult, Header, MavgGame, PvgrGame};
use chess::composed::composed;
use nn::files::open_regular;
use shakmaty::{CastlingMode, Chess, fen::Fen};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// log2 of the largest window a file may need; ours are written with 64 MiB.
pub(super) const WINDOW_LOG_MAX: u32 = 27;
/// Decompressed bytes per read.
pub(super) const BUFFER: usize = 1 << 18;

/// A byte stream with a position and a name. A truncated stream reads as "end", not as an error.
struct Input<R> {
    inner: R,
    offset: u64,
    file: Arc<str>,
}

impl<R: Read> Input<R> {
    /// Fills `buffer`; returns how many bytes there were before the end.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, DataError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.inner.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // zstd reports this for a frame without an end: the writer was stopped.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(source) => {
                    let offset = self.offset + filled as u64;
                    return Err(DataError::Io { file: self.file.clone(), offset, source });
                }
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// The next `N` bytes, or None at the end.
    fn take<const N: usize>(&mut self) -> Result<Option<[u8; N]>, DataError> {
        let mut buffer = [0; N];
        Ok((self.fill(&mut buffer)? == N).then_some(buffer))
    }

    fn fault(&self, offset: u64, expected: &'static str, found: String) -> DataError {
        DataError::Format { file: self.file.clone(), offset, expected, found }
    }
}

/// Iterates over the whole games of a stream. After an error it ends.
pub struct GameReader<R> {
    input: Input<R>,
    format: Format,
    games: u64,
    cut: bool,
    done: bool,
}

/// A reader of a compressed file.
pub type FileReader = GameReader<BufReader<zstd::Decoder<'static, BufReader<File>>>>;

impl FileReader {
    /// Opens a zstd-compressed file of any format.
    ///
    /// # Errors
    /// If the file cannot be opened or does not begin with a known magic.
    pub fn open(path: &Path) -> Result<FileReader, DataError> {
        let name: Arc<str> = path.display().to_string().into();
        let decoder = open_regular(path).and_then(zstd::Decoder::new).and_then(|mut decoder| {
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            Ok(decoder)
        });
        match decoder {
            Ok(decoder) => GameReader::new(BufReader::with_capacity(BUFFER, decoder), &name),
            Err(source) => Err(DataError::Io { file: name, offset: 0, source }),
        }
    }
}

impl<R: Read> GameReader<R> {
    /// Reads the magic of a decompressed stream; `name` is for messages.
    ///
    /// # Errors
    /// If the magic is no format's.
    pub fn new(inner: R, name: &str) -> Result<GameReader<R>, DataError> {
        let mut input = Input { inner, offset: 0, file: name.into() };
        let mut magic = [0; 6];
        let length = input.fill(&mut magic)?;
        let Some(format) = Format::ALL.into_iter().find(|format| *format.magic() == magic) else {
            let found = format!("\"{}\"", magic[..length].escape_ascii());
            return Err(input.fault(0, "the magic MAVG1, PVGR1 or SELF1", found));
        };
        Ok(GameReader { input, format, games: 0, cut: false, done: false })
    }

    /// The stream's format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Number of whole games read.
    #[must_use]
    pub fn games(&self) -> u64 {
        self.games
    }

    /// True once the stream has ended inside a game, which was dropped.
    #[must_use]
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// Refuses a stream that ended inside a game.
    ///
    /// # Errors
    /// Names the byte where it ended.
    pub(super) fn check_whole(&self) -> Result<(), DataError> {
        if self.cut {
            let found = "the end of the stream".to_owned();
            return Err(self.input.fault(self.input.offset, "the rest of a game", found));
        }
        Ok(())
    }

    /// The next whole game; None at the end of the stream or in a cut game.
    fn read(&mut self) -> Result<Option<Game>, DataError> {
        match self.format {
            Format::Mavg | Format::SelfPlay => Ok(self.read_mavg()?.map(Game::Mavg)),
            Format::Pvgr => Ok(self.read_pvgr()?.map(Game::Pvgr)),
        }
    }

    fn read_mavg(&mut self) -> Result<Option<MavgGame>, DataError> {
        let Some([chess960, length]) = self.input.take()? else {
            return Ok(None);
        };
        let Some(start) = self.read_fen(length)? else {
            return Ok(None);
        };
        let at = self.input.offset;
        let Some([result, n0, n1]) = self.input.take()? else {
            return Ok(None);
        };
        let mut game = MavgGame::new(self.header(chess960, start, result, at)?);
        let n = usize::from(u16::from_le_bytes([n0, n1]));
        game.reserve(n);
        let searched = self.format == Format::SelfPlay;
        let mut buffer = [0; 2 * 255];
        for _ in 0..n {
            let offset = self.input.offset;
            let Some([legal, best, played, s0, s1]) = self.input.take()? else {
                return Ok(None);
            };
            let legal = usize::from(legal);
            let moves = &mut buffer[..if searched { 2 * legal } else { legal }];
            if self.input.fill(moves)? < moves.len() {
                return Ok(None);
            }
            let (values, visits) = moves.split_at(legal);
            let (choice, score) = ((best, played), i16::from_le_bytes([s0, s1]));
            if searched {
                game.push_searched(offset, choice, score, values, visits)?;
            } else {
                game.push(offset, choice, score, values)?;
            }
        }
        Ok(Some(game))
    }

    fn read_pvgr(&mut self) -> Result<Option<PvgrGame>, DataError> {
        let at = self.input.offset;
        let Some([chess960, result, length]) = self.input.take()? else {
            return Ok(None);
        };
        let Some(start) = self.read_fen(length)? else {
            return Ok(None);
        };
        let mut game = PvgrGame::new(self.header(chess960, start, result, at + 1)?);
        let Some(n) = self.input.take()? else {
            return Ok(None);
        };
        let n = usize::from(u16::from_le_bytes(n));
        game.reserve(n);
        let mut buffer = [0; 255];
        for _ in 0..n {
            let offset = self.input.offset;
            let Some([played, s0, s1, depth, length]) = self.input.take()? else {
                return Ok(None);
            };
            let line = &mut buffer[..usize::from(length)];
            if self.input.fill(line)? < line.len() {
                return Ok(None);
            }
            game.push(offset, played, Some(i16::from_le_bytes([s0, s1])), depth, line)?;
        }
        Ok(Some(game))
    }

    fn read_fen(&mut self, length: u8) -> Result<Option<Chess>, DataError> {
        let offset = self.input.offset;
        let mut buffer = [0; 255];
        let fen = &mut buffer[..usize::from(length)];
        if self.input.fill(fen)? < fen.len() {
            return Ok(None);
        }
        let start = Fen::from_ascii(fen).map_err(|error| error.to_string()).and_then(|fen| {
            let start = fen.into_position(CastlingMode::Chess960).or_else(composed);
            start.map_err(|error| error.to_string())
        });
        match start {
            Ok(start) => Ok(Some(start)),
            Err(why) => {
                let found = format!("\"{}\" ({why})", fen.escape_ascii());
                Err(self.input.fault(offset, "the FEN of a legal position", found))
            }
        }
    }

    fn header(&self, chess960: u8, start: Chess, result: u8, at: u64) -> Result<Header, DataError> {
        let result = GameResult::from_byte(result)
            .ok_or_else(|| self.input.fault(at, "a result of 0..=3", result.to_string()))?;
        Ok(Header {
            file: self.input.file.clone(),
            index: self.games,
            chess960: chess960 != 0,
            start,
            result,
        })
    }
}

impl<R: Read> Iterator for GameReader<R> {
    type Item = Result<Game, DataError>;

    fn next(&mut self) -> Option<Result<Game, DataError>> {
        if self.done {
            return None;
        }
        let begin = self.input.offset;
        match self.read() {
            Ok(Some(game)) => {
                self.games += 1;
                Some(Ok(game))
            }
            Ok(None) => {
                self.done = true;
                self.cut = self.input.offset > begin;
                None
            }
            Err(error) => {
                self.done = true;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests;
