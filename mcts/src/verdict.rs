//! What a scout says of the root's moves, in a word that all workers may read.

use crate::node::{from_unit16, to_unit16};

/// What the scout says of two of the root's moves: which edge, and what it is worth to the mover. The best one's worth is the most
/// that any other has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The move it prefers.
    pub best: (usize, f32),
    /// The most visited move when it was asked, which may be the same.
    pub favourite: (usize, f32),
}

impl Verdict {
    /// Fits into a word: no position has 256 moves. The lowest bit tells it from none.
    pub fn pack(self) -> u64 {
        let half =
            |(edge, value): (usize, f32)| (edge as u64 & 0xFF) << 16 | u64::from(to_unit16(value));
        half(self.best) << 32 | half(self.favourite) << 1 | 1
    }

    /// None of 0.
    pub fn unpack(word: u64) -> Option<Verdict> {
        let half = |bits: u64| ((bits >> 16 & 0xFF) as usize, from_unit16(bits as u16));
        (word & 1 == 1).then(|| Verdict { best: half(word >> 32), favourite: half(word >> 1) })
    }

    /// The edge leads to the best move or to one as good.
    pub fn approves(self, edge: usize) -> bool {
        [self.best, self.favourite].iter().any(|(at, worth)| *at == edge && *worth >= self.best.1)
    }

    /// What an edge is worth whose visits have this `mean`, if the verdict has such a share in it.
    #[inline]
    pub fn weigh(self, edge: usize, mean: f32, share: f32) -> f32 {
        let told = [self.best, self.favourite].into_iter().find(|(told, _)| *told == edge);
        let judged = told.map_or(mean.min(self.best.1), |(_, worth)| worth);
        mean + share * (judged - mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_fits_into_a_word() {
        let half = |edge, value| (edge, from_unit16(to_unit16(value)));
        for (best, favourite) in [(half(0, 0.0), half(0, 0.0)), (half(217, 1.0), half(3, 0.25))] {
            let verdict = Verdict { best, favourite };
            assert_eq!(Verdict::unpack(verdict.pack()), Some(verdict));
        }
        assert_eq!(Verdict::unpack(0), None);
    }
}
