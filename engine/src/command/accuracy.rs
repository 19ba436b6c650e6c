//! `mavka accuracy`: how often the network alone is right on labelled games it was not trained on.

use clap::Args;
use indicatif::ProgressBar;
use nn::assess::assess;
use nn::data::MixConfig;
use nn::data::validation::{Ask, validation};
use std::error::Error;
use std::path::PathBuf;

/// Measure the network alone on the held-out games of data files.
#[derive(Args, Debug)]
pub struct Accuracy {
    /// Data files (MAVG1 or PVGR1); every 50th game of each is held out.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A network file; default: the bundled one.
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Positions of each file and kind.
    #[arg(long, default_value_t = 5000)]
    limit: usize,
    /// Threads; default: all cores.
    #[arg(long)]
    threads: Option<usize>,
}

impl Accuracy {
    /// Does what was asked.
    ///
    /// # Errors
    /// The network or a data file cannot be used.
    pub fn run(&self) -> Result<(), String> {
        work(self).map_err(|error| error.to_string())
    }
}

fn work(args: &Accuracy) -> Result<(), Box<dyn Error>> {
    let network = crate::network::load(args.weights.as_deref())?;
    let threads =
        args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    for path in &args.files {
        for (ask, title) in
            [(Ask::Position, "positions, MAV(s)"), (Ask::Action, "position and action, MAV(s, a)")]
        {
            let examples = validation(path, args.limit, ask, &MixConfig::new(Vec::new()))?;
            let bar = ProgressBar::new(examples.len() as u64);
            let metrics = assess(&network, &examples, threads, &|n| bar.inc(n as u64))?;
            bar.finish_and_clear();
            println!("{}: {} {title}\n{metrics}", path.display(), examples.len());
        }
    }
    Ok(())
}
