//! A world that the network imagines (paper 000, section 3.1): below the root there are no rules. States,
//! legal moves, values and ends of the game are the network's answers to `MAV(s_parent, a)`, one batched
//! call for a minibatch; only the root and its moves are true.
//!
//! A state on its way to the network is its last known state and the action from there. What was imagined
//! is kept in a [`Memory`], so that a later descent follows it without a call. Repetitions and fifty moves
//! are counted over the states imagined on the path and the true ones before it. They are known only once
//! the state is: at its first visit a repetition is a draw in value, later an end.
//!
//! An answer that makes no state is [`Leaf::Refused`]: minus infinity to the search, never chosen again.

use super::memory::{Memory, Seen, StateKey, fingerprint};
use super::rules::{self, RulesWorld};
use crate::chess::action::Action;
use crate::chess::ending::by_fifty_moves;
use crate::chess::game::Game;
use mcts::{Leaf, Wdl, World};
use nn::evaluator::{Imagined, Refusal, Step, grounded, is_true};
use nn::{EvalError, Evaluator};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Position};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// From this probability on an imagined end is taken for one even if the network names legal moves too,
/// and for certain: a mate is then a proof. Otherwise an end is a position without moves, and no proof.
/// Measured: see `docs/src/imagined.md`.
const CERTAIN: f32 = 0.99;

/// A state of the tree: known, or known but for the actions since.
#[derive(Clone, Debug)]
pub struct State {
    /// The last known state, with its past.
    known: rules::State,
    /// What that one was imagined from: the question to ask about it again.
    origin: Option<(Chess, Action)>,
    mated: bool,
    /// The game was over on this path by repetition or fifty moves, of all that is known.
    drawn: bool,
    /// Moves called legal in the known state, as [`fingerprint`] sums them up.
    legal: u64,
    /// What was played since. One action, unless states were forgotten.
    pending: Vec<Action>,
}

impl State {
    /// The state at the root of a search: true.
    #[must_use]
    pub fn root(game: &Game) -> State {
        let known = rules::State::root(game).with_position(grounded(game.position()));
        let legal = fingerprint(game.legal_actions().into_iter());
        State { known, origin: None, mated: false, drawn: false, legal, pending: Vec::new() }
    }

    /// The imagined position; None while nobody has asked for it.
    #[must_use]
    pub fn position(&self) -> Option<&Chess> {
        self.pending.is_empty().then(|| self.known.position())
    }

    fn is_root(&self) -> bool {
        self.pending.is_empty() && self.origin.is_none()
    }

    /// Where the known state is kept.
    fn state_key(&self) -> StateKey {
        StateKey { key: self.known.key(), clock: self.known.position().halfmoves() }
    }

    fn enter(&mut self, action: Action, seen: &Seen) {
        self.origin = Some((self.known.position().clone(), action));
        self.known.enter(seen.state.clone(), seen.key);
        (self.mated, self.legal) = (seen.mated, seen.legal);
        // A search whose states were forgotten may pass such an end unawares; it counts all the same.
        self.drawn |= self.known.repeats() || by_fifty_moves(self.known.position()) && !self.mated;
    }

    /// What the network must be asked next; None of the root.
    fn question(&self) -> Option<(&Chess, Action)> {
        match self.pending.first() {
            Some(action) => Some((self.known.position(), *action)),
            None => self.origin.as_ref().map(|(from, action)| (from, *action)),
        }
    }
}

/// The key of an imagined state: as [`crate::chess::ending::key`], with whatever en-passant square the network imagined.
fn key(state: &Chess) -> u64 {
    state.zobrist_hash::<Zobrist64>(EnPassantMode::Always).0
}

/// What happened in an imagined world.
#[derive(Debug, Default)]
pub struct Predictions {
    /// States asked for.
    asked: AtomicU64,
    /// Moves called legal that begin on an empty square.
    rejected: AtomicU64,
    /// Ends of the game imagined.
    ends: AtomicU64,
    /// Answers that made no state, by name.
    refused: Mutex<BTreeMap<&'static str, u64>>,
}

impl Predictions {
    /// States asked for, and those refused.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).values().sum();
        (self.asked.load(Relaxed), refused)
    }

    // Relaxed throughout: totals, that publish nothing else.
    fn take_in(&self, answer: &Result<Imagined, Refusal>) {
        self.asked.fetch_add(1, Relaxed);
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
        let (asked, refused) = self.counts();
        write!(f, "{asked} states imagined, {} ends of the game", self.ends.load(Relaxed))?;
        write!(f, ", {} moves rejected, {refused} states refused", self.rejected.load(Relaxed))?;
        let by_name = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, (name, count)) in by_name.iter().enumerate() {
            write!(f, "{}{name} {count}", if index == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

/// The network as a world.
pub struct LearnedWorld {
    evaluator: Arc<dyn Evaluator>,
    /// Evaluates the root.
    rules: RulesWorld,
    memory: Arc<Memory>,
    predictions: Predictions,
    twice: bool,
}

impl LearnedWorld {
    /// None if this network cannot be asked what follows a move. `rules` evaluates the root, by the same
    /// network.
    #[must_use]
    pub fn new(
        evaluator: Arc<dyn Evaluator>,
        rules: RulesWorld,
        memory: Arc<Memory>,
    ) -> Option<LearnedWorld> {
        evaluator.transition()?;
        Some(LearnedWorld {
            evaluator,
            rules,
            memory,
            predictions: Predictions::default(),
            twice: false,
        })
    }

    /// The same world, with a second look at each imagined state ([`nn::evaluator::Transition::refine`]):
    /// its moves and values are told better by `MAV(s')` than by `MAV(s, a)`, for a second call.
    #[must_use]
    pub fn with_refinement(self) -> LearnedWorld {
        LearnedWorld { twice: true, ..self }
    }

    /// The world of the root alone.
    #[must_use]
    pub fn rules(&self) -> &RulesWorld {
        &self.rules
    }

    /// What happened in it so far.
    #[must_use]
    pub fn predictions(&self) -> &Predictions {
        &self.predictions
    }

    /// Whether what was imagined along `path`, from the last position of `from`, is just what is true now:
    /// the state and its legal moves. Only then may the tree below be kept: the root's moves are true.
    #[must_use]
    pub fn came_true(&self, from: &Game, path: &[Action], now: &Game) -> bool {
        let mut state = State::root(from);
        for action in path {
            let Some(seen) = self.memory.get(state.state_key(), *action) else { return false };
            state.enter(*action, &seen);
        }
        let truth = State::root(now);
        is_true(state.known.position(), now.position())
            && state.known.position().halfmoves() == now.position().halfmoves()
            && state.legal == truth.legal
    }

    fn ask(
        &self,
        questions: &[(&Chess, Action)],
    ) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        let silent = || EvalError::Device("the network answered nothing".to_owned());
        let network = self.evaluator.transition().ok_or_else(silent)?;
        let steps: Vec<Step<'_>> = questions
            .iter()
            .map(|(state, action)| Step { state, action: action.to_code(state.turn().is_black()) })
            .collect();
        let mut answers = network.imagine(&steps)?;
        if answers.len() != steps.len() {
            return Err(silent());
        }
        if self.twice {
            network.refine(&mut answers)?;
        }
        answers.iter().for_each(|answer| self.predictions.take_in(answer));
        Ok(answers)
    }

    /// Goes one step with the answer to the state's question: a leaf if nothing is pending then.
    fn settle(
        &self,
        state: &mut State,
        answer: Result<Imagined, Refusal>,
    ) -> Result<Option<Leaf<Action>>, EvalError> {
        let Ok(imagined) = answer else { return Ok(Some(Leaf::Refused)) };
        // Codes keep the frame of the state that was asked about.
        let flip = imagined.state.turn().is_white();
        let legal: Vec<Action> =
            imagined.legal.iter().map(|code| Action::from_code(*code, flip)).collect();
        let end = ending(&imagined);
        if !state.pending.is_empty() {
            let action = state.pending.remove(0);
            let seen = Arc::new(Seen {
                state: imagined.state.clone(),
                key: key(&imagined.state),
                mated: end.is_some_and(|end| end.loss > 0.5),
                legal: fingerprint(legal.iter().copied()),
            });
            self.memory.put(state.state_key(), action, seen.clone());
            state.enter(action, &seen);
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
            // Not an end to be stored: after the next move on the board it may be none.
            Leaf::Open { edges, .. } if state.drawn => Leaf::Open { value: Wdl::DRAW, edges },
            leaf => leaf,
        }))
    }
}

/// The end of the game that the network means, as the side to move sees it; None if the game goes on.
#[must_use]
pub fn ending(imagined: &Imagined) -> Option<Wdl> {
    let [_, lost, drawn] = imagined.end;
    if lost.max(drawn) >= CERTAIN {
        return Some(if lost > drawn { Wdl::LOSS } else { Wdl::DRAW });
    }
    // Nobody can move: which end it is, the head for ends says better than whether it is one.
    let loss = if lost + drawn > 0.0 { lost / (lost + drawn) } else { 0.5 };
    imagined.legal.is_empty().then_some(Wdl { win: 0.0, draw: 1.0 - loss, loss })
}

impl World for LearnedWorld {
    type State = State;
    type Action = Action;
    type Error = EvalError;

    fn step(&self, state: &mut State, action: Action) -> Option<Wdl> {
        if !state.pending.is_empty() {
            state.pending.push(action);
            return None;
        }
        match self.memory.get(state.state_key(), action) {
            Some(seen) => state.enter(action, &seen),
            None => state.pending.push(action),
        }
        (state.pending.is_empty() && state.drawn).then_some(Wdl::DRAW)
    }

    fn evaluate(&self, leaves: &[&State]) -> Result<Vec<Leaf<Action>>, EvalError> {
        let mut states: Vec<State> = leaves.iter().map(|state| (*state).clone()).collect();
        let mut done: Vec<Option<Leaf<Action>>> = leaves.iter().map(|_| None).collect();
        loop {
            let mut asked = Vec::new();
            for (at, (state, done)) in states.iter_mut().zip(&mut done).enumerate() {
                if done.is_some() {
                    continue;
                }
                // What others have imagined meanwhile need not be asked again, but for the leaf itself.
                while let [action, _, ..] = state.pending[..]
                    && let Some(seen) = self.memory.get(state.state_key(), action)
                {
                    state.pending.remove(0);
                    state.enter(action, &seen);
                }
                if state.is_root() {
                    *done = self.rules.evaluate(&[&state.known])?.pop();
                } else {
                    asked.push(at);
                }
            }
            if asked.is_empty() {
                break;
            }
            let questions: Vec<_> = asked.iter().filter_map(|at| states[*at].question()).collect();
            let answers = self.ask(&questions)?;
            for (at, answer) in asked.into_iter().zip(answers) {
                done[at] = self.settle(&mut states[at], answer)?;
            }
        }
        Ok(done.into_iter().map(|leaf| leaf.unwrap_or(Leaf::Refused)).collect())
    }
}
