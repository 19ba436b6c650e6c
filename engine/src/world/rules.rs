//! Chess by its rules, evaluated by a network: the ordinary search's world.
//!
//! A state carries the keys of its history: a repetition is detected on its path and never stored in the tree. Mate,
//! stalemate, dead positions and endgame tables need no call of the network.

use chess::action::Action;
use chess::ending::{self, Ending};
use chess::game::Game;
use chess::syzygy::{TableResult, Tables};
use mcts::{Edge, Leaf, Wdl, World};
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::{Chess, MoveList, Position};
use std::sync::Arc;

/// Summary of a head's distribution over win probabilities (paper 000, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// Expectation over the buckets.
    Mean,
    /// Centre of the most likely bucket.
    Max,
}

/// A position and its reversible history.
#[derive(Debug)]
pub struct RulesState {
    position: Chess,
    /// Keys of the game's positions, the search root's last.
    game: Arc<[u64]>,
    /// Keys of the positions after the root, this one's last.
    path: Vec<u64>,
}

impl Clone for RulesState {
    fn clone(&self) -> RulesState {
        RulesState {
            position: self.position.clone(),
            game: self.game.clone(),
            path: self.path.clone(),
        }
    }

    /// Called at the start of every descent: no allocation, and no write to the shared reference count of `game`.
    fn clone_from(&mut self, other: &RulesState) {
        self.position.clone_from(&other.position);
        if !Arc::ptr_eq(&self.game, &other.game) {
            self.game.clone_from(&other.game);
        }
        self.path.clone_from(&other.path);
    }
}

impl RulesState {
    /// The state at the root of a search.
    #[must_use]
    pub fn root(game: &Game) -> RulesState {
        RulesState { position: game.position().clone(), game: game.keys().into(), path: Vec::new() }
    }

    /// Current position.
    #[must_use]
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// The key of this position, as [`ending::key`] computes it.
    #[must_use]
    pub fn key(&self) -> u64 {
        self.path.last().or(self.game.last()).copied().unwrap_or_default()
    }

    /// The key `plies` before this state.
    fn key_before(&self, plies: usize) -> Option<u64> {
        match plies.checked_sub(self.path.len()) {
            None => ending::key_before(&self.path, plies),
            Some(plies) => ending::key_before(&self.game, plies),
        }
    }

    /// Sets the next position from a prediction. `key` is its key, as [`ending::key`] computes it.
    pub(super) fn enter(&mut self, position: Chess, key: u64) {
        self.position = position;
        self.path.push(key);
    }

    /// Replaces the position, keeps the history.
    pub(super) fn with_position(self, position: Chess) -> RulesState {
        RulesState { position, ..self }
    }

    /// Plies from the root of the search.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    /// Plies to earlier occurrences of this position, latest first.
    fn recurrences(&self) -> impl Iterator<Item = usize> + '_ {
        ending::recurrences(&self.position, |plies| self.key_before(plies))
    }

    /// See [`ending::repeats`].
    pub(super) fn repeats(&self) -> bool {
        ending::repeats(&self.position, |plies| self.key_before(plies), self.path.len())
    }

    /// Draw by repetition or fifty-move rule, unless it is mate.
    pub(super) fn is_drawn_by_path(&self) -> bool {
        self.repeats() || ending::by_fifty_moves(&self.position)
    }

    /// Whether this position occurred before, at least once.
    #[must_use]
    pub fn returns(&self) -> bool {
        self.recurrences().next().is_some()
    }

    /// Plays an arbitrary move. None, without a change, if it is illegal; else whether the game ends with it.
    pub fn follow(&mut self, action: Action) -> Option<bool> {
        let legal = action.to_move(&self.position).is_some_and(|m| self.position.is_legal(m));
        if !legal || !self.play(action) {
            return None;
        }
        let legal = self.position.legal_moves().len();
        Some(self.is_drawn_by_path() || ending::by_board(&self.position, legal).is_some())
    }

    /// Whether the move draws at once: by the board, repetition or fifty-move rule.
    #[must_use]
    pub fn draws_with(&self, action: Action) -> bool {
        let mut after = self.clone();
        after.follow(action) == Some(true) && !after.position.is_checkmate()
    }

    /// Plays a move of a list of legal ones. False if it does not fit the board.
    fn play(&mut self, action: Action) -> bool {
        let Some(m) = action.to_move(&self.position) else { return false };
        let last = self.key();
        let key = ending::play_keyed(&mut self.position, last, m);
        self.path.push(key);
        true
    }
}

/// The rules of chess with a network's values.
pub struct RulesWorld {
    evaluator: Arc<dyn Evaluator>,
    scoring: Scoring,
    /// Weight of the state-value head against the action values.
    state_share: f32,
    tables: Option<Tables>,
    sees_mates: bool,
}

impl RulesWorld {
    /// `state_share` 0 backs up `max_a Q(a)` (paper 000, section 3), 1 the value head.
    #[must_use]
    pub fn new(evaluator: Arc<dyn Evaluator>, scoring: Scoring, state_share: f32) -> RulesWorld {
        RulesWorld {
            evaluator,
            scoring,
            state_share: state_share.clamp(0.0, 1.0),
            tables: None,
            sees_mates: false,
        }
    }

    /// Adds detection of mates in one, which the network only considers likely.
    #[must_use]
    pub fn with_mates(self) -> RulesWorld {
        RulesWorld { sees_mates: true, ..self }
    }

    /// Adds endgame tables.
    #[must_use]
    pub fn with_tables(self, tables: Option<Tables>) -> RulesWorld {
        RulesWorld { tables, ..self }
    }

    /// Endgame-table result below the root, only directly after a capture or a pawn move: then it depends neither on
    /// repetitions nor on the fifty-move counter.
    fn known(&self, state: &RulesState) -> Option<Wdl> {
        let tables = self.tables.as_ref()?;
        let position = &state.position;
        let fresh = position.halfmoves() == 0 && !state.path.is_empty();
        if fresh && tables.covers(position) { tables.wdl(position).map(wdl_of) } else { None }
    }

    /// Converts the network's answer for a position with these moves to a leaf.
    ///
    /// # Errors
    /// As [`check`].
    pub(super) fn leaf(
        &self,
        legal: impl ExactSizeIterator<Item = Action>,
        answer: &Evaluation,
    ) -> Result<Leaf<Action>, EvalError> {
        check(answer, legal.len())?;
        let scores = action_scores(answer, self.scoring);
        let action_value = best(scores);
        let state_value = state_score(answer, self.scoring);
        let value = action_value + self.state_share * (state_value - action_value);
        let edges = legal
            .zip(scores)
            .zip(&answer.policy)
            .map(|((action, q), policy)| Edge { action, policy: *policy, q: *q })
            .collect();
        Ok(Leaf::Open { value: Wdl::from_score_and_draw(value, answer.wdl[1]), edges })
    }
}

/// `max_a Q(a)` (paper 000, section 3).
pub(crate) fn best(action_values: &[f32]) -> f32 {
    action_values.iter().copied().fold(0.0, f32::max)
}

/// Index of a move that mates at once.
fn mating_move(position: &Chess, legal: &MoveList) -> Option<usize> {
    legal.iter().position(|m| {
        let mut after = position.clone();
        after.play_unchecked(*m);
        after.is_checkmate()
    })
}

/// The leaf with its winning move `at` preferred: visited next, it proves the win.
fn with_winning_edge(leaf: Leaf<Action>, at: usize) -> Leaf<Action> {
    let Leaf::Open { mut edges, .. } = leaf else { return leaf };
    if let Some(mating) = edges.get_mut(at) {
        // More than the sum of all others.
        (mating.q, mating.policy) = (1.0, 1.0);
    }
    Leaf::Open { value: Wdl::WIN, edges }
}

/// Action values by `scoring`.
#[must_use]
pub fn action_scores(answer: &Evaluation, scoring: Scoring) -> &[f32] {
    match scoring {
        Scoring::Mean => &answer.action_values,
        Scoring::Max => &answer.action_modes,
    }
}

/// State value by `scoring`.
#[must_use]
pub fn state_score(answer: &Evaluation, scoring: Scoring) -> f32 {
    match scoring {
        Scoring::Mean => answer.value,
        Scoring::Max => answer.value_mode,
    }
}

/// Rejects an answer of the wrong length. Finite values are guaranteed by [`Evaluator::evaluate`].
///
/// # Errors
/// Names the head with the wrong length.
pub fn check(answer: &Evaluation, moves: usize) -> Result<(), EvalError> {
    let heads = [
        ("action value", &answer.action_values),
        ("action mode", &answer.action_modes),
        ("policy", &answer.policy),
    ];
    for (name, values) in heads {
        if values.len() != moves {
            return Err(EvalError::Device(format!(
                "the {name} head answered {} of {moves} moves",
                values.len()
            )));
        }
    }
    Ok(())
}

impl World for RulesWorld {
    type State = RulesState;
    type Action = Action;
    type Error = EvalError;

    fn step(&self, state: &mut RulesState, action: Action) -> Option<Wdl> {
        if !state.play(action) {
            log::error!("the tree holds {action:?}, which no piece can play");
            return Some(Wdl::DRAW);
        }
        // Mate takes precedence over the fifty-move rule; `evaluate` detects it.
        (state.is_drawn_by_path() && !state.position.is_checkmate()).then_some(Wdl::DRAW)
    }

    fn evaluate(&self, leaves: &[&RulesState]) -> Result<Vec<Leaf<Action>>, EvalError> {
        let mut known: Vec<Option<Leaf<Action>>> = Vec::with_capacity(leaves.len());
        let mut open: Vec<(&Chess, MoveList)> = Vec::with_capacity(leaves.len());
        for state in leaves {
            let position = &state.position;
            let legal = position.legal_moves();
            known.push(match ending::by_board(position, legal.len()) {
                Some(Ending::Checkmate { .. }) => Some(Leaf::Over(Wdl::LOSS)),
                // The root needs a move even in a dead position.
                Some(_) if legal.is_empty() || !state.path.is_empty() => {
                    Some(Leaf::Over(Wdl::DRAW))
                }
                _ => {
                    let known = self.known(state).map(Leaf::Known);
                    if known.is_none() {
                        open.push((position, legal));
                    }
                    known
                }
            });
        }
        let queries: Vec<Query<'_>> =
            open.iter().map(|(position, legal)| Query { position, legal }).collect();
        let answers =
            if queries.is_empty() { Vec::new() } else { self.evaluator.evaluate(&queries)? };
        if answers.len() != queries.len() {
            let why =
                format!("the network answered {} of {} positions", answers.len(), queries.len());
            return Err(EvalError::Device(why));
        }
        let mut answered = open.iter().zip(&answers);
        let mut out = Vec::with_capacity(leaves.len());
        for leaf in known {
            out.push(match leaf {
                Some(leaf) => leaf,
                None => match answered.next() {
                    Some(((position, legal), answer)) => {
                        let leaf = self.leaf(legal.iter().map(|m| Action::new(*m)), answer)?;
                        match self.sees_mates.then(|| mating_move(position, legal)).flatten() {
                            Some(at) => with_winning_edge(leaf, at),
                            None => leaf,
                        }
                    }
                    None => return Err(EvalError::NoMoves),
                },
            });
        }
        Ok(out)
    }
}

/// A table's result as a value of the search.
#[must_use]
pub fn wdl_of(result: TableResult) -> Wdl {
    match result {
        TableResult::Win => Wdl::WIN,
        TableResult::Draw => Wdl::DRAW,
        TableResult::Loss => Wdl::LOSS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::evaluator::fake::Hashed;

    #[test]
    fn a_mate_in_one_is_seen_before_it_is_visited() {
        let world = RulesWorld::new(Arc::new(Hashed::default()), Scoring::Mean, 0.5).with_mates();
        for (fen, mate) in [
            ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", Some("h5f7")),
            ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 4 4", None),
        ] {
            let game = Game::from_fen(fen, false).unwrap();
            let leaf = world.evaluate(&[&RulesState::root(&game)]).unwrap().pop();
            let Some(Leaf::Open { value, edges }) = leaf else { panic!("{fen} is open") };
            assert_eq!(value == Wdl::WIN, mate.is_some());
            let sure = edges.iter().filter(|edge| edge.q == 1.0 && edge.policy == 1.0);
            let sure: Vec<String> = sure.map(|edge| game.uci(edge.action)).collect();
            assert_eq!(sure, mate.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{fen}");
        }
    }
}
