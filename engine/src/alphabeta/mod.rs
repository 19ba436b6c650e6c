//! Alpha-beta search with a small network of static evaluations ([`nn::nnue`], HalfKA): principal variation search with
//! aspiration windows, null move, futility and late move pruning, late move reductions, singular extensions,
//! quiescence search. Rules and numbers are Stockfish's, written down anew.
//!
//! It is not what plays: the tree search decides. It has two users, the player `Search alpha-beta` and the blunder
//! check after a tree search (`play::blunder_check`). The laboratory labels the positions that it visits.
//!
//! `node` searches one position, `prune` says when none of its moves need be searched, `quiescence` searches captures
//! behind the last ply; `window` holds depth and bounds; `candidate` says which moves are pruned or reduced,
//! `extension` which are extended, `margins` by what numbers; `order` ranks moves, `moves` generates them, `history`
//! and `credit` keep what they are ranked by, `correction` the errors of the static evaluation in similar positions;
//! `table` is the transposition table.

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
mod node;
mod order;
mod prune;
mod quiescence;
pub mod scale;
pub mod table;
mod window;

use crate::chess::action::Action;
use crate::chess::ending;
use correction::Corrections;
use history::{History, Prompt};
use nn::nnue::{Accumulators, Nnue};
use scale::{centipawns, points_of_win, win};
use shakmaty::{Chess, Move, Position};
use std::sync::Arc;
use table::{INFINITE, Lines, MATE, MATES, Table};

/// Deepest line, in plies.
const DEEPEST: usize = 100;
/// First half-width of the aspiration window around the last depths' score.
const WINDOW: i32 = 5;
/// Wider windows than this are given up.
const WIDEST: i32 = 2_000;
/// Points by which a compared move may always be worse than the best one: ten centipawns. Guess.
const EQUAL: i32 = 36;
/// Plies beyond a mate's length to which a shorter one is looked for.
const SHORTER: i32 = 4;

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The best move.
    pub best: Variation,
    /// The next best moves, as many as were asked for, the best one first.
    pub others: Vec<Variation>,
    /// Plies searched to the end.
    pub depth: u32,
    /// Plies of the longest line that was taken for best for a while.
    pub seldepth: u32,
    /// Positions looked at.
    pub nodes: u64,
    /// The line of the compared move, if that is another than the best one: with the best one's score if it loses less
    /// than its margin, else with an upper bound of its own. None if there was no time.
    pub compared: Option<Variation>,
}

impl Found {
    /// All moves that have lines, the best one first.
    pub fn variations(&self) -> impl Iterator<Item = &Variation> {
        std::iter::once(&self.best).chain(&self.others)
    }
}

/// A move, what follows, and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variation {
    /// As far as it was searched; at least one move.
    pub line: Vec<Action>,
    /// Centipawns for the side to move.
    pub score: i32,
}

impl Variation {
    /// Plies to a mate: positive = the side to move mates. Nothing that could escape it was left out: only who is not mated prunes.
    #[must_use]
    pub fn mate_plies(&self) -> Option<i32> {
        let score = self.score;
        (score.abs() >= MATES).then(|| score.signum() * (MATE - score.abs()))
    }
}

/// The search and what it remembers from one call to the next.
pub struct AlphaBeta {
    /// One for each position of the game and of the line being looked at.
    keys: Vec<u64>,
    table: Table,
    history: History,
    corrections: Corrections,
    lines: Lines,
    plies: Vec<Ply>,
    nnue: Arc<Nnue>,
    accumulators: Accumulators,
}

impl AlphaBeta {
    /// `nnue` evaluates quiet positions. The transposition table has `entries` of [`table::ENTRY_BYTES`], a power of
    /// two.
    #[must_use]
    pub fn new(nnue: Arc<Nnue>, entries: usize) -> AlphaBeta {
        let plies = DEEPEST + 4 + Ply::BEFORE;
        AlphaBeta {
            keys: Vec::new(),
            table: Table::new(entries),
            history: History::new(),
            corrections: Corrections::new(),
            lines: Lines::new(plies),
            plies: vec![Ply::default(); plies],
            nnue,
            accumulators: Accumulators::default(),
        }
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.table.clear();
        self.history = History::new();
        self.corrections = Corrections::new();
    }

    /// Searches deeper and deeper until `watch` ends it. `keys` are those of the positions so far, the root's last. None if
    /// not one ply was finished, or there is no move.
    pub fn search(
        &mut self,
        keys: impl IntoIterator<Item = u64>,
        question: &Question<'_>,
        watch: &mut dyn Watch,
    ) -> Option<Found> {
        self.keys.clear();
        self.keys.extend(keys);
        self.plies.fill(Ply::default());
        self.history.begin();
        self.table.begin();
        let Question { position, allowed, lines, compare } = *question;
        let mut tree = Tree {
            memory: self,
            position,
            allowed,
            watch,
            nodes: 0,
            reported: 0,
            depth: 0,
            seldepth: 0,
            width: INFINITE,
            lines: lines.max(1),
            compare,
            averages: vec![None; lines.max(1)],
            taken: Vec::new(),
            hint: None,
            line: Vec::new(),
            verified: 0,
            over: false,
        };
        let mut found: Option<Found> = None;
        for depth in 1..DEEPEST as u32 / 2 {
            let Some(next) = tree.deepen(depth, found.as_ref()) else { break };
            tree.watch.on_depth(&next);
            let score = next.best.score.abs();
            found = Some(next);
            // What prunes by guess may find a longer mate first, but not for long.
            let seen = score >= MATES && MATE - score + SHORTER <= depth as i32;
            if tree.over || seen {
                break;
            }
        }
        found
    }
}

/// What is kept of the line that is looked at, for each of its positions.
#[derive(Clone, Copy, Default)]
struct Ply {
    /// The move that is left out, to see what the others are worth.
    excluded: Option<Action>,
    /// The corrected evaluation, in check that of the mover's last turn; none if that was none.
    still: Option<i32>,
    /// The move that follows; none for a pass.
    moved: Option<Move>,
    /// The move as others answer it.
    prompt: Option<Prompt>,
    check: bool,
    /// Moves tried so far.
    tried: i32,
    /// What the last move that was searched is known for.
    worth: i32,
    /// Plies that it is searched less deep.
    reduced: i32,
    /// Positions refuted here since the one two plies before was entered.
    refuted: i32,
    /// The table knew it.
    known: bool,
    /// It is or was on a best line.
    pv: bool,
    /// It is on the last depth's best line.
    follows: bool,
}

impl Ply {
    /// Plies kept before the root's, which are empty.
    const BEFORE: usize = 6;
}

/// Watches a search.
pub trait Watch {
    /// Called after each `positions` more, the last of them `at`. True ends the search.
    fn is_over(&mut self, positions: u64, at: &Chess) -> bool;
    /// Called after each depth.
    fn on_depth(&mut self, found: &Found);
}

/// A move to compare with the best one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// A legal move of the root.
    pub action: Action,
    /// Win probability that it may lose against the best move and still count as its equal.
    pub margin: f32,
}

/// What is to be searched.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The root.
    pub position: &'a Chess,
    /// Moves of the root; none = all.
    pub allowed: &'a [Action],
    /// Number of best moves that get a line each; at least 1.
    pub lines: usize,
    /// A move to compare with the best one at each depth.
    pub compare: Option<Comparison>,
}

struct Tree<'a> {
    memory: &'a mut AlphaBeta,
    /// The root.
    position: &'a Chess,
    /// Moves of the root; none = all.
    allowed: &'a [Action],
    watch: &'a mut dyn Watch,
    /// Moves made, and how many of them `watch` knows of.
    nodes: u64,
    reported: u64,
    /// Plies of the search under way, and of the longest line that it took for best.
    depth: i32,
    seldepth: usize,
    /// Of the root's window.
    width: i32,
    /// Moves of the root that are to be told apart.
    lines: usize,
    compare: Option<Comparison>,
    /// Of the root's scores for each of these, the last ones counting most.
    averages: Vec<Option<i32>>,
    /// Moves of the root that have a line of this depth.
    taken: Vec<Action>,
    /// The move to begin with: which came next after those at the last depth. None where the table's will do.
    hint: Option<Action>,
    /// The last depth's line of the move that is sought.
    line: Vec<Action>,
    /// Up to this ply nobody passes: whether passing refutes is being looked at.
    verified: usize,
    over: bool,
}

impl Tree<'_> {
    /// The search of one depth. None if there was no time for anything.
    fn deepen(&mut self, depth: u32, last: Option<&Found>) -> Option<Found> {
        (self.depth, self.seldepth) = (depth as i32, 0);
        // The table may know a move that another, searched by itself, turned out to be better than.
        self.hint =
            last.filter(|_| self.lines > 1).and_then(|last| last.best.line.first().copied());
        self.line = last.map_or_else(Vec::new, |last| last.best.line.clone());
        let score = self.aspire(depth);
        let line = self.memory.lines.best().to_vec();
        let first = *line.first()?;
        if self.over {
            // The last depth's move came first: what is preferred to it, if anything, is better.
            let same = last.filter(|last| last.best.line.first() == Some(&first));
            return Some(same.cloned().unwrap_or_else(|| Found {
                best: Variation { line: self.prolonged(line, depth), score: centipawns(score) },
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
        let asked = self.compare.filter(|compare| compare.action != first);
        let compared = asked.and_then(|compare| self.compare(compare, depth, score));
        // No time to ask again: what was true one ply before is likely still.
        let before = last.filter(|last| self.over && last.best.line.first() == Some(&first));
        Some(Found {
            best: Variation { line, score: centipawns(score) },
            others,
            depth,
            seldepth: self.seldepth as u32,
            nodes: self.nodes,
            compared: compared.or_else(|| before.and_then(|last| last.compared.clone())),
        })
    }

    /// The line, and what the table takes for best after it, up to so many plies: of a move that came up when time ended, or that was only
    /// compared with the best one, there is no more.
    fn prolonged(&self, mut line: Vec<Action>, plies: u32) -> Vec<Action> {
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

    /// The lines of as many moves as are to be told apart, and their scores, beginning with the `best` one's; the best one first. As far as
    /// there is time.
    fn rank(
        &mut self,
        depth: u32,
        best: (Vec<Action>, i32),
        last: Option<&Found>,
    ) -> Vec<(Vec<Action>, i32)> {
        let before = || last.into_iter().flat_map(Found::variations);
        let mut ranked = vec![best];
        while ranked.len() < self.lines {
            self.taken.extend(ranked.last().and_then(|(line, _)| line.first()));
            let is_left = |told: &&Variation| {
                told.line.first().is_some_and(|action| !self.taken.contains(action))
            };
            let line = before().find(is_left).map(|told| told.line.clone());
            self.line = line.unwrap_or_default();
            self.hint = self.line.first().copied();
            let score = self.aspire(depth);
            let line = self.memory.lines.best().to_vec();
            if self.over || line.is_empty() {
                break;
            }
            ranked.push((line, score));
        }
        self.taken.clear();
        ranked.sort_by_key(|(_, score)| -score);
        ranked
    }

    /// What is told of the moves after the `first`: what was `found`, and what was told at the `last` depth.
    fn others(
        &self,
        first: &Action,
        found: Vec<(Vec<Action>, i32)>,
        last: Option<&Found>,
    ) -> Vec<Variation> {
        let told = |(line, score)| Variation { line, score: centipawns(score) };
        let mut others: Vec<Variation> = found.into_iter().map(told).collect();
        for before in last.into_iter().flat_map(Found::variations) {
            let is_known = |known: &Variation| known.line.first() == before.line.first();
            let known = before.line.first() == Some(first) || others.iter().any(is_known);
            if others.len() + 1 < self.lines && !known {
                others.push(before.clone());
            }
        }
        others.sort_by_key(|other| -other.score);
        others
    }

    /// The score, first sought near the last one. Without the moves that are taken.
    fn aspire(&mut self, depth: u32) -> i32 {
        let position = self.position;
        let place = self.taken.len();
        let average = self.averages.get(place).copied().flatten();
        let near = average.filter(|score| score.abs() < MATES);
        let mut width = near.map_or(INFINITE, |score| WINDOW + score * score / 10_193);
        let mut alpha = near.map_or(-INFINITE, |score| (score - width).max(-INFINITE));
        let mut beta = near.map_or(INFINITE, |score| (score + width).min(INFINITE));
        let mut higher = 0;
        loop {
            let depth = (depth as i32 - higher).max(1);
            let score = self.negamax(position, depth, alpha, beta, 0, false);
            let reach = if width > WIDEST { INFINITE } else { width };
            match score {
                _ if self.over => return score,
                _ if score <= alpha && alpha > -INFINITE => {
                    beta = alpha;
                    alpha = (score - reach).max(-INFINITE);
                    higher = 0;
                }
                _ if score >= beta && beta < INFINITE => {
                    alpha = alpha.max(beta - reach);
                    beta = (score + reach).min(INFINITE);
                    higher += 1;
                }
                _ => {
                    let average = average.map_or(score, |average| i32::midpoint(score, average));
                    if let Some(known) = self.averages.get_mut(place) {
                        *known = Some(average);
                    }
                    return score;
                }
            }
            width += 47 * width / 128;
        }
    }

    /// Searches a move of the root that is not the best one with a null window at the best score less the margin. None if
    /// there was no time.
    fn compare(&mut self, compare: Comparison, depth: u32, best: i32) -> Option<Variation> {
        let Comparison { action, margin } = compare;
        let position = self.position;
        let m = action.to_move(position)?;
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let mut next = position.clone();
        self.memory.keys.push(ending::play_keyed(&mut next, key, m));
        let (at, turn) = (self.at(0), position.turn());
        (at.moved, at.prompt) = (Some(m), Some(Prompt::new(turn, m, position.is_check())));
        // At most 10 centipawns short of the best score count as equal: less is noise of the search.
        let bar = points_of_win(win(centipawns(best)) - margin).min(best - EQUAL);
        let score = -self.negamax(&next, depth as i32 - 1, -bar, 1 - bar, 1, false);
        self.memory.keys.pop();
        (!self.over).then(|| Variation {
            line: self.prolonged(vec![action], depth),
            score: centipawns(if score >= bar { best } else { score }),
        })
    }
}

#[cfg(test)]
mod tests;
