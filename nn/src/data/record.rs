//! Readers and writers of the two label formats, MAVG1 and PVGR1: whole games as typed records. A
//! stream is read to its last whole game; a game that the end of the stream cuts is dropped and
//! counted. Anything else that does not fit is a [`DataError`] with its place. No example is made here.

use super::error::DataError;
use crate::encode::moves::canonical_move;
use shakmaty::{CastlingMode, Chess, Position, fen::Fen};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// First bytes of a file with action values.
pub const MAVG_MAGIC: &[u8; 6] = b"MAVG1\n";
/// First bytes of a file with games and principal variations.
pub const PVGR_MAGIC: &[u8; 6] = b"PVGR1\n";
/// log2 of the largest window a file may need; the files are written with 64 MiB.
pub const WINDOW_LOG_MAX: u32 = 27;
/// A score that says "no score".
pub const NO_SCORE: i16 = i16::MAX;

/// What both formats say of a game, and where it was found.
#[derive(Clone, Debug)]
pub struct Header {
    /// The stream's name, for messages.
    pub file: Arc<str>,
    /// How many games came before it in its stream.
    pub index: u64,
    /// The writer marked the game as Chess960.
    pub chess960: bool,
    pub start: Chess,
    /// 0 = Black won, 1 = draw, 2 = White won, 3 = unknown.
    pub result: u8,
}

impl Header {
    /// An error at `offset` of the stream this game came from.
    pub(super) fn fault(&self, offset: u64, expected: &'static str, found: String) -> DataError {
        DataError::Format {
            file: self.file.clone(),
            offset,
            expected,
            found,
        }
    }

    /// Plays the `index`-th legal move in canonical order.
    ///
    /// # Errors
    /// If there are not so many legal moves; `offset` is the byte that holds the index.
    pub(super) fn play(
        &self,
        position: &mut Chess,
        index: u8,
        offset: u64,
    ) -> Result<(), DataError> {
        let Some(m) = canonical_move(position, usize::from(index)) else {
            let found = format!("{index} of {} legal moves", position.legal_moves().len());
            return Err(self.fault(offset, "the index of a legal move", found));
        };
        position.play_unchecked(m);
        Ok(())
    }
}

/// One labelled position of a MAVG1 game; its action values are in [`MavgGame::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MavgPosition {
    /// Byte of the decompressed stream where the position's record begins.
    pub offset: u64,
    /// Index of the best move in canonical order, as is `played`.
    pub best: u8,
    pub played: u8,
    /// Centipawns of the best move for the side to move.
    pub score: i16,
    first: u32,
    /// Number of legal moves.
    pub legal: u8,
}

/// A game whose positions have a value for every legal move.
#[derive(Clone, Debug)]
pub struct MavgGame {
    pub header: Header,
    pub positions: Vec<MavgPosition>,
    values: Vec<u8>,
}

impl MavgGame {
    /// Win probability × 127 of each legal move of `position` in canonical order.
    #[must_use]
    pub fn values(&self, position: &MavgPosition) -> &[u8] {
        let first = position.first as usize;
        self.values
            .get(first..first + usize::from(position.legal))
            .unwrap_or(&[])
    }
}

/// One move of a PVGR1 game; the line after it is in [`PvgrGame::line`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PvgrPly {
    /// Byte of the decompressed stream where the ply's record begins.
    pub offset: u64,
    /// Index of the move in canonical order.
    pub played: u8,
    /// Centipawns for the side to move; None for book moves.
    pub score: Option<i16>,
    /// Search depth in plies, 0 = unknown.
    pub depth: u8,
    first: u32,
    length: u8,
}

/// A game of engines with their evaluations and principal variations.
#[derive(Clone, Debug)]
pub struct PvgrGame {
    pub header: Header,
    pub plies: Vec<PvgrPly>,
    lines: Vec<u8>,
}

impl PvgrGame {
    /// Indices of the moves that continue the principal variation after the ply's move.
    #[must_use]
    pub fn line(&self, ply: &PvgrPly) -> &[u8] {
        let first = ply.first as usize;
        self.lines
            .get(first..first + usize::from(ply.length))
            .unwrap_or(&[])
    }
}

/// A game of either format.
#[derive(Clone, Debug)]
pub enum Game {
    Mavg(MavgGame),
    Pvgr(PvgrGame),
}

impl Game {
    /// What both formats say.
    #[must_use]
    pub fn header(&self) -> &Header {
        match self {
            Game::Mavg(game) => &game.header,
            Game::Pvgr(game) => &game.header,
        }
    }
}

/// Which of the two formats a stream is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Mavg,
    Pvgr,
}

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

    /// Appends the next `n` bytes to `to`; false at the end.
    fn append(&mut self, n: usize, to: &mut Vec<u8>) -> Result<bool, DataError> {
        let start = to.len();
        to.resize(start + n, 0);
        Ok(self.fill(&mut to[start..])? == n)
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
            Ok(decoder) => GameReader::new(BufReader::with_capacity(1 << 18, decoder), &name),
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
        let format = match &magic {
            MAVG_MAGIC => Format::Mavg,
            PVGR_MAGIC => Format::Pvgr,
            _ => {
                let found = format!("\"{}\"", magic[..length].escape_ascii());
                return Err(input.fault(0, "the magic MAVG1 or PVGR1", found));
            }
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
        let header = self.header(chess960, start, result, at)?;
        let n = usize::from(u16::from_le_bytes([n0, n1]));
        let mut positions = Vec::with_capacity(n);
        let mut values = Vec::with_capacity(n * 40);
        for _ in 0..n {
            let offset = self.input.offset;
            let Some([legal, best, played, s0, s1]) = self.input.take()? else {
                return Ok(None);
            };
            for (byte, index) in [(1, best), (2, played)] {
                if index >= legal {
                    let found = format!("{index} of {legal} legal moves");
                    return Err(self.input.fault(
                        offset + byte,
                        "the index of a legal move",
                        found,
                    ));
                }
            }
            let first = values.len();
            if !self.input.append(usize::from(legal), &mut values)? {
                return Ok(None);
            }
            if let Some(bad) = values[first..].iter().position(|&value| value > 127) {
                let found = values[first + bad].to_string();
                return Err(self.input.fault(
                    offset + 5 + bad as u64,
                    "a win probability of 0..=127",
                    found,
                ));
            }
            let score = i16::from_le_bytes([s0, s1]);
            positions.push(MavgPosition {
                offset,
                best,
                played,
                score,
                first: first as u32,
                legal,
            });
        }
        Ok(Some(MavgGame {
            header,
            positions,
            values,
        }))
    }

    fn read_pvgr(&mut self) -> Result<Option<PvgrGame>, DataError> {
        let at = self.input.offset;
        let Some([chess960, result, length]) = self.input.take()? else {
            return Ok(None);
        };
        let Some(start) = self.read_fen(length)? else {
            return Ok(None);
        };
        let header = self.header(chess960, start, result, at + 1)?;
        let Some(n) = self.input.take()? else {
            return Ok(None);
        };
        let n = usize::from(u16::from_le_bytes(n));
        let mut plies = Vec::with_capacity(n);
        let mut lines = Vec::with_capacity(n * 20);
        for _ in 0..n {
            let offset = self.input.offset;
            let Some([played, s0, s1, depth, length]) = self.input.take()? else {
                return Ok(None);
            };
            let first = lines.len() as u32;
            if !self.input.append(usize::from(length), &mut lines)? {
                return Ok(None);
            }
            let score = Some(i16::from_le_bytes([s0, s1])).filter(|&score| score != NO_SCORE);
            plies.push(PvgrPly {
                offset,
                played,
                score,
                depth,
                first,
                length,
            });
        }
        Ok(Some(PvgrGame {
            header,
            plies,
            lines,
        }))
    }

    fn read_fen(&mut self, length: u8) -> Result<Option<Chess>, DataError> {
        let offset = self.input.offset;
        let mut fen = Vec::new();
        if !self.input.append(usize::from(length), &mut fen)? {
            return Ok(None);
        }
        let start = Fen::from_ascii(&fen)
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
        if result > 3 {
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
