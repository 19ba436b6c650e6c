//! The boards of a trace's nodes, by the network alone: `MAV(s, a)` answers the state, `MAV(s')` of that state
//! its list. Neither pass sees the trace. Only the root's board is true; its list is the network's too.
//!
//! Siblings are asked for together, which changes no answer. What was answered once is kept by its line of moves,
//! so that a wider or deeper trace from the same root goes on from there.

use super::page::{Answer, Outcome, Page};
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::options::settings::Settings;
use crate::world::learned::ending;
use crate::world::rules::{LeafActionValue, check};
use nn::encode::{MoveCode, canonical_moves};
use nn::evaluator::{Imagined, Refusal, Step, Transition, grounded};
use nn::writer::word::bucket_of;
use nn::writer::{Kind, Trace, Word};
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, FromSetup, Position, PositionError};
use std::collections::HashMap;
use std::num::NonZeroU32;

/// What a node is worth before anything below it is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeValue {
    /// Share of the state-value head.
    pub state_share: f32,
    /// Which action value has the rest.
    pub action_value: LeafActionValue,
}

impl From<&Settings> for NodeValue {
    /// As play has it.
    fn from(settings: &Settings) -> NodeValue {
        NodeValue {
            state_share: settings.state_value_share,
            action_value: settings.leaf_action_value,
        }
    }
}

impl NodeValue {
    fn of(self, answer: &Evaluation) -> f32 {
        let action = self.action_value.of(&answer.action_values, &answer.policy);
        action + self.state_share * (answer.value - action)
    }
}

/// Asks a network about the nodes below one root.
pub struct Boards<'a> {
    evaluator: &'a dyn Evaluator,
    network: &'a dyn Transition,
    value: NodeValue,
    known: HashMap<Vec<Action>, Page>,
    asked: u64,
}

impl<'a> Boards<'a> {
    /// No root is set yet.
    ///
    /// # Errors
    /// This network cannot be asked what follows a move.
    pub fn new(evaluator: &'a dyn Evaluator, value: NodeValue) -> Result<Boards<'a>, EvalError> {
        let network = evaluator.transition().ok_or(EvalError::NoWorldModel)?;
        Ok(Boards { evaluator, network, value, known: HashMap::new(), asked: 0 })
    }

    /// Boards evaluated since the last root was set.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Forgets what was answered and begins at the last position of `game`. If `only` names moves, the root's
    /// list has no others.
    ///
    /// # Errors
    /// The network fails, or finds no move.
    pub fn set_root(&mut self, game: &Game, only: &[Action]) -> Result<(), EvalError> {
        self.known.clear();
        self.asked = 1;
        let page = self.root(game, only)?;
        self.known.insert(Vec::new(), page);
        Ok(())
    }

    /// What the network says of the last position of `game`, as of a root.
    pub fn root(&self, game: &Game, only: &[Action]) -> Result<Page, EvalError> {
        let state = first_move(&grounded(game.position()));
        let frame = state.turn().is_white();
        let legal = canonical_moves(&state);
        let codes: Vec<MoveCode> = legal.iter().filter_map(|m| MoveCode::new(*m, frame)).collect();
        // A network that sees no more in a position of its own is asked about the true moves.
        let mut seen = [Ok(Imagined {
            certainty: vec![1.0; codes.len()],
            legal: codes,
            state,
            end: [1.0, 0.0, 0.0],
            rejected: 0,
            evaluation: None,
        })];
        self.network.refine(&mut seen)?;
        let [Ok(mut seen)] = seen else { return Err(EvalError::NoMoves) };
        if seen.evaluation.is_none() {
            let query = Query { position: &seen.state, legal: &legal };
            seen.evaluation = self.evaluator.evaluate(&[query])?.pop();
        }
        let mut list = self.list(&seen)?;
        if !only.is_empty() {
            list.retain(|(action, _)| only.contains(action));
            // What the network does not call legal is asked for all the same.
            let missing = only.iter().filter(|wished| !list.iter().any(|(a, _)| a == *wished));
            let missing: Vec<(Action, u8)> = missing.map(|action| (*action, 0)).collect();
            list.extend(missing);
        }
        if list.is_empty() {
            return Err(EvalError::NoMoves);
        }
        Ok(page(seen, list))
    }

    /// What the network says of `node`, and of its siblings named so far, unless these may be left out.
    ///
    /// # Errors
    /// The network fails.
    pub fn page(&mut self, trace: &Trace, node: u8) -> Result<Page, EvalError> {
        let path = path_of(trace, node);
        if let Some(page) = self.known.get(&path) {
            return Ok(page.clone());
        }
        let parent = path.split_last().map_or(&[][..], |(_, parent)| parent);
        let state = self.known.get(parent).and_then(|page| page.state.clone());
        let Some(state) = state else { return Ok(Page::refused()) };
        let named = if all_are_due(trace, node) {
            children(trace, node)
        } else {
            path.last().copied().into_iter().collect()
        };
        let line = |action: Action| [parent, &[action]].concat();
        let asked: Vec<Action> =
            named.into_iter().filter(|action| !self.known.contains_key(&line(*action))).collect();
        let pages = self.ask(&state, &asked)?;
        for (action, page) in asked.iter().zip(pages) {
            self.known.insert(line(*action), page);
        }
        Ok(self.known.get(&path).cloned().unwrap_or_else(Page::refused))
    }

    /// The states after `actions`, and their lists.
    fn ask(&mut self, state: &Chess, actions: &[Action]) -> Result<Vec<Page>, EvalError> {
        let flip = state.turn().is_black();
        let steps: Vec<Step<'_>> =
            actions.iter().map(|action| Step { state, action: action.to_code(flip) }).collect();
        let mut answers = self.network.imagine(&steps)?;
        if answers.len() != steps.len() {
            return Err(EvalError::Device("the network answered nothing".to_owned()));
        }
        self.network.refine(&mut answers)?;
        self.asked += actions.len() as u64;
        answers.into_iter().map(|answer| self.read(answer)).collect()
    }

    fn read(&self, answer: Result<Imagined, Refusal>) -> Result<Page, EvalError> {
        let Ok(imagined) = answer else { return Ok(Page::refused()) };
        let state = Some(imagined.state.clone());
        if let Some(end) = ending(&imagined) {
            let mover: Color = !imagined.state.turn();
            let outcome = if end.loss > end.draw { Outcome::Won(mover) } else { Outcome::Drawn };
            return Ok(Page::over(state, outcome));
        }
        let list = self.list(&imagined)?;
        Ok(match list.is_empty() {
            true => Page::refused(),
            false => page(imagined, list),
        })
    }

    /// The moves in order of preference. Codes keep the frame of the side that has moved.
    fn list(&self, imagined: &Imagined) -> Result<Vec<(Action, u8)>, EvalError> {
        let Some(evaluation) = &imagined.evaluation else { return Ok(Vec::new()) };
        check(evaluation, imagined.legal.len())?;
        let frame = imagined.state.turn().is_white();
        let mut order: Vec<usize> = (0..imagined.legal.len()).collect();
        order.sort_by(|a, b| evaluation.policy[*b].total_cmp(&evaluation.policy[*a]));
        let entry = |at: usize| {
            let action = Action::from_code(imagined.legal[at], frame);
            (action, bucket_of(evaluation.action_values[at]))
        };
        let mut list: Vec<(Action, u8)> = order.into_iter().map(entry).collect();
        if let Some((_, bucket)) = list.first_mut() {
            *bucket = bucket_of(self.value.of(evaluation));
        }
        Ok(list)
    }
}

/// The page of a board with moves.
fn page(imagined: Imagined, list: Vec<(Action, u8)>) -> Page {
    Page { state: Some(imagined.state), answer: Answer::List(list) }
}

/// The moves from the root to a node.
#[must_use]
pub fn path_of(trace: &Trace, node: u8) -> Vec<Action> {
    let mut path = Vec::new();
    let mut at = Some(node);
    while let Some(child) = at.and_then(|node| trace.child(node)) {
        path.extend(child.action.map(|action| Action::from_code(action, false)));
        at = child.parent;
    }
    path.reverse();
    path
}

/// No sibling of `node` will be left out: the prompt wants the whole tree, or nothing beside their parent is decided, so
/// that nothing bounds it.
fn all_are_due(trace: &Trace, node: u8) -> bool {
    if !trace.backup().prunes() {
        return true;
    }
    let parent_of = |node| trace.child(node)?.parent;
    let Some(grandparent) = parent_of(node).and_then(parent_of) else { return true };
    let decided = |word: &Word| word.kind == Kind::Select && word.parent == Some(grandparent);
    !trace.words().iter().any(decided)
}

/// The moves that lead to a node and its siblings, in the order they were named.
fn children(trace: &Trace, node: u8) -> Vec<Action> {
    let Some(parent) = trace.child(node).map(|word| word.parent) else { return Vec::new() };
    let mut actions: Vec<Action> = Vec::new();
    let sibling = |word: &&Word| word.kind == Kind::Child && word.parent == parent;
    for word in trace.words().iter().filter(sibling) {
        let action = word.action.map(|action| Action::from_code(action, false));
        actions.extend(action.filter(|action| !actions.contains(action)));
    }
    actions
}

/// The same position as if the game began with it: a page says nothing of the number of the move.
fn first_move(position: &Chess) -> Chess {
    let mut setup = position.to_setup(EnPassantMode::Always);
    setup.fullmoves = NonZeroU32::MIN;
    Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .unwrap_or_else(|_| position.clone())
}
