//! Statistics and throughput of the stream of training examples, on one thread. Trains nothing.

pub mod counts;

use super::MeasureError;
use counts::{ExampleCounts, percent};
use std::fmt;
use std::time::{Duration, Instant};
use train::data::mix::SourceReport;
use train::data::{MixConfig, Mixer};

/// Batch size, as in training.
const BATCH: usize = 256;

/// Reads for `length`, but at least until the buffer is full.
///
/// # Errors
/// A file or a setting cannot be used.
pub fn read(config: MixConfig, length: Duration) -> Result<DataReport, MeasureError> {
    let started = Instant::now();
    let mut mixer = Mixer::new(config)?;
    let mut counts = ExampleCounts::default();
    loop {
        mixer.next_batch(BATCH)?.iter().for_each(|example| counts.add(example));
        let elapsed = started.elapsed();
        if elapsed >= length {
            return Ok(DataReport { sources: mixer.report(), counts, elapsed });
        }
    }
}

/// Result.
pub struct DataReport {
    /// By file.
    pub sources: Vec<SourceReport>,
    /// Statistics of the examples.
    pub counts: ExampleCounts,
    /// Time taken.
    pub elapsed: Duration,
}

impl fmt::Display for DataReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let examples: u64 = self.sources.iter().map(|source| source.counts.examples).sum();
        writeln!(
            f,
            "{examples} examples in {:.1} s of one thread: {:.0} a second\n",
            self.elapsed.as_secs_f64(),
            examples as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
        )?;
        writeln!(
            f,
            "| file | share | games | passes | repeated | excluded | Chess960 | mirrored |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for source in &self.sources {
            let counts = source.counts;
            let drawn = counts.examples + counts.duplicates + counts.excluded;
            let name = source.path.file_name().unwrap_or(source.path.as_os_str());
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                name.to_string_lossy(),
                percent(counts.examples, examples),
                source.games,
                source.passes,
                percent(counts.duplicates, drawn),
                counts.excluded,
                percent(counts.chess960, counts.examples),
                percent(counts.mirrored, counts.examples),
            )?;
        }
        write!(f, "\n{}", self.counts)
    }
}
