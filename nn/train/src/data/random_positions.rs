//! An endless random walk through positions that no game reaches: a step is a random legal move, or moves,
//! changes, adds or removes a few pieces. Only the rules label them: a network trained on games alone knows how
//! pieces move where pieces usually stand.

use super::boards::{place, unlabelled, unlabelled_action};
use super::example::Example;
use nn::encode::canonical_moves;
use nn::rng::Rng;
use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, FromSetup, Piece, Position, PositionError, Role,
    Setup, Square,
};

/// Steps of a walk from the starting position before it restarts.
const STEPS: usize = 300;
/// Steps between two examples: 1 to this number.
const STRIDE: usize = 6;
/// Share of the positions that become examples, by the number of checking pieces. In check most plausible moves
/// are illegal, more so with more checkers, and games have few such positions.
const SHOWN: [f64; 3] = [0.1, 0.5, 1.0];
/// Share of the disturbances that change several pieces at once, and the most they change: single changes
/// rarely give a double check.
const BURSTS: f64 = 0.4;
const BURST: usize = 8;
/// Pieces are added only below this number.
const FULL: usize = 28;

/// The walk: its position and random generator.
pub(super) struct RandomPositions {
    rng: Rng,
    board: Chess,
    steps: usize,
}

impl RandomPositions {
    pub(super) fn new(seed: u64) -> RandomPositions {
        RandomPositions { rng: Rng::new(seed), board: Chess::default(), steps: 0 }
    }

    /// The next position of the walk; with probability `actions`, with a random move of it.
    pub(super) fn next(&mut self, actions: f64) -> Example {
        loop {
            for _ in 0..=self.rng.below(STRIDE) {
                self.step();
            }
            let checks = self.board.checkers().count().min(SHOWN.len() - 1);
            if !self.rng.chance(SHOWN[checks]) {
                continue;
            }
            if !self.rng.chance(actions) {
                return unlabelled(&self.board, None);
            }
            let legal = canonical_moves(&self.board);
            let action = legal.get(self.rng.below(legal.len().max(1)));
            if let Some(example) = action.and_then(|&m| unlabelled_action(&self.board, m)) {
                return example;
            }
        }
    }

    fn step(&mut self) {
        self.steps += 1;
        let legal = canonical_moves(&self.board);
        if self.steps > STEPS || legal.is_empty() {
            (self.board, self.steps) = (Chess::default(), 0);
        } else if self.rng.chance(0.5) {
            self.board.play_unchecked(legal[self.rng.below(legal.len())]);
        } else if let Some(board) = self.disturbed() {
            self.board = board;
        }
    }

    /// The board with a few pieces disturbed; None if it is illegal for either side to move.
    fn disturbed(&mut self) -> Option<Chess> {
        let mut setup = self.board.to_setup(shakmaty::EnPassantMode::Legal);
        let pieces = if self.rng.chance(BURSTS) { 2 + self.rng.below(BURST - 1) } else { 1 };
        for _ in 0..pieces {
            self.disturb(&mut setup.board);
        }
        if self.rng.chance(0.3) {
            setup.swap_turn();
        }
        placed(setup.clone()).or_else(|| {
            // A check to the side that has just moved becomes one to the side to move.
            setup.swap_turn();
            placed(setup)
        })
    }

    /// Moves, changes, removes or adds one piece.
    fn disturb(&mut self, board: &mut Board) {
        if board.occupied().count() < FULL && self.rng.chance(0.07) {
            let color = Color::from_white(self.rng.chance(0.5));
            let role = self.officer();
            return place(board, Piece { color, role }, &mut self.rng);
        }
        let Some(square) = self.pick(board.occupied()) else { return };
        let Some(piece) = board.remove_piece_at(square) else { return };
        if piece.role == Role::King || self.rng.chance(0.7) {
            place(board, piece, &mut self.rng);
        } else if self.rng.chance(0.7) {
            let role = self.officer();
            board.set_piece_at(square, Piece { role, ..piece });
        }
    }

    fn officer(&mut self) -> Role {
        [Role::Knight, Role::Bishop, Role::Rook, Role::Queen][self.rng.below(4)]
    }

    fn pick(&mut self, squares: Bitboard) -> Option<Square> {
        squares.into_iter().nth(self.rng.below(squares.count().max(1)))
    }
}

/// The position, without the rights that the disturbance took away. Impossible checks are accepted.
fn placed(setup: Setup) -> Option<Chess> {
    Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_impossible_check)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::super::example::{Source, Terminal};
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_walk_repeats_for_a_seed_and_shows_much_that_games_do_not() {
        let walk = |seed: u64| {
            let mut positions = RandomPositions::new(seed);
            (0..3_000).map(|_| positions.next(0.5)).collect::<Vec<_>>()
        };
        let examples = walk(1);
        assert_eq!(format!("{examples:?}"), format!("{:?}", walk(1)));
        let boards: HashSet<_> = examples.iter().map(|e| e.features.pieces).collect();
        assert!(boards.len() > 2_900, "{}", boards.len());
        let actions = examples.iter().filter(|e| e.next.is_some()).count();
        assert!((1_300..1_700).contains(&actions), "{actions}");
        let ended = examples.iter().filter(|e| e.terminal != Terminal::Ongoing).count();
        assert!(ended > 20, "{ended}");
        let mut positions = RandomPositions::new(2);
        let twice = |_: &usize| {
            positions.next(0.0);
            positions.board.checkers().count() > 1
        };
        let twice = (0..1_000).filter(twice).count();
        assert!((100..300).contains(&twice), "{twice} boards with several checks");
        let mut quiet = 0;
        for example in examples.iter().filter(|e| e.next.is_none() && !e.moves.is_empty()) {
            quiet += usize::from(example.moves.len() > 12);
        }
        assert!((200..1_000).contains(&quiet), "{quiet} of the boards have many moves");
        for e in &examples {
            assert!(e.source == Source::Rules && e.best.is_none() && e.action_values.is_empty());
            assert_eq!(e.moves.is_empty(), e.terminal != Terminal::Ongoing);
        }
    }
}
