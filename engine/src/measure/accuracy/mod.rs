//! `mavka accuracy`: how good the network is without search, in the tables of papers 000 and 001. On
//! held-out games: choice of the move, values, knowledge of the rules; standard chess and Chess960, game
//! positions and variations apart. On boards of random men: the rules alone. On puzzles: the rules, and
//! the whole solutions.

mod plot;
mod puzzles;
mod table;

use super::puzzles::open::{open, progress};
use crate::measure::puzzles::score::Comparison;
use clap::Args;
use nn::assess::assess;
use nn::data::boards::{random_actions, random_boards, unlabelled};
use nn::data::{Ask, Example, HeldOut, MixConfig, Variant};
use nn::evaluator::cpu::CpuEvaluator;
use nn::metrics::Metrics;
use nn::precision::Arithmetic;
use nn::{EvalError, Evaluator};
use std::error::Error;
use std::fs;
use std::io::{Write, stdout};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;
use table::{CSV_HEAD, Column, NOTE, Table};

/// Measure the network without search: held-out games, random boards, puzzles.
#[derive(Args, Debug)]
pub struct Accuracy {
    /// Data files (MAVG1 or PVGR1); every 50th game of each is held out
    files: Vec<PathBuf>,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Positions of each set of a data file at most
    #[arg(long, default_value = "5000", value_name = "N")]
    limit: NonZeroUsize,
    /// Also this many boards of random men
    #[arg(long, value_name = "N")]
    boards: Option<NonZeroUsize>,
    /// Which random boards
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Also the puzzles of this CSV or EPD
    #[arg(long, value_name = "FILE")]
    puzzles: Option<PathBuf>,
    /// Try only this many puzzles, spread evenly over the file
    #[arg(long, value_name = "N", requires = "puzzles")]
    puzzle_limit: Option<usize>,
    /// Draw predicted win probabilities against labels and results into this SVG
    #[arg(long, value_name = "FILE", requires = "files")]
    plot: Option<PathBuf>,
    /// Write every number with its 95 % interval into this CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Of the network's products: auto (the fastest this CPU has), single or bf16
    #[arg(long, default_value = "auto")]
    arithmetic: Arithmetic,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl Accuracy {
    /// Measures and prints.
    ///
    /// # Errors
    /// There is nothing to measure, or the network or a file cannot be used.
    pub fn run(&self) -> Result<(), String> {
        self.write(&mut stdout())
    }

    fn write(&self, out: &mut dyn Write) -> Result<(), String> {
        if self.files.is_empty() && self.boards.is_none() && self.puzzles.is_none() {
            return Err("nothing to measure: name data files, --boards or --puzzles".to_owned());
        }
        work(self, out).map_err(|error| error.to_string())
    }
}

/// A network and the threads that ask it.
struct Bench {
    evaluator: Arc<CpuEvaluator>,
    threads: usize,
}

impl Bench {
    fn measure(&self, examples: &[Example]) -> Result<Metrics, EvalError> {
        let bar = progress(examples.len());
        let done = |count: usize| bar.inc(count as u64);
        let metrics = assess(&self.evaluator, examples, self.threads, &done)?;
        bar.finish_and_clear();
        Ok(metrics)
    }
}

fn work(args: &Accuracy, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let network = crate::play::network::load(args.weights.as_deref())?;
    writeln!(out, "network {}", network.hash)?;
    let threads = args.threads.or_else(|| available_parallelism().ok()).map_or(1, usize::from);
    let bench =
        Bench { evaluator: Arc::new(CpuEvaluator::new(&network, args.arithmetic)), threads };
    let mut csv = CSV_HEAD.to_owned();
    let mut sets: Vec<(String, Metrics)> = Vec::new();
    for path in &args.files {
        let table = held_out(&bench, path, args.limit.get())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        let named = |column: &Column| (format!("{name} {}", column.name()), column.metrics);
        sets.extend(table.columns.iter().map(named));
        writeln!(out, "\n{table}")?;
        csv += &table.csv();
    }
    let chosen = match &args.puzzles {
        Some(file) => open(file, args.puzzle_limit)?,
        None => Vec::new(),
    };
    let mut rules = Table { title: "rules".to_owned(), columns: Vec::new() };
    let mut add = |name: &str, sets: [&[Example]; 2]| -> Result<(), EvalError> {
        for (form, examples) in [STATE, ACTION].into_iter().zip(sets) {
            rules.columns.push(Column::new(name, form, bench.measure(examples)?));
        }
        Ok(())
    };
    if args.puzzles.is_some() {
        let [states, actions] = puzzles::examples(&chosen);
        add("puzzles", [&states, &actions])?;
    }
    if let Some(count) = args.boards {
        let boards = random_boards(count.get(), args.seed);
        let states: Vec<Example> = boards.iter().map(|board| unlabelled(board, None)).collect();
        add("boards", [&states, &random_actions(&boards, args.seed)])?;
    }
    if !rules.columns.is_empty() {
        writeln!(out, "\n{rules}")?;
        csv += &rules.csv();
    }
    writeln!(out, "{NOTE}")?;
    if let Some(file) = &args.puzzles {
        let evaluator: Arc<dyn Evaluator> = bench.evaluator.clone();
        let scores = puzzles::solve(&chosen, &evaluator, threads)?;
        let name = file.display().to_string();
        writeln!(out, "\n{name}: whole solutions, no search, 95 % intervals")?;
        writeln!(out, "{}", Comparison(&scores))?;
        csv += &puzzles::csv(&name, &scores);
    }
    if let Some(path) = &args.plot {
        plot::draw(&sets, path)?;
    }
    if let Some(path) = &args.csv {
        fs::write(path, csv).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

const STATE: &str = "MAV(s)";
const ACTION: &str = "MAV(s, a)";

/// All sets of a file that have a position.
fn held_out(bench: &Bench, path: &Path, limit: usize) -> Result<Table, Box<dyn Error>> {
    let games = HeldOut::read(path, &MixConfig::new(Vec::new()))?;
    let mut asks = vec![(STATE, Ask::Position), (ACTION, Ask::Action)];
    if games.has_variations() {
        asks.push(("variations", Ask::Variation));
    }
    let mut columns = Vec::new();
    for (top, ask) in asks {
        for (bottom, variant) in [("standard", Variant::Standard), ("Chess960", Variant::Chess960)]
        {
            let examples = games.examples(limit, ask, variant)?;
            if !examples.is_empty() {
                columns.push(Column::new(top, bottom, bench.measure(&examples)?));
            }
        }
    }
    Ok(Table { title: path.display().to_string(), columns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Cli;
    use clap::{CommandFactory, FromArgMatches};
    use nn::data::record::{Format, Header, MavgGame};
    use nn::data::{Game, GameWriter};
    use shakmaty::Chess;

    fn parse(words: &[&str]) -> Result<Accuracy, clap::Error> {
        let words = ["mavka", "accuracy"].iter().chain(words);
        let matches = Cli::command().try_get_matches_from(words)?;
        let (_, own) = matches.subcommand().expect("accuracy");
        Accuracy::from_arg_matches(own)
    }

    /// What is printed, and how it ends.
    fn print(words: &[&str]) -> (String, Result<(), String>) {
        let mut out = Vec::new();
        let end = parse(words).unwrap().write(&mut out);
        (String::from_utf8(out).unwrap(), end)
    }

    #[test]
    fn what_cannot_be_measured_is_told() {
        assert!(print(&[]).1.unwrap_err().contains("nothing to measure"));
        assert!(parse(&["--boards", "0"]).is_err());
        assert!(parse(&["--boards", "1", "--plot", "x.svg"]).is_err(), "boards have no values");
        assert!(parse(&["--puzzle-limit", "5"]).is_err());
        let absent = std::env::temp_dir().join("mavka-no-such-file");
        let error = print(&[absent.to_str().unwrap()]).1.unwrap_err();
        assert!(error.contains("mavka-no-such-file"), "{error}");
    }

    /// A file whose held-out games are one of standard chess and one of Chess960.
    fn sample(path: &Path) {
        let mut writer = GameWriter::create(path, Format::Mavg).unwrap();
        for number in 0..51 {
            let mut game = MavgGame::new(Header::new(Chess::default(), number == 50, 2));
            game.push(0, (3, 3), 20, &[64; 20]).unwrap();
            writer.write(&Game::Mavg(game)).unwrap();
        }
        writer.finish_file().unwrap();
    }

    #[test]
    fn a_file_and_boards_give_tables_csv_and_plot_errors() {
        let of = |end: &str| {
            let name = format!("mavka-accuracy-{}.{end}", std::process::id());
            std::env::temp_dir().join(name).to_str().unwrap().to_owned()
        };
        let (games, csv, plot) = (of("mavg.zst"), of("csv"), of("svg"));
        sample(Path::new(&games));
        let (table, asked) = print(&[&games, "--boards", "3", "--csv", &csv, "--threads", "1"]);
        let text = std::fs::read_to_string(&csv).unwrap_or_default();
        // One position a set is too few for a plot.
        let unplotted = print(&[&games, "--plot", &plot]).1;
        for path in [&games, &csv, &plot] {
            let _ = std::fs::remove_file(path);
        }
        assert_eq!(asked, Ok(()));
        assert!(table.contains(&games) && table.contains("rules") && table.contains(NOTE));
        for set in
            ["MAV(s) standard", "MAV(s) Chess960", "MAV(s, a) standard", "MAV(s, a) Chess960"]
        {
            let line = text.lines().find(|l| l.contains(set) && l.contains(",value error,"));
            assert!(line.is_some_and(|line| line.ends_with(",1")), "{set}: {text}");
        }
        let boards =
            |end| text.lines().any(|l| l.starts_with("\"rules boards") && l.ends_with(end));
        assert!(boards(",3") && text.contains("next state exact"), "{text}");
        assert!(unplotted.unwrap_err().contains("too few predictions"));
    }
}
