//! Exact results: our solvers, for Connect Four on 7 × 6 cells an opening book of all positions of up to 8 discs, and Hex's published ones.

use connect_four_ai::Position;
use games::connect4::{ConnectFour, Discs};
use games::game::Game;
use games::solver::{Solvable, Solver};

/// Knows the values of positions.
pub trait ValueOracle<S> {
    /// The value of each legal move for the side to move: 1 won, 0 drawn, -1 lost. None if `max_nodes` positions did not suffice for
    /// one of them.
    fn verdicts(&mut self, state: &S, max_nodes: u64) -> Option<Vec<(u16, i32)>>;
}

impl<G: Solvable> ValueOracle<G::State> for Solver<G> {
    fn verdicts(&mut self, state: &G::State, max_nodes: u64) -> Option<Vec<(u16, i32)>> {
        Solver::verdicts(self, state, max_nodes).ok()
    }
}

/// The usual board of Connect Four: the book of the crate `connect-four-ai` where it reaches, our solver behind it.
pub struct BookSolver {
    game: ConnectFour,
    book: connect_four_ai::Solver,
    solver: Solver<ConnectFour>,
}

impl BookSolver {
    /// Columns and rows.
    pub const SIZE: (u32, u32) = (Position::WIDTH as u32, Position::HEIGHT as u32);
    /// Discs of the largest positions of the book.
    const DISCS: u32 = 8;

    /// `solver` is asked behind the book.
    pub fn new(solver: Solver<ConnectFour>) -> BookSolver {
        let (columns, rows) = BookSolver::SIZE;
        BookSolver {
            game: ConnectFour::new(columns, rows),
            book: connect_four_ai::Solver::new(),
            solver,
        }
    }

    /// The value of a position of the book.
    fn known(&mut self, state: &Discs) -> Option<i32> {
        if state.all.count_ones() > BookSolver::DISCS {
            return None;
        }
        let (columns, rows) = BookSolver::SIZE;
        let cell = |row: u32, column: u32| {
            let bit = 1 << (column * (rows + 1) + row);
            match (state.all & bit, state.mine & bit) {
                (0, _) => '.',
                (_, 0) => 'o',
                _ => 'x',
            }
        };
        let rows = (0..rows).rev();
        let board: String =
            rows.flat_map(|row| (0..columns).map(move |column| cell(row, column))).collect();
        let position = Position::from_board_string(&board).ok()?;
        Some(i32::from(self.book.solve(&position).signum()))
    }
}

impl ValueOracle<Discs> for BookSolver {
    fn verdicts(&mut self, state: &Discs, max_nodes: u64) -> Option<Vec<(u16, i32)>> {
        let mut verdicts = Vec::new();
        for action in Game::moves(&self.game, state) {
            let mut next = *state;
            Game::play(&self.game, &mut next, action);
            let value = match Solvable::result(&self.game, &next) {
                Some(result) => result,
                None => match self.known(&next) {
                    Some(value) => value,
                    None => self.solver.verdict(&next, max_nodes).ok()?,
                },
            };
            verdicts.push((action, -value));
        }
        Some(verdicts)
    }
}

/// First moves of Black that win on 7 × 7 cells, row by row from the top; the others lose (R. Hayward et al., "Solving 7×7 Hex with
/// domination, fill-in, and virtual connections", 2005).
const HEX_7: [&[u8; 7]; 7] =
    [b"......#", b"..#.###", b".#####.", b"#######", b".#####.", b"###.#..", b"#......"];

/// The published values of Hex's first moves, where the solver is too slow: 1 for won, -1 for lost.
pub fn published_hex(size: usize) -> Option<Vec<(u16, i32)>> {
    let value = |(action, &cell): (u16, &u8)| (action, if cell == b'#' { 1 } else { -1 });
    (size == HEX_7.len()).then(|| (0u16..).zip(HEX_7.into_iter().flatten()).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the first moves are known since 1988: the middle column wins, its neighbours draw, the others lose.
    #[test]
    fn the_book_knows_the_first_moves_and_the_solver_what_is_behind_it() {
        let game = ConnectFour::default();
        let mut exact = BookSolver::new(Solver::new(game, 1 << 24));
        let values = |verdicts: Option<Vec<(u16, i32)>>| -> Vec<i32> {
            verdicts.unwrap().into_iter().map(|(_, value)| value).collect()
        };
        assert_eq!(values(exact.verdicts(&game.start(), 0)), [-1, -1, 0, 1, 0, -1, -1]);
        let (mut state, moves) = (game.start(), game.read("112233665577").unwrap());
        moves.into_iter().for_each(|action| Game::play(&game, &mut state, action));
        let known = Solver::new(game, 1 << 20).verdicts(&state, 1_000_000).unwrap();
        assert_eq!(exact.verdicts(&state, 1_000_000), Some(known));
    }
}
