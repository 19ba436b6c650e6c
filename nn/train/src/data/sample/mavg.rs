//! Examples from a game with action values.

use super::sampler::Sampler;
use crate::data::build::{Label, Values, of_action, of_state};
use crate::data::error::DataError;
use crate::data::example::{Example, Source, Terminal};
use crate::data::label::{action_value, win_probability};
use crate::data::record::{MavgGame, MavgPosition};
use nn::encode::canonical_moves;
use nn::encode::terminal;
use shakmaty::{Chess, Color, Move, MoveList, Position};

/// Loss in win probability of the second-best move at position `ply`; 0 where there is no choice, None where no
/// other move's value is known.
pub(super) fn gap(game: &MavgGame, ply: usize) -> Option<f32> {
    let record = game.positions.get(ply)?;
    let values = game.values(record);
    let best = action_value(*values.get(usize::from(record.best))?);
    if values.len() == 1 {
        return Some(0.0);
    }
    let others = values.iter().enumerate().filter(|(i, _)| *i != usize::from(record.best));
    let known = others.map(|(_, value)| action_value(*value)).filter(|value| !value.is_nan());
    let second = known.reduce(f32::max)?;
    (!best.is_nan()).then(|| (best - second).max(0.0))
}

impl Sampler<'_> {
    /// `MAV(s)` of position `ply`.
    pub(super) fn mavg_state(
        &mut self,
        game: &MavgGame,
        ply: usize,
        state: &Chess,
    ) -> Result<Option<Example>, DataError> {
        let record = &game.positions[ply];
        let legal = legal_moves(game, record, state)?;
        if !self.admit(state, None) {
            return Ok(None);
        }
        Ok(Some(of_state(state, &legal, self.mavg_label(game, record, state.turn()))))
    }

    /// `MAV(s, a)` of position `ply`: after the move played, the labels of the next position; after any other
    /// move only its action value, from the other side.
    pub(super) fn mavg_action(
        &mut self,
        game: &MavgGame,
        ply: usize,
        state: &Chess,
    ) -> Result<Option<Example>, DataError> {
        let record = &game.positions[ply];
        let legal = legal_moves(game, record, state)?;
        let played = usize::from(record.played);
        let chosen = if self.rng.chance(self.kinds.played_share) {
            played
        } else {
            self.draw_action(state, &legal)
        };
        let (Some(&action), Some(&q)) = (legal.get(chosen), game.values(record).get(chosen)) else {
            return Ok(None);
        };
        if !self.admit(state, Some(action)) {
            return Ok(None);
        }
        let mut after = state.clone();
        after.play_unchecked(action);
        let followed = chosen == played;
        if let Some(next) = game.positions.get(ply + 1).filter(|_| followed) {
            let legal = legal_moves(game, next, &after)?;
            return Ok(of_action(
                state,
                action,
                &after,
                &legal,
                self.mavg_label(game, next, after.turn()),
            ));
        }
        let label = Label {
            source: Source::ActionValues,
            best: None,
            values: Values::None,
            visits: &[],
            value: 1.0 - action_value(q),
            result: game.header.result.outcome(after.turn()).filter(|_| followed),
        };
        Ok(of_action(state, action, &after, &canonical_moves(&after), label))
    }

    fn mavg_label<'g>(&self, game: &'g MavgGame, record: &MavgPosition, turn: Color) -> Label<'g> {
        let visits = game.visits(record);
        // A quick search of self-play teaches values; its choice is no target.
        let chosen = visits.is_empty() || visits.iter().any(|&visits| visits > 0);
        let (searched, result) = (win_probability(record.score), game.header.result.outcome(turn));
        let value = match result {
            Some(result) if !visits.is_empty() => {
                searched + self.kinds.result_share as f32 * (result.score() - searched)
            }
            _ => searched,
        };
        Label {
            source: Source::ActionValues,
            best: chosen.then_some(record.best),
            values: Values::All(game.values(record)),
            visits,
            value,
            result,
        }
    }

    /// Index of a random legal move. With probability `special_share` it prefers moves that are rare among
    /// legal ones but that the transition head must know: first those that end the game, then promotions,
    /// castlings and en passant captures.
    fn draw_action(&mut self, state: &Chess, legal: &MoveList) -> usize {
        if self.rng.chance(self.kinds.special_share) {
            let all = || legal.iter().enumerate();
            let mut rare: Vec<usize> =
                all().filter(|(_, m)| ends_game(state, **m)).map(|(index, _)| index).collect();
            if rare.is_empty() {
                let special = |m: Move| m.is_promotion() || m.is_castle() || m.is_en_passant();
                rare = all().filter(|(_, m)| special(**m)).map(|(index, _)| index).collect();
            }
            if let Some(&index) = rare.get(self.rng.below(rare.len())) {
                return index;
            }
        }
        self.rng.below(legal.len())
    }
}

/// The legal moves in canonical order; an error if the record has another number.
fn legal_moves(
    game: &MavgGame,
    record: &MavgPosition,
    state: &Chess,
) -> Result<MoveList, DataError> {
    let legal = canonical_moves(state);
    if legal.len() == usize::from(record.legal) {
        return Ok(legal);
    }
    let found = format!("{} where the rules give {}", record.legal, legal.len());
    Err(game.header.fault(record.offset, "the number of legal moves", found))
}

/// Mate, stalemate or insufficient material.
fn ends_game(state: &Chess, m: Move) -> bool {
    let mut after = state.clone();
    after.play_unchecked(m);
    terminal(&after, after.legal_moves().len()) != Terminal::Ongoing
}
