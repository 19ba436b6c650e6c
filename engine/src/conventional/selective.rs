//! Alpha-beta that leaves out what is unlikely to matter, as chess programs do: principal variation search, null
//! moves, late moves less deep, futile moves not at all. It overlooks a little and sees a few plies further than
//! [`super::negamax`] in the same time.
//!
//! It is the search's scout: in a small budget of nodes it tells whether a move is overlooked that wins material.

use super::evaluation::{Places, value};
use super::exchange;
use super::table::{Bound, INFINITE, Known, Lines, MATE, MATES, Refutations, Table};
use crate::chess::action::Action;
use crate::chess::ending::{self, by_fifty_moves, key_before, recurrences};
use shakmaty::{Chess, Move, MoveList, Position, Role};

/// Deepest line, in plies.
const DEEPEST: usize = 64;
/// Positions between two looks at the clock.
const PATIENCE: u64 = 256;
/// Entries of the transposition table, a power of two: 4 MB.
const POSITIONS: usize = 1 << 18;
/// A quiet move that leaves the score this far below what is needed is not looked at one ply before the end; further
/// up so much more for each ply. Rules of thumb, as all the numbers below.
const FUTILITY: i32 = 150;
/// No position has more moves.
const MOVES: usize = 256;

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scouted {
    /// The best move, and what follows as far as it was searched.
    pub line: Vec<Action>,
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
    lines: Lines,
    places: Places,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            keys: Vec::new(),
            table: Table::new(POSITIONS),
            refutations: Refutations::new(DEEPEST + 1),
            lines: Lines::new(DEEPEST),
            places: Places::default(),
        }
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
    let mut found: Option<Scouted> = None;
    for depth in 1..DEEPEST as i32 / 2 {
        let last = found.as_ref().and_then(|found| found.line.first().copied());
        let Some(scouted) = tree.root(depth, last) else { break };
        let score = scouted.score.abs();
        found = Some(scouted);
        // A mate that was seen to its end gets no shorter.
        if depth > 1 && score >= MATES && MATE - score <= depth {
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
        let moves = self.order(position, &mut moves, 0, last.or(Some(favourite)));
        let mut best = -INFINITE;
        self.memory.lines.clear(0);
        for (index, m) in moves.enumerate() {
            let mut score = INFINITE;
            if index > 0 {
                score = -self.follow(position, m, depth - 1, -best - 1, -best);
            }
            if score > best {
                score = -self.follow(position, m, depth - 1, -INFINITE, -best);
            }
            if self.over {
                return None;
            }
            if score > best {
                best = score;
                self.memory.lines.keep(0, m);
            }
        }
        let line = self.memory.lines.best().to_vec();
        let asked = favourite.to_move(position).filter(|_| line.first() != Some(&favourite));
        let behind = asked.is_some_and(|m| {
            let bar = best - margin;
            -self.follow(position, m, depth - 1, -bar - 1, -bar) <= bar
        });
        let whole = !self.over && !line.is_empty();
        whole.then_some(Scouted { line, score: best, depth: depth as u32, behind })
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
        let (check, narrow) = (position.is_check(), beta - alpha == 1);
        if !narrow {
            self.memory.lines.clear(ply);
        }
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
        // Where the best line may pass, it is to be known to its end.
        if let Some(known) = known.filter(|known| narrow && known.depth >= depth)
            && known.decides(alpha, beta)
        {
            return known.score;
        }
        let still = if check { -INFINITE } else { self.memory.places.evaluate(position) };
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
        let moves = self.order(position, &mut moves, ply, hint);
        let (before, mut alpha) = (alpha, alpha);
        let (mut best, mut best_move) = (-INFINITE, None);
        for (index, m) in moves.enumerate() {
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
                if score > alpha && !narrow {
                    self.memory.lines.keep(ply, m);
                }
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

    /// Captures and promotions to queens only, until nothing hangs; the mover may stand still instead. In check, all
    /// moves, and it may not.
    fn quiesce(&mut self, position: &Chess, alpha: i32, beta: i32, ply: usize) -> i32 {
        if self.counts() {
            return 0;
        }
        // A check at the deepest ply is not yet a mate.
        let check = position.is_check() && ply < DEEPEST;
        let still = if check { ply as i32 - MATE } else { self.memory.places.evaluate(position) };
        let (mut best, mut alpha) = (still, alpha.max(still));
        if best >= beta || ply >= DEEPEST {
            return best;
        }
        let mut moves: MoveList = match check {
            true => position.legal_moves(),
            false => position.capture_moves(),
        };
        if !check {
            moves.extend(position.promotion_moves().into_iter().filter(|m| !m.is_capture()));
            moves.retain(|m| m.promotion().is_none_or(|role| role == Role::Queen));
        }
        for m in self.order(position, &mut moves, ply, None) {
            let gain = m.capture().map_or(0, value) + m.promotion().map_or(0, value);
            // Neither what cannot lift the score to where it counts nor what loses the exchange.
            if !check && (still + gain + FUTILITY <= alpha || !exchange::wins(position, m, 0)) {
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
    fn order<'m>(
        &self,
        position: &Chess,
        moves: &'m mut MoveList,
        ply: usize,
        hint: Option<Action>,
    ) -> Ordered<'m> {
        let mut ranks = [0; MOVES];
        for (m, rank) in moves.iter().zip(&mut ranks) {
            let losing =
                |victim| value(victim) < value(m.role()) && !exchange::wins(position, *m, 0);
            *rank = match self.memory.refutations.rank(position.turn(), *m, ply) {
                _ if hint == Some(Action::new(*m)) => i32::MAX,
                rank if m.capture().is_some_and(losing) => rank - 4_000_000,
                rank => rank,
            };
        }
        Ordered { moves, ranks, next: 0 }
    }
}

/// Moves by rank, the highest first. Mostly few of them are asked for, so they are sorted one by one.
struct Ordered<'m> {
    moves: &'m mut MoveList,
    ranks: [i32; MOVES],
    next: usize,
}

impl Iterator for Ordered<'_> {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        let (first, count) = (self.next, self.moves.len());
        let best = (first..count).max_by_key(|at| (self.ranks[*at], std::cmp::Reverse(*at)))?;
        self.moves.swap(first, best);
        self.ranks.swap(first, best);
        self.next += 1;
        self.moves.get(first).copied()
    }
}

/// Whether the mover has more than pawns: else it may well be better to pass, were it allowed.
fn has_pieces(position: &Chess) -> bool {
    let board = position.board();
    (position.us() & !board.pawns() & !board.kings()).any()
}

#[cfg(test)]
mod tests;
