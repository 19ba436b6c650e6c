//! Command line of `mavka-lab`: one file per subcommand. Arguments, calls and printing only; other modules do the work
//! and none imports this one.

mod accuracy;
mod args;
mod data;
mod evalbench;
mod game;
mod game_team;
mod imagination;
mod internal;
mod label;
mod league;
mod leaves;
mod play_match;
mod players;
mod puzzles;
mod relabel;
mod selfplay;
mod team;
mod train;
mod train_nnue;
mod train_writer;
mod treebench;
mod tune;
mod uci;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use engine::command::output::ended;
use engine::command::paths;
use std::process::ExitCode;

/// Exceptions in the check of paths: folders, which their commands check, and networks that a training may replace.
pub const UNCHECKED: [(&str, &str); 4] =
    [("league", "out"), ("train", "folder"), ("train-nnue", "init"), ("train-writer", "init")];

/// The laboratory of the chess engine Mavka: matches, measurements, labels, training
#[derive(Parser)]
#[command(name = "mavka-lab", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Speak UCI, with the players of paper 002 as well
    Uci(uci::Uci),
    /// Measure evaluations per second against this machine's matrix-product peak
    Evalbench(crate::speed::evalbench::EvalBench),
    /// Measure playouts per second of the search alone, by number of threads
    Treebench(treebench::TreeBenchArgs),
    /// Measure how often the network alone is right, on games held out from training
    Accuracy(accuracy::AccuracyArgs),
    /// Read labelled games as training would: what the examples are, and how fast they come
    Data(data::DataArgs),
    /// Train a network; run again with the same folder to go on
    Train(train::Train),
    /// Measure the trees that the network writes (internal search)
    Internal(Box<internal::Internal>),
    /// Measure how far the network imagines games
    Imagination(imagination::Imagination),
    /// Teach the decoder that writes the trees of the internal search
    TrainWriter(train_writer::TrainWriter),
    /// Train the alpha-beta search's network of static evaluations
    TrainNnue(train_nnue::TrainNnue),
    /// Learn Connect Four or Hex from nothing, and measure what was learnt
    Game(game::Games),
    /// Play a match between two UCI engines, or two settings of this one
    Match(Box<play_match::PlayMatch>),
    /// Play a league of many agents and rate them; run again with the same folder to go on
    League(league::LeagueArgs),
    /// Play games of the network against itself, to train on
    Selfplay(Box<selfplay::SelfPlayArgs>),
    /// Have a strong engine label held-out positions, for tuning
    Label(Box<label::LabelArgs>),
    /// Have a strong engine label leaves of search trees, for training
    Leaves(Box<leaves::Leaves>),
    /// Have another engine label positions of a data file again, beside the old labels
    Relabel(Box<relabel::Relabel>),
    /// Compare settings of the search on labelled positions, and look for better ones
    Tune(Box<tune::Tune>),
    /// Count the puzzles of a file that an engine solves
    Puzzles(Box<puzzles::Puzzles>),
    /// Compare a team of players with its first player on puzzles or openings
    Team(Box<team::TeamArgs>),
    /// Tell how the players of a network differ, and what each is paid for it
    Players(Box<players::PlayersArgs>),
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
        engine::process::stderr_log::start();
        engine::process::interrupt::survive_file_limit();
        let done = match self.command {
            Command::Uci(uci) => uci.run(),
            Command::Evalbench(bench) => evalbench::run(&bench),
            Command::Treebench(bench) => bench.run(),
            Command::Accuracy(accuracy) => accuracy.run(),
            Command::Data(data) => data.run(),
            Command::Internal(internal) => internal.run(),
            Command::Imagination(imagination) => imagination.run(),
            Command::Train(train) => train.run(),
            Command::TrainWriter(train) => train.run(),
            Command::TrainNnue(train) => train.run(),
            Command::Game(game) => game.run(),
            Command::Match(play_match) => play_match.run(),
            Command::League(league) => league.run(),
            Command::Selfplay(selfplay) => selfplay.run(),
            Command::Label(label) => label.run(),
            Command::Leaves(leaves) => leaves.run(),
            Command::Relabel(relabel) => relabel.run(),
            Command::Tune(tune) => tune.run(),
            Command::Puzzles(puzzles) => puzzles.run(),
            Command::Team(team) => team.run(),
            Command::Players(players) => players.run(),
        };
        ended(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `clap`'s own debug assertions.
    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_count_of_zero_is_refused() {
        for words in [
            "accuracy a --puzzles p --puzzle-limit",
            "evalbench --batch",
            "evalbench --threads",
            "internal --measure a --positions",
            "label a --engine e --out b --best-nodes",
            "leaves a --engine e --out b --depth",
            "league a.toml --concurrency",
            "league a.toml --games",
            "league a.toml --stall",
            "match --concurrency",
            "match --depth",
            "match --games",
            "match --max-plies",
            "match --nodes",
            "match --stall",
            "puzzles a --concurrency",
            "puzzles a --limit",
            "puzzles a --nodes",
            "relabel a --engine e --out b --count",
            "relabel a --engine e --out b --every",
            "relabel a --engine e --out b --per-game",
            "treebench --batch",
            "treebench --threads",
            "tune a --limit",
            "tune a --nodes",
            "tune a --optimise CPuct=1:1 --sample",
            "tune a --optimise CPuct=1:1 --steps",
            "tune a --puzzles p --puzzle-limit",
        ] {
            let parse = |count: &str| {
                let words = ["mavka-lab"].into_iter().chain(words.split_whitespace());
                Cli::command().try_get_matches_from(words.chain([count]))
            };
            assert!(parse("1").is_ok(), "{words} 1");
            let why = parse("0").map(|_| ()).unwrap_err().to_string();
            let (_, argument) = words.rsplit_once(' ').unwrap();
            assert!(why.contains("invalid value '0'") && why.contains(argument), "{why}");
        }
        assert!(
            Cli::command()
                .try_get_matches_from(["mavka-lab", "tune", "a", "--nodes", "400,0"])
                .is_err()
        );
    }
}
