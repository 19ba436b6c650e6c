//! Turning points of a game: the few decisive moves, with the network's policy beside the search's result.

use super::found::RootMove;
use super::judge::Glyph;
use super::review::Review;
use chess::action::Action;

/// Maximum number of turning points per game.
const MAX_MOMENTS: usize = 6;
/// Minimum loss of win probability.
const MIN_LOSS: f32 = 0.03;
/// Weight of a `!`, as a loss of win probability.
const GOOD: f32 = 0.12;
/// Moves compared at a turning point.
const ROWS: usize = 3;

/// A move at a turning point with policy and search result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The move.
    pub action: Action,
    /// The network's policy.
    pub expected: f32,
    /// Share of the search's visits; None if not stored.
    pub visited: Option<f32>,
    /// The mover's win probability after it.
    pub win: Option<f32>,
    /// `played`, `best` or neither.
    pub key: Option<&'static str>,
}

/// Plies of the turning points, in order.
#[must_use]
pub fn find(review: &Review<'_>) -> Vec<usize> {
    let weight = |ply: usize| {
        let judged = review.judgements[ply].as_ref()?;
        let weight = if judged.glyph == Some(Glyph::Good) { GOOD } else { judged.loss() };
        (weight >= MIN_LOSS).then_some((ply, weight))
    };
    let mut found: Vec<(usize, f32)> = (0..review.judgements.len()).filter_map(weight).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut plies: Vec<usize> = found.into_iter().take(MAX_MOMENTS).map(|(ply, _)| ply).collect();
    plies.sort_unstable();
    plies
}

/// Moves compared before `ply`: the better one, those with the most visits, the policy's first and the played one.
#[must_use]
pub fn rows(review: &Review<'_>, ply: usize) -> Vec<Row> {
    let (Some(found), Some(played)) = (review.found(ply), review.played(ply)) else {
        return Vec::new();
    };
    let after = review.judgements[ply].as_ref().map(|judged| judged.after);
    let better = review.better(ply).next().and_then(RootMove::action);
    let favourite = found.policy.first().map(|(action, _)| *action);
    let best = found.choices.iter().take(ROWS).filter_map(|choice| choice.action());
    let mut actions: Vec<Action> = Vec::new();
    for action in better.into_iter().chain(best).chain(favourite).chain([played]) {
        if !actions.contains(&action) {
            actions.push(action);
        }
    }
    let row = |action: Action| {
        let choice = found.choices.iter().find(|choice| choice.action() == Some(action));
        let played = action == played;
        let best = (Some(action) == better).then_some("best");
        let key = if played { Some("played") } else { best };
        Row {
            action,
            expected: found.expected(action),
            visited: choice.map(|choice| found.visited(choice)),
            // The search after the played move is more accurate.
            win: after.filter(|_| played).or(choice.map(|choice| choice.win())),
            key,
        }
    };
    actions.into_iter().map(row).collect()
}
