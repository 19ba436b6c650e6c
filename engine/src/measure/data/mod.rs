//! `mavka data`: reads the stream of examples as training would, and tells what is in it and how fast one
//! thread delivers it. Trains nothing.

mod plot;
mod tally;

use super::say;
use clap::Args;
use nn::data::mix::SourceReport;
use nn::data::{Kinds, MixConfig, MixSource, Mixer, exclude_from_files};
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Tally;

/// Arguments of `mavka data`.
#[derive(Args, Debug)]
pub struct Data {
    /// Data files (MAVG1 or PVGR1), each with its share of the examples
    #[arg(required = true, value_name = "FILE[=SHARE]", value_parser = read_share)]
    files: Vec<(PathBuf, f64)>,
    /// Stop after so many seconds, at the earliest when the buffer is full
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Settings of the mixture (JSON); those not named keep their defaults
    #[arg(long, value_name = "FILE")]
    kinds: Option<PathBuf>,
    /// Files (EPD, CSV) whose positions must not be trained on
    #[arg(long, num_args = 1.., value_name = "FILE")]
    exclude: Vec<PathBuf>,
    /// Examples among which the next is drawn
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    buffer: usize,
    /// Seed of the stream
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Draw the histogram of win probabilities into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Examples taken at once, as many as a step of training takes.
const BATCH: usize = 256;

/// `FILE` or `FILE=SHARE`.
pub(crate) fn read_share(text: &str) -> Result<(PathBuf, f64), String> {
    match text.rsplit_once('=') {
        None => Ok((text.into(), 1.0)),
        Some((path, share)) => {
            let share = share.parse().map_err(|_| format!("share \"{share}\" is no number"))?;
            Ok((path.into(), share))
        }
    }
}

impl Data {
    /// Reads and prints.
    ///
    /// # Errors
    /// A file or a setting cannot be used, or the picture cannot be written.
    pub fn run(&self) -> Result<(), String> {
        let report = self.read().map_err(|error| error.to_string())?;
        say(&report)?;
        self.plot.as_ref().map_or(Ok(()), |path| plot::draw(&report.tally, path))
    }

    fn read(&self) -> Result<Report, Box<dyn Error>> {
        let source =
            |(path, weight): &(PathBuf, f64)| MixSource { path: path.clone(), weight: *weight };
        let mut config = MixConfig::new(self.files.iter().map(source).collect());
        config.kinds = self.kinds.as_deref().map_or(Ok(Kinds::default()), read_kinds)?;
        config.excluded = Arc::new(exclude_from_files(&self.exclude)?);
        (config.buffer, config.seed) = (self.buffer, self.seed);
        let length = Duration::try_from_secs_f64(self.seconds)?;
        let started = Instant::now();
        let mut mixer = Mixer::new(config)?;
        let mut tally = Tally::default();
        loop {
            mixer.next_batch(BATCH)?.iter().for_each(|example| tally.add(example));
            let elapsed = started.elapsed();
            if elapsed >= length {
                return Ok(Report { sources: mixer.report(), tally, elapsed });
            }
        }
    }
}

fn read_kinds(path: &Path) -> Result<Kinds, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// What was read.
struct Report {
    sources: Vec<SourceReport>,
    tally: Tally,
    elapsed: Duration,
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
        write!(f, "\n{}", self.tally)
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::data::record::{Header, MavgGame};
    use nn::data::write::FileWriter;
    use nn::data::{Format, Game};
    use shakmaty::Chess;

    /// A file of sixty games of two moves each.
    fn sample(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("mavka-{name}-{}.zst", std::process::id()));
        let mut writer = FileWriter::create(&path, Format::Mavg).unwrap();
        for number in 0..60 {
            let mut game = MavgGame::new(Header::new(Chess::default(), number % 2 == 1, 2));
            for score in [30, -20] {
                game.push(0, (3, number % 20), score, &[64; 20]).unwrap();
            }
            writer.write(&Game::Mavg(game)).unwrap();
        }
        writer.finish_file().unwrap();
        path
    }

    fn data(path: &Path) -> Data {
        Data {
            files: vec![(path.to_owned(), 1.0)],
            seconds: 0.0,
            kinds: None,
            exclude: Vec::new(),
            buffer: 8,
            seed: 1,
            plot: None,
        }
    }

    #[test]
    fn the_report_tells_of_the_file() {
        let path = sample("data");
        let report = data(&path).read();
        let _ = std::fs::remove_file(&path);
        let report = report.unwrap();
        assert!(report.sources[0].counts.chess960 > 0 && report.sources[0].counts.duplicates > 0);
        let text = report.to_string();
        for words in ["a second", "| mavka-data-", "| 100.0 % |", "MAV(s, a)", "result known"] {
            assert!(text.contains(words), "{words} in:\n{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert!(data(Path::new("no/such/file")).run().unwrap_err().contains("no/such/file"));
        let no_time = Data { seconds: -1.0, ..data(Path::new("no/such/file")) };
        assert!(no_time.run().unwrap_err().contains("negative"));
        let no_kinds = Data { kinds: Some("no/kinds".into()), ..data(Path::new("no/such/file")) };
        assert!(no_kinds.run().unwrap_err().contains("no/kinds"));
        assert!(read_share("file=much").unwrap_err().contains("much"));
        assert_eq!(read_share("a=b=0.5"), Ok(("a=b".into(), 0.5)));
    }
}
