//! The first questions to a network: they fill caches, have a GPU compile its kernels, and measure how fast
//! it answers and in which batches, once, before the engine says that it is ready.

use super::timing::EvalTiming;
use super::{Network, NetworkError};
use crate::process::time::Clock;
use nn::encode::MoveCode;
use nn::{EvalError, Query, Step};
use shakmaty::{Chess, Position};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Share of the best speed that is enough: a smaller batch wastes fewer evaluations on a search that does
/// not know yet what the first of them say. At 400 nodes, batches of one instead of four gain as much as
/// half as many nodes again (`docs/src/search.md`); with more nodes it is less.
const ENOUGH: f64 = 0.94;
/// The same of a device, whose leaves in flight are several batches.
const ENOUGH_OF_DEVICE: f64 = 0.9;
/// Times each batch is measured, at least; the best one counts, for what disturbs only ever slows down.
const LEAST_REPEATS: usize = 3;
/// At most, and for how long: a short one is disturbed more easily.
const MOST_REPEATS: usize = 12;
const LEAST_TIME: Duration = Duration::from_millis(6);
/// Measuring ends with the batch that is under way then: a GUI may be waiting for the first move.
const PATIENCE: Duration = Duration::from_millis(150);
/// Also ends when this many consecutive sizes were no faster than a smaller one.
const STALE: usize = 2;
/// Longest batch: the search looks at its clock between two.
const LONGEST: Duration = Duration::from_millis(50);

/// Asks `network` a few times and measures.
///
/// # Errors
/// The network failed, or broke down inside; the device failed, as one with too little memory does.
pub fn warm_up(network: &Network, clock: &dyn Clock) -> Result<EvalTiming, NetworkError> {
    let position = Chess::default();
    let legal = position.legal_moves();
    // Time of one batch of this size.
    let ask = |size: usize| {
        let batch = vec![Query { position: &position, legal: &legal }; size];
        let before = clock.now();
        // A device driver that panics must not take the process with it.
        let answer = catch_unwind(AssertUnwindSafe(|| network.evaluator.evaluate(&batch)))
            .map_err(|_| NetworkError::Failed(format!("{} failed inside", network.name)))?;
        answer.map_err(failure)?;
        Ok::<Duration, NetworkError>(clock.now().saturating_sub(before))
    };
    ask(1)?;
    let single = ask(1)?;
    let mut measured: Vec<(usize, Duration)> = Vec::new();
    let (mut spent, mut top, mut stale) = (Duration::ZERO, 0.0, 0);
    for &size in network.evaluator.batches() {
        // Not counted: a GPU compiles its kernels now, for every size, lest it do so during a game.
        let first = ask(size)?;
        if network.on_gpu {
            imagine(network, &position, size)?;
        }
        log::debug!("{}: {first:?} for the first batch of {size}", network.name);
        let (mut least, mut here) = (Duration::MAX, Duration::ZERO);
        for repeat in 0..MOST_REPEATS {
            if repeat >= LEAST_REPEATS && here > LEAST_TIME {
                break;
            }
            let took = ask(size)?;
            here += took;
            least = least.min(took);
        }
        spent += here;
        measured.push((size, least));
        let speed = speed(&(size, least));
        stale = if speed * ENOUGH > top { 0 } else { stale + 1 };
        top = speed.max(top);
        let enough = spent > PATIENCE || least > LONGEST || stale == STALE;
        if enough && !network.on_gpu {
            break;
        }
    }
    // A stall in the first question would make every move of the game seem too late for an evaluation.
    // A GPU pads one position to its smallest batch.
    let again = measured.first().map(|(_, least)| *least);
    let single = again.map_or(single, |again| again.min(single));
    let in_flight = network.evaluator.in_flight();
    // One more than the device holds: its answers are read, or its leaves prepared.
    let lanes = if in_flight > 1 { in_flight + 1 } else { 0 };
    let enough = if lanes > 0 { ENOUGH_OF_DEVICE } else { ENOUGH };
    let batch = best(&measured, enough).unwrap_or_else(|| network.evaluator.preferred_batch());
    log::info!("{}: {single:?} for one position, batches of {batch}", network.name);
    Ok(EvalTiming::new(single, batch, lanes, &measured))
}

/// Has the world model's kernels compiled for a batch of `size`.
fn imagine(network: &Network, position: &Chess, size: usize) -> Result<(), NetworkError> {
    let (Some(model), Some(first)) =
        (network.evaluator.transition(), position.legal_moves().first().copied())
    else {
        return Ok(());
    };
    if let Some(action) = MoveCode::new(first, false) {
        model.imagine(&vec![Step { state: position, action }; size]).map_err(failure)?;
    }
    Ok(())
}

fn failure(error: EvalError) -> NetworkError {
    match error {
        EvalError::Device(_) => NetworkError::Device(error),
        other => NetworkError::Failed(other.to_string()),
    }
}

/// Positions per second.
fn speed(&(size, time): &(usize, Duration)) -> f64 {
    size as f64 / time.as_secs_f64()
}

/// The smallest batch with that share of the speed of the fastest of those that do not keep the search from its clock;
/// None where no time passed.
fn best(measured: &[(usize, Duration)], enough: f64) -> Option<usize> {
    measured.iter().map(speed).reduce(f64::max).filter(|top| top.is_finite())?;
    let short = || measured.iter().filter(|(_, time)| *time <= LONGEST);
    let top = short().map(speed).fold(0.0, f64::max);
    let fit = short().find(|one| speed(one) >= enough * top);
    fit.or(measured.first()).map(|(size, _)| *size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::time::ManualClock;
    use nn::evaluator::fake::{Breakdown, Failing, Hashed};
    use nn::{EvalError, Evaluation, Evaluator};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Takes a time for each call and for each position, by a clock that only it moves.
    struct Device {
        clock: Arc<ManualClock>,
        call: Duration,
        position: Duration,
        /// Stall of the first two calls.
        stall: Duration,
        calls: AtomicUsize,
    }

    impl Evaluator for Device {
        fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
            let stalls = self.calls.fetch_add(1, Ordering::Relaxed) < 2;
            let stall = if stalls { self.stall } else { Duration::ZERO };
            let positions = self.position * u32::try_from(batch.len()).unwrap();
            self.clock.advance(stall + self.call + positions);
            Hashed::default().evaluate(batch)
        }

        fn batches(&self) -> &[usize] {
            &[1, 2, 4, 8, 16, 32]
        }
    }

    fn device(clock: &Arc<ManualClock>, times: [u64; 3]) -> Device {
        let [call, position, stall] = times.map(Duration::from_micros);
        Device { clock: clock.clone(), call, position, stall, calls: AtomicUsize::default() }
    }

    fn timing_of(call: u64, position: u64) -> EvalTiming {
        timing([call, position, 0])
    }

    fn timing(times: [u64; 3]) -> EvalTiming {
        let clock = Arc::new(ManualClock::default());
        let device = device(&clock, times);
        let network = Network {
            evaluator: Arc::new(device),
            name: "a device".to_owned(),
            on_gpu: true,
            players: 1,
        };
        warm_up(&network, &*clock).unwrap()
    }

    #[test]
    fn the_batch_follows_the_device() {
        let known = |timing: EvalTiming| (timing.single, timing.batch);
        assert_eq!(known(timing_of(0, 100)), (Duration::from_micros(100), 1));
        // A call costs as much as ten positions: the more at once the better.
        assert_eq!(known(timing_of(1000, 100)), (Duration::from_micros(1100), 32));
        // As much as a tenth of one: two at once reach 97.6 % of the speed of four, one 93.2 %.
        assert_eq!(timing_of(10, 100).batch, 2);
        // 40 ms for one: two would keep the search from its clock.
        assert_eq!(timing_of(30_000, 10_000).batch, 2);
        assert_eq!(timing_of(60_000, 60_000).batch, 1);
    }

    #[test]
    fn a_stall_of_the_machine_is_not_the_networks_time() {
        assert_eq!(timing([10, 100, 50_000]), timing([10, 100, 0]));
    }

    #[test]
    fn an_evaluator_without_batches_gets_its_preferred_one() {
        let clock = ManualClock::stepping(Duration::from_millis(1));
        let network = |evaluator: Arc<dyn Evaluator>| Network {
            evaluator,
            name: "it".to_owned(),
            on_gpu: false,
            players: 1,
        };
        let hashed = warm_up(&network(Arc::new(Hashed::default())), &clock).unwrap();
        assert_eq!((hashed.single, hashed.batch, hashed.lanes), (Duration::from_millis(1), 8, 0));
        let still = ManualClock::default();
        let stopped = device(&Arc::default(), [0; 3]);
        assert_eq!(warm_up(&network(Arc::new(stopped)), &still).unwrap().batch, 8);
        for (how, of_device) in [(Breakdown::Error, true), (Breakdown::Panic, false)] {
            let error = warm_up(&network(Arc::new(Failing::after(1, how))), &clock).unwrap_err();
            assert_eq!(error.is_of_device(), of_device);
        }
    }
}
