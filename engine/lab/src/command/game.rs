//! `mavka-lab game`: learning of Connect Four and Hex from nothing, and measurement of their networks.

use super::args::read_fraction;
use super::game_team::GameTeam;
use crate::games::LearnError;
use crate::games::exam::Solved;
use crate::games::league::league;
use crate::games::learn::{LearnLimit, learn};
use crate::games::measure::{Measurement, measure};
use crate::games::settings::Settings;
use crate::games::team::matchmaker::Matchmaker;
use crate::games::team::table::TeamSettings;
use clap::{Args, Subcommand};
use engine::command::output::{Failure, StdoutSink};
use engine::process::interrupt::raised_by_ctrl_c;
use games::connect4::ConnectFour;
use games::hex::Hex;
use games::net::{BoardNet, NetworkFile};
use std::path::{Path, PathBuf};

/// Learn Connect Four or Hex from nothing.
#[derive(Args)]
pub struct Games {
    #[command(subcommand)]
    game: BoardGame,
}

#[derive(Subcommand)]
enum BoardGame {
    /// Connect Four
    Connect4 {
        #[command(subcommand)]
        task: GameTask,
        /// Columns and rows of the board
        #[arg(long, default_value = "7x6", value_name = "COLUMNSxROWS", global = true)]
        size: String,
    },
    /// Hex
    Hex {
        #[command(subcommand)]
        task: GameTask,
        /// Cells a side
        #[arg(long, default_value_t = 5, value_name = "N", global = true)]
        size: usize,
    },
}

#[derive(Subcommand)]
enum GameTask {
    /// Learn by self-play; run again with the same folder to go on
    Learn(Learn),
    /// Compare a network with exact results
    Measure(Measure),
    /// One network with and without search against plain tree search (paper 000, table 1)
    League(GameLeagueArgs),
    /// Compare a team of players with its first one, by exact results (paper 003)
    Team(GameTeam),
}

#[derive(Args)]
struct Learn {
    /// The run: settings, games, training state, network, progress.csv, progress.svg
    #[arg(long)]
    folder: PathBuf,
    /// End after this time; Ctrl-C ends it, too
    #[arg(long)]
    hours: Option<f64>,
    /// End after this many generations of the run
    #[arg(long)]
    generations: Option<usize>,
    /// Threads; with one, a seed repeats exactly
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, usize::from))]
    threads: usize,
    /// Seed of weights, games and order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Channels of a token
    #[arg(long, default_value_t = 32)]
    channels: usize,
    /// Residual blocks
    #[arg(long, default_value_t = 6)]
    blocks: usize,
    /// Games of a generation
    #[arg(long, default_value_t = 500)]
    games: usize,
    /// Learning rate; a run may go on with a smaller one
    #[arg(long, default_value_t = 0.002, value_parser = read_fraction)]
    rate: f32,
    /// The network to begin with; its channels and blocks hold [default: random weights]
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Half of the games begin in positions of this file of solved ones, whose results are not used
    #[arg(long, value_name = "FILE")]
    starts: Option<PathBuf>,
    /// Learn from games of the solver, with exact labels, in place of its own (paper 000)
    #[arg(long, conflicts_with_all = ["starts", "players"])]
    taught: bool,
    /// Players in one network (paper 003); those after the first are also paid for differing
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = clap::value_parser!(u8).range(1..=16))]
    players: u8,
    /// Share of the result in what the players after the first are paid, of 1; the rest are their own rewards
    #[arg(long, default_value_t = 0.9, value_name = "SHARE", value_parser = read_fraction)]
    lambda: f32,
    /// Distance between players at which nothing more is paid (ℓ₀)
    #[arg(long, default_value_t = 0.4, value_name = "D")]
    distance: f64,
    /// The pairing of a team's players
    #[arg(long, default_value = "nash", value_name = "NAME")]
    matchmaker: Matchmaker,
}

#[derive(Args)]
struct Measure {
    /// The network
    network: PathBuf,
    /// Folder of the solved positions, which are made once
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// Positions of each set
    #[arg(long, default_value_t = 1000)]
    positions: usize,
    /// Games as the first player against the perfect one
    #[arg(long, default_value_t = 200)]
    games: usize,
}

#[derive(Args)]
struct GameLeagueArgs {
    /// The network
    network: PathBuf,
    /// The league: games, table.csv, league.svg; run again with the same folder to go on
    #[arg(long)]
    folder: PathBuf,
    /// Games in all
    #[arg(long, default_value_t = 2000)]
    games: usize,
}

impl Games {
    /// Does what was asked.
    ///
    /// # Errors
    /// The board is not supported, a file cannot be used, or the run belongs to other settings.
    pub fn run(self) -> Result<(), Failure> {
        match self.game {
            BoardGame::Connect4 { task, size } => task.run(&board(&size)?),
            BoardGame::Hex { task, size } => task.run(&Hex::new(size)?),
        }
    }
}

/// A Connect Four board of `7x6`.
fn board(size: &str) -> Result<ConnectFour, String> {
    let sides = size.split_once('x').and_then(|(columns, rows)| {
        Some((columns.parse::<u32>().ok()?, rows.parse::<u32>().ok()?))
    });
    let fits = |(columns, rows): &(u32, u32)| {
        (4..=8).contains(columns) && (4..).contains(rows) && columns * (rows.min(&64) + 1) <= 63
    };
    let (columns, rows) = sides.filter(fits).ok_or_else(|| {
        format!("size \"{size}\" is not supported, expected COLUMNSxROWS such as 7x6, 4 to 8 columns, at least 4 rows, at most 63 cells with one more row")
    })?;
    Ok(ConnectFour::new(columns, rows))
}

impl GameTask {
    fn run<G: Solved>(&self, game: &G) -> Result<(), Failure> {
        match self {
            GameTask::Learn(task) => task.run(game),
            GameTask::Measure(task) => task.run(game),
            GameTask::League(task) => task.run(game),
            GameTask::Team(task) => task.run(game),
        }
    }
}

impl Learn {
    fn run<G: Solved>(&self, game: &G) -> Result<(), Failure> {
        if self.hours.is_none() && self.generations.is_none() {
            return Err("say when to end: --hours or --generations".into());
        }
        let mut settings = Settings::new(game, self.seed);
        settings.training.channels = self.channels.clamp(1, 256);
        settings.training.blocks = self.blocks.clamp(1, 64);
        settings.training.rate = self.rate;
        settings.play.games = self.games.max(1);
        settings.init = self.init.clone();
        settings.starts = self.starts.clone();
        if self.taught {
            settings = settings.taught();
        }
        settings.team = (self.players > 1).then(|| TeamSettings {
            players: usize::from(self.players),
            extrinsic: self.lambda,
            distance: self.distance.max(1e-3),
            matchmaker: self.matchmaker,
        });
        let limit = LearnLimit {
            hours: self.hours.unwrap_or(f64::INFINITY),
            generations: self.generations.unwrap_or(usize::MAX),
        };
        let stop = raised_by_ctrl_c()?;
        let rows = learn(game, &settings, &self.folder, self.threads.max(1), limit, &stop)?;
        let mut out = StdoutSink::default();
        if let Some(row) = rows.last() {
            let optimal = row.optimal.map_or(String::new(), |[policy, search]| {
                format!(
                    ", optimal moves where it matters: {:.1} % policy, {:.1} % search",
                    100.0 * policy,
                    100.0 * search
                )
            });
            out.say(format_args!(
                "{} generations, {} games, {:.2} h{optimal}, {:+.0} Elo",
                row.generation, row.games, row.hours, row.elo
            ));
        }
        out.end()
    }
}

impl Measure {
    fn run<G: Solved>(&self, game: &G) -> Result<(), Failure> {
        let network = load(game, &self.network)?;
        let stop = raised_by_ctrl_c()?;
        let mut out = StdoutSink::default();
        let what = Measurement { positions: self.positions.max(1), games: self.games };
        measure(game, &network, what, &self.folder, &stop, |line| out.say(line))?;
        out.end()
    }
}

impl GameLeagueArgs {
    fn run<G: Solved>(&self, game: &G) -> Result<(), Failure> {
        let network = load(game, &self.network)?;
        let stop = raised_by_ctrl_c()?;
        let mut out = StdoutSink::default();
        league(game, &network, self.games.max(1), &self.folder, &stop, |line| out.say(line))?;
        out.end()
    }
}

fn load<G: Solved>(game: &G, path: &Path) -> Result<BoardNet, LearnError> {
    let damaged = |why| LearnError::Parameters(path.to_owned(), why);
    let unfit = |why| LearnError::Unfit(path.to_owned(), why);
    BoardNet::new(&NetworkFile::load(path).map_err(damaged)?, game).map_err(unfit)
}
