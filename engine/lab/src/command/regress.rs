//! `mavka-lab regress`: trains the regressors of paper 002, and prints its table of errors beside theirs.

use super::args::WordError;
use crate::conventional::regress::average::{Average, List, Named, opening};
use crate::conventional::regress::confusion::Confusion;
use crate::conventional::regress::features::Features;
use crate::conventional::regress::model::{OpenError, Regressor};
use crate::conventional::regress::samples::{Parts, Samples, Sizes, read};
use crate::conventional::regress::study::{Epoch, Errors, Study, predictions, train};
use crate::conventional::regress::successors::BoardValue;
use clap::Args;
use engine::command::output::{Failure, Sink};
use engine::play::network::{Installed, Networks};
use engine::process::errors::FileError;
use engine::process::files::{
    self, check_folder, check_outputs, check_shared, make_folder, write_whole,
};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::progress;
use engine::process::stderr_log::write_stderr;
use indicatif::ProgressBar;
use nn::Query;
use nn::device::Backend;
use shakmaty::Position;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// File that lists the folder's models as an ensemble.
const LIST: &str = "average.toml";

/// Name in the table, and the paper's errors: mean squared and mean absolute.
fn of_paper(features: Features) -> (&'static str, &'static str) {
    match features {
        Features::OneHot => ("one-hot MLP", "0.0323 | 0.1183"),
        Features::Planes => ("CNN", "0.0440 | 0.1490"),
        Features::Giraffe => ("Giraffe-like", "0.0496 | 0.1709"),
        Features::Positional => ("positional MLP", "0.0557 | 0.1829"),
    }
}

/// Train the regressors of paper 002 on labelled games.
///
/// Boards are balanced over 21 bins of win probability; every 50th game of each file is held out for the test.
/// A trained one is a network file: `WeightsFile FOLDER/one-hot.regressor` with `Search action-value` is the
/// paper's player without lookahead. FOLDER/average.toml lists those of the folder as one player, weighted by
/// how well each does early and late in the game; the pictures show what each called the boards of every bin.
#[derive(Args, Clone, Debug)]
pub struct Regress {
    /// Data files with a value for every position (MAVG1)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder of the trained models
    #[arg(long, value_name = "FOLDER")]
    folder: PathBuf,
    /// Only this one: one-hot, cnn, giraffe or positional; may be repeated
    #[arg(long = "model", value_name = "NAME", value_parser = read_features)]
    models: Vec<Features>,
    /// Train nothing: the table of the folder's models, and their average
    #[arg(long)]
    judge: bool,
    /// Boards to train on, at most
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    positions: usize,
    /// Times each board is seen, at most
    #[arg(long, default_value_t = 20, value_name = "N")]
    epochs: usize,
    /// Seed of the first weights and of the order of the boards
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

fn read_features(text: &str) -> Result<Features, WordError> {
    Features::named(text).ok_or(WordError::Features)
}

/// Fixed columns of a table row, and the picture's name.
struct Entry<'a> {
    name: &'a str,
    /// Name of the picture, without extension.
    file: &'a str,
    /// Errors in the paper.
    paper_errors: &'a str,
    /// Remaining columns, except for the speed.
    rest: &'a str,
}

impl Regress {
    /// Reads, trains and prints.
    ///
    /// # Errors
    /// A file cannot be read or written, or there is nothing to train on.
    pub fn run(self) -> Result<(), Failure> {
        self.check()?;
        make_folder(&self.folder).map_err(FileError::of(&self.folder))?;
        let sizes = Sizes { training: self.positions, validation: 20_000, test: 50_000 };
        let bar = ProgressBar::new_spinner();
        let parts = read(&self.files, sizes, &mut || bar.inc(1))?;
        bar.finish_and_clear();
        let Parts { training, validation, test } = &parts;
        if [training, validation, test].iter().any(|part| part.boards.is_empty()) {
            return Err("the files hold too few games to train on, validate and test".into());
        }
        let mut out = Sink::default();
        out.say(format_args!(
            "{} boards to train on, {} to validate, {} to test\n",
            training.boards.len(),
            validation.boards.len(),
            test.boards.len()
        ));
        out.say("| model | MSE | MAE | R² | near | theirs: MSE | MAE | epochs | seconds | positions/s |");
        out.say("|---|---|---|---|---|---|---|---|---|---|");
        let mean = test.wins.iter().sum::<f32>() / test.wins.len() as f32;
        out.say(row("the mean", &vec![mean; test.wins.len()], &test.wins, ".0833 | .25", "| |"));
        let (network, name, took) = of_network(test)?;
        let speed = test.boards.len() as f64 / took.as_secs_f64();
        out.say(row(&name, &network, &test.wins, "|", &format!("| | {speed:.0}")));
        let models =
            if self.models.is_empty() { Features::ALL.to_vec() } else { self.models.clone() };
        let stop = raised_by_ctrl_c()?;
        for features in models {
            let (model, rest) = if self.judge {
                let Some(model) = self.trained(features)? else { continue };
                (model, "|".to_owned())
            } else {
                self.train(features, &parts, &stop)?
            };
            let (name, paper_errors) = of_paper(features);
            let entry = Entry { name, file: features.name(), paper_errors, rest: &rest };
            self.judge(&model, &entry, &parts.test, &mut out)?;
            if stop.load(Ordering::Relaxed) {
                out.say("stopped: the last model is the best that it was");
                break;
            }
        }
        self.average(&parts, &mut out)?;
        out.say("\nnear: the guess is in the label's bin of 21 or in the next one");
        out.end()
    }

    /// Rejects a folder with other files, and outputs that are inputs.
    fn check(&self) -> Result<(), Failure> {
        let mut has_models = false;
        for features in Features::ALL {
            match Regressor::open(&self.path(features)) {
                // A damaged regressor, or one of another version, counts as one.
                Ok(_) | Err(OpenError::Model(_, Some(_))) => has_models = true,
                Err(why) if why.is_absence() => {}
                Err(why) => {
                    return Err(format!("{why}; move it away, or choose another --folder").into());
                }
            }
        }
        let pictures = Features::ALL.map(|features| format!("{}.svg", features.name()));
        let names: Vec<&str> =
            pictures.iter().map(String::as_str).chain([LIST, "average.svg"]).collect();
        if !has_models {
            check_folder(&self.folder, &["one-hot.regressor"], &names)?;
        }
        let models = Features::ALL.map(|features| self.path(features));
        let paths: Vec<PathBuf> =
            names.iter().map(|name| self.folder.join(name)).chain(models).collect();
        let outputs: Vec<files::Named<'_>> =
            paths.iter().map(|path| files::Named { argument: "--folder", path }).collect();
        let inputs: Vec<files::Named<'_>> =
            self.files.iter().map(|path| files::Named { argument: "FILE", path }).collect();
        let check = if self.folder.is_dir() { check_outputs } else { check_shared };
        Ok(check(&inputs, &outputs)?)
    }

    /// The folder's model, if any.
    fn trained(&self, features: Features) -> Result<Option<Regressor>, Failure> {
        match Regressor::open(&self.path(features)) {
            Err(why) if why.is_absence() => Ok(None),
            opened => Ok(Some(opened.map_err(|why| why.to_string())?)),
        }
    }

    fn path(&self, features: Features) -> PathBuf {
        self.folder.join(features.file_name())
    }

    /// Trains a model and writes it to the folder; returns the last columns of its row, except for the speed.
    fn train(
        &self,
        features: Features,
        parts: &Parts,
        stop: &AtomicBool,
    ) -> Result<(Regressor, String), Failure> {
        let begun = Instant::now();
        let bar = progress(self.epochs * parts.training.boards.len());
        let mut epochs = 0;
        let mut on_progress = |boards: usize, epoch: Option<Epoch>| {
            bar.inc(boards as u64);
            let Some(Epoch { number, rate, training, validation }) = epoch else { return };
            epochs = number;
            let line = format!(
                "{}: epoch {number}, rate {rate:.0e}, MSE {training:.4}, validation {:.4}",
                features.name(),
                validation.mse
            );
            if bar.is_hidden() { write_stderr(line) } else { bar.println(line) }
        };
        let study = Study {
            features,
            training: &parts.training,
            validation: &parts.validation,
            epochs: self.epochs,
            seed: self.seed,
            stop,
        };
        let model = train(&study, &mut on_progress);
        bar.finish_and_clear();
        let took = begun.elapsed();
        let path = self.path(features);
        write_whole(&path, model.to_bytes()?).map_err(FileError::of(&path))?;
        Ok((model, format!("{epochs} | {:.0}", took.as_secs_f64())))
    }

    /// The ensemble of the folder's models, if there are several.
    fn average(&self, parts: &Parts, out: &mut Sink) -> Result<(), Failure> {
        let mut list = List::default();
        let mut members = Vec::new();
        for features in Features::ALL {
            let Some(model) = self.trained(features)? else { continue };
            let file = PathBuf::from(features.file_name());
            let [opening, endgame] = weights(&model, &parts.validation);
            list.model.push(Named { file, opening, endgame });
            members.push((model, [opening, endgame]));
        }
        if members.len() < 2 {
            return Ok(());
        }
        let average = Average::new(members).ok_or("the folder's models have no weights")?;
        let path = self.folder.join(LIST);
        let text = toml::to_string(&list).map_err(|why| why.to_string())?;
        write_whole(&path, text).map_err(FileError::of(&path))?;
        let entry = Entry { name: "their average", file: "average", paper_errors: "|", rest: "|" };
        self.judge(&average, &entry, &parts.test, out)
    }

    /// Prints a row of the table and draws the picture.
    fn judge(
        &self,
        model: &dyn BoardValue,
        entry: &Entry<'_>,
        test: &Samples,
        out: &mut Sink,
    ) -> Result<(), Failure> {
        let Entry { name, file, paper_errors, rest } = *entry;
        let start = Instant::now();
        let found = predictions(model, &test.boards);
        let speed = test.boards.len() as f64 / start.elapsed().as_secs_f64();
        out.say(row(name, &found, &test.wins, paper_errors, &format!("{rest} | {speed:.0}")));
        let path = self.folder.join(format!("{file}.svg"));
        Confusion::of(&found, &test.wins).draw(name, &path)?;
        Ok(())
    }
}

/// Ensemble weights in the opening and in the endgame: inverse to the model's error there.
fn weights(model: &Regressor, samples: &Samples) -> [f32; 2] {
    let mut errors = [(0.0, 0.0); 2];
    let found = predictions(model, &samples.boards);
    for ((board, label), guess) in samples.boards.iter().zip(&samples.wins).zip(found) {
        let early = opening(board);
        for ((sum, count), share) in errors.iter_mut().zip([early, 1.0 - early]) {
            *sum += share * (guess - label).powi(2);
            *count += share;
        }
    }
    // Integers suffice; at least 1, even if all boards are of one phase.
    errors.map(|(sum, count)| (count / sum.max(f32::EPSILON)).round().max(1.0))
}

/// Win probabilities by the built-in network for the same boards.
fn of_network(test: &Samples) -> Result<(Vec<f32>, String, Duration), Failure> {
    let network = Installed::default().open(None, Backend::Cpu)?;
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
    Ok((predicted, network.name, begun.elapsed()))
}

fn row(name: &str, predictions: &[f32], labels: &[f32], paper_errors: &str, rest: &str) -> String {
    let Errors { mse, mae, r2 } = Errors::of(predictions, labels);
    let near = 100.0 * Confusion::of(predictions, labels).near();
    format!("| {name} | {mse:.4} | {mae:.4} | {r2:.3} | {near:.1} % | {paper_errors} | {rest} |")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn rows_have_the_columns_of_their_head() {
        for (paper_errors, rest) in [(".0833 | .25", "| |"), ("|", "| | 5"), ("1 | 2", "3 | 4 | 5")]
        {
            let row = row("a", &[0.2, 0.7], &[0.2, 0.8], paper_errors, rest);
            assert_eq!(row.matches('|').count(), 11, "{row}");
            assert!(row.starts_with("| a | 0.0050 | 0.0500 | 0.944 | 50.0 % |"), "{row}");
        }
        assert_eq!(Features::OneHot.file_name(), "one-hot.regressor", "as the check says");
        let error = read_features("eyes").unwrap_err().to_string();
        assert!(error.contains("one-hot, cnn, giraffe, positional"));
    }

    #[test]
    fn files_of_the_user_are_not_replaced() {
        let folder = std::env::temp_dir().join(format!("mavka-regress-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let regress = Regress {
            files: vec![folder.join("games.mavg")],
            folder: folder.clone(),
            models: Vec::new(),
            judge: false,
            positions: 1,
            epochs: 1,
            seed: 1,
        };
        let refused = |name: &str, content: &[u8]| {
            fs::write(folder.join(name), content).unwrap();
            let why = regress.check().err().map(|why| why.to_string()).unwrap_or_default();
            fs::remove_file(folder.join(name)).unwrap();
            why
        };
        regress.check().unwrap();
        for name in ["average.toml", "cnn.svg", "average.svg", "cnn.regressor"] {
            let why = refused(name, b"mine");
            assert!(why.contains(name) && why.contains("move it away"), "{why}");
        }
        let model = Regressor::new(Features::Giraffe, 1).to_bytes().unwrap();
        assert_eq!(refused("giraffe.regressor", &model), "");
        fs::write(folder.join("giraffe.regressor"), &model[..20]).unwrap();
        assert_eq!(refused("average.toml", b"of an earlier run"), "");
        fs::remove_dir_all(&folder).unwrap();
    }
}
