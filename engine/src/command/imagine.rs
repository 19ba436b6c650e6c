//! `mavka imagine`: arguments and output of [`crate::eval::imagine`].

use super::args::read_line;
use super::output::{Failure, StdoutSink};
use crate::eval::imagine;
use crate::play::network::load;
use clap::Args;
use nn::evaluator::cpu::CpuEvaluator;
use nn::precision::Arithmetic;
use std::path::PathBuf;

/// Arguments of `mavka imagine`.
#[derive(Args, Debug)]
pub struct Imagine {
    /// The position to start from, `startpos` for the initial one; then the moves to imagine one after the other, as
    /// `e4` or `e2e4`, each from the board imagined before
    #[arg(required = true, num_args = 1.., value_names = ["FEN", "MOVES"])]
    words: Vec<String>,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Arithmetic of the network's products: auto (the fastest this CPU has), single or bf16
    #[arg(long, default_value = "auto")]
    arithmetic: Arithmetic,
    /// Castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

impl Imagine {
    /// Shows the boards.
    ///
    /// # Errors
    /// The position, a move, the network or a file is refused, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let mut out = StdoutSink::default();
        self.write(&mut |line| out.say(line))?;
        out.end()
    }

    fn write(&self, say: &mut dyn FnMut(String)) -> Result<(), Failure> {
        let (game, moves) = read_line(&self.words, self.chess960)?;
        let network = load(self.weights.as_deref())?;
        let evaluator = CpuEvaluator::new(&network, self.arithmetic);
        Ok(imagine::line(&game, &moves, &evaluator, say)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn print(words: &[&str]) -> Result<String, String> {
        let imagine: Imagine = parsed("imagine", words)?;
        let mut out = String::new();
        imagine.write(&mut |line| out += &format!("{line}\n")).map_err(|why| why.to_string())?;
        Ok(out)
    }

    #[test]
    fn a_line_is_shown_move_by_move() {
        let text = print(&["startpos", "e2e4", "e7e5", "g1f3"]).unwrap();
        for heading in ["1. e4", "1... e5", "2. Nf3"] {
            assert!(text.contains(heading), "{text}");
        }
        assert_eq!(text.matches("   imagined   ").count(), 3, "{text}");
        let san = print(&["startpos", "e4", "e5", "Nf3"]).unwrap();
        assert_eq!(san, text, "the same line in the notation of PGN");
        let castled = print(&["r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "--chess960", "e1h1"]);
        assert!(castled.unwrap().contains("O-O"));
    }

    #[test]
    fn what_cannot_be_imagined_is_an_error() {
        assert!(print(&[]).is_err());
        assert!(print(&["nonsense"]).unwrap_err().contains("not a FEN"));
        assert!(print(&["startpos", "e2e5"]).unwrap_err().contains("move 1, `e2e5`"));
        assert!(
            print(&["startpos", "--weights", "no-such-file"]).unwrap_err().contains("no-such-file")
        );
    }
}
