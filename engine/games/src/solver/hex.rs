//! Hex for the solver: virtual connections by chains of bridges cut off the search, and the opponent's threats leave only the cells
//! that meet them all (R. Hayward et al., "Solving 7×7 Hex with domination, fill-in, and virtual connections", 2005: must-play region).

use super::alphabeta::{Bounds, Candidates, Solvable};
use crate::game::Game;
use crate::hex::{Hex, Stones};
use std::collections::VecDeque;

/// Largest board that the solver takes: its cells fill one word.
pub const MAX_SIZE: usize = 8;

/// Length of a path to an edge that is cut off: longer than any path.
const CUT_OFF: i32 = 64;

/// Hex with the tables of the solver. The swap is not considered.
pub struct HexSolver {
    game: Hex,
    /// Adjacent cells.
    neighbours: Vec<u64>,
    /// Cells two steps away, each with the two cells between.
    bridges: Vec<Vec<(usize, u64)>>,
    edges: [Edge; 4],
}

/// One edge of the board.
struct Edge {
    cells: u64,
    /// For a cell of the second row, the two cells between it and the edge; else 0.
    bridges: Vec<u64>,
}

impl HexSolver {
    /// None if the board is larger than [`MAX_SIZE`].
    #[must_use]
    pub fn new(game: Hex) -> Option<HexSolver> {
        let size = game.size();
        if size > MAX_SIZE {
            return None;
        }
        let cells = size * size;
        let neighbours: Vec<u64> = (0..cells)
            .map(|cell| game.neighbours(cell).fold(0, |mask, other| mask | 1 << other))
            .collect();
        let bridges = (0..cells).map(|cell| {
            let far = (0..cells).filter(|&far| far != cell && neighbours[cell] >> far & 1 == 0);
            far.map(|far| (far, neighbours[cell] & neighbours[far]))
                .filter(|(_, between)| between.count_ones() == 2)
                .collect()
        });
        let bridges = bridges.collect();
        let edge = |on_edge: &dyn Fn(usize, usize) -> bool| {
            let edge_cells = (0..cells)
                .filter(|cell| on_edge(cell / size, cell % size))
                .fold(0, |mask, cell| mask | 1 << cell);
            let between = |cell: usize| {
                let between = neighbours[cell] & edge_cells;
                let second_row = edge_cells >> cell & 1 == 0 && between.count_ones() == 2;
                if second_row { between } else { 0 }
            };
            Edge { cells: edge_cells, bridges: (0..cells).map(between).collect() }
        };
        let edges = [
            edge(&|row, _| row == 0),
            edge(&|row, _| row == size - 1),
            edge(&|_, column| column == 0),
            edge(&|_, column| column == size - 1),
        ];
        Some(HexSolver { game, neighbours, bridges, edges })
    }

    /// The empty cells of a chain of stones and bridges between a player's edges, which holds even if the opponent moves first.
    /// None if the search, which keeps one chain a stone, finds no chain whose bridges are disjoint.
    fn chain(&self, stones: u64, empty: u64, black: bool) -> Option<u64> {
        let [from, to] = if black { [0, 1] } else { [2, 3] }.map(|edge: usize| &self.edges[edge]);
        let mut carriers = [0; MAX_SIZE * MAX_SIZE];
        let mut reached = stones & from.cells;
        let mut queue: VecDeque<usize> = cells(reached).collect();
        for cell in cells(stones & !reached) {
            let between = from.bridges[cell];
            if between != 0 && between & !empty == 0 {
                carriers[cell] = between;
                reached |= 1 << cell;
                queue.push_back(cell);
            }
        }
        while let Some(cell) = queue.pop_front() {
            let carrier = carriers[cell];
            let last = to.bridges[cell];
            if to.cells >> cell & 1 == 1 {
                return Some(carrier);
            }
            if last != 0 && last & !(empty & !carrier) == 0 {
                return Some(carrier | last);
            }
            for next in cells(self.neighbours[cell] & stones & !reached) {
                carriers[next] = carrier;
                reached |= 1 << next;
                queue.push_front(next);
            }
            for &(next, between) in &self.bridges[cell] {
                let new = stones & !reached & 1 << next != 0;
                if new && between & !(empty & !carrier) == 0 {
                    carriers[next] = carrier | between;
                    reached |= 1 << next;
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

impl HexSolver {
    /// Adds to each empty cell the number of cells, its own included, that a path of `stones` from the edge still needs.
    fn add_distances(&self, stones: u64, empty: u64, edge: &Edge, lengths: &mut [i32]) {
        let (mut reached, mut distance, mut unreached) = (0, 0, empty);
        let mut fresh = edge.cells & (stones | empty);
        while fresh != 0 {
            // Stones cost nothing: follow them before the next step.
            let mut chain = fresh & stones;
            let mut ring = fresh & empty;
            reached |= fresh;
            while let Some(cell) = cells(chain).next() {
                let around = self.neighbours[cell] & !reached;
                chain = chain & (chain - 1) | around & stones;
                ring |= around & empty;
                reached |= around & (stones | empty);
            }
            distance += 1;
            unreached &= !ring;
            fresh = 0;
            for cell in cells(ring) {
                lengths[cell] += distance;
                fresh |= self.neighbours[cell];
            }
            fresh &= (stones | empty) & !reached;
        }
        cells(unreached).for_each(|cell| lengths[cell] += CUT_OFF);
    }
}

/// The cells of a mask in ascending order.
fn cells(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let cell = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (cell < 64).then_some(cell)
    })
}

impl Solvable for HexSolver {
    type State = Stones;

    fn moves(&self, state: &Stones) -> Vec<u16> {
        let swap = (self.game.size() * self.game.size()) as u16;
        self.game.moves(state).into_iter().filter(|&action| action != swap).collect()
    }

    fn play(&self, state: &mut Stones, action: u16) {
        self.game.play(state, action);
    }

    fn result(&self, state: &Stones) -> Option<i32> {
        self.game.end(state).map(|_| -1)
    }

    fn plies_left(&self, state: &Stones) -> u32 {
        self.game.empty(state).first_word().count_ones()
    }

    fn bounds(&self, state: &Stones) -> Bounds {
        let empty = self.game.empty(state).first_word();
        let [mine, theirs] = [state.mine, state.theirs].map(|stones| stones.first_word());
        let black = state.black_moves;
        if self.chain(theirs, empty, !black).is_some() {
            return Bounds::exactly(-1);
        }
        let mut open = empty;
        for cell in cells(empty) {
            let cell = 1 << cell;
            if let Some(carrier) = self.chain(theirs | cell, empty ^ cell, !black) {
                open &= carrier | cell;
            }
        }
        if open == 0 {
            return Bounds::exactly(-1);
        }
        let wins = |cell: usize| self.chain(mine | 1 << cell, empty ^ 1 << cell, black).is_some();
        if cells(open).any(wins) {
            return Bounds::exactly(1);
        }
        Bounds { low: -1, high: 1, open }
    }

    /// First the cells on short paths of both sides.
    fn candidates(&self, state: &Stones, open: u64, moves: &mut Candidates) {
        let empty = self.game.empty(state).first_word();
        let sides = [(state.mine, state.black_moves), (state.theirs, !state.black_moves)];
        let mut lengths = [0; MAX_SIZE * MAX_SIZE];
        for (stones, black) in sides {
            for edge in if black { [0, 1] } else { [2, 3] } {
                self.add_distances(stones.first_word(), empty, &self.edges[edge], &mut lengths);
            }
        }
        let middle = (self.game.size() - 1) as i32;
        for cell in cells(open) {
            let (row, column) = (cell / self.game.size(), cell % self.game.size());
            let off = (2 * row as i32 - middle).abs() + (2 * column as i32 - middle).abs();
            moves.push(cell as u16, -8 * lengths[cell] - off);
        }
    }

    /// Half a turn maps each player's edges to themselves.
    fn key(&self, state: &Stones) -> u64 {
        let cells = self.game.size() * self.game.size();
        let turned = |mask: u64| mask.reverse_bits() >> (64 - cells);
        let [mine, theirs] = [state.mine, state.theirs].map(|stones| stones.first_word());
        let key = |mine: u64, theirs: u64| {
            nn::rng::split_mix(
                mine ^ nn::rng::split_mix(theirs ^ u64::from(state.black_moves) << 63),
            )
        };
        key(mine, theirs).min(key(turned(mine), turned(theirs)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Solver;
    use super::*;
    use std::collections::HashMap;

    /// Negamax over every position, without pruning.
    fn brute(game: &Hex, state: &Stones, known: &mut HashMap<Stones, i32>) -> i32 {
        if game.end(state).is_some() {
            return -1;
        }
        if let Some(&value) = known.get(state) {
            return value;
        }
        let child = |action| {
            let mut next = state.clone();
            game.play(&mut next, action);
            -brute(game, &next, known)
        };
        let value = game.moves(state).into_iter().map(child).max().unwrap();
        known.insert(state.clone(), value);
        value
    }

    #[test]
    fn small_boards_agree_with_plain_negamax() {
        for size in [2, 3] {
            let game = Hex::new(size).unwrap();
            let mut known = HashMap::new();
            brute(&game, &game.start(), &mut known);
            let mut solver = Solver::new(HexSolver::new(game).unwrap(), 1 << 20);
            for (state, value) in known {
                assert_eq!(solver.verdict(&state, u64::MAX), Ok(value), "{state:?}");
            }
        }
    }

    /// Winning first moves, # for won.
    fn openings(size: usize) -> Vec<String> {
        let game = Hex::new(size).unwrap();
        let start = game.start();
        let mut solver = Solver::new(HexSolver::new(game).unwrap(), 1 << 24);
        let verdicts = solver.verdicts(&start, u64::MAX).unwrap();
        let text: Vec<char> =
            verdicts.iter().map(|&(_, value)| if value > 0 { '#' } else { '.' }).collect();
        text.chunks(size).map(|row| row.iter().collect()).collect()
    }

    #[test]
    fn every_opening_has_its_result() {
        assert_eq!(openings(3), ["..#", "###", "#.."]);
        assert_eq!(openings(4), ["...#", "..#.", ".#..", "#..."]);
    }
}
