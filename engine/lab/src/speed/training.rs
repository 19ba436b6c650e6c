//! `mavka-lab train --stages`: where the time of a training step goes, forward and backward by stage, and what
//! surrounds them, as a table and a picture.

use crate::plots::Bars;
use crate::plots::PlotError;
use nn::cpu::profile::{Stage, Stages};
use std::path::Path;
use std::time::Duration;
use train::network::Budget;

/// The shares of a step, in seconds of one thread for an example.
pub struct TrainingTimes {
    threads: usize,
    /// Examples a second, all threads together.
    speed: f64,
    /// Forward and backward.
    rows: Vec<(String, [f64; 2])>,
}

impl TrainingTimes {
    /// The times of steps on `threads` threads.
    #[must_use]
    pub fn new(budget: &Budget, threads: usize) -> TrainingTimes {
        let examples = budget.examples.max(1) as f64;
        let each = |time: Duration| time.as_secs_f64() / examples;
        // On the clock all threads spend it, busy or not.
        let clock = |time: Duration| threads as f64 * each(time);
        let times = &budget.times;
        let passes = Stage::ALL.into_iter().filter(|stage| *stage != Stage::Outside);
        let mut rows: Vec<_> = passes
            .map(|stage| {
                let spent = |stages: &Stages| each(stages.spent(stage));
                (stage.name().to_owned(), [spent(&times.forward), spent(&times.backward)])
            })
            .collect();
        let surrounding = [
            ("losses", each(times.losses)),
            ("packing weights", clock(times.packing)),
            ("gradient sums", clock(times.sums)),
            ("optimiser", clock(budget.optimizer)),
            ("data", clock(budget.data)),
        ];
        rows.extend(surrounding.map(|(name, time)| (name.to_owned(), [time, 0.0])));
        let known: f64 = rows.iter().flat_map(|(_, pair)| *pair).sum();
        let idle = (clock(budget.elapsed) - known).max(0.0);
        rows.push(("waiting".to_owned(), [idle, 0.0]));
        TrainingTimes { threads, speed: examples / budget.elapsed.as_secs_f64(), rows }
    }

    /// The table, a line at a time.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let total: f64 = self.rows.iter().flat_map(|(_, pair)| *pair).sum();
        let row = |name: &str, [forward, backward]: [f64; 2]| {
            let share = 100.0 * (forward + backward) / total;
            let (forward, backward) = (1e6 * forward, 1e6 * backward);
            format!("{name:<16} {forward:>9.1} {backward:>9.1} {share:>6.1}%")
        };
        let mut lines = vec![
            format!(
                "{:.0} examples/s on {} threads; microseconds an example on one:",
                self.speed, self.threads
            ),
            format!("{:<16} {:>9} {:>9} {:>7}", "stage", "forward", "backward", "share"),
        ];
        lines.extend(self.rows.iter().map(|(name, pair)| row(name, *pair)));
        let sum = |i: usize| self.rows.iter().map(|(_, pair)| pair[i]).sum();
        lines.push(row("all", [sum(0), sum(1)]));
        lines
    }

    /// Draws two bars for each stage: forward and backward.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn draw(&self, path: &Path) -> Result<(), PlotError> {
        let title = format!("Training, {:.0} examples/s on {} threads", self.speed, self.threads);
        Bars { title, labels: ["forward", "backward"], rows: self.rows.clone() }.draw(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_add_up_to_the_time_of_all_threads() {
        let budget = Budget {
            examples: 100,
            elapsed: Duration::from_secs(2),
            data: Duration::from_millis(100),
            optimizer: Duration::from_millis(300),
            ..Budget::default()
        };
        let times = TrainingTimes::new(&budget, 2);
        let total: f64 = times.rows.iter().flat_map(|(_, pair)| *pair).sum();
        assert!((total - 0.04).abs() < 1e-9, "{total}");
        let lines = times.lines();
        assert!(lines[0].starts_with("50 examples/s"), "{}", lines[0]);
        let line = |name: &str| lines.iter().find(|line| line.starts_with(name)).unwrap();
        assert!(line("optimiser").contains("6000.0") && line("optimiser").contains("15.0%"));
        assert!(line("waiting").contains("80.0%") && line("all").contains("40000.0"));
        assert!(lines.iter().any(|line| line.starts_with("FFN down")));
    }
}
