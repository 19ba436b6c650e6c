//! A complete run of tuning: reads labels, network and puzzles, optionally optimises a further setting, and tries all
//! settings at every number of nodes.

use super::compare::{self, Mean, SettingResult};
use super::spsa::{Dimension, Spsa};
use super::trial::{Choice, Setting, TrialError, TrialParams, set_near};
use crate::labels::label_file::{LabelRecipe, LabelledPosition, LabelsError, read};
use crate::measure::MeasureError;
use crate::measure::puzzles::open::open_with_moves;
use engine::play::network::{Installed, Networks};
use engine::process::errors::wraps;
use engine::process::interrupt::while_reading;
use engine::process::progress::progress;
use nn::rng::Rng;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Labels written by `mavka-lab label`.
    pub labels: PathBuf,
    /// Maximum number of positions, from the start.
    pub limit: Option<usize>,
    /// Settings; the first is the baseline.
    pub settings: Vec<Setting>,
    /// Numbers of nodes per search.
    pub nodes: Vec<u64>,
    /// See [`TrialParams::cap`].
    pub cap: f32,
    /// A file of puzzles, and their maximum number.
    pub puzzles: Option<(PathBuf, usize)>,
    /// Network file; None = the built-in network.
    pub weights: Option<PathBuf>,
    /// Optimisation of a further setting.
    pub optimisation: Option<Optimisation>,
    /// Set to stop early and print what is done.
    pub stop: Arc<AtomicBool>,
}

/// Optimisation of a few options, starting at the first setting. Half of the positions train, the other half test.
#[derive(Clone, Debug)]
pub struct Optimisation {
    /// Options to optimise.
    pub dimensions: Vec<Dimension>,
    /// Number of steps.
    pub steps: u32,
    /// Positions per step.
    pub sample: usize,
    /// Seed of samples and directions.
    pub seed: u64,
}

/// Error of a run.
#[derive(Debug)]
pub enum TuningError {
    /// The labels cannot be read.
    Labels(LabelsError),
    /// Network or puzzles cannot be read.
    Measure(MeasureError),
    /// A setting cannot be tried.
    Trial(TrialError),
}

impl fmt::Display for TuningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuningError::Labels(why) => why.fmt(f),
            TuningError::Measure(why) => why.fmt(f),
            TuningError::Trial(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for TuningError {}

wraps! { TuningError: Labels(LabelsError), Measure(MeasureError), Trial(TrialError) }

impl Tuning {
    /// Runs all trials. `say` receives a description first; shows a progress bar on stderr.
    ///
    /// # Errors
    /// A file cannot be read, an option is unknown, or the network fails.
    pub fn run(
        mut self,
        say: &mut (dyn FnMut(String) + Send),
    ) -> Result<Vec<SettingResult>, TuningError> {
        let limit = self.limit.unwrap_or(usize::MAX);
        let (what, mut positions) = while_reading(|| open_labels(&self.labels, limit))?;
        let networks = Installed::default();
        let network =
            networks.open_anywhere(self.weights.as_deref()).map_err(MeasureError::from)?;
        say(format!("{}; {what}", network.name));
        let bench =
            |nodes| TrialParams { network: &network, nodes, cap: self.cap, stop: &self.stop };
        if let Some(optimisation) = &self.optimisation {
            let judges = positions.split_off(positions.len() / 2);
            let bench = bench(self.nodes.first().copied().unwrap_or(1));
            if let Some(first) = self.settings.first() {
                let found = optimisation.run(first, &bench, &positions)?;
                say(format!("found {}", found.name));
                self.settings.push(found);
            }
            positions = judges;
        }
        let puzzles = match &self.puzzles {
            Some((file, limit)) => open_with_moves(file, Some(*limit))?,
            None => Vec::new(),
        };
        let settings = &self.settings;
        let names: Vec<String> = settings.iter().map(|setting| setting.name.clone()).collect();
        let mut rows = Vec::new();
        for nodes in self.nodes {
            let bar = progress(positions.len() + puzzles.len());
            let done = || bar.inc(1);
            let choices = bench(nodes).choices(&positions, settings, &done)?;
            let solved = bench(nodes).solved(&puzzles, settings, &done)?;
            bar.finish_and_clear();
            if self.stop.load(Ordering::Relaxed) {
                let (tried, solved) = (choices.len(), solved.len());
                say(format!(
                    "stopped after {tried} positions and {solved} puzzles at {nodes} nodes"
                ));
                if tried + solved == 0 {
                    break;
                }
            }
            rows.extend(compare::rows(&names, nodes, &choices, &solved));
        }
        Ok(rows)
    }
}

/// The description of the positions of `path`, and the positions, `limit` at most.
fn open_labels(path: &Path, limit: usize) -> Result<(String, Vec<LabelledPosition>), LabelsError> {
    let (LabelRecipe { engine, best_nodes, move_nodes, .. }, mut positions) = read(path)?;
    positions.truncate(limit);
    let count = positions.len();
    let how = format!("labelled by {engine} with {best_nodes} and {move_nodes} nodes");
    Ok((format!("{count} positions {how}"), positions))
}

impl Optimisation {
    /// The final setting.
    fn run(
        &self,
        first: &Setting,
        bench: &TrialParams<'_>,
        positions: &[LabelledPosition],
    ) -> Result<Setting, TrialError> {
        let mut spsa = Spsa::new(self.dimensions.clone(), self.steps, self.seed);
        let mut random = Rng::from_state(self.seed);
        let mut order: Vec<&LabelledPosition> = positions.iter().collect();
        let bar = progress(self.steps as usize);
        for _ in 0..self.steps {
            random.shuffle(&mut order);
            let sample: Vec<LabelledPosition> =
                order.iter().take(self.sample).map(|position| (*position).clone()).collect();
            let [plus, minus] = spsa.pair().map(|values| self.setting(first, &values));
            let choices = bench.choices(&sample, &[plus?, minus?], &|| ())?;
            // A truncated sample must not count like a complete one.
            if bench.stop.load(Ordering::Relaxed) {
                break;
            }
            let difference = |row: &Vec<Choice>| match row[..] {
                [plus, minus] => f64::from(plus.regret - minus.regret),
                _ => 0.0,
            };
            spsa.learn(Mean::of(choices.iter().map(difference)));
            bar.set_message(self.name(&spsa.values()));
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.setting(first, &spsa.values())
    }

    fn name(&self, values: &[f64]) -> String {
        let pairs = self.dimensions.iter().zip(values);
        pairs.map(|(d, value)| format!("{}={value:.3}", d.name)).collect::<Vec<_>>().join(",")
    }

    /// The first setting with these values, each clamped to its option's range.
    fn setting(&self, first: &Setting, values: &[f64]) -> Result<Setting, TrialError> {
        let mut settings = first.settings.clone();
        for (dimension, value) in self.dimensions.iter().zip(values) {
            set_near(&mut settings, &dimension.name, *value)?;
        }
        Ok(Setting { name: self.name(values), settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_own_labels_are_described() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/tuning.jsonl.zst");
        let (what, positions) = open_labels(&own, 7).unwrap();
        assert_eq!(positions.len(), 7);
        assert_eq!(what, "7 positions labelled by Stockfish 15.1 with 100000 and 20000 nodes");
    }
}
