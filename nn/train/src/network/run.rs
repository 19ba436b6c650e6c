//! A training run: batches from the mixer, one optimiser step each, the weights' moving average (EMA), losses
//! to a CSV, and a state file from which a killed run resumes.

use super::config::RunConfig;
use super::error::TrainError;
use super::loss::LossSums;
use super::loss_csv::LossCsv;
use super::players::Players;
use super::state::TrainingState;
use super::step::{Step, StepError};
use super::teacher::Teacher;
use super::watch::Watcher;
use crate::data::{DataError, Example, KeySet, MixConfig, MixSource, exclude_from_files, spawn};
use crossbeam::channel::Receiver;
use nn::checkpoint::Network;
use nn::device::guarded;
use nn::files::{check_ordinary, make_folder, try_lock, write_whole};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Settings of a session that do not affect what is learnt.
#[derive(Clone, Debug)]
pub struct Session {
    /// Folder of configuration, losses, state and network.
    pub folder: PathBuf,
    /// Time between two checkpoints.
    pub checkpoint_every: Duration,
}

/// Trains on `step`'s device until the schedule's end or until the watcher stops it, beginning at the folder's
/// state file. Returns the averaged network.
///
/// # Errors
/// Invalid configuration, damaged data or state, a full disk, a diverging loss or gradient, a folder in use by
/// another run. The state file of the last checkpoint stays.
pub fn run(
    config: &RunConfig,
    session: &Session,
    step: &mut dyn Step,
    watcher: &mut dyn Watcher,
) -> Result<Network, TrainError> {
    config.check()?;
    make_folder(&session.folder).map_err(|error| TrainError::Io(session.folder.clone(), error))?;
    let _held = hold(&session.folder)?;
    let excluded = exclude_from_files(&config.exclude)?;
    let state = TrainingState::load_or_new(config, &excluded, &session.folder)?;
    let teacher = config.teacher.as_deref().map(Teacher::load).transpose()?;
    let players = Players::load(config, &state.network.layout)?;
    save_config(config, &session.folder)?;
    let csv = LossCsv::open(&session.folder.join("losses.csv"), state.step)?;
    let batches = batches(config, excluded, state.seen);
    Training { config, session, state, csv, teacher, players }.run(&batches, step, watcher)
}

/// A running run.
struct Training<'a> {
    config: &'a RunConfig,
    session: &'a Session,
    state: TrainingState,
    csv: LossCsv,
    teacher: Option<Teacher>,
    players: Option<Players>,
}

impl Training<'_> {
    fn run(
        mut self,
        batches: &Receiver<Result<Vec<Example>, DataError>>,
        step: &mut dyn Step,
        watcher: &mut dyn Watcher,
    ) -> Result<Network, TrainError> {
        let Training { config, session, state, csv, teacher, players } = &mut self;
        let mut grads = vec![0.0; state.network.layout.len];
        let (started, first_seen) = (Instant::now(), state.seen);
        let mut saved = Instant::now();
        let mut recent = LossSums::default();
        let mut progress = state.progress(config, recent, 0.0);
        while state.seen < config.schedule.examples {
            // The stream is endless: a closed channel is a fault.
            let mut batch = batches.recv().map_err(|_| TrainError::MixerDied)??;
            if let Some(teacher) = teacher {
                guarded(|| teacher.label(&mut batch))
                    .map_err(|error| TrainError::Step(StepError(error.0)))?;
            }
            let at = state.step;
            let sums = match players {
                None => step.gradient(&state.network.values, &batch, &mut grads),
                Some(players) => {
                    let player = players.of_step(at);
                    players.tilt(player, &mut batch);
                    let params = Players::parameters(&state.network, player);
                    let sums = step.gradient(&params, &batch, players.gradient_of_one(&mut grads));
                    players.complete(player, &mut grads);
                    sums
                }
            }
            .map_err(TrainError::Step)?;
            if !sums.total(&config.loss).is_finite() {
                return Err(TrainError::Diverged { what: "loss", step: at });
            }
            // Its length is finite only if the whole gradient is.
            let length = state.advance(config, &grads, batch.len());
            if !length.is_finite() {
                return Err(TrainError::Diverged { what: "gradient", step: at });
            }
            recent.add(&sums);
            let speed = (state.seen - first_seen) as f64 / started.elapsed().as_secs_f64();
            progress = state.progress(config, recent, speed);
            if csv.row(config, &progress, length)? {
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
}

/// Locks the folder while the returned file lives: two runs would overwrite each other's state.
fn hold(folder: &Path) -> Result<File, TrainError> {
    let path = folder.join("lock");
    // Opening a FIFO would wait for its reader.
    check_ordinary(&path).map_err(|error| TrainError::Io(path.clone(), error))?;
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let file = file.map_err(|error| TrainError::Io(path, error))?;
    if !try_lock(&file, folder) {
        return Err(TrainError::Busy(folder.to_owned()));
    }
    Ok(file)
}

/// The batches of a run after `seen` examples.
pub(super) fn batches(
    config: &RunConfig,
    excluded: KeySet,
    seen: u64,
) -> Receiver<Result<Vec<Example>, DataError>> {
    spawn(mix_config(config, excluded, seen), config.batch, 4)
}

fn mix_config(config: &RunConfig, excluded: KeySet, seen: u64) -> MixConfig {
    let source =
        |(path, weight): &(PathBuf, f64)| MixSource { path: path.clone(), weight: *weight };
    let mut mix = MixConfig::new(config.data.iter().map(source).collect());
    mix.kinds = config.kinds;
    mix.buffer = config.buffer;
    mix.seed = config.seed;
    mix.skip = seen;
    mix.excluded = Arc::new(excluded);
    mix
}

fn save_config(config: &RunConfig, folder: &Path) -> Result<(), TrainError> {
    let path = folder.join("config.json");
    let text = serde_json::to_string_pretty(config)
        .map_err(|error| TrainError::Io(path.clone(), std::io::Error::other(error)))?;
    write_whole(&path, text + "\n").map_err(|error| TrainError::Io(path, error))
}

#[cfg(test)]
mod tests;
