//! `mavka regress`: trains the regressors of paper 002, and prints its table of errors beside theirs.

use super::output::{Failure, Sink};
use crate::conventional::regress::features::Features;
use crate::conventional::regress::samples::{Parts, Samples, Sizes, read};
use crate::conventional::regress::study::{Epoch, Errors, Study, errors, train};
use crate::errors::FileError;
use crate::play::network::{Installed, Networks};
use crate::progress::progress;
use clap::Args;
use indicatif::ProgressBar;
use nn::Query;
use nn::device::Backend;
use shakmaty::Position;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Their errors (paper 002): mean squared, mean absolute.
fn of_paper(features: Features) -> (f64, f64) {
    match features {
        Features::OneHot => (0.0323, 0.1183),
        Features::Positional => (0.0557, 0.1829),
    }
}

/// Train the regressors of paper 002 on labelled games.
///
/// Boards are balanced over 21 bins of win probability; every 50th game of each file is held out for the test.
/// A trained one is a network file: `WeightsFile FOLDER/one-hot.regressor` with `Search action-value` is the
/// paper's player without lookahead.
#[derive(Args, Clone, Debug)]
pub struct Regress {
    /// Data files with a value for every position (MAVG1)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder of the trained models
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Only this one: one-hot or positional; may be repeated
    #[arg(long = "model", value_name = "NAME", value_parser = read_features)]
    models: Vec<Features>,
    /// Boards to train on, at most
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    positions: usize,
    /// Times each board is seen, at most
    #[arg(long, default_value_t = 20, value_name = "N")]
    epochs: usize,
    /// Of first weights and order
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

fn read_features(text: &str) -> Result<Features, String> {
    let names = Features::ALL.map(Features::name).join(" or ");
    Features::named(text).ok_or_else(|| format!("expected {names}"))
}

impl Regress {
    /// Reads, trains and prints.
    ///
    /// # Errors
    /// A file cannot be read or written, or there is nothing to train on.
    pub fn run(self) -> Result<(), Failure> {
        let sizes = Sizes { training: self.positions, validation: 20_000, test: 50_000 };
        let bar = ProgressBar::new_spinner();
        let parts = read(&self.files, sizes, &mut || bar.inc(1))?;
        bar.finish_and_clear();
        let Parts { training, validation, test } = &parts;
        if [training, validation, test].iter().any(|part| part.boards.is_empty()) {
            return Err("the files hold too few games to train on, validate and test".into());
        }
        fs::create_dir_all(&self.folder).map_err(FileError::of(&self.folder))?;
        let mut out = Sink::default();
        out.say(format_args!(
            "{} boards to train on, {} to validate, {} to test\n",
            training.boards.len(),
            validation.boards.len(),
            test.boards.len()
        ));
        out.say("| model | MSE | MAE | R² | theirs: MSE | MAE | epochs | seconds | positions/s |");
        out.say("|---|---|---|---|---|---|---|---|---|");
        let mean = test.wins.iter().sum::<f32>() / test.wins.len() as f32;
        let guess = Errors::of(&vec![mean; test.wins.len()], &test.wins);
        out.say(row("the mean", guess, ".0833 | .25", "| |"));
        let (network, name, took) = of_network(test)?;
        let speed = test.boards.len() as f64 / took.as_secs_f64();
        out.say(row(&name, network, "|", &format!("| | {speed:.0}")));
        let models =
            if self.models.is_empty() { Features::ALL.to_vec() } else { self.models.clone() };
        for features in models {
            self.one(features, &parts, &mut out)?;
        }
        out.end()
    }

    fn one(&self, features: Features, parts: &Parts, out: &mut Sink) -> Result<(), Failure> {
        let begun = Instant::now();
        let bar = progress(self.epochs * parts.training.boards.len());
        let mut epochs = 0;
        let mut heard = |boards: usize, epoch: Option<Epoch>| {
            bar.inc(boards as u64);
            let Some(Epoch { number, rate, training, validation }) = epoch else { return };
            epochs = number;
            let line = format!(
                "{}: epoch {number}, rate {rate:.0e}, MSE {training:.4}, validation {:.4}",
                features.name(),
                validation.mse
            );
            if bar.is_hidden() { eprintln!("{line}") } else { bar.println(line) }
        };
        let study = Study {
            features,
            training: &parts.training,
            validation: &parts.validation,
            epochs: self.epochs,
            seed: self.seed,
        };
        let model = train(&study, &mut heard);
        bar.finish_and_clear();
        let took = begun.elapsed();
        let path = self.folder.join(format!("{}.regressor", features.name()));
        fs::write(&path, model.to_bytes()?).map_err(FileError::of(&path))?;
        let asked = Instant::now();
        let found = errors(&model, &parts.test);
        let speed = parts.test.boards.len() as f64 / asked.elapsed().as_secs_f64();
        let (mse, mae) = of_paper(features);
        let rest = format!("{epochs} | {:.0} | {speed:.0}", took.as_secs_f64());
        let name = format!("{} MLP", features.name());
        out.say(row(&name, found, &format!("{mse:.4} | {mae:.4}"), &rest));
        Ok(())
    }
}

/// What the built-in network's value is off by on the same boards.
fn of_network(test: &Samples) -> Result<(Errors, String, Duration), Failure> {
    let network = Installed.open(None, Backend::Cpu)?;
    let bar = progress(test.positions.len());
    let begun = Instant::now();
    let mut predicted = Vec::with_capacity(test.positions.len());
    for chunk in test.positions.chunks(16) {
        let legal: Vec<_> = chunk.iter().map(Position::legal_moves).collect();
        let queries: Vec<Query<'_>> =
            chunk.iter().zip(&legal).map(|(position, legal)| Query { position, legal }).collect();
        let answers = network.evaluator.evaluate(&queries)?;
        predicted.extend(answers.iter().map(|answer| answer.value));
        bar.inc(chunk.len() as u64);
    }
    bar.finish_and_clear();
    Ok((Errors::of(&predicted, &test.wins), network.name, begun.elapsed()))
}

fn row(name: &str, errors: Errors, theirs: &str, rest: &str) -> String {
    let Errors { mse, mae, r2 } = errors;
    format!("| {name} | {mse:.4} | {mae:.4} | {r2:.3} | {theirs} | {rest} |")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_columns_of_their_head() {
        let errors = Errors { mse: 0.05, mae: 0.2, r2: 0.4 };
        for (theirs, rest) in [(".0833 | .25", "| |"), ("|", "| | 5"), ("1 | 2", "3 | 4 | 5")] {
            assert_eq!(row("a", errors, theirs, rest).matches('|').count(), 10);
        }
        assert!(read_features("giraffe").unwrap_err().contains("one-hot or positional"));
    }
}
