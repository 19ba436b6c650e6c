//! Players without a search: one head of the network picks the move. Also the answer to `go nodes 1`.

use crate::action::Action;
use crate::options::Settings;
use crate::world::rules::{RulesWorld, State};
use mcts::search::{Line, Snapshot};
use mcts::{Edge, Leaf, Wdl, World};
use nn::EvalError;

/// Which opinion decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The search's own prior: action values and policy together.
    Prior,
    ActionValue,
    StateValue,
    Policy,
}

/// Successors judged in one call.
const CHUNK: usize = 64;

/// The root's moves, best first, by one head alone. `allowed` must be legal and not empty.
///
/// # Errors
/// The network failed.
pub fn rank(
    head: Head,
    world: &RulesWorld,
    root: &State,
    allowed: &[Action],
    settings: &Settings,
) -> Result<Snapshot<Action>, EvalError> {
    let mut calls = 1;
    let mut scored = match head {
        Head::StateValue => {
            calls = u64::try_from(allowed.len()).unwrap_or(u64::MAX);
            by_successors(world, root, allowed)?
        }
        _ => by_edges(head, world, root, allowed, settings)?,
    };
    // Stable: of equals, the first of the move list.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let lines = scored.into_iter().map(|(_, line)| line).collect();
    Ok(Snapshot {
        nodes: calls,
        playouts: calls,
        depth: 1,
        seldepth: 1,
        hashfull: 0,
        lines,
        refused: 0,
        collisions: 0,
    })
}

type Scored = (f32, Line<Action>);

fn line(action: Action, value: Wdl, prior: f32, mate_plies: Option<i32>) -> Line<Action> {
    Line { moves: vec![action], visits: 0, value, mate_plies, prior }
}

fn by_edges(
    head: Head,
    world: &RulesWorld,
    root: &State,
    allowed: &[Action],
    settings: &Settings,
) -> Result<Vec<Scored>, EvalError> {
    let Some(Leaf::Open { value, edges }) = world.evaluate(&[root])?.pop() else {
        return Err(EvalError::NoMoves);
    };
    let priors = priors(&edges, settings);
    let kept = edges.iter().zip(priors).filter(|(edge, _)| allowed.contains(&edge.action));
    Ok(kept
        .map(|(edge, prior)| {
            let score = match head {
                Head::ActionValue => edge.q,
                Head::Policy => edge.policy,
                Head::Prior | Head::StateValue => prior,
            };
            (score, line(edge.action, Wdl::from_score_and_draw(edge.q, value.draw), prior, None))
        })
        .collect())
}

/// Paper 000, Eq. 1, blended with the policy head as the search does. The even share of Eq. 1 changes no
/// order and is left out.
fn priors(edges: &[Edge<Action>], settings: &Settings) -> Vec<f32> {
    let best = edges.iter().map(|edge| edge.q).fold(0.0, f32::max);
    let weights: Vec<f32> =
        edges.iter().map(|edge| ((edge.q - best) / settings.prior_temperature).exp()).collect();
    let total: f32 = weights.iter().sum();
    let share = settings.policy_share;
    edges
        .iter()
        .zip(weights)
        .map(|(edge, weight)| share * edge.policy + (1.0 - share) * weight / total)
        .collect()
}

fn by_successors(
    world: &RulesWorld,
    root: &State,
    allowed: &[Action],
) -> Result<Vec<Scored>, EvalError> {
    let mut scored = Vec::with_capacity(allowed.len());
    let mut open = Vec::new();
    for action in allowed {
        let mut state = root.clone();
        match world.step(&mut state, *action) {
            Some(value) => scored.push((value.flip().q(), line(*action, value.flip(), 0.0, None))),
            None => open.push((*action, state)),
        }
    }
    for chunk in open.chunks(CHUNK) {
        let states: Vec<&State> = chunk.iter().map(|(_, state)| state).collect();
        for ((action, _), leaf) in chunk.iter().zip(world.evaluate(&states)?) {
            let (value, mate) = match leaf {
                Leaf::Open { value, .. } => (value.flip(), None),
                Leaf::Over(value) => (value.flip(), (value == Wdl::LOSS).then_some(1)),
                Leaf::Refused => continue,
            };
            // A mate comes before a win that is only predicted.
            let score = if mate.is_some() { 2.0 } else { value.q() };
            scored.push((score, line(*action, value, 0.0, mate)));
        }
    }
    Ok(scored)
}
