//! An evaluation cache: a position that recurs, by transposition or in the next search, costs no evaluation.
//! Wraps any evaluator; independent of search.
//!
//! The key is the network's input: board, rights, clock and moves as encoded, so that two positions share an
//! entry exactly if the network cannot distinguish them; Black to move is White to move with colours swapped.
//! No thread waits: if a shard is locked by another thread, the network is evaluated instead.

use super::Evaluator;
use super::error::EvalError;
use super::query::{Evaluation, Query};
use super::transition::Transition;
use crate::encode::{Encoded, Features, MoveCode};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Independently locked shards: with sixteen per thread, two threads seldom meet.
const SHARDS: usize = 256;
/// Associativity: places per key.
const WAYS: usize = 4;
/// Bytes of an entry with 35 moves, including its place: sizes the table.
const TYPICAL: usize = size_of::<Option<Entry>>() + heap(35);
/// Floats of an entry that are not per move: WDL, value, its mode.
const FIXED: usize = 5;

/// Caches the answers of `inner` in a fixed amount of memory.
pub struct Cached {
    inner: Arc<dyn Evaluator>,
    shards: Vec<PaddedShard>,
    asked: AtomicU64,
    found: AtomicU64,
}

/// Padded to its own cache lines against false sharing.
#[repr(align(128))]
struct PaddedShard(Mutex<Shard>);

/// A set-associative table. A new entry replaces the one in its place: positions of the current search are more
/// useful than older ones.
struct Shard {
    places: Vec<Option<Entry>>,
    /// Heap bytes of the entries, beyond the table.
    bytes: usize,
    budget: usize,
    /// Clock hand: the next place to evict from.
    hand: usize,
}

struct Entry {
    key: u128,
    /// WDL, value, its mode; then action values, their modes and policy.
    numbers: Box<[f32]>,
}

/// Heap bytes of an entry, with the allocator's overhead.
const fn heap(moves: usize) -> usize {
    (FIXED + 3 * moves) * size_of::<f32>() + 16
}

impl Cached {
    /// Limits the cache to `bytes`, tables included.
    #[must_use]
    pub fn new(inner: Arc<dyn Evaluator>, bytes: usize) -> Cached {
        let places = bytes / SHARDS / TYPICAL / WAYS * WAYS;
        let budget = (bytes / SHARDS).saturating_sub(places * size_of::<Option<Entry>>());
        let shard = || {
            let places = std::iter::repeat_with(|| None).take(places).collect();
            PaddedShard(Mutex::new(Shard { places, bytes: 0, budget, hand: 0 }))
        };
        let shards = std::iter::repeat_with(shard).take(SHARDS).collect();
        Cached { inner, shards, asked: AtomicU64::new(0), found: AtomicU64::new(0) }
    }

    /// Clears the cache, so that a search repeats exactly.
    pub fn clear(&self) {
        for shard in &self.shards {
            // A poisoned lock still guards whole entries.
            let mut shard = shard.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            shard.places.fill_with(|| None);
            shard.bytes = 0;
        }
        self.asked.store(0, Relaxed);
        self.found.store(0, Relaxed);
    }

    /// Lookups since the last [`Cached::clear`], and hits.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.asked.load(Relaxed), self.found.load(Relaxed))
    }

    /// Runs `work` on the shard of `key`, with its first place; None if another thread holds the lock, or there
    /// is no table.
    fn with<T>(&self, key: u128, work: impl FnOnce(&mut Shard, usize) -> T) -> Option<T> {
        let mut shard = self.shards.get(key as usize % SHARDS)?.0.try_lock().ok()?;
        let sets = shard.places.len() / WAYS;
        let first = ((key >> 64) as usize).checked_rem(sets)? * WAYS;
        Some(work(&mut shard, first))
    }

    fn find(&self, key: u128, moves: usize) -> Option<Evaluation> {
        self.with(key, |shard, first| {
            let entry = shard.places[first..][..WAYS].iter().flatten().find(|e| e.key == key)?;
            unpack(&entry.numbers, moves)
        })?
    }

    fn keep(&self, key: u128, answer: &Evaluation) {
        let numbers = pack(answer);
        self.with(key, |shard, first| {
            let set = &shard.places[first..][..WAYS];
            let same = set.iter().position(|place| place.as_ref().is_some_and(|e| e.key == key));
            let free = || set.iter().position(Option::is_none);
            let place = first + same.or_else(free).unwrap_or(shard.hand % WAYS);
            shard.forget(place);
            shard.bytes += heap(numbers.len().saturating_sub(FIXED) / 3);
            shard.places[place] = Some(Entry { key, numbers });
            shard.hand += 1;
            while shard.bytes > shard.budget {
                let hand = shard.hand % shard.places.len();
                shard.hand += 1;
                shard.forget(hand);
            }
        });
    }
}

impl Shard {
    fn forget(&mut self, place: usize) {
        if let Some(entry) = self.places[place].take() {
            self.bytes -= heap((entry.numbers.len() - FIXED) / 3);
        }
    }
}

impl Evaluator for Cached {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.evaluate_encoded(batch, batch.iter().map(Query::encode).collect())
    }

    fn evaluate_encoded(
        &self,
        batch: &[Query<'_>],
        inputs: Vec<Encoded>,
    ) -> Result<Vec<Evaluation>, EvalError> {
        let keys: Vec<u128> = inputs.iter().map(key).collect();
        let mut answers: Vec<Option<Evaluation>> =
            keys.iter().zip(batch).map(|(&key, query)| self.find(key, query.legal.len())).collect();
        let open: Vec<usize> = (0..batch.len()).filter(|&i| answers[i].is_none()).collect();
        // Relaxed: statistics only.
        self.asked.fetch_add(batch.len() as u64, Relaxed);
        self.found.fetch_add((batch.len() - open.len()) as u64, Relaxed);
        if !open.is_empty() {
            let queries: Vec<Query<'_>> = open.iter().map(|&i| batch[i]).collect();
            let missed = inputs.into_iter().zip(&answers).filter(|(_, answer)| answer.is_none());
            let missed = missed.map(|(input, _)| input).collect();
            for (&i, answer) in open.iter().zip(self.inner.evaluate_encoded(&queries, missed)?) {
                self.keep(keys[i], &answer);
                answers[i] = Some(answer);
            }
        }
        // An answer that the inner evaluator left out is left out here too; the caller counts.
        Ok(answers.into_iter().flatten().collect())
    }

    fn preferred_batch(&self) -> usize {
        self.inner.preferred_batch()
    }

    fn batches(&self) -> &[usize] {
        self.inner.batches()
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    /// Not cached: imagined states seldom recur.
    fn transition(&self) -> Option<&dyn Transition> {
        self.inner.transition()
    }
}

/// 128-bit hash of the network's input, including the order of the moves, which is that of the answer.
fn key(input: &Encoded) -> u128 {
    let mut hash = Hash::new(input.moves.len());
    features_into(&mut hash, &input.features);
    moves_into(&mut hash, &input.moves);
    hash.finish()
}

fn features_into(hash: &mut Hash, features: &Features) {
    for bytes in features.pieces.as_chunks::<8>().0 {
        hash.add(u64::from_le_bytes(*bytes));
    }
    for [a, b, c, d] in features.flags.as_chunks::<4>().0 {
        hash.add([a, b, c, d].into_iter().fold(0, |word, bits| word << 16 | u64::from(*bits)));
    }
    hash.add(u64::from(features.halfmoves) << 1 | u64::from(features.has_action));
}

fn moves_into(hash: &mut Hash, moves: &[MoveCode]) {
    for four in moves.chunks(4) {
        hash.add(four.iter().fold(0, |word, m| word << 16 | m.index() as u64));
    }
}

/// Two 64-bit hashes side by side. Each step is invertible, so no input bit is lost; the multipliers are odd,
/// with good spectra (Steele and Vigna, "Computationally easy, spectrally good multipliers", 2021).
struct Hash(u64, u64);

impl Hash {
    fn new(len: usize) -> Hash {
        Hash(len as u64, !(len as u64))
    }

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0xD134_2543_DE82_EF95).rotate_left(29);
        self.1 = (self.1 ^ word).wrapping_mul(0xF135_7AEA_2E62_A9C5).rotate_left(31);
    }

    fn finish(mut self) -> u128 {
        self.add(0);
        self.add(0);
        u128::from(self.0) << 64 | u128::from(self.1 ^ self.1 >> 32)
    }
}

fn pack(answer: &Evaluation) -> Box<[f32]> {
    let fixed = [answer.wdl[0], answer.wdl[1], answer.wdl[2], answer.value, answer.value_mode];
    let each = [&answer.action_values, &answer.action_modes, &answer.policy];
    fixed.into_iter().chain(each.into_iter().flatten().copied()).collect()
}

/// None if the length is not that of an answer with `moves` moves.
fn unpack(numbers: &[f32], moves: usize) -> Option<Evaluation> {
    let ([win, draw, loss, value, value_mode], rest) = numbers.split_first_chunk()?;
    if rest.len() != 3 * moves {
        return None;
    }
    let (action_values, rest) = rest.split_at(moves);
    let (action_modes, policy) = rest.split_at(moves);
    Some(Evaluation {
        wdl: [*win, *draw, *loss],
        value: *value,
        value_mode: *value_mode,
        action_values: action_values.to_vec(),
        action_modes: action_modes.to_vec(),
        policy: policy.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::canonical_moves;
    use crate::evaluator::fake::{Breakdown, Failing, Hashed};
    use shakmaty::fen::Fen;
    use shakmaty::{CastlingMode, Chess, Move, Position};

    /// Different positions of a made-up game, with their legal moves.
    fn positions(count: usize) -> Vec<(Chess, Vec<Move>)> {
        let mut position = Chess::default();
        let mut all = Vec::new();
        for i in 0.. {
            let legal = canonical_moves(&position).to_vec();
            if all.len() == count || legal.is_empty() {
                break;
            }
            let m = legal[(i * 7 + 3) % legal.len()];
            all.push((position.clone(), legal));
            position.play_unchecked(m);
        }
        all
    }

    fn queries(positions: &[(Chess, Vec<Move>)]) -> Vec<Query<'_>> {
        positions.iter().map(|(position, legal)| Query { position, legal }).collect()
    }

    #[test]
    fn a_repeated_query_is_answered_from_the_cache() {
        // Fails from the second call on: later answers come from the cache.
        let failing = Arc::new(Failing::after(1, Breakdown::Error));
        let cached = Cached::new(failing, 4 << 20);
        let positions = positions(30);
        let queries = queries(&positions);
        let first = cached.evaluate(&queries).unwrap();
        assert_eq!(first, Hashed::default().evaluate(&queries).unwrap());
        let backwards: Vec<Query<'_>> = queries.iter().rev().copied().collect();
        let again = cached.evaluate(&backwards).unwrap();
        assert!(again.iter().rev().eq(&first));
        assert_eq!(cached.counts(), (60, 30));
        cached.clear();
        assert!(cached.evaluate(&queries[..1]).is_err());
    }

    #[test]
    fn a_miss_hands_on_what_was_encoded_for_its_key() {
        /// Answers only queries that come with their encoding.
        struct NeverEncodes;
        impl Evaluator for NeverEncodes {
            fn evaluate(&self, _: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
                Err(EvalError::Device("the queries came without their encoding".to_owned()))
            }
            fn evaluate_encoded(
                &self,
                batch: &[Query<'_>],
                inputs: Vec<Encoded>,
            ) -> Result<Vec<Evaluation>, EvalError> {
                assert!(batch.iter().map(Query::encode).eq(inputs));
                Hashed::default().evaluate(batch)
            }
        }
        let cached = Cached::new(Arc::new(NeverEncodes), 4 << 20);
        let positions = positions(20);
        let queries = queries(&positions);
        cached.evaluate(&queries[..5]).unwrap();
        assert_eq!(cached.evaluate(&queries), Hashed::default().evaluate(&queries));
        assert_eq!(cached.counts(), (25, 5));
    }

    #[test]
    fn a_mixed_batch_keeps_its_order() {
        let cached = Cached::new(Arc::new(Hashed::default()), 4 << 20);
        let positions = positions(20);
        let queries = queries(&positions);
        let odd: Vec<Query<'_>> = queries.iter().skip(1).step_by(2).copied().collect();
        cached.evaluate(&odd).unwrap();
        assert_eq!(cached.evaluate(&queries), Hashed::default().evaluate(&queries));
        assert_eq!(cached.counts(), (30, 10));
    }

    #[test]
    fn only_equal_network_inputs_share_a_key() {
        let of = |fen: &str| {
            let position: Chess =
                fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
            let legal = canonical_moves(&position);
            key(&Query { position: &position, legal: &legal }.encode())
        };
        let start = of("r3k2r/8/8/8/8/8/4P3/R3K2R w KQkq - 4 9");
        assert_eq!(start, of("r3k2r/8/8/8/8/8/4P3/R3K2R w KQkq - 4 70"), "the move's number");
        for other in [
            "r3k2r/8/8/8/8/8/4P3/R3K2R w KQkq - 5 9",
            "r3k2r/8/8/8/8/8/4P3/R3K2R w KQk - 4 9",
            "r3k2r/8/8/8/8/8/4P3/R3K2R b KQkq - 4 9",
            "r3k2r/8/8/8/8/8/3P4/R3K2R w KQkq - 4 9",
        ] {
            assert_ne!(start, of(other), "{other}");
        }
        let position = Chess::default();
        let legal = canonical_moves(&position);
        let turned: Vec<Move> = legal.iter().rev().copied().collect();
        let keys = [&legal[..], &turned, &legal[1..]]
            .map(|legal| key(&Query { position: &position, legal }.encode()));
        assert!(keys[0] != keys[1] && keys[0] != keys[2], "the moves and their order");
    }

    #[test]
    fn the_memory_stays_within_its_budget_and_may_be_none() {
        let positions = positions(300);
        assert!(positions.len() > 100);
        let queries = queries(&positions);
        for bytes in [0, 1000, SHARDS * TYPICAL, 1 << 20] {
            let cached = Cached::new(Arc::new(Hashed::default()), bytes);
            for _ in 0..2 {
                assert_eq!(cached.evaluate(&queries), Hashed::default().evaluate(&queries));
            }
            let taken: usize = cached
                .shards
                .iter()
                .map(|shard| {
                    let shard = shard.0.lock().unwrap();
                    let entries = shard.places.iter().flatten();
                    let heap: usize = entries.map(|e| heap((e.numbers.len() - FIXED) / 3)).sum();
                    assert_eq!(heap, shard.bytes);
                    heap + shard.places.len() * size_of::<Option<Entry>>()
                })
                .sum();
            assert!(taken <= bytes, "{taken} of {bytes}");
        }
    }

    #[test]
    fn threads_share_it() {
        let cached = Cached::new(Arc::new(Hashed::default()), 1 << 20);
        let positions = positions(200);
        let queries = queries(&positions);
        let want = Hashed::default().evaluate(&queries).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for (query, want) in queries.iter().zip(&want).cycle().take(2000) {
                        assert_eq!(&cached.evaluate(&[*query]).unwrap()[0], want);
                    }
                });
            }
        });
        assert!(cached.counts().1 > 0);
    }
}
