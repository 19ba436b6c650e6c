//! `mavka-lab leaves`: arguments of [`crate::labels::harvest`].

use super::args::{WordError, command_line};
use crate::labels::annotate::Annotator;
use crate::labels::fork_labels::ForkLabels;
use crate::labels::harvest::{Harvest, Method};
use crate::labels::quiet::QuietLabels;
use crate::labels::static_labels::StaticLabels;
use crate::labels::walk::Walk;
use alphabeta::bundled::nnue;
use clap::{Args, ValueEnum};
use engine::command::args::read_option;
use engine::command::output::Failure;
use engine::play::network::{Installed, Networks};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::shard::Shard;
use engine::process::stderr_log::write_stderr;
use nn::rng::split_mix;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Have a strong engine label positions of search trees, to train on.
///
/// From positions of the games some moves are drawn as the network likes them, then several moves that compete there;
/// the engine searches the position after each of them by itself. The file is training data like any other.
#[derive(Args, Debug)]
pub struct Leaves {
    /// Data files with action values (MAVG1), of which games held out from training are left out; or positions, one EPD or FEN a line (*.epd,
    /// *.fen)
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// File of labels to write or to add to, compressed (MAVG1; with `--static` MVKN1)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Labelled positions wanted in all
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    count: u64,
    /// Command line of the UCI engine that labels
    #[arg(long, value_name = "COMMAND")]
    engine: String,
    /// A UCI option of it; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
    /// The tree to sample: the tree search's, for the large network, or the alpha-beta search's, for the small one
    #[arg(long, default_value = "mcts", value_name = "SEARCH")]
    of: LeafSearch,
    /// Nodes of each search, of positions of the tree search
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Have every move that leads from a position of the alpha-beta search to a quiet one valued, for `mavka-lab train-nnue
    /// --successors`, not its best one alone (sets the engine's option MultiPV)
    #[arg(long)]
    every_move: bool,
    /// Take quiet and loud positions of the alpha-beta search with what the engine says of each without any search (its word `eval`, as
    /// Stockfish has it), for `mavka-lab train-nnue --samples`
    #[arg(long = "static", conflicts_with = "every_move")]
    judged: bool,
    /// Plies of each search, of positions of the alpha-beta search; to value every move, 1 is enough
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    /// Nodes of an alpha-beta search
    #[arg(
        long,
        default_value_t = 1_536,
        value_name = "N",
        help = "Positions that the alpha-beta search looks at from each it begins with; one in some 50 is labelled. \
                With `--static` this is the maximum, and one in some 20"
    )]
    looked_at: u64,
    /// Maximum length of a walk
    #[arg(
        long,
        default_value_t = 6,
        value_name = "N",
        help = "Maximum number of moves drawn before those that compete"
    )]
    plies: usize,
    /// Moves that compete
    #[arg(long, default_value = "4", value_name = "N")]
    breadth: NonZeroUsize,
    /// Temperature of the policy that draws them
    #[arg(long, default_value_t = 1.6, value_name = "T", value_parser = read_temperature)]
    temperature: f32,
    /// Network file whose policy draws; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Seed of positions and moves
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Do the K-th of N parts alone, for several processes or machines, each with an output of its own
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    shard: Shard,
    /// Engines at work at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
}

/// Maximum number of legal moves.
const MAX_MOVES: u32 = 218;

fn read_temperature(text: &str) -> Result<f32, WordError> {
    let positive = text.parse().ok().filter(|value: &f32| value.is_finite() && *value > 0.0);
    positive.ok_or(WordError::Form("a number above 0"))
}

/// Search whose positions are labelled.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LeafSearch {
    Mcts,
    AlphaBeta,
}

impl Leaves {
    /// Labels until there are enough.
    ///
    /// # Errors
    /// A file cannot be read or written, or engine or network fail.
    pub fn run(mut self) -> Result<(), Failure> {
        match self.of {
            LeafSearch::Mcts if self.judged => {
                Err("--static takes positions --of alpha-beta".into())
            }
            LeafSearch::Mcts => {
                let walk = Walk {
                    plies: self.plies,
                    breadth: self.breadth.get(),
                    temperature: self.temperature,
                };
                let evaluator =
                    Installed::default().open_anywhere(self.weights.as_deref())?.evaluator;
                let nodes = self.nodes;
                self.harvest(ForkLabels { walk, evaluator, nodes })
            }
            LeafSearch::AlphaBeta => {
                let Leaves { looked_at, depth, every_move, judged, .. } = self;
                if judged {
                    return self.harvest(StaticLabels { nnue: nnue()?, nodes: looked_at });
                }
                if every_move {
                    self.options.push(("MultiPV".to_owned(), MAX_MOVES.to_string()));
                }
                self.harvest(QuietLabels { nnue: nnue()?, nodes: looked_at, depth, every_move })
            }
        }
    }

    fn harvest<M: Method>(self, method: M) -> Result<(), Failure> {
        let (program, words) = command_line(Some(&self.engine))?;
        let harvest = Harvest {
            files: self.files,
            out: self.out,
            count: self.shard.count(self.count),
            method,
            annotator: Annotator { program, words, options: self.options },
            concurrency: self.concurrency.map(usize::from),
            // Other positions in each part.
            seed: self.seed ^ split_mix(self.shard.dealt(0)),
            stop: raised_by_ctrl_c()?,
        };
        let held = harvest.run()?;
        write_stderr(format_args!("{held} labelled positions are in {}", harvest.out.display()));
        Ok(())
    }
}
