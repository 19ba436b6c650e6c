//! `mavka eval`: arguments and output of [`crate::measure::eval`].

use super::output::{Failure, Sink};
use super::words::read_position;
use crate::measure::eval::{board, table};
use crate::play::engine::Setup;
use crate::play::settings::Settings;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `mavka eval`.
#[derive(Args)]
pub struct Eval {
    /// The position, in quotes; `startpos` for the initial one
    fen: String,
    /// Network file; the built-in network without it
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

impl Eval {
    /// Asks the network and prints.
    ///
    /// # Errors
    /// Position or network is refused, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let game = read_position(&self.fen, self.chess960)?;
        let network = Setup::default().networks.open_anywhere(self.weights.as_deref())?;
        let mut out = Sink::default();
        out.say(board(&game));
        out.say(table(&game, &network, &Settings::default()));
        out.end()
    }
}
