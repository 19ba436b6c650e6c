//! Labels held-out positions of data files with several engines in parallel. Lines are appended as they are finished:
//! an interrupted run, by Ctrl-C too, resumes where it stopped.

use super::annotate::{Annotator, Effort, LabelError, LabelTask};
use super::label_file::{self, LabelRecipe, LabelledPosition, LabelsError};
use crate::spread::spread;
use engine::process::errors::{FileError, wraps};
use engine::process::files::{JournalFile, OpenError, is_cut_journal, whole_lines};
use engine::process::interrupt::while_reading;
use engine::process::progress::progress;
use engine::process::shard::Shard;
use engine::process::workers::{WorkerLimits, cores, deal};
use nn::files::is_packed;
use nn::rng::Rng;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use train::data::{DataError, HeldOut, MixConfig};

/// Parameters of labelling.
#[derive(Clone, Debug)]
pub struct Labelling {
    /// Data files with action values; their held-out games are used.
    pub files: Vec<PathBuf>,
    /// Output; labelled positions are skipped.
    pub out: PathBuf,
    /// The labelling engine.
    pub engine: Annotator,
    /// Maximum number of positions per file.
    pub limit: usize,
    /// Which part of the positions is labelled.
    pub shard: Shard,
    /// Depth of labelling.
    pub effort: Effort,
    /// Number of engines; None = one per core.
    pub concurrency: Option<usize>,
    /// Set to stop: no further position is started.
    pub stop: Arc<AtomicBool>,
}

/// Reason for the end of labelling.
#[derive(Debug)]
pub enum LabellingError {
    /// A data file cannot be read.
    Data(DataError),
    /// The output is another kind of file.
    Labels(LabelsError),
    /// The output cannot be read or written.
    File(FileError),
    /// The output cannot be opened, or another process writes to it.
    Open(OpenError),
    /// The output is compressed, or named like it: lines cannot be appended.
    Compressed(PathBuf),
    /// The engine cannot be started, or failed.
    Label(LabelError),
    /// The output has another engine or effort.
    Recipe {
        /// The file.
        path: PathBuf,
        /// Recipe in the file.
        found: Box<LabelRecipe>,
        /// Recipe of this run.
        asked: Box<LabelRecipe>,
    },
}

impl fmt::Display for LabellingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabellingError::Data(why) => why.fmt(f),
            LabellingError::Labels(why) => why.fmt(f),
            LabellingError::File(why) => why.fmt(f),
            LabellingError::Open(why) => why.fmt(f),
            LabellingError::Compressed(path) => write!(
                f,
                "{}: expected a plain text file, to which labels are added, not a compressed one (.zst); decompress it, or choose another --out",
                path.display()
            ),
            LabellingError::Label(why) => why.fmt(f),
            LabellingError::Recipe { path, found, asked } => {
                let path = path.display();
                write!(f, "{path} holds labels of another kind: {found:?}, asked for: {asked:?}")
            }
        }
    }
}

impl std::error::Error for LabellingError {}

wraps! { LabellingError: Data(DataError), Labels(LabelsError), File(FileError), Open(OpenError), Label(LabelError) }

impl Labelling {
    /// Labels the remaining positions. Blocks; shows a progress bar on stderr. Returns the numbers of labelled and of
    /// all positions.
    ///
    /// # Errors
    /// A file cannot be read or written, or the engine fails.
    pub fn run(&self) -> Result<(usize, usize), LabellingError> {
        let recipe = LabelRecipe {
            engine: self.engine.start()?.name().to_owned(),
            best_nodes: self.effort.best_nodes,
            move_nodes: self.effort.move_nodes,
            margin: self.effort.margin,
        };
        let (mut out, done) = open(&self.out, &recipe)?;
        let tasks = while_reading(|| self.tasks())?;
        let tasks = self.shard.slice(&tasks);
        let all = tasks.len();
        let left: Vec<LabelTask> =
            tasks.iter().filter(|task| !done.contains(&task.game.fen())).cloned().collect();
        let bar = progress(all);
        bar.set_position((all - left.len()) as u64);
        let start = || {
            let mut engine = self.engine.start()?;
            Ok(move |task: &LabelTask| Ok(task.label(&mut engine, self.effort)?))
        };
        let count = self.concurrency.unwrap_or_else(cores);
        let mut labelled = all - left.len();
        let crew = WorkerLimits { count, stop: &self.stop };
        let result = deal(&left, crew, start, |_, label: LabelledPosition| {
            out.append_line(&label.to_line())?;
            bar.inc(1);
            labelled += 1;
            Ok(())
        });
        bar.finish_and_clear();
        result.map(|()| (labelled, all))
    }

    /// Positions of all files, shuffled so that a prefix is a fair sample.
    fn tasks(&self) -> Result<Vec<LabelTask>, LabellingError> {
        let mut all = Vec::new();
        for path in &self.files {
            let held_out = HeldOut::read(path, &MixConfig::new(Vec::new()))?.labelled()?;
            let mut seen = HashSet::new();
            let tasks = held_out.iter().filter_map(LabelTask::new);
            let tasks = tasks.filter(|task| seen.insert(task.game.fen())).collect();
            all.extend(spread(tasks, self.limit));
        }
        Rng::from_state(0).shuffle(&mut all);
        Ok(all)
    }
}

/// The locked output, and the positions it contains. A truncated last line is cut off.
fn open(
    path: &Path,
    recipe: &LabelRecipe,
) -> Result<(JournalFile, HashSet<String>), LabellingError> {
    // Checked before the file is created.
    if path.extension().is_some_and(|end| end == "zst") {
        return Err(LabellingError::Compressed(path.to_owned()));
    }
    let mut file = JournalFile::open(path)?;
    let bytes = file.read()?;
    if is_packed(&bytes) {
        return Err(LabellingError::Compressed(path.to_owned()));
    }
    let whole = whole_lines(&bytes).map(<[u8]>::len).sum();
    let mut done = HashSet::new();
    if whole > 0 || !is_cut_journal(&bytes, label_file::BEGINNING) {
        let lines = if whole > 0 { &bytes[..whole] } else { &bytes };
        let (found, positions) = label_file::parse(path, lines)?;
        if found.to_line() != recipe.to_line() {
            let (found, asked) = (Box::new(found), Box::new(recipe.clone()));
            return Err(LabellingError::Recipe { path: path.to_owned(), found, asked });
        }
        done.extend(positions.iter().map(|position| position.game.fen()));
    }
    file.truncate(whole, bytes.len())?;
    if whole == 0 {
        file.append_line(&recipe.to_line())?;
    }
    Ok((file, done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const FEN: &str = "7k/8/8/8/8/8/6PP/7K w - - 0 1";

    fn path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("mavka-label-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        path
    }

    fn recipe() -> LabelRecipe {
        LabelRecipe { engine: "Möwe".to_owned(), best_nodes: 2, move_nodes: 1, margin: 0.25 }
    }

    fn line() -> String {
        format!(
            "{{\"fen\":\"{FEN}\",\"best\":\"g2g3\",\"deep\":{{\"g2g3\":0.5}},\"shallow\":{{}}}}"
        )
    }

    #[test]
    fn a_file_cut_anywhere_is_continued_and_not_mixed() {
        let path = path("cut");
        let head = recipe().to_line();
        let whole = format!("{head}\n{0}\n{0}\n", line());
        for cut in 0..=whole.len() {
            let bytes = &whole.as_bytes()[..cut];
            fs::write(&path, bytes).unwrap();
            let (mut file, done) = open(&path, &recipe()).unwrap();
            let lines = whole_lines(bytes).count();
            assert_eq!(done.len(), usize::from(lines > 1), "cut at {cut}");
            assert!(done.iter().all(|fen| fen == FEN), "cut at {cut}");
            file.append_line(&line()).unwrap();
            drop(file);
            let added = lines.max(1);
            let expected = format!("{head}\n{}", format!("{}\n", line()).repeat(added));
            assert_eq!(fs::read_to_string(&path).unwrap(), expected, "cut at {cut}");
        }
        let error = open(&path, &LabelRecipe { best_nodes: 3, ..recipe() }).err().unwrap();
        let _ = fs::remove_file(&path);
        assert!(matches!(error, LabellingError::Recipe { .. }), "{error}");
    }

    #[test]
    fn compressed_labels_and_other_files_are_left_as_they_are() {
        let plain = format!("{}\n{}\n", recipe().to_line(), line());
        let packed = zstd::encode_all(plain.as_bytes(), 1).unwrap();
        for (name, content, words) in [
            ("packed.zst", packed.as_slice(), "compressed"),
            ("packed", &packed, "compressed"),
            ("text.zst", b"", "compressed"),
            ("letters", b"letters to a friend", "line 1"),
            ("letters", b"letters\nto a friend", "line 1"),
            ("number", b"7", "line 1"),
        ] {
            let path = path(name);
            fs::write(&path, content).unwrap();
            let why = open(&path, &recipe()).err().unwrap().to_string();
            assert_eq!(fs::read(&path).unwrap(), content, "{why}");
            assert!(why.contains(words) && why.contains(name), "{why}");
            fs::remove_file(&path).unwrap();
        }
        let path = path("new.zst");
        assert!(open(&path, &recipe()).is_err() && !path.exists());
    }

    #[test]
    fn one_process_adds_to_a_file() {
        let path = path("lock");
        let first = open(&path, &recipe()).unwrap();
        let why = open(&path, &recipe()).err().unwrap().to_string();
        assert!(why.contains("another process"), "{why}");
        drop(first);
        assert!(open(&path, &recipe()).is_ok());
        fs::remove_file(&path).unwrap();
    }
}
