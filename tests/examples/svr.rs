//! The one regressor of paper 002 that `mavka-lab regress` does not train: support vectors with a radial kernel, which
//! the paper abandoned without figures. Here for its row in the table, by the smartcore crate:
//!
//!     cargo run --release --example svr -- positions.mavg.zst

#![allow(clippy::print_stderr)]

use clap::Parser;
use lab::conventional::regress::board::Board;
use lab::conventional::regress::features::Features;
use lab::conventional::regress::samples::{Samples, Sizes, read};
use lab::conventional::regress::study::Errors;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::svm::Kernels;
use smartcore::svm::svr::{SVR, SVRParameters};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Parser)]
struct Arguments {
    /// Data files with a value for every position (MAVG1)
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Boards to train on, balanced over the bins of win probability; the time grows with their square
    #[arg(long, default_value_t = 10_000)]
    positions: usize,
    /// Boards to test on
    #[arg(long, default_value_t = 5_000)]
    test: usize,
    /// Gamma of the kernel exp(-gamma |x - y|²)
    #[arg(long, default_value_t = 0.005)]
    gamma: f64,
    /// How much a miss costs
    #[arg(long, default_value_t = 1.0)]
    cost: f64,
    /// Misses below this cost nothing
    #[arg(long, default_value_t = 0.05)]
    tolerated: f64,
}

/// A board's pieces on their squares, and Giraffe's attackers, defenders and mobility beside them.
fn numbers(board: &Board) -> Vec<f64> {
    let of = |features: Features| {
        let mut row = vec![0.0; features.width()];
        features.write(board, &mut row);
        row.into_iter().map(f64::from)
    };
    of(Features::OneHot).chain(of(Features::Giraffe)).collect()
}

fn matrix(samples: &Samples) -> Result<DenseMatrix<f64>, Box<dyn Error>> {
    let rows: Vec<Vec<f64>> = samples.boards.iter().map(numbers).collect();
    Ok(DenseMatrix::from_2d_vec(&rows)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { files, positions, test, gamma, cost, tolerated } = Arguments::parse();
    // smartcore 0.7 keeps no more numbers of a row than there are rows.
    let fewest = Features::OneHot.width() + Features::Giraffe.width();
    if positions < fewest {
        return Err(format!("{positions} positions are too few: expected {fewest} or more").into());
    }
    let sizes = Sizes { training: positions, validation: 0, test };
    let parts = read(&files, sizes, &mut || {})?;
    eprintln!(
        "{} boards to train on, {} to test",
        parts.training.boards.len(),
        parts.test.boards.len()
    );
    let (x, unseen) = (matrix(&parts.training)?, matrix(&parts.test)?);
    let y: Vec<f64> = parts.training.wins.iter().copied().map(f64::from).collect();
    let begun = Instant::now();
    let parameters = SVRParameters::default()
        .with_kernel(Kernels::rbf().with_gamma(gamma))
        .with_c(cost)
        .with_eps(tolerated);
    let machine = SVR::fit(&x, &y, &parameters)?;
    let guesses: Vec<f32> =
        machine.predict(&unseen)?.into_iter().map(|guess| guess.clamp(0.0, 1.0) as f32).collect();
    let Errors { mse, mae, r2 } = Errors::of(&guesses, &parts.test.wins);
    println!("| SVR | {mse:.4} | {mae:.4} | {r2:.3} | {:.0} s |", begun.elapsed().as_secs_f64());
    Ok(())
}
