//! How often something is done in a second, on all threads at once.

use nn::kernels::Isa;
use nn::kernels::gemm::{Accumulate, Mat, Method, Packed, matmul_packed};
use nn::precision::Arithmetic;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How much is done for one figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimingLoad {
    /// At once, each doing the same.
    pub(super) threads: usize,
    /// How long each works.
    pub(super) time: Duration,
}

/// Runs `work` on `threads` threads in parallel, at least one. A thread that panics has no result.
pub(super) fn on_threads<R: Send>(threads: usize, work: impl Fn() -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Runs `work` on every thread for a while; the sum of what it returns, per second.
pub(super) fn rate(TimingLoad { threads, time }: TimingLoad, work: impl Fn() -> f64 + Sync) -> f64 {
    let run = || {
        let start = Instant::now();
        let mut done = 0.0;
        while start.elapsed() < time {
            done += work();
        }
        done / start.elapsed().as_secs_f64()
    };
    let rates = on_threads(threads, || {
        // Burn's operations go to the rayon pool they are called in: each thread its own.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        pool.map_or_else(|_| run(), |pool| pool.install(run))
    });
    rates.into_iter().sum()
}

/// A left operand, a right one and a destination.
type Operands = (Vec<f32>, Packed, Vec<f32>);

/// One 512 x 512 x 512 product, always by the first call's `isa`; returns its floating-point operations.
pub(super) fn product_of_512(isa: Isa) -> f64 {
    const N: usize = 512;
    thread_local! {
        static OPERANDS: RefCell<Option<Operands>> = RefCell::default();
    }
    OPERANDS.with_borrow_mut(|operands| {
        let (a, b, c) = operands.get_or_insert_with(|| {
            let ones = vec![0.5; N * N];
            let method = Method { isa, arithmetic: Arithmetic::Single };
            let packed = Packed::new(Mat::new(&ones, N, N, N), method);
            (ones.clone(), packed, ones)
        });
        matmul_packed(c, N, Accumulate::Replace, Mat::new(a, N, N, N), b, N);
    });
    2.0 * (N as f64).powi(3)
}
