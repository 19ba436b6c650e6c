//! `mavka-lab team`: arguments and output of [`crate::diversity::team`].

use super::args::{read_fraction, read_openings};
use crate::diversity::team::report::TeamReport;
use crate::diversity::team::task::TeamItem;
use crate::diversity::team::{plot, run};
use crate::measure::puzzles::open::open;
use crate::measure::puzzles::{Puzzle, Solution};
use crate::spread::spread;
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::play::lineup::{Lineup, LineupPlan};
use engine::play::network::Installed;
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::progress;
use engine::process::workers::{WorkerLimits, cores};
use std::path::PathBuf;

/// Compare a team of players with its first player: puzzles solved by each, by anyone, and by each rule's choice.
///
/// The players have the network of `--weights` and those of `--files`; players beyond the list have the first one's network
/// and root noise. Reads what `mavka-lab puzzles` reads, or openings (EPD, PGN), where the players' moves are compared alone.
#[derive(Args, Clone, Debug)]
pub struct TeamArgs {
    /// Puzzles (CSV or EPD), or openings
    file: PathBuf,
    /// Playouts of player 0 alone
    #[arg(long, default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Players
    #[arg(long, default_value_t = 4, value_name = "K", value_parser = clap::value_parser!(u8).range(2..=10))]
    team: u8,
    /// Network of player 0 [default: the built-in one]
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Networks of the players after the first
    #[arg(long, value_delimiter = ',', value_name = "FILES")]
    files: Vec<PathBuf>,
    /// Share of root noise of players with the network of an earlier one
    #[arg(long, default_value_t = 0.25, value_name = "SHARE", value_parser = read_fraction)]
    noise: f32,
    /// The file has openings
    #[arg(long)]
    positions: bool,
    /// Only puzzles of this rating at least
    #[arg(long, value_name = "RATING")]
    rated: Option<u32>,
    /// Only this many, spread evenly over the file
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Puzzles tried at the same time [default: one a core]
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Draw the differences from player 0 alone into this SVG
    #[arg(long, value_name = "FILE", conflicts_with = "positions")]
    plot: Option<PathBuf>,
}

impl TeamArgs {
    /// Measures and prints.
    ///
    /// # Errors
    /// A file cannot be read or written, or a network fails.
    pub fn run(self) -> Result<(), Failure> {
        if self.nodes < u64::from(self.team) {
            return Err(format!(
                "{} nodes are less than one for each of {} players",
                self.nodes, self.team
            )
            .into());
        }
        let (items, graded) = self.items()?;
        let plan = LineupPlan {
            weights: self.weights.clone(),
            files: self.files.clone(),
            players: usize::from(self.team),
            noise: self.noise,
            nodes: self.nodes,
        };
        let lineup = Lineup::open(&Installed::default(), &plan)?;
        let mut out = StdoutSink::default();
        lineup.names().for_each(|name| out.say(name));
        let bar = progress(items.len());
        let stop = raised_by_ctrl_c()?;
        let crew = WorkerLimits { count: self.concurrency.unwrap_or_else(cores), stop: &stop };
        let tally = run(&items, &lineup, crew, |_| bar.inc(1));
        bar.finish_and_clear();
        let tally = tally?;
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        out.say(TeamReport { tally: &tally, nodes: self.nodes, graded, items: "puzzles" });
        if let Some(path) = &self.plot {
            let (team, nodes) = (self.team, self.nodes);
            plot::draw(&tally, &format!("{name}: a team of {team}, {nodes} playouts"), path)?;
        }
        out.end()
    }

    /// The positions to search, and whether they have points.
    fn items(&self) -> Result<(Vec<TeamItem>, bool), Failure> {
        if self.positions {
            let openings = read_openings(&self.file, false)?;
            let limit = self.limit.unwrap_or(openings.len());
            return Ok((spread(openings, limit).into_iter().map(TeamItem::from).collect(), false));
        }
        let mut puzzles = open(&self.file, None)?;
        let rated = |puzzle: &Puzzle| {
            self.rated.is_none_or(|least| puzzle.rating.is_some_and(|rating| rating >= least))
        };
        puzzles.retain(rated);
        if puzzles.is_empty() {
            return Err(format!("{}: no puzzle has such a rating", self.file.display()).into());
        }
        let graded = puzzles
            .iter()
            .any(|puzzle| !matches!(puzzle.task, Solution::Line(_) | Solution::Best { .. }));
        let limit = self.limit.unwrap_or(puzzles.len());
        Ok((spread(puzzles, limit).into_iter().map(TeamItem::from).collect(), graded))
    }
}
