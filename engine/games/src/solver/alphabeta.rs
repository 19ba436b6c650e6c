//! Iterative-deepening negamax with a transposition table, generic over the game. It proves results: a position at the horizon
//! scores 0, so that a won or lost score is always true, and a draw is true once the whole game fits into the depth.

use super::table::{Bound, Entry, Table};
use std::fmt;

/// A game that the search can solve. Scores are for the side to move: 1 won, 0 drawn, -1 lost.
pub trait Solvable {
    /// A position.
    type State: Clone;

    /// The legal moves, each below 256; empty if the game is over.
    fn moves(&self, state: &Self::State) -> Vec<u16>;
    /// Plays a legal move.
    fn play(&self, state: &mut Self::State, action: u16);
    /// The result of a game that is over.
    fn result(&self, state: &Self::State) -> Option<i32>;
    /// Plies until the game must be over.
    fn plies_left(&self, state: &Self::State) -> u32;
    /// Bounds of the value that need no search.
    fn bounds(&self, state: &Self::State) -> Bounds;
    /// Adds the moves among which a best one is, if the bounds differ. `open` is [`Bounds::open`].
    fn candidates(&self, state: &Self::State, open: u64, moves: &mut Candidates);
    /// Key of the position for the table; symmetric positions may share it.
    fn key(&self, state: &Self::State) -> u64;
}

/// Inclusive bounds of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The value is at least this.
    pub low: i32,
    /// The value is at most this.
    pub high: i32,
    /// Cells among which a best move is; found on the way, in the game's own layout.
    pub open: u64,
}

impl Bounds {
    /// A known value.
    #[must_use]
    pub fn exactly(value: i32) -> Bounds {
        Bounds { low: value, high: value, open: 0 }
    }
}

/// The moves of the nodes on the current path, one node's after the other's.
#[derive(Default)]
pub struct Candidates(Vec<Candidate>);

#[derive(Clone, Copy)]
struct Candidate {
    priority: i32,
    action: u16,
}

impl Candidates {
    /// Adds a move of the current node: the highest `priority` comes first.
    pub fn push(&mut self, action: u16, priority: i32) {
        self.0.push(Candidate { priority, action });
    }
}

/// The node limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached;

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not solved within the node limit")
    }
}

impl std::error::Error for LimitReached {}

/// A solver with its table, which it keeps from call to call.
pub struct Solver<G> {
    game: G,
    table: Table,
    candidates: Candidates,
    nodes: u64,
    limit: u64,
}

impl<G: Solvable> Solver<G> {
    /// A solver with a table of at most `bytes`.
    #[must_use]
    pub fn new(game: G, bytes: usize) -> Solver<G> {
        Solver {
            game,
            table: Table::new(bytes),
            candidates: Candidates::default(),
            nodes: 0,
            limit: u64::MAX,
        }
    }

    /// Positions searched so far.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The value of a position: 1 if the side to move wins, 0 for a draw, -1 if it loses.
    ///
    /// # Errors
    /// `max_nodes` positions did not suffice.
    pub fn verdict(&mut self, state: &G::State, max_nodes: u64) -> Result<i32, LimitReached> {
        if let Some(result) = self.game.result(state) {
            return Ok(result);
        }
        let full = self.game.plies_left(state);
        self.limit = self.nodes.saturating_add(max_nodes);
        // Shallow searches find short wins.
        for depth in [8, 16] {
            let value = self.window(state, -1, 1, depth.min(full))?;
            if value != 0 || depth >= full {
                return Ok(value);
            }
        }
        // Two null windows need fewer positions than one full window.
        match self.window(state, -1, 0, full)? {
            -1 => Ok(-1),
            _ => self.window(state, 0, 1, full),
        }
    }

    fn window(
        &mut self,
        state: &G::State,
        alpha: i32,
        beta: i32,
        depth: u32,
    ) -> Result<i32, LimitReached> {
        // Left over by a search that reached the limit.
        self.candidates.0.clear();
        self.search(state, alpha, beta, depth)
    }

    /// The value of each legal move for the side to move.
    ///
    /// # Errors
    /// `max_nodes` positions did not suffice for one of them.
    pub fn verdicts(
        &mut self,
        state: &G::State,
        max_nodes: u64,
    ) -> Result<Vec<(u16, i32)>, LimitReached> {
        let moves = self.game.moves(state);
        let verdict = |action: u16| {
            let mut next = state.clone();
            self.game.play(&mut next, action);
            Ok((action, -self.verdict(&next, max_nodes)?))
        };
        moves.into_iter().map(verdict).collect()
    }

    /// Fail-soft negamax, `depth` plies deep.
    fn search(
        &mut self,
        state: &G::State,
        alpha: i32,
        beta: i32,
        depth: u32,
    ) -> Result<i32, LimitReached> {
        if self.nodes >= self.limit {
            return Err(LimitReached);
        }
        self.nodes += 1;
        let bounds = self.game.bounds(state);
        if bounds.low >= beta || bounds.low == bounds.high {
            return Ok(bounds.low);
        }
        if bounds.high <= alpha {
            return Ok(bounds.high);
        }
        let key = self.game.key(state);
        let known = self.table.get(key);
        if let Some(value) = known.and_then(|entry| usable(entry, alpha, beta, depth)) {
            return Ok(value);
        }
        if depth == 0 {
            return Ok(0);
        }
        let first = self.candidates.0.len();
        self.game.candidates(state, bounds.open, &mut self.candidates);
        if let Some(entry) = known {
            let mut moves = self.candidates.0[first..].iter_mut();
            let best = moves.find(|candidate| candidate.action == u16::from(entry.best));
            best.into_iter().for_each(|candidate| candidate.priority = i32::MAX);
        }
        let (mut best, mut best_action) = (-2, 0);
        for at in first..self.candidates.0.len() {
            let action = self.pick(at);
            let mut next = state.clone();
            self.game.play(&mut next, action);
            let value = -self.search(&next, -beta, -alpha.max(best), depth - 1)?;
            if value > best {
                (best, best_action) = (value, action);
            }
            if best >= beta.min(bounds.high) {
                break;
            }
        }
        self.candidates.0.truncate(first);
        let best = best.clamp(bounds.low, bounds.high);
        let bound = match best {
            best if best >= beta => Bound::Lower,
            best if best <= alpha => Bound::Upper,
            _ => Bound::Exact,
        };
        let (value, best_action) = (best as i8, best_action as u8);
        self.table.put(key, Entry { value, bound, depth: depth.min(63) as u8, best: best_action });
        Ok(best)
    }

    /// Moves the best of the candidates from `at` on to `at`. Most nodes need only one or two: a sort would cost more.
    fn pick(&mut self, at: usize) -> u16 {
        let rest = &mut self.candidates.0[at..];
        let mut best = 0;
        for i in 1..rest.len() {
            if rest[i].priority > rest[best].priority {
                best = i;
            }
        }
        rest.swap(0, best);
        rest[0].action
    }
}

/// The stored value, if it decides a window at this depth.
fn usable(entry: Entry, alpha: i32, beta: i32, depth: u32) -> Option<i32> {
    let value = i32::from(entry.value);
    // A won or lost value does not depend on the horizon.
    let (proven, decides) = match entry.bound {
        Bound::Lower => (value > 0, value >= beta),
        Bound::Upper => (value < 0, value <= alpha),
        Bound::Exact => (value != 0, true),
    };
    (decides && (proven || u32::from(entry.depth) >= depth)).then_some(value)
}
