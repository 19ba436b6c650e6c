//! A training run: batches from the mixer, one optimiser step each, the weights' moving average,
//! losses to a CSV, and a state file that a killed run goes on from.

use super::loss::{Loss, LossConfig, LossSums};
use super::optimizer::{Optimizer, OptimizerConfig};
use super::schedule::Schedule;
use super::step::{Step, StepError};
use crate::checkpoint::{self, CheckpointError, Network, Precision};
use crate::data::{DataError, KeySet, Kinds, MixConfig, MixSource, spawn};
use crate::net::NetConfig;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Everything that decides what a run learns; saved as `config.json` in its folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    pub network: NetConfig,
    /// A network to begin with, of these sizes or smaller; None: random weights.
    pub init: Option<PathBuf>,
    /// Data files and their shares of the examples.
    pub data: Vec<(PathBuf, f64)>,
    /// Which examples are drawn from them.
    pub kinds: Kinds,
    /// Examples among which the next is drawn.
    pub buffer: usize,
    pub batch: usize,
    pub schedule: Schedule,
    pub optimizer: OptimizerConfig,
    pub loss: LossConfig,
    /// Decay of the weights' moving average per step.
    pub average: f32,
    pub seed: u64,
}

impl Default for RunConfig {
    fn default() -> Self {
        RunConfig {
            network: NetConfig::default(),
            init: None,
            data: Vec::new(),
            kinds: Kinds::default(),
            buffer: 200_000,
            batch: 256,
            schedule: Schedule::default(),
            optimizer: OptimizerConfig::default(),
            loss: LossConfig::default(),
            average: 0.999,
            seed: 1,
        }
    }
}

/// Why a run stopped early.
#[derive(Debug)]
pub enum TrainError {
    Data(DataError),
    Checkpoint(PathBuf, CheckpointError),
    Io(PathBuf, std::io::Error),
    Step(StepError),
    /// The loss is no number any more.
    Diverged {
        step: u64,
    },
    /// The folder holds a run of another network.
    OtherNetwork(PathBuf),
    /// Another process trains in this folder.
    Busy(PathBuf),
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainError::Data(error) => write!(f, "{error}"),
            TrainError::Checkpoint(path, error) => write!(f, "{}: {error}", path.display()),
            TrainError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            TrainError::Step(error) => write!(f, "{error}"),
            TrainError::Diverged { step } => {
                write!(f, "the loss is no number at step {step}; lower the learning rate")
            }
            TrainError::OtherNetwork(path) => {
                write!(
                    f,
                    "{}: a run of another network configuration; choose another folder",
                    path.display()
                )
            }
            TrainError::Busy(folder) => {
                write!(
                    f,
                    "{}: another process trains here; stop it or choose another folder",
                    folder.display()
                )
            }
        }
    }
}

impl std::error::Error for TrainError {}

impl From<DataError> for TrainError {
    fn from(error: DataError) -> Self {
        TrainError::Data(error)
    }
}

/// What a run tells after each step.
#[derive(Clone, Debug)]
pub struct Progress {
    pub step: u64,
    /// Examples so far, of all sessions.
    pub seen: u64,
    pub examples: u64,
    /// Losses since the last report.
    pub sums: LossSums,
    pub rate: f32,
    /// Examples per second of this session.
    pub speed: f64,
}

/// Whoever watches a run.
pub trait Watcher {
    /// After each step; false ends the run as a kill would, state saved.
    fn step(&mut self, progress: &Progress) -> bool;
    /// Every few minutes and at the end, with the averaged network.
    fn checkpoint(&mut self, progress: &Progress, network: &Network);
}

/// How a session of a run goes about it: nothing here changes what is learnt.
#[derive(Clone, Debug)]
pub struct Session {
    pub folder: PathBuf,
    pub checkpoint_every: Duration,
    /// Positions never to train on.
    pub excluded: Arc<KeySet>,
}

/// Columns of `losses.csv` are written every so many steps.
const CSV_STEPS: u64 = 20;

struct State {
    network: Network,
    average: Vec<f32>,
    optimizer: Optimizer,
    step: u64,
    seen: u64,
}

/// Trains on `step`'s device until the schedule's end or until the watcher says stop, beginning where the folder's state
/// file left off. Returns the averaged network.
///
/// # Errors
/// Damaged data or state, a full disk, a diverging loss, a folder in which another run is at work. The
/// state file of the last checkpoint stays.
pub fn run(
    config: &RunConfig,
    session: &Session,
    step: &mut dyn Step,
    watcher: &mut dyn Watcher,
) -> Result<Network, TrainError> {
    std::fs::create_dir_all(&session.folder)
        .map_err(|error| TrainError::Io(session.folder.clone(), error))?;
    let _held = hold(&session.folder)?;
    let mut state = State::load_or_new(config, &session.folder)?;
    save_config(config, &session.folder)?;
    let mut csv = open_csv(&session.folder.join("losses.csv"))?;
    let batches = spawn(mix_config(config, session, state.seen), config.batch, 4);
    let mut grads = vec![0.0; state.network.layout.len];
    let (started, first_seen) = (Instant::now(), state.seen);
    let mut saved = Instant::now();
    let mut recent = LossSums::default();
    let mut progress = state.progress(config, recent, 0.0);
    while state.seen < config.schedule.examples {
        let Ok(batch) = batches.recv() else { break };
        let batch = batch?;
        let sums =
            step.gradient(&state.network.values, &batch, &mut grads).map_err(TrainError::Step)?;
        if !sums.total(&config.loss).is_finite() {
            return Err(TrainError::Diverged { step: state.step });
        }
        let length = state.advance(config, &mut grads, batch.len());
        recent.add(&sums);
        let speed = (state.seen - first_seen) as f64 / started.elapsed().as_secs_f64();
        progress = state.progress(config, recent, speed);
        if state.step.is_multiple_of(CSV_STEPS) {
            let written = write_row(&mut csv, config, &progress, length);
            written.map_err(|error| TrainError::Io(session.folder.join("losses.csv"), error))?;
            recent = LossSums::default();
        }
        let go_on = watcher.step(&progress);
        if saved.elapsed() >= session.checkpoint_every {
            state.save(&session.folder)?;
            watcher.checkpoint(&progress, &state.averaged());
            saved = Instant::now();
        }
        if !go_on {
            break;
        }
    }
    state.save(&session.folder)?;
    watcher.checkpoint(&progress, &state.averaged());
    Ok(state.averaged())
}

/// Holds the folder for as long as the answer lives, killed or not: two runs would write over each other's
/// state.
fn hold(folder: &Path) -> Result<File, TrainError> {
    let path = folder.join("lock");
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let file = file.map_err(|error| TrainError::Io(path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(TrainError::Busy(folder.to_owned())),
        // Not every file system has locks.
        Err(TryLockError::Error(error)) => log::warn!("{}: not locked: {error}", folder.display()),
    }
    Ok(file)
}

fn mix_config(config: &RunConfig, session: &Session, seen: u64) -> MixConfig {
    let source =
        |(path, weight): &(PathBuf, f64)| MixSource { path: path.clone(), weight: *weight };
    let mut mix = MixConfig::new(config.data.iter().map(source).collect());
    mix.kinds = config.kinds;
    mix.buffer = config.buffer;
    mix.seed = config.seed;
    mix.skip = seen;
    mix.excluded = Arc::clone(&session.excluded);
    mix
}

fn save_config(config: &RunConfig, folder: &Path) -> Result<(), TrainError> {
    let path = folder.join("config.json");
    let text = serde_json::to_string_pretty(config)
        .map_err(|error| TrainError::Io(path.clone(), std::io::Error::other(error)))?;
    std::fs::write(&path, text + "\n").map_err(|error| TrainError::Io(path, error))
}

fn open_csv(path: &Path) -> Result<File, TrainError> {
    let io = |error| TrainError::Io(path.to_owned(), error);
    let new = !path.exists();
    let mut csv = OpenOptions::new().create(true).append(true).open(path).map_err(io)?;
    if new {
        let heads = Loss::NAMES.join(",");
        writeln!(csv, "step,examples,rate,gradient,speed,total,{heads}").map_err(io)?;
    }
    Ok(csv)
}

fn write_row(csv: &mut File, config: &RunConfig, p: &Progress, length: f32) -> std::io::Result<()> {
    let heads = p.sums.parts.map(|part| format!("{:.4}", part.mean())).join(",");
    let (speed, total) = (p.speed, p.sums.total(&config.loss));
    writeln!(csv, "{},{},{:.3e},{length:.3},{speed:.0},{total:.4},{heads}", p.step, p.seen, p.rate)
}

impl State {
    fn load_or_new(config: &RunConfig, folder: &Path) -> Result<State, TrainError> {
        let path = folder.join("state.safetensors");
        if !path.exists() {
            let mut network = Network::new(&config.network, config.seed);
            if let Some(init) = &config.init {
                let fault = |error| TrainError::Checkpoint(init.clone(), error);
                let left = network.adopt(&Network::load(init).map_err(fault)?);
                log::info!("{}: not there, start fresh: {}", init.display(), left.join(" "));
            }
            let optimizer = Optimizer::new(&network.layout, config.optimizer.clone());
            return Ok(State {
                average: network.values.clone(),
                network,
                optimizer,
                step: 0,
                seen: 0,
            });
        }
        let fault = |error| TrainError::Checkpoint(path.clone(), error);
        let (network, extras, facts) = checkpoint::load_training(&path).map_err(fault)?;
        if network.layout.config != config.network {
            return Err(TrainError::OtherNetwork(path));
        }
        let mut optimizer = Optimizer::new(&network.layout, config.optimizer.clone());
        let mut average = network.values.clone();
        for (name, values) in extras {
            let place = match name.as_str() {
                "average" => &mut average,
                "first" => &mut optimizer.first,
                "second" => &mut optimizer.second,
                _ => continue,
            };
            if values.len() == place.len() {
                *place = values;
            }
        }
        let number = |name: &str| {
            facts.get(name).and_then(|text| text.parse().ok()).ok_or_else(|| {
                fault(CheckpointError::Format(format!("no number \"{name}\" in the metadata")))
            })
        };
        let (step, seen) = (number("step")?, number("seen")?);
        Ok(State { network, average, optimizer, step, seen })
    }

    fn advance(&mut self, config: &RunConfig, grads: &mut [f32], examples: usize) -> f32 {
        self.step += 1;
        self.seen += examples as u64;
        let rate = config.schedule.rate(self.seen);
        let length = self.optimizer.step(&mut self.network.values, grads, rate, self.step);
        // A young average would remember the random start for too long.
        let decay = config.average.min((1.0 + self.step as f32) / (10.0 + self.step as f32));
        for (average, value) in self.average.iter_mut().zip(&self.network.values) {
            *average += (1.0 - decay) * (value - *average);
        }
        length
    }

    fn progress(&self, config: &RunConfig, sums: LossSums, speed: f64) -> Progress {
        Progress {
            step: self.step,
            seen: self.seen,
            examples: config.schedule.examples,
            sums,
            rate: config.schedule.rate(self.seen),
            speed,
        }
    }

    fn averaged(&self) -> Network {
        Network { values: self.average.clone(), ..self.network.clone() }
    }

    fn save(&self, folder: &Path) -> Result<(), TrainError> {
        let path = folder.join("state.safetensors");
        let extras: [(&str, &[f32]); 3] = [
            ("average", &self.average),
            ("first", &self.optimizer.first),
            ("second", &self.optimizer.second),
        ];
        let facts = HashMap::from([
            ("step".to_owned(), self.step.to_string()),
            ("seen".to_owned(), self.seen.to_string()),
        ]);
        checkpoint::save_training(&path, &self.network, &extras, &facts)
            .map_err(|error| TrainError::Checkpoint(path, error))?;
        let path = folder.join("network.safetensors");
        self.averaged()
            .save(&path, Precision::Half)
            .map_err(|error| TrainError::Checkpoint(path, error))
    }
}

#[cfg(test)]
mod tests;
