//! `mavka perft`: arguments and output of [`crate::chess::perft`].

use super::args::read_position;
use super::output::{Failure, Sink};
use crate::chess::perft::divide;
use clap::Args;

/// Arguments of `mavka perft`.
#[derive(Args)]
pub struct Perft {
    /// The position, in quotes; `startpos` for the initial one
    fen: String,
    /// Plies to look ahead
    depth: u32,
    /// Castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

impl Perft {
    /// Counts and prints.
    ///
    /// # Errors
    /// The position is refused, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let game = read_position(&self.fen, self.chess960)?;
        let mut out = Sink::default();
        divide(&game, self.depth, &|| false, &mut |line| out.say(line));
        out.end()
    }
}
