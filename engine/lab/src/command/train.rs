//! `mavka-lab train`: trains a network on labelled positions, and goes on where an earlier call stopped.

use crate::plots::loss_curve;
use crate::speed::training::TrainingTimes;
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::process::errors::FileError;
use engine::process::files::{check_folder, read_whole_text};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::stderr_log::write_stderr;
use engine::process::workers::cores;
use indicatif::{ProgressBar, ProgressStyle};
use nn::checkpoint::Network;
use nn::net::{Layout, NetConfig};
use nn::precision::Arithmetic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use train::network::{CpuStep, Loss, Progress, RunConfig, Session, TeamConfig, Watcher};

/// Train a network; run again with the same folder to go on.
#[derive(Args, Debug)]
pub struct Train {
    /// Folder of the run: configuration, losses, training state, network.
    #[arg(long, default_value = "runs/default")]
    folder: PathBuf,
    /// Configuration to start from (JSON, see assets/recipes); default: the folder's own, else the
    /// built-in one.
    #[arg(long)]
    config: Option<PathBuf>,
    /// A data file and its share of the examples, as FILE or FILE=SHARE; repeat for several.
    #[arg(long, value_parser = super::args::read_share)]
    data: Vec<(PathBuf, f64)>,
    /// Files (EPD, CSV) whose positions must not be trained on; part of the run's configuration, so that a
    /// later call need not name them.
    #[arg(long, num_args = 1..)]
    exclude: Vec<PathBuf>,
    /// Examples of the whole run; raise it and run again to prolong a finished one; 0 writes the initial network.
    #[arg(long)]
    examples: Option<u64>,
    /// Learning rate of the plateau.
    #[arg(long)]
    rate: Option<f32>,
    /// Examples per optimiser step.
    #[arg(long)]
    batch: Option<usize>,
    /// Seed of initial weights and data order.
    #[arg(long)]
    seed: Option<u64>,
    /// A network to begin with; what it lacks (further layers, a dynamic bias) starts closed.
    #[arg(long)]
    init: Option<PathBuf>,
    /// A network to learn from beside the labels, of any size; computed on the CPU.
    #[arg(long)]
    teacher: Option<PathBuf>,
    /// Players of the network, which share all parameters but a few vectors each (paper 003); needs --rewards and --teacher
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(1..=16))]
    players: Option<u8>,
    /// The players' rewards, as `mavka-lab players` tells them: their policies are tilted towards them
    #[arg(long, value_name = "FILE")]
    rewards: Option<PathBuf>,
    /// Addition to the logarithm of a move's share in the policy's target for a unit of reward [default: 1]
    #[arg(long, value_name = "X", requires = "rewards")]
    strength: Option<f32>,
    /// Win probability by which a move may lie below the best one to be preferred for its reward [default: 0.02]
    #[arg(long, value_name = "X", requires = "rewards", value_parser = super::args::read_fraction)]
    slack: Option<f32>,
    /// Time limit in minutes
    #[arg(long, help = "Stop after this many minutes; the next run continues")]
    minutes: Option<f64>,
    /// Minutes between checkpoints.
    #[arg(long, default_value_t = 5.0)]
    checkpoint_minutes: f64,
    /// Threads of the hand-written CPU kernels; default: all cores.
    #[arg(long)]
    threads: Option<usize>,
    /// Arithmetic of the hand-written CPU kernels' products: auto (the fastest this CPU has), single or bf16
    #[arg(long, default_value = "auto")]
    arithmetic: Arithmetic,
    /// Train for a few seconds, keep nothing and tell where the time went.
    #[arg(long)]
    stages: bool,
    /// Seconds of that.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Draw it into this SVG, too.
    #[arg(long, value_name = "FILE", requires = "stages")]
    plot: Option<PathBuf>,
}

/// Defaults of a team: [`TeamConfig`].
const STRENGTH: f32 = 1.0;
const SLACK: f32 = 0.02;
/// Marks a folder as a run's: the lock, written first, or the state, in runs before there were locks.
const MARKERS: [&str; 2] = ["lock", "state.safetensors"];
/// Other files of a run.
const FILES: [&str; 4] = ["config.json", "losses.csv", "losses.svg", "network.safetensors"];

/// Shows progress on stderr, ends at the deadline, and saves the state after Ctrl-C.
struct Bar {
    bar: ProgressBar,
    deadline: Option<Instant>,
    raised: Arc<AtomicBool>,
    folder: PathBuf,
}

impl Watcher for Bar {
    fn step(&mut self, progress: &Progress) -> bool {
        self.bar.set_position(progress.seen);
        self.bar.set_message(format!(
            "{:.0}/s policy {:.3} actions {:.3}",
            progress.speed,
            progress.sums.part(Loss::Policy).mean(),
            progress.sums.part(Loss::Actions).mean()
        ));
        // Relaxed: the flag publishes nothing else.
        !self.raised.load(Ordering::Relaxed)
            && self.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }

    fn checkpoint(&mut self, progress: &Progress, _network: &Network) {
        log::info!("checkpoint at {} examples, {:.0} examples/s", progress.seen, progress.speed);
        let picture = self.folder.join("losses.svg");
        if let Err(what) = loss_curve::draw(&self.folder.join("losses.csv"), &picture) {
            log::warn!("no picture of the losses: {what}");
        }
    }
}

impl Train {
    /// Runs the command.
    ///
    /// # Errors
    /// Any error that stops the run.
    pub fn run(&self) -> Result<(), Failure> {
        work(self)
    }
}

fn work(args: &Train) -> Result<(), Failure> {
    if args.arithmetic == Arithmetic::Int8 {
        return Err("training in int8 has no gradient: expected auto, single or bf16".into());
    }
    check_folder(&args.folder, &MARKERS, &FILES)?;
    let own = args.folder.join("config.json");
    let mut config = match &args.config {
        Some(path) => load_config(path)?,
        None if own.exists() => load_config(&own)?,
        None => RunConfig::default(),
    };
    if !args.data.is_empty() {
        config.data.clone_from(&args.data);
    }
    if !args.exclude.is_empty() {
        config.exclude.clone_from(&args.exclude);
    }
    config.schedule.examples = args.examples.unwrap_or(config.schedule.examples);
    if config.data.is_empty() && config.schedule.examples > 0 {
        return Err("no data: name at least one file with --data FILE=SHARE".into());
    }
    config.schedule.rate = args.rate.unwrap_or(config.schedule.rate);
    config.batch = args.batch.unwrap_or(config.batch).max(1);
    config.seed = args.seed.unwrap_or(config.seed);
    config.init = args.init.clone().or(config.init);
    config.teacher = args.teacher.clone().or(config.teacher);
    config.network.players = args.players.map_or(config.network.players, usize::from);
    if let Some(rewards) = args.rewards.clone() {
        let strength = args.strength.unwrap_or(STRENGTH);
        config.team = Some(TeamConfig { rewards, strength, slack: args.slack.unwrap_or(SLACK) });
    }
    config.network.check()?;
    if let Some(threads) = args.threads {
        // Fails if the pool exists already: then it has one thread per core.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1));
        pool.build_global().unwrap_or_else(|error| log::warn!("--threads {threads}: {error}"));
    }
    if args.stages {
        return stages(args, &config);
    }
    let session =
        Session { folder: args.folder.clone(), checkpoint_every: minutes(args.checkpoint_minutes) };
    let style = ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} {eta} {msg}")?;
    let bar = ProgressBar::new(config.schedule.examples).with_style(style);
    let deadline = args.minutes.and_then(|most| Instant::now().checked_add(minutes(most)));
    // A step is one player's.
    let layout = Layout::new(&NetConfig { players: 1, ..config.network.clone() });
    let mut step = CpuStep::new(layout, config.loss.clone(), args.arithmetic, threads(args));
    let mut bar = Bar { bar, deadline, raised: raised_by_ctrl_c()?, folder: args.folder.clone() };
    let network = train::network::run(&config, &session, &mut step, &mut bar)?;
    let file = args.folder.join("network.safetensors");
    write_stderr(format_args!("{} parameters in {}", network.values.len(), file.display()));
    Ok(())
}

/// Any number is a time: none below 0, the longest there is for infinity.
fn minutes(count: f64) -> Duration {
    Duration::try_from_secs_f64(60.0 * count.max(0.0)).unwrap_or(Duration::MAX)
}

fn threads(args: &Train) -> usize {
    args.threads.unwrap_or_else(cores).max(1)
}

fn stages(args: &Train, config: &RunConfig) -> Result<(), Failure> {
    let (time, threads) = (Duration::from_secs_f64(args.seconds.clamp(0.1, 600.0)), threads(args));
    let budget = train::network::measure(config, args.arithmetic, threads, time)?;
    let times = TrainingTimes::new(&budget, threads);
    let mut out = StdoutSink::default();
    times.lines().into_iter().for_each(|line| out.say(line));
    if let Some(path) = &args.plot {
        times.draw(path)?;
    }
    out.end()
}

fn load_config(path: &Path) -> Result<RunConfig, Failure> {
    let text = read_whole_text(path)?;
    Ok(serde_json::from_str(&text).map_err(FileError::of(path))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        train: Train,
    }

    #[test]
    fn files_of_the_user_are_not_replaced() {
        let folder = std::env::temp_dir().join(format!("mavka-train-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = serde_json::to_string(&RunConfig::default()).unwrap();
        std::fs::write(folder.join("config.json"), &text).unwrap();
        let run = || {
            let mut words =
                vec!["mavka", "--folder", folder.to_str().unwrap(), "--data", "no/such/file"];
            words.extend(["--minutes", "inf", "--checkpoint-minutes", "inf"]);
            Words::parse_from(words).train.run().unwrap_err().to_string()
        };
        let why = run();
        assert!(why.contains("config.json") && why.contains("no lock"), "{why}");
        assert_eq!(std::fs::read_to_string(folder.join("config.json")).unwrap(), text);
        std::fs::write(folder.join("lock"), "").unwrap();
        let why = run();
        assert!(why.contains("no/such/file"), "{why}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_recipes_can_be_run() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/recipes");
        let size = |name: &str| {
            let config = load_config(&folder.join(name)).unwrap();
            config.network.check().unwrap();
            config.kinds.check().unwrap();
            Layout::new(&config.network).len
        };
        let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
        let files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        let recipes = files.iter().filter(|name| name.ends_with(".json"));
        assert!(recipes.map(|name| size(name)).all(|parameters| parameters > 100_000));
        let alone =
            ["action-value", "state-value", "policy"].map(|target| format!("only-{target}.json"));
        assert_eq!(
            alone.map(|name| size(&name)),
            [size("labels.json"); 3],
            "one size, one target each"
        );
        let (small, large) = (size("small.json"), size("large.json"));
        assert!(small < 2_000_000, "{small}");
        assert_eq!(size("transitions.json"), small, "it goes on from the smaller network");
        let (pupil, teacher) = (size("distil.json"), size("wide.json"));
        assert_eq!(size("world.json"), pupil);
        assert!(pupil < teacher && teacher < large, "{teacher}");
        assert!((8_000_000..25_000_000).contains(&large), "{large}");
    }
}
