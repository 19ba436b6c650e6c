//! Accuracy of the network without search, as in the tables of papers 000 and 001. On held-out games: move choice,
//! values, legality; standard chess and Chess960, game positions and variations separately. On random boards:
//! legality. On puzzles: legality, and whole solutions. On deep labels: how well it judges.

mod judge;
mod plot;
mod puzzles;
mod table;

use super::puzzles::open::open_with_moves;
use crate::measure::MeasureError;
use crate::measure::puzzles::score::SolverComparison;
use engine::process::errors::FileError;
use engine::process::files::write_whole;
use engine::process::interrupt::while_reading;
use engine::process::progress::progress;
use engine::process::workers::{WorkerLimits, cores};
use nn::evaluator::cpu::CpuEvaluator;
use nn::kernels::gemm::Method;
use nn::{EvalError, Evaluator};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use table::{AccuracyTable, CSV_HEAD, Column, NOTE};
use train::assess::assess;
use train::data::boards::{random_actions, random_boards, unlabelled};
use train::data::{Example, HeldOut, MixConfig, ValidationSet, Variant};
use train::metrics::Metrics;

/// Parameters. At least one of files, boards, puzzles and labels is needed.
#[derive(Clone, Debug)]
pub struct Accuracy {
    /// Data files (MAVG1, PVGR1 or SELF1); every 50th game of each is held out.
    pub files: Vec<PathBuf>,
    /// Network file; None = the built-in network.
    pub weights: Option<PathBuf>,
    /// Games that training reads in place of those held out.
    pub trained: bool,
    /// Maximum number of positions per set of a data file.
    pub limit: usize,
    /// Also all castling moves of the held-out games.
    pub castlings: bool,
    /// Number of random boards.
    pub boards: Option<usize>,
    /// Seed of the random boards.
    pub seed: u64,
    /// Puzzles as CSV or EPD.
    pub puzzles: Option<PathBuf>,
    /// Maximum number of puzzles, evenly spaced.
    pub puzzle_limit: Option<usize>,
    /// Deep labels ([`crate::labels::label_file`]).
    pub judge: Option<PathBuf>,
    /// Network that the first one is compared with on them.
    pub against: Option<PathBuf>,
    /// SVG of predicted win probabilities against labels and results.
    pub plot: Option<PathBuf>,
    /// CSV of all figures with 95 % intervals.
    pub csv: Option<PathBuf>,
    /// Instructions and arithmetic of the network.
    pub method: Method,
    /// Threads; None = one per core.
    pub threads: Option<usize>,
    /// Set to stop early and print what is done.
    pub stop: Arc<AtomicBool>,
}

/// A network with its threads.
struct ThreadedNetwork {
    evaluator: Arc<CpuEvaluator>,
    threads: usize,
    stop: Arc<AtomicBool>,
}

impl ThreadedNetwork {
    fn measure(&self, examples: &[Example]) -> Result<Metrics, EvalError> {
        let bar = progress(examples.len());
        let done = |count: usize| bar.inc(count as u64);
        let metrics = assess(&self.evaluator, examples, self.threads, &self.stop, &done)?;
        bar.finish_and_clear();
        Ok(metrics)
    }

    fn ended(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn crew(&self) -> WorkerLimits<'_> {
        WorkerLimits { count: self.threads, stop: &self.stop }
    }
}

impl Accuracy {
    /// Measures and prints tables.
    ///
    /// # Errors
    /// Nothing to measure, or the network or a file cannot be used.
    pub fn run(&self, say: &mut dyn FnMut(String)) -> Result<(), MeasureError> {
        let others = [self.boards.is_some(), self.puzzles.is_some(), self.judge.is_some()];
        if self.files.is_empty() && !others.contains(&true) {
            let why = "nothing to measure: name data files, --boards, --puzzles or --judge";
            return Err(MeasureError::Refused(why.to_owned()));
        }
        work(self, say)
    }

    /// Runs `read`, which a signal ends together with the process, unless tables are there to be written.
    fn reading<T>(&self, csv: &str, read: impl FnOnce() -> T) -> T {
        let saves = self.csv.is_some() || self.plot.is_some();
        if saves && csv != CSV_HEAD { read() } else { while_reading(read) }
    }
}

fn work(args: &Accuracy, say: &mut dyn FnMut(String)) -> Result<(), MeasureError> {
    let network = engine::play::network::load(args.weights.as_deref())?;
    say(format!("network {}", network.hash));
    let bench = ThreadedNetwork {
        evaluator: Arc::new(CpuEvaluator::with(&network, args.method)),
        threads: args.threads.unwrap_or_else(cores),
        stop: args.stop.clone(),
    };
    let mut csv = CSV_HEAD.to_owned();
    let mut sets: Vec<(String, Metrics)> = Vec::new();
    for path in &args.files {
        if bench.ended() {
            break;
        }
        let read = if args.trained { HeldOut::trained } else { HeldOut::read };
        let games = args.reading(&csv, || read(path, &MixConfig::new(Vec::new())))?;
        let mut validation_sets =
            vec![(STATE, ValidationSet::Position), (ACTION, ValidationSet::Action)];
        if games.has_variations() {
            validation_sets.push(("variations", ValidationSet::Variation));
        }
        let title = path.display().to_string();
        let table = AccuracyTable {
            title,
            columns: columns(&bench, &games, &validation_sets, args.limit)?,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        let named = |column: &Column| (format!("{name} {}", column.name()), column.metrics);
        sets.extend(table.columns.iter().map(named));
        say(format!("\n{table}"));
        table.columns.iter().filter_map(leaf_line).for_each(&mut *say);
        csv += &table.csv();
        if args.castlings {
            // Separate table: beside the others it would be too wide.
            let columns =
                columns(&bench, &games, &[("castlings", ValidationSet::Castling)], args.limit)?;
            let table = AccuracyTable { columns, ..table };
            say(format!("\n{table}"));
            csv += &table.csv();
        }
    }
    let chosen = match &args.puzzles {
        Some(file) if !bench.ended() => {
            args.reading(&csv, || open_with_moves(file, args.puzzle_limit))?
        }
        _ => Vec::new(),
    };
    let mut rules = AccuracyTable { title: "rules".to_owned(), columns: Vec::new() };
    let mut add = |name: &str, sets: [&[Example]; 2]| -> Result<(), EvalError> {
        for (form, examples) in [STATE, ACTION].into_iter().zip(sets) {
            if !bench.ended() {
                rules.columns.push(Column::new(name, form, bench.measure(examples)?));
            }
        }
        Ok(())
    };
    if args.puzzles.is_some() {
        let [states, actions] = puzzles::examples(&chosen);
        add("puzzles", [&states, &actions])?;
    }
    if let Some(count) = args.boards {
        let boards = random_boards(count, args.seed);
        let states: Vec<Example> = boards.iter().map(|board| unlabelled(board, None)).collect();
        add("boards", [&states, &random_actions(&boards, args.seed)])?;
    }
    if !rules.columns.is_empty() {
        say(format!("\n{rules}"));
        csv += &rules.csv();
    }
    // Deep labels have intervals of their own.
    if !sets.is_empty() || !rules.columns.is_empty() {
        say(NOTE.to_owned());
    }
    if let Some(file) = &args.puzzles
        && !bench.ended()
    {
        let evaluator: Arc<dyn Evaluator> = bench.evaluator.clone();
        let scores = puzzles::solve(&chosen, &evaluator, bench.crew())?;
        let name = file.display().to_string();
        say(format!("\n{name}: whole solutions, no search, 95 % intervals"));
        say(format!("{}", SolverComparison(&scores)));
        csv += &puzzles::csv(&name, &scores);
    }
    if let Some(path) = &args.judge
        && !bench.ended()
    {
        let other = args.against.as_deref().map(|path| {
            let network = engine::play::network::load(Some(path))?;
            Ok::<_, MeasureError>(CpuEvaluator::with(&network, args.method))
        });
        let other = other.transpose()?;
        let mut evaluators: Vec<&dyn Evaluator> = vec![&*bench.evaluator];
        evaluators.extend(other.iter().map(|evaluator| evaluator as &dyn Evaluator));
        let found = judge::measure(&evaluators, path, bench.crew())?;
        say(format!("\n{found}"));
        csv += &found.csv();
    }
    if bench.ended() {
        say("\nended early: the counts above tell how much was measured".to_owned());
    }
    if let Some(path) = &args.plot {
        plot::draw(&sets, path)?;
    }
    if let Some(path) = &args.csv {
        write_whole(path, csv).map_err(FileError::of(path))?;
    }
    Ok(())
}

/// Best leaf value of a search: least-squares fit over one set, and the error of each estimate alone.
fn leaf_line(column: &Column) -> Option<String> {
    let leaf = &column.metrics.leaf;
    let [state, best, mean] = leaf.weights()?;
    let error = |weights| Some(100.0 * leaf.error(weights)?);
    Some(format!(
        "{}: value = {state:.2} V {best:+.2} max Q {mean:+.2} mean Q; root mean squared error {:.2} % \
         (V {:.2}, max Q {:.2}, mean Q {:.2}, half V half max Q {:.2})",
        column.name(),
        error([state, best, mean])?,
        error([1.0, 0.0, 0.0])?,
        error([0.0, 1.0, 0.0])?,
        error([0.0, 0.0, 1.0])?,
        error([0.5, 0.5, 0.0])?,
    ))
}

const STATE: &str = "MAV(s)";
const ACTION: &str = "MAV(s, a)";

/// All non-empty sets of a file.
fn columns(
    bench: &ThreadedNetwork,
    games: &HeldOut,
    validation_sets: &[(&str, ValidationSet)],
    limit: usize,
) -> Result<Vec<Column>, MeasureError> {
    let mut columns = Vec::new();
    for &(top, ask) in validation_sets {
        for (bottom, variant) in [("standard", Variant::Standard), ("Chess960", Variant::Chess960)]
        {
            if bench.ended() {
                return Ok(columns);
            }
            let examples = games.examples(limit, ask, variant)?;
            if !examples.is_empty() {
                columns.push(Column::new(top, bottom, bench.measure(&examples)?));
            }
        }
    }
    Ok(columns)
}
