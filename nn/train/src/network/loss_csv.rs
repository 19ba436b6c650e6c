//! `losses.csv`: the losses of a run, one row per [`STEPS`] steps. Rows after the last checkpoint of a killed
//! run are dropped on resumption, because their steps are repeated.

use super::config::RunConfig;
use super::error::TrainError;
use super::loss::Loss;
use super::watch::Progress;
use nn::files::write_whole;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Steps between rows.
const STEPS: u64 = 20;

/// The open file.
pub(super) struct LossCsv {
    path: PathBuf,
    file: File,
}

impl LossCsv {
    /// Opens or creates the file of a run that resumes after `step`, and drops the rows of later steps.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path, step: u64) -> Result<LossCsv, TrainError> {
        let io = |error| TrainError::Io(path.to_owned(), error);
        if !path.exists() {
            let heads = Loss::NAMES.join(",");
            let head = format!("step,examples,rate,gradient,speed,total,{heads}\n");
            write_whole(path, head).map_err(io)?;
        }
        let text = std::fs::read_to_string(path).map_err(io)?;
        let kept = rows_until(&text, step);
        if kept != text {
            write_whole(path, kept).map_err(io)?;
        }
        let file = OpenOptions::new().append(true).open(path).map_err(io)?;
        Ok(LossCsv { path: path.to_owned(), file })
    }

    /// Writes a row if one is due; returns whether it did.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn row(
        &mut self,
        config: &RunConfig,
        p: &Progress,
        length: f32,
    ) -> Result<bool, TrainError> {
        if !p.step.is_multiple_of(STEPS) {
            return Ok(false);
        }
        let heads = p.sums.parts.map(|part| format!("{:.4}", part.mean())).join(",");
        let (speed, total) = (p.speed, p.sums.total(&config.loss));
        writeln!(
            self.file,
            "{},{},{:.3e},{length:.3},{speed:.0},{total:.4},{heads}",
            p.step, p.seen, p.rate
        )
        .map_err(|error| TrainError::Io(self.path.clone(), error))?;
        Ok(true)
    }
}

/// The header and the whole rows of `text` up to `step`.
fn rows_until(text: &str, step: u64) -> String {
    let of = |row: &str| row.split(',').next().and_then(|number| number.parse::<u64>().ok());
    let keeps = |(number, row): (usize, &str)| {
        row.ends_with('\n') && (number == 0 || of(row).is_some_and(|of| of <= step))
    };
    let rows = text.split_inclusive('\n').enumerate();
    rows.filter(|row| keeps(*row)).map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_rows_up_to_the_checkpoint_stay() {
        let text = "step,total\n20,3\n40,2\n60,1\n80,";
        assert_eq!(rows_until(text, 40), "step,total\n20,3\n40,2\n");
        assert_eq!(rows_until(text, 100), "step,total\n20,3\n40,2\n60,1\n");
        assert_eq!(rows_until("", 40), "");
    }
}
