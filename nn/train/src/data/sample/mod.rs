//! Draws examples from a game: positions, with or without an action. Replays only up to the last position
//! drawn. `mavg` and `pvgr` handle the labels.

mod mavg;
mod pvgr;
mod sampler;

pub use sampler::SamplerCounts;
pub(super) use sampler::{Pass, Sampler};

use super::boards::{unlabelled, unlabelled_action};
use super::error::DataError;
use super::example::Example;
use super::kinds::{Kinds, SHARP};
use super::record::{Game, MATE_IN_ONE};
use nn::encode::canonical_moves;
use shakmaty::{Chess, Move, Position};

/// Sampling probability of position `ply`, from the weights of its kind.
pub(super) fn kept(kinds: &Kinds, game: &Game, ply: usize) -> f64 {
    let weight = kinds.chess960_weight;
    let kind = if game.header().chess960 { weight.min(1.0) } else { 1.0 / weight.max(1.0) };
    let gap = match game {
        Game::Mavg(game) => mavg::gap(game, ply),
        Game::Pvgr(_) => None,
    };
    let sharp = gap.map_or(1.0, |gap| (f64::from(gap) / SHARP).clamp(0.0, 1.0));
    kind * (kinds.quiet_weight + (1.0 - kinds.quiet_weight) * sharp)
}

/// Plies of `game` that a pass may take: those with a label.
pub(super) fn candidates(game: &Game, kinds: &Kinds) -> Vec<usize> {
    match game {
        Game::Mavg(game) => (0..game.positions.len()).collect(),
        Game::Pvgr(game) => (0..game.plies.len())
            .filter(|&ply| pvgr::usable(&game.plies[ply], kinds).is_some())
            .collect(),
    }
}

/// Share of actions among examples of position `ply`.
fn action_share(game: &Game, ply: usize, kinds: &Kinds) -> f64 {
    let score = match game {
        Game::Mavg(game) => game.positions.get(ply).map(|record| record.score),
        Game::Pvgr(game) => game.plies.get(ply).and_then(|record| record.score),
    };
    if score == Some(MATE_IN_ONE) {
        kinds.action_share.max(kinds.mate_share)
    } else {
        kinds.action_share
    }
}

impl Sampler<'_> {
    /// Appends at most one example for each of `plies` (ascending) to `out`.
    ///
    /// # Errors
    /// If the game's moves are not legal.
    pub fn sample(
        &mut self,
        game: &Game,
        plies: &[usize],
        out: &mut impl Extend<Example>,
    ) -> Result<(), DataError> {
        let mut position = game.header().start.clone();
        let mut at = 0;
        for &ply in plies {
            while at < ply {
                let Some((played, offset)) = game.played(at) else {
                    return Ok(());
                };
                game.header().play(&mut position, played, offset)?;
                at += 1;
            }
            let action = self.rng.chance(action_share(game, ply, &self.kinds));
            // No draw without evasions: the stream of a seed stays the same.
            let checks = self.kinds.check_share > 0.0 && self.rng.chance(self.kinds.check_share);
            let check = if checks { self.draw_check(&position) } else { None };
            let example = match game {
                _ if let Some(check) = check => self.evasion(&position, check, action),
                Game::Mavg(game) if action => self.mavg_action(game, ply, &position)?,
                Game::Mavg(game) => self.mavg_state(game, ply, &position)?,
                Game::Pvgr(game) => {
                    if self.rng.chance(self.kinds.variation_share) {
                        self.variation(game, ply, position.clone(), action)?
                    } else {
                        self.game_move(game, ply, &position, action)?
                    }
                }
            };
            self.counts.examples += u64::from(example.is_some());
            out.extend(example);
        }
        Ok(())
    }

    /// A random legal move that gives check; None if there is none.
    fn draw_check(&mut self, state: &Chess) -> Option<Move> {
        let mut checks = canonical_moves(state);
        checks.retain(|m| {
            let mut after = state.clone();
            after.play_unchecked(*m);
            after.is_check()
        });
        checks.get(self.rng.below(checks.len().max(1))).copied()
    }

    /// The position after `check`; with `action`, the move itself as an action.
    fn evasion(&mut self, state: &Chess, check: Move, action: bool) -> Option<Example> {
        let mut after = state.clone();
        after.play_unchecked(check);
        match action {
            true if self.admit(state, Some(check)) => unlabelled_action(state, check),
            false if self.admit(&after, None) => Some(unlabelled(&after, None)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
