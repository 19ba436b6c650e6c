//! Minimax, and alpha-beta with the heuristics that paper 002 and AlphaZero's opponents share (paper 004,
//! Methods): iterative deepening, a transposition table, captures by victim and attacker, killer moves, the
//! history of good quiet moves, quiescence, one ply more in check. Nothing is pruned that could change the
//! value: alpha-beta finds what minimax finds.

use super::evaluation::{evaluate, value, win};
use super::{Found, Watch};
use crate::chess::action::Action;
use crate::chess::ending::{self, by_fifty_moves, key_before, recurrences};
use crate::chess::game::Game;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, MoveList, Position};

/// Beyond every evaluation; a mate in so many plies is that much less.
const MATE: i32 = 30_000;
/// Scores from here on are mates.
const MATES: i32 = 29_000;
const INFINITE: i32 = 31_000;
/// Deepest line, in plies.
const DEEPEST: usize = 100;
/// Nodes between two looks at the watch.
const PATIENCE: u64 = 16;
/// Entries of the transposition table, a power of two: 16 MB.
const TABLE: usize = 1 << 20;

/// How much of the tree is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// All of it: plain minimax.
    None,
    /// What can matter.
    AlphaBeta,
}

/// What to search.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Its last position, and those that a repetition may come back to.
    pub game: &'a Game,
    /// The root's moves, all legal.
    pub allowed: &'a [Action],
    pub pruning: Pruning,
    /// Last depth of the deepening; None for as deep as it goes.
    pub depth: Option<u32>,
}

/// Searches deeper and deeper until the watch or the depth ends it. None without moves.
pub fn search(question: &Question<'_>, watch: &mut dyn Watch) -> Option<Found> {
    let first = *question.allowed.first()?;
    let position = question.game.position();
    let mut tree = Tree::new(question, watch);
    let mut best = Found {
        line: vec![first],
        win: win(evaluate(position)),
        mate_plies: None,
        depth: 1,
        seldepth: 1,
        nodes: 0,
    };
    let last = question.depth.unwrap_or(u32::MAX).clamp(1, DEEPEST as u32 / 2);
    for depth in 1..=last {
        let Some(score) = tree.root(position, depth as i32) else { break };
        best = Found {
            line: tree.lines[0].clone(),
            win: win(score.clamp(-3000, 3000)),
            mate_plies: (score.abs() >= MATES).then(|| (MATE - score.abs()) * score.signum()),
            depth,
            seldepth: tree.seldepth as u32,
            nodes: tree.nodes,
        };
        tree.watch.heard(&best);
        // A mate that this depth has seen to its end gets no shorter, and a mate is no matter of degree.
        let seen = best.mate_plies.is_some_and(|plies| plies.unsigned_abs() <= depth);
        if seen || question.depth.is_none() && question.allowed.len() == 1 && depth > 1 {
            break;
        }
    }
    best.nodes = tree.nodes;
    Some(best)
}

/// The search's memory.
struct Tree<'a, 'b> {
    question: &'a Question<'b>,
    watch: &'a mut dyn Watch,
    nodes: u64,
    seldepth: usize,
    over: bool,
    /// Of the game and of the line being looked at.
    keys: Vec<u64>,
    /// Empty without pruning.
    table: Vec<Slot>,
    /// Two quiet moves for each ply that refuted others.
    killers: Vec<[Option<Move>; 2]>,
    /// Refutations by origin and target.
    history: Vec<i32>,
    /// Best lines, by ply.
    lines: Vec<Vec<Action>>,
    /// The best line of the last depth, tried first.
    last: Vec<Action>,
}

/// One position of the table.
#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    action: Option<Action>,
    score: i16,
    depth: i8,
    bound: Bound,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Bound {
    #[default]
    Nothing,
    Exact,
    Lower,
    Upper,
}

impl<'a, 'b> Tree<'a, 'b> {
    fn new(question: &'a Question<'b>, watch: &'a mut dyn Watch) -> Tree<'a, 'b> {
        let table = match question.pruning {
            Pruning::None => Vec::new(),
            Pruning::AlphaBeta => vec![Slot::default(); TABLE],
        };
        Tree {
            question,
            watch,
            nodes: 0,
            seldepth: 0,
            over: false,
            keys: question.game.keys().to_vec(),
            table,
            killers: vec![[None; 2]; DEEPEST + 1],
            history: vec![0; 64 * 64],
            lines: vec![Vec::new(); DEEPEST + 2],
            last: Vec::new(),
        }
    }

    /// The root's score at this depth; None if there was no time for all of it.
    fn root(&mut self, position: &Chess, depth: i32) -> Option<i32> {
        self.last = std::mem::take(&mut self.lines[0]);
        let (mut alpha, mut best) = (-INFINITE, -INFINITE);
        let mut moves: MoveList = position.legal_moves();
        moves.retain(|m| self.question.allowed.contains(&Action::new(*m)));
        self.order(&mut moves, 0, self.last.first().copied());
        for m in moves {
            let score = -self.follow(position, m, depth - 1, -INFINITE, -alpha, 0);
            if self.over {
                return None;
            }
            if score > best {
                best = score;
                self.keep(0, m);
            }
            if self.question.pruning == Pruning::AlphaBeta {
                alpha = alpha.max(score);
            }
        }
        Some(best)
    }

    /// The best line at `ply` is this move and the best line after it.
    fn keep(&mut self, ply: usize, m: Move) {
        let tail = std::mem::take(&mut self.lines[ply + 1]);
        let line = &mut self.lines[ply];
        line.clear();
        line.push(Action::new(m));
        line.extend_from_slice(&tail);
        self.lines[ply + 1] = tail;
    }

    /// The score after a move, from the view of whoever is to move then.
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
        let quick = position.update_zobrist_hash(Zobrist64(key), m, EnPassantMode::Legal);
        let mut next = position.clone();
        next.play_unchecked(m);
        self.keys.push(quick.map_or_else(|| ending::key(&next), |key| key.0));
        let score = self.negamax(&next, depth, alpha, beta, ply + 1);
        self.keys.pop();
        score
    }

    fn counts(&mut self) -> bool {
        self.nodes += 1;
        if self.nodes.is_multiple_of(PATIENCE) && self.watch.is_over(self.nodes) {
            self.over = true;
        }
        self.over
    }

    fn negamax(&mut self, position: &Chess, depth: i32, alpha: i32, beta: i32, ply: usize) -> i32 {
        self.lines[ply].clear();
        if self.counts() {
            return 0;
        }
        self.seldepth = self.seldepth.max(ply);
        let mut moves: MoveList = position.legal_moves();
        if let Some(ending) = ending::by_board(position, moves.len()) {
            return if ending.winner().is_some() { ply as i32 - MATE } else { 0 };
        }
        // Once is enough: whoever steered back can do so again.
        let returns = recurrences(position, |plies| key_before(&self.keys, plies)).next().is_some();
        if by_fifty_moves(position) || returns {
            return 0;
        }
        if ply >= DEEPEST {
            return evaluate(position);
        }
        let depth = if position.is_check() { depth + 1 } else { depth };
        if depth <= 0 {
            return self.quiesce(position, alpha, beta, ply);
        }
        let key = self.keys.last().copied().unwrap_or_default();
        let (mut alpha, mut hint) = (alpha, None);
        if let Some(slot) = self.slot(key) {
            hint = slot.action;
            let score = from_slot(slot.score, ply);
            // Not `>=`: a deeper value is a better one, but not minimax's at this depth.
            let same = i32::from(slot.depth) == depth;
            let decides = match slot.bound {
                Bound::Exact => true,
                Bound::Lower => score >= beta,
                Bound::Upper => score <= alpha,
                Bound::Nothing => false,
            };
            if same && decides {
                return score;
            }
        }
        let before = alpha;
        self.order(&mut moves, ply, hint);
        let (mut best, mut best_move) = (-INFINITE, None);
        for m in moves {
            let score = match self.question.pruning {
                Pruning::AlphaBeta => -self.follow(position, m, depth - 1, -beta, -alpha, ply),
                Pruning::None => -self.follow(position, m, depth - 1, -INFINITE, INFINITE, ply),
            };
            if self.over {
                return 0;
            }
            if score > best {
                best = score;
                best_move = Some(m);
                self.keep(ply, m);
            }
            alpha = alpha.max(score);
            if alpha >= beta && self.question.pruning == Pruning::AlphaBeta {
                self.refutes(m, depth, ply);
                break;
            }
        }
        let bound = match best {
            _ if best >= beta => Bound::Lower,
            _ if best <= before => Bound::Upper,
            _ => Bound::Exact,
        };
        self.store(key, best_move, best, depth, bound, ply);
        best
    }

    /// Captures and promotions only, until nothing hangs; the mover may stand still instead.
    fn quiesce(&mut self, position: &Chess, alpha: i32, beta: i32, ply: usize) -> i32 {
        let mut best = evaluate(position);
        let mut alpha = alpha.max(best);
        if best >= beta || ply >= DEEPEST {
            return best;
        }
        let mut moves: MoveList = position.legal_moves();
        moves.retain(|m| m.is_capture() || m.is_promotion());
        self.order(&mut moves, ply, None);
        for m in moves {
            let mut next = position.clone();
            next.play_unchecked(m);
            if self.counts() {
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

    /// Likely refutations first: the table's move, captures by most valuable victim and least valuable
    /// attacker, killers, then by history.
    fn order(&self, moves: &mut MoveList, ply: usize, hint: Option<Action>) {
        let rank = |m: &Move| -> i32 {
            if hint == Some(Action::new(*m)) {
                return i32::MAX;
            }
            if let Some(victim) = m.capture() {
                return 2_000_000 + 10 * value(victim) - value(m.role());
            }
            if let Some(role) = m.promotion() {
                return 1_900_000 + value(role);
            }
            if self.killers[ply].contains(&Some(*m)) {
                return 1_800_000;
            }
            self.history[square_pair(*m)]
        };
        moves.sort_by_cached_key(|m| std::cmp::Reverse(rank(m)));
    }

    fn refutes(&mut self, m: Move, depth: i32, ply: usize) {
        if m.is_capture() || m.is_promotion() {
            return;
        }
        let [first, second] = &mut self.killers[ply];
        if *first != Some(m) {
            *second = first.replace(m);
        }
        let count = &mut self.history[square_pair(m)];
        *count = (*count + depth * depth).min(1_000_000);
    }

    fn slot(&self, key: u64) -> Option<Slot> {
        let slot = self.table.get(key as usize & (TABLE - 1))?;
        (slot.key == key && slot.bound != Bound::Nothing).then_some(*slot)
    }

    fn store(
        &mut self,
        key: u64,
        m: Option<Move>,
        score: i32,
        depth: i32,
        bound: Bound,
        ply: usize,
    ) {
        if let Some(slot) = self.table.get_mut(key as usize & (TABLE - 1)) {
            let score = i16::try_from(to_slot(score, ply)).unwrap_or(0);
            let depth = i8::try_from(depth).unwrap_or(i8::MAX);
            *slot = Slot { key, action: m.map(Action::new), score, depth, bound };
        }
    }
}

fn square_pair(m: Move) -> usize {
    let action = Action::new(m);
    usize::from(action.origin()) * 64 + usize::from(action.target())
}

/// In the table mates are counted from the position, not from the root.
fn to_slot(score: i32, ply: usize) -> i32 {
    match score {
        _ if score >= MATES => score + ply as i32,
        _ if score <= -MATES => score - ply as i32,
        _ => score,
    }
}

fn from_slot(score: i16, ply: usize) -> i32 {
    let score = i32::from(score);
    match score {
        _ if score >= MATES => score - ply as i32,
        _ if score <= -MATES => score + ply as i32,
        _ => score,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Lets the search look at so many nodes.
    struct Budget {
        nodes: u64,
        heard: Vec<Found>,
    }

    impl Watch for Budget {
        fn is_over(&mut self, nodes: u64) -> bool {
            nodes >= self.nodes
        }

        fn heard(&mut self, found: &Found) {
            self.heard.push(found.clone());
        }
    }

    fn run(game: &Game, pruning: Pruning, depth: Option<u32>, nodes: u64) -> (Found, Vec<Found>) {
        let allowed = game.legal_actions();
        let question = Question { game, allowed: &allowed, pruning, depth };
        let mut budget = Budget { nodes, heard: Vec::new() };
        let found = search(&question, &mut budget).unwrap();
        (found, budget.heard)
    }

    /// A game of random moves that is not over.
    fn random_game(random: &mut SplitMix64) -> Game {
        let mut game = Game::default();
        for _ in 0..6 + random.below(60) {
            let moves = game.legal_actions();
            let mut next = game.clone();
            next.play(moves[random.below(moves.len())]).unwrap();
            if next.ending().is_some() {
                break;
            }
            game = next;
        }
        game
    }

    /// Minimax in eight lines, apart from everything above but quiescence and the rules of drawing.
    fn oracle(tree: &mut Tree<'_, '_>, position: &Chess, depth: i32, ply: usize) -> i32 {
        let moves = position.legal_moves();
        if let Some(end) = ending::by_board(position, moves.len()) {
            return if end.winner().is_some() { ply as i32 - MATE } else { 0 };
        }
        let returns = recurrences(position, |plies| key_before(&tree.keys, plies)).next().is_some();
        if ply > 0 && (by_fifty_moves(position) || returns) {
            return 0;
        }
        let depth = depth + i32::from(ply > 0 && position.is_check());
        if depth <= 0 {
            return tree.quiesce(position, -INFINITE, INFINITE, ply);
        }
        let mut best = -INFINITE;
        for m in moves {
            let mut next = position.clone();
            next.play_unchecked(m);
            tree.keys.push(ending::key(&next));
            best = best.max(-oracle(tree, &next, depth - 1, ply + 1));
            tree.keys.pop();
        }
        best
    }

    #[test]
    fn alpha_beta_has_minimax_value_on_random_positions() {
        let mut random = SplitMix64::new(11);
        let (mut pruned, mut full) = (0, 0);
        for number in 0..30 {
            let game = random_game(&mut random);
            let allowed = game.legal_actions();
            // Without pruning three plies of a full board take seconds.
            let depth = if allowed.len() < 12 { 3 } else { 1 + number % 2 };
            let score = |pruning| {
                let question = Question { game: &game, allowed: &allowed, pruning, depth: None };
                let mut budget = Budget { nodes: u64::MAX, heard: Vec::new() };
                let mut tree = Tree::new(&question, &mut budget);
                let score = tree.root(game.position(), depth).unwrap();
                (score, tree.nodes)
            };
            let ((by_pruning, fewer), (by_all, more)) =
                (score(Pruning::AlphaBeta), score(Pruning::None));
            let question =
                Question { game: &game, allowed: &allowed, pruning: Pruning::None, depth: None };
            let mut budget = Budget { nodes: u64::MAX, heard: Vec::new() };
            let expected =
                oracle(&mut Tree::new(&question, &mut budget), game.position(), depth, 0);
            assert_eq!(by_all, expected, "{} at depth {depth}", game.fen());
            assert_eq!(by_pruning, expected, "{} at depth {depth}", game.fen());
            (pruned, full) = (pruned + fewer, full + more);
        }
        assert!(pruned * 2 < full, "{pruned} of {full} nodes");
    }

    #[test]
    fn mates_in_two_are_found_and_counted() {
        for (fen, best) in [
            ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", &["a1a6"][..]),
            ("6k1/5ppp/8/8/8/8/4rPPP/R2R2K1 w - - 0 1", &["d1d8", "a1a8"]),
        ] {
            let game = Game::from_fen(fen, false).unwrap();
            for pruning in [Pruning::None, Pruning::AlphaBeta] {
                let (found, _) = run(&game, pruning, Some(4), u64::MAX);
                assert_eq!(found.mate_plies, Some(3), "{fen} {found:?}");
                assert!(best.contains(&game.uci(found.line[0]).as_str()), "{fen} {found:?}");
            }
        }
        let game = Game::from_fen("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", false).unwrap();
        let (found, _) = run(&game, Pruning::AlphaBeta, None, 1_000_000);
        assert_eq!((found.mate_plies, found.line.len()), (Some(3), 3), "{found:?}");
        // The same from the other side: mated in two plies after the key.
        let mut after = game.clone();
        after.play_uci("a1a6").unwrap();
        assert_eq!(run(&after, Pruning::AlphaBeta, None, 1_000_000).0.mate_plies, Some(-2));
    }

    #[test]
    fn hanging_pieces_are_taken_and_guarded_ones_not() {
        let free = Game::from_fen("4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1", false).unwrap();
        assert_eq!(free.uci(run(&free, Pruning::AlphaBeta, Some(1), u64::MAX).0.line[0]), "c3d5");
        // The pawn is guarded: at one ply quiescence alone sees it.
        let guarded = Game::from_fen("4k3/2p5/3p4/8/8/8/3Q4/4K3 w - - 0 1", false).unwrap();
        assert_ne!(
            guarded.uci(run(&guarded, Pruning::AlphaBeta, Some(1), u64::MAX).0.line[0]),
            "d2d6"
        );
    }

    #[test]
    fn a_perpetual_saves_a_lost_position() {
        // Mate threatens, a rook is missing: 1. Qe8+ Kh7 2. Qh5+ is all there is.
        let game = Game::from_fen("6k1/6p1/8/7Q/8/r7/1q6/7K w - - 0 1", false).unwrap();
        let (found, _) = run(&game, Pruning::AlphaBeta, Some(5), u64::MAX);
        assert_eq!(game.uci(found.line[0]), "h5e8", "{found:?}");
        assert!((found.win - 0.5).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn lines_are_legal_and_deepening_goes_on_until_it_is_stopped() {
        let mut random = SplitMix64::new(4);
        for _ in 0..20 {
            let game = random_game(&mut random);
            let (found, heard) = run(&game, Pruning::AlphaBeta, None, 4000);
            let mut line = game.clone();
            for action in &found.line {
                line.play(*action).unwrap();
            }
            assert!(found.nodes < 4000 + 2 * PATIENCE);
            assert!(heard.windows(2).all(|pair| pair[0].depth < pair[1].depth));
        }
    }

    #[test]
    fn the_root_keeps_to_the_moves_that_are_allowed() {
        let game = Game::from_fen("4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1", false).unwrap();
        let allowed = vec![Action::from_uci("c3a4", game.position()).unwrap()];
        let question = Question {
            game: &game,
            allowed: &allowed,
            pruning: Pruning::AlphaBeta,
            depth: Some(3),
        };
        let mut budget = Budget { nodes: u64::MAX, heard: Vec::new() };
        assert_eq!(search(&question, &mut budget).unwrap().line[0], allowed[0]);
        let none = Question { allowed: &[], ..question };
        assert_eq!(search(&none, &mut budget), None);
    }
}
