//! Labels the held-out positions of data files, several engines at work at the same time. Lines are added to
//! the file of labels as they are done, so that a run that was ended, by Ctrl-C too, goes on where it
//! stopped.

use super::label::{Annotator, Effort, LabelError, Task};
use super::labels::{self, LabelledPosition, LabelsError, Recipe};
use crate::measure::puzzles::spread;
use engine::errors::{FileError, wraps};
use engine::progress::progress;
use engine::workers::{Crew, cores, deal};
use nn::data::{DataError, HeldOut, MixConfig};
use nn::rng::Rng;
use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is to be labelled, and how.
#[derive(Clone, Debug)]
pub struct Labelling {
    /// Data files with action values; of each, the games that are held out.
    pub files: Vec<PathBuf>,
    /// The labels; what is in it already is not done again.
    pub out: PathBuf,
    /// Who labels.
    pub engine: Annotator,
    /// Positions of each file at most.
    pub limit: usize,
    /// How deeply.
    pub effort: Effort,
    /// Engines at work; None = one for each core.
    pub concurrency: Option<usize>,
    /// Once it is raised, no further position is begun.
    pub stop: Arc<AtomicBool>,
}

/// Why nothing more is labelled.
#[derive(Debug)]
pub enum LabellingError {
    /// A data file cannot be read.
    Data(DataError),
    /// The file of labels holds something else.
    Labels(LabelsError),
    /// The file of labels cannot be written.
    File(FileError),
    /// The engine cannot be started, or failed.
    Label(LabelError),
    /// The file of labels was begun with another engine or effort.
    Recipe {
        /// The file.
        path: PathBuf,
        /// How its labels were made.
        found: Box<Recipe>,
        /// How these would be.
        asked: Box<Recipe>,
    },
}

impl fmt::Display for LabellingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabellingError::Data(why) => why.fmt(f),
            LabellingError::Labels(why) => why.fmt(f),
            LabellingError::File(why) => why.fmt(f),
            LabellingError::Label(why) => why.fmt(f),
            LabellingError::Recipe { path, found, asked } => {
                let path = path.display();
                write!(f, "{path} holds labels of another kind: {found:?}, asked for: {asked:?}")
            }
        }
    }
}

impl std::error::Error for LabellingError {}

wraps! { LabellingError: Data(DataError), File(FileError), Label(LabelError) }

impl Labelling {
    /// Labels what is not labelled yet. Blocks; a bar on stderr tells how far it is. Answers how many positions are
    /// labelled by then, and of how many.
    ///
    /// # Errors
    /// A file cannot be read or written, or the engine fails.
    pub fn run(&self) -> Result<(usize, usize), LabellingError> {
        let recipe = Recipe {
            engine: self.engine.start()?.name().to_owned(),
            best_nodes: self.effort.best_nodes,
            move_nodes: self.effort.move_nodes,
            margin: self.effort.margin,
        };
        let (mut out, done) = open(&self.out, &recipe)?;
        let tasks = self.tasks()?;
        let all = tasks.len();
        let left: Vec<Task> =
            tasks.into_iter().filter(|task| !done.contains(&task.game.fen())).collect();
        let bar = progress(all);
        bar.set_position((all - left.len()) as u64);
        let start = || {
            let mut engine = self.engine.start()?;
            Ok(move |task: &Task| Ok(task.label(&mut engine, self.effort)?))
        };
        let count = self.concurrency.unwrap_or_else(cores);
        let mut labelled = all - left.len();
        let crew = Crew { count, stop: &self.stop };
        let result = deal(&left, crew, start, |_, label: LabelledPosition| {
            // One write: a line cut in two by the end of the process is no label.
            let line = format!("{}\n", label.to_line());
            out.write_all(line.as_bytes()).map_err(FileError::of(&self.out))?;
            bar.inc(1);
            labelled += 1;
            Ok(())
        });
        bar.finish_and_clear();
        result.map(|()| (labelled, all))
    }

    /// The positions of all files in an order that keeps a part of them a fair sample.
    fn tasks(&self) -> Result<Vec<Task>, LabellingError> {
        let mut all = Vec::new();
        for path in &self.files {
            let held_out = HeldOut::read(path, &MixConfig::new(Vec::new()))?.labelled()?;
            let mut seen = HashSet::new();
            let tasks = held_out.iter().filter_map(Task::new);
            let tasks = tasks.filter(|task| seen.insert(task.game.fen())).collect();
            all.extend(spread(tasks, self.limit));
        }
        Rng::from_state(0).shuffle(&mut all);
        Ok(all)
    }
}

/// The file to add to, and the positions it has already. A last line that was cut short is cut off.
fn open(path: &Path, recipe: &Recipe) -> Result<(File, HashSet<String>), LabellingError> {
    let of_file = FileError::of(path);
    let mut done = HashSet::new();
    let mut begun = false;
    if fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        let (found, positions) = labels::read(path).map_err(LabellingError::Labels)?;
        if found.to_line() != recipe.to_line() {
            let (found, asked) = (Box::new(found), Box::new(recipe.clone()));
            return Err(LabellingError::Recipe { path: path.to_owned(), found, asked });
        }
        done.extend(positions.iter().map(|position| position.game.fen()));
        begun = true;
        let text = fs::read(path).map_err(&of_file)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let file = OpenOptions::new().write(true).open(path).map_err(&of_file)?;
        file.set_len(whole as u64).map_err(&of_file)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(&of_file)?;
    if !begun {
        writeln!(file, "{}", recipe.to_line()).map_err(&of_file)?;
    }
    Ok((file, done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_gone_on_with_and_not_mixed() {
        let path = std::env::temp_dir().join(format!("mavka-label-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let recipe = Recipe { engine: "x".to_owned(), best_nodes: 2, move_nodes: 1, margin: 0.25 };
        let (mut file, done) = open(&path, &recipe).unwrap();
        assert!(done.is_empty());
        let fen = "7k/8/8/8/8/8/6PP/7K w - - 0 1";
        let line = format!(
            "{{\"fen\":\"{fen}\",\"best\":\"g2g3\",\"deep\":{{\"g2g3\":0.5}},\"shallow\":{{}}}}"
        );
        write!(file, "{line}\n{}", &line[..20]).unwrap();
        let (mut file, done) = open(&path, &recipe).unwrap();
        assert_eq!(done.iter().collect::<Vec<_>>(), [fen]);
        writeln!(file, "{line}").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{}\n{line}\n{line}\n", recipe.to_line()));
        let other = Recipe { best_nodes: 3, ..recipe };
        let error = open(&path, &other).unwrap_err();
        let _ = fs::remove_file(&path);
        assert!(matches!(error, LabellingError::Recipe { .. }), "{error}");
    }
}
