//! Sets of cells of a Hex board.

/// 384 bits, 19 × 19 are needed.
const WORDS: usize = 6;

/// A set of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cells([u64; WORDS]);

impl Cells {
    /// Adds a cell.
    pub fn insert(&mut self, cell: usize) {
        self.0[cell / 64] |= 1 << (cell % 64);
    }

    /// True if the cell is in the set.
    #[must_use]
    pub fn contains(&self, cell: usize) -> bool {
        self.0[cell / 64] >> (cell % 64) & 1 == 1
    }

    /// Number of cells.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The cells in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(at, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(64 * at + bit)
            })
        })
    }

    /// Cells 0 to 63.
    #[must_use]
    pub fn first_word(&self) -> u64 {
        self.0[0]
    }

    /// The first `count` words, at most all.
    pub(crate) fn words(&self, count: usize) -> &[u64] {
        &self.0[..count.min(WORDS)]
    }

    fn zip(self, other: Cells, combine: impl Fn(u64, u64) -> u64) -> Cells {
        Cells(std::array::from_fn(|at| combine(self.0[at], other.0[at])))
    }

    pub(crate) fn and(self, other: Cells) -> Cells {
        self.zip(other, |a, b| a & b)
    }

    pub(crate) fn or(self, other: Cells) -> Cells {
        self.zip(other, |a, b| a | b)
    }

    pub(crate) fn without(self, other: Cells) -> Cells {
        self.zip(other, |a, b| a & !b)
    }

    /// Every cell `by` places further, 1..=63.
    pub(crate) fn up(self, by: usize) -> Cells {
        Cells(std::array::from_fn(|at| {
            let carried = if at == 0 { 0 } else { self.0[at - 1] >> (64 - by) };
            self.0[at] << by | carried
        }))
    }

    /// Every cell `by` places back, 1..=63.
    pub(crate) fn down(self, by: usize) -> Cells {
        Cells(std::array::from_fn(|at| {
            let carried = self.0.get(at + 1).map_or(0, |word| word << (64 - by));
            self.0[at] >> by | carried
        }))
    }
}
