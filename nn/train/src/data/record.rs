//! The games of the three label formats as typed records: MAVG1 has a value for every legal move, SELF1 (self-play)
//! the search's visits as well, PVGR1 evaluations and principal variations. Moves are indices into the canonical order of the legal moves,
//! verified when a game is replayed. `read` and `write` handle the bytes.

use super::error::DataError;
use super::example::Outcome;
use nn::encode::moves::canonical_move;
use shakmaty::{Chess, Color, Position};
use std::sync::Arc;

/// Score sentinel for "no score".
pub(super) const NO_SCORE: i16 = i16::MAX;
/// Score of mate in one.
pub const MATE_IN_ONE: i16 = 31_999;
/// Action value of win probability 1.
pub const VALUE_ONE: u8 = 127;
/// Action value of an unsearched move: our extension of the format.
pub const VALUE_UNKNOWN: u8 = 255;

/// Capacity reserved per position by readers.
const USUAL_MOVES: usize = 32;
const USUAL_LINE: usize = 20;

/// One of the three formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Every legal move has a value.
    Mavg,
    /// Evaluations and principal variations.
    Pvgr,
    /// Self-play: values of the visited moves, and each move's share of the visits.
    SelfPlay,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Mavg, Format::Pvgr, Format::SelfPlay];

    /// First bytes of a decompressed stream.
    #[must_use]
    pub fn magic(self) -> &'static [u8; 6] {
        match self {
            Format::Mavg => b"MAVG1\n",
            Format::Pvgr => b"PVGR1\n",
            Format::SelfPlay => b"SELF1\n",
        }
    }
}

/// Result of a game, as all formats store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GameResult {
    /// Byte 0.
    BlackWon,
    /// Byte 1.
    Drawn,
    /// Byte 2.
    WhiteWon,
    /// Byte 3.
    Unknown,
}

impl GameResult {
    /// Result for `side`; None if unknown.
    #[must_use]
    pub fn outcome(self, side: Color) -> Option<Outcome> {
        match (self, side) {
            (GameResult::Drawn, _) => Some(Outcome::Drawn),
            (GameResult::WhiteWon, Color::White) | (GameResult::BlackWon, Color::Black) => {
                Some(Outcome::Won)
            }
            (GameResult::WhiteWon, Color::Black) | (GameResult::BlackWon, Color::White) => {
                Some(Outcome::Lost)
            }
            (GameResult::Unknown, _) => None,
        }
    }

    /// Its byte.
    #[must_use]
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// The result for `byte`; None past 3.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<GameResult> {
        let all =
            [GameResult::BlackWon, GameResult::Drawn, GameResult::WhiteWon, GameResult::Unknown];
        all.get(usize::from(byte)).copied()
    }
}

/// Fields common to all formats, and the game's origin.
#[derive(Clone, Debug)]
pub struct Header {
    /// The stream's name, for messages.
    pub file: Arc<str>,
    /// Number of games before it in its stream.
    pub index: u64,
    /// Whether the writer marked the game as Chess960.
    pub chess960: bool,
    /// The first position.
    pub start: Chess,
    /// Result of the game.
    pub result: GameResult,
}

impl Header {
    /// Header of a game that is not in a file yet.
    #[must_use]
    pub fn new(start: Chess, chess960: bool, result: GameResult) -> Header {
        Header { file: "a new game".into(), index: 0, chess960, start, result }
    }

    /// An error at `offset` of the stream this game came from.
    pub(super) fn fault(&self, offset: u64, expected: &'static str, found: String) -> DataError {
        DataError::Format { file: self.file.clone(), offset, expected, found }
    }

    /// Plays the `index`-th legal move in canonical order.
    ///
    /// # Errors
    /// If `index` is not below the number of legal moves; `offset` is the byte that holds the index.
    pub(super) fn play(
        &self,
        position: &mut Chess,
        index: u8,
        offset: u64,
    ) -> Result<(), DataError> {
        let Some(m) = canonical_move(position, usize::from(index)) else {
            return Err(self.bad_index(index, position.legal_moves().len(), offset));
        };
        position.play_unchecked(m);
        Ok(())
    }

    /// The error for a move index that is too large.
    pub(super) fn bad_index(&self, index: u8, legal: usize, offset: u64) -> DataError {
        self.fault(offset, "the index of a legal move", format!("{index} of {legal}"))
    }
}

/// One labelled position of a MAVG1 game; its action values are in [`MavgGame::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MavgPosition {
    /// Byte of the decompressed stream where the position's record begins.
    pub offset: u64,
    /// Index of the best move in canonical order, as is `played`.
    pub best: u8,
    /// Index of the move played in canonical order.
    pub played: u8,
    /// Centipawns of the best move for the side to move.
    pub score: i16,
    /// Number of legal moves.
    pub legal: u8,
    first: u32,
}

/// A game whose positions have a value for every legal move: of MAVG1, or of SELF1 with visits.
#[derive(Clone, Debug)]
pub struct MavgGame {
    /// Common fields.
    pub header: Header,
    /// The labelled positions, one per ply.
    pub positions: Vec<MavgPosition>,
    values: Vec<u8>,
    /// As long as `values` in a game of SELF1, else empty.
    visits: Vec<u8>,
}

impl MavgGame {
    /// An empty game.
    #[must_use]
    pub fn new(header: Header) -> MavgGame {
        MavgGame { header, positions: Vec::new(), values: Vec::new(), visits: Vec::new() }
    }

    /// Reserves space for `positions` positions with [`USUAL_MOVES`] moves each.
    pub(super) fn reserve(&mut self, positions: usize) {
        self.positions.reserve(positions);
        self.values.reserve(positions * USUAL_MOVES);
    }

    /// Win probability × 127 of each legal move of `position` in canonical order, or [`VALUE_UNKNOWN`].
    #[must_use]
    pub fn values(&self, position: &MavgPosition) -> &[u8] {
        let first = position.first as usize;
        self.values.get(first..first + usize::from(position.legal)).unwrap_or(&[])
    }

    /// Share of the visits × 255 of each legal move of `position` in canonical order. Empty in a game of MAVG1; all 0
    /// after a quick search, whose visits are no target.
    #[must_use]
    pub fn visits(&self, position: &MavgPosition) -> &[u8] {
        let first = position.first as usize;
        self.visits.get(first..first + usize::from(position.legal)).unwrap_or(&[])
    }

    /// Whether every position has visits, as SELF1 stores them.
    #[must_use]
    pub fn has_visits(&self) -> bool {
        self.visits.len() == self.values.len()
    }

    /// [`MavgGame::push`] for a game of SELF1: `visits` are as [`MavgGame::visits`] returns them.
    ///
    /// # Errors
    /// As [`MavgGame::push`], or if there are not as many visits as values.
    pub fn push_searched(
        &mut self,
        offset: u64,
        moves: (u8, u8),
        score: i16,
        values: &[u8],
        visits: &[u8],
    ) -> Result<(), DataError> {
        if visits.len() != values.len() {
            let found = format!("{} for {} moves", visits.len(), values.len());
            return Err(self.header.fault(offset, "the visits of every legal move", found));
        }
        self.push(offset, moves, score, values)?;
        self.visits.extend_from_slice(visits);
        Ok(())
    }

    /// Appends a position whose legal moves have `values`. `offset` is its byte in the stream, 0 for a new
    /// game.
    ///
    /// # Errors
    /// If an index is not below `values.len()`, or a value neither in `0..=127` nor unknown; the offset is the byte's.
    pub fn push(
        &mut self,
        offset: u64,
        moves: (u8, u8),
        score: i16,
        values: &[u8],
    ) -> Result<(), DataError> {
        let (best, played) = moves;
        for (byte, index) in [(1, best), (2, played)] {
            if usize::from(index) >= values.len() {
                return Err(self.header.bad_index(index, values.len(), offset + byte));
            }
        }
        let fits = |value: u8| value <= VALUE_ONE || value == VALUE_UNKNOWN;
        if let Some(bad) = values.iter().position(|&value| !fits(value)) {
            let found = values[bad].to_string();
            return Err(self.header.fault(
                offset + 5 + bad as u64,
                "a win probability of 0..=127, or 255",
                found,
            ));
        }
        let legal = u8::try_from(values.len()).map_err(|_| {
            self.header.fault(offset, "at most 255 legal moves", values.len().to_string())
        })?;
        let first = self.values.len() as u32;
        self.values.extend_from_slice(values);
        self.positions.push(MavgPosition { offset, best, played, score, legal, first });
        Ok(())
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
    length: u8,
    first: u32,
}

/// An engine game with evaluations and principal variations.
#[derive(Clone, Debug)]
pub struct PvgrGame {
    /// Common fields.
    pub header: Header,
    /// The moves, one per ply.
    pub plies: Vec<PvgrPly>,
    lines: Vec<u8>,
}

impl PvgrGame {
    /// An empty game.
    #[must_use]
    pub fn new(header: Header) -> PvgrGame {
        PvgrGame { header, plies: Vec::new(), lines: Vec::new() }
    }

    /// Reserves space for `plies` plies with lines of [`USUAL_LINE`] moves.
    pub(super) fn reserve(&mut self, plies: usize) {
        self.plies.reserve(plies);
        self.lines.reserve(plies * USUAL_LINE);
    }

    /// Indices of the moves that continue the principal variation after the ply's move.
    #[must_use]
    pub fn line(&self, ply: &PvgrPly) -> &[u8] {
        let first = ply.first as usize;
        self.lines.get(first..first + usize::from(ply.length)).unwrap_or(&[])
    }

    /// Appends a move; `line` continues the variation after it. `offset` is its byte in the stream, 0 for a new
    /// game.
    ///
    /// # Errors
    /// If the line is longer than 255 moves.
    pub fn push(
        &mut self,
        offset: u64,
        played: u8,
        score: Option<i16>,
        depth: u8,
        line: &[u8],
    ) -> Result<(), DataError> {
        let length = u8::try_from(line.len()).map_err(|_| {
            self.header.fault(offset, "a line of at most 255 moves", line.len().to_string())
        })?;
        let first = self.lines.len() as u32;
        self.lines.extend_from_slice(line);
        let score = score.filter(|&score| score != NO_SCORE);
        self.plies.push(PvgrPly { offset, played, score, depth, length, first });
        Ok(())
    }

    /// Byte of the stream that holds the `k`-th move of `ply`'s line.
    pub(super) fn line_offset(ply: &PvgrPly, k: usize) -> u64 {
        ply.offset + 5 + k as u64
    }
}

/// A game of any format.
#[derive(Clone, Debug)]
pub enum Game {
    /// MAVG1 or SELF1.
    Mavg(MavgGame),
    /// PVGR1.
    Pvgr(PvgrGame),
}

impl Game {
    /// Common fields.
    #[must_use]
    pub fn header(&self) -> &Header {
        match self {
            Game::Mavg(game) => &game.header,
            Game::Pvgr(game) => &game.header,
        }
    }

    /// Number of positions with a record.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Game::Mavg(game) => game.positions.len(),
            Game::Pvgr(game) => game.plies.len(),
        }
    }

    /// True if it has no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Index of the move played in the `ply`-th position, and the byte that holds it.
    pub(super) fn played(&self, ply: usize) -> Option<(u8, u64)> {
        match self {
            Game::Mavg(game) => {
                game.positions.get(ply).map(|record| (record.played, record.offset + 2))
            }
            Game::Pvgr(game) => game.plies.get(ply).map(|record| (record.played, record.offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_turn_with_the_side() {
        let of = |side| [0, 1, 2, 3].map(|byte| GameResult::from_byte(byte)?.outcome(side));
        let (lost, drawn, won) = (Some(Outcome::Lost), Some(Outcome::Drawn), Some(Outcome::Won));
        assert_eq!(of(Color::White), [lost, drawn, won, None]);
        assert_eq!(of(Color::Black), [won, drawn, lost, None]);
    }

    #[test]
    fn a_byte_that_is_no_result_is_refused() {
        for byte in 0..=u8::MAX {
            let read = GameResult::from_byte(byte).map(GameResult::byte);
            assert_eq!(read, (byte <= 3).then_some(byte));
        }
    }
}
