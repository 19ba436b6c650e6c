//! How long a network takes for a batch on this machine, and what follows from it: the way of leaves to a device.

use mcts::Pipeline;
use std::time::Duration;

/// How a network answers on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvalTiming {
    /// Time of one evaluation.
    pub single: Duration,
    /// The batch that one thread should gather, or a device's lane.
    pub batch: usize,
    /// Batches on their way through a device at once; 0 on the CPU, where each thread evaluates its own.
    pub lanes: usize,
    /// Measured sizes, ascending, with their times; those after the last measured one are zero.
    times: [(usize, Duration); MOST_SIZES],
}

const MOST_SIZES: usize = 8;

/// A device's batch that takes at most this many times as long as its smallest is full of leaves that cost nothing.
const AS_GOOD_AS_ONE: f64 = 1.25;

/// Visits of the tree for each leaf in flight to a device (`docs/src/search.md`, "Leaves in flight").
const RAMP: u32 = 8;

/// A device that is not this many times as fast as the CPU's threads plays worse: its leaves are selected without the answers
/// to those in flight. 64 in flight give away as much with four times the nodes (`docs/src/search.md`). Guess.
const LEAST_GAIN: f64 = 4.0;

/// Share of the time left that the leaves in flight may take: the search ends with its last batch. Guess.
const SHARE_IN_FLIGHT: f64 = 0.25;

impl EvalTiming {
    /// The timing of a network that answers in `lanes`; sizes beyond those `measured` take as long as the largest.
    #[must_use]
    pub fn new(
        single: Duration,
        batch: usize,
        lanes: usize,
        measured: &[(usize, Duration)],
    ) -> EvalTiming {
        let mut times = [(0, Duration::ZERO); MOST_SIZES];
        times.iter_mut().zip(measured).for_each(|(place, one)| *place = *one);
        EvalTiming { single, batch, lanes, times }
    }

    /// Time of `leaves` in batches of at most [`EvalTiming::batch`], one after another.
    #[must_use]
    pub fn of(&self, leaves: usize) -> Duration {
        let most = self.batch.max(1);
        let whole = u32::try_from(leaves / most).unwrap_or(u32::MAX);
        let rest = match leaves % most {
            0 => Duration::ZERO,
            rest => self.of_batch(rest),
        };
        self.of_batch(most).saturating_mul(whole) + rest
    }

    /// Time of one batch: that of the smallest measured size that holds it.
    fn of_batch(&self, size: usize) -> Duration {
        let holds = self.measured().find(|(measured, _)| *measured >= size);
        holds.or(self.measured().last()).map_or(self.single, |(_, time)| time)
    }

    /// Positions a second, in batches of [`EvalTiming::batch`].
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.batch as f64 / self.of(self.batch).as_secs_f64()
    }

    /// A device of this timing plays worse than `threads` threads of a CPU of that one.
    #[must_use]
    pub fn is_outrun_by(&self, cpu: &EvalTiming, threads: usize) -> bool {
        self.lanes > 0 && self.speed() < LEAST_GAIN * threads as f64 * cpu.speed()
    }

    fn measured(&self) -> impl DoubleEndedIterator<Item = (usize, Duration)> + '_ {
        self.times.into_iter().filter(|(size, _)| *size > 0)
    }

    /// The way of leaves to a device, in batches of at most `batch`; None on the CPU.
    #[must_use]
    pub fn pipeline(&self, batch: usize) -> Option<Pipeline> {
        let cheap = self.single.mul_f64(AS_GOOD_AS_ONE);
        let least = self.measured().filter(|(_, time)| *time <= cheap).map(|(size, _)| size).max();
        let least = least.unwrap_or(1).min(batch);
        let pipeline = Pipeline { lanes: self.lanes, least, most: batch, ramp: RAMP };
        (self.lanes > 0).then_some(pipeline)
    }

    /// Leaves that may be in flight to a device while so much time is left; at least what it evaluates in the time of
    /// one.
    #[must_use]
    pub fn most_in_flight(&self, left: Duration) -> usize {
        let Some(pipeline) = self.pipeline(self.batch) else { return usize::MAX };
        let time = left.mul_f64(SHARE_IN_FLIGHT);
        let batches = (1..=pipeline.lanes).rev().map(|lanes| lanes * pipeline.most);
        let parts = self.measured().rev().map(|(size, _)| size).filter(|size| *size < self.batch);
        batches.chain(parts).find(|leaves| self.of(*leaves) <= time).unwrap_or(pipeline.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: f64) -> Duration {
        Duration::from_secs_f64(ms / 1e3)
    }

    /// An H200 with the fifteenth network (`docs/src/speed.md`).
    fn card() -> EvalTiming {
        let measured = [(32, ms(5.1)), (256, ms(7.2)), (1024, ms(12.4))];
        EvalTiming::new(ms(5.1), 1024, 3, &measured)
    }

    #[test]
    fn a_batch_takes_the_time_of_the_size_that_holds_it() {
        let card = card();
        assert_eq!([1, 32, 33, 1024].map(|size| card.of(size)), [5.1, 5.1, 7.2, 12.4].map(ms));
        assert_eq!(card.of(1024 + 1), ms(12.4) + ms(5.1));
        assert_eq!((card.of(0), card.of(3 * 1024)), (Duration::ZERO, 3 * ms(12.4)));
        let unmeasured = EvalTiming::new(ms(2.0), 8, 0, &[]);
        assert_eq!(unmeasured.of(8), ms(2.0));
    }

    #[test]
    fn a_device_has_as_many_leaves_from_the_start_as_cost_nothing() {
        let pipeline = card().pipeline(1024).unwrap();
        assert_eq!((pipeline.lanes, pipeline.least, pipeline.most), (3, 32, 1024));
        assert_eq!(card().pipeline(16).map(|it| (it.least, it.most)), Some((16, 16)));
        assert_eq!(EvalTiming { lanes: 0, ..card() }.pipeline(1024), None);
    }

    #[test]
    fn a_card_plays_where_it_is_much_faster_than_the_threads() {
        let cpu = EvalTiming::new(ms(0.27), 1, 0, &[(1, ms(0.27))]);
        assert!((cpu.speed() - 3703.7).abs() < 0.1 && (card().speed() - 82_580.6).abs() < 0.1);
        assert!(!card().is_outrun_by(&cpu, 2) && card().is_outrun_by(&cpu, 16));
        let integrated = [(32, ms(4.0)), (64, ms(8.0)), (256, ms(30.0))];
        let integrated = EvalTiming::new(ms(4.0), 256, 3, &integrated);
        assert!(integrated.is_outrun_by(&cpu, 1));
        assert!(!cpu.is_outrun_by(&cpu, 16), "the CPU itself");
    }

    #[test]
    fn little_time_means_few_leaves_in_flight() {
        let most = |left| card().most_in_flight(ms(left));
        assert_eq!(most(1000.0), 3 * 1024);
        assert_eq!([148.0, 99.0, 49.0, 28.0].map(most), [2048, 1024, 256, 32]);
        assert_eq!(
            [20.0, 1.0, 0.0].map(most),
            [32; 3],
            "a device takes no longer for 32 than for one"
        );
        let on_cpu = EvalTiming { lanes: 0, ..card() };
        assert_eq!(on_cpu.most_in_flight(Duration::ZERO), usize::MAX);
    }
}
