//! Reads the two label formats. A stream is read to its last whole game; a game that the end of the
//! stream cuts is dropped and reported by [`GameReader::cut`]. Anything else that does not fit is a
//! [`DataError`] with its place, never a panic.

use super::error::DataError;
use super::record::{Format, Game, Header, MavgGame, PvgrGame, UNKNOWN_RESULT};
use shakmaty::{CastlingMode, Chess, fen::Fen};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// log2 of the largest window a file may need; ours are written with 64 MiB.
const WINDOW_LOG_MAX: u32 = 27;
/// Decompressed bytes read at once.
const BUFFER: usize = 1 << 18;

/// Bytes with a position and a name. A stream that was cut says "end", not "error".
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
                // zstd's word for a frame whose end was never written: the writer was stopped.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(source) => {
                    let offset = self.offset + filled as u64;
                    return Err(DataError::Io {
                        file: self.file.clone(),
                        offset,
                        source,
                    });
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
        DataError::Format {
            file: self.file.clone(),
            offset,
            expected,
            found,
        }
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
    /// Opens a zstd-compressed file of either format.
    ///
    /// # Errors
    /// If the file cannot be opened or does not begin with a known magic.
    pub fn open(path: &Path) -> Result<FileReader, DataError> {
        let name: Arc<str> = path.display().to_string().into();
        let decoder = File::open(path)
            .and_then(zstd::Decoder::new)
            .and_then(|mut decoder| {
                decoder.window_log_max(WINDOW_LOG_MAX)?;
                Ok(decoder)
            });
        match decoder {
            Ok(decoder) => GameReader::new(BufReader::with_capacity(BUFFER, decoder), &name),
            Err(source) => Err(DataError::Io {
                file: name,
                offset: 0,
                source,
            }),
        }
    }
}

impl<R: Read> GameReader<R> {
    /// Reads the magic of a decompressed stream; `name` is for messages.
    ///
    /// # Errors
    /// If the magic is neither format's.
    pub fn new(inner: R, name: &str) -> Result<GameReader<R>, DataError> {
        let mut input = Input {
            inner,
            offset: 0,
            file: name.into(),
        };
        let mut magic = [0; 6];
        let length = input.fill(&mut magic)?;
        let Some(format) = [Format::Mavg, Format::Pvgr]
            .into_iter()
            .find(|format| *format.magic() == magic)
        else {
            let found = format!("\"{}\"", magic[..length].escape_ascii());
            return Err(input.fault(0, "the magic MAVG1 or PVGR1", found));
        };
        Ok(GameReader {
            input,
            format,
            games: 0,
            cut: false,
            done: false,
        })
    }

    /// The stream's format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// How many whole games were read.
    #[must_use]
    pub fn games(&self) -> u64 {
        self.games
    }

    /// True once the stream has ended inside a game, which was dropped.
    #[must_use]
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// The next whole game; None at the end of the stream or in a cut game.
    fn read(&mut self) -> Result<Option<Game>, DataError> {
        match self.format {
            Format::Mavg => Ok(self.read_mavg()?.map(Game::Mavg)),
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
        game.positions.reserve(n);
        let mut buffer = [0; 255];
        for _ in 0..n {
            let offset = self.input.offset;
            let Some([legal, best, played, s0, s1]) = self.input.take()? else {
                return Ok(None);
            };
            let values = &mut buffer[..usize::from(legal)];
            if self.input.fill(values)? < values.len() {
                return Ok(None);
            }
            game.push(offset, (best, played), i16::from_le_bytes([s0, s1]), values)?;
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
        game.plies.reserve(n);
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
            game.push(
                offset,
                played,
                Some(i16::from_le_bytes([s0, s1])),
                depth,
                line,
            )?;
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
        let start = Fen::from_ascii(fen)
            .map_err(|error| error.to_string())
            .and_then(|fen| {
                fen.into_position(CastlingMode::Chess960)
                    .map_err(|error| error.to_string())
            });
        match start {
            Ok(start) => Ok(Some(start)),
            Err(why) => {
                let found = format!("\"{}\" ({why})", fen.escape_ascii());
                Err(self
                    .input
                    .fault(offset, "the FEN of a legal position", found))
            }
        }
    }

    fn header(&self, chess960: u8, start: Chess, result: u8, at: u64) -> Result<Header, DataError> {
        if result > UNKNOWN_RESULT {
            return Err(self
                .input
                .fault(at, "a result of 0..=3", result.to_string()));
        }
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
mod tests {
    use super::*;
    use crate::data::testing::{mavg_bytes, pvgr_bytes, unpack};

    fn games(bytes: &[u8]) -> (Vec<Game>, Option<DataError>, bool) {
        let mut reader = GameReader::new(bytes, "sample").expect("magic");
        let mut games = Vec::new();
        for game in &mut reader {
            match game {
                Ok(game) => games.push(game),
                Err(error) => return (games, Some(error), reader.cut()),
            }
        }
        (games, None, reader.cut())
    }

    #[test]
    fn any_cut_gives_the_whole_games_before_it_and_no_error() {
        for bytes in [mavg_bytes(1, 3), pvgr_bytes(1, 3)] {
            let (whole, error, cut) = games(&bytes);
            assert_eq!((whole.len(), error.is_none(), cut), (3, true, false));
            let mut ends = 0;
            for length in 6..bytes.len() {
                let (some, error, cut) = games(&bytes[..length]);
                assert!(error.is_none(), "cut at {length}: {error:?}");
                assert!(some.len() < 3);
                ends += usize::from(!cut);
            }
            assert_eq!(
                ends, 3,
                "only the ends of the magic and of the first two games are no cuts"
            );
        }
    }

    #[test]
    fn an_unfinished_zstd_frame_is_a_cut() {
        let bytes = mavg_bytes(2, 40);
        let packed = zstd::encode_all(bytes.as_slice(), 1).expect("pack");
        let half = &packed[..packed.len() - 3];
        let reader = GameReader::new(zstd::Decoder::new(half).expect("decoder"), "sample");
        // A short stream is one block: then not even the magic is there, and that is said.
        match reader {
            Ok(mut reader) => assert!((&mut reader).all(|game| game.is_ok())),
            Err(error) => assert!(error.to_string().contains("the magic"), "{error}"),
        }
    }

    #[test]
    fn damaged_zstd_is_an_error_that_names_the_file() {
        let mut packed = zstd::encode_all(mavg_bytes(3, 40).as_slice(), 1).expect("pack");
        let middle = packed.len() / 2;
        packed[4..middle].fill(0xa5);
        let text = match GameReader::new(
            zstd::Decoder::new(packed.as_slice()).expect("decoder"),
            "sample",
        ) {
            Err(error) => error.to_string(),
            Ok(reader) => reader
                .filter_map(Result::err)
                .next()
                .expect("an error")
                .to_string(),
        };
        assert!(text.starts_with("sample: "), "{text}");
    }

    #[test]
    fn messages_name_the_byte_and_what_was_expected() {
        let bytes = mavg_bytes(4, 2);
        let (whole, ..) = games(&bytes);
        let Game::Mavg(game) = &whole[1] else {
            panic!("format")
        };
        let at = game.positions[3].offset as usize;
        let damage = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            games(&bytes).1.expect("an error").to_string()
        };
        let say = |at: usize, what: &str| {
            format!("sample: byte {at} of the decompressed stream: expected {what}")
        };
        assert!(damage(at + 1, 230).starts_with(&say(at + 1, "the index of a legal move")));
        assert!(damage(at + 2, 230).starts_with(&say(at + 2, "the index of a legal move")));
        assert!(damage(at + 5, 128).starts_with(&say(at + 5, "a win probability of 0..=127")));
        assert!(damage(8, b'x').starts_with(&say(8, "the FEN of a legal position")));
        let result = 8 + usize::from(bytes[7]);
        assert!(damage(result, 4).starts_with(&say(result, "a result of 0..=3")));
        let error = GameReader::new(&b"MAVG2\n"[..], "sample")
            .err()
            .expect("an error")
            .to_string();
        assert_eq!(
            error,
            say(0, "the magic MAVG1 or PVGR1, found \"MAVG2\\n\"")
        );
    }

    #[test]
    fn any_changed_byte_is_read_or_refused_without_panic() {
        for bytes in [mavg_bytes(5, 2), pvgr_bytes(5, 2)] {
            for at in 6..bytes.len() {
                for change in [1, 0x40, 0xff] {
                    let mut bytes = bytes.clone();
                    bytes[at] ^= change;
                    let _ = games(&bytes);
                }
            }
        }
    }

    #[test]
    fn packed_files_are_read() {
        let path = std::env::temp_dir().join(format!("mavka-read-{}.zst", std::process::id()));
        std::fs::write(
            &path,
            zstd::encode_all(pvgr_bytes(6, 5).as_slice(), 1).expect("pack"),
        )
        .expect("write");
        assert_eq!(unpack(&path).len(), 5);
        std::fs::remove_file(&path).expect("remove");
        let error = FileReader::open(&path).err().expect("an error").to_string();
        assert!(error.contains("mavka-read-"), "{error}");
    }
}
