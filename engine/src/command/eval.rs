//! `mavka eval`: arguments and output of [`crate::eval::table`] and [`crate::eval`].

use super::args::read_line_end;
use super::output::{Failure, StdoutSink};
use crate::eval::table::{board, table};
use crate::eval::{draw::draw, look::Inspection};
use crate::options::settings::Settings;
use crate::play::network::load;
use crate::play::setup::Setup;
use crate::process::errors::FileError;
use crate::process::files::write_whole;
use clap::Args;
use nn::evaluator::cpu::CpuEvaluator;
use std::path::PathBuf;

/// Arguments of `mavka eval`.
#[derive(Args)]
pub struct Eval {
    /// The position, `startpos` for the initial one; then moves to play first, as `e4` or `e2e4`
    #[arg(required = true, num_args = 1.., value_names = ["FEN", "MOVES"])]
    words: Vec<String>,
    /// Network file; the built-in network without it
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Draw all that the network sees into this SVG: every move's policy and distribution over win probability,
    /// the moves it takes for legal, the boards it imagines
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

impl Eval {
    /// Asks the network, prints and draws.
    ///
    /// # Errors
    /// Position or network is refused, the picture cannot be written, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let game = read_line_end(&self.words, self.chess960)?;
        let network = Setup::default().networks.open_anywhere(self.weights.as_deref())?;
        let mut out = StdoutSink::default();
        out.say(board(&game));
        out.say(table(&game, &network, &Settings::default()));
        if let Some(path) = &self.plot {
            let inspection =
                Inspection::new(&game, &CpuEvaluator::fastest(&load(self.weights.as_deref())?))?;
            out.say(format_args!("\n{}", inspection.legality()));
            write_whole(path, draw(&inspection, &network.name)).map_err(FileError::of(path))?;
            out.say(format_args!("the picture is {}", path.display()));
        }
        out.end()
    }
}
