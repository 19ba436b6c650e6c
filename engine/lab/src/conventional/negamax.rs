//! Minimax, and alpha-beta with the heuristics of paper 002 and of AlphaZero's opponents (paper 004, Methods):
//! iterative deepening, transposition table, MVV-LVA, killer moves, history heuristic, quiescence search, check
//! extension. No unsound pruning: alpha-beta has the value of minimax.

use super::evaluation::evaluate;
use super::refutations::OrderingTables;
use alphabeta::scale::win;
use alphabeta::table::{Bound, INFINITE, MATE, MATES, PvTable, Table, TtEntry};
use chess::action::Action;
use chess::ending::{self, by_fifty_moves, key_before};
use chess::game::Game;
use engine::play::players::player::{PlayerResult, PlayerWatch};
use shakmaty::{Chess, Color, Move, MoveList, Position};

/// Maximum ply.
const MAX_PLY: usize = 100;
/// Nodes between two polls of the watch.
const POLL_INTERVAL: u64 = 16;
/// Entries of the transposition table, a power of two: 16 MB.
const POSITIONS: usize = 1 << 20;

/// Pruning method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// Plain minimax.
    None,
    /// Alpha-beta.
    AlphaBeta,
}

/// Position and limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct NegamaxRequest<'a> {
    /// The position is its last; earlier ones count for repetitions.
    pub game: &'a Game,
    /// Root moves, all legal.
    pub allowed: &'a [Action],
    /// Pruning method.
    pub pruning: Pruning,
    /// Maximum depth; None = unlimited.
    pub depth: Option<u32>,
}

/// Iterative deepening until the watch or the depth limit stops it. None without moves.
pub fn search(question: &NegamaxRequest<'_>, watch: &mut dyn PlayerWatch) -> Option<PlayerResult> {
    let first = *question.allowed.first()?;
    let position = question.game.position();
    let mut tree = NegamaxSearch::new(question, watch);
    let mut best = PlayerResult {
        line: vec![first],
        win: win(evaluate(position)),
        mate_plies: None,
        depth: 1,
        seldepth: 1,
        nodes: 0,
    };
    let last = question.depth.unwrap_or(u32::MAX).clamp(1, MAX_PLY as u32 / 2);
    for depth in 1..=last {
        let Some(score) = tree.root(position, depth as i32) else { break };
        best = PlayerResult {
            line: tree.lines.best().to_vec(),
            win: win(score.clamp(-3000, 3000)),
            mate_plies: (score.abs() >= MATES).then(|| (MATE - score.abs()) * score.signum()),
            depth,
            seldepth: tree.seldepth as u32,
            nodes: tree.nodes,
        };
        tree.watch.on_found(&best);
        // A mate within the searched depth is final.
        let is_mate_final = best.mate_plies.is_some_and(|plies| plies.unsigned_abs() <= depth);
        if is_mate_final || question.depth.is_none() && question.allowed.len() == 1 && depth > 1 {
            break;
        }
    }
    best.nodes = tree.nodes;
    Some(best)
}

/// State of a search.
struct NegamaxSearch<'a, 'b> {
    question: &'a NegamaxRequest<'b>,
    watch: &'a mut dyn PlayerWatch,
    nodes: u64,
    seldepth: usize,
    stopped: bool,
    /// Keys of the game's positions and of the current line.
    keys: Vec<u64>,
    /// Empty without pruning.
    table: Table,
    ordering: OrderingTables,
    lines: PvTable,
    /// Principal variation of the previous depth, searched first.
    last: Vec<Action>,
}

impl<'a, 'b> NegamaxSearch<'a, 'b> {
    fn new(
        question: &'a NegamaxRequest<'b>,
        watch: &'a mut dyn PlayerWatch,
    ) -> NegamaxSearch<'a, 'b> {
        let table = match question.pruning {
            Pruning::None => Table::new(0),
            Pruning::AlphaBeta => Table::new(POSITIONS),
        };
        NegamaxSearch {
            question,
            watch,
            nodes: 0,
            seldepth: 0,
            stopped: false,
            keys: question.game.keys().to_vec(),
            table,
            ordering: OrderingTables::new(MAX_PLY + 1),
            lines: PvTable::new(MAX_PLY),
            last: Vec::new(),
        }
    }

    /// Score of the root at this depth; None if it was not completed.
    fn root(&mut self, position: &Chess, depth: i32) -> Option<i32> {
        self.last = self.lines.best().to_vec();
        self.lines.clear(0);
        let (mut alpha, mut best) = (-INFINITE, -INFINITE);
        let mut moves: MoveList = position.legal_moves();
        moves.retain(|m| self.question.allowed.contains(&Action::new(*m)));
        self.order(position.turn(), &mut moves, 0, self.last.first().copied());
        for m in moves {
            let score = -self.follow(position, m, depth - 1, -INFINITE, -alpha, 0);
            if self.stopped {
                return None;
            }
            if score > best {
                best = score;
                self.lines.update(0, m);
            }
            if self.question.pruning == Pruning::AlphaBeta {
                alpha = alpha.max(score);
            }
        }
        Some(best)
    }

    /// Score after a move, for the side to move then.
    fn follow(
        &mut self,
        position: &Chess,
        m: Move,
        depth: i32,
        alpha: i32,
        beta: i32,
        ply: usize,
    ) -> i32 {
        let key = self.keys.last().copied().unwrap_or_default();
        let mut next = position.clone();
        self.keys.push(ending::play_keyed(&mut next, key, m));
        let score = self.negamax(&next, depth, alpha, beta, ply + 1);
        self.keys.pop();
        score
    }

    fn poll(&mut self) -> bool {
        self.nodes += 1;
        if self.nodes.is_multiple_of(POLL_INTERVAL) && self.watch.is_over(self.nodes) {
            self.stopped = true;
        }
        self.stopped
    }

    fn negamax(&mut self, position: &Chess, depth: i32, alpha: i32, beta: i32, ply: usize) -> i32 {
        self.lines.clear(ply);
        if self.poll() {
            return 0;
        }
        self.seldepth = self.seldepth.max(ply);
        let mut moves: MoveList = position.legal_moves();
        if let Some(ending) = ending::by_board(position, moves.len()) {
            return if ending.winner().is_some() { ply as i32 - MATE } else { 0 };
        }
        let returns = ending::repeats(position, |plies| key_before(&self.keys, plies), ply);
        if by_fifty_moves(position) || returns {
            return 0;
        }
        if ply >= MAX_PLY {
            return evaluate(position);
        }
        let depth = if position.is_check() { depth + 1 } else { depth };
        if depth <= 0 {
            return self.quiesce(position, alpha, beta, ply);
        }
        let key = self.keys.last().copied().unwrap_or_default();
        let (mut alpha, mut hint) = (alpha, None);
        if let Some(entry) = self.table.get(key, ply) {
            hint = entry.action;
            // Not `>=`: a deeper value is better, but differs from minimax's at this depth.
            if entry.depth == depth && entry.decides(alpha, beta) {
                return entry.score;
            }
        }
        let before = alpha;
        self.order(position.turn(), &mut moves, ply, hint);
        let (mut best, mut best_move) = (-INFINITE, None);
        for m in moves {
            let score = match self.question.pruning {
                Pruning::AlphaBeta => -self.follow(position, m, depth - 1, -beta, -alpha, ply),
                Pruning::None => -self.follow(position, m, depth - 1, -INFINITE, INFINITE, ply),
            };
            if self.stopped {
                return 0;
            }
            if score > best {
                best = score;
                best_move = Some(m);
                self.lines.update(ply, m);
            }
            alpha = alpha.max(score);
            if alpha >= beta && self.question.pruning == Pruning::AlphaBeta {
                self.ordering.update(position.turn(), m, depth, ply);
                break;
            }
        }
        let bound = Bound::of(best, before, beta);
        let action = best_move.map(Action::new);
        let static_eval = None;
        self.table.put(
            key,
            ply,
            TtEntry { action, score: best, depth, bound, static_eval, pv: false },
        );
        best
    }

    /// Quiescence search: captures and promotions, or standing pat.
    fn quiesce(&mut self, position: &Chess, alpha: i32, beta: i32, ply: usize) -> i32 {
        let mut best = evaluate(position);
        let mut alpha = alpha.max(best);
        if best >= beta || ply >= MAX_PLY {
            return best;
        }
        let mut moves: MoveList = position.legal_moves();
        moves.retain(|m| m.is_capture() || m.is_promotion());
        self.order(position.turn(), &mut moves, ply, None);
        for m in moves {
            let mut next = position.clone();
            next.play_unchecked(m);
            if self.poll() {
                return best;
            }
            self.seldepth = self.seldepth.max(ply + 1);
            let score = match ending::by_board(&next, next.legal_moves().len()) {
                Some(ending) if ending.winner().is_some() => MATE - ply as i32 - 1,
                Some(_) => 0,
                None => -self.quiesce(&next, -beta, -alpha, ply + 1),
            };
            best = best.max(score);
            alpha = alpha.max(score);
            if alpha >= beta {
                break;
            }
        }
        best
    }

    /// Orders moves: the table's move, then by [`OrderingTables::rank`].
    fn order(&self, turn: Color, moves: &mut MoveList, ply: usize, hint: Option<Action>) {
        let rank = |m: &Move| match hint == Some(Action::new(*m)) {
            true => i32::MAX,
            false => self.ordering.rank(turn, *m, ply),
        };
        moves.sort_by_cached_key(|m| std::cmp::Reverse(rank(m)));
    }
}

#[cfg(test)]
mod tests;
