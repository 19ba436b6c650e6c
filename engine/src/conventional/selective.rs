//! Alpha-beta that leaves out what is unlikely to matter, as chess programs do: principal variation search with
//! aspiration windows; null moves, futile moves, late moves and losing exchanges pruned or searched less deep; quiescence. A
//! small network ([`nn::nnue`]) judges quiet positions. It sees many plies further than [`super::negamax`] in the same
//! time, and overlooks a little.
//!
//! It is the tree search's scout: what is this position worth, and is there a better move than the one preferred so far?
//! `node` searches one position, `prune` says when none of its moves need be searched, `quiescence` searches what lies behind the last ply; `window` is what is asked of a position; `candidate` says which moves are left out or searched less
//! deep, `extension` which deeper, `margins` by what numbers, `order` which come first, `moves` which there are, `history` what they are known for, `credit` what for, `correction` by how
//! much the network errs in positions alike.

mod attack;
mod candidate;
mod correction;
mod credit;
mod cycle;
mod extension;
mod history;
mod margins;
mod moves;
mod node;
mod order;
mod prune;
mod quiescence;
mod scale;
mod window;

use super::table::{INFINITE, Lines, MATE, MATES, Table};
use crate::chess::action::Action;
use crate::chess::ending;
use correction::Corrections;
use history::{History, Prompt};
use nn::nnue::{Accumulators, Nnue};
use scale::centipawns;
use shakmaty::{Chess, Move, Position};
use std::sync::Arc;

/// Deepest line, in plies.
const DEEPEST: usize = 100;
/// First half-width of the window around the last depths' score; a point more for each of several threads.
const WINDOW: i32 = 5;
const LANES: usize = 8;
/// Wider windows than this are given up.
const WIDEST: i32 = 2_000;
/// So many plies further a shorter mate is looked for.
const SHORTER: i32 = 4;
/// A move that is no more than so many points worse than the best one, ten centipawns, counts as its equal. Guess.
const TOLERANCE: i32 = 36;

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
    /// The move asked about; it has the best one's score if it is as good within a tolerance, else a bound of its own. None for the best
    /// move itself, and if there was no time.
    pub favourite: Option<Variation>,
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

/// The memory of such searches. Made once and used for many.
pub struct Memory {
    /// One for each position of the game and of the line being looked at.
    keys: Vec<u64>,
    table: Arc<Table>,
    history: History,
    corrections: Corrections,
    lines: Lines,
    plies: Vec<Ply>,
    nnue: Arc<Nnue>,
    accumulators: Accumulators,
}

impl Memory {
    /// Nothing is known but what is in `table`, which others may share; `nnue` judges quiet positions.
    #[must_use]
    pub fn new(nnue: Arc<Nnue>, table: Arc<Table>) -> Memory {
        let plies = DEEPEST + 4 + Ply::BEFORE;
        Memory {
            keys: Vec::new(),
            table,
            history: History::new(),
            corrections: Corrections::new(),
            lines: Lines::new(plies),
            plies: vec![Ply::default(); plies],
            nnue,
            accumulators: Accumulators::default(),
        }
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
    /// Moves of the root that are to be told apart, each with a line of its own: 1 where the best one will do.
    pub lines: usize,
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
    memory.plies.fill(Ply::default());
    memory.history.begin();
    let Question { position, allowed, lane, lines } = *question;
    if lane == 0 {
        memory.table.begin();
    }
    let mut tree = Tree {
        memory,
        position,
        allowed,
        watch,
        nodes: 0,
        told: 0,
        depth: 0,
        seldepth: 0,
        width: INFINITE,
        lines: lines.max(1),
        averages: vec![None; lines.max(1)],
        taken: Vec::new(),
        hint: None,
        line: Vec::new(),
        lane,
        verified: 0,
        over: false,
    };
    let mut found: Option<Found> = None;
    for depth in 1 + lane as u32 % 2..DEEPEST as u32 / 2 {
        let Some(next) = tree.deepen(depth, found.as_ref()) else { break };
        tree.watch.heard(&next);
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

struct Tree<'a> {
    memory: &'a mut Memory,
    /// The root.
    position: &'a Chess,
    /// Moves of the root; none = all.
    allowed: &'a [Action],
    watch: &'a mut dyn Watch,
    /// Moves made, and how many of them `watch` knows of.
    nodes: u64,
    told: u64,
    /// Plies of the search under way, and of the longest line that it took for best.
    depth: i32,
    seldepth: usize,
    /// Of the root's window.
    width: i32,
    /// Moves of the root that are to be told apart.
    lines: usize,
    /// Of the root's scores for each of these, the last ones counting most.
    averages: Vec<Option<i32>>,
    /// Moves of the root that have a line of this depth.
    taken: Vec<Action>,
    /// The move to begin with: which came next after those at the last depth. None where the table's will do.
    hint: Option<Action>,
    /// The last depth's line of the move that is sought.
    line: Vec<Action>,
    /// Which of several threads this is.
    lane: usize,
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
                favourite: None,
            }));
        }
        let mut ranked = self.rank(depth, (line, score), last);
        let (line, score) = ranked.remove(0);
        let first = *line.first()?;
        let others = self.others(&first, ranked, last);
        let asked = self.watch.favourite().filter(|favourite| *favourite != first);
        let told = |favourite| self.follow(favourite, depth, score);
        let favourite = asked.and_then(told);
        // No time to ask again: what was true one ply before is likely still.
        let before = last.filter(|last| self.over && last.best.line.first() == Some(&first));
        Some(Found {
            best: Variation { line, score: centipawns(score) },
            others,
            depth,
            seldepth: self.seldepth as u32,
            nodes: self.nodes,
            favourite: favourite.or_else(|| before.and_then(|last| last.favourite.clone())),
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
        let narrow = WINDOW + (self.lane % LANES) as i32;
        let mut width = near.map_or(INFINITE, |score| narrow + score * score / 10_193);
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

    /// What is to be told of a move of the root that is not the best one. None if there was no time.
    fn follow(&mut self, action: Action, depth: u32, best: i32) -> Option<Variation> {
        let position = self.position;
        let m = action.to_move(position)?;
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let mut next = position.clone();
        self.memory.keys.push(ending::play_keyed(&mut next, key, m));
        let (at, turn) = (self.at(0), position.turn());
        (at.moved, at.prompt) = (Some(m), Some(Prompt::new(turn, m, position.is_check())));
        let bar = best - TOLERANCE;
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
