//! Hex on boards of 2 to 19 cells a side. Black joins top and bottom, White left and right; a1 is the top left cell. Cell
//! `row * size + column` is a move; one more, `size * size`, is the swap: White takes over Black's first stone, mirrored.

use crate::cells::Cells;
use crate::game::{EMPTY, Game, Grid, Image, MINE, THEIRS};
use mcts::Wdl;
use nn::rng::{Rng, split_mix};
use std::fmt;

/// A cell and its six neighbours.
const TAPS: [(isize, isize); 7] = [(-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (1, -1), (1, 0)];

/// The rules on one board.
#[derive(Clone, Debug)]
pub struct Hex {
    size: usize,
    /// True if the second player may swap.
    swap: bool,
    all: Cells,
    first_column: Cells,
    last_column: Cells,
    first_row: Cells,
    last_row: Cells,
}

/// A position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stones {
    /// The side to move.
    pub mine: Cells,
    /// The other side.
    pub theirs: Cells,
    /// True if Black is to move.
    pub black_moves: bool,
}

/// A board that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeError(pub usize);

/// The swap as GTP writes it.
pub const SWAP: &str = "swap-pieces";

/// A refused move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellError {
    /// The text is no cell.
    NoCell {
        /// The text read.
        text: String,
        /// The cell in the last corner.
        last: String,
    },
    /// A stone is there.
    Occupied(String),
    /// Only the second move of a game may swap.
    NoSwap,
    /// The swap rule does not hold.
    SwapOff,
    /// The game ended before this move.
    Over,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellError::NoCell { text, last } => {
                write!(f, "\"{text}\" is not a cell, expected a1 to {last} or {SWAP}")
            }
            CellError::Occupied(text) => write!(f, "illegal move {text}: the cell is occupied"),
            CellError::NoSwap => {
                write!(f, "illegal move {SWAP}: only White's first move may swap")
            }
            CellError::SwapOff => {
                write!(
                    f,
                    "illegal move {SWAP}: the swap rule is off, `param_game allow_swap 1` turns it on"
                )
            }
            CellError::Over => f.write_str("the game is over"),
        }
    }
}

impl std::error::Error for CellError {}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "size {} is not supported, expected 2 to 19", self.0)
    }
}

impl std::error::Error for SizeError {}

impl Hex {
    /// A board of `size` × `size` without the swap.
    ///
    /// # Errors
    /// The size is not 2 to 19.
    pub fn new(size: usize) -> Result<Hex, SizeError> {
        if !(2..=19).contains(&size) {
            return Err(SizeError(size));
        }
        let set = |keep: &dyn Fn(usize) -> bool| {
            let mut cells = Cells::default();
            (0..size * size).filter(|&cell| keep(cell)).for_each(|cell| cells.insert(cell));
            cells
        };
        Ok(Hex {
            size,
            swap: false,
            all: set(&|_| true),
            first_column: set(&|cell| cell % size == 0),
            last_column: set(&|cell| cell % size == size - 1),
            first_row: set(&|cell| cell < size),
            last_row: set(&|cell| cell >= size * (size - 1)),
        })
    }

    /// The same board, with the swap among the moves of the second ply.
    #[must_use]
    pub fn with_swap(mut self) -> Hex {
        self.swap = true;
        self
    }

    /// Cells of a side.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The move that takes over the first stone.
    #[must_use]
    pub fn swap_action(&self) -> u16 {
        (self.size * self.size) as u16
    }

    /// The empty cells.
    #[must_use]
    pub fn empty(&self, state: &Stones) -> Cells {
        self.all.without(state.mine.or(state.theirs))
    }

    /// The up to six adjacent cells.
    pub fn neighbours(&self, cell: usize) -> impl Iterator<Item = usize> + use<> {
        let mut around = Cells::default();
        around.insert(cell);
        self.grown(around).iter()
    }

    /// The cells adjacent to a cell of a set.
    fn grown(&self, set: Cells) -> Cells {
        let size = self.size;
        let right = set.up(1).or(set.down(size - 1)).without(self.first_column);
        let left = set.down(1).or(set.up(size - 1)).without(self.last_column);
        right.or(left).or(set.up(size)).or(set.down(size)).and(self.all)
    }

    /// True if the stones join their player's edges.
    fn joins(&self, stones: Cells, black: bool) -> bool {
        let (from, to) = if black {
            (self.first_row, self.last_row)
        } else {
            (self.first_column, self.last_column)
        };
        let mut reached = stones.and(from);
        loop {
            if reached.and(to) != Cells::default() {
                return true;
            }
            let grown = reached.or(self.grown(reached).and(stones));
            if grown == reached {
                return false;
            }
            reached = grown;
        }
    }

    /// The mirror image of a cell along the long diagonal.
    fn mirrored(&self, cell: usize) -> usize {
        cell % self.size * self.size + cell / self.size
    }

    /// `b3` is column 1, row 2.
    #[must_use]
    pub fn cell_name(&self, cell: usize) -> String {
        format!("{}{}", char::from(b'a' + (cell % self.size) as u8), cell / self.size + 1)
    }

    /// The cell of a name; None if there is none.
    #[must_use]
    pub fn read_cell(&self, text: &str) -> Option<usize> {
        let lower = text.to_ascii_lowercase();
        let letter = *lower.as_bytes().first().filter(|letter| letter.is_ascii_lowercase())?;
        let (column, row) = (usize::from(letter - b'a'), lower[1..].parse::<usize>().ok()?);
        (column < self.size && (1..=self.size).contains(&row))
            .then(|| (row - 1) * self.size + column)
    }

    /// Plays a cell, or [`SWAP`] where the rules have it.
    ///
    /// # Errors
    /// The text is no cell, or the move is illegal.
    pub fn play_named(&self, state: &mut Stones, text: &str) -> Result<(), CellError> {
        let swap = text.eq_ignore_ascii_case(SWAP);
        let action = if swap {
            Some(self.swap_action())
        } else {
            self.read_cell(text).map(|cell| cell as u16)
        };
        let action = action.ok_or_else(|| CellError::NoCell {
            text: text.to_owned(),
            last: self.cell_name(self.size * self.size - 1),
        })?;
        if self.end(state).is_some() {
            return Err(CellError::Over);
        }
        if !self.moves(state).contains(&action) {
            return Err(match (swap, self.swap) {
                (true, true) => CellError::NoSwap,
                (true, false) => CellError::SwapOff,
                _ => CellError::Occupied(text.to_owned()),
            });
        }
        self.play(state, action);
        Ok(())
    }

    /// Rows from the top, each half a cell to the right of the one above: B, W, and `empty` for each empty cell.
    pub fn picture(&self, state: &Stones, empty: impl Fn(usize) -> char) -> String {
        let letters = (0..self.size).map(|column| format!(" {}", char::from(b'a' + column as u8)));
        let mut text = format!("  {}", letters.collect::<String>());
        for row in 0..self.size {
            text += &format!("\n{}{:>2}", " ".repeat(row), row + 1);
            for cell in row * self.size..(row + 1) * self.size {
                let sign = match (state.mine.contains(cell), state.theirs.contains(cell)) {
                    (false, false) => empty(cell),
                    (mine, _) if mine == state.black_moves => 'B',
                    _ => 'W',
                };
                text.extend([' ', sign]);
            }
        }
        text
    }
}

impl Game for Hex {
    type State = Stones;

    fn start(&self) -> Stones {
        Stones { black_moves: true, ..Stones::default() }
    }

    fn actions(&self) -> usize {
        self.size * self.size + usize::from(self.swap)
    }

    fn moves(&self, state: &Stones) -> Vec<u16> {
        if self.end(state).is_some() {
            return Vec::new();
        }
        let mut moves: Vec<u16> = self.empty(state).iter().map(|cell| cell as u16).collect();
        if self.swap && !state.black_moves && state.theirs.count() == 1 && state.mine.count() == 0 {
            moves.push(self.swap_action());
        }
        moves
    }

    fn play(&self, state: &mut Stones, action: u16) {
        let mut mine = state.mine;
        if action == self.swap_action() {
            state.theirs.iter().for_each(|cell| mine.insert(self.mirrored(cell)));
            state.theirs = Cells::default();
        } else {
            mine.insert(usize::from(action));
        }
        let black_moves = !state.black_moves;
        *state = Stones { mine: state.theirs, theirs: mine, black_moves };
    }

    /// A full board has exactly one winner: there are no draws.
    fn end(&self, state: &Stones) -> Option<Wdl> {
        self.joins(state.theirs, !state.black_moves).then_some(Wdl::LOSS)
    }

    fn key(&self, state: &Stones) -> u64 {
        let words = self.size * self.size / 64 + 1;
        let stones = state.mine.words(words).iter().chain(state.theirs.words(words));
        // The side is mixed first: plain, it would stand where the first cell stands.
        stones.fold(split_mix(u64::from(state.black_moves)), |key, word| split_mix(key ^ word))
    }

    fn passed(&self, state: &Stones) -> Stones {
        Stones { mine: state.theirs, theirs: state.mine, black_moves: !state.black_moves }
    }

    fn name(&self) -> &'static str {
        "hex"
    }

    /// The mover joins the first row and the last: for White, rows are columns.
    fn grid(&self) -> Grid {
        let (size, cells) = (self.size, self.size * self.size);
        let image = |turned: bool| -> Vec<u16> {
            (0..cells).map(|cell| if turned { cells - 1 - cell } else { cell } as u16).collect()
        };
        let on_edge = |line: &dyn Fn(usize) -> usize| -> Vec<bool> {
            (0..cells).map(|cell| [0, size - 1].contains(&line(cell))).collect()
        };
        Grid {
            rows: size,
            columns: size,
            taps: &TAPS,
            moves: (0..cells).map(|cell| vec![cell as u16]).collect(),
            edges: [on_edge(&|cell| cell / size), on_edge(&|cell| cell % size)],
            passed: (0..cells).map(|cell| self.mirrored(cell) as u16).collect(),
            images: [false, true]
                .map(|turned| Image { cells: image(turned), moves: image(turned) })
                .to_vec(),
        }
    }

    fn encode(&self, state: &Stones) -> Vec<u8> {
        let cell = |n: usize| {
            let cell = usize::from(self.in_view(state, n as u16));
            match (state.mine.contains(cell), state.theirs.contains(cell)) {
                (true, _) => MINE,
                (_, true) => THEIRS,
                _ => EMPTY,
            }
        };
        (0..self.size * self.size).map(cell).collect()
    }

    fn in_view(&self, state: &Stones, action: u16) -> u16 {
        if state.black_moves || action == self.swap_action() {
            action
        } else {
            self.mirrored(usize::from(action)) as u16
        }
    }

    /// Fills the board: stones after the winning one change nothing.
    fn random_game(&self, state: &Stones, random: &mut Rng) -> Wdl {
        let mut empty: Vec<usize> = self.empty(state).iter().collect();
        let mut mine = state.mine;
        for left in 0..empty.len().div_ceil(2) {
            let chosen = left + random.below(empty.len() - left);
            empty.swap(left, chosen);
            mine.insert(empty[left]);
        }
        if self.joins(mine, state.black_moves) { Wdl::WIN } else { Wdl::LOSS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_board_has_exactly_one_winner() {
        let (mut random, mut wins) = (Rng::new(1), 0);
        for size in (2..=19).chain(2..=19) {
            let game = Hex::new(size).unwrap();
            for _ in 0..30 {
                let (mut black, mut white) = (Cells::default(), Cells::default());
                for cell in 0..size * size {
                    if random.below(2) == 0 { black.insert(cell) } else { white.insert(cell) }
                }
                assert_ne!(game.joins(black, true), game.joins(white, false), "{size} {black:?}");
                wins += usize::from(game.joins(black, true));
            }
        }
        assert!((200..880).contains(&wins), "{wins}");
    }

    #[test]
    fn cells_have_the_neighbours_of_a_hexagonal_grid() {
        let game = Hex::new(11).unwrap();
        let around = |name: &str| {
            let cells = game.neighbours(game.read_cell(name).unwrap());
            cells.map(|cell| game.cell_name(cell)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(around("f6"), "f5 g5 e6 g6 e7 f7");
        assert_eq!(around("a1"), "b1 a2");
        assert_eq!(around("k1"), "j1 j2 k2");
        assert_eq!(around("a11"), "a10 b10 b11");
        assert_eq!(around("k11"), "k10 j11");
        let names = ["l1", "a12", "a0", "a", "", "1a", "é1"];
        assert_eq!(names.map(|name| game.read_cell(name)), [None; 7]);
    }

    #[test]
    fn the_swap_mirrors_the_first_stone() {
        let game = Hex::new(5).unwrap().with_swap();
        let mut state = game.start();
        assert!(!game.moves(&state).contains(&game.swap_action()));
        game.play(&mut state, game.read_cell("d2").unwrap() as u16);
        assert!(game.moves(&state).contains(&game.swap_action()));
        let swap = game.swap_action();
        game.play(&mut state, swap);
        assert!(state.black_moves && state.mine.count() == 0);
        assert!(state.theirs.contains(game.read_cell("b4").unwrap()));
        assert!(!game.moves(&state).contains(&swap));
    }

    #[test]
    fn random_games_follow_the_rules() {
        let game = Hex::new(3).unwrap();
        let mut random = Rng::new(3);
        let mut wins = |state: &Stones| {
            (0..2000).filter(|_| game.random_game(state, &mut random) == Wdl::WIN).count()
        };
        let first = wins(&game.start());
        assert!((1100..1600).contains(&first), "five of nine cells: {first}");
        let mut state = game.start();
        for name in ["a1", "c1", "a2", "c2"] {
            game.play(&mut state, game.read_cell(name).unwrap() as u16);
        }
        // Black gets three of five cells and needs a3, or b2 and b3: 80 %.
        let black = wins(&state);
        assert!((1500..1700).contains(&black), "{black}");
    }
}
