//! How good the network is without search, in the tables of papers 000 and 001. On
//! held-out games: choice of the move, values, knowledge of the rules; standard chess and Chess960, game
//! positions and variations apart. On boards of random pieces: the rules alone. On puzzles: the rules, and
//! the whole solutions.

mod plot;
mod puzzles;
mod table;

use super::puzzles::open::open;
use crate::measure::MeasureError;
use crate::measure::puzzles::score::Comparison;
use engine::errors::FileError;
use engine::files::write_whole;
use engine::progress::progress;
use engine::workers::{Crew, cores};
use nn::evaluator::cpu::CpuEvaluator;
use nn::precision::Arithmetic;
use nn::{EvalError, Evaluator};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use table::{CSV_HEAD, Column, NOTE, Table};
use train::assess::assess;
use train::data::boards::{random_actions, random_boards, unlabelled};
use train::data::{Example, HeldOut, MixConfig, ValidationSet, Variant};
use train::metrics::Metrics;

/// What to measure. Without files, boards and puzzles there is nothing to measure.
#[derive(Clone, Debug)]
pub struct Accuracy {
    /// Data files (MAVG1 or PVGR1); every 50th game of each is held out
    pub files: Vec<PathBuf>,
    /// Network file; the built-in network without it
    pub weights: Option<PathBuf>,
    /// Positions of each set of a data file at most
    pub limit: usize,
    /// Also every castling of the held-out games
    pub castlings: bool,
    /// Also this many boards of random pieces
    pub boards: Option<usize>,
    /// Which random boards
    pub seed: u64,
    /// Also the puzzles of this CSV or EPD
    pub puzzles: Option<PathBuf>,
    /// Try only this many puzzles, spread evenly over the file
    pub puzzle_limit: Option<usize>,
    /// Draw predicted win probabilities against labels and results into this SVG
    pub plot: Option<PathBuf>,
    /// Write every number with its 95 % interval into this CSV
    pub csv: Option<PathBuf>,
    /// Arithmetic of the network's products: auto (the fastest this CPU has), single or bf16
    pub arithmetic: Arithmetic,
    /// Threads [default: one a core]
    pub threads: Option<usize>,
    /// Ends it with what it has
    pub stop: Arc<AtomicBool>,
}

/// A network and the threads that ask it.
struct Bench {
    evaluator: Arc<CpuEvaluator>,
    threads: usize,
    stop: Arc<AtomicBool>,
}

impl Bench {
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

    fn crew(&self) -> Crew<'_> {
        Crew { count: self.threads, stop: &self.stop }
    }
}

impl Accuracy {
    /// Measures and says tables.
    ///
    /// # Errors
    /// There is nothing to measure, or the network or a file cannot be used.
    pub fn run(&self, say: &mut dyn FnMut(String)) -> Result<(), MeasureError> {
        if self.files.is_empty() && self.boards.is_none() && self.puzzles.is_none() {
            let why = "nothing to measure: name data files, --boards or --puzzles";
            return Err(MeasureError::Refused(why.to_owned()));
        }
        work(self, say)
    }
}

fn work(args: &Accuracy, say: &mut dyn FnMut(String)) -> Result<(), MeasureError> {
    let network = engine::play::network::load(args.weights.as_deref())?;
    say(format!("network {}", network.hash));
    let bench = Bench {
        evaluator: Arc::new(CpuEvaluator::new(&network, args.arithmetic)),
        threads: args.threads.unwrap_or_else(cores),
        stop: args.stop.clone(),
    };
    let mut csv = CSV_HEAD.to_owned();
    let mut sets: Vec<(String, Metrics)> = Vec::new();
    for path in &args.files {
        let games = HeldOut::read(path, &MixConfig::new(Vec::new()))?;
        let mut asks = vec![(STATE, ValidationSet::Position), (ACTION, ValidationSet::Action)];
        if games.has_variations() {
            asks.push(("variations", ValidationSet::Variation));
        }
        let title = path.display().to_string();
        let table = Table { title, columns: columns(&bench, &games, &asks, args.limit)? };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        let named = |column: &Column| (format!("{name} {}", column.name()), column.metrics);
        sets.extend(table.columns.iter().map(named));
        say(format!("\n{table}"));
        table.columns.iter().filter_map(leaf_line).for_each(&mut *say);
        csv += &table.csv();
        if args.castlings {
            // A table of their own: beside the others they would not fit the screen.
            let columns =
                columns(&bench, &games, &[("castlings", ValidationSet::Castling)], args.limit)?;
            let table = Table { columns, ..table };
            say(format!("\n{table}"));
            csv += &table.csv();
        }
    }
    let chosen = match &args.puzzles {
        Some(file) => open(file, args.puzzle_limit)?,
        None => Vec::new(),
    };
    let mut rules = Table { title: "rules".to_owned(), columns: Vec::new() };
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
    say(NOTE.to_owned());
    if let Some(file) = &args.puzzles
        && !bench.ended()
    {
        let evaluator: Arc<dyn Evaluator> = bench.evaluator.clone();
        let scores = puzzles::solve(&chosen, &evaluator, bench.crew())?;
        let name = file.display().to_string();
        say(format!("\n{name}: whole solutions, no search, 95 % intervals"));
        say(format!("{}", Comparison(&scores)));
        csv += &puzzles::csv(&name, &scores);
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

/// What a search's leaf value is best read off: the fit over one set, and the error of each estimate alone.
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

/// All sets of a file that have a position.
fn columns(
    bench: &Bench,
    games: &HeldOut,
    asks: &[(&str, ValidationSet)],
    limit: usize,
) -> Result<Vec<Column>, MeasureError> {
    let mut columns = Vec::new();
    for &(top, ask) in asks {
        for (bottom, variant) in [("standard", Variant::Standard), ("Chess960", Variant::Chess960)]
        {
            let examples = games.examples(limit, ask, variant)?;
            if !examples.is_empty() && !bench.ended() {
                columns.push(Column::new(top, bottom, bench.measure(&examples)?));
            }
        }
    }
    Ok(columns)
}
