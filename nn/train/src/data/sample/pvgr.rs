//! Examples from an engine game: its positions and those on the principal variations.

use super::sampler::Sampler;
use crate::data::build::{Label, Values, of_action, of_state};
use crate::data::error::DataError;
use crate::data::example::{Example, Source};
use crate::data::kinds::Kinds;
use crate::data::label::{along_line, win_probability};
use crate::data::record::{PvgrGame, PvgrPly};
use nn::encode::canonical_moves;
use shakmaty::{Chess, Color, Move, MoveList, Position};

/// The score of a ply, if it is deep enough to learn from.
pub(super) fn usable(ply: &PvgrPly, kinds: &Kinds) -> Option<i16> {
    ply.score.filter(|_| ply.depth == 0 || ply.depth >= kinds.min_depth)
}

impl Sampler<'_> {
    /// Position `ply` of the game; with `action`, the move played there.
    pub(super) fn game_move(
        &mut self,
        game: &PvgrGame,
        ply: usize,
        state: &Chess,
        action: bool,
    ) -> Result<Option<Example>, DataError> {
        let record = &game.plies[ply];
        let Some(score) = usable(record, &self.kinds) else {
            return Ok(None);
        };
        let legal = canonical_moves(state);
        let played = move_at(game, record.played, record.offset, &legal)?;
        if !self.admit(state, action.then_some(played)) {
            return Ok(None);
        }
        let label = |turn: Color, best: Option<u8>, value: f32| Label {
            source: Source::GameMove,
            best,
            values: Values::Best,
            visits: &[],
            value,
            result: game.header.result.outcome(turn),
        };
        if !action {
            let value = self.value(game, ply, score, state.turn());
            let label = label(state.turn(), Some(record.played), value);
            return Ok(Some(of_state(state, &legal, label)));
        }
        let mut after = state.clone();
        after.play_unchecked(played);
        let legal = canonical_moves(&after);
        // The opponent's own move if there is one, else the mover's expected reply.
        let reply =
            game.plies.get(ply + 1).and_then(|next| Some((next, usable(next, &self.kinds)?)));
        let (best, value) = match reply {
            Some((next, score)) => {
                let value = self.value(game, ply + 1, score, after.turn());
                (Some((next.played, next.offset)), value)
            }
            None => {
                let value = self.value(game, ply, score, state.turn());
                (line_move(game, record, 0), along_line(value, 1))
            }
        };
        let best = checked(game, best, &legal)?;
        Ok(of_action(state, played, &after, &legal, label(after.turn(), best, value)))
    }

    /// A random position on the line of position `ply` (`state`), near ones preferred; with `action`, the
    /// line's next move there. The score holds along the line, its sign alternating.
    pub(super) fn variation(
        &mut self,
        game: &PvgrGame,
        ply: usize,
        mut state: Chess,
        action: bool,
    ) -> Result<Option<Example>, DataError> {
        let record = &game.plies[ply];
        let line = game.line(record);
        let Some(score) = usable(record, &self.kinds).filter(|_| !line.is_empty()) else {
            return Ok(None);
        };
        let value = self.value(game, ply, score, state.turn());
        let depth = self.draw_distance(line.len());
        game.header.play(&mut state, record.played, record.offset)?;
        for (k, &index) in line[..depth].iter().enumerate() {
            game.header.play(&mut state, index, PvgrGame::line_offset(record, k))?;
        }
        let label = |best: Option<u8>, plies: usize| Label {
            source: Source::Variation,
            best,
            values: Values::Best,
            visits: &[],
            value: along_line(value, plies),
            result: None,
        };
        let legal = canonical_moves(&state);
        let next = move_at(game, line[depth], PvgrGame::line_offset(record, depth), &legal)?;
        if !self.admit(&state, action.then_some(next)) {
            return Ok(None);
        }
        if !action {
            return Ok(Some(of_state(&state, &legal, label(Some(line[depth]), depth + 1))));
        }
        let mut after = state.clone();
        after.play_unchecked(next);
        let legal = canonical_moves(&after);
        let best = checked(game, line_move(game, record, depth + 1), &legal)?;
        Ok(of_action(&state, next, &after, &legal, label(best, depth + 2)))
    }

    /// Win probability of `turn`, the mover of position `ply`: its `score` blended with the opponent's next
    /// score and the game's result.
    fn value(&self, game: &PvgrGame, ply: usize, score: i16, turn: Color) -> f32 {
        let own = win_probability(score);
        // A mate or tablebase win is exact, whatever the opponent's score.
        if own <= 0.0 || own >= 1.0 {
            return own;
        }
        let blend = |value: f32, other: f32, share: f64| value + share as f32 * (other - value);
        let reply = game.plies.get(ply + 1).and_then(|next| usable(next, &self.kinds));
        let reply = reply.map_or(own, |score| 1.0 - win_probability(score));
        let value = blend(own, reply, self.kinds.reply_share);
        match game.header.result.outcome(turn) {
            Some(result) => blend(value, result.score(), self.kinds.result_share),
            None => value,
        }
    }

    /// A number of plies in `0..length`, each with `distance_decay` times the weight of its predecessor.
    fn draw_distance(&mut self, length: usize) -> usize {
        let decay = self.kinds.distance_decay;
        if decay >= 1.0 {
            return self.rng.below(length);
        }
        // Inverse of the distribution function (1 - decay^n) / (1 - decay^length).
        let rest = 1.0 - self.rng.unit() * (1.0 - decay.powi(length as i32));
        let distance = if decay > 0.0 { rest.ln() / decay.ln() } else { 0.0 };
        (distance as usize).min(length.saturating_sub(1))
    }
}

/// Move `k` of the line and the byte that holds it.
fn line_move(game: &PvgrGame, record: &PvgrPly, k: usize) -> Option<(u8, u64)> {
    game.line(record).get(k).map(|&index| (index, PvgrGame::line_offset(record, k)))
}

/// The index, if it is that of a legal move.
fn checked(
    game: &PvgrGame,
    index: Option<(u8, u64)>,
    legal: &MoveList,
) -> Result<Option<u8>, DataError> {
    index.map(|(index, offset)| move_at(game, index, offset, legal).map(|_| index)).transpose()
}

fn move_at(game: &PvgrGame, index: u8, offset: u64, legal: &MoveList) -> Result<Move, DataError> {
    legal
        .get(usize::from(index))
        .copied()
        .ok_or_else(|| game.header.bad_index(index, legal.len(), offset))
}
