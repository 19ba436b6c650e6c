//! The command line: one file per subcommand, UCI when none is named. Arguments, calls and printing only:
//! the work is done in other rooms, and none of them imports this one.

mod accuracy;
mod analyse;
mod bench;
mod completions;
mod data;
mod doctor;
mod eval;
mod evalbench;
mod imagine;
mod label;
mod league;
mod leaves;
mod man;
mod options;
mod output;
mod paths;
mod perft;
mod play_match;
mod puzzles;
mod regress;
mod think;
mod train;
mod train_nnue;
mod train_writer;
mod treebench;
mod tune;
mod uci;
mod version;
mod words;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use output::Failure;
use std::process::ExitCode;

/// A chess engine: tree search with a network that knows the value of every move.
#[derive(Parser)]
#[command(name = "mavka", version, about, disable_version_flag = true)]
pub struct Cli {
    /// Print version and network
    #[arg(short = 'V', long)]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Speak UCI on standard input and output (what a GUI wants; the default)
    Uci(uci::Uci),
    /// Annotate games: scores, better lines, glyphs
    Analyse(Box<analyse::Analyse>),
    /// Search fixed positions and print a deterministic signature and the speed
    Bench(bench::Bench),
    /// Measure evaluations per second against this machine's matrix-product peak
    Evalbench(evalbench::EvalBench),
    /// Measure playouts per second of the search alone, by number of threads
    Treebench(treebench::TreeBench),
    /// Measure how often the network alone is right, on games held out from training
    Accuracy(accuracy::Accuracy),
    /// Read labelled games as training would: what the examples are, and how fast they come
    Data(data::Data),
    /// Train a network; run again with the same folder to go on
    Train(train::Train),
    /// Teach the decoder that writes the trees of the internal search
    TrainWriter(train_writer::TrainWriter),
    /// Train the alpha-beta search's network of static evaluations
    TrainNnue(train_nnue::TrainNnue),
    /// Train the regressors of paper 002 on labelled games, and print its table
    Regress(regress::Regress),
    /// Print the table of UCI options as Markdown
    Options(options::Options),
    /// Count the leaf positions of the move tree, move by move
    Perft(perft::Perft),
    /// Show what the network thinks of a position, move by move
    Eval(eval::Eval),
    /// Show the board as the network imagines it after each move, beside the true one
    Imagine(imagine::Imagine),
    /// Print the search tree that the network writes for a position
    Think(think::Think),
    /// Try, one by one, all that playing rests on: network, instructions, memory, tables, UCI, GUIs
    Doctor(doctor::Doctor),
    /// Play a match between two UCI engines, or two settings of this one
    Match(Box<play_match::PlayMatch>),
    /// Play a league of many agents and rate them; run again with the same folder to go on
    League(league::League),
    /// Have a strong engine label held-out positions, for tuning
    Label(Box<label::Label>),
    /// Have a strong engine label leaves of search trees, for training
    Leaves(Box<leaves::Leaves>),
    /// Compare settings of the search on labelled positions, and look for better ones
    Tune(Box<tune::Tune>),
    /// Count the puzzles of a file that an engine solves
    Puzzles(Box<puzzles::Puzzles>),
    /// Print what a shell needs to complete this command line
    Completions(completions::Completions),
    /// Print the manual page, or write those of all commands
    Man(man::Manual),
}

impl Cli {
    /// Parses the command line of this process, checks the files it names, and does what it asks.
    #[must_use]
    pub fn start() -> ExitCode {
        let matches = Cli::command().get_matches();
        match (paths::check(&matches), Cli::from_arg_matches(&matches)) {
            (_, Err(why)) => why.exit(),
            (Err(why), _) => ended(Err(why.into())),
            (Ok(()), Ok(cli)) => cli.run(),
        }
    }

    /// Does what was asked. The error is for humans.
    #[must_use]
    pub fn run(self) -> ExitCode {
        crate::stderr_log::start();
        if self.version {
            return ended(version::print());
        }
        let done = match self.command.unwrap_or(Command::Uci(uci::Uci::default())) {
            Command::Uci(uci) => uci.run(),
            Command::Analyse(analyse) => analyse.run(),
            Command::Bench(bench) => bench.run(),
            Command::Evalbench(bench) => bench.run(),
            Command::Treebench(bench) => bench.run(),
            Command::Accuracy(accuracy) => accuracy.run(),
            Command::Data(data) => data.run(),
            Command::Train(train) => train.run(),
            Command::TrainWriter(train) => train.run(),
            Command::TrainNnue(train) => train.run(),
            Command::Regress(regress) => regress.run(),
            Command::Options(options) => options.run(),
            Command::Perft(perft) => perft.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Eval(eval) => eval.run(),
            Command::Imagine(imagine) => imagine.run(),
            Command::Think(think) => think.run(),
            Command::Match(play_match) => play_match.run(),
            Command::League(league) => league.run(),
            Command::Label(label) => label.run(),
            Command::Leaves(leaves) => leaves.run(),
            Command::Tune(tune) => tune.run(),
            Command::Puzzles(puzzles) => puzzles.run(),
            Command::Completions(completions) => completions.run(Cli::command()),
            Command::Man(manual) => manual.run(Cli::command()),
        };
        ended(done)
    }
}

/// The exit status; a failure is told of.
fn ended(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("mavka: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `clap` would refuse in its own debug builds, and what these two make of every argument.
    #[test]
    fn the_command_line_is_sound_and_can_be_described() {
        let mut command = Cli::command();
        command.clone().debug_assert();
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut command, "mavka", &mut script);
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("analyse") && script.contains("--plot"), "{script}");
        let folder = std::env::temp_dir().join(format!("mavka-man-{}", std::process::id()));
        let write = || man::Manual { out: Some(folder.clone()) }.run(Cli::command());
        write().unwrap();
        let path = folder.join("mavka-eval.1");
        let page = std::fs::read_to_string(&path).unwrap();
        // Its own pages are replaced, another file is not, and no other page is written then.
        write().unwrap();
        std::fs::write(&path, "mine").unwrap();
        std::fs::remove_file(folder.join("mavka.1")).unwrap();
        let why = write().unwrap_err().to_string();
        assert!(why.contains("mavka-eval.1") && why.contains("move it away"), "{why}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert!(!folder.join("mavka.1").exists());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(page.contains("plot"), "{page}");
    }
}
