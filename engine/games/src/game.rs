//! The rules of a game of two players, without values and without search.

use mcts::Wdl;
use nn::rng::Rng;

/// An empty cell.
pub const EMPTY: u8 = 0;
/// A cell of the side to move.
pub const MINE: u8 = 1;
/// A cell of the other side.
pub const THEIRS: u8 = 2;

/// A board of cells, row by row, whose neighbourhoods all look alike.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Number of rows.
    pub rows: usize,
    /// Cells of a row.
    pub columns: usize,
    /// The neighbourhood of a cell as steps (rows, columns) of at most 1, the cell itself included.
    pub taps: &'static [(isize, isize)],
    /// The cells of each move, in ascending order of moves. A further move hands the position over to the opponent (Hex's swap).
    pub moves: Vec<Vec<u16>>,
    /// Cells on the mover's edges, and on the opponent's: two planes of the network's input.
    pub edges: [Vec<bool>; 2],
    /// Where each cell goes when the other side's view is taken; its own inverse.
    pub passed: Vec<u16>,
    /// The symmetries, the identity first.
    pub images: Vec<Image>,
}

/// A symmetry: where each cell and each move goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Permutation of the cells.
    pub cells: Vec<u16>,
    /// Permutation of the moves.
    pub moves: Vec<u16>,
}

impl Grid {
    /// The taps in runs of neighbouring columns: row and column of the first, and their number.
    #[must_use]
    pub fn runs(&self) -> Vec<(isize, isize, usize)> {
        let mut runs: Vec<(isize, isize, usize)> = Vec::new();
        for &(row, column) in self.taps {
            match runs.last_mut() {
                Some((last, first, count))
                    if *last == row && *first + count.cast_signed() == column =>
                {
                    *count += 1;
                }
                _ => runs.push((row, column, 1)),
            }
        }
        runs
    }

    /// Number of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.rows * self.columns
    }
}

/// The rules of a game. Moves are numbers below [`Game::actions`]; values belong to the side to move.
pub trait Game: Send + Sync {
    /// A position.
    type State: Clone + Send + Sync;

    /// The position before the first move.
    fn start(&self) -> Self::State;
    /// One more than the largest move of any position.
    fn actions(&self) -> usize;
    /// The legal moves in ascending order; empty if the game is over.
    fn moves(&self, state: &Self::State) -> Vec<u16>;
    /// Plays a legal move.
    fn play(&self, state: &mut Self::State, action: u16);
    /// The result for the side to move; None while the game is ongoing.
    fn end(&self, state: &Self::State) -> Option<Wdl>;
    /// A hash of the position, or a number of its own.
    fn key(&self, state: &Self::State) -> u64;
    /// The same board with the other side to move.
    fn passed(&self, state: &Self::State) -> Self::State;

    /// Name of the game in the files of networks.
    fn name(&self) -> &'static str;
    /// Name of the board's size in the files of networks, columns × rows.
    fn size(&self) -> String {
        let grid = self.grid();
        format!("{}x{}", grid.columns, grid.rows)
    }
    /// The board as a network sees it.
    fn grid(&self) -> Grid;
    /// The cells of [`Game::grid`] in the mover's view: [`EMPTY`], [`MINE`] or [`THEIRS`].
    fn encode(&self, state: &Self::State) -> Vec<u8>;
    /// The number of a move in the mover's view, and that of a number there: the map is its own inverse.
    fn in_view(&self, _state: &Self::State, action: u16) -> u16 {
        action
    }

    /// The result of uniformly random moves from `state` to the end, for the side to move in `state`.
    fn random_game(&self, state: &Self::State, random: &mut Rng) -> Wdl {
        let mut state = state.clone();
        let mut flipped = false;
        loop {
            if let Some(result) = self.end(&state) {
                return if flipped { result.flip() } else { result };
            }
            let moves = self.moves(&state);
            self.play(&mut state, moves[random.below(moves.len())]);
            flipped = !flipped;
        }
    }
}
