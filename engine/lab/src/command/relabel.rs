//! `mavka-lab relabel`: arguments of [`crate::labels::relabel`], and the labels as training data.

use super::args::command_line;
use crate::labels::annotate::Annotator;
use crate::labels::relabel::{Relabelling, Selection};
use clap::{Args, ValueEnum};
use engine::command::args::{positive, read_option};
use engine::command::output::Failure;
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::shard::Shard;
use engine::process::stderr_log::write_stderr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use train::data::record::Format;
use train::data::relabelled::{self, Relabelled};
use train::data::{DataError, FileWriter, Game};

/// Have another engine label positions of a data file again, beside the old labels; or take labels from such a file to train on.
///
/// Games held out from training are left out. A run that was stopped or killed continues where it was when it is started again.
#[derive(Args, Debug)]
pub struct Relabel {
    /// Data file with action values (MAVG1 or SELF1); with --take a file of this command
    file: PathBuf,
    /// File of both labels to write or to continue (MAVR1); with --take training data (MAVG1)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Command line of the UCI engine that labels
    #[arg(long, value_name = "COMMAND", required_unless_present = "take")]
    engine: Option<String>,
    /// A UCI option of it; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
    /// Nodes for the best move and the value
    #[arg(long, default_value_t = 3_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Plies for the values of all moves
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    /// Positions at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Take one game in N
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Positions of a game at most, evenly spread [default: all]
    #[arg(long, value_name = "N", value_parser = positive())]
    per_game: Option<usize>,
    /// Do the K-th of N parts alone, for several processes or machines, each with an output of its own
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    shard: Shard,
    /// Engines at work at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
    /// Write these labels of a file of this command as training data
    #[arg(long, value_name = "LABELS", conflicts_with_all = ["engine", "count", "per_game"])]
    take: Option<Labels>,
}

/// Labels of a position.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Labels {
    /// Those of the data file
    Old,
    /// New best move and value, old values of the moves
    Root,
    /// The new ones
    New,
}

impl Labels {
    fn of(self, position: Relabelled) -> Result<Game, DataError> {
        Ok(Game::Mavg(match self {
            Labels::Old => position.old,
            Labels::Root => position.with_old_moves()?,
            Labels::New => position.new,
        }))
    }
}

impl Relabel {
    /// Labels what is not labelled yet, or writes training data.
    ///
    /// # Errors
    /// A file cannot be read or written, or the engine fails.
    pub fn run(self) -> Result<(), Failure> {
        let out = self.out.clone();
        if let Some(labels) = self.take {
            let count = take(&self.file, labels, &out)?;
            write_stderr(format_args!("{count} positions are in {}", out.display()));
            return Ok(());
        }
        let (program, words) = command_line(self.engine.as_deref())?;
        let relabelling = Relabelling {
            file: self.file,
            out: self.out,
            annotator: Annotator { program, words, options: self.options },
            nodes: self.nodes,
            depth: self.depth,
            selection: Selection {
                count: self.count.unwrap_or(u64::MAX),
                every: self.every,
                per_game: self.per_game.unwrap_or(usize::MAX),
            },
            shard: self.shard,
            concurrency: self.concurrency.map(usize::from),
            stop: raised_by_ctrl_c()?,
        };
        let (labelled, all) = relabelling.run()?;
        write_stderr(format_args!(
            "{labelled} of {all} positions are labelled in {}",
            out.display()
        ));
        Ok(())
    }
}

/// Writes the labels as games of one position each; returns their number.
fn take(file: &Path, labels: Labels, out: &Path) -> Result<u64, DataError> {
    let positions = relabelled::open(file)?;
    let mut writer = FileWriter::create(out, Format::Mavg)?;
    let mut count = 0;
    for position in positions {
        writer.write(&labels.of(position?)?)?;
        count += 1;
    }
    writer.finish_file()?;
    Ok(count)
}
