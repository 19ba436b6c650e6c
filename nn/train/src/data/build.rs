//! Builds an [`Example`] from a position and its label, with or without an action. No file access, no random
//! numbers.

use super::example::{Example, Outcome, Source, Terminal};
use super::label::action_value;
use nn::encode::terminal;
use nn::encode::{Features, MoveCode, NextBoard};
use shakmaty::{Chess, Color, Move, MoveList, Position};

/// Known values of a state's moves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values<'a> {
    /// Nothing.
    None,
    /// Only the best move's: the state's value.
    Best,
    /// Win probability × 127 of every legal move in canonical order, or unknown.
    All(&'a [u8]),
}

/// A state's label, from the view of its side to move. Indices and lengths are checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label<'a> {
    pub source: Source,
    /// Index in canonical order.
    pub best: Option<u8>,
    pub values: Values<'a>,
    /// A search's visits of every legal move in canonical order, in any unit. Empty = no search.
    pub visits: &'a [u8],
    /// Win probability in [0, 1]; NaN = unknown.
    pub value: f32,
    /// None = unknown.
    pub result: Option<Outcome>,
}

/// `MAV(s)`. `legal` are the legal moves of `state` in canonical order.
pub(super) fn of_state(state: &Chess, legal: &MoveList, label: Label<'_>) -> Example {
    let flip = state.turn() == Color::Black;
    answer(Features::of(state), state, legal, flip, label)
}

/// `MAV(s, a)`: `label` and `legal` belong to `after`, the state that `action` leads to.
pub(super) fn of_action(
    state: &Chess,
    action: Move,
    after: &Chess,
    legal: &MoveList,
    label: Label<'_>,
) -> Option<Example> {
    let flip = state.turn() == Color::Black;
    let features = Features::with_action(state, MoveCode::new(action, flip)?);
    let mut example = answer(features, after, legal, flip, label);
    example.next = Some(Box::new(NextBoard::of(after)));
    Some(example)
}

fn answer(
    features: Features,
    state: &Chess,
    legal: &MoveList,
    flip: bool,
    label: Label<'_>,
) -> Example {
    let terminal = terminal(state, legal.len());
    let mut example = Example {
        features,
        source: label.source,
        moves: Vec::new(),
        best: None,
        visits: Vec::new(),
        action_values: Vec::new(),
        value: label.value,
        result: label.result,
        terminal,
        next: None,
        teacher: None,
    };
    match terminal {
        Terminal::Ongoing => {
            example.moves = legal.iter().filter_map(|&m| MoveCode::new(m, flip)).collect();
            example.best = label.best.map(u16::from);
            example.visits = shares(label.visits);
            example.action_values = known_values(label, legal.len());
        }
        // The rules override a search or the rest of the game.
        Terminal::Lost => (example.value, example.result) = (0.0, Some(Outcome::Lost)),
        Terminal::Drawn => (example.value, example.result) = (0.5, Some(Outcome::Drawn)),
    }
    example
}

/// Visits as shares of their sum; empty if that is 0.
fn shares(visits: &[u8]) -> Vec<f32> {
    let total: f32 = visits.iter().map(|&visits| f32::from(visits)).sum();
    let of_total = |&visits: &u8| f32::from(visits) / total;
    if total > 0.0 { visits.iter().map(of_total).collect() } else { Vec::new() }
}

/// Win probability of each of `moves` moves, NaN where unknown; empty if none is known.
fn known_values(label: Label<'_>, moves: usize) -> Vec<f32> {
    match (label.values, label.best) {
        (Values::All(values), _) => values.iter().map(|&value| action_value(value)).collect(),
        (Values::Best, Some(best)) if !label.value.is_nan() => {
            let mut values = vec![f32::NAN; moves];
            if let Some(value) = values.get_mut(usize::from(best)) {
                *value = label.value;
            }
            values
        }
        _ => Vec::new(),
    }
}
