//! Draws examples from a game: which of its positions, with or without an action. Replays no further
//! than the last position drawn.

use super::build::{Label, Values, of_action, of_state};
use super::error::DataError;
use super::example::{Example, Source};
use super::filter::{KeySet, Recent, position_key, query_key};
use super::label::{along_line, result_for, win_probability};
use super::record::{Game, MavgGame, MavgPosition, PvgrGame, PvgrPly};
use super::rng::{Rng, scramble};
use crate::encode::{MoveCode, canonical_moves};
use shakmaty::{Chess, Color, Move, MoveList, Position};

/// Shares of the kinds of examples; each is a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kinds {
    /// Share of `MAV(s, a)` among all examples.
    pub action_share: f64,
    /// Share of the positions on principal variations among those from PVGR1.
    pub variation_share: f64,
    /// Share of the moves played among the actions from MAVG1; the others are drawn from all legal moves.
    pub played_share: f64,
    /// Share of the drawn actions for which a promotion, castling, en passant capture, mate or
    /// stalemate is preferred if there is one.
    pub special_share: f64,
    /// PVGR1 scores of a smaller known depth are not used.
    pub min_depth: u8,
}

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds {
            action_share: 0.2,
            variation_share: 0.5,
            played_share: 0.5,
            special_share: 0.5,
            min_depth: 10,
        }
    }
}

/// One pass over a file takes every `stride`-th position of each game: in `stride` passes each position
/// once, in an order that differs between games.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub seed: u64,
    pub number: u64,
    pub stride: u64,
}

impl Pass {
    pub fn takes(&self, game: u64, ply: usize) -> bool {
        let offset = scramble(self.seed ^ scramble((game << 16) ^ ply as u64));
        offset.wrapping_add(self.number).is_multiple_of(self.stride)
    }
}

/// Counts of what became of the positions drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Examples made.
    pub examples: u64,
    /// Refused because the same question was asked within the window.
    pub duplicates: u64,
    /// Refused because the position is in a test suite.
    pub excluded: u64,
}

/// Makes examples of games.
pub(super) struct Sampler<'a> {
    pub kinds: Kinds,
    pub excluded: &'a KeySet,
    pub recent: &'a mut Recent,
    pub rng: &'a mut Rng,
    pub counts: &'a mut Counts,
}

/// True if the score of a ply is to be learnt from.
pub(super) fn usable(ply: &PvgrPly, kinds: &Kinds) -> Option<i16> {
    ply.score
        .filter(|_| ply.depth == 0 || ply.depth >= kinds.min_depth)
}

/// Plies of `game` that a pass may take: those with a label.
pub(super) fn candidates(game: &Game, kinds: &Kinds) -> Vec<usize> {
    match game {
        Game::Mavg(game) => (0..game.positions.len()).collect(),
        Game::Pvgr(game) => (0..game.plies.len())
            .filter(|&ply| usable(&game.plies[ply], kinds).is_some())
            .collect(),
    }
}

impl Sampler<'_> {
    /// Appends one example for each of `plies` (ascending) to `out`.
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
                let (played, offset) = match game {
                    Game::Mavg(game) => (game.positions[at].played, game.positions[at].offset + 2),
                    Game::Pvgr(game) => (game.plies[at].played, game.plies[at].offset),
                };
                game.header().play(&mut position, played, offset)?;
                at += 1;
            }
            let action = self.rng.chance(self.kinds.action_share);
            let example = match game {
                Game::Mavg(game) if action => self.mavg_action(game, ply, &position)?,
                Game::Mavg(game) => self.mavg_state(game, ply, &position)?,
                Game::Pvgr(game) if self.rng.chance(self.kinds.variation_share) => {
                    self.variation(game, ply, position.clone(), action)?
                }
                Game::Pvgr(game) => self.game_move(game, ply, &position, action)?,
            };
            self.counts.examples += u64::from(example.is_some());
            out.extend(example);
        }
        Ok(())
    }

    /// False if the question was asked before or is not to be asked.
    fn admit(&mut self, state: &Chess, action: Option<Move>) -> bool {
        let key = position_key(state);
        if self.excluded.contains(&key) {
            self.counts.excluded += 1;
            return false;
        }
        let code = action.and_then(|action| MoveCode::new(action, false));
        let fresh = self.recent.admit(query_key(key, code));
        self.counts.duplicates += u64::from(!fresh);
        fresh
    }

    /// As [`Sampler::admit`], for the state that an action leads to.
    fn admit_answer(&mut self, after: &Chess) -> bool {
        let excluded = !self.excluded.is_empty() && self.excluded.contains(&position_key(after));
        self.counts.excluded += u64::from(excluded);
        !excluded
    }

    fn mavg_state(
        &mut self,
        game: &MavgGame,
        ply: usize,
        state: &Chess,
    ) -> Result<Option<Example>, DataError> {
        let record = &game.positions[ply];
        let legal = mavg_moves(game, record, state)?;
        Ok(self
            .admit(state, None)
            .then(|| of_state(state, &legal, mavg_label(game, record, state.turn()))))
    }

    fn mavg_action(
        &mut self,
        game: &MavgGame,
        ply: usize,
        state: &Chess,
    ) -> Result<Option<Example>, DataError> {
        let record = &game.positions[ply];
        let legal = mavg_moves(game, record, state)?;
        let played = self.rng.chance(self.kinds.played_share);
        let chosen = if played {
            usize::from(record.played)
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
        if !self.admit_answer(&after) {
            return Ok(None);
        }
        let followed = chosen == usize::from(record.played);
        let next = game.positions.get(ply + 1).filter(|_| followed);
        let (label, legal) = match next {
            Some(next) => (
                mavg_label(game, next, after.turn()),
                mavg_moves(game, next, &after)?,
            ),
            None => {
                let result = if followed {
                    result_for(after.turn(), game.header.result)
                } else {
                    None
                };
                let value = 1.0 - f32::from(q) / 127.0;
                let label = Label {
                    source: Source::ActionValues,
                    best: None,
                    values: Values::None,
                    value,
                    result,
                };
                (label, canonical_moves(&after))
            }
        };
        Ok(of_action(state, action, &after, &legal, label))
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

    fn game_move(
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
        let label = |turn: Color, best: Option<u8>, value: f32| Label {
            source: Source::GameMove,
            best,
            values: Values::Best,
            value,
            result: result_for(turn, game.header.result),
        };
        if !action {
            if !self.admit(state, None) {
                return Ok(None);
            }
            let legal = canonical_moves(state);
            pvgr_index(game, record.played, record.offset, &legal)?;
            return Ok(Some(of_state(
                state,
                &legal,
                label(state.turn(), Some(record.played), win_probability(score)),
            )));
        }
        let legal = canonical_moves(state);
        let move_played = pvgr_index(game, record.played, record.offset, &legal)?;
        if !self.admit(state, Some(move_played)) {
            return Ok(None);
        }
        let mut after = state.clone();
        after.play_unchecked(move_played);
        if !self.admit_answer(&after) {
            return Ok(None);
        }
        let legal = canonical_moves(&after);
        let next = game
            .plies
            .get(ply + 1)
            .and_then(|next| Some((next, usable(next, &self.kinds)?)));
        let label = match next {
            Some((next, score)) => {
                pvgr_index(game, next.played, next.offset, &legal)?;
                label(after.turn(), Some(next.played), win_probability(score))
            }
            None => label(
                after.turn(),
                game.line(record).first().copied(),
                along_line(score, 1),
            ),
        };
        Ok(of_action(state, move_played, &after, &legal, label))
    }

    fn variation(
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
        let depth = self.rng.below(line.len());
        let line_start = record.offset + 5;
        game.header.play(&mut state, record.played, record.offset)?;
        for (k, &index) in line[..depth].iter().enumerate() {
            game.header.play(&mut state, index, line_start + k as u64)?;
        }
        let label = |best: Option<u8>, plies: usize| Label {
            source: Source::Variation,
            best,
            values: Values::Best,
            value: along_line(score, plies),
            result: None,
        };
        let legal = canonical_moves(&state);
        let best = pvgr_index(game, line[depth], line_start + depth as u64, &legal)?;
        if !self.admit(&state, action.then_some(best)) {
            return Ok(None);
        }
        if !action {
            return Ok(Some(of_state(
                &state,
                &legal,
                label(Some(line[depth]), depth + 1),
            )));
        }
        let mut after = state.clone();
        after.play_unchecked(best);
        if !self.admit_answer(&after) {
            return Ok(None);
        }
        let legal = canonical_moves(&after);
        Ok(of_action(
            &state,
            best,
            &after,
            &legal,
            label(line.get(depth + 1).copied(), depth + 2),
        ))
    }
}

/// The legal moves in canonical order; an error if the record counts others.
fn mavg_moves(
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

fn mavg_label<'a>(game: &'a MavgGame, record: &MavgPosition, turn: Color) -> Label<'a> {
    Label {
        source: Source::ActionValues,
        best: Some(record.best),
        values: Values::All(game.values(record)),
        value: win_probability(record.score),
        result: result_for(turn, game.header.result),
    }
}

fn pvgr_index(
    game: &PvgrGame,
    index: u8,
    offset: u64,
    legal: &MoveList,
) -> Result<Move, DataError> {
    legal.get(usize::from(index)).copied().ok_or_else(|| {
        let found = format!("{index} of {} legal moves", legal.len());
        game.header
            .fault(offset, "the index of a legal move", found)
    })
}

/// A promotion, castling, en passant capture, mate or stalemate.
fn is_special(state: &Chess, m: Move) -> bool {
    if m.is_promotion() || m.is_castle() || m.is_en_passant() {
        return true;
    }
    let mut after = state.clone();
    after.play_unchecked(m);
    after.legal_moves().is_empty()
}
