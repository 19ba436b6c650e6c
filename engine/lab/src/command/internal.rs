//! `mavka-lab internal`: arguments and output of [`crate::measure::internal`].

use crate::measure::internal::survey::{Category, TraceSurvey, category};
use clap::Args;
use engine::command::args::positive;
use engine::command::output::{Failure, StdoutSink};
use engine::command::think::decoder;
use engine::internal::teacher::Teacher;
use engine::options::settings::Settings;
use engine::play::network::{Installed, Networks};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::progress;
use nn::writer::{Backup, Shape, Writer};
use std::path::PathBuf;

/// Arguments of `mavka-lab internal`.
#[derive(Args, Debug)]
pub struct Internal {
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
    /// Words that do not fit the tree's shape cannot be written
    #[arg(long)]
    mask: bool,
    /// Decoder file; the built-in decoder without it
    #[arg(long, value_name = "FILE", conflicts_with = "by_hand")]
    writer: Option<PathBuf>,
    /// Count how well trees are written, over positions of the held-out games of these data files
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    measure: Vec<PathBuf>,
    /// Positions of each file and kind of chess
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = positive())]
    positions: usize,
    /// Only those of this kind, as the table names it
    #[arg(long, default_value = "all", value_name = "KIND", value_parser = category)]
    category: Category,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
}

impl Internal {
    /// Measures and prints.
    ///
    /// # Errors
    /// A file or the network is refused, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let network = Installed::default().open_anywhere(self.weights.as_deref())?;
        let mut writer = self.writer()?;
        let bar = progress(2 * self.positions * self.measure.len());
        let survey = TraceSurvey {
            files: self.measure,
            positions: self.positions,
            category: self.category,
            shape: Shape { breadth: self.breadth, depth: self.depth },
            backup: if self.alpha_beta { Backup::AlphaBeta } else { Backup::Minimax },
            mask: self.mask,
            value: (&Settings::default()).into(),
        };
        let stop = raised_by_ctrl_c()?;
        let found = survey.run(&*network.evaluator, &mut *writer, &stop, &|| bar.inc(1));
        bar.finish_and_clear();
        let mut out = StdoutSink::default();
        out.say(found?.to_string().trim_end());
        out.end()
    }

    fn writer(&self) -> Result<Box<dyn Writer>, Failure> {
        Ok(match self.by_hand {
            true => Box::new(Teacher::default()),
            false => Box::new(decoder(self.writer.as_deref())?),
        })
    }
}
