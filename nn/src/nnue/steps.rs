//! How the sums of one sample follow from those of another.
//!
//! Samples that lie side by side often resemble each other: successors of one position differ in two pieces of twenty.

use super::features::{Board, Change, Sample};
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;
use std::ops::Range;

/// Samples of a run.
pub(super) const RUN: usize = 64;

/// Samples that may follow from each other.
pub(super) struct Run {
    /// What makes each side's sums, the mover's first.
    pub steps: Vec<[Step; 2]>,
    /// Which last layer judges each.
    pub buckets: Vec<usize>,
    /// Rows of the steps, in their order.
    pub rows: Vec<u16>,
}

/// Where the sums of one side come from.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Which sample of the run before; none but the bias if there is none like it.
    pub from: Option<u8>,
    /// Rows are added from here in [`Run::rows`] up to `removed`, and taken away from there up to `end`.
    pub added: u16,
    pub removed: u16,
    pub end: u16,
}

impl Run {
    /// Runs of `samples`, in their order.
    pub fn all(samples: &[Sample]) -> Vec<Run> {
        samples.par_chunks(RUN).map(Run::of).collect()
    }

    fn of(samples: &[Sample]) -> Run {
        let boards: Vec<Board> = samples.iter().map(Sample::board).collect();
        let (mut rows, mut steps) = (Vec::new(), Vec::with_capacity(RUN));
        for (at, board) in boards.iter().enumerate() {
            steps.push([0, 1].map(|side| Step::to(board, side, &boards[..at], &mut rows)));
        }
        Run { steps, buckets: boards.iter().map(Board::bucket).collect(), rows }
    }
}

impl Step {
    /// To `board` from whichever of `earlier` is nearest, of those the last.
    fn to(board: &Board, side: usize, earlier: &[Board], rows: &mut Vec<u16>) -> Step {
        let far = |at: usize| Some((board.distance(side, &earlier[at])?, at));
        let nearest = (0..earlier.len()).rev().filter_map(far).min_by_key(|(squares, _)| *squares);
        let from = nearest.map(|(_, at)| at);
        let Change { added, removed } = board.since(side, from.map(|at| &earlier[at]));
        let mut push = |list: &[u16]| {
            let start = rows.len() as u16;
            rows.extend_from_slice(list);
            start
        };
        let (added, removed) = (push(&added), push(&removed));
        Step { from: from.map(|at| at as u8), added, removed, end: rows.len() as u16 }
    }

    /// Where in [`Run::rows`] those are that are added.
    #[inline(always)]
    pub fn adds(self) -> Range<usize> {
        usize::from(self.added)..usize::from(self.removed)
    }

    /// Where those are that are taken away.
    #[inline(always)]
    pub fn removes(self) -> Range<usize> {
        usize::from(self.removed)..usize::from(self.end)
    }
}
