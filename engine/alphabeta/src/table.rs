//! The transposition table and the table of principal variations.

use chess::action::Action;
use kernels::{huge_pages, prefetch};
use shakmaty::Move;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Score of a mate at the root; a mate in n plies scores n less.
pub const MATE: i32 = 30_000;
/// Minimum mate score.
pub const MATES: i32 = 29_000;
/// Greater than every score.
pub const INFINITE: i32 = 31_000;

/// Kind of a stored score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// Exact score.
    #[default]
    Exact,
    /// Lower bound.
    Lower,
    /// Upper bound.
    Upper,
    /// No score: only the static eval is stored.
    Unknown,
}

impl Bound {
    /// Bound of the best score found in a window.
    #[must_use]
    pub fn of(best: i32, alpha: i32, beta: i32) -> Bound {
        match best {
            _ if best >= beta => Bound::Lower,
            _ if best <= alpha => Bound::Upper,
            _ => Bound::Exact,
        }
    }
}

/// Transposition table entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TtEntry {
    /// The best move, if any raised alpha.
    pub action: Option<Action>,
    /// Mate scores count plies from the root of the search.
    pub score: i32,
    /// Search depth in plies.
    pub depth: i32,
    /// Kind of the score.
    pub bound: Bound,
    /// Raw static eval, if it was computed.
    pub static_eval: Option<i32>,
    /// On a principal variation, now or earlier.
    pub pv: bool,
}

impl TtEntry {
    /// Whether the score allows a cutoff in the window from `alpha` to `beta`.
    #[must_use]
    pub fn decides(&self, alpha: i32, beta: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score >= beta,
            Bound::Upper => self.score <= alpha,
            Bound::Unknown => false,
        }
    }

    /// Whether the score is a tighter estimate than `static_eval`.
    #[must_use]
    pub fn corrects(&self, static_eval: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score > static_eval,
            Bound::Upper => self.score < static_eval,
            Bound::Unknown => false,
        }
    }
}

/// The transposition table. Lock-free: threads may share it, since an entry torn by two writers fails its key check
/// (Hyatt & Mann 2002, "A lock-less transposition table implementation for parallel search chess engines").
pub struct Table {
    /// Pages are allocated at first touch.
    slots: Vec<Slot>,
    /// The first slot that begins a cache line.
    first: usize,
    /// Clusters less one, a bit mask; None without any.
    last: Option<usize>,
    /// Number of the current search, modulo [`GENERATIONS`].
    generation: AtomicU64,
}

/// Entries per cluster: one cache line.
const CLUSTER: usize = 4;

/// Memory of one entry.
pub const ENTRY_BYTES: usize = size_of::<Slot>();

/// Generations wrap at 32.
const GENERATIONS: u64 = 32;
/// Depth penalty per generation of age, for replacement.
const AGE: i32 = 4;

/// A new entry replaces one that is at most this many plies deeper.
const REPLACEMENT_MARGIN: i32 = 4;

/// 16 bytes: key XOR data, and data.
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

/// Stands for a missing static eval.
const NO_EVAL: i16 = i16::MIN;

impl Table {
    /// Capacity in positions: a power of two, or 0. Halved while the system refuses the memory, which is only reserved.
    #[must_use]
    pub fn new(positions: usize) -> Table {
        let mut count = positions.div_ceil(CLUSTER);
        let zeros = loop {
            // Room to begin at a cache line.
            match huge_pages::zeros((count + 1) * CLUSTER) {
                Some(zeros) => break zeros,
                None if count == 0 => break Vec::new(),
                None => count /= 2,
            }
        };
        let slot = |[key, word]: [u64; 2]| Slot { key: key.into(), word: word.into() };
        // In place, without a touch: the layouts are the same.
        let slots: Vec<Slot> = zeros.into_iter().map(slot).collect();
        let first = slots.as_ptr().align_offset(CLUSTER * ENTRY_BYTES).min(CLUSTER);
        Table { slots, first, last: count.checked_sub(1), generation: AtomicU64::new(0) }
    }

    /// Clears all entries: reserves the memory anew, for zeros would be written to all of it.
    pub fn clear(&mut self) {
        let Some(last) = self.last else { return };
        // Free the old reservation first: both might not fit.
        self.slots = Vec::new();
        *self = Table::new((last + 1) * CLUSTER);
    }

    /// Starts a new generation: entries of earlier ones are replaced first.
    pub fn begin(&self) {
        self.generation.fetch_add(1, Relaxed);
    }

    /// Prefetches the cluster of this key.
    pub fn prefetch(&self, key: u64) {
        if let Some(cluster) = self.cluster(key) {
            prefetch(cluster);
        }
    }

    /// The entry of this key; mate scores are adjusted to `ply`.
    #[must_use]
    pub fn get(&self, key: u64, ply: usize) -> Option<TtEntry> {
        let (_, word) = self
            .cluster(key)?
            .iter()
            .map(Slot::load)
            .find(|(of, word)| *of == key && *word != 0)?;
        let mut entry = unpack(word);
        entry.score = match entry.score {
            score if score >= MATES => score - ply as i32,
            score if score <= -MATES => score + ply as i32,
            score => score,
        };
        Some(entry)
    }

    /// Stores an entry in place of the least valuable one. Keeps the old move of the same position if there is no new
    /// one.
    pub fn put(&self, key: u64, ply: usize, entry: TtEntry) {
        let Some(cluster) = self.cluster(key) else { return };
        let generation = self.generation.load(Relaxed) % GENERATIONS;
        let priority = |word: u64| match word {
            0 => i32::MIN,
            _ => {
                let age = (generation + GENERATIONS - age_bits(word)) % GENERATIONS;
                unpack(word).depth - AGE * age as i32
            }
        };
        let slots = cluster.iter().map(|slot| (slot, slot.load()));
        // The position's own slot comes first.
        let place = slots.min_by_key(|(_, (of, word))| match *of == key && *word != 0 {
            true => (false, 0),
            false => (true, priority(*word)),
        });
        let Some((slot, (of, word))) = place else { return };
        let before = Some(unpack(word)).filter(|_| of == key && word != 0);
        let score = match entry.score {
            score if score >= MATES => score + ply as i32,
            score if score <= -MATES => score - ply as i32,
            score => score,
        };
        let action = entry.action.or(before.and_then(|before| before.action));
        let priority = entry.depth + 2 * i32::from(entry.pv) + REPLACEMENT_MARGIN;
        let (entry, score) = match before {
            // Keep a much deeper search of the same position.
            Some(before) if entry.bound != Bound::Exact && priority <= before.depth => {
                (before, before.score)
            }
            _ => (entry, score),
        };
        slot.store(key, pack(TtEntry { action, score, ..entry }) | generation << 59);
    }

    fn cluster(&self, key: u64) -> Option<&[Slot; CLUSTER]> {
        let start = self.first + CLUSTER * (key as usize & self.last?);
        self.slots.get(start..)?.first_chunk()
    }
}

/// Bits: move 16 (0 = none), score 16, static eval 16, depth + 1 in 8 (never 0), bound 2, PV 1, generation 5.
fn pack(entry: TtEntry) -> u64 {
    let TtEntry { action, score, depth, bound, static_eval, pv } = entry;
    let action: u16 = action.map_or(0, Into::into);
    let score = i16::try_from(score).unwrap_or(0);
    let static_eval =
        static_eval.and_then(|static_eval| i16::try_from(static_eval).ok()).unwrap_or(NO_EVAL);
    let depth = (depth + 1).clamp(1, i32::from(u8::MAX)) as u64;
    u64::from(action)
        | u64::from(score.cast_unsigned()) << 16
        | u64::from(static_eval.cast_unsigned()) << 32
        | depth << 48
        | (bound as u64) << 56
        | u64::from(pv) << 58
}

fn unpack(word: u64) -> TtEntry {
    let action = Some(word as u16).filter(|action| *action != 0).map(Action::from);
    let static_eval = ((word >> 32) as u16).cast_signed();
    let bound = match word >> 56 & 3 {
        1 => Bound::Lower,
        2 => Bound::Upper,
        3 => Bound::Unknown,
        _ => Bound::Exact,
    };
    TtEntry {
        action,
        score: i32::from(((word >> 16) as u16).cast_signed()),
        depth: (word >> 48 & 0xFF) as i32 - 1,
        bound,
        static_eval: Some(i32::from(static_eval)).filter(|_| static_eval != NO_EVAL),
        pv: word >> 58 & 1 == 1,
    }
}

fn age_bits(word: u64) -> u64 {
    word >> 59
}

/// Triangular table: the principal variation from each ply of the current line.
pub struct PvTable(Vec<Vec<Action>>);

impl PvTable {
    /// Room for `plies` plies.
    #[must_use]
    pub fn new(plies: usize) -> PvTable {
        PvTable(vec![Vec::new(); plies + 2])
    }

    /// Clears the variation at `ply`.
    pub fn clear(&mut self, ply: usize) {
        self.0[ply].clear();
    }

    /// The variation at `ply` becomes `m` and the variation of the next ply.
    pub fn update(&mut self, ply: usize, m: Move) {
        let tail = std::mem::take(&mut self.0[ply + 1]);
        let line = &mut self.0[ply];
        line.clear();
        line.push(Action::new(m));
        line.extend_from_slice(&tail);
        self.0[ply + 1] = tail;
    }

    /// The principal variation of the root.
    #[must_use]
    pub fn best(&self) -> &[Action] {
        &self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(depth: i32, score: i32) -> TtEntry {
        TtEntry {
            action: None,
            score,
            depth,
            bound: Bound::Lower,
            static_eval: Some(-7),
            pv: false,
        }
    }

    #[test]
    fn entries_round_trip_and_mates_count_from_the_root() {
        let table = Table::new(1 << 10);
        let action = Some(Action::from(0x3_0C7));
        for (key, ply, it) in [
            (1 << 40 | 5, 3, TtEntry { action, ..entry(9, -250) }),
            (
                2 << 40 | 5,
                4,
                TtEntry { bound: Bound::Upper, static_eval: None, ..entry(0, MATE - 12) },
            ),
            (3 << 40 | 5, 0, TtEntry { bound: Bound::Exact, pv: true, ..entry(60, 6 - MATE) }),
            (4 << 40 | 5, 0, TtEntry { bound: Bound::Unknown, ..entry(0, 0) }),
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
        table.put(1 << 40 | 5, 3, entry(6, 10));
        let now = Some(TtEntry { action, ..entry(6, 10) });
        assert_eq!(table.get(1 << 40 | 5, 3), now);
        table.put(1 << 40 | 5, 3, entry(2, 20));
        assert_eq!(table.get(1 << 40 | 5, 3), now, "searched much deeper");
        let exact = TtEntry { bound: Bound::Exact, ..entry(2, 20) };
        table.put(1 << 40 | 5, 3, exact);
        assert_eq!(table.get(1 << 40 | 5, 3), Some(TtEntry { action, ..exact }));
        assert_eq!(Table::new(0).get(5, 0), None);
    }

    #[test]
    fn an_entry_without_a_score_allows_no_cutoff() {
        let [low, none] =
            [Bound::Lower, Bound::Unknown].map(|bound| TtEntry { bound, ..entry(9, 50) });
        assert!(low.decides(0, 1) && low.corrects(-7));
        assert!(!none.decides(0, 1) && !none.decides(90, 91) && !none.corrects(-7));
    }

    #[test]
    fn shallow_and_old_entries_are_replaced() {
        let table = Table::new(CLUSTER);
        (0..4).for_each(|key| table.put(key, 0, entry(10 + key as i32, 0)));
        table.put(9, 0, entry(1, 0));
        assert!(table.get(0, 0).is_none() && table.get(3, 0).is_some());
        (0..5).for_each(|_| table.begin());
        (20..23).for_each(|key| table.put(key, 0, entry(2, 0)));
        assert!((20..23).all(|key| table.get(key, 0).is_some()), "earlier searches make room");
    }
}
