//! `mavka game`: arguments of the games beside chess. The crate `games` does the work.

use super::output::{Failure, Sink};
use crate::errors::quote_path;
use crate::streams;
use clap::{Args, Subcommand};
use games::board::{Board, describe};
use games::connect4::ConnectFour;
use games::game::Game as _;
use games::gtp::Gtp;
use games::hex::Hex;
use games::net::NetworkFile;
use games::player::Source;
use games::solver::Solver;
use games::solver::hex::{HexSolver, MAX_SIZE};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Memory of the solvers' table.
const TABLE_BYTES: usize = 256 << 20;
/// The bundled networks, learned from nothing (docs/src/lab/selfplay.md).
const CONNECT4: &[u8] = include_bytes!("../../../assets/games/connect4.safetensors");
/// On 5 × 5 cells, and on 7 × 7.
const HEX: [&[u8]; 2] = [
    include_bytes!("../../../assets/games/hex.safetensors"),
    include_bytes!("../../../assets/games/hex7.safetensors"),
];

/// Arguments of `mavka game`.
#[derive(Args)]
pub struct Games {
    #[command(subcommand)]
    game: Which,
}

#[derive(Subcommand)]
enum Which {
    /// Connect Four, 7 columns of 6 cells
    Connect4 {
        #[command(subcommand)]
        task: Connect4,
    },
    /// Hex, 2 to 19 cells a side
    Hex {
        #[command(subcommand)]
        task: HexTask,
    },
}

#[derive(Subcommand)]
enum Connect4 {
    /// Play in the terminal
    Play {
        /// Moves to begin with, as column digits
        #[arg(default_value = "")]
        moves: String,
        #[command(flatten)]
        search: Search,
    },
    /// Print the perfect result of each move (early positions take minutes)
    Solve {
        /// The position, as column digits
        #[arg(default_value = "")]
        moves: String,
    },
}

#[derive(Subcommand)]
enum HexTask {
    /// Speak GTP on standard input and output, as HexGui does
    Gtp {
        #[command(flatten)]
        search: Search,
        /// Let the engine swap
        #[arg(long)]
        swap: bool,
    },
    /// Print which moves win (the empty board of 5 cells a side takes a minute)
    Solve {
        /// Cells a side
        #[arg(long, default_value_t = 5)]
        size: usize,
        /// The position: cells in the order of play
        moves: Vec<String>,
    },
}

/// What the engine's search rests on.
#[derive(Args)]
struct Search {
    /// Playouts of a move [default: 800 by a network, 20000 by random games]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    playouts: Option<u64>,
    /// A network of `mavka-lab game`, instead of the bundled one
    #[arg(long, value_name = "FILE", conflicts_with = "random_games")]
    network: Option<PathBuf>,
    /// Judge positions by random games, without a network
    #[arg(long)]
    random_games: bool,
}

impl Search {
    /// What judges positions; `bundled` are networks' files.
    fn source(&self, bundled: &[&[u8]]) -> Result<Source, Failure> {
        if self.random_games {
            return Ok(Source::RandomGames);
        }
        Ok(match &self.network {
            Some(path) => {
                let network = NetworkFile::load(path);
                let network = network.map_err(|why| format!("{}: {why}", quote_path(path)))?;
                Source::Named(network.into())
            }
            None => Source::Bundled(
                bundled
                    .iter()
                    .map(|bytes| NetworkFile::from_bytes(bytes))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }
}

impl Games {
    /// Does what was asked.
    ///
    /// # Errors
    /// A position cannot be read, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        match self.game {
            Which::Connect4 { task: Connect4::Play { moves, search } } => {
                let game = ConnectFour::default();
                let moves = game.read(&moves)?;
                let player = search.source(&[CONNECT4])?.player(game, search.playouts)?;
                let mut board = Board::new(player);
                ended(board.run(&moves, streams::input(), streams::output()))
            }
            Which::Connect4 { task: Connect4::Solve { moves } } => solve_connect4(&moves),
            Which::Hex { task: HexTask::Gtp { search, swap } } => {
                let mut gtp = Gtp::new(search.source(&HEX)?, search.playouts, swap)?;
                ended(gtp.run(streams::input(), streams::output()))
            }
            Which::Hex { task: HexTask::Solve { size, moves } } => solve_hex(size, &moves),
        }
    }
}

/// A reader that has closed its end has seen enough.
fn ended(done: io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(why.into()),
        _ => Ok(()),
    }
}

fn solve_connect4(moves: &str) -> Result<(), Failure> {
    let game = ConnectFour::default();
    let mut state = game.start();
    game.read(moves)?.into_iter().for_each(|action| game.play(&mut state, action));
    let mut out = Sink::default();
    out.say(describe(&Solver::new(game, TABLE_BYTES).verdicts(&state, u64::MAX)?));
    out.end()
}

/// The board: + for a winning move, - for a losing one, B and W for stones.
fn solve_hex(size: usize, moves: &[String]) -> Result<(), Failure> {
    let game = Hex::new(size)?;
    let mut state = game.start();
    for text in moves {
        game.play_named(&mut state, text)?;
    }
    let solver = HexSolver::new(game.clone())
        .ok_or_else(|| format!("size {size} is too large, expected 2 to {MAX_SIZE}"))?;
    let verdicts = Solver::new(solver, TABLE_BYTES).verdicts(&state, u64::MAX)?;
    let mut out = Sink::default();
    out.say(game.picture(&state, |cell| {
        let verdict = verdicts.iter().find(|&&(action, _)| usize::from(action) == cell);
        verdict.map_or('.', |&(_, value)| if value > 0 { '+' } else { '-' })
    }));
    out.end()
}
