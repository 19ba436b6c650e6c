//! `mavka think`: arguments and output of [`crate::internal`].

use super::args::read_line_end;
use super::output::{Failure, StdoutSink};
use crate::internal::boards::Boards;
use crate::internal::check::check;
use crate::internal::parse::parse;
use crate::internal::print::{Marks, print};
use crate::internal::svg;
use crate::internal::teacher::Teacher;
use crate::internal::think::{Task, Thought, ThoughtEnd, think};
use crate::internal::tree::tree;
use crate::options::settings::Settings;
use crate::play::network::{self, Network, NetworkError};
use crate::play::setup::Setup;
use crate::process::errors::FileError;
use crate::process::files::{read_whole_text, write_whole};
use chess::game::Game;
use clap::Args;
use nn::EvalError;
use nn::writer::{Backup, Decoder, DecoderWeights, Shape, Writer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments of `mavka think`.
///
/// Prints the search tree that the network writes. With `--text` as the paper's figure 4 has it, where values are buckets of
/// the win probability of the side to move, from `<ctrl0>` (0 to 1.6 %) to `<ctrl63>` (98.4 to 100 %): `<ctrl35>` is 54.7 to
/// 56.2 %.
#[derive(Args, Debug)]
pub struct Think {
    /// The position, `startpos` for the initial one; then moves to play first, as `e4` or `e2e4`
    #[arg(required = true, num_args = 1.., value_names = ["FEN", "MOVES"])]
    words: Vec<String>,
    /// Moves expanded at each inner node
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=5))]
    breadth: u8,
    /// Plies below the root
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    depth: u8,
    /// Back values up by alpha-beta: boards that cannot change the root's choice are left out
    #[arg(long)]
    alpha_beta: bool,
    /// Have the tree written by exact minimax over the network's answers
    #[arg(long)]
    by_hand: bool,
    /// Print the paper's text, which `--read` takes, in place of the tree
    #[arg(long)]
    text: bool,
    /// Read a tree that `--text` has printed before in place of a new one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by_hand", "writer", "mask"])]
    read: Option<PathBuf>,
    /// Words that do not fit the tree's shape cannot be written
    #[arg(long)]
    mask: bool,
    /// Decoder file; the built-in decoder without it
    #[arg(long, value_name = "FILE", conflicts_with = "by_hand")]
    writer: Option<PathBuf>,
    /// Name wrong boards, illegal moves and inconsistent decisions in brackets, and count them
    #[arg(long)]
    check: bool,
    /// Draw the tree into this SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

impl Think {
    /// Thinks and prints.
    ///
    /// # Errors
    /// Position or network is refused, the picture cannot be written, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let mut out = StdoutSink::default();
        self.write(&mut |text| out.say(text.trim_end()))?;
        out.end()
    }

    fn write(&self, say: &mut dyn FnMut(String)) -> Result<(), Failure> {
        let game = read_line_end(&self.words, self.chess960)?;
        if game.legal_actions().is_empty() {
            return Err(format!("no move is left to think about in `{}`", game.fen()).into());
        }
        let thought = match &self.read {
            Some(path) => {
                let text = read_whole_text(path)?;
                parse(&text).map_err(FileError::of(path))?
            }
            None => self.think(&game)?,
        };
        let report = check(&thought, &game);
        let none = Marks::default();
        let marks = if self.check { &report.marks } else { &none };
        say(if self.text { print(&thought, marks) } else { tree(&thought, marks) });
        if let ThoughtEnd::Broken(why) = &thought.end {
            say(format!("the trace is broken: {why}"));
        }
        if self.check {
            say(format!("\n{report}"));
        }
        if let Some(path) = &self.svg {
            let drawn = svg::draw(&thought, marks);
            write_whole(path, drawn).map_err(FileError::of(path))?;
        }
        Ok(())
    }
}

impl Think {
    fn think(&self, game: &Game) -> Result<Thought, Failure> {
        let network = self.network()?;
        let mut boards = boards(&network)?;
        boards.set_root(game, &[])?;
        let shape = Shape { breadth: self.breadth, depth: self.depth };
        let backup = if self.alpha_beta { Backup::AlphaBeta } else { Backup::Minimax };
        let task = Task { shape, backup, mask: self.mask, stop: &|| false };
        Ok(think(&mut boards, &mut *self.writer()?, &task)?)
    }

    fn network(&self) -> Result<Network, NetworkError> {
        Setup::default().networks.open_anywhere(self.weights.as_deref())
    }

    fn writer(&self) -> Result<Box<dyn Writer>, Failure> {
        if self.by_hand {
            return Ok(Box::new(Teacher::default()));
        }
        Ok(Box::new(decoder(self.writer.as_deref())?))
    }
}

/// The decoder in `file`, or the built-in one.
///
/// # Errors
/// The file is no decoder.
pub fn decoder(file: Option<&Path>) -> Result<Decoder, Failure> {
    Ok(Decoder::new(match file {
        Some(path) => Arc::new(DecoderWeights::load(path).map_err(FileError::of(path))?),
        None => network::writer().map_err(ToString::to_string)?,
    }))
}

/// Boards predicted by `network`, with node values as in play.
///
/// # Errors
/// The network has no transition head.
pub fn boards(network: &Network) -> Result<Boards<'_>, EvalError> {
    Boards::new(&*network.evaluator, (&Settings::default()).into())
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn shown(words: &[&str]) -> Result<String, String> {
        let think: Think = parsed("think", words)?;
        let mut out = String::new();
        think.write(&mut |text| out += &format!("{text}\n")).map_err(|why| why.to_string())?;
        Ok(out)
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for fen in [
            "startpos",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 12 34",
            "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9",
            "8/2p5/3p4/KP5r/1R3pPk/8/4P3/8 b - g3 0 7",
            "7k/5Q2/8/8/8/8/8/K7 w - - 0 1",
        ] {
            for depth in ["0", "1", "2"] {
                let shape = ["--breadth", "3", "--depth", depth];
                let text = shown(&[&[fen, "--by-hand", "--text"], &shape[..]].concat()).unwrap();
                let thought = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
                assert_eq!(print(&thought, &Marks::default()).trim(), text.trim());
            }
        }
    }

    #[test]
    fn the_tree_is_checked_and_drawn() {
        let svg = std::env::temp_dir().join(format!("mavka-think-{}.svg", std::process::id()));
        let path = svg.to_str().unwrap();
        let words = ["startpos", "--by-hand", "--depth", "1", "--check", "--svg", path];
        let text = shown(&words).unwrap();
        let drawn = std::fs::read_to_string(&svg).unwrap();
        let _ = std::fs::remove_file(&svg);
        assert!(text.contains("decisions           5 of 5 consistent"), "{text}");
        assert_eq!(drawn.matches("rx='3'").count(), 5);
    }

    #[test]
    fn a_tree_written_before_is_checked_like_a_new_one() {
        let file = std::env::temp_dir().join(format!("mavka-trace-{}.txt", std::process::id()));
        let by_hand = ["startpos", "--by-hand", "--depth", "1", "--text"];
        std::fs::write(&file, shown(&by_hand).unwrap()).unwrap();
        let read = ["startpos", "--check", "--text", "--read", file.to_str().unwrap()];
        let (text, new) = (shown(&read), shown(&[&by_hand[..], &["--check"]].concat()));
        std::fs::write(&file, "Minimax breadth=2").unwrap();
        let damaged = shown(&read);
        let _ = std::fs::remove_file(&file);
        assert_eq!(text, new);
        assert!(damaged.unwrap_err().contains("line 1"));
        assert!(shown(&["startpos", "--read", "x", "--by-hand"]).is_err());
    }

    #[test]
    fn the_bundled_decoder_writes_whole_trees() {
        let words = ["startpos", "--breadth", "3", "--depth", "1", "--mask", "--check"];
        let text = shown(&words).unwrap();
        assert!(text.contains("numbers of children 1 of 1 right"), "{text}");
        assert!(text.contains("\nplays "), "{text}");
        let error = shown(&["startpos", "--writer", "no-such-file"]).unwrap_err();
        assert!(error.contains("no-such-file"), "{error}");
    }

    #[test]
    fn what_cannot_be_thought_about_is_an_error() {
        assert!(shown(&["nonsense", "--by-hand"]).unwrap_err().contains("not a FEN"));
        assert!(shown(&["startpos", "--breadth", "6"]).is_err());
        let mated = "7k/6Q1/5K2/8/8/8/8/8 b - - 0 1";
        assert!(shown(&[mated, "--by-hand"]).unwrap_err().contains("no move is left"));
    }
}
