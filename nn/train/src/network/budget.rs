//! Profile of training: real optimiser steps on real batches, discarded.

use super::config::RunConfig;
use super::cpu::{CpuStep, StepTimes};
use super::error::TrainError;
use super::run::batches;
use super::state::TrainingState;
use super::step::Step;
use crate::data::exclude_from_files;
use nn::net::Layout;
use nn::precision::Arithmetic;
use std::time::{Duration, Instant};

/// Time of a number of steps.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Examples of the steps measured.
    pub examples: usize,
    /// Wall-clock time, total.
    pub elapsed: Duration,
    /// Wall-clock time waiting for the next batch.
    pub data: Duration,
    /// Wall-clock time of optimiser and moving average.
    pub optimizer: Duration,
    /// Wall-clock time of gradients; details in `times`.
    pub gradient: Duration,
    /// Inside the gradients.
    pub times: StepTimes,
}

/// Steps before measuring: buffers grow in the first.
const WARM_UP: usize = 2;

/// Trains from the configuration's start for `time`, on `threads` threads.
///
/// # Errors
/// The configuration is invalid, the data cannot be read, or a thread fails.
pub fn measure(
    config: &RunConfig,
    arithmetic: Arithmetic,
    threads: usize,
    time: Duration,
) -> Result<Budget, TrainError> {
    config.check()?;
    let excluded = exclude_from_files(&config.exclude)?;
    let mut state = TrainingState::new(config, &excluded)?;
    let batches = batches(config, excluded, 0);
    let layout = Layout::new(&config.network);
    let mut grads = vec![0.0; layout.len];
    let mut step = CpuStep::new(layout, config.loss.clone(), arithmetic, threads);
    let mut budget = Budget::default();
    let mut started = Instant::now();
    let mut steps = 0;
    while steps <= WARM_UP || started.elapsed() < time {
        if steps == WARM_UP {
            step.measure();
            budget = Budget::default();
            started = Instant::now();
        }
        steps += 1;
        let begun = Instant::now();
        let batch = batches.recv().map_err(|_| TrainError::MixerDied)??;
        let ready = Instant::now();
        step.gradient(&state.network.values, &batch, &mut grads).map_err(TrainError::Step)?;
        let done = Instant::now();
        let _ = state.advance(config, &grads, batch.len());
        budget.data += ready - begun;
        budget.gradient += done - ready;
        budget.optimizer += done.elapsed();
        budget.examples += batch.len();
    }
    Ok(Budget { elapsed: started.elapsed(), times: step.times(), ..budget })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Sample, mavg_bytes};
    use nn::cpu::profile::Stage;
    use nn::net::NetConfig;

    #[test]
    fn every_part_of_a_step_takes_time_and_no_more_than_there_was() {
        let sample = Sample::new("budget", &mavg_bytes(3, 20));
        let config = RunConfig {
            network: NetConfig::tiny(),
            data: vec![(sample.0.clone(), 1.0)],
            buffer: 20,
            batch: 8,
            ..RunConfig::default()
        };
        let time = Duration::from_millis(30);
        let budget = measure(&config, Arithmetic::Single, 2, time).unwrap();
        assert!(budget.examples >= 8 && budget.examples.is_multiple_of(8));
        assert!(budget.elapsed >= time);
        assert!(budget.data + budget.gradient + budget.optimizer <= budget.elapsed);
        let times = &budget.times;
        for stage in [Stage::Norm, Stage::Qkv, Stage::Attention, Stage::Down, Stage::Heads] {
            assert!(!times.forward.spent(stage).is_zero(), "{stage:?}");
            assert!(!times.backward.spent(stage).is_zero(), "{stage:?}");
        }
        for time in [budget.optimizer, times.losses, times.packing, times.sums] {
            assert!(!time.is_zero() && time < budget.elapsed);
        }
    }
}
