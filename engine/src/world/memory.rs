//! Cache of predicted states: tree nodes hold no states, and predicting them again at each ply would need calls of the
//! network.
//!
//! A bounded map from (state, action) to the next state, in shards of two generations: an entry unused while a
//! generation fills is evicted. Eviction costs calls, never correctness. Locks are held for one look-up each, never
//! during a call of the network; `mcts` itself has none.

use chess::action::Action;
use nn::rng::split_mix;
use shakmaty::Chess;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// A predicted state.
#[derive(Debug)]
pub struct Prediction {
    /// The board.
    pub state: Chess,
    /// Its key.
    pub key: u64,
    /// Mate predicted: it takes precedence over the fifty-move rule.
    pub mated: bool,
    /// [`fingerprint`] of the predicted legal moves.
    pub legal: u64,
}

/// Order-independent hash of a set of moves.
#[must_use]
pub fn fingerprint(moves: impl Iterator<Item = Action>) -> u64 {
    moves.fold(0, |sum, action| sum.wrapping_add(split_mix(u64::from(u16::from(action)))))
}

/// Memory of one state with its map entries: 144 bytes are the position.
const BYTES_PER_STATE: usize = 320;
/// Enough that threads rarely contend for a shard.
const SHARDS: usize = 32;

/// Identity of a state.
#[derive(Clone, Copy, Debug)]
pub struct StateKey {
    /// Zobrist key.
    pub key: u64,
    /// Fifty-move counter: an input of the network.
    pub clock: u32,
}

/// Map key: state (key and counter mixed) and action.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct CacheKey {
    from: u64,
    action: u16,
}

#[derive(Default)]
struct CacheShard {
    young: HashMap<CacheKey, Arc<Prediction>>,
    old: HashMap<CacheKey, Arc<Prediction>>,
}

/// The cache. Shared by the threads of a search.
pub struct PredictionCache {
    shards: Vec<RwLock<CacheShard>>,
    /// Maximum number of states of a generation.
    capacity: usize,
}

impl PredictionCache {
    /// Sized to fit into `bytes`.
    #[must_use]
    pub fn new(bytes: usize) -> PredictionCache {
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        PredictionCache { shards, capacity: (bytes / BYTES_PER_STATE / SHARDS / 2).max(1) }
    }

    /// The state after `action` in `state`.
    #[must_use]
    pub fn get(&self, state: StateKey, action: Action) -> Option<Arc<Prediction>> {
        let cache_key = cache_key(state, action);
        let shard = self.shard(cache_key)?;
        {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(prediction) = shard.young.get(&cache_key) {
                return Some(prediction.clone());
            }
            shard.old.get(&cache_key)?;
        }
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        let prediction =
            shard.old.remove(&cache_key).or_else(|| shard.young.get(&cache_key).cloned())?;
        self.keep(&mut shard, cache_key, prediction.clone());
        Some(prediction)
    }

    /// Stores the state after `action` in `state`.
    pub fn put(&self, state: StateKey, action: Action, prediction: Arc<Prediction>) {
        let cache_key = cache_key(state, action);
        if let Some(shard) = self.shard(cache_key) {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            self.keep(&mut shard, cache_key, prediction);
        }
    }

    fn keep(&self, shard: &mut CacheShard, cache_key: CacheKey, prediction: Arc<Prediction>) {
        if shard.young.len() >= self.capacity {
            shard.old = std::mem::take(&mut shard.young);
        }
        shard.young.insert(cache_key, prediction);
    }

    fn shard(&self, CacheKey { from, action }: CacheKey) -> Option<&RwLock<CacheShard>> {
        self.shards.get((split_mix(from ^ u64::from(action)) % SHARDS as u64) as usize)
    }
}

fn cache_key(state: StateKey, action: Action) -> CacheKey {
    CacheKey { from: state.key ^ split_mix(u64::from(state.clock)), action: action.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(key: u64) -> Arc<Prediction> {
        Arc::new(Prediction { state: Chess::default(), key, mated: false, legal: 0 })
    }

    fn state(key: u64, clock: u32) -> StateKey {
        StateKey { key, clock }
    }

    #[test]
    fn clock_and_action_distinguish_states() {
        let memory = PredictionCache::new(1 << 20);
        let (one, two) = (Action::from(1), Action::from(2));
        memory.put(state(7, 0), one, prediction(1));
        memory.put(state(7, 3), one, prediction(2));
        let key = |from, action| memory.get(from, action).map(|prediction| prediction.key);
        assert_eq!((key(state(7, 0), one), key(state(7, 3), one)), (Some(1), Some(2)));
        assert_eq!((key(state(7, 0), two), key(state(8, 0), one)), (None, None));
    }

    #[test]
    fn memory_is_bounded_and_keeps_what_is_asked_for() {
        let memory = PredictionCache::new(BYTES_PER_STATE * SHARDS * 2 * 10);
        let favourite = Action::from(1);
        memory.put(state(0, 0), favourite, prediction(42));
        for key in 1..20_000 {
            memory.put(state(key, 0), favourite, prediction(key));
            assert_eq!(
                memory.get(state(0, 0), favourite).map(|prediction| prediction.key),
                Some(42),
                "{key}"
            );
        }
        let held: usize = memory
            .shards
            .iter()
            .map(|shard| shard.read().map_or(0, |shard| shard.young.len() + shard.old.len()))
            .sum();
        assert!(held <= SHARDS * 2 * 10, "{held}");
        assert!(memory.get(state(1, 0), favourite).is_none(), "nobody asked for it");
    }

    #[test]
    fn fingerprints_are_order_independent() {
        let of = |moves: &[u16]| fingerprint(moves.iter().map(|code| Action::from(*code)));
        assert_eq!(of(&[1, 2, 3]), of(&[3, 1, 2]));
        assert_ne!(of(&[1, 2, 3]), of(&[1, 2]));
        assert_ne!(of(&[1, 2, 3]), of(&[1, 2, 4]));
    }
}
