//! The transposition table of the alpha-beta search. One entry is one 64-bit word, two entries are a bucket. Index and entry
//! verify 44 + log2(buckets) bits of the hashed key: all 64 from 2^20 buckets (16 MiB) on.

use nn::rng::scramble;

/// Bits of an entry that are not key: value, bound, depth, move.
const DATA_BITS: u32 = 20;

/// A table of fixed size.
pub struct Table {
    buckets: Vec<[u64; 2]>,
    shift: u32,
}

/// A stored result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// -1, 0 or 1.
    pub value: i8,
    /// Meaning of the value.
    pub bound: Bound,
    /// Plies that were searched, 0..=63.
    pub depth: u8,
    /// The best move.
    pub best: u8,
}

/// Meaning of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The true value is at least the stored one.
    Lower,
    /// The true value is at most the stored one.
    Upper,
    /// The true value is the stored one.
    Exact,
}

impl Table {
    /// A table of about `bytes`, rounded down to a power of two.
    pub fn new(bytes: usize) -> Table {
        let bits = (bytes / 16).max(2).ilog2();
        Table { buckets: vec![[0; 2]; 1 << bits], shift: 64 - bits }
    }

    /// Bucket, and the key bits of an entry in their place.
    fn place(&self, key: u64) -> (usize, u64) {
        // A bijection: different keys have different hashes.
        let hash = scramble(key);
        ((hash >> self.shift) as usize, hash << DATA_BITS)
    }

    /// The entry of a position.
    pub fn get(&self, key: u64) -> Option<Entry> {
        let (at, tag) = self.place(key);
        let found = self.buckets[at].iter().find(|&&word| is_of(word, tag) && word != 0);
        found.map(|&word| Entry::unpack(word))
    }

    /// Stores an entry. A bucket's first word keeps the deepest search, the second the latest.
    pub fn put(&mut self, key: u64, entry: Entry) {
        let (at, tag) = self.place(key);
        let [deep, latest] = &mut self.buckets[at];
        if is_of(*deep, tag) {
            *deep = 0;
        } else if is_of(*latest, tag) {
            *latest = 0;
        }
        if entry.depth >= Entry::unpack(*deep).depth {
            if *deep != 0 {
                *latest = *deep;
            }
            *deep = tag | entry.pack();
        } else {
            *latest = tag | entry.pack();
        }
    }
}

fn is_of(word: u64, tag: u64) -> bool {
    word >> DATA_BITS == tag >> DATA_BITS
}

impl Entry {
    /// Never 0: the value is stored as 1, 2 or 3.
    fn pack(self) -> u64 {
        let (value, bound) = ((self.value + 2) as u64, self.bound as u64);
        value | bound << 2 | u64::from(self.depth & 63) << 4 | u64::from(self.best) << 10
    }

    fn unpack(word: u64) -> Entry {
        let bound = match word >> 2 & 3 {
            0 => Bound::Lower,
            1 => Bound::Upper,
            _ => Bound::Exact,
        };
        let value = (word & 3) as i8 - 2;
        Entry { value, bound, depth: (word >> 4 & 63) as u8, best: (word >> 10) as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_the_deepest_stays() {
        let mut table = Table::new(0);
        let entry = |value, bound, depth, best| Entry { value, bound, depth, best };
        for (value, bound, depth, best) in
            [(-1, Bound::Lower, 0, 0), (1, Bound::Upper, 63, 255), (0, Bound::Exact, 42, 6)]
        {
            table.put(7, entry(value, bound, depth, best));
            assert_eq!(table.get(7), Some(entry(value, bound, depth, best)));
        }
        assert_eq!(table.get(8), None);
        (0..1000).for_each(|key| table.put(1000 + key, entry(1, Bound::Lower, 3, 1)));
        assert_eq!(table.get(7), Some(entry(0, Bound::Exact, 42, 6)));
    }
}
