//! Alpha-beta that leaves out what is unlikely to matter, as chess programs do: principal variation search with
//! aspiration windows; null moves, futile moves, late moves and losing exchanges pruned or searched less deep; quiescence. A
//! small network ([`nn::nnue`]) judges quiet positions. It sees many plies further than [`super::negamax`] in the same
//! time, and overlooks a little.
//!
//! It is the tree search's scout: what is this position worth, and is there a better move than the one preferred so far?
//! `node` searches one position, `order` says which of its moves come first, `history` what they are known for, `correction` by how
//! much the network errs in positions alike.

mod correction;
mod history;
mod node;
mod order;

use super::table::{INFINITE, Lines, MATE, MATES, Table};
use crate::chess::action::Action;
use crate::chess::ending;
use correction::Corrections;
use history::{Arrival, History};
use nn::nnue::{Accumulators, Nnue};
use shakmaty::Chess;
use std::sync::Arc;

/// Deepest line, in plies.
const DEEPEST: usize = 100;
/// First half-width of the window around the last depth's score, from [`STEADY`] on.
const WINDOW: i32 = 20;
/// Wider windows than this are given up.
const WIDEST: i32 = 600;
/// Plies from which a score says something of the next depth's.
const STEADY: u32 = 4;
/// So many plies further a shorter mate is looked for.
const SHORTER: i32 = 4;
/// A move that is no more than so many centipawns worse than the best one counts as its equal. Guess.
const TOLERANCE: i32 = 10;

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The best move, and what follows as far as it was searched.
    pub line: Vec<Action>,
    /// Centipawns for the side to move.
    pub score: i32,
    /// Plies searched to the end.
    pub depth: u32,
    /// Positions looked at.
    pub nodes: u64,
    /// The move asked about, and `score` if it is as good within a tolerance, else a bound of its centipawns. None for the best
    /// move itself, and if there was no time.
    pub favourite: Option<(Action, i32)>,
}

impl Found {
    /// Plies to a mate: positive = the side to move mates. Nothing that could escape it was left out: only who is not mated prunes.
    #[must_use]
    pub fn mate_plies(&self) -> Option<i32> {
        let score = self.score;
        (score.abs() >= MATES).then(|| score.signum() * (MATE - score.abs()))
    }
}

/// The memory of such searches. Made once and used for many.
pub struct Memory {
    /// One for each position of the game and of the line being looked at.
    keys: Vec<u64>,
    table: Arc<Table>,
    history: History,
    corrections: Corrections,
    /// The two latest quiet moves that refuted another, at each ply.
    killers: Vec<[Option<Action>; 2]>,
    lines: Lines,
    /// The move at each ply that is left out, to see what the others are worth.
    excluded: Vec<Option<Action>>,
    /// The corrected evaluation at each ply of the line; none in check.
    stills: Vec<Option<i32>>,
    /// The move at each ply of the line; none for a pass.
    moved: Vec<Option<Arrival>>,
    nnue: Arc<Nnue>,
    accumulators: Accumulators,
}

impl Memory {
    /// Nothing is known but what is in `table`, which others may share; `nnue` judges quiet positions.
    #[must_use]
    pub fn new(nnue: Arc<Nnue>, table: Arc<Table>) -> Memory {
        let plies = DEEPEST + 2;
        Memory {
            keys: Vec::new(),
            table,
            history: History::new(),
            corrections: Corrections::new(),
            excluded: vec![None; plies],
            killers: vec![[None; 2]; plies],
            lines: Lines::new(plies),
            stills: vec![None; plies],
            moved: vec![None; plies],
            nnue,
            accumulators: Accumulators::default(),
        }
    }
}

/// Who asks for such a search.
pub trait Watch {
    /// So many positions more were looked at, the last of them `at`: is that enough?
    fn is_over(&mut self, positions: u64, at: &Chess) -> bool;
    /// A move that is to be told apart from the best one.
    fn favourite(&self) -> Option<Action>;
    /// Hears what each depth has found.
    fn heard(&mut self, found: &Found);
}

/// What is to be searched.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The root.
    pub position: &'a Chess,
    /// Moves of the root; none = all.
    pub allowed: &'a [Action],
    /// Which of several threads this is that search the same root. They help each other by what is in their table, the more the less
    /// they do the same.
    pub lane: usize,
}

/// Searches deeper and deeper until `watch` has enough. `keys` are those of the positions so far, the root's last. None if not one
/// ply was finished, or there is no move.
pub fn search(
    memory: &mut Memory,
    keys: impl IntoIterator<Item = u64>,
    question: &Question<'_>,
    watch: &mut dyn Watch,
) -> Option<Found> {
    memory.keys.clear();
    memory.keys.extend(keys);
    memory.killers.fill([None; 2]);
    memory.excluded.fill(None);
    memory.history.fade();
    let Question { position, allowed, lane } = *question;
    if lane == 0 {
        memory.table.begin();
    }
    let mut tree = Tree { memory, position, allowed, watch, nodes: 0, depth: 0, over: false };
    let mut found: Option<Found> = None;
    for depth in 1 + lane as u32 % 2..DEEPEST as u32 / 2 {
        let Some(next) = tree.deepen(depth, found.as_ref()) else { break };
        tree.watch.heard(&next);
        let score = next.score.abs();
        found = Some(next);
        // What prunes by guess may find a longer mate first, but not for long.
        let seen = score >= MATES && MATE - score + SHORTER <= depth as i32;
        if tree.over || seen {
            break;
        }
    }
    found
}

struct Tree<'a> {
    memory: &'a mut Memory,
    /// The root.
    position: &'a Chess,
    /// Moves of the root; none = all.
    allowed: &'a [Action],
    watch: &'a mut dyn Watch,
    nodes: u64,
    /// Plies of the search under way.
    depth: i32,
    over: bool,
}

impl Tree<'_> {
    /// The search of one depth. None if there was no time for anything.
    fn deepen(&mut self, depth: u32, last: Option<&Found>) -> Option<Found> {
        self.depth = depth as i32;
        let score = self.aspire(depth, last);
        let line = self.memory.lines.best().to_vec();
        let first = *line.first()?;
        if self.over {
            // The last depth's move came first: what is preferred to it, if anything, is better.
            let last = last.filter(|last| last.line.first() == Some(&first));
            return Some(last.cloned().unwrap_or(Found {
                line,
                score,
                depth: depth - 1,
                nodes: self.nodes,
                favourite: None,
            }));
        }
        let asked = self.watch.favourite().filter(|favourite| *favourite != first);
        let told = |favourite| Some((favourite, self.follow(favourite, depth, score)?));
        let favourite = asked.and_then(told);
        // No time to ask again: what was true one ply before is likely still.
        let before = last.filter(|last| self.over && last.line.first() == Some(&first));
        Some(Found {
            line,
            score,
            depth,
            nodes: self.nodes,
            favourite: favourite.or(before.and_then(|last| last.favourite)),
        })
    }

    /// The score, first sought near the last one.
    fn aspire(&mut self, depth: u32, last: Option<&Found>) -> i32 {
        let position = self.position;
        let near = last.filter(|last| depth >= STEADY && last.score.abs() < MATES);
        let around =
            near.map_or((-INFINITE, INFINITE), |last| (last.score - WINDOW, last.score + WINDOW));
        let ((mut alpha, mut beta), mut width) = (around, WINDOW);
        loop {
            let score = self.negamax(position, depth as i32, alpha, beta, 0, false);
            width *= 2;
            let reach = if width > WIDEST { INFINITE } else { width };
            match score {
                _ if self.over => return score,
                _ if score <= alpha && alpha > -INFINITE => {
                    beta = i32::midpoint(alpha, beta);
                    alpha = (score - reach).max(-INFINITE);
                }
                _ if score >= beta && beta < INFINITE => beta = (score + reach).min(INFINITE),
                _ => return score,
            }
        }
    }

    /// The score of a move of the root that is not the best one. None if there was no time.
    fn follow(&mut self, action: Action, depth: u32, best: i32) -> Option<i32> {
        let position = self.position;
        let m = action.to_move(position)?;
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let mut next = position.clone();
        self.memory.keys.push(ending::play_keyed(&mut next, key, m));
        self.memory.moved[0] = Some(Arrival::new(shakmaty::Position::turn(position), m));
        let bar = best - TOLERANCE;
        let score = -self.negamax(&next, depth as i32 - 1, -bar, 1 - bar, 1, false);
        self.memory.keys.pop();
        (!self.over).then_some(if score >= bar { best } else { score })
    }
}

#[cfg(test)]
mod tests;
