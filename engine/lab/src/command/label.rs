//! `mavka-lab label`: arguments of [`crate::labels::label_job`].

use super::args::command_line;
use crate::labels::annotate::{Annotator, Effort};
use crate::labels::label_job::Labelling;
use clap::Args;
use engine::command::args::read_option;
use engine::command::output::Failure;
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::shard::Shard;
use engine::process::stderr_log::write_stderr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of `mavka-lab label`.
#[derive(Args, Debug)]
pub struct LabelArgs {
    /// Data files with action values (MAVG1); every 50th game of each is held out from training
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// File to write, a line of JSON for each position; what is in it already is not done again
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Command line of the UCI engine that knows better
    #[arg(long, value_name = "COMMAND")]
    engine: String,
    /// A UCI option of it; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
    /// Positions of each data file
    #[arg(long, default_value = "750", value_name = "N")]
    limit: NonZeroUsize,
    /// Nodes for the best move
    #[arg(long, default_value_t = 300_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    best_nodes: u64,
    /// Nodes for each other move that matters
    #[arg(long, default_value_t = 60_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    move_nodes: u64,
    /// A move matters if the data file has it this close to its best one, in win probability
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    margin: f32,
    /// Do the K-th of N parts alone, for several processes or machines; the lines of all outputs together are the whole
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    shard: Shard,
    /// Engines at work at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
}

impl LabelArgs {
    /// Labels what is not labelled yet.
    ///
    /// # Errors
    /// A file cannot be read or written, or the engine fails.
    pub fn run(self) -> Result<(), Failure> {
        let (program, words) = command_line(Some(&self.engine))?;
        let labelling = Labelling {
            files: self.files,
            out: self.out,
            engine: Annotator { program, words, options: self.options },
            limit: self.limit.get(),
            shard: self.shard,
            effort: Effort {
                best_nodes: self.best_nodes,
                move_nodes: self.move_nodes,
                margin: self.margin,
            },
            concurrency: self.concurrency.map(usize::from),
            stop: raised_by_ctrl_c()?,
        };
        let (labelled, all) = labelling.run()?;
        let out = labelling.out.display();
        write_stderr(format_args!("{labelled} of {all} positions are labelled in {out}"));
        Ok(())
    }
}
