//! What alpha-beta searches remember: the transposition table, and principal variations.

use crate::chess::action::Action;
use nn::cpu::{large_pages, prefetch};
use shakmaty::Move;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Beyond every evaluation; a mate in so many plies is that much less.
pub const MATE: i32 = 30_000;
/// Scores from here on are mates.
pub const MATES: i32 = 29_000;
/// Beyond every score.
pub const INFINITE: i32 = 31_000;

/// What a score says of the true one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// It is that.
    #[default]
    Exact,
    /// It is no less.
    Lower,
    /// It is no more.
    Upper,
    /// Nothing: there is no score.
    Unknown,
}

impl Bound {
    /// Of the best score that was found inside a window.
    #[must_use]
    pub fn of(best: i32, alpha: i32, beta: i32) -> Bound {
        match best {
            _ if best >= beta => Bound::Lower,
            _ if best <= alpha => Bound::Upper,
            _ => Bound::Exact,
        }
    }
}

/// What is known of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The best move, if any stood out.
    pub action: Option<Action>,
    /// Mates are counted from the search's root.
    pub score: i32,
    /// Plies searched.
    pub depth: i32,
    /// What the score says.
    pub bound: Bound,
    /// What the evaluation says of the position as it stands, if it was asked.
    pub still: Option<i32>,
    /// It is or was on a best line.
    pub pv: bool,
}

impl Known {
    /// Whether the score is all that a search between `alpha` and `beta` needs to know.
    #[must_use]
    pub fn decides(&self, alpha: i32, beta: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score >= beta,
            Bound::Upper => self.score <= alpha,
            Bound::Unknown => false,
        }
    }

    /// Whether the score is nearer to the true one than `still` is.
    #[must_use]
    pub fn corrects(&self, still: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score > still,
            Bound::Upper => self.score < still,
            Bound::Unknown => false,
        }
    }
}

/// The transposition table: what was last known of positions. Threads may share it: a slot that two of them wrote at the same
/// time is taken for empty (Hyatt & Mann 2002, "A lock-less transposition table implementation for parallel search
/// chess engines").
pub struct Table {
    clusters: Vec<Cluster>,
    /// Which search writes, of [`GENERATIONS`].
    generation: AtomicU64,
}

/// Slots that a position may be in: a cache line.
const CLUSTER: usize = 4;

#[derive(Default)]
#[repr(align(64))]
struct Cluster([Slot; CLUSTER]);

/// Memory of one entry.
pub const ENTRY_BYTES: usize = size_of::<Slot>();

/// After so many searches they are counted from the start.
const GENERATIONS: u64 = 32;
/// A slot of an earlier search is worth so many plies less for each search since.
const AGE: i32 = 4;

/// What was searched so many plies deeper is not forgotten for what was found last.
const LASTING: i32 = 4;

/// 16 bytes: the position's key, changed by the word beside it, and what is known in a word.
#[derive(Default)]
struct Slot {
    key: AtomicU64,
    word: AtomicU64,
}

impl Slot {
    /// Relaxed: the two words are checked against each other, and publish nothing else.
    fn load(&self) -> (u64, u64) {
        let word = self.word.load(Relaxed);
        (self.key.load(Relaxed) ^ word, word)
    }

    fn store(&self, key: u64, word: u64) {
        self.key.store(key ^ word, Relaxed);
        self.word.store(word, Relaxed);
    }
}

/// In place of an evaluation.
const NOT_ASKED: i16 = i16::MIN;

impl Table {
    /// Room for so many positions: a power of two, or 0.
    #[must_use]
    pub fn new(positions: usize) -> Table {
        let count = positions.div_ceil(CLUSTER);
        let mut clusters = large_pages::with_capacity(count);
        clusters.resize_with(count, Default::default);
        Table { clusters, generation: AtomicU64::new(0) }
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.clusters.fill_with(Cluster::default);
    }

    /// Another search begins: what earlier ones knew makes room for what it finds.
    pub fn begin(&self) {
        self.generation.fetch_add(1, Relaxed);
    }

    /// The position with this key will soon be asked about.
    pub fn expect(&self, key: u64) {
        if let Some(cluster) = self.cluster(key) {
            prefetch(cluster);
        }
    }

    /// What is known of the position with this key, so many plies below the root.
    #[must_use]
    pub fn get(&self, key: u64, ply: usize) -> Option<Known> {
        let (_, word) = self
            .cluster(key)?
            .iter()
            .map(Slot::load)
            .find(|(of, word)| *of == key && *word != 0)?;
        let mut known = unpack(word);
        known.score = match known.score {
            score if score >= MATES => score - ply as i32,
            score if score <= -MATES => score + ply as i32,
            score => score,
        };
        Some(known)
    }

    /// Remembers what was found there, in place of what seems worth least. A move that was known there stays if none is known
    /// now.
    pub fn put(&self, key: u64, ply: usize, known: Known) {
        let Some(cluster) = self.cluster(key) else { return };
        let generation = self.generation.load(Relaxed) % GENERATIONS;
        let worth = |word: u64| match word {
            0 => i32::MIN,
            _ => {
                let age = (generation + GENERATIONS - age_bits(word)) % GENERATIONS;
                unpack(word).depth - AGE * age as i32
            }
        };
        let slots = cluster.iter().map(|slot| (slot, slot.load()));
        // The position's own slot before any other.
        let place = slots.min_by_key(|(_, (of, word))| match *of == key && *word != 0 {
            true => (false, 0),
            false => (true, worth(*word)),
        });
        let Some((slot, (of, word))) = place else { return };
        let before = Some(unpack(word)).filter(|_| of == key && word != 0);
        let score = match known.score {
            score if score >= MATES => score + ply as i32,
            score if score <= -MATES => score - ply as i32,
            score => score,
        };
        let action = known.action.or(before.and_then(|before| before.action));
        let worth = known.depth + 2 * i32::from(known.pv) + LASTING;
        let (known, score) = match before {
            // What was searched much deeper stays.
            Some(before) if known.bound != Bound::Exact && worth <= before.depth => {
                (before, before.score)
            }
            _ => (known, score),
        };
        slot.store(key, pack(Known { action, score, ..known }) | generation << 59);
    }

    fn cluster(&self, key: u64) -> Option<&[Slot; CLUSTER]> {
        let last = self.clusters.len().checked_sub(1)?;
        self.clusters.get(key as usize & last).map(|cluster| &cluster.0)
    }
}

/// Move (16 bits, 0 = none), score (16), evaluation (16), one more than the plies searched (8, never 0), bound (2), whether on a best
/// line (1); the generation's bits are left.
fn pack(known: Known) -> u64 {
    let Known { action, score, depth, bound, still, pv } = known;
    let action: u16 = action.map_or(0, Into::into);
    let score = i16::try_from(score).unwrap_or(0);
    let still = still.and_then(|still| i16::try_from(still).ok()).unwrap_or(NOT_ASKED);
    let depth = (depth + 1).clamp(1, i32::from(u8::MAX)) as u64;
    u64::from(action)
        | u64::from(score.cast_unsigned()) << 16
        | u64::from(still.cast_unsigned()) << 32
        | depth << 48
        | (bound as u64) << 56
        | u64::from(pv) << 58
}

fn unpack(word: u64) -> Known {
    let action = Some(word as u16).filter(|action| *action != 0).map(Action::from);
    let still = ((word >> 32) as u16).cast_signed();
    let bound = match word >> 56 & 3 {
        1 => Bound::Lower,
        2 => Bound::Upper,
        3 => Bound::Unknown,
        _ => Bound::Exact,
    };
    Known {
        action,
        score: i32::from(((word >> 16) as u16).cast_signed()),
        depth: (word >> 48 & 0xFF) as i32 - 1,
        bound,
        still: Some(i32::from(still)).filter(|_| still != NOT_ASKED),
        pv: word >> 58 & 1 == 1,
    }
}

fn age_bits(word: u64) -> u64 {
    word >> 59
}

/// The best line from each ply of the line being looked at.
pub struct Lines(Vec<Vec<Action>>);

impl Lines {
    /// Room for lines of so many plies.
    #[must_use]
    pub fn new(plies: usize) -> Lines {
        Lines(vec![Vec::new(); plies + 2])
    }

    /// No best move is known at `ply`.
    pub fn clear(&mut self, ply: usize) {
        self.0[ply].clear();
    }

    /// The best line at `ply` is this move and the best line after it.
    pub fn keep(&mut self, ply: usize, m: Move) {
        let tail = std::mem::take(&mut self.0[ply + 1]);
        let line = &mut self.0[ply];
        line.clear();
        line.push(Action::new(m));
        line.extend_from_slice(&tail);
        self.0[ply + 1] = tail;
    }

    /// The best line from the root.
    #[must_use]
    pub fn best(&self) -> &[Action] {
        &self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(depth: i32, score: i32) -> Known {
        Known { action: None, score, depth, bound: Bound::Lower, still: Some(-7), pv: false }
    }

    #[test]
    fn what_is_put_comes_back_and_mates_count_from_the_root() {
        let table = Table::new(1 << 10);
        let action = Some(Action::from(0x3_0C7));
        for (key, ply, it) in [
            (1 << 40 | 5, 3, Known { action, ..known(9, -250) }),
            (2 << 40 | 5, 4, Known { bound: Bound::Upper, still: None, ..known(0, MATE - 12) }),
            (3 << 40 | 5, 0, Known { bound: Bound::Exact, pv: true, ..known(60, 6 - MATE) }),
            (4 << 40 | 5, 0, Known { bound: Bound::Unknown, ..known(0, 0) }),
        ] {
            table.put(key, ply, it);
            assert_eq!(table.get(key, ply), Some(it));
            assert_eq!(table.get(key ^ 1 << 50, ply), None);
        }
        assert_eq!(
            table.get(2 << 40 | 5, 6).unwrap().score,
            MATE - 14,
            "two plies further from it"
        );
        // The move stays.
        table.put(1 << 40 | 5, 3, known(6, 10));
        let now = Some(Known { action, ..known(6, 10) });
        assert_eq!(table.get(1 << 40 | 5, 3), now);
        table.put(1 << 40 | 5, 3, known(2, 20));
        assert_eq!(table.get(1 << 40 | 5, 3), now, "searched much deeper");
        let exact = Known { bound: Bound::Exact, ..known(2, 20) };
        table.put(1 << 40 | 5, 3, exact);
        assert_eq!(table.get(1 << 40 | 5, 3), Some(Known { action, ..exact }));
        assert_eq!(Table::new(0).get(5, 0), None);
    }

    #[test]
    fn without_a_score_nothing_is_decided() {
        let [low, none] =
            [Bound::Lower, Bound::Unknown].map(|bound| Known { bound, ..known(9, 50) });
        assert!(low.decides(0, 1) && low.corrects(-7));
        assert!(!none.decides(0, 1) && !none.decides(90, 91) && !none.corrects(-7));
    }

    #[test]
    fn what_is_shallow_or_old_makes_room() {
        let table = Table::new(CLUSTER);
        (0..4).for_each(|key| table.put(key, 0, known(10 + key as i32, 0)));
        table.put(9, 0, known(1, 0));
        assert!(table.get(0, 0).is_none() && table.get(3, 0).is_some());
        (0..5).for_each(|_| table.begin());
        (20..23).for_each(|key| table.put(key, 0, known(2, 0)));
        assert!((20..23).all(|key| table.get(key, 0).is_some()), "earlier searches make room");
    }
}
