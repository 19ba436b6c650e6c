//! Alpha-beta search with a small network of static evaluations ([`nnue`], HalfKA): principal variation search with
//! aspiration windows, null move, futility and late move pruning, late move reductions, singular extensions,
//! quiescence search. Rules and numbers are Stockfish's, written down anew.
//!
//! The tree search chooses the engine's moves. This search has two users: the player `Search alpha-beta` and the
//! engine's blunder check after a tree search. The laboratory labels the positions that it visits.
//!
//! `node` searches one position, `prune` cuts it off before its moves are searched, `quiescence` searches captures at
//! depth 0; `window` holds depth and bounds; `candidate` prunes and reduces moves, `extension` extends them, with the
//! numbers of `margins`; `order` is the move picker, `moves` generates moves, `history` and `credit` keep the history
//! tables, `correction` is the correction history of the static evaluation; `table` is the transposition table.

#![forbid(unsafe_code)]

mod attack;
pub mod bundled;
mod candidate;
mod correction;
mod credit;
mod cycle;
pub mod exchange;
mod extension;
mod history;
mod margins;
mod moves;
pub mod nnue;
mod node;
mod order;
mod prune;
mod quiescence;
pub mod scale;
pub mod table;
mod window;

use crate::nnue::{Accumulators, Nnue};
use chess::action::Action;
use chess::ending;
use correction::Corrections;
use history::{ContinuationKey, History};
use scale::{centipawns, points_of_win, win};
use shakmaty::{Chess, Move, Position};
use std::sync::Arc;
use table::{INFINITE, MATE, MATES, PvTable, Table};

/// Maximum ply.
const MAX_PLY: usize = 100;
/// Initial half-width of the aspiration window.
const ASPIRATION_DELTA: i32 = 5;
/// A wider aspiration window is opened fully.
const MAX_DELTA: i32 = 2_000;
/// Minimum margin of the compared move, in points: ten centipawns. Guess.
const MIN_MARGIN: i32 = 36;
/// Plies searched beyond a mate's length, to find a shorter mate.
const MATE_EXTRA_PLIES: i32 = 4;

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// The best move.
    pub best: Variation,
    /// The next best moves of MultiPV, in order.
    pub others: Vec<Variation>,
    /// Completed depth.
    pub depth: u32,
    /// Selective depth: plies of the longest principal variation.
    pub seldepth: u32,
    /// Nodes searched.
    pub nodes: u64,
    /// Variation of the compared move, if it is not the best one. Its score is the best one's if it loses less than
    /// the margin, else an upper bound. None if there was no time.
    pub compared: Option<Variation>,
}

impl SearchResult {
    /// All variations, the best one first.
    pub fn variations(&self) -> impl Iterator<Item = &Variation> {
        std::iter::once(&self.best).chain(&self.others)
    }
}

/// Principal variation and score of a root move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variation {
    /// At least one move.
    pub line: Vec<Action>,
    /// Centipawns for the side to move.
    pub score: i32,
}

impl Variation {
    /// Plies to a mate: positive = the side to move mates. The defence is never pruned, so the mate is sound.
    #[must_use]
    pub fn mate_plies(&self) -> Option<i32> {
        let score = self.score;
        (score.abs() >= MATES).then(|| score.signum() * (MATE - score.abs()))
    }
}

/// The search and its tables, which persist between calls.
pub struct AlphaBeta {
    /// Zobrist keys of the game's positions and of the current line.
    keys: Vec<u64>,
    table: Table,
    history: History,
    corrections: Corrections,
    lines: PvTable,
    plies: Vec<Ply>,
    nnue: Arc<Nnue>,
    accumulators: Accumulators,
}

impl AlphaBeta {
    /// `nnue` is the static evaluation. The transposition table has `entries` of [`table::ENTRY_BYTES`], a power of
    /// two.
    #[must_use]
    pub fn new(nnue: Arc<Nnue>, entries: usize) -> AlphaBeta {
        let plies = MAX_PLY + 4 + Ply::BEFORE;
        AlphaBeta {
            keys: Vec::new(),
            table: Table::new(entries),
            history: History::new(),
            corrections: Corrections::new(),
            lines: PvTable::new(plies),
            plies: vec![Ply::default(); plies],
            nnue,
            accumulators: Accumulators::default(),
        }
    }

    /// Clears all tables; keeps their memory.
    pub fn clear(&mut self) {
        self.table.clear();
        self.history = History::new();
        self.corrections = Corrections::new();
    }

    /// Iterative deepening until `watch` stops it. `keys` are those of the game's positions, the root's last. None if
    /// no depth was completed, or if there is no move.
    pub fn search(
        &mut self,
        keys: impl IntoIterator<Item = u64>,
        request: &SearchRequest<'_>,
        watch: &mut dyn Observer,
    ) -> Option<SearchResult> {
        self.keys.clear();
        self.keys.extend(keys);
        self.plies.fill(Ply::default());
        self.history.age();
        self.table.begin();
        let SearchRequest { position, allowed, lines, compare } = *request;
        let mut tree = Tree {
            memory: self,
            position,
            allowed,
            watch,
            nodes: 0,
            reported: 0,
            depth: 0,
            seldepth: 0,
            root_width: INFINITE,
            lines: lines.max(1),
            compare,
            averages: vec![None; lines.max(1)],
            done: Vec::new(),
            hint: None,
            line: Vec::new(),
            null_move_min_ply: 0,
            stopped: false,
        };
        let mut found: Option<SearchResult> = None;
        for depth in 1..MAX_PLY as u32 / 2 {
            let Some(next) = tree.deepen(depth, found.as_ref()) else { break };
            tree.watch.on_depth(&next);
            let score = next.best.score.abs();
            found = Some(next);
            // Pruning may miss the shortest mate: search a few plies more.
            let is_mate_proven = score >= MATES && MATE - score + MATE_EXTRA_PLIES <= depth as i32;
            if tree.stopped || is_mate_proven {
                break;
            }
        }
        found
    }
}

/// Stack entry of one ply of the current line.
#[derive(Clone, Copy, Default)]
struct Ply {
    /// Move excluded by the singular-extension search.
    excluded: Option<Action>,
    /// Corrected static eval; in check, that of two plies ago, if any.
    static_eval: Option<i32>,
    /// Move being searched; none for a null move.
    current_move: Option<Move>,
    /// Key of this move in continuation history.
    continuation_key: Option<ContinuationKey>,
    check: bool,
    /// Moves tried.
    move_count: i32,
    /// History score of the move being searched (Stockfish's statScore).
    stat_score: i32,
    /// Late move reduction of the move being searched, in plies.
    reduced: i32,
    /// Beta cutoffs at this ply since the grandparent was entered.
    cutoff_count: i32,
    /// The transposition table has an entry.
    tt_hit: bool,
    /// On a principal variation, now or by the table.
    pv: bool,
    /// On the principal variation of the previous depth.
    follows_pv: bool,
}

impl Ply {
    /// Empty stack entries before the root.
    const BEFORE: usize = 6;
}

/// Observes and stops a search.
pub trait Observer {
    /// Called every few nodes with their number and the current position. True stops the search.
    fn is_over(&mut self, positions: u64, at: &Chess) -> bool;
    /// Called after each depth.
    fn on_depth(&mut self, found: &SearchResult);
}

/// A move to compare with the best one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// A legal move of the root.
    pub action: Action,
    /// Win probability that it may lose against the best move and still count as equal.
    pub margin: f32,
}

/// Root position and limits of a search.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    /// The root.
    pub position: &'a Chess,
    /// Root moves to search; empty = all.
    pub allowed: &'a [Action],
    /// Number of variations (MultiPV); at least 1.
    pub lines: usize,
    /// A move to compare with the best one at each depth.
    pub compare: Option<Comparison>,
}

struct Tree<'a> {
    memory: &'a mut AlphaBeta,
    /// The root.
    position: &'a Chess,
    /// Root moves to search; empty = all.
    allowed: &'a [Action],
    watch: &'a mut dyn Observer,
    /// Nodes searched, and how many of them `watch` has been informed of.
    nodes: u64,
    reported: u64,
    /// Current depth and selective depth.
    depth: i32,
    seldepth: usize,
    /// Width of the root's window.
    root_width: i32,
    /// Number of variations (MultiPV).
    lines: usize,
    compare: Option<Comparison>,
    /// Running average of the root's score per variation.
    averages: Vec<Option<i32>>,
    /// Root moves whose variation is done at this depth.
    done: Vec<Action>,
    /// Root move to search first; none = the table's.
    hint: Option<Action>,
    /// Previous depth's principal variation of the move searched now.
    line: Vec<Action>,
    /// Null move is off below this ply, while a null-move cutoff is verified.
    null_move_min_ply: usize,
    stopped: bool,
}

impl Tree<'_> {
    /// Searches one depth. None if it was stopped before the first move.
    fn deepen(&mut self, depth: u32, last: Option<&SearchResult>) -> Option<SearchResult> {
        (self.depth, self.seldepth) = (depth as i32, 0);
        // With MultiPV, the table's root move may not be the best one.
        self.hint =
            last.filter(|_| self.lines > 1).and_then(|last| last.best.line.first().copied());
        self.line = last.map_or_else(Vec::new, |last| last.best.line.clone());
        let score = self.aspiration_search(depth);
        let line = self.memory.lines.best().to_vec();
        let first = *line.first()?;
        if self.stopped {
            // The previous best move is searched first: a new one has beaten it.
            let same = last.filter(|last| last.best.line.first() == Some(&first));
            return Some(same.cloned().unwrap_or_else(|| SearchResult {
                best: Variation { line: self.extend_line(line, depth), score: centipawns(score) },
                others: self.others(&first, Vec::new(), last),
                depth: depth - 1,
                seldepth: self.seldepth as u32,
                nodes: self.nodes,
                compared: None,
            }));
        }
        let mut ranked = self.rank(depth, (line, score), last);
        let (line, score) = ranked.remove(0);
        let first = *line.first()?;
        let others = self.others(&first, ranked, last);
        let comparison = self.compare.filter(|compare| compare.action != first);
        let compared = comparison.and_then(|compare| self.compare(compare, depth, score));
        // Stopped: the comparison of the previous depth still applies.
        let previous = last.filter(|last| self.stopped && last.best.line.first() == Some(&first));
        Some(SearchResult {
            best: Variation { line, score: centipawns(score) },
            others,
            depth,
            seldepth: self.seldepth as u32,
            nodes: self.nodes,
            compared: compared.or_else(|| previous.and_then(|last| last.compared.clone())),
        })
    }

    /// Extends a line with the table's moves up to `plies`: a move found when the search stopped, or a compared one,
    /// has no longer line.
    fn extend_line(&self, mut line: Vec<Action>, plies: u32) -> Vec<Action> {
        let mut position = self.position.clone();
        let mut keys = vec![ending::key(&position)];
        for ply in 0..plies as usize {
            let key = keys[ply];
            let known = self.memory.table.get(key, ply).and_then(|known| known.action);
            let Some(action) = line.get(ply).copied().or(known) else { break };
            let Some(m) = action.to_move(&position).filter(|m| position.is_legal(*m)) else {
                break;
            };
            let next = ending::play_keyed(&mut position, key, m);
            if keys.contains(&next) {
                break;
            }
            keys.push(next);
            if ply == line.len() {
                line.push(action);
            }
        }
        line
    }

    /// Searches the remaining MultiPV variations; returns lines and scores, the best first. `best` is the first
    /// variation.
    fn rank(
        &mut self,
        depth: u32,
        best: (Vec<Action>, i32),
        last: Option<&SearchResult>,
    ) -> Vec<(Vec<Action>, i32)> {
        let previous = || last.into_iter().flat_map(SearchResult::variations);
        let mut ranked = vec![best];
        while ranked.len() < self.lines {
            self.done.extend(ranked.last().and_then(|(line, _)| line.first()));
            let is_left = |variation: &&Variation| {
                variation.line.first().is_some_and(|action| !self.done.contains(action))
            };
            let line = previous().find(is_left).map(|variation| variation.line.clone());
            self.line = line.unwrap_or_default();
            self.hint = self.line.first().copied();
            let score = self.aspiration_search(depth);
            let line = self.memory.lines.best().to_vec();
            if self.stopped || line.is_empty() {
                break;
            }
            ranked.push((line, score));
        }
        self.done.clear();
        ranked.sort_by_key(|(_, score)| -score);
        ranked
    }

    /// Variations after the `first` one: those `found` at this depth, completed by those of the `last` depth.
    fn others(
        &self,
        first: &Action,
        found: Vec<(Vec<Action>, i32)>,
        last: Option<&SearchResult>,
    ) -> Vec<Variation> {
        let variation = |(line, score)| Variation { line, score: centipawns(score) };
        let mut others: Vec<Variation> = found.into_iter().map(variation).collect();
        for previous in last.into_iter().flat_map(SearchResult::variations) {
            let is_known = |known: &Variation| known.line.first() == previous.line.first();
            let known = previous.line.first() == Some(first) || others.iter().any(is_known);
            if others.len() + 1 < self.lines && !known {
                others.push(previous.clone());
            }
        }
        others.sort_by_key(|other| -other.score);
        others
    }

    /// Aspiration-window search of the root, without the moves that are done.
    fn aspiration_search(&mut self, depth: u32) -> i32 {
        let position = self.position;
        let index = self.done.len();
        let average = self.averages.get(index).copied().flatten();
        let near = average.filter(|score| score.abs() < MATES);
        let mut width = near.map_or(INFINITE, |score| ASPIRATION_DELTA + score * score / 10_193);
        let mut alpha = near.map_or(-INFINITE, |score| (score - width).max(-INFINITE));
        let mut beta = near.map_or(INFINITE, |score| (score + width).min(INFINITE));
        let mut fail_highs = 0;
        loop {
            let depth = (depth as i32 - fail_highs).max(1);
            let score = self.negamax(position, depth, alpha, beta, 0, false);
            let delta = if width > MAX_DELTA { INFINITE } else { width };
            match score {
                _ if self.stopped => return score,
                _ if score <= alpha && alpha > -INFINITE => {
                    beta = alpha;
                    alpha = (score - delta).max(-INFINITE);
                    fail_highs = 0;
                }
                _ if score >= beta && beta < INFINITE => {
                    alpha = alpha.max(beta - delta);
                    beta = (score + delta).min(INFINITE);
                    fail_highs += 1;
                }
                _ => {
                    let average = average.map_or(score, |average| i32::midpoint(score, average));
                    if let Some(known) = self.averages.get_mut(index) {
                        *known = Some(average);
                    }
                    return score;
                }
            }
            width += 47 * width / 128;
        }
    }

    /// Null-window search of a root move at the best score less the margin. None if there was no time.
    fn compare(&mut self, compare: Comparison, depth: u32, best: i32) -> Option<Variation> {
        let Comparison { action, margin } = compare;
        let position = self.position;
        let m = action.to_move(position)?;
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let mut next = position.clone();
        self.memory.keys.push(ending::play_keyed(&mut next, key, m));
        let (at, turn) = (self.at(0), position.turn());
        (at.current_move, at.continuation_key) =
            (Some(m), Some(ContinuationKey::new(turn, m, position.is_check())));
        // Ten centipawns or less are noise of the search.
        let threshold = points_of_win(win(centipawns(best)) - margin).min(best - MIN_MARGIN);
        let score = -self.negamax(&next, depth as i32 - 1, -threshold, 1 - threshold, 1, false);
        self.memory.keys.pop();
        (!self.stopped).then(|| Variation {
            line: self.extend_line(vec![action], depth),
            score: centipawns(if score >= threshold { best } else { score }),
        })
    }
}

#[cfg(test)]
mod tests;
