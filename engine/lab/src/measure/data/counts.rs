//! Statistics of examples.

use std::fmt;
use train::data::{Example, Source, Terminal};

/// Bins of the histogram.
const BINS: usize = 20;
/// Sources in table order; unknown ones come last.
const SOURCES: [&str; 4] = ["action values", "game moves", "variations", "rules alone"];
const BAR_WIDTH: f64 = 40.0;

/// Counts of examples by source and by known targets.
#[derive(Default)]
pub struct ExampleCounts {
    all: u64,
    /// By source, without and with an action.
    kinds: [[u64; 2]; SOURCES.len()],
    moves: u64,
    ends: u64,
    best: u64,
    /// With values for all moves, and for some moves.
    all_values: u64,
    some_values: u64,
    value: u64,
    result: u64,
    /// Win probabilities.
    histogram: [u64; BINS],
}

fn number(source: Source) -> usize {
    let named = [Source::ActionValues, Source::GameMove, Source::Variation];
    named.iter().position(|&other| other == source).unwrap_or(named.len())
}

impl ExampleCounts {
    pub fn add(&mut self, example: &Example) {
        let source = number(example.source);
        self.all += 1;
        self.kinds[source][usize::from(example.features.has_action)] += 1;
        self.moves += example.moves.len() as u64;
        self.ends += u64::from(example.terminal != Terminal::Ongoing);
        self.best += u64::from(example.best.is_some());
        self.result += u64::from(example.result.is_some());
        let unknown = example.action_values.iter().filter(|value| value.is_nan()).count();
        if unknown < example.action_values.len() {
            *(if unknown == 0 { &mut self.all_values } else { &mut self.some_values }) += 1;
        }
        if !example.value.is_nan() {
            self.value += 1;
            let bin = (example.value * BINS as f32) as usize;
            self.histogram[bin.min(BINS - 1)] += 1;
        }
    }
}

impl fmt::Display for ExampleCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part| percent(part, self.all);
        writeln!(f, "| of {} examples | MAV(s) | MAV(s, a) |\n|---|---|---|", self.all)?;
        for (name, [state, action]) in SOURCES.iter().zip(self.kinds) {
            if state + action > 0 {
                writeln!(f, "| {name} | {} | {} |", share(state), share(action))?;
            }
        }
        writeln!(f)?;
        for (what, count) in [
            ("best move known", self.best),
            ("every move's value known", self.all_values),
            ("one move's value known", self.some_values),
            ("win probability known", self.value),
            ("result known", self.result),
            ("the game is over", self.ends),
        ] {
            writeln!(f, "{:>7} {what}", share(count))?;
        }
        let moves = self.moves as f64 / (self.all - self.ends).max(1) as f64;
        writeln!(f, "{moves:>7.1} moves on average\n")?;
        writeln!(f, "win probability of the side to move")?;
        let most = self.histogram.iter().copied().max().unwrap_or(0).max(1) as f64;
        for (bin, &count) in self.histogram.iter().enumerate() {
            let bar = "#".repeat((count as f64 / most * BAR_WIDTH).round() as usize);
            let low = bin as f64 / BINS as f64;
            let line = format!("{low:.2} {:>7} {bar}", percent(count, self.value));
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}
