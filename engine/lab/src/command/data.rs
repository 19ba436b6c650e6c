//! `mavka-lab data`: arguments and output of [`crate::measure::data`].

use super::args::read_share;
use crate::measure::data::{self, DataReport};
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::process::errors::FileError;
use engine::process::files::read_whole_text;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use train::data::{Kinds, MixConfig, MixSource, exclude_from_files};

/// Arguments of `mavka-lab data`.
#[derive(Args, Debug)]
pub struct DataArgs {
    /// Data files (MAVG1, PVGR1 or SELF1), each with its share of the examples
    #[arg(required = true, value_name = "FILE[=SHARE]", value_parser = read_share)]
    files: Vec<(PathBuf, f64)>,
    /// Duration in seconds
    #[arg(
        long,
        default_value_t = 10.0,
        help = "Stop after this many seconds, at the earliest when the buffer is full"
    )]
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
}

impl DataArgs {
    /// Reads and prints.
    ///
    /// # Errors
    /// A file or a setting cannot be used.
    pub fn run(&self) -> Result<(), Failure> {
        let report = self.read()?;
        let mut out = StdoutSink::default();
        out.say(&report);
        out.end()
    }

    fn read(&self) -> Result<DataReport, Failure> {
        let source =
            |(path, weight): &(PathBuf, f64)| MixSource { path: path.clone(), weight: *weight };
        let mut config = MixConfig::new(self.files.iter().map(source).collect());
        config.kinds = self.kinds.as_deref().map_or(Ok(Kinds::default()), read_kinds)?;
        config.excluded = Arc::new(exclude_from_files(&self.exclude)?);
        (config.buffer, config.seed) = (self.buffer, self.seed);
        let length = Duration::try_from_secs_f64(self.seconds)?;
        Ok(data::read(config, length)?)
    }
}

fn read_kinds(path: &Path) -> Result<Kinds, Failure> {
    let text = read_whole_text(path)?;
    Ok(serde_json::from_str(&text).map_err(FileError::of(path))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Chess;
    use train::data::record::{GameResult, Header, MavgGame};
    use train::data::write::FileWriter;
    use train::data::{Format, Game};

    /// A file of sixty games of two moves each.
    fn sample(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("mavka-{name}-{}.zst", std::process::id()));
        let mut writer = FileWriter::create(&path, Format::Mavg).unwrap();
        for number in 0..60 {
            let mut game =
                MavgGame::new(Header::new(Chess::default(), number % 2 == 1, GameResult::WhiteWon));
            for score in [30, -20] {
                game.push(0, (3, number % 20), score, &[64; 20]).unwrap();
            }
            writer.write(&Game::Mavg(game)).unwrap();
        }
        writer.finish_file().unwrap();
        path
    }

    fn data(path: &Path) -> DataArgs {
        DataArgs {
            files: vec![(path.to_owned(), 1.0)],
            seconds: 0.0,
            kinds: None,
            exclude: Vec::new(),
            buffer: 8,
            seed: 1,
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
        assert!(
            data(Path::new("no/such/file")).run().unwrap_err().to_string().contains("no/such/file")
        );
        let no_time = DataArgs { seconds: -1.0, ..data(Path::new("no/such/file")) };
        assert!(no_time.run().unwrap_err().to_string().contains("negative"));
        let no_kinds =
            DataArgs { kinds: Some("no/kinds".into()), ..data(Path::new("no/such/file")) };
        assert!(no_kinds.run().unwrap_err().to_string().contains("no/kinds"));
    }
}
