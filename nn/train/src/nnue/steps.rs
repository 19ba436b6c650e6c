//! Incremental updates between the samples of a run.
//!
//! Adjacent samples are often similar: successors of one position differ in two pieces of twenty.

use super::sample::{Board, Change, Sample};
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;
use std::ops::Range;

/// Samples per run.
pub(super) const RUN: usize = 64;

/// Samples whose accumulators are updated from each other.
pub(super) struct Run {
    /// Update of each side's accumulator, the mover's first.
    pub steps: Vec<[AccumulatorStep; 2]>,
    /// Output bucket of each sample.
    pub buckets: Vec<usize>,
    /// Rows of the steps, in order.
    pub rows: Vec<u16>,
}

/// How one side's accumulator is computed.
#[derive(Clone, Copy)]
pub(super) struct AccumulatorStep {
    /// The earlier sample of the run to start from; None: from the bias.
    pub from: Option<u8>,
    /// Index in [`Run::rows`]: rows from here up to `removed` are added, from there up to `end` subtracted.
    pub added: u16,
    pub removed: u16,
    pub end: u16,
}

impl Run {
    /// Runs of `samples`, in order.
    pub fn all(samples: &[Sample]) -> Vec<Run> {
        samples.par_chunks(RUN).map(Run::of).collect()
    }

    fn of(samples: &[Sample]) -> Run {
        let boards: Vec<Board> = samples.iter().map(Sample::board).collect();
        let (mut rows, mut steps) = (Vec::new(), Vec::with_capacity(RUN));
        for (at, board) in boards.iter().enumerate() {
            steps.push(
                [0, 1].map(|side| AccumulatorStep::to(board, side, &boards[..at], &mut rows)),
            );
        }
        Run { steps, buckets: boards.iter().map(Board::bucket).collect(), rows }
    }
}

impl AccumulatorStep {
    /// To `board` from the nearest of `earlier`, the last of equals.
    fn to(board: &Board, side: usize, earlier: &[Board], rows: &mut Vec<u16>) -> AccumulatorStep {
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
        AccumulatorStep { from: from.map(|at| at as u8), added, removed, end: rows.len() as u16 }
    }

    /// Range of added rows in [`Run::rows`].
    #[inline(always)]
    pub fn adds(self) -> Range<usize> {
        usize::from(self.added)..usize::from(self.removed)
    }

    /// Range of subtracted rows.
    #[inline(always)]
    pub fn removes(self) -> Range<usize> {
        usize::from(self.removed)..usize::from(self.end)
    }
}
