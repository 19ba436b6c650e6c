//! Labels of a team's games: the player's rewards from each position on.

use super::occupancy::{ahead, boards};
use super::table::TeamState;
use crate::games::record::{GameRecord, samples};
use crate::games::sample::Sample;
use games::game::Game;

/// The samples of a game, with the targets of the intrinsic values by today's rewards: what comes beside those that the discs on the
/// board pay alone.
///
/// # Errors
/// The game is no game of these rules.
pub fn labelled<G: Game>(
    game: &G,
    record: &GameRecord,
    table: &TeamState,
) -> Result<Vec<Sample<G::State>>, String> {
    let mut samples = samples(game, record)?;
    let Some(learner) = samples.first().map(|sample| sample.player) else { return Ok(samples) };
    let Some(shaping) = table.shaping(learner) else { return Ok(samples) };
    let mut paid = vec![0.0; record.turns.len()];
    boards(game, record, learner, |at, next| paid[at] = shaping.reward.of(game, next));
    for (at, (sample, turn)) in samples.iter_mut().zip(&record.turns).enumerate() {
        let side = record.side(at);
        if record.teaches(side) {
            sample.intrinsic[0] = ahead(&paid, at) - shaping.reward.kept(game, &sample.state, true);
            // The means of this search have rewards in them; a proof has not.
            if turn.proven.is_none() {
                sample.values.fill(f32::NAN);
            }
        }
        if record.teaches(1 - side) {
            sample.intrinsic[1] =
                ahead(&paid, at + 1) - shaping.reward.kept(game, &sample.state, false);
        }
    }
    Ok(samples)
}
