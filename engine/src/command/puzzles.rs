//! `mavka puzzles`: how many of a file's puzzles an engine solves. The solver is always an engine process
//! speaking UCI, this program by default: what is measured is what a GUI would get, and any other engine
//! can be measured the same way.

use super::words::{command_line, limits, read_option};
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::league::{Fault, Limit, Patience, Player, Process};
use crate::measure::puzzles::open::{open, progress};
use crate::measure::puzzles::{Attempt, Puzzle, Score, Solver, plot, solve_all};
use crate::measure::say;
use clap::Args;
use shakmaty::fen::Fen;
use shakmaty::{EnPassantMode, Position};
use std::fmt;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `mavka puzzles`.
///
/// Reads CSV (`fen,moves,rating,id`, or Lichess's own) and EPD with `bm`, `am` or graded moves.
/// `--nodes 1` measures the network alone, `--policy` its policy head.
#[derive(Args, Clone, Debug)]
pub struct Puzzles {
    /// CSV or EPD
    file: PathBuf,
    /// Try only this many, spread evenly over the file
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    spend: limits::Both,
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
    #[arg(long, default_value_t = 1, value_name = "N")]
    concurrency: usize,
    /// Draw the share of solved puzzles against their rating into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// List the puzzles that were not solved in this CSV
    #[arg(long, value_name = "FILE")]
    failures: Option<PathBuf>,
}

/// Nodes without any limit on the command line: the smallest search of paper 000's table 1.
const NODES: u64 = 100;
/// For one move; a puzzle has no clock.
const PATIENCE: Duration = Duration::from_secs(600);

impl Puzzles {
    /// Tries the puzzles and prints the table.
    ///
    /// # Errors
    /// A file cannot be read or written, or the engine fails.
    pub fn run(self) -> Result<(), String> {
        let puzzles = open(&self.file, self.limit)?;
        let limit = match self.policy {
            true => Limit::Nodes(1),
            false => self.spend.read().unwrap_or(Limit::Nodes(NODES)),
        };
        let (program, args) =
            command_line(self.engine.as_deref()).map_err(|error| error.to_string())?;
        let mut options = self.options.clone();
        if self.policy {
            options.push(("Search".to_owned(), "policy".to_owned()));
        }
        let start = || {
            let process = Process::spawn(&program, &args)
                .map_err(|error| Broken::Absent(format!("{}: {error}", program.display())))?;
            let patience = Patience { think: PATIENCE, ..Patience::default() };
            Ok(Engine { player: Player::greet(process, &options, patience)?, limit })
        };

        let bar = progress(puzzles.len());
        let mut score = Score::default();
        let mut failures = "id,rating,fen,played\n".to_owned();
        let done = solve_all(&puzzles, self.concurrency, start, |puzzle, tried| {
            score.add(puzzle, &tried);
            if !tried.solved {
                note_failure(&mut failures, puzzle, &tried);
            }
            bar.set_message(format!("{} solved", score.all.solved));
            bar.inc(1);
        });
        bar.finish_and_clear();
        done.map_err(|error| error.to_string())?;

        say(format_args!("{}, {limit}", self.file.display()))?;
        say(&score)?;
        if let Some(path) = &self.plot {
            let name = self.file.file_name().unwrap_or_default().to_string_lossy();
            plot::draw(&score, &format!("{name}, {limit}"), path)?;
        }
        if let Some(path) = &self.failures {
            fs::write(path, failures).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}

fn note_failure(out: &mut String, puzzle: &Puzzle, tried: &Attempt) {
    let rating = puzzle.rating.map(|rating| rating.to_string()).unwrap_or_default();
    let played: Vec<String> = tried.played.iter().map(|action| format!("{action:?}")).collect();
    let id = puzzle.id.replace('"', "\"\"");
    let _ = writeln!(out, "\"{id}\",{rating},{},{}", puzzle.game.fen(), played.join(" "));
}

/// Why an engine solves no more.
#[derive(Debug)]
enum Broken {
    Absent(String),
    Fault(Fault),
    /// Its answer was no legal move of that position.
    Illegal {
        word: String,
        fen: String,
    },
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Broken {
        Broken::Fault(fault)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Absent(why) => f.write_str(why),
            Broken::Fault(fault) => fault.fmt(f),
            Broken::Illegal { word, fen } => write!(f, "the engine answered `{word}` in `{fen}`"),
        }
    }
}

/// A UCI engine as solver.
struct Engine {
    player: Player<Process>,
    limit: Limit,
}

impl Solver for Engine {
    type Error = Broken;

    fn begin(&mut self) -> Result<(), Broken> {
        Ok(self.player.new_game(false)?)
    }

    fn choose(&mut self, game: &Game) -> Result<Action, Broken> {
        let (go, time) = match self.limit {
            Limit::MoveTime(time) => (time_words(time), Some(time + Duration::from_secs(5))),
            Limit::Clock { base, increment, .. } => {
                // Each position is the first of a game of its own.
                let (base, increment) = (base.as_millis(), increment.as_millis());
                (format!("go wtime {base} winc {increment} btime {base} binc {increment}"), None)
            }
            Limit::Nodes(nodes) => (format!("go nodes {nodes}"), None),
            Limit::Depth(depth) => (format!("go depth {depth}"), None),
        };
        let thought = self.player.think(&command(game), &go, time)?;
        Action::from_uci(&thought.best, game.position())
            .ok_or_else(|| Broken::Illegal { word: thought.best, fen: game.fen() })
    }
}

fn time_words(time: Duration) -> String {
    format!("go movetime {}", time.as_millis())
}

/// The `position` command of a game.
fn command(game: &Game) -> String {
    let mut line =
        format!("position fen {}", Fen::from_position(game.start(), EnPassantMode::Legal));
    let mut position = game.start().clone();
    for (ply, action) in game.actions().iter().enumerate() {
        line += if ply == 0 { " moves " } else { " " };
        line += &action.to_uci(&position, game.mode());
        if let Some(action) = action.to_move(&position) {
            position.play_unchecked(action);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_puzzles_and_a_number_of_nodes_go_together() {
        use clap::Parser;
        let words = ["mavka", "puzzles", "file.csv", "--limit", "3", "--nodes", "10"];
        assert!(super::super::Cli::try_parse_from(words).is_ok());
        let both = ["mavka", "puzzles", "file.csv", "--depth", "3", "--nodes", "10"];
        assert!(super::super::Cli::try_parse_from(both).is_err());
    }

    #[test]
    fn position_command_has_start_and_moves() {
        let mut game = Game::from_fen("4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1", false).unwrap();
        assert_eq!(command(&game), "position fen 4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1");
        for word in ["e1g1", "h8h1"] {
            game.play_uci(word).unwrap();
        }
        assert_eq!(command(&game), "position fen 4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1 moves e1g1 h8h1");
    }
}
