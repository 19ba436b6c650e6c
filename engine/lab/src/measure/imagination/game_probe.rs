//! Imagination along a stretch of a game: each state from the one imagined before, the first from the
//! true one, with the game's moves.

use super::counts::{Counts, StateComparison};
use chess::action::Action;
use nn::EvalError;
use nn::encode::{MoveCode, terminal};
use nn::evaluator::{Imagined, Refusal, Step, Transition, grounded, is_true};
use shakmaty::{Chess, Position};
use train::data::validation::Stretch;

/// One stretch on its way.
struct Walker<'a> {
    stretch: &'a Stretch,
    truth: Chess,
    /// None once a state was refused.
    imagined: Option<Chess>,
    /// Every state so far was right.
    right: bool,
}

/// Adds all stretches to `counts`, to the depth that it has.
///
/// # Errors
/// The network failed.
pub(super) fn walk(
    network: &dyn Transition,
    stretches: &[Stretch],
    counts: &mut Counts,
) -> Result<(), EvalError> {
    let mut walkers: Vec<Walker<'_>> = stretches
        .iter()
        .map(|stretch| Walker {
            stretch,
            truth: stretch.start.clone(),
            imagined: Some(grounded(&stretch.start)),
            right: true,
        })
        .collect();
    for depth in 0..counts.depth() {
        let mut asked = Vec::new();
        for walker in &mut walkers {
            let Some(m) = walker.stretch.moves.get(depth) else { continue };
            let action = MoveCode::of(Action::new(*m), walker.truth.turn().is_black());
            walker.truth.play_unchecked(*m);
            match walker.imagined.take() {
                Some(state) => asked.push((walker, state, action)),
                // An error stays: nothing after a refusal is right.
                None => counts.add(depth, &StateComparison::all_wrong(&walker.truth)),
            }
        }
        for group in asked.chunks_mut(64) {
            let steps: Vec<Step<'_>> =
                group.iter().map(|(_, state, action)| Step { state, action: *action }).collect();
            let answers = network.imagine(&steps)?;
            for ((walker, state, _), answer) in group.iter_mut().zip(answers) {
                counts.add(depth, &compare(walker, &answer));
                if let Ok(imagined) = answer {
                    *state = imagined.state;
                    walker.right = is_true(state, &walker.truth);
                    walker.imagined = Some(state.clone());
                }
            }
        }
    }
    Ok(())
}

fn compare<'a>(walker: &'a Walker<'_>, answer: &Result<Imagined, Refusal>) -> StateComparison<'a> {
    let truth = &walker.truth;
    let mut found =
        StateComparison { from_truth: walker.right, ..StateComparison::all_wrong(truth) };
    match answer {
        Err(_) => found.refused = true,
        Ok(imagined) => {
            let mover = !truth.turn();
            let legal = imagined.legal.iter();
            let legal = legal.map(|code| code.to_action(mover.is_black())).collect();
            found.state = is_true(&imagined.state, truth);
            found.compare_moves(legal, truth);
            let end = engine::world::learned::ending(imagined);
            found.compare_end(end, terminal(truth, truth.legal_moves().len()));
        }
    }
    found
}
