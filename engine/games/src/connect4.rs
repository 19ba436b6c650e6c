//! Connect Four on bitboards (J. Tromp's layout): column by column, each with one empty bit above its top cell, so that shifts
//! never join two columns. Any board of at most 8 columns and 63 bits; the usual one has 7 columns of 6 cells.

use crate::game::{EMPTY, Game, Grid, Image, MINE, THEIRS};
use mcts::Wdl;
use std::fmt;

/// A cell and its eight neighbours.
const TAPS: [(isize, isize); 9] =
    [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (1, -1), (1, 0), (1, 1)];

/// The rules. A move is a column, 0 the leftmost.
#[derive(Clone, Copy, Debug)]
pub struct ConnectFour {
    /// Number of columns, 1..=8.
    pub columns: u32,
    /// Cells of a column.
    pub rows: u32,
    /// The lowest cell of every column.
    pub(crate) bottom: u64,
    /// Every cell of the first, third, fifth row.
    pub(crate) odd_rows: u64,
    /// Every cell.
    pub(crate) cells: u64,
}

/// A position: cells of the side to move and of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Discs {
    /// The side to move.
    pub mine: u64,
    /// Both sides.
    pub all: u64,
}

impl Default for ConnectFour {
    /// 7 columns of 6 cells.
    fn default() -> ConnectFour {
        ConnectFour::new(7, 6)
    }
}

impl ConnectFour {
    /// A board of `columns` × `rows`, cut down to 8 columns and 63 bits.
    #[must_use]
    pub fn new(columns: u32, rows: u32) -> ConnectFour {
        let columns = columns.clamp(1, 8);
        let rows = rows.clamp(1, 63 / columns - 1);
        let bottom = (0..columns).map(|column| 1 << (column * (rows + 1))).sum::<u64>();
        let odd_rows = (0..rows).step_by(2).map(|row| bottom << row).sum();
        ConnectFour { columns, rows, bottom, odd_rows, cells: bottom * ((1 << rows) - 1) }
    }

    /// The cells of a column.
    pub(crate) fn column(&self, column: u32) -> u64 {
        ((1 << self.rows) - 1) << (column * (self.rows + 1))
    }

    /// The lowest empty cell of every column that has one.
    pub(crate) fn landings(&self, all: u64) -> u64 {
        (all + self.bottom) & self.cells
    }

    /// True if `discs` has four in a row.
    pub(crate) fn has_four(&self, discs: u64) -> bool {
        [1, self.rows, self.rows + 1, self.rows + 2].into_iter().any(|step| {
            let pairs = discs & (discs >> step);
            pairs & (pairs >> (2 * step)) != 0
        })
    }

    /// The mirror image of a bitboard.
    pub(crate) fn mirrored(&self, board: u64) -> u64 {
        let (height, one) = (self.rows + 1, (1 << (self.rows + 1)) - 1);
        (0..self.columns)
            .fold(0, |image, column| image << height | (board >> (column * height)) & one)
    }

    /// Reads columns, the first is 1, from the start: `4453`.
    ///
    /// # Errors
    /// A move is no column, its column is full, or the game is over.
    pub fn read(&self, digits: &str) -> Result<Vec<u16>, ColumnError> {
        let mut state = self.start();
        digits.chars().map(|digit| self.read_move(&mut state, &digit.to_string())).collect()
    }

    /// Plays a column, the first is 1.
    ///
    /// # Errors
    /// The text is no column, the column is full, or the game is over.
    pub fn read_move(&self, state: &mut Discs, text: &str) -> Result<u16, ColumnError> {
        let column = text.parse::<u32>().ok().filter(|n| (1..=self.columns).contains(n));
        let column = column.ok_or_else(|| ColumnError::NoColumn {
            text: text.to_owned(),
            columns: self.columns,
        })?;
        if self.end(state).is_some() {
            return Err(ColumnError::Over(column));
        }
        let action = column as u16 - 1;
        if !self.moves(state).contains(&action) {
            return Err(ColumnError::Full(column));
        }
        self.play(state, action);
        Ok(action)
    }
}

/// A refused move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnError {
    /// The text is no column.
    NoColumn {
        /// The text read.
        text: String,
        /// Number of columns.
        columns: u32,
    },
    /// This column is full.
    Full(u32),
    /// The game ended before a disc in this column.
    Over(u32),
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnError::NoColumn { text, columns } => {
                write!(f, "\"{text}\" is not a column, expected 1 to {columns}")
            }
            ColumnError::Full(column) => write!(f, "column {column} is full"),
            ColumnError::Over(column) => write!(f, "column {column}: the game is over"),
        }
    }
}

impl std::error::Error for ColumnError {}

impl Game for ConnectFour {
    type State = Discs;

    fn start(&self) -> Discs {
        Discs::default()
    }

    fn actions(&self) -> usize {
        self.columns as usize
    }

    fn moves(&self, state: &Discs) -> Vec<u16> {
        if self.end(state).is_some() {
            return Vec::new();
        }
        let landings = self.landings(state.all);
        (0..self.columns)
            .filter(|&column| landings & self.column(column) != 0)
            .map(|column| column as u16)
            .collect()
    }

    fn play(&self, state: &mut Discs, action: u16) {
        let disc = self.landings(state.all) & self.column(u32::from(action));
        *state = Discs { mine: state.all ^ state.mine, all: state.all | disc };
    }

    fn end(&self, state: &Discs) -> Option<Wdl> {
        if self.has_four(state.all ^ state.mine) {
            return Some(Wdl::LOSS);
        }
        (state.all == self.cells).then_some(Wdl::DRAW)
    }

    /// Unique: the sum of the discs and all discs sets one bit above each column's top disc.
    fn key(&self, state: &Discs) -> u64 {
        state.mine + state.all + self.bottom
    }

    fn passed(&self, state: &Discs) -> Discs {
        Discs { mine: state.all ^ state.mine, all: state.all }
    }

    fn name(&self) -> &'static str {
        "connect4"
    }

    /// The lowest row comes first. A move's cells are its column; the edges are the lowest and the highest row.
    fn grid(&self) -> Grid {
        let (rows, columns) = (self.rows as usize, self.columns as usize);
        let cells = 0..rows * columns;
        let number = |row: usize, column: usize| (row * columns + column) as u16;
        let mirrored = |cell: usize| number(cell / columns, columns - 1 - cell % columns);
        let image = |mirror: bool| Image {
            cells: cells.clone().map(|n| if mirror { mirrored(n) } else { n as u16 }).collect(),
            moves: (0..columns).map(|n| if mirror { mirrored(n) } else { n as u16 }).collect(),
        };
        Grid {
            rows,
            columns,
            taps: &TAPS,
            moves: (0..columns)
                .map(|column| (0..rows).map(|row| number(row, column)).collect())
                .collect(),
            edges: [0, rows - 1]
                .map(|row| cells.clone().map(|cell| cell / columns == row).collect()),
            passed: (0..rows * columns).map(|cell| cell as u16).collect(),
            images: vec![image(false), image(true)],
        }
    }

    fn encode(&self, state: &Discs) -> Vec<u8> {
        let (rows, columns) = (self.rows as usize, self.columns as usize);
        let cell = |n: usize| {
            let disc = 1 << (n % columns * (rows + 1) + n / columns);
            match (state.all & disc != 0, state.mine & disc != 0) {
                (false, _) => EMPTY,
                (_, true) => MINE,
                _ => THEIRS,
            }
        };
        (0..rows * columns).map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn positions_by_ply(game: &ConnectFour, plies: usize) -> Vec<usize> {
        let mut positions = HashSet::from([game.start()]);
        let mut counts = vec![1];
        for _ in 0..plies {
            let children = positions.iter().flat_map(|state| {
                game.moves(state).into_iter().map(|action| {
                    let mut child = *state;
                    game.play(&mut child, action);
                    child
                })
            });
            positions = children.collect();
            counts.push(positions.len());
        }
        counts
    }

    /// Published counts: OEIS A212693.
    #[test]
    fn distinct_positions_by_ply() {
        let expected = [1, 7, 49, 238, 1120, 4263, 16422, 54859, 184_275];
        assert_eq!(positions_by_ply(&ConnectFour::default(), 8), expected);
    }

    #[test]
    fn four_in_each_direction_ends_the_game() {
        let game = ConnectFour::default();
        for (digits, ends) in [
            ("1122334", true),
            ("112233", false),
            ("1212121", true),
            ("12233434474", true),
            ("76655454414", true),
            ("1111112", false),
        ] {
            let mut state = game.start();
            game.read(digits).unwrap().into_iter().for_each(|action| game.play(&mut state, action));
            assert_eq!(game.end(&state), ends.then_some(Wdl::LOSS), "{digits}");
            assert_eq!(game.moves(&state).is_empty(), ends, "{digits}");
        }
    }

    #[test]
    fn a_mirror_image_of_a_mirror_image_is_the_board() {
        let game = ConnectFour::new(5, 4);
        let board = 0b00001_00011_00111_01111_00000;
        assert_eq!(game.mirrored(board), 0b00000_01111_00111_00011_00001);
        assert_eq!(game.mirrored(game.mirrored(board)), board);
    }

    #[test]
    fn bad_moves_are_named() {
        let game = ConnectFour::default();
        let error = |digits: &str| game.read(digits).unwrap_err().to_string();
        assert_eq!(error("448"), "\"8\" is not a column, expected 1 to 7");
        assert_eq!(error("1111111"), "column 1 is full");
        assert_eq!(error("11223344"), "column 4: the game is over");
    }
}
