//! `mavka game`: arguments of the games beside chess. The crate `games` does the work.

use super::output::{Failure, StdoutSink, written};
use crate::process::streams::{self, for_each_line};
use chess::quote::quote_path;
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
use std::io::{self, BufRead, Write};
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
pub struct GameArgs {
    #[command(subcommand)]
    game: BoardGame,
}

#[derive(Subcommand)]
enum BoardGame {
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
        search: GameSearchArgs,
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
        search: GameSearchArgs,
        /// Play with the swap rule, as after `param_game allow_swap 1`
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

/// The evaluator of the engine's search.
#[derive(Args)]
struct GameSearchArgs {
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

impl GameSearchArgs {
    /// The evaluator of positions; `bundled` are networks' files.
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

impl GameArgs {
    /// Does what was asked.
    ///
    /// # Errors
    /// A position cannot be read, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        match self.game {
            BoardGame::Connect4 { task: Connect4::Play { moves, search } } => {
                let game = ConnectFour::default();
                let moves = game.read(&moves)?;
                let player = search.source(&[CONNECT4])?.player(game, search.playouts)?;
                let (mut board, mut out) = (Board::new(player), streams::output());
                let begun = board.begin(&moves, &mut *out);
                written(begun.and_then(|()| {
                    converse(streams::input(), &mut *out, |line, out| board.obey(line, out))
                }))
            }
            BoardGame::Connect4 { task: Connect4::Solve { moves } } => solve_connect4(&moves),
            BoardGame::Hex { task: HexTask::Gtp { search, swap } } => {
                let mut gtp = Gtp::new(search.source(&HEX)?, search.playouts, swap)?;
                let out = &mut *streams::output();
                written(converse(streams::input(), out, |line, out| gtp.obey(line, out)))
            }
            BoardGame::Hex { task: HexTask::Solve { size, moves } } => solve_hex(size, &moves),
        }
    }
}

/// Hands over each line, as UCI's are read: any byte and any length. Ends with the input, an error, or false.
fn converse(
    input: impl BufRead,
    out: &mut dyn Write,
    mut obey: impl FnMut(&str, &mut dyn Write) -> io::Result<bool>,
) -> io::Result<()> {
    let mut done = Ok(());
    for_each_line(input, |line| match obey(&String::from_utf8_lossy(line), out) {
        Ok(continues) => continues,
        Err(why) => {
            done = Err(why);
            false
        }
    });
    done
}

fn solve_connect4(moves: &str) -> Result<(), Failure> {
    let game = ConnectFour::default();
    let mut state = game.start();
    game.read(moves)?.into_iter().for_each(|action| game.play(&mut state, action));
    let mut out = StdoutSink::default();
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
    let mut out = StdoutSink::default();
    out.say(game.picture(&state, |cell| {
        let verdict = verdicts.iter().find(|&&(action, _)| usize::from(action) == cell);
        verdict.map_or('.', |&(_, value)| if value > 0 { '+' } else { '-' })
    }));
    out.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Answers of `mavka game hex gtp` to these bytes by the bundled networks.
    fn gtp(input: impl BufRead) -> Vec<String> {
        let search = GameSearchArgs { playouts: None, network: None, random_games: false };
        let mut gtp = Gtp::new(search.source(&HEX).unwrap(), None, false).unwrap();
        let mut out = Vec::new();
        converse(input, &mut out, |line, out| gtp.obey(line, out)).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.split_terminator("\n\n").map(str::to_owned).collect()
    }

    #[test]
    fn the_first_move_without_the_swap_rule_wins() {
        // Won first moves on 5 × 5 cells, by the solver.
        let won = "e1 b2 c2 d2 e2 b3 c3 d3 a4 b4 c4 d4 a5";
        let answers = gtp(&b"boardsize 5\ngenmove black\n"[..]);
        let first = answers[1].strip_prefix("= ").unwrap();
        assert!(won.contains(first), "{answers:?}");
    }

    #[test]
    fn any_bytes_and_any_length_are_answered() {
        let endless = io::repeat(b'x').take(3 << 20);
        let input = (&b"name\n\xff\xfe\n"[..]).chain(endless).chain(&b"\nname"[..]);
        let answers = gtp(io::BufReader::new(input));
        assert_eq!((answers.len(), &*answers[0], &*answers[3]), (4, "= Mavka", "= Mavka"));
        for refused in &answers[1..3] {
            assert!(refused.starts_with("? unknown command "), "{refused}");
            assert!(refused.len() < 300, "{refused}");
        }
    }

    #[test]
    fn a_game_in_the_terminal_takes_any_bytes() {
        let player = Source::RandomGames.player(ConnectFour::default(), Some(10)).unwrap();
        let mut board = Board::new(player);
        let mut out = Vec::new();
        let input = [&b"\xff\n"[..], &[b'9'; 1 << 21], b"\n4\nq\n1\n"].concat();
        converse(&*input, &mut out, |line, out| board.obey(line, out)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("is not a column").count(), 2, "{text}");
        assert_eq!(text.matches("engine: ").count(), 1, "{text}");
        assert!(text.len() < 2_000, "{}", text.len());
    }
}
