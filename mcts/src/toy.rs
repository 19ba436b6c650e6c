//! Toy games: small, deterministic, with evaluators that hash the state. For tests of this crate and of others;
//! no real search uses them.

use crate::{
    rng::mix,
    value::Wdl,
    world::{Edge, Leaf, World},
};
use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Why a toy's evaluation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the toy evaluator fails on purpose")
    }
}

impl std::error::Error for Broken {}

/// A number in [0, 1) determined by `key` and `salt`.
pub fn hashed(key: u64, salt: u64) -> f32 {
    (mix(key ^ mix(salt ^ 0x5EED)) >> 40) as f32 / (1u64 << 24) as f32
}

/// An open leaf with hashed value, policy and action values: arbitrary but deterministic.
pub fn hashed_leaf(key: u64, actions: impl IntoIterator<Item = u16>) -> Leaf<u16> {
    let mut edges: Vec<Edge<u16>> = actions
        .into_iter()
        .map(|action| {
            let salt = u64::from(action) << 8;
            Edge { action, policy: 0.1 + hashed(key, salt | 1), q: hashed(key, salt | 2) }
        })
        .collect();
    let mass: f32 = edges.iter().map(|e| e.policy).sum();
    edges.iter_mut().for_each(|e| e.policy /= mass);
    let value = Wdl::from_score_and_draw(hashed(key, 3), hashed(key, 4) / 2.0);
    Leaf::Open { value, edges }
}

/// The true result of a finite game by full search, for the side to move, with the plies it takes: shortest
/// wins, longest losses. The reference for proofs.
pub fn minimax<W: World>(world: &W, state: &W::State) -> (Wdl, u32) {
    let edges = match world.evaluate(&[state]).ok().and_then(|mut leaves| leaves.pop()) {
        Some(Leaf::Open { edges, .. }) => edges,
        Some(Leaf::Over(end) | Leaf::Known(end)) => return (end, 0),
        Some(Leaf::Refused) | None => return (Wdl::DRAW, 0),
    };
    let results = edges.iter().map(|edge| {
        let mut next = state.clone();
        let (value, plies) = match world.step(&mut next, edge.action) {
            Some(end) => (end, 0),
            None => minimax(world, &next),
        };
        (value.flip(), plies + 1)
    });
    let rank = |(value, plies): &(Wdl, u32)| match value.q() {
        q if q > 0.5 => (2, -i64::from(*plies)),
        q if q < 0.5 => (0, i64::from(*plies)),
        _ => (1, 0),
    };
    results.max_by_key(rank).unwrap_or((Wdl::DRAW, 0))
}

/// Nim: take any number of stones from one heap; who takes the last one wins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nim;

impl World for Nim {
    /// Stones on the heaps.
    type State = [u8; 3];
    /// Heap in the high byte, stones taken in the low one.
    type Action = u16;
    type Error = Broken;

    fn step(&self, heaps: &mut [u8; 3], action: u16) -> Option<Wdl> {
        heaps[usize::from(action >> 8)] -= action as u8;
        None
    }

    fn evaluate(&self, leaves: &[&[u8; 3]]) -> Result<Vec<Leaf<u16>>, Broken> {
        let leaf = |heaps: &[u8; 3]| {
            let actions = (0..3u16).flat_map(|heap| {
                (1..=u16::from(heaps[usize::from(heap)])).map(move |taken| heap << 8 | taken)
            });
            let key = heaps.iter().fold(1, |key, &heap| key << 8 | u64::from(heap));
            if *heaps == [0; 3] { Leaf::Over(Wdl::LOSS) } else { hashed_leaf(key, actions) }
        };
        Ok(leaves.iter().map(|heaps| leaf(heaps)).collect())
    }
}

/// Tic-tac-toe. A full board is a draw *of the path*, so that the game has both kinds of end.
#[derive(Clone, Copy, Debug, Default)]
pub struct TicTacToe;

/// A position of tic-tac-toe: one bit per square, in octal one digit per row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// Squares of the side to move.
    pub mine: u16,
    /// Squares of the opponent.
    pub theirs: u16,
}

impl World for TicTacToe {
    type State = Board;
    /// The square, 0..9.
    type Action = u16;
    type Error = Broken;

    fn step(&self, board: &mut Board, square: u16) -> Option<Wdl> {
        *board = Board { mine: board.theirs, theirs: board.mine | 1 << square };
        let full = board.mine | board.theirs == 0o777;
        (full && !has_line(board.theirs)).then_some(Wdl::DRAW)
    }

    fn evaluate(&self, leaves: &[&Board]) -> Result<Vec<Leaf<u16>>, Broken> {
        let leaf = |board: &Board| {
            let free = (0..9).filter(|square| (board.mine | board.theirs) >> square & 1 == 0);
            let key = u64::from(board.mine) << 16 | u64::from(board.theirs);
            if has_line(board.theirs) { Leaf::Over(Wdl::LOSS) } else { hashed_leaf(key, free) }
        };
        Ok(leaves.iter().map(|board| leaf(board)).collect())
    }
}

fn has_line(squares: u16) -> bool {
    [0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124].iter().any(|line| line & !squares == 0)
}

/// An endless game: every state has the same number of moves, and a hashed value.
#[derive(Clone, Copy, Debug)]
pub struct Wide {
    /// Moves of every state.
    pub edges: u16,
    /// About one state in this number is refused; 0 = none.
    pub refuse_one_in: u64,
    /// About one step in this number ends the game on its path; 0 = none.
    pub end_one_in: u64,
}

impl Wide {
    /// Chess's average branching factor.
    pub const CHESSLIKE: Wide = Wide { edges: 35, refuse_one_in: 0, end_one_in: 0 };
}

impl World for Wide {
    /// A hash of the path; 0 is the root, which is never refused.
    type State = u64;
    type Action = u16;
    type Error = Broken;

    fn step(&self, key: &mut u64, action: u16) -> Option<Wdl> {
        *key = mix(key.wrapping_mul(31).wrapping_add(u64::from(action) + 1)).max(1);
        (self.end_one_in > 0 && mix(*key ^ 0xE4D).is_multiple_of(self.end_one_in))
            .then_some(Wdl::DRAW)
    }

    fn evaluate(&self, leaves: &[&u64]) -> Result<Vec<Leaf<u16>>, Broken> {
        let refused = |key: u64| {
            key != 0
                && self.refuse_one_in > 0
                && mix(key ^ 0xBAD).is_multiple_of(self.refuse_one_in)
        };
        let leaf = |&&key: &&u64| {
            if refused(key) { Leaf::Refused } else { hashed_leaf(key, 0..self.edges) }
        };
        Ok(leaves.iter().map(leaf).collect())
    }
}

/// Failure mode of a [`Faulty`] evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Returns the error.
    Error,
    /// Returns NaN values.
    NanValue,
    /// Returns NaN action values.
    NanQ,
    /// Returns one leaf too few.
    Short,
    /// Returns open leaves without edges.
    NoEdges,
    /// Refuses everything.
    Refuse,
}

/// A world whose evaluator fails after `after` good minibatches.
#[derive(Debug)]
pub struct Faulty<W> {
    world: W,
    fault: Fault,
    left: AtomicU64,
}

impl<W> Faulty<W> {
    /// `world`, until it has evaluated `after` minibatches.
    pub fn new(world: W, fault: Fault, after: u64) -> Self {
        Faulty { world, fault, left: AtomicU64::new(after) }
    }
}

impl<W: World<Error = Broken>> World for Faulty<W> {
    type State = W::State;
    type Action = W::Action;
    type Error = Broken;

    fn step(&self, state: &mut W::State, action: W::Action) -> Option<Wdl> {
        self.world.step(state, action)
    }

    fn evaluate(&self, leaves: &[&W::State]) -> Result<Vec<Leaf<W::Action>>, Broken> {
        let mut answer = self.world.evaluate(leaves)?;
        // Relaxed: only a counter.
        if self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            return Ok(answer);
        }
        match self.fault {
            Fault::Error => return Err(Broken),
            Fault::Short => drop(answer.pop()),
            Fault::Refuse => answer.iter_mut().for_each(|leaf| *leaf = Leaf::Refused),
            Fault::NanValue | Fault::NanQ | Fault::NoEdges => {
                for leaf in &mut answer {
                    if let Leaf::Open { value, edges } = leaf {
                        match self.fault {
                            Fault::NanValue => value.win = f32::NAN,
                            Fault::NanQ => edges.iter_mut().for_each(|e| e.q = f32::NAN),
                            _ => edges.clear(),
                        }
                    }
                }
            }
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimax_knows_nim() {
        assert_eq!(minimax(&Nim, &[0, 0, 0]), (Wdl::LOSS, 0));
        assert_eq!(minimax(&Nim, &[5, 0, 0]), (Wdl::WIN, 1));
        assert_eq!(minimax(&Nim, &[2, 2, 0]).0, Wdl::LOSS);
        assert_eq!(minimax(&Nim, &[1, 2, 3]).0, Wdl::LOSS);
        assert_eq!(minimax(&Nim, &[1, 2, 2]).0, Wdl::WIN);
    }

    #[test]
    fn minimax_knows_tic_tac_toe() {
        assert_eq!(minimax(&TicTacToe, &Board::default()).0, Wdl::DRAW);
        assert_eq!(minimax(&TicTacToe, &Board { mine: 0o003, theirs: 0o050 }), (Wdl::WIN, 1));
    }

    #[test]
    fn hashed_leaves_repeat_and_their_policy_sums_to_one() {
        let Leaf::Open { edges, .. } = hashed_leaf(42, 0..35) else { panic!("not open") };
        let again = Wide::CHESSLIKE.evaluate(&[&42]).unwrap().pop();
        let Some(Leaf::Open { edges: same, .. }) = again else { panic!("not open") };
        assert!(edges.iter().zip(&same).all(|(a, b)| (a.policy, a.q) == (b.policy, b.q)));
        assert!((edges.iter().map(|e| e.policy).sum::<f32>() - 1.0).abs() < 1e-5);
    }
}
