//! `mavka evalbench`: positions per second of a network on this machine, against the machine's own
//! matrix-product peak measured in the same run on the same threads.

use clap::Args;
use nn::burn_eval::BurnEvaluator;
use nn::checkpoint::{Network, Precision};
use nn::cpu::matmul::{Into, Mat, Packed, matmul_packed};
use nn::cpu::{Arithmetic, Isa};
use nn::device::{Backend, pick};
use nn::encode::canonical_moves;
use nn::infer::CpuEvaluator;
use nn::net::NetConfig;
use nn::{Evaluator, Query};
use shakmaty::{Chess, Move, Position};
use std::cell::RefCell;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Measure evaluations per second.
#[derive(Args, Debug)]
pub struct EvalBench {
    /// A network file; default: random weights of the sizes below.
    #[arg(long)]
    weights: Option<PathBuf>,
    #[arg(long, default_value_t = 128)]
    width: usize,
    #[arg(long, default_value_t = 6)]
    layers: usize,
    #[arg(long, default_value_t = 4)]
    heads: usize,
    #[arg(long, default_value_t = 256)]
    ffn: usize,
    /// Write the network into this file too, in full precision.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Threads, each with its own batch; default: all cores.
    #[arg(long)]
    threads: Option<usize>,
    /// Of the products: auto (the fastest this CPU has), single or bf16.
    #[arg(long, default_value = "auto")]
    arithmetic: Arithmetic,
    /// Instructions to do with: portable, avx2 or avx512; default: the widest this CPU has.
    #[arg(long)]
    isa: Option<Isa>,
    /// Burn's CPU backend instead of the hand-written kernels.
    #[arg(long, conflicts_with = "arithmetic")]
    flex: bool,
    /// Batch sizes to try.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16")]
    batch: Vec<usize>,
    /// Seconds for each figure.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

impl EvalBench {
    /// Does what was asked.
    ///
    /// # Errors
    /// The weights file cannot be used, the sizes make no network, or the network fails.
    pub fn run(&self) -> Result<(), String> {
        work(self).map_err(|error| error.to_string())
    }
}

fn work(args: &EvalBench) -> Result<(), Box<dyn Error>> {
    if let Some(isa) = args.isa {
        isa.limit();
    }
    let network = match &args.weights {
        Some(path) => {
            Network::load(path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => {
            let (width, layers, heads, ffn) = (args.width, args.layers, args.heads, args.ffn);
            let config = NetConfig { width, layers, heads, ffn, ..NetConfig::default() };
            config.check()?;
            Network::new(&config, 1)
        }
    };
    if let Some(path) = &args.save {
        network
            .save(path, Precision::Full)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let threads =
        args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let seconds = Duration::from_secs_f64(args.seconds.clamp(0.1, 600.0));
    let c = network.layout.config.clone();
    let flops = c.flops();
    println!(
        "network {}x{}, {} heads, ffn {}: {} parameters, {:.1} MFLOP per position",
        c.width,
        c.layers,
        c.heads,
        c.ffn,
        network.layout.len,
        flops / 1e6
    );
    let peak = rate(threads, seconds, product_of_512);
    println!("sgemm peak of {threads} threads: {:.0} GFLOP/s", peak / 1e9);
    println!("{:>6} {:>12} {:>10} {:>8}", "batch", "positions/s", "GFLOP/s", "of peak");
    let evaluator: Box<dyn Evaluator> = if args.flex {
        Box::new(BurnEvaluator::new(&network, pick(Backend::Cpu).0)?)
    } else {
        Box::new(CpuEvaluator::new(&network, args.arithmetic))
    };
    let positions = sample_positions();
    for &batch in &args.batch {
        let queries: Vec<Query<'_>> = positions
            .iter()
            .cycle()
            .take(batch.max(1))
            .map(|(position, legal)| Query { position, legal })
            .collect();
        evaluator.evaluate(&queries)?;
        // An error cannot first appear here: the same queries have just been answered.
        let per_second =
            rate(threads, seconds, || evaluator.evaluate(&queries).map_or(0.0, |a| a.len() as f64));
        let share = 100.0 * per_second * flops / peak;
        println!("{batch:>6} {per_second:>12.0} {:>10.0} {share:>7.1}%", per_second * flops / 1e9);
    }
    Ok(())
}

/// Runs `work` on every thread for a while; the sum of what it returns, per second.
fn rate(threads: usize, time: Duration, work: impl Fn() -> f64 + Sync) -> f64 {
    let work = &work;
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.max(1))
            .map(|_| {
                scope.spawn(move || {
                    let run = || {
                        let start = Instant::now();
                        let mut done = 0.0;
                        while start.elapsed() < time {
                            done += work();
                        }
                        done / start.elapsed().as_secs_f64()
                    };
                    // Burn's operations go to the rayon pool they are called in: each thread its own.
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                    pool.map_or_else(|_| run(), |pool| pool.install(run))
                })
            })
            .collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).sum()
    })
}

/// One 512 x 512 x 512 product; returns its floating-point operations.
fn product_of_512() -> f64 {
    const N: usize = 512;
    thread_local! {
        static OPERANDS: RefCell<(Vec<f32>, Packed, Vec<f32>)> = RefCell::new({
            let ones = vec![0.5; N * N];
            let packed = Packed::new(Mat::new(&ones, N, N, N), Arithmetic::Single);
            (ones.clone(), packed, ones)
        });
    }
    OPERANDS.with_borrow_mut(|(a, b, c)| {
        matmul_packed(c, N, Into::Replace, Mat::new(a, N, N, N), b, N);
    });
    2.0 * (N as f64).powi(3)
}

/// Positions of a made-up game, with their legal moves.
fn sample_positions() -> Vec<(Chess, Vec<Move>)> {
    let mut position = Chess::default();
    let mut all = Vec::new();
    for i in 0..64usize {
        let legal = canonical_moves(&position);
        if legal.is_empty() {
            break;
        }
        let m = legal[(i * 7 + 3) % legal.len()];
        all.push((position.clone(), legal.to_vec()));
        position.play_unchecked(m);
    }
    all
}
