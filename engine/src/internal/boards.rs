//! Boards of a trace's nodes, predicted by the network: `MAV(s, a)` gives the state, `MAV(s')` of that state its move
//! list. Neither pass sees the trace. Only the root's board is real; its list is the network's, too.
//!
//! Siblings are evaluated in one batch, which changes no answer. Answers are cached by line of moves, so that a wider
//! or deeper trace from the same root reuses them.

use super::page::{NodeAnswer, NodePage, PredictedOutcome};
use crate::options::settings::Settings;
use crate::world::learned::ending;
use crate::world::rules::{best, check};
use chess::action::Action;
use chess::game::Game;
use nn::encode::{MoveCode, canonical_moves};
use nn::evaluator::{Imagined, Refusal, Step, Transition, grounded};
use nn::writer::word::bucket_of;
use nn::writer::{Kind, Trace, Word};
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, FromSetup, Position, PositionError};
use std::collections::HashMap;
use std::num::NonZeroU32;

/// Value of a node without its children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeValue {
    /// Weight of the state-value head.
    pub state_share: f32,
}

impl From<&Settings> for NodeValue {
    /// The weights that play uses.
    fn from(settings: &Settings) -> NodeValue {
        NodeValue { state_share: settings.state_value_share }
    }
}

impl NodeValue {
    fn of(self, answer: &Evaluation) -> f32 {
        let action = best(&answer.action_values);
        action + self.state_share * (answer.value - action)
    }
}

/// Evaluates the nodes below one root.
pub struct Boards<'a> {
    evaluator: &'a dyn Evaluator,
    network: &'a dyn Transition,
    value: NodeValue,
    known: HashMap<Vec<Action>, NodePage>,
    evaluated: u64,
}

impl<'a> Boards<'a> {
    /// The root is set later.
    ///
    /// # Errors
    /// The network has no transition head.
    pub fn new(evaluator: &'a dyn Evaluator, value: NodeValue) -> Result<Boards<'a>, EvalError> {
        let network = evaluator.transition().ok_or(EvalError::NoWorldModel)?;
        Ok(Boards { evaluator, network, value, known: HashMap::new(), evaluated: 0 })
    }

    /// Boards evaluated since the last `set_root`.
    #[must_use]
    pub fn evaluated(&self) -> u64 {
        self.evaluated
    }

    /// Clears the cache and starts at the last position of `game`. If `only` is not empty, the root's list is
    /// restricted to it.
    ///
    /// # Errors
    /// The network fails, or predicts no legal move.
    pub fn set_root(&mut self, game: &Game, only: &[Action]) -> Result<(), EvalError> {
        self.known.clear();
        self.evaluated = 1;
        let page = self.root(game, only)?;
        self.known.insert(Vec::new(), page);
        Ok(())
    }

    /// Evaluates the last position of `game` as a root.
    pub fn root(&self, game: &Game, only: &[Action]) -> Result<NodePage, EvalError> {
        let state = first_move(&grounded(game.position()));
        let frame = state.turn().is_white();
        let legal = canonical_moves(&state);
        let codes: Vec<MoveCode> = legal.iter().filter_map(|m| MoveCode::new(*m, frame)).collect();
        // A network without a refinement pass is given the real legal moves.
        let mut prediction = [Ok(Imagined {
            certainty: vec![1.0; codes.len()],
            legal: codes,
            state,
            end: [1.0, 0.0, 0.0],
            rejected: 0,
            evaluation: None,
        })];
        self.network.refine(&mut prediction)?;
        let [Ok(mut prediction)] = prediction else { return Err(EvalError::NoMoves) };
        if prediction.evaluation.is_none() {
            let query = Query { position: &prediction.state, legal: &legal };
            prediction.evaluation = self.evaluator.evaluate(&[query])?.pop();
        }
        let mut list = self.list(&prediction)?;
        if !only.is_empty() {
            list.retain(|(action, _)| only.contains(action));
            // Moves of `only` that the network does not predict as legal are appended.
            let missing = only.iter().filter(|wanted| !list.iter().any(|(a, _)| a == *wanted));
            let missing: Vec<(Action, u8)> = missing.map(|action| (*action, 0)).collect();
            list.extend(missing);
        }
        if list.is_empty() {
            return Err(EvalError::NoMoves);
        }
        Ok(page(prediction, list))
    }

    /// Evaluates `node`, in one batch with its siblings unless these may be pruned.
    ///
    /// # Errors
    /// The network fails.
    pub fn page(&mut self, trace: &Trace, node: u8) -> Result<NodePage, EvalError> {
        let path = path_of(trace, node);
        if let Some(page) = self.known.get(&path) {
            return Ok(page.clone());
        }
        let parent = path.split_last().map_or(&[][..], |(_, parent)| parent);
        let state = self.known.get(parent).and_then(|page| page.state.clone());
        let Some(state) = state else { return Ok(NodePage::refused()) };
        let named = if no_sibling_pruned(trace, node) {
            children(trace, node)
        } else {
            path.last().copied().into_iter().collect()
        };
        let line = |action: Action| [parent, &[action]].concat();
        let batch: Vec<Action> =
            named.into_iter().filter(|action| !self.known.contains_key(&line(*action))).collect();
        let pages = self.ask(&state, &batch)?;
        for (action, page) in batch.iter().zip(pages) {
            self.known.insert(line(*action), page);
        }
        Ok(self.known.get(&path).cloned().unwrap_or_else(NodePage::refused))
    }

    /// States after `actions`, and their move lists.
    fn ask(&mut self, state: &Chess, actions: &[Action]) -> Result<Vec<NodePage>, EvalError> {
        let flip = state.turn().is_black();
        let steps: Vec<Step<'_>> = actions
            .iter()
            .map(|action| Step { state, action: MoveCode::of(*action, flip) })
            .collect();
        let mut answers = self.network.imagine(&steps)?;
        if answers.len() != steps.len() {
            return Err(EvalError::Device("the network answered nothing".to_owned()));
        }
        self.network.refine(&mut answers)?;
        self.evaluated += actions.len() as u64;
        answers.into_iter().map(|answer| self.read(answer)).collect()
    }

    fn read(&self, answer: Result<Imagined, Refusal>) -> Result<NodePage, EvalError> {
        let Ok(imagined) = answer else { return Ok(NodePage::refused()) };
        let state = Some(imagined.state.clone());
        if let Some(end) = ending(&imagined) {
            let mover: Color = !imagined.state.turn();
            let outcome = if end.loss > end.draw {
                PredictedOutcome::Won(mover)
            } else {
                PredictedOutcome::Drawn
            };
            return Ok(NodePage::over(state, outcome));
        }
        let list = self.list(&imagined)?;
        Ok(match list.is_empty() {
            true => NodePage::refused(),
            false => page(imagined, list),
        })
    }

    /// Moves in order of preference. Codes are in the frame of the side that has moved.
    fn list(&self, imagined: &Imagined) -> Result<Vec<(Action, u8)>, EvalError> {
        let Some(evaluation) = &imagined.evaluation else { return Ok(Vec::new()) };
        check(evaluation, imagined.legal.len())?;
        let frame = imagined.state.turn().is_white();
        let mut order: Vec<usize> = (0..imagined.legal.len()).collect();
        order.sort_by(|a, b| evaluation.policy[*b].total_cmp(&evaluation.policy[*a]));
        let entry = |at: usize| {
            let action = imagined.legal[at].to_action(frame);
            (action, bucket_of(evaluation.action_values[at]))
        };
        let mut list: Vec<(Action, u8)> = order.into_iter().map(entry).collect();
        if let Some((_, bucket)) = list.first_mut() {
            *bucket = bucket_of(self.value.of(evaluation));
        }
        Ok(list)
    }
}

/// Page of a board with legal moves.
fn page(imagined: Imagined, list: Vec<(Action, u8)>) -> NodePage {
    NodePage { state: Some(imagined.state), answer: NodeAnswer::List(list) }
}

/// Moves from the root to a node.
#[must_use]
pub fn path_of(trace: &Trace, node: u8) -> Vec<Action> {
    let mut path = Vec::new();
    let mut at = Some(node);
    while let Some(child) = at.and_then(|node| trace.child(node)) {
        path.extend(child.action.map(|action| action.to_action(false)));
        at = child.parent;
    }
    path.reverse();
    path
}

/// Whether no sibling of `node` will be pruned: the backup evaluates the whole tree, or no sibling of their parent is
/// decided, so that there is no bound.
fn no_sibling_pruned(trace: &Trace, node: u8) -> bool {
    if !trace.backup().prunes() {
        return true;
    }
    let parent_of = |node| trace.child(node)?.parent;
    let Some(grandparent) = parent_of(node).and_then(parent_of) else { return true };
    let decided = |word: &Word| word.kind == Kind::Select && word.parent == Some(grandparent);
    !trace.words().iter().any(decided)
}

/// Moves to a node and its siblings, in the order of naming.
fn children(trace: &Trace, node: u8) -> Vec<Action> {
    let Some(parent) = trace.child(node).map(|word| word.parent) else { return Vec::new() };
    let mut actions: Vec<Action> = Vec::new();
    let sibling = |word: &&Word| word.kind == Kind::Child && word.parent == parent;
    for word in trace.words().iter().filter(sibling) {
        let action = word.action.map(|action| action.to_action(false));
        actions.extend(action.filter(|action| !actions.contains(action)));
    }
    actions
}

/// The same position with full-move number 1: a page does not depend on it.
fn first_move(position: &Chess) -> Chess {
    let mut setup = position.to_setup(EnPassantMode::Always);
    setup.fullmoves = NonZeroU32::MIN;
    Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .unwrap_or_else(|_| position.clone())
}
