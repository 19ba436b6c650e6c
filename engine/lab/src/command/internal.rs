//! `mavka-lab internal`: arguments and output of [`crate::measure::internal`].

use super::args::command_line;
use crate::league::Process;
use crate::measure::MeasureError;
use crate::measure::internal::judged::Judged;
use crate::measure::internal::node_values::NodeValues;
use crate::measure::internal::regret::Trial;
use crate::measure::internal::survey::{Category, Survey, category};
use crate::measure::tune::label::Annotator;
use crate::measure::tune::positions;
use crate::networks::LabNetworks;
use clap::Args;
use engine::command::output::{Failure, Sink};
use engine::command::think::{boards, decoder};
use engine::internal::teacher::Teacher;
use engine::interrupt::raised_by_ctrl_c;
use engine::options::settings::Settings;
use engine::play::network::Networks;
use engine::play::network::{Network, NetworkError};
use engine::progress::progress;
use nn::writer::{Backup, Shape, Writer};
use std::path::{Path, PathBuf};

/// Arguments of `mavka-lab internal`.
#[derive(Args, Debug)]
pub struct Internal {
    /// Moves expanded at each inner node
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=5))]
    breadth: u8,
    /// Plies below the root
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    depth: u8,
    /// By alpha-beta, and the root's moves scored and chosen as the decoder of this file has learnt to weigh what was seen of them
    /// (`train-writer --weigh`)
    #[arg(long, value_name = "FILE", conflicts_with = "by_hand")]
    weigh: Option<PathBuf>,
    /// Back values up by alpha-beta: boards that cannot change the root's choice are left out
    #[arg(long, conflicts_with = "weigh")]
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
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "regret")]
    measure: Vec<PathBuf>,
    /// Positions of each file and kind of chess
    #[arg(long, default_value_t = 500, value_name = "N", requires = "measure")]
    positions: usize,
    /// Only those of this kind, as the table names it
    #[arg(long, default_value = "all", value_name = "KIND", requires = "measure", value_parser = category)]
    category: Category,
    /// Command line of a UCI engine that evaluates one node of each ply of every tree measured
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "measure",
        help = "Command line of a UCI engine that says what nodes are worth, one of each ply of every tree measured"
    )]
    engine: Option<String>,
    /// Nodes of each search of that engine
    #[arg(long, default_value_t = 40_000, value_name = "N", requires = "engine")]
    engine_nodes: u64,
    /// Say instead what the trees' moves give away, on the positions of this file of `mavka-lab label`, or the forks of one of `mavka-lab leaves`
    #[arg(long, value_name = "FILE", conflicts_with = "measure")]
    regret: Option<PathBuf>,
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
        let mut out = Sink::default();
        self.write(&mut |text| out.say(text.trim_end()))?;
        out.end()
    }

    fn write(&self, say: &mut dyn FnMut(String)) -> Result<(), Failure> {
        if let Some(path) = &self.regret {
            return self.regret(path, say);
        }
        self.survey(say)
    }
}

impl Internal {
    fn survey(&self, say: &mut dyn FnMut(String)) -> Result<(), Failure> {
        let network = self.network()?;
        let (files, positions) = (self.measure.clone(), self.positions);
        let survey = Survey {
            files,
            positions,
            category: self.category,
            shape: self.shape(),
            backup: self.backup(),
            mask: self.mask,
            value: (&Settings::default()).into(),
        };
        let mut writer = self.writer()?;
        let mut values = self.node_values(&network)?;
        let stop = raised_by_ctrl_c()?;
        let bar = progress(2 * positions * self.measure.len());
        let found = survey.run(&*network.evaluator, &mut *writer, &stop, &mut |thought, game| {
            bar.inc(1);
            values.as_mut().map_or(Ok(()), |values| values.ask(thought, game))
        });
        bar.finish_and_clear();
        say(found?.to_string());
        if let Some(values) = values {
            say(values.into_errors().to_string());
        }
        Ok(())
    }

    /// None without an engine.
    fn node_values<'a>(
        &self,
        network: &'a Network,
    ) -> Result<Option<NodeValues<'a, Process>>, Failure> {
        let Some(engine) = &self.engine else { return Ok(None) };
        let (program, words) = command_line(Some(engine))?;
        let player = Annotator { program, words, options: Vec::new() }.start()?;
        Ok(Some(NodeValues::new(player, self.engine_nodes, boards(network)?)))
    }

    fn regret(&self, path: &Path, say: &mut dyn FnMut(String)) -> Result<(), Failure> {
        let (_, positions) = positions::open(path, usize::MAX)?;
        let network = self.network()?;
        let trial = Trial { shape: self.shape(), backup: self.backup(), mask: self.mask };
        let writer = || self.writer().map_err(|why| MeasureError::Refused(why.to_string()));
        let stop = raised_by_ctrl_c()?;
        let bar = progress(positions.len());
        let found = trial.run(&*network.evaluator, &positions, &writer, &stop, &|| bar.inc(1));
        bar.finish_and_clear();
        say(found?.to_string());
        Ok(())
    }

    fn backup(&self) -> Backup {
        match (self.weigh.is_some(), self.alpha_beta) {
            (true, _) => Backup::Weigh,
            (_, true) => Backup::AlphaBeta,
            _ => Backup::Minimax,
        }
    }

    fn shape(&self) -> Shape {
        Shape { breadth: self.breadth, depth: self.depth }
    }

    fn network(&self) -> Result<Network, NetworkError> {
        LabNetworks.open_anywhere(self.weights.as_deref())
    }

    fn writer(&self) -> Result<Box<dyn Writer>, Failure> {
        if self.by_hand {
            return Ok(Box::new(Teacher::default()));
        }
        let tree = decoder(self.writer.as_deref())?;
        Ok(match &self.weigh {
            Some(path) => Box::new(Judged { tree, judge: decoder(Some(path))? }),
            None => Box::new(tree),
        })
    }
}
