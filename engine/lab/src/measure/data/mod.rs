//! The stream of training examples: what is in it, and how fast one thread delivers it. Trains nothing.

pub mod counts;
pub mod plot;

use super::MeasureError;
use counts::{ExampleCounts, percent};
use std::fmt;
use std::time::{Duration, Instant};
use train::data::mix::SourceReport;
use train::data::{MixConfig, Mixer};

/// Examples taken at once, as many as a step of training takes.
const BATCH: usize = 256;

/// Reads for as long as `length`, at the earliest until the buffer is full.
///
/// # Errors
/// A file or a setting cannot be used.
pub fn read(config: MixConfig, length: Duration) -> Result<Report, MeasureError> {
    let started = Instant::now();
    let mut mixer = Mixer::new(config)?;
    let mut counts = ExampleCounts::default();
    loop {
        mixer.next_batch(BATCH)?.iter().for_each(|example| counts.add(example));
        let elapsed = started.elapsed();
        if elapsed >= length {
            return Ok(Report { sources: mixer.report(), counts, elapsed });
        }
    }
}

/// What was read.
pub struct Report {
    /// By file.
    pub sources: Vec<SourceReport>,
    /// What the examples are made of.
    pub counts: ExampleCounts,
    /// How long it took.
    pub elapsed: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made: u64 = self.sources.iter().map(|source| source.counts.examples).sum();
        writeln!(
            f,
            "{made} examples in {:.1} s of one thread: {:.0} a second\n",
            self.elapsed.as_secs_f64(),
            made as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
        )?;
        writeln!(
            f,
            "| file | share | games | passes | repeated | excluded | Chess960 | mirrored |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for source in &self.sources {
            let counts = source.counts;
            let asked = counts.examples + counts.duplicates + counts.excluded;
            let name = source.path.file_name().unwrap_or(source.path.as_os_str());
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                name.to_string_lossy(),
                percent(counts.examples, made),
                source.games,
                source.passes,
                percent(counts.duplicates, asked),
                counts.excluded,
                percent(counts.chess960, counts.examples),
                percent(counts.mirrored, counts.examples),
            )?;
        }
        write!(f, "\n{}", self.counts)
    }
}
