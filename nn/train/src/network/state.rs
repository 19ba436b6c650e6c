//! State of a run: network, optimiser and progress, in memory and in the folder's state file.

use super::config::RunConfig;
use super::error::TrainError;
use super::learns::Learner;
use super::loss::LossSums;
use super::watch::Progress;
use crate::data::KeySet;
use nn::checkpoint::{self, CheckpointError, Network, Precision};
use nn::rng::split_mix;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use std::collections::HashMap;
use std::path::Path;

/// Everything from which a run resumes.
pub(super) struct TrainingState {
    /// Weights of the last step.
    pub network: Network,
    /// Moving average (EMA) of the weights, `[layout.len]`.
    pub average: Vec<f32>,
    /// The optimiser with its moments.
    pub learner: Learner,
    /// Steps so far.
    pub step: u64,
    /// Examples so far.
    pub seen: u64,
    /// Fingerprint of the excluded positions.
    excluded: String,
}

/// Size and hash of a set of keys.
fn fingerprint(keys: &KeySet) -> String {
    // Order-independent, because a set has no order.
    let sum = keys.iter().fold(0u64, |sum, key| sum.wrapping_add(split_mix(*key)));
    format!("{}-{sum:016x}", keys.len())
}

impl TrainingState {
    /// The first state of a new run.
    ///
    /// # Errors
    /// The initial network cannot be read.
    pub fn new(config: &RunConfig, excluded: &KeySet) -> Result<TrainingState, TrainError> {
        let mut network = Network::new(&config.network, config.seed);
        if let Some(init) = &config.init {
            let fault = |error| TrainError::Checkpoint(init.clone(), error);
            let left = network.adopt(&Network::load(init).map_err(fault)?);
            log::info!("{}: not there, start fresh: {}", init.display(), left.join(" "));
        }
        let learner = Learner::new(&network.layout, config.learns, &config.optimizer);
        Ok(TrainingState {
            average: network.values.clone(),
            network,
            learner,
            step: 0,
            seen: 0,
            excluded: fingerprint(excluded),
        })
    }

    /// The state in `folder`, or the first one of a new run.
    ///
    /// # Errors
    /// The folder holds a damaged state, or one of an optimiser of other parameters, of another network or of
    /// other excluded positions.
    pub fn load_or_new(
        config: &RunConfig,
        excluded: &KeySet,
        folder: &Path,
    ) -> Result<TrainingState, TrainError> {
        let path = folder.join("state.safetensors");
        if !path.exists() {
            return TrainingState::new(config, excluded);
        }
        let fault = |error| TrainError::Checkpoint(path.clone(), error);
        let (network, extras, facts) = checkpoint::load_training(&path).map_err(fault)?;
        if network.layout.config != config.network {
            return Err(TrainError::OtherNetwork(path));
        }
        let mut learner = Learner::new(&network.layout, config.learns, &config.optimizer);
        let mut average = network.values.clone();
        let mut extras: HashMap<String, Vec<f32>> = extras.into_iter().collect();
        for (name, place) in [
            ("average", &mut average),
            ("first", &mut learner.optimizer.first),
            ("second", &mut learner.optimizer.second),
        ] {
            let expected = place.len();
            let values = extras.remove(name);
            let found = values.as_ref().map_or(0, Vec::len);
            *place = values.filter(|values| values.len() == expected).ok_or_else(|| {
                let what = format!("\"extra.{name}\" has length {found}, expected {expected}");
                fault(CheckpointError::Format(what))
            })?;
        }
        let number = |name: &str| {
            facts.get(name).and_then(|text| text.parse().ok()).ok_or_else(|| {
                fault(CheckpointError::Format(format!("missing \"{name}\" in the metadata")))
            })
        };
        let (step, seen) = (number("step")?, number("seen")?);
        let fingerprint = fingerprint(excluded);
        // Runs from before the exclusion was part of the configuration lack it.
        if facts.get("excluded").is_some_and(|kept| *kept != fingerprint) {
            return Err(TrainError::OtherExclusion(path));
        }
        Ok(TrainingState { network, average, learner, step, seen, excluded: fingerprint })
    }

    /// One optimiser step, by the gradient of `examples` examples. Returns the gradient's length.
    pub fn advance(&mut self, config: &RunConfig, grads: &[f32], examples: usize) -> f32 {
        self.step += 1;
        self.seen += examples as u64;
        let rate = config.schedule.rate(self.seen);
        let length = self.learner.step(&mut self.network.values, grads, rate, self.step);
        // EMA warm-up: a young average would keep the random start for too long.
        let decay = config.average.min((1.0 + self.step as f32) / (10.0 + self.step as f32));
        let places = self.average.par_iter_mut().zip(&self.network.values);
        places.with_min_len(1 << 14).for_each(|(average, value)| {
            *average += (1.0 - decay) * (value - *average);
        });
        length
    }

    /// The report for a watcher.
    pub fn progress(&self, config: &RunConfig, sums: LossSums, speed: f64) -> Progress {
        Progress {
            step: self.step,
            seen: self.seen,
            examples: config.schedule.examples,
            sums,
            rate: config.schedule.rate(self.seen),
            speed,
        }
    }

    /// The network with the averaged weights.
    pub fn averaged(&self) -> Network {
        Network { values: self.average.clone(), ..self.network.clone() }
    }

    /// Writes the state file and the averaged network.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), TrainError> {
        let path = folder.join("state.safetensors");
        let extras: [(&str, &[f32]); 3] = [
            ("average", &self.average),
            ("first", &self.learner.optimizer.first),
            ("second", &self.learner.optimizer.second),
        ];
        let facts = HashMap::from([
            ("step".to_owned(), self.step.to_string()),
            ("seen".to_owned(), self.seen.to_string()),
            ("excluded".to_owned(), self.excluded.clone()),
        ]);
        checkpoint::save_training(&path, &self.network, &extras, &facts)
            .map_err(|error| TrainError::Checkpoint(path, error))?;
        let path = folder.join("network.safetensors");
        self.averaged()
            .save(&path, Precision::Half)
            .map_err(|error| TrainError::Checkpoint(path, error))
    }
}
