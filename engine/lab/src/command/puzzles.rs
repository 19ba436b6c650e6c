//! `mavka-lab puzzles`: number of puzzles of a file that an engine solves. The solver is always a UCI process, this
//! program by default: the result is what a GUI would get, and other engines are comparable.

use super::args::{command_line, limits};
use crate::measure::puzzles::open::open;
use crate::measure::puzzles::uci_solver::UciSolver;
use crate::measure::puzzles::{Attempt, Puzzle, Score, Solution, VALUE_MARGINS, plot, solve_all};
use crate::uci_client::{Fault, Limit, Process};
use clap::Args;
use engine::command::args::{positive, read_option};
use engine::command::output::{Failure, StdoutSink};
use engine::process::errors::FileError;
use engine::process::files::csv_field;
use engine::process::files::write_whole;
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::progress;
use engine::process::workers::WorkerLimits;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `mavka-lab puzzles`.
///
/// Reads CSV (`fen,moves,rating,id`, or Lichess's own) and EPD with `bm`, `am`, graded moves, mates (`bm #3`, `dm 3`) or
/// true results (`c0 "draw for the side to move"`). `--nodes 1` measures the network alone, `--policy` its policy head.
#[derive(Args, Clone, Debug)]
pub struct Puzzles {
    /// CSV or EPD
    file: PathBuf,
    /// Try only this many, spread evenly over the file
    #[arg(long, value_name = "N", value_parser = positive())]
    limit: Option<usize>,
    #[command(flatten)]
    spend: limits::Only,
    /// The first choice of the policy head, without search
    #[arg(long)]
    policy: bool,
    /// Command line of the engine [default: this program]
    #[arg(long, value_name = "COMMAND")]
    engine: Option<String>,
    /// A UCI option; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
    /// Puzzles tried at the same time, each by an engine of its own
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = positive())]
    concurrency: usize,
    /// Draw the share of solved puzzles against their rating into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// List the puzzles that were not solved in this CSV
    #[arg(long, value_name = "FILE")]
    failures: Option<PathBuf>,
}

/// Default nodes without a limit: the smallest search of paper 000's table 1.
const NODES: u64 = 100;

impl Puzzles {
    /// Tries the puzzles and prints the table.
    ///
    /// # Errors
    /// A file cannot be read or written, or the engine fails.
    pub fn run(self) -> Result<(), Failure> {
        let puzzles = open(&self.file, self.limit)?;
        let limit = match self.policy {
            true => Limit::Nodes(1),
            false => self.spend.read().unwrap_or(Limit::Nodes(NODES)),
        };
        let (program, args) = command_line(self.engine.as_deref())?;
        let mut options = self.options.clone();
        if self.policy {
            options.push(("Search".to_owned(), "policy".to_owned()));
        }
        let start = || {
            let process = Process::spawn(&program, &args)
                .map_err(|error| Fault::Absent(format!("{}: {error}", program.display())))?;
            UciSolver::greet(process, &options, limit)
        };

        let bar = progress(puzzles.len());
        let mut score = Score::default();
        let mut failures = "id,rating,fen,played\n".to_owned();
        let stop = raised_by_ctrl_c()?;
        let crew = WorkerLimits { count: self.concurrency, stop: &stop };
        let done = solve_all(&puzzles, crew, start, |puzzle, tried| {
            score.add(puzzle, &tried);
            if !tried.solved {
                note_failure(&mut failures, puzzle, &tried);
            }
            bar.set_message(format!("{} solved", score.all.solved));
            bar.inc(1);
        });
        bar.finish_and_clear();
        done?;

        let mut out = StdoutSink::default();
        out.say(format_args!("{}, {limit}", self.file.display()));
        let (tried, all) = (score.all.tried, puzzles.len());
        if tried < all as u64 {
            out.say(format_args!("stopped after {tried} of {all} puzzles"));
        }
        out.say(&score);
        if puzzles.iter().any(|puzzle| matches!(puzzle.task, Solution::Value(_))) {
            let [right, close] = VALUE_MARGINS;
            out.say(format_args!(
                "values: solved within {right} of the true result, points within {close}"
            ));
        }
        if let Some(path) = &self.plot {
            let name = self.file.file_name().unwrap_or_default().to_string_lossy();
            plot::draw(&score, &format!("{name}, {limit}"), path)?;
        }
        if let Some(path) = &self.failures {
            write_whole(path, failures).map_err(FileError::of(path))?;
        }
        out.end()
    }
}

fn note_failure(out: &mut String, puzzle: &Puzzle, tried: &Attempt) {
    let rating = puzzle.rating.map(|rating| rating.to_string()).unwrap_or_default();
    let played: Vec<String> = tried.played.iter().map(|action| format!("{action:?}")).collect();
    let id = csv_field(&puzzle.id);
    let _ = writeln!(out, "{id},{rating},{},{}", puzzle.game.fen(), played.join(" "));
}

#[cfg(test)]
mod tests {

    #[test]
    fn a_puzzle_limit_and_a_node_limit_combine() {
        use clap::Parser;
        let words = ["mavka", "puzzles", "file.csv", "--limit", "3", "--nodes", "10"];
        assert!(super::super::Cli::try_parse_from(words).is_ok());
        let both = ["mavka", "puzzles", "file.csv", "--depth", "3", "--nodes", "10"];
        assert!(super::super::Cli::try_parse_from(both).is_err());
        let none = ["mavka", "puzzles", "file.csv", "--nodes", "0"];
        let why = super::super::Cli::try_parse_from(none).err().unwrap().to_string();
        assert!(why.contains("--nodes") && why.contains("0"), "{why}");
    }

    #[test]
    fn help_speaks_of_one_engine() {
        use clap::CommandFactory;
        let mut cli = super::super::Cli::command();
        let help = cli.find_subcommand_mut("puzzles").unwrap().render_help().to_string();
        assert!(help.contains("Clock of the engine") && !help.contains("both players"), "{help}");
    }
}
