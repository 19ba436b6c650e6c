//! The turning points of a game: the few moves that decided it, with what the network alone expected
//! there beside what the search found.

use super::judge::Glyph;
use super::review::Review;
use crate::chess::action::Action;

/// Turning points shown of a game, at most.
const MOST: usize = 6;
/// Win probability that a move must lose to be one, where none has a better claim.
const LEAST: f32 = 0.03;
/// What a `!` counts for beside moves that lost so much.
const GOOD: f32 = 0.12;
/// Moves compared at each.
const ROWS: usize = 3;

/// One move at a turning point, as network and search saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The move.
    pub action: Action,
    /// The network's policy, before any search.
    pub expected: f32,
    /// Its share of the search's visits; None where the search did not keep it.
    pub visited: Option<f32>,
    /// The mover's win probability after it.
    pub win: Option<f32>,
    /// It was played.
    pub played: bool,
}

/// The plies of the turning points, in the order of play.
#[must_use]
pub fn find(review: &Review<'_>) -> Vec<usize> {
    let weight = |ply: usize| {
        let judged = review.judgements[ply].as_ref()?;
        let weight = if judged.glyph == Some(Glyph::Good) { GOOD } else { judged.loss() };
        (weight >= LEAST).then_some((ply, weight))
    };
    let mut found: Vec<(usize, f32)> = (0..review.judgements.len()).filter_map(weight).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut plies: Vec<usize> = found.into_iter().take(MOST).map(|(ply, _)| ply).collect();
    plies.sort_unstable();
    plies
}

/// The moves worth comparing before `ply`: the search's best, the one played and the network's favourite.
#[must_use]
pub fn rows(review: &Review<'_>, ply: usize) -> Vec<Row> {
    let (Some(found), Some(played)) = (review.found(ply), review.played(ply)) else {
        return Vec::new();
    };
    let after = review.judgements[ply].as_ref().map(|judged| judged.after);
    let favourite = found.policy.first().map(|(action, _)| *action);
    let best = found.choices.iter().take(ROWS).filter_map(|choice| choice.action());
    let mut actions: Vec<Action> = best.collect();
    for action in favourite.into_iter().chain([played]) {
        if !actions.contains(&action) {
            actions.push(action);
        }
    }
    let row = |action: Action| {
        let choice = found.choices.iter().find(|choice| choice.action() == Some(action));
        let played = action == played;
        Row {
            action,
            expected: found.expected(action),
            visited: choice.map(|choice| choice.visits as f32 / found.playouts.max(1) as f32),
            // A search of its own knows more of the move that was played.
            win: after.filter(|_| played).or(choice.map(|choice| choice.win())),
            played,
        }
    };
    actions.into_iter().map(row).collect()
}
