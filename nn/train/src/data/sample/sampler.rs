//! The sampler: its settings, exclusions, and pass.

use crate::data::filter::{KeySet, Recent, position_key, query_key};
use crate::data::kinds::Kinds;
use nn::encode::MoveCode;
use nn::rng::{Rng, scramble};
use shakmaty::{Chess, Move, Position};

/// One pass over a file takes every `stride`-th position of each game: in `stride` passes each position once,
/// in an order that differs between games.
#[derive(Clone, Copy, Debug)]
pub(in crate::data) struct Pass {
    pub seed: u64,
    pub number: u64,
    pub stride: u64,
}

impl Pass {
    pub fn takes(&self, game: u64, ply: usize) -> bool {
        let turn = scramble(self.seed ^ scramble((game << 16) ^ ply as u64)) % self.stride;
        turn == self.number % self.stride
    }

    /// True with probability `kept`, redrawn in each pass.
    pub fn keeps(&self, game: u64, ply: usize, kept: f64) -> bool {
        let place = scramble((game << 16) ^ ply as u64);
        kept >= 1.0 || Rng::new(place ^ self.seed ^ scramble(self.number)).chance(kept)
    }
}

/// Counts of the fate of positions drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplerCounts {
    /// Examples made.
    pub examples: u64,
    /// Refused: the same query occurred within the window.
    pub duplicates: u64,
    /// Refused: the position is in a test suite.
    pub excluded: u64,
    /// From Chess960 games.
    pub chess960: u64,
    /// Replaced by their mirror images.
    pub mirrored: u64,
}

/// Makes examples of games.
pub(in crate::data) struct Sampler<'a> {
    pub kinds: Kinds,
    pub excluded: &'a KeySet,
    pub recent: &'a mut Recent,
    pub rng: &'a mut Rng,
    pub counts: &'a mut SamplerCounts,
}

impl Sampler<'_> {
    /// False for a duplicate, or if `state` or the action's result is excluded from training.
    pub(super) fn admit(&mut self, state: &Chess, action: Option<Move>) -> bool {
        let key = position_key(state);
        if self.is_excluded(state, key, action) {
            self.counts.excluded += 1;
            return false;
        }
        let code = action.and_then(|action| MoveCode::new(action, false));
        let fresh = self.recent.admit(query_key(key, code));
        self.counts.duplicates += u64::from(!fresh);
        fresh
    }

    fn is_excluded(&self, state: &Chess, key: u64, action: Option<Move>) -> bool {
        let leads_there = |action| {
            let mut after = state.clone();
            after.play_unchecked(action);
            self.excluded.contains(&position_key(&after))
        };
        !self.excluded.is_empty()
            && (self.excluded.contains(&key) || action.is_some_and(leads_there))
    }
}
