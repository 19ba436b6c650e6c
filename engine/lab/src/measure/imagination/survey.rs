//! Accuracy along many lines and searches of held-out games: runs the probes, says the counts, draws them.

use super::counts::Counts;
use super::{game_probe, plot, search_probe};
use crate::measure::MeasureError;
use nn::evaluator::cpu::CpuEvaluator;
use std::path::PathBuf;
use std::sync::Arc;
use train::data::MixConfig;
use train::data::validation::{HeldOut, Stretch};

/// The material to count: stretches of the held-out games of data files, and searches from some of them.
#[derive(Clone, Debug)]
pub struct ImaginationSurvey {
    /// Data files.
    pub files: Vec<PathBuf>,
    /// Stretches of games of each file and kind of chess.
    pub stretches: usize,
    /// Plies imagined of each.
    pub depth: usize,
    /// Stretches of each that are also searched from.
    pub searches: usize,
    /// Simulations of each search.
    pub nodes: u64,
    /// Draw what holds at which depth into this SVG.
    pub plot: Option<PathBuf>,
}

impl ImaginationSurvey {
    /// Measures and says tables, in per cent with halves of the 95 % intervals.
    ///
    /// # Errors
    /// A file cannot be used, the network fails, or the picture cannot be drawn.
    pub fn run(
        &self,
        evaluator: &Arc<CpuEvaluator>,
        say: &mut dyn FnMut(String),
    ) -> Result<(), MeasureError> {
        let mut curves = Vec::new();
        for path in &self.files {
            let held = HeldOut::read(path, &MixConfig::new(Vec::new()))?;
            let stretches = held.stretches(self.stretches, self.depth)?;
            for (kind, chess960) in [("standard", false), ("Chess960", true)] {
                let own: Vec<Stretch> = stretches
                    .iter()
                    .filter(|stretch| stretch.chess960 == chess960)
                    .cloned()
                    .collect();
                if own.is_empty() {
                    continue;
                }
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = format!("{} {kind}", name.split('.').next().unwrap_or_default());
                let mut counts = Counts::new(self.depth);
                game_probe::walk(&**evaluator, &own, &mut counts)?;
                say(format!("\n{name}, in games\n{counts}"));
                curves.push((format!("{name}, in games"), counts));
                if self.searches > 0 {
                    let roots = spread(&own, self.searches);
                    let counts = Counts::new(self.depth);
                    let counts = search_probe::search(evaluator, &roots, self.nodes, counts);
                    say(format!("\n{name}, in searches of {} nodes\n{counts}", self.nodes));
                    curves.push((format!("{name}, in searches"), counts));
                }
            }
        }
        match &self.plot {
            Some(path) => Ok(plot::draw(&curves, path)?),
            None => Ok(()),
        }
    }
}

/// At most `limit` of the stretches, evenly spread.
fn spread(stretches: &[Stretch], limit: usize) -> Vec<&Stretch> {
    let step = stretches.len().div_ceil(limit.max(1)).max(1);
    stretches.iter().step_by(step).collect()
}
