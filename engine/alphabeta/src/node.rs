//! Search of one node: pruning, move loop, reductions and re-searches, as in Stockfish.

use super::attack::{Checks, Threats};
use super::candidate::{Candidate, Node, Verdict, small_probcut};
use super::correction::Corrections;
use super::credit::Tried;
use super::extension::Extension;
use super::history::HistoryContext;
use super::margins::{self, PLY};
use super::moves::{add_first, is_noisy};
use super::order::{Hints, Purpose, Rankings};
use super::prune::PruneInput;
use super::quiescence::Evals;
use super::scale::non_pawn_material;
use super::table::{Bound, INFINITE, MATE, MATES, TtEntry};
use super::window::Window;
use super::{MAX_PLY, Ply, Tree, cycle};
use chess::action::Action;
use chess::ending::by_fifty_moves;
use shakmaty::{Chess, Move, MoveList, Position};

/// Continuation-history bonus of a reduced move that beat alpha.
const RESEARCH_BONUS: i32 = 1_334;
/// Reduction thresholds for one ply and for two plies outside late move reductions.
const PLY_THRESHOLDS: (i32, i32) = (5_234, 5_487);

impl Tree<'_> {
    /// Score for the side to move. `cut_node`: a beta cutoff is expected.
    pub(super) fn negamax(
        &mut self,
        position: &Chess,
        depth: i32,
        alpha: i32,
        beta: i32,
        ply: usize,
        cut_node: bool,
    ) -> i32 {
        let pv = beta - alpha > 1;
        if pv {
            self.memory.lines.clear(ply);
            self.seldepth = self.seldepth.max(ply);
        }
        // A possible repetition is at least a draw.
        let repeats = ply > 0 && alpha < 0 && self.may_repeat(position, ply);
        let alpha = if repeats { 0 } else { alpha };
        if alpha >= beta {
            return alpha;
        }
        if depth <= 0 || ply >= MAX_PLY {
            return self.quiesce(position, alpha, beta, ply);
        }
        if self.poll_stop(position) {
            return 0;
        }
        if ply > 0 && self.is_drawn(position, ply) {
            return 0;
        }
        // Mate distance pruning.
        let (alpha, beta) = (alpha.max(ply as i32 - MATE), beta.min(MATE - ply as i32 - 1));
        if alpha >= beta {
            return alpha;
        }
        if ply == 0 {
            self.root_width = beta - alpha;
        }
        let check = position.is_check();
        let last = self.enter_node(ply, check);
        let excluded = self.at(ply).excluded;
        // An excluded or partial search says nothing of the whole node.
        let covers_all_moves = excluded.is_none() && (ply > 0 || self.done.is_empty());
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let stored = self.memory.table.get(key, ply).filter(|_| ply > 0 || covers_all_moves);
        let entry = stored.filter(|entry| entry.bound != Bound::Unknown);
        let hint = self.hint.filter(|_| ply == 0);
        let tt_move = hint.or(stored.and_then(|stored| stored.action));
        let tt_move = tt_move.and_then(|tt_move| tt_move.to_move(position));
        let at = self.at(ply);
        at.tt_hit = stored.is_some();
        if excluded.is_none() {
            at.pv = pv || stored.is_some_and(|stored| stored.pv);
        }
        let recent = self.recent(ply);
        let indices = Corrections::indices(position, &recent);
        let history_context =
            HistoryContext { turn: position.turn(), recent, check, ply, pawns: indices.pawns };
        let correction = self.memory.corrections.of(&indices);
        let evals = match excluded {
            Some(_) => self.back(ply, 0).static_eval.filter(|_| !check).map(Evals::from_stack),
            None => self.evaluate_node(position, ply, stored, correction),
        };
        let two_plies_ago = self.back(ply, 2).static_eval;
        let static_eval = evals.map_or(two_plies_ago, |evals| Some(evals.static_eval));
        self.at(ply).static_eval = static_eval;
        if stored.is_none() && excluded.is_none() {
            // Saves the static eval: the network is slower than a probe.
            if let Some(evals) = evals {
                self.store_eval(key, ply, Some(evals.raw), self.back(ply, 0).pv);
            }
        }
        let eval_sum =
            static_eval.zip(last.static_eval).map(|(static_eval, last)| static_eval + last);
        let depth = margins::hindsight(depth, last.reduced, eval_sum);
        let mut window = Window { depth, alpha, beta, ply, cut_node, pv };
        if excluded.is_none()
            && let Some(entry) = entry.filter(|entry| window.allows_cutoff(entry))
        {
            if let Some(m) = tt_move.filter(|_| entry.score >= beta) {
                self.reward_tt_move(&history_context, m, depth);
            }
            if self.verify_tt_cutoff(position, key, &entry, tt_move, window) {
                return entry.score;
            }
        }
        let mut improving = static_eval
            .zip(two_plies_ago)
            .is_some_and(|(static_eval, two_plies_ago)| static_eval > two_plies_ago);
        if let Some(evals) = evals {
            self.reward_eval_gain(&history_context, evals.static_eval);
            let worsening = margins::is_worsening(eval_sum);
            let mut input = PruneInput {
                evals,
                improving,
                worsening,
                correction,
                entry,
                tt_move,
                history_context,
            };
            if let Some(score) = self.prune(position, &mut window, &mut input) {
                return score;
            }
            improving = input.improving;
        }
        if let Some(score) = small_probcut(window, entry) {
            return score;
        }
        if by_fifty_moves(position) {
            let is_mate = check && position.legal_moves().is_empty();
            return if is_mate { ply as i32 - MATE } else { 0 };
        }
        let tt_move = tt_move.filter(|m| self.may_play(position, *m, ply));
        self.refresh_accumulator(position, ply);
        let node = Node {
            position,
            key,
            window,
            history_context,
            indices,
            entry,
            tt_move,
            static_eval,
            correction,
            improving,
            was_pv: self.at(ply).pv,
            checks: Checks::new(position),
            threats: if check { Threats::NONE } else { Threats::new(position) },
            pieces: non_pawn_material(position),
        };
        let mut tried = Tried::new(alpha, window.depth);
        if let Some(score) = self.search_moves(&node, &mut tried) {
            return score;
        }
        let (score, depth) = (tried.best.score, tried.depth);
        if score >= beta && score.abs() < MATES && tried.best.alpha.abs() < MATES {
            // Fail-soft score, interpolated towards beta at low depth.
            tried.best.score = (score * depth + beta) / (depth + 1);
        }
        self.update_histories(&node, &tried);
        let Tried { best, .. } = tried;
        // A fail low below a PV node marks this node as PV, too.
        self.at(ply).pv |= score < beta && last.pv;
        if covers_all_moves {
            let raw = evals.map(|evals| evals.raw);
            let found = TtEntry { pv: self.at(ply).pv, ..best.entry(alpha, beta, depth, raw) };
            self.memory.table.put(key, ply, found);
        }
        if let Some(static_eval) = static_eval.filter(|_| !check)
            && best.m.is_none_or(|m| !m.is_capture())
            && best.score.abs() < MATES
            && (best.score > static_eval) == best.m.is_some()
        {
            let bonus = Corrections::bonus(best.score - static_eval, depth, best.m.is_some());
            self.memory.corrections.learn(&indices, bonus);
        }
        best.score
    }

    /// Resets this ply's stack entry. Returns the parent's, whose reduction ends here.
    fn enter_node(&mut self, ply: usize, check: bool) -> Ply {
        let before = &mut self.memory.plies[ply + Ply::BEFORE - 1];
        let last = *before;
        before.reduced = 0;
        self.at(ply + 1).excluded = None;
        self.at(ply + 2).cutoff_count = 0;
        let leads = |m| self.line.get(ply - 1) == Some(&Action::new(m));
        let follows_pv = ply == 0 || last.follows_pv && last.current_move.is_some_and(leads);
        let at = self.at(ply);
        (at.check, at.move_count, at.stat_score, at.reduced, at.follows_pv) =
            (check, 0, 0, 0, follows_pv);
        last
    }

    fn may_repeat(&self, position: &Chess, ply: usize) -> bool {
        let moves = (1..ply).take_while(|plies| self.back(ply, *plies).current_move.is_some());
        position.halfmoves() >= 3
            && cycle::has_upcoming_repetition(position, &self.memory.keys, moves.count())
    }

    /// Whether the table's move, possibly of another position, may be searched here.
    fn may_play(&self, position: &Chess, m: Move, ply: usize) -> bool {
        self.is_allowed(m, ply) && position.is_legal(m)
    }

    /// Root moves may be restricted.
    fn is_allowed(&self, m: Move, ply: usize) -> bool {
        let is_in = |list: &[Action]| list.contains(&Action::new(m));
        ply > 0 || (self.allowed.is_empty() || is_in(self.allowed)) && !is_in(&self.done)
    }

    /// The move loop. A score if the node ends without history updates.
    fn search_moves(&mut self, node: &Node<'_>, tried: &mut Tried) -> Option<i32> {
        let Node { position, tt_move, history_context, .. } = *node;
        let HistoryContext { ply, check, .. } = history_context;
        // The table's move usually cuts off: try it before generating moves.
        let outcome = tt_move.map(|m| self.try_move(node, m, tried));
        match outcome {
            Some(MoveOutcome::Score(score)) => return Some(score),
            Some(MoveOutcome::Cutoff) => return None,
            Some(MoveOutcome::Continue) | None => (),
        }
        let mut moves = MoveList::new();
        add_first(position, check, &mut moves);
        let purpose =
            if check { Purpose::Evasions } else { Purpose::Main(&node.checks, &node.threats) };
        let mut rankings = Rankings::new();
        let hints = Hints { tt_move: None, history_context };
        let mut picker = self.order(position, &mut moves, hints, &purpose, &mut rankings);
        while let Some(m) = picker.next(&self.memory.history, tried.skip_quiets) {
            if tt_move == Some(m) || !self.is_allowed(m, ply) {
                continue;
            }
            match self.try_move(node, m, tried) {
                MoveOutcome::Score(score) => return Some(score),
                MoveOutcome::Cutoff => return None,
                MoveOutcome::Continue => (),
            }
        }
        // Checkmate, stalemate, or no move but the excluded one.
        let none = match self.at(ply).excluded {
            Some(_) => tried.best.alpha,
            None if check => ply as i32 - MATE,
            None => 0,
        };
        (tried.move_count == 0).then_some(none)
    }

    /// Prunes, extends or searches one move.
    fn try_move(&mut self, node: &Node<'_>, m: Move, tried: &mut Tried) -> MoveOutcome {
        let Node { position, window, improving, .. } = *node;
        let Window { beta, ply, pv, .. } = window;
        let turn = position.turn();
        if self.at(ply).excluded.is_some_and(|excluded| excluded == Action::new(m)) {
            return MoveOutcome::Continue;
        }
        tried.move_count += 1;
        let move_count = tried.move_count;
        self.at(ply).move_count = move_count;
        let (depth, alpha) = (tried.depth, tried.best.alpha);
        let base_reduction =
            margins::base_reduction(depth, move_count, beta - alpha, self.root_width, improving);
        let mut candidate = Candidate {
            m,
            depth,
            move_count,
            alpha,
            best: tried.best.score,
            base_reduction: base_reduction
                + if node.was_pv { margins::PV_BASE_REDUCTION } else { 0 },
            gives_check: node.checks.gives_check(position, m),
            noisy: is_noisy(m),
            continuation: self
                .memory
                .history
                .continuation(&node.history_context.recent)
                .last_two(turn, m),
        };
        if ply > 0 && node.pieces > 0 && tried.best.score > -MATES {
            tried.skip_quiets |= move_count >= margins::max_move_count(depth, improving);
            match self.prune_move(node, &candidate) {
                Verdict::Search => (),
                Verdict::Skip => return MoveOutcome::Continue,
                Verdict::SkipWith(score) => {
                    if tried.best.score.abs() < MATES && score < MATES {
                        tried.best.score = tried.best.score.max(score);
                    }
                    return MoveOutcome::Continue;
                }
            }
        }
        let extension = match self.extend(node, &candidate) {
            Extension::By(plies) => plies,
            Extension::Refuted(score) => return MoveOutcome::Score(score),
        };
        let new_depth = depth - 1 + extension;
        tried.depth += i32::from(extension > 0);
        candidate.depth = tried.depth;
        let next = self.play(position, node.key, m, ply);
        let score = self.search_after(node, &candidate, &next, new_depth);
        self.memory.keys.pop();
        if self.stopped {
            // At the root, the moves searched so far count.
            return MoveOutcome::Score(if ply == 0 { tried.best.score } else { 0 });
        }
        // Occasionally prefer an equal move near the horizon.
        let is_favoured = score == tried.best.score
            && ply as i32 + 2 >= self.depth
            && self.nodes & 14 == 0
            && score.abs() + 1 < MATES;
        if !tried.best.offer(m, score, i32::from(is_favoured)) {
            tried.add_failed(m);
            return MoveOutcome::Continue;
        }
        if pv {
            self.memory.lines.update(ply, m);
        }
        if score >= beta {
            self.at(ply).cutoff_count += i32::from(extension < 2 || pv);
            return MoveOutcome::Cutoff;
        }
        if score.abs() < MATES {
            tried.depth -= margins::depth_drop(tried.depth);
        }
        MoveOutcome::Continue
    }

    /// Searches the position `next` after a move, at most to `new_depth` plus re-search extensions: late move reduction,
    /// null-window search, full-window search. Returns the score for the mover.
    fn search_after(
        &mut self,
        node: &Node<'_>,
        candidate: &Candidate,
        next: &Chess,
        mut new_depth: i32,
    ) -> i32 {
        let Candidate { m, depth, move_count, alpha, best, .. } = *candidate;
        let Window { beta, ply, cut_node, pv, .. } = node.window;
        let mut reduction = self.reduction(node, candidate);
        let mut score = INFINITE;
        if depth >= margins::LMR_DEPTH && move_count > 1 {
            let reduced = (new_depth - reduction / PLY).min(new_depth + 2).max(1) + i32::from(pv);
            self.at(ply).reduced = new_depth - reduced;
            score = -self.negamax(next, reduced, -alpha - 1, -alpha, ply + 1, true);
            self.at(ply).reduced = 0;
            if score > alpha && !self.stopped {
                let (much, little) = margins::RESEARCH_MARGINS;
                new_depth += i32::from(reduced < new_depth && score > best + much)
                    - i32::from(score < best + little);
                if new_depth > reduced {
                    score = -self.negamax(next, new_depth, -alpha - 1, -alpha, ply + 1, !cut_node);
                }
                let HistoryContext { turn, recent, check, .. } = &node.history_context;
                self.memory.history.update_continuation(*turn, m, recent, *check, RESEARCH_BONUS);
            }
        } else if !pv || move_count > 1 {
            reduction += if node.tt_move.is_none() { 1_127 } else { 0 };
            let (one, two) = PLY_THRESHOLDS;
            let fewer = i32::from(reduction > one) + i32::from(reduction > two && new_depth > 2);
            score = -self.negamax(next, new_depth - fewer, -alpha - 1, -alpha, ply + 1, !cut_node);
        }
        if pv && (move_count == 1 || score > alpha) && !self.stopped {
            let mated = |entry: &TtEntry| entry.score.abs() >= MATES && entry.depth > 0;
            let deep = node.entry.is_some_and(|entry| entry.depth > 1 || mated(&entry));
            if node.tt_move == Some(m) && deep {
                new_depth = new_depth.max(1);
            }
            score = -self.negamax(next, new_depth, -beta, -alpha, ply + 1, false);
        }
        score
    }
}

/// Result of one move.
enum MoveOutcome {
    /// Return this score.
    Score(i32),
    /// Beta cutoff.
    Cutoff,
    /// Next move.
    Continue,
}
