//! `mavka-lab selfplay`: arguments of [`crate::selfplay::run`].

use super::args::{WordError, read_openings};
use crate::measure::tune::trial::Setting;
use crate::openings;
use crate::selfplay::game::Recipe;
use crate::selfplay::run::{SelfPlay, SelfPlaySummary};
use clap::Args;
use engine::command::output::Failure;
use engine::play::network::{Installed, Networks};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::shard::Shard;
use engine::process::stderr_log::write_stderr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

/// Play games of the network against itself, to train on
///
/// Few searches are full ones with root noise, whose visits the policy learns from; the others are quick. The file is training data like any other
/// (`mavka-lab train --data`). Run again with the same file to add games.
#[derive(Args, Debug)]
pub struct SelfPlayArgs {
    /// File of games to write or to add to, compressed (SELF1)
    out: PathBuf,
    /// Games wanted in all
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    games: u64,
    /// Network file that plays; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Positions to start from (EPD or FEN); the initial position without it
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
    /// The openings are of Chess960
    #[arg(long, requires = "openings")]
    chess960: bool,
    /// Visits of a full search
    #[arg(long, default_value = "400", value_name = "N")]
    full: NonZeroU64,
    /// Visits of a quick search
    #[arg(long, default_value = "100", value_name = "N")]
    quick: NonZeroU64,
    /// Share of full searches
    #[arg(long, default_value_t = 0.25, value_name = "SHARE", value_parser = read_unit_share)]
    full_share: f64,
    /// Share of noise in the root's priors of full searches
    #[arg(long, default_value_t = 0.25, value_name = "SHARE", value_parser = read_unit_share)]
    noise: f64,
    /// Plies of a game whose moves are drawn in proportion to their visits
    #[arg(long, default_value_t = 30, value_name = "N")]
    drawn_plies: usize,
    /// Plies after which a game is drawn
    #[arg(long, default_value = "512", value_name = "N")]
    max_plies: NonZeroUsize,
    /// Begin half of the games with one to N random plies
    #[arg(long, default_value_t = 0, value_name = "N")]
    random_plies: usize,
    /// Give the search the rules alone (AlphaZero): no endgame tables, no look for a mate in one
    #[arg(long)]
    rules_only: bool,
    /// Options of the search, as `mavka-lab tune` has them
    #[arg(long, value_name = "NAME=VALUE,...", value_parser = Setting::read, default_value = "", hide_default_value = true)]
    setting: Setting,
    /// Leaves of a minibatch of one game
    #[arg(long, default_value = "8", value_name = "N")]
    batch: NonZeroUsize,
    /// Seed of all games
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Do the K-th of N parts alone, for several processes or machines, each with a file of its own; train on all of them
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    shard: Shard,
    /// Games at the same time [default: one for each core, 64 on a GPU]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
}

fn read_unit_share(text: &str) -> Result<f64, WordError> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or(WordError::Form("a number from 0 to 1"))
}

impl SelfPlayArgs {
    /// Plays until there are enough games.
    ///
    /// # Errors
    /// A file cannot be read or written, or the network fails.
    pub fn run(self) -> Result<(), Failure> {
        let mut openings = match &self.openings {
            Some(path) => read_openings(path, self.chess960)?,
            None => Vec::new(),
        };
        openings::order(&mut openings, Some(self.seed));
        let run = SelfPlay {
            out: self.out.clone(),
            games: self.games,
            recipe: Recipe {
                full: self.full.get(),
                quick: self.quick.get(),
                full_share: self.full_share,
                noise: self.noise as f32,
                drawn_plies: self.drawn_plies,
                batch: self.batch.get(),
                max_plies: self.max_plies.get(),
                random_plies: self.random_plies,
                rules_only: self.rules_only,
                settings: self.setting.settings,
            },
            openings,
            network: Installed::default().open_anywhere(self.weights.as_deref())?,
            concurrency: self.concurrency.map(usize::from),
            seed: self.seed,
            shard: self.shard,
            stop: raised_by_ctrl_c()?,
        };
        let SelfPlaySummary { games, results: [white, drawn, black], positions, full } =
            run.run()?;
        write_stderr(format_args!("{games} games are in {}", self.out.display()));
        write_stderr(format_args!(
            "this run: +{white} ={drawn} -{black} for White, {positions} positions, {full} with visits"
        ));
        Ok(())
    }
}
