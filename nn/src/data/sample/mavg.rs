//! Examples from a game with action values.

use super::Sampler;
use crate::data::build::{Label, Values, of_action, of_state};
use crate::data::error::DataError;
use crate::data::example::{Example, Source};
use crate::data::label::{action_value, result_for, win_probability};
use crate::data::record::{MavgGame, MavgPosition};
use crate::encode::canonical_moves;
use shakmaty::{Chess, Color, Move, MoveList, Position};

impl Sampler<'_> {
    /// `MAV(s)` of the `ply`-th position.
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
        Ok(Some(of_state(
            state,
            &legal,
            label_of(game, record, state.turn()),
        )))
    }

    /// `MAV(s, a)` of the `ply`-th position: after the move played the labels of the next position, after
    /// any other move its action value alone, seen from the other side.
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
                label_of(game, next, after.turn()),
            ));
        }
        let label = Label {
            source: Source::ActionValues,
            best: None,
            values: Values::None,
            value: 1.0 - action_value(q),
            result: result_for(after.turn(), game.header.result).filter(|_| followed),
        };
        Ok(of_action(
            state,
            action,
            &after,
            &canonical_moves(&after),
            label,
        ))
    }

    /// Index of a random legal move; special ones are preferred now and then, because promotions,
    /// castlings and mates are rare among legal moves and the transition must know them.
    fn draw_action(&mut self, state: &Chess, legal: &MoveList) -> usize {
        if self.rng.chance(self.kinds.special_share) {
            let special: Vec<usize> = (0..legal.len())
                .filter(|&index| is_special(state, legal[index]))
                .collect();
            if let Some(&index) = special.get(self.rng.below(special.len())) {
                return index;
            }
        }
        self.rng.below(legal.len())
    }
}

/// The legal moves in canonical order; an error if the record counts others.
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
    Err(game
        .header
        .fault(record.offset, "the number of legal moves", found))
}

fn label_of<'a>(game: &'a MavgGame, record: &MavgPosition, turn: Color) -> Label<'a> {
    Label {
        source: Source::ActionValues,
        best: Some(record.best),
        values: Values::All(game.values(record)),
        value: win_probability(record.score),
        result: result_for(turn, game.header.result),
    }
}

/// A promotion, castling, en passant capture, mate or stalemate.
pub(super) fn is_special(state: &Chess, m: Move) -> bool {
    if m.is_promotion() || m.is_castle() || m.is_en_passant() {
        return true;
    }
    let mut after = state.clone();
    after.play_unchecked(m);
    after.legal_moves().is_empty()
}
