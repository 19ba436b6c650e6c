//! World model (paper 000, section 3.1): below the root there are no rules. States, legal moves, values and game ends
//! are the network's predictions `MAV(s_parent, a)`, one batched call per minibatch; only the root and its moves are
//! real.
//!
//! A pending state is its last predicted state plus the actions since. Predictions are cached in a [`PredictionCache`], so that
//! later descents need no call. Repetitions and the fifty-move rule are counted over predicted states on the path and
//! the real positions before it. They are known only once the state is predicted: at the first visit a repetition is a
//! draw in value, later a terminal.
//!
//! A prediction that is no valid state is [`Leaf::Refused`]: minus infinity for the search, never selected again.

use super::memory::{Prediction, PredictionCache, StateKey, fingerprint};
use super::rules::{self, RulesWorld};
use chess::action::Action;
use chess::ending::by_fifty_moves;
use chess::game::Game;
use mcts::{Leaf, Wdl, World};
use nn::encode::MoveCode;
use nn::evaluator::{Imagined, Refusal, Step, grounded, is_true};
use nn::{EvalError, Evaluator};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Position};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Minimum probability of a predicted end to override predicted legal moves, and to be a proof of mate. Otherwise an
/// end is a position without legal moves, and no proof. Measured: see `docs/src/imagined.md`.
const MIN_CERTAINTY: f32 = 0.99;

/// State of a node: predicted, or pending.
#[derive(Clone, Debug)]
pub struct LearnedState {
    /// Last predicted state, with its history.
    known: rules::RulesState,
    /// Query that predicted it: repeated at each evaluation.
    origin: Option<(Chess, Action)>,
    mated: bool,
    /// Draw by repetition or fifty-move rule on this path, as far as known.
    drawn: bool,
    /// [`fingerprint`] of the moves predicted as legal.
    legal: u64,
    /// Actions since. One, unless states were evicted.
    pending: Vec<Action>,
}

impl LearnedState {
    /// State of a search's root: real.
    #[must_use]
    pub fn root(game: &Game) -> LearnedState {
        let known = rules::RulesState::root(game).with_position(grounded(game.position()));
        let legal = fingerprint(game.legal_actions().into_iter());
        LearnedState { known, origin: None, mated: false, drawn: false, legal, pending: Vec::new() }
    }

    /// The predicted position; None while pending.
    #[must_use]
    pub fn position(&self) -> Option<&Chess> {
        self.pending.is_empty().then(|| self.known.position())
    }

    fn is_root(&self) -> bool {
        self.pending.is_empty() && self.origin.is_none()
    }

    /// Cache key of the predicted state.
    fn state_key(&self) -> StateKey {
        StateKey { key: self.known.key(), clock: self.known.position().halfmoves() }
    }

    fn enter(&mut self, action: Action, prediction: &Prediction) {
        self.origin = Some((self.known.position().clone(), action));
        self.known.enter(prediction.state.clone(), prediction.key);
        (self.mated, self.legal) = (prediction.mated, prediction.legal);
        // If states were evicted, a search may pass this end once; it is still stored.
        self.drawn |= self.known.repeats() || by_fifty_moves(self.known.position()) && !self.mated;
    }

    /// Next query for the network; None for the root.
    fn query(&self) -> Option<(&Chess, Action)> {
        match self.pending.first() {
            Some(action) => Some((self.known.position(), *action)),
            None => self.origin.as_ref().map(|(from, action)| (from, *action)),
        }
    }
}

/// Key of a predicted state: like [`chess::ending::key`], with the predicted en-passant square.
fn key(state: &Chess) -> u64 {
    state.zobrist_hash::<Zobrist64>(EnPassantMode::Always).0
}

/// Statistics of predictions.
#[derive(Debug, Default)]
pub struct Predictions {
    /// Predicted states.
    predicted: AtomicU64,
    /// Predicted legal moves from an empty square.
    rejected: AtomicU64,
    /// Predicted ends of the game.
    ends: AtomicU64,
    /// Invalid predictions by name.
    refused: Mutex<BTreeMap<&'static str, u64>>,
}

impl Predictions {
    /// Predicted states, and invalid ones.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).values().sum();
        (self.predicted.load(Relaxed), refused)
    }

    // Relaxed throughout: counters that publish nothing else.
    fn count(&self, answer: &Result<Imagined, Refusal>) {
        self.predicted.fetch_add(1, Relaxed);
        match answer {
            Ok(imagined) => {
                self.rejected.fetch_add(imagined.rejected as u64, Relaxed);
            }
            Err(refusal) => {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                *refused.entry(refusal.name()).or_default() += 1;
            }
        }
    }
}

impl fmt::Display for Predictions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (predicted, refused) = self.counts();
        write!(f, "{predicted} states imagined, {} ends of the game", self.ends.load(Relaxed))?;
        write!(f, ", {} moves rejected, {refused} states refused", self.rejected.load(Relaxed))?;
        let by_name = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, (name, count)) in by_name.iter().enumerate() {
            write!(f, "{}{name} {count}", if index == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

/// The network as a world model.
pub struct LearnedWorld {
    evaluator: Arc<dyn Evaluator>,
    /// Evaluates the root.
    rules: RulesWorld,
    memory: Arc<PredictionCache>,
    predictions: Predictions,
    refines: bool,
}

impl LearnedWorld {
    /// None if the network has no transition head. `rules` evaluates the root with the same network.
    #[must_use]
    pub fn new(
        evaluator: Arc<dyn Evaluator>,
        rules: RulesWorld,
        memory: Arc<PredictionCache>,
    ) -> Option<LearnedWorld> {
        evaluator.transition()?;
        Some(LearnedWorld {
            evaluator,
            rules,
            memory,
            predictions: Predictions::default(),
            refines: false,
        })
    }

    /// Also evaluates each predicted state by itself ([`nn::evaluator::Transition::refine`]): `MAV(s')` predicts moves
    /// and values better than `MAV(s, a)`, at the cost of a second call.
    #[must_use]
    pub fn with_refinement(self) -> LearnedWorld {
        LearnedWorld { refines: true, ..self }
    }

    /// The rules world that evaluates the root.
    #[must_use]
    pub fn rules(&self) -> &RulesWorld {
        &self.rules
    }

    /// Statistics so far.
    #[must_use]
    pub fn predictions(&self) -> &Predictions {
        &self.predictions
    }

    /// Whether the prediction along `path`, from the last position of `from`, equals the real position `now` with its
    /// legal moves. Only then may the subtree be reused: the root's moves are real.
    #[must_use]
    pub fn came_true(&self, from: &Game, path: &[Action], now: &Game) -> bool {
        let mut state = LearnedState::root(from);
        for action in path {
            let Some(prediction) = self.memory.get(state.state_key(), *action) else {
                return false;
            };
            state.enter(*action, &prediction);
        }
        let truth = LearnedState::root(now);
        is_true(state.known.position(), now.position())
            && state.known.position().halfmoves() == now.position().halfmoves()
            && state.legal == truth.legal
    }

    fn ask(
        &self,
        queries: &[(&Chess, Action)],
    ) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        let no_answer = || EvalError::Device("the network answered nothing".to_owned());
        let network = self.evaluator.transition().ok_or_else(no_answer)?;
        let steps: Vec<Step<'_>> = queries
            .iter()
            .map(|(state, action)| Step {
                state,
                action: MoveCode::of(*action, state.turn().is_black()),
            })
            .collect();
        let mut answers = network.imagine(&steps)?;
        if answers.len() != steps.len() {
            return Err(no_answer());
        }
        if self.refines {
            network.refine(&mut answers)?;
        }
        answers.iter().for_each(|answer| self.predictions.count(answer));
        Ok(answers)
    }

    /// Consumes the answer to the state's query; returns a leaf if nothing is pending then.
    fn resolve(
        &self,
        state: &mut LearnedState,
        answer: Result<Imagined, Refusal>,
    ) -> Result<Option<Leaf<Action>>, EvalError> {
        let Ok(imagined) = answer else { return Ok(Some(Leaf::Refused)) };
        // Move codes are in the frame of the side that has moved.
        let flip = imagined.state.turn().is_white();
        let legal: Vec<Action> = imagined.legal.iter().map(|code| code.to_action(flip)).collect();
        let end = ending(&imagined);
        if !state.pending.is_empty() {
            let action = state.pending.remove(0);
            let prediction = Arc::new(Prediction {
                state: imagined.state.clone(),
                key: key(&imagined.state),
                mated: end.is_some_and(|end| end.loss > 0.5),
                legal: fingerprint(legal.iter().copied()),
            });
            self.memory.put(state.state_key(), action, prediction.clone());
            state.enter(action, &prediction);
        }
        if !state.pending.is_empty() {
            return Ok(None);
        }
        if let Some(end) = end {
            self.predictions.ends.fetch_add(1, Relaxed);
            return Ok(Some(Leaf::Over(end)));
        }
        let Some(evaluation) = &imagined.evaluation else { return Ok(Some(Leaf::Refused)) };
        Ok(Some(match self.rules.leaf(legal.into_iter(), evaluation)? {
            // Not terminal: after the next real move it may not be an end.
            Leaf::Open { edges, .. } if state.drawn => Leaf::Open { value: Wdl::DRAW, edges },
            leaf => leaf,
        }))
    }
}

/// The predicted end of the game for the side to move; None if the game continues.
#[must_use]
pub fn ending(imagined: &Imagined) -> Option<Wdl> {
    let [_, lost, drawn] = imagined.end;
    if lost.max(drawn) >= MIN_CERTAINTY {
        return Some(if lost > drawn { Wdl::LOSS } else { Wdl::DRAW });
    }
    // No predicted moves: the head for ends still separates mate from draw.
    let loss = if lost + drawn > 0.0 { lost / (lost + drawn) } else { 0.5 };
    imagined.legal.is_empty().then_some(Wdl { win: 0.0, draw: 1.0 - loss, loss })
}

impl World for LearnedWorld {
    type State = LearnedState;
    type Action = Action;
    type Error = EvalError;

    fn step(&self, state: &mut LearnedState, action: Action) -> Option<Wdl> {
        if !state.pending.is_empty() {
            state.pending.push(action);
            return None;
        }
        match self.memory.get(state.state_key(), action) {
            Some(prediction) => state.enter(action, &prediction),
            None => state.pending.push(action),
        }
        (state.pending.is_empty() && state.drawn).then_some(Wdl::DRAW)
    }

    fn evaluate(&self, leaves: &[&LearnedState]) -> Result<Vec<Leaf<Action>>, EvalError> {
        let mut states: Vec<LearnedState> = leaves.iter().map(|state| (*state).clone()).collect();
        let mut done: Vec<Option<Leaf<Action>>> = leaves.iter().map(|_| None).collect();
        loop {
            let mut pending_leaves = Vec::new();
            for (at, (state, done)) in states.iter_mut().zip(&mut done).enumerate() {
                if done.is_some() {
                    continue;
                }
                // Use predictions that other threads have cached meanwhile, except for the leaf itself.
                while let [action, _, ..] = state.pending[..]
                    && let Some(prediction) = self.memory.get(state.state_key(), action)
                {
                    state.pending.remove(0);
                    state.enter(action, &prediction);
                }
                if state.is_root() {
                    *done = self.rules.evaluate(&[&state.known])?.pop();
                } else {
                    pending_leaves.push(at);
                }
            }
            if pending_leaves.is_empty() {
                break;
            }
            let queries: Vec<_> =
                pending_leaves.iter().filter_map(|at| states[*at].query()).collect();
            let answers = self.ask(&queries)?;
            for (at, answer) in pending_leaves.into_iter().zip(answers) {
                done[at] = self.resolve(&mut states[at], answer)?;
            }
        }
        Ok(done.into_iter().map(|leaf| leaf.unwrap_or(Leaf::Refused)).collect())
    }
}
