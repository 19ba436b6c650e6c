//! Command line of `mavka`: one file per subcommand, UCI by default. Arguments, calls and printing only; other modules
//! do the work and none imports this one.

mod analyse;
pub mod args;
mod bench;
mod completions;
mod doctor;
mod eval;
mod game;
mod imagine;
mod man;
mod options;
pub mod output;
pub mod paths;
mod perft;
mod play;
mod team;
pub mod think;
pub mod uci;
mod version;

use crate::process::stderr_log::{self, write_stderr};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use output::ended;
use std::io::{IsTerminal, stdin};
use std::process::ExitCode;

/// Shown where the program is started by hand, without a command.
const WELCOME: &str = concat!(
    "Mavka ",
    env!("CARGO_PKG_VERSION"),
    " is a chess engine. Add this executable to a chess GUI as a UCI engine, or play here: mavka play\n",
    "It speaks UCI now: `quit` ends it. `mavka help` lists the commands."
);
/// Excluded from the check of paths: `man` checks its folder itself.
pub const UNCHECKED: [(&str, &str); 1] = [("man", "out")];

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
    /// Play a game of chess in the terminal
    Play(Box<play::Play>),
    /// Annotate games: scores, better lines, glyphs
    Analyse(Box<analyse::Analyse>),
    /// Search fixed positions and print a deterministic signature and the speed
    Bench(bench::BenchArgs),
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
    /// Show what each player of a team finds in a position
    Team(team::Team),
    /// Try, one by one, all that playing rests on: network, instructions, memory, tables, UCI, GUIs
    Doctor(doctor::Doctor),
    /// Play or solve other games: Connect Four, Hex
    Game(game::GameArgs),
    /// Print what a shell needs to complete this command line
    Completions(completions::Completions),
    /// Print the manual page, or write those of all commands
    Man(man::Manual),
}

impl Cli {
    /// Parses the command line of this process, checks its files, and runs the command.
    #[must_use]
    pub fn start() -> ExitCode {
        let matches = Cli::command().get_matches();
        match (paths::check(&matches, &UNCHECKED), Cli::from_arg_matches(&matches)) {
            (_, Err(why)) => why.exit(),
            (Err(why), _) => ended(Err(why.into())),
            (Ok(()), Ok(cli)) => cli.run(),
        }
    }

    /// Runs the command; prints its error.
    #[must_use]
    pub fn run(self) -> ExitCode {
        stderr_log::start();
        crate::process::interrupt::survive_file_limit();
        if self.version {
            return ended(version::print());
        }
        let uci = || {
            // Somebody has typed the name alone; a GUI has a pipe. Standard output is UCI's in either case.
            if stdin().is_terminal() {
                write_stderr(WELCOME);
            }
            Command::Uci(uci::Uci::default())
        };
        let done = match self.command.unwrap_or_else(uci) {
            Command::Uci(uci) => uci.run(),
            Command::Play(play) => play.run(),
            Command::Analyse(analyse) => analyse.run(),
            Command::Bench(bench) => bench.run(),
            Command::Options(options) => options.run(),
            Command::Perft(perft) => perft.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Eval(eval) => eval.run(),
            Command::Imagine(imagine) => imagine.run(),
            Command::Think(think) => think.run(),
            Command::Team(team) => team.run(),
            Command::Game(game) => game.run(),
            Command::Completions(completions) => completions.run(Cli::command()),
            Command::Man(manual) => manual.run(Cli::command()),
        };
        ended(done)
    }
}

/// The arguments of a subcommand, for tests.
#[cfg(test)]
fn parsed<T: FromArgMatches>(subcommand: &str, words: &[&str]) -> Result<T, String> {
    let words = [&["mavka", subcommand], words].concat();
    let matches = Cli::command().try_get_matches_from(words).map_err(|why| why.to_string())?;
    let own = matches.subcommand_matches(subcommand).ok_or("another subcommand")?;
    T::from_arg_matches(own).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `clap`'s own debug assertions, and the generated pages and completions.
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
        // Own pages are replaced; another file is not, and then no page is written.
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
