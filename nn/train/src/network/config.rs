//! Configuration of a run, saved as `config.json` in its folder.

use super::error::TrainError;
use super::learns::Learns;
use super::loss::LossConfig;
use super::optimizer::OptimizerConfig;
use super::schedule::Schedule;
use crate::data::Kinds;
use nn::net::NetConfig;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Most examples per optimiser step.
const MAX_BATCH: usize = 1 << 20;
/// Largest shuffle buffer, in examples of about 600 bytes.
const MAX_BUFFER: usize = 1 << 26;

/// Everything that determines what a run learns; saved as `config.json` in its folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// Sizes of the network.
    pub network: NetConfig,
    /// Initial network, of these sizes or smaller; None: random weights.
    pub init: Option<PathBuf>,
    /// Teacher network for distillation, of any size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<PathBuf>,
    /// Data files and their shares of the examples.
    pub data: Vec<(PathBuf, f64)>,
    /// Kinds of examples drawn from them.
    pub kinds: Kinds,
    /// Files (EPD, FEN, CSV) whose positions are excluded from training; see
    /// [`crate::data::exclude_from_files`].
    pub exclude: Vec<PathBuf>,
    /// Shuffle buffer, in examples.
    pub buffer: usize,
    /// Examples per optimiser step.
    pub batch: usize,
    /// Learning rate over the run.
    pub schedule: Schedule,
    /// Trainable parameters.
    pub learns: Learns,
    /// Constants of the optimiser.
    pub optimizer: OptimizerConfig,
    /// Weights of the losses.
    pub loss: LossConfig,
    /// Decay per step of the weights' moving average (EMA).
    pub average: f32,
    /// Seed of the initial weights and of the order of the data.
    pub seed: u64,
    /// The difference between a network's players; None: all steps are the first player's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamConfig>,
}

/// Settings of a team's training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamConfig {
    /// File of [`super::Rewards`], read when a run begins or resumes.
    pub rewards: PathBuf,
    /// Addition to the logarithm of a move's share for a unit of reward.
    pub strength: f32,
    /// Win probability by which a move may lie below the best one.
    pub slack: f32,
}

impl Default for RunConfig {
    fn default() -> Self {
        RunConfig {
            network: NetConfig::default(),
            init: None,
            teacher: None,
            data: Vec::new(),
            exclude: Vec::new(),
            kinds: Kinds::default(),
            buffer: 200_000,
            batch: 256,
            schedule: Schedule::default(),
            learns: Learns::default(),
            optimizer: OptimizerConfig::default(),
            loss: LossConfig::default(),
            average: 0.999,
            seed: 1,
            team: None,
        }
    }
}

impl RunConfig {
    /// Bounds the sizes that allocate memory.
    ///
    /// # Errors
    /// Names the first field at fault, its value and its limit.
    pub fn check(&self) -> Result<(), TrainError> {
        self.network.check().map_err(|error| TrainError::Config(error.to_string()))?;
        // The kernels have no gradient of piece blocks.
        if self.network.piece_blocks > 0 {
            let what = "networks with piece_blocks are trained by nn/torch".to_owned();
            return Err(TrainError::Config(what));
        }
        for (name, value, least, most) in
            [("batch", self.batch, 1, MAX_BATCH), ("buffer", self.buffer, 0, MAX_BUFFER)]
        {
            if !(least..=most).contains(&value) {
                let what = format!("{name} is {value}, expected {least} to {most}");
                return Err(TrainError::Config(what));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_would_take_all_memory_are_named() {
        let fault = |config: RunConfig| config.check().unwrap_err().to_string();
        let of_batch = |batch| fault(RunConfig { batch, ..RunConfig::default() });
        assert!(of_batch(usize::MAX).contains("expected 1 to 1048576"));
        assert!(of_batch(0).contains("batch is 0, expected 1 to"));
        let buffer = fault(RunConfig { buffer: usize::MAX, ..RunConfig::default() });
        assert!(buffer.contains("buffer is") && buffer.contains("expected 0 to 67108864"));
        let network = NetConfig { layers: 65, ..NetConfig::default() };
        let network = fault(RunConfig { network, ..RunConfig::default() });
        let pieces = NetConfig { piece_blocks: 1, ..NetConfig::default() };
        let pieces = fault(RunConfig { network: pieces, ..RunConfig::default() });
        assert!(pieces.contains("nn/torch"), "{pieces}");
        assert!(network.contains("layers is 65, expected 1 to 64"), "{network}");
        assert!(RunConfig::default().check().is_ok());
    }
}
