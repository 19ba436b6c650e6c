//! Measures the tree alone: a toy world of 35 moves whose evaluation costs next to nothing. Prints
//! playouts per second by threads, bytes per expanded position, and what a compaction costs.
//!
//! `cargo run --release -p mavka-mcts --example treebench [playouts] [megabytes]`

use mcts::{Params, Patient, Searcher, toy::Wide};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let playouts = args.next().unwrap_or(500_000);
    let megabytes = args.next().unwrap_or(256) as usize;

    for batch in [1, 16] {
        for threads in [1, 2] {
            let mut searcher =
                Searcher::new(Params { batch, ..Params::default() }, megabytes << 20);
            searcher.set_root(0, None);
            let start = Instant::now();
            let outcome = searcher.run(&Wide::CHESSLIKE, threads, Some(playouts), &Patient);
            let seconds = start.elapsed().as_secs_f64();
            let audit = searcher.audit();
            println!(
                "batch {batch:2}, threads {threads}: {:8.0} playouts/s, {} bytes per expanded position, \
                 depth {}/{}, {} collisions, hashfull {}",
                playouts as f64 / seconds,
                audit.bytes / audit.expanded.max(1),
                outcome.snapshot.depth,
                outcome.snapshot.seldepth,
                outcome.snapshot.collisions,
                outcome.snapshot.hashfull,
            );
        }
    }
}
