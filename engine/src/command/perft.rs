//! `mavka perft`: arguments and output of [`chess::perft`].

use super::args::read_line_end;
use super::output::{Failure, StdoutSink};
use chess::perft::divide;
use clap::Args;

/// Arguments of `mavka perft`.
#[derive(Args)]
pub struct Perft {
    /// The position, `startpos` for the initial one; then moves to play first, if any, and the plies to look ahead
    #[arg(required = true, num_args = 2.., value_names = ["FEN", "DEPTH"])]
    words: Vec<String>,
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
        let Some((last, position)) = self.words.split_last() else {
            return Err("expected a position and a depth".into());
        };
        let depth =
            last.parse().map_err(|_| format!("`{last}` is no depth, expected a whole number"))?;
        let game = read_line_end(position, self.chess960)?;
        let mut out = StdoutSink::default();
        divide(&game, depth, &|| false, &mut |line| out.say(line));
        out.end()
    }
}
