//! Alpha-beta that leaves out what is unlikely to matter, as chess programs do: principal variation search, null
//! moves, late moves less deep, futile moves not at all. It overlooks a little and sees a few plies further than
//! [`super::negamax`] in the same time.
//!
//! It is the search's scout: in a small budget of nodes it tells whether a move is overlooked that wins material.

use super::evaluation::{evaluate, value};
use super::exchange;
use super::table::{Bound, INFINITE, Known, MATE, MATES, Refutations, Table};
use crate::chess::action::Action;
use crate::chess::ending::{self, by_fifty_moves, key_before, recurrences};
use shakmaty::{Chess, Move, MoveList, Position, Role};

/// Deepest line, in plies.
const DEEPEST: usize = 64;
/// Positions between two looks at the clock.
const PATIENCE: u64 = 256;
/// Entries of the transposition table, a power of two: 1 MB.
const POSITIONS: usize = 1 << 16;
/// A quiet move that leaves the score this far below what is needed is not looked at one ply before the end; further
/// up so much more for each ply. Rules of thumb, as all the numbers below.
const FUTILITY: i32 = 150;

/// What a search has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scouted {
    /// The best move.
    pub best: Action,
    /// Centipawns for the side to move.
    pub score: i32,
    /// Plies searched to the end.
    pub depth: u32,
    /// The move asked about is worse by the margin asked about.
    pub behind: bool,
}

/// The memory of such searches. Made once and used for many.
pub struct Memory {
    /// One for each position of the game and of the line being looked at.
    keys: Vec<u64>,
    table: Table,
    refutations: Refutations,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            keys: Vec::new(),
            table: Table::new(POSITIONS),
            refutations: Refutations::new(DEEPEST + 1),
        }
    }
}

impl Memory {
    /// The line that starts with the best move of `found`, a search of `position` just now, as far as it is remembered.
    #[must_use]
    pub fn line(&self, position: &Chess, found: &Scouted) -> Vec<Action> {
        let (mut position, mut line) = (position.clone(), Vec::new());
        let mut next = Some(found.best);
        while let Some(action) = next.filter(|_| line.len() < found.depth as usize) {
            // The memory may have mixed up two positions.
            let Some(m) = action.to_move(&position).filter(|m| position.is_legal(*m)) else {
                break;
            };
            position.play_unchecked(m);
            line.push(action);
            let known = self.table.get(ending::key(&position), line.len());
            next = known.and_then(|known| known.action);
        }
        line
    }
}

/// What to search.
pub struct Question<'a> {
    /// The position.
    pub position: &'a Chess,
    /// A move of it: is it worse than the best one by `margin` centipawns or more?
    pub favourite: Action,
    /// See `favourite`.
    pub margin: i32,
    /// Positions to look at.
    pub budget: u64,
    /// Ends the search sooner.
    pub stopped: &'a dyn Fn() -> bool,
}

/// Searches deeper and deeper. `keys` are those of the positions so far, this one's last. None if not one ply was
/// finished, or there is no move.
pub fn search(
    memory: &mut Memory,
    keys: impl IntoIterator<Item = u64>,
    question: &Question<'_>,
) -> Option<Scouted> {
    memory.keys.clear();
    memory.keys.extend(keys);
    memory.refutations.fade();
    let mut tree = Tree { memory, question, nodes: 0, over: false };
    let mut found = None;
    for depth in 1..DEEPEST as i32 / 2 {
        let last = found.map(|found: Scouted| found.best);
        let Some(scouted) = tree.root(depth, last) else { break };
        found = Some(scouted);
        // A mate that was seen to its end gets no shorter.
        if depth > 1 && scouted.score.abs() >= MATES && MATE - scouted.score.abs() <= depth {
            break;
        }
    }
    found
}

struct Tree<'a, 'b> {
    memory: &'a mut Memory,
    question: &'a Question<'b>,
    nodes: u64,
    over: bool,
}

impl Tree<'_, '_> {
    /// None if there was no time for all of it.
    fn root(&mut self, depth: i32, last: Option<Action>) -> Option<Scouted> {
        let Question { position, favourite, margin, .. } = *self.question;
        let mut moves = position.legal_moves();
        self.order(position, &mut moves, 0, last.or(Some(favourite)));
        let (mut best, mut best_move) = (-INFINITE, None);
        for m in moves {
            let mut score = -INFINITE;
            if best_move.is_some() {
                score = -self.follow(position, m, depth - 1, -best - 1, -best);
            }
            if best_move.is_none() || score > best {
                score = -self.follow(position, m, depth - 1, -INFINITE, -best);
            }
            if self.over {
                return None;
            }
            if score > best {
                (best, best_move) = (score, Some(m));
            }
        }
        let best_move = Action::new(best_move?);
        let asked = favourite.to_move(position).filter(|_| best_move != favourite);
        let behind = asked.is_some_and(|m| {
            let bar = best - margin;
            -self.follow(position, m, depth - 1, -bar - 1, -bar) <= bar
        });
        (!self.over).then_some(Scouted {
            best: best_move,
            score: best,
            depth: depth as u32,
            behind,
        })
    }

    /// The score after a move of the root, from the view of whoever is to move then.
    fn follow(&mut self, position: &Chess, m: Move, depth: i32, alpha: i32, beta: i32) -> i32 {
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let mut next = position.clone();
        self.memory.keys.push(ending::play_keyed(&mut next, key, m));
        let score = self.negamax(&next, depth, alpha, beta, 1, true);
        self.memory.keys.pop();
        score
    }

    /// Counts a position; true if it was one too many.
    fn counts(&mut self) -> bool {
        self.nodes += 1;
        let stopped = self.nodes.is_multiple_of(PATIENCE) && (self.question.stopped)();
        self.over |= stopped || self.nodes >= self.question.budget;
        self.over
    }

    fn negamax(
        &mut self,
        position: &Chess,
        depth: i32,
        alpha: i32,
        beta: i32,
        ply: usize,
        may_pass: bool,
    ) -> i32 {
        let check = position.is_check();
        let depth = depth + i32::from(check);
        if depth <= 0 || ply >= DEEPEST {
            return self.quiesce(position, alpha, beta, ply);
        }
        if self.counts() {
            return 0;
        }
        // Once is enough: whoever steered back can do so again.
        let returns =
            recurrences(position, |plies| key_before(&self.memory.keys, plies)).next().is_some();
        if returns || position.is_insufficient_material() {
            return 0;
        }
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let known = self.memory.table.get(key, ply);
        let hint = known.and_then(|known| known.action);
        if let Some(known) = known.filter(|known| known.depth >= depth)
            && known.decides(alpha, beta)
        {
            return known.score;
        }
        let narrow = beta - alpha == 1;
        let still = if check { -INFINITE } else { evaluate(position) };
        if narrow && !check && beta.abs() < MATES {
            // So far ahead that no threat is likely to change it.
            if depth <= 3 && still - FUTILITY * depth >= beta {
                return still;
            }
            if may_pass && depth >= 2 && still >= beta && has_pieces(position) {
                let score = self.pass(position, depth - 3 - depth / 4, beta, ply);
                if self.over {
                    return 0;
                }
                if score >= beta {
                    return if score >= MATES { beta } else { score };
                }
            }
        }
        let mut moves: MoveList = position.legal_moves();
        if moves.is_empty() {
            return if check { ply as i32 - MATE } else { 0 };
        }
        if by_fifty_moves(position) {
            return 0;
        }
        self.order(position, &mut moves, ply, hint);
        let (before, mut alpha) = (alpha, alpha);
        let (mut best, mut best_move) = (-INFINITE, None);
        for (index, m) in moves.into_iter().enumerate() {
            let quiet = !m.is_capture() && !m.is_promotion();
            let mut next = position.clone();
            let next_key = ending::play_keyed(&mut next, key, m);
            let gives_check = next.is_check();
            let dull = quiet && !check && !gives_check && best > -MATES;
            if dull && depth <= 3 && still + FUTILITY * depth <= alpha {
                best = best.max(still);
                continue;
            }
            let reduction = match index {
                _ if !dull || depth < 3 || index < 3 => 0,
                _ => 1 + i32::from(index >= 8) + i32::from(depth >= 6 && index >= 16),
            };
            self.memory.keys.push(next_key);
            let mut score = INFINITE;
            if index > 0 {
                score =
                    -self.negamax(&next, depth - 1 - reduction, -alpha - 1, -alpha, ply + 1, true);
                if reduction > 0 && score > alpha {
                    score = -self.negamax(&next, depth - 1, -alpha - 1, -alpha, ply + 1, true);
                }
            }
            if index == 0 || score > alpha && !narrow {
                score = -self.negamax(&next, depth - 1, -beta, -alpha, ply + 1, true);
            }
            self.memory.keys.pop();
            if self.over {
                return 0;
            }
            if score > best {
                (best, best_move) = (score, Some(m));
            }
            alpha = alpha.max(score);
            if alpha >= beta {
                self.memory.refutations.count(position.turn(), m, depth, ply);
                break;
            }
        }
        let bound = Bound::of(best, before, beta);
        let action = best_move.map(Action::new);
        self.memory.table.put(key, ply, Known { action, score: best, depth, bound });
        best
    }

    /// The score if the mover did nothing.
    fn pass(&mut self, position: &Chess, depth: i32, beta: i32, ply: usize) -> i32 {
        let Ok(next) = position.clone().swap_turn() else { return -INFINITE };
        self.memory.keys.push(ending::key(&next));
        let score = -self.negamax(&next, depth, -beta, 1 - beta, ply + 1, false);
        self.memory.keys.pop();
        score
    }

    /// Captures and promotions only, until nothing hangs; the mover may stand still instead.
    fn quiesce(&mut self, position: &Chess, alpha: i32, beta: i32, ply: usize) -> i32 {
        if self.counts() {
            return 0;
        }
        let mut moves: MoveList = position.legal_moves();
        if moves.is_empty() {
            return if position.is_check() { ply as i32 - MATE } else { 0 };
        }
        let still = evaluate(position);
        let (mut best, mut alpha) = (still, alpha.max(still));
        if best >= beta || ply >= DEEPEST {
            return best;
        }
        moves.retain(|m| m.is_capture() || m.promotion() == Some(Role::Queen));
        self.order(position, &mut moves, ply, None);
        for m in moves {
            let gain = m.capture().map_or(0, value) + m.promotion().map_or(0, value);
            // Neither what cannot lift the score to where it counts nor what loses the exchange.
            if still + gain + FUTILITY <= alpha || !exchange::wins(position, m, 0) {
                continue;
            }
            let mut next = position.clone();
            next.play_unchecked(m);
            let score = -self.quiesce(&next, -beta, -alpha, ply + 1);
            if self.over {
                return 0;
            }
            best = best.max(score);
            alpha = alpha.max(score);
            if alpha >= beta {
                break;
            }
        }
        best
    }

    /// Likely refutations first: the table's move, then by [`Refutations::rank`], captures that lose something last.
    fn order(&self, position: &Chess, moves: &mut MoveList, ply: usize, hint: Option<Action>) {
        let rank = |m: &Move| -> i32 {
            if hint == Some(Action::new(*m)) {
                return i32::MAX;
            }
            let rank = self.memory.refutations.rank(position.turn(), *m, ply);
            let safe = |victim| value(victim) >= value(m.role()) || exchange::wins(position, *m, 0);
            if m.capture().is_none_or(safe) { rank } else { rank - 4_000_000 }
        };
        moves.sort_by_cached_key(|m| std::cmp::Reverse(rank(m)));
    }
}

/// Whether the mover has more than pawns: else it may well be better to pass, were it allowed.
fn has_pieces(position: &Chess) -> bool {
    let board = position.board();
    (position.us() & !board.pawns() & !board.kings()).any()
}

#[cfg(test)]
mod tests;
