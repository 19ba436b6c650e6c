//! What a network has imagined, kept for the descents that pass there again: the search's tree holds no
//! states, and asking again at each ply would take a call of the network.
//!
//! A bounded map from (state, action) to the next state, in shards of two generations each: what was not
//! asked for while a generation filled is forgotten. Forgetting costs calls, never an answer. Its locks
//! are held for a look-up each and never during a call of the network; `mcts` itself has none.

use crate::chess::action::Action;
use nn::rng::split_mix;
use shakmaty::Chess;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// A state that was imagined.
#[derive(Debug)]
pub struct Seen {
    /// The board.
    pub state: Chess,
    /// Its key.
    pub key: u64,
    /// The side to move is mated, the network says: no rule of fifty moves saves it.
    pub mated: bool,
    /// Fingerprint of the moves it calls legal, see [`fingerprint`].
    pub legal: u64,
}

/// A number that two sets of moves share only if they are the same set, whatever their order.
#[must_use]
pub fn fingerprint(moves: impl Iterator<Item = Action>) -> u64 {
    moves.fold(0, |sum, action| sum.wrapping_add(split_mix(u64::from(u16::from(action)))))
}

/// Bytes that one state takes, with its places in the maps: 144 of them the position.
const BYTES: usize = 320;
/// So many threads seldom meet in one shard.
const SHARDS: usize = 32;

/// What a state is known by.
#[derive(Clone, Copy, Debug)]
pub struct StateKey {
    /// Its key.
    pub key: u64,
    /// Its fifty-move counter, which the network sees too.
    pub clock: u32,
}

/// What the next state is kept under: a state, key and clock in one number, and the action.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    from: u64,
    action: u16,
}

#[derive(Default)]
struct Shard {
    young: HashMap<Place, Arc<Seen>>,
    old: HashMap<Place, Arc<Seen>>,
}

/// The states imagined so far. Shared by the threads of a search.
pub struct Memory {
    shards: Vec<RwLock<Shard>>,
    /// States of a generation.
    room: usize,
}

impl Memory {
    /// Keeps as many states as fit into `bytes`.
    #[must_use]
    pub fn new(bytes: usize) -> Memory {
        let shards = (0..SHARDS).map(|_| RwLock::default()).collect();
        Memory { shards, room: (bytes / BYTES / SHARDS / 2).max(1) }
    }

    /// The state that `action` leads to from `state`.
    #[must_use]
    pub fn get(&self, state: StateKey, action: Action) -> Option<Arc<Seen>> {
        let place = place(state, action);
        let shard = self.shard(place)?;
        {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(seen) = shard.young.get(&place) {
                return Some(seen.clone());
            }
            shard.old.get(&place)?;
        }
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        let seen = shard.old.remove(&place).or_else(|| shard.young.get(&place).cloned())?;
        self.keep(&mut shard, place, seen.clone());
        Some(seen)
    }

    /// Keeps what `action` leads to from `state`.
    pub fn put(&self, state: StateKey, action: Action, seen: Arc<Seen>) {
        let place = place(state, action);
        if let Some(shard) = self.shard(place) {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            self.keep(&mut shard, place, seen);
        }
    }

    fn keep(&self, shard: &mut Shard, place: Place, seen: Arc<Seen>) {
        if shard.young.len() >= self.room {
            shard.old = std::mem::take(&mut shard.young);
        }
        shard.young.insert(place, seen);
    }

    fn shard(&self, Place { from, action }: Place) -> Option<&RwLock<Shard>> {
        self.shards.get((split_mix(from ^ u64::from(action)) % SHARDS as u64) as usize)
    }
}

fn place(state: StateKey, action: Action) -> Place {
    Place { from: state.key ^ split_mix(u64::from(state.clock)), action: action.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(key: u64) -> Arc<Seen> {
        Arc::new(Seen { state: Chess::default(), key, mated: false, legal: 0 })
    }

    fn state(key: u64, clock: u32) -> StateKey {
        StateKey { key, clock }
    }

    #[test]
    fn clock_and_action_tell_states_apart() {
        let memory = Memory::new(1 << 20);
        let (one, two) = (Action::from(1), Action::from(2));
        memory.put(state(7, 0), one, seen(1));
        memory.put(state(7, 3), one, seen(2));
        let key = |from, action| memory.get(from, action).map(|seen| seen.key);
        assert_eq!((key(state(7, 0), one), key(state(7, 3), one)), (Some(1), Some(2)));
        assert_eq!((key(state(7, 0), two), key(state(8, 0), one)), (None, None));
    }

    #[test]
    fn memory_is_bounded_and_keeps_what_is_asked_for() {
        let memory = Memory::new(BYTES * SHARDS * 2 * 10);
        let favourite = Action::from(1);
        memory.put(state(0, 0), favourite, seen(42));
        for key in 1..20_000 {
            memory.put(state(key, 0), favourite, seen(key));
            assert_eq!(memory.get(state(0, 0), favourite).map(|seen| seen.key), Some(42), "{key}");
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
    fn fingerprints_know_no_order() {
        let of = |moves: &[u16]| fingerprint(moves.iter().map(|code| Action::from(*code)));
        assert_eq!(of(&[1, 2, 3]), of(&[3, 1, 2]));
        assert_ne!(of(&[1, 2, 3]), of(&[1, 2]));
        assert_ne!(of(&[1, 2, 3]), of(&[1, 2, 4]));
    }
}
