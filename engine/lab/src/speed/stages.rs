//! Where the time of an evaluation goes: each stage of a forward pass beside the least it could take, which
//! is its operations at this machine's peak or its bytes at the speed of the second-level cache, whichever
//! is more. Peaks are measured in the same run on the same threads.

use super::timing::{TimingLoad, on_threads, product_of_512, rate};
use crate::measure::MeasureError;
use crate::plots::Bars;
use nn::checkpoint::Network;
use nn::cpu::profile::Stage;
use nn::evaluator::cpu::CpuEvaluator;
use nn::kernels::Isa;
use nn::kernels::gemm::Method;
use nn::kernels::gemm::int8::{Finish, Kernel, Linear8, Rows, Sign};
use nn::net::{Layout, TOKENS};
use nn::precision::Arithmetic;
use nn::{EvalError, Query};
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

/// Work of a thread of this machine in a second.
#[derive(Clone, Copy)]
pub(super) struct Peaks {
    /// Floating-point operations in products of single precision.
    single: f64,
    /// Operations in products of bytes.
    int8: f64,
    /// Bytes read and written.
    bytes: f64,
}

impl Peaks {
    /// Measures each.
    pub(super) fn measure(isa: Isa, load: TimingLoad) -> Peaks {
        let each = |work: &(dyn Fn() -> f64 + Sync)| rate(load, work) / load.threads as f64;
        Peaks {
            single: each(&|| product_of_512(isa)),
            int8: each(&|| product_of_bytes(isa)),
            bytes: each(&copy),
        }
    }
}

/// A product of 512 x 512 bytes by as many, always by the first call's `isa`; returns its operations, 0 without a kernel.
fn product_of_bytes(isa: Isa) -> f64 {
    const N: usize = 512;
    thread_local! {
        static OPERANDS: RefCell<Option<(Rows, Linear8, Vec<f32>)>> = RefCell::default();
    }
    let Some(kernel) = Kernel::fastest(isa) else { return 0.0 };
    OPERANDS.with_borrow_mut(|operands| {
        let (rows, map, out) = operands.get_or_insert_with(|| {
            let numbers: Vec<f32> = (0..N * N).map(|i| (i % 101) as f32 / 50.0 - 1.0).collect();
            let mut rows = Rows::default();
            rows.round(kernel, Sign::Either, &numbers, N);
            let map = Linear8::new(kernel, Sign::Either, &numbers, &vec![0.0; N]);
            (rows, map, numbers)
        });
        map.apply(rows, out, N, N, Finish::Replace);
        2.0 * (N as f64).powi(3)
    })
}

/// Copies a quarter of a megabyte, which no first-level cache holds; returns the bytes read and written.
fn copy() -> f64 {
    const LEN: usize = 1 << 16;
    thread_local! {
        static BUFFERS: RefCell<[Vec<f32>; 2]> = RefCell::new([vec![1.0; LEN], vec![0.0; LEN]]);
    }
    BUFFERS.with_borrow_mut(|[from, to]| {
        to.copy_from_slice(from);
        std::hint::black_box(&to);
    });
    (2 * LEN * size_of::<f32>()) as f64
}

/// Work of a stage for one position.
#[derive(Clone, Copy, Default)]
struct StageWork {
    /// Operations in products of weights over all tokens.
    trunk: f64,
    /// Operations in other products.
    other: f64,
    /// Bytes read and written, of stages without products.
    bytes: f64,
}

/// The work of `stage`, with 35 legal moves; of decoding nothing is known.
fn work(stage: Stage, layout: &Layout, arithmetic: Arithmetic) -> StageWork {
    let c = &layout.config;
    let (tokens, layers) = (TOKENS as f64, c.layers as f64);
    let (width, ffn) = (c.width as f64, c.ffn as f64);
    // A float read, and what is written for it: a byte, or floats.
    let element =
        |floats: f64| if arithmetic == Arithmetic::Int8 { 5.0 } else { 4.0 + 4.0 * floats };
    let trunk = |inputs: f64, outputs: f64| StageWork {
        trunk: 2.0 * tokens * inputs * outputs,
        ..StageWork::default()
    };
    let times = |n: f64, work: StageWork| StageWork {
        trunk: n * work.trunk,
        other: n * work.other,
        bytes: n * work.bytes,
    };
    let bytes = |bytes: f64| StageWork { bytes, ..StageWork::default() };
    let other = |other: f64| StageWork { other, ..StageWork::default() };
    match stage {
        Stage::Outside => StageWork::default(),
        Stage::Embedding => bytes(12.0 * tokens * width),
        Stage::Norm => bytes((2.0 * layers + 1.0) * tokens * width * element(2.0)),
        Stage::Qkv => times(layers, trunk(width, 3.0 * width)),
        Stage::Bias => match &c.dynamic_bias {
            Some(bias) => {
                let mixed = c.heads * bias.rank;
                let rest = TOKENS * bias.channels * bias.hidden + bias.hidden * mixed;
                let rest = other(2.0 * (rest + mixed * TOKENS * TOKENS) as f64);
                let compress = trunk(width, bias.channels as f64);
                times(layers, StageWork { trunk: compress.trunk, ..rest })
            }
            None => StageWork::default(),
        },
        Stage::Attention => other(layers * 4.0 * tokens * tokens * width),
        Stage::Output => times(layers, trunk(width, width)),
        Stage::Up => times(layers, trunk(width, ffn)),
        Stage::Activation => bytes(layers * tokens * ffn * element(1.0)),
        Stage::Down => times(layers, trunk(ffn, width)),
        Stage::Tokens => trunk(width, layout.columns.play() as f64),
        Stage::Heads => {
            let board = c.value_hidden * (TOKENS * c.value_channels + 64 + 6 + c.action_dim);
            other(2.0 * (board + 35 * (c.action_dim * 64 + c.policy_dim)) as f64)
        }
    }
}

/// A stage's share of an evaluation, in seconds.
struct StageShare {
    stage: Stage,
    took: f64,
    /// At the machine's limits; 0 where none is known.
    least: f64,
}

/// The shares of all stages of one way to compute.
pub(super) struct Budget {
    shares: Vec<StageShare>,
}

/// The work of every thread.
pub(super) struct ThreadWork<'a> {
    pub(super) network: &'a Network,
    pub(super) method: Method,
    pub(super) queries: &'a [Query<'a>],
}

impl Budget {
    /// Asks the network on every thread at once.
    ///
    /// # Errors
    /// The network's output is not finite.
    pub(super) fn measure(
        asked: &ThreadWork<'_>,
        load: TimingLoad,
        peaks: Peaks,
    ) -> Result<Budget, MeasureError> {
        let ThreadWork { network, method, queries } = *asked;
        let (evaluator, arithmetic) = (CpuEvaluator::with(network, method), method.arithmetic);
        let parts = on_threads(load.threads, || evaluator.measure(queries, load.time));
        let parts: Vec<_> = parts.into_iter().collect::<Result<_, EvalError>>()?;
        let done: usize = parts.iter().map(|(done, _)| done).sum();
        let share = |stage: Stage| {
            let spent: Duration = parts.iter().map(|(_, stages)| stages.spent(stage)).sum();
            let work = work(stage, &network.layout, arithmetic);
            let trunk = if arithmetic == Arithmetic::Int8 { peaks.int8 } else { peaks.single };
            let products = work.trunk / trunk + work.other / peaks.single;
            let least = products.max(work.bytes / peaks.bytes);
            StageShare { stage, took: spent.as_secs_f64() / done.max(1) as f64, least }
        };
        Ok(Budget { shares: Stage::ALL.map(share).into() })
    }

    /// The table, a line at a time.
    pub(super) fn lines(&self) -> Vec<String> {
        let total: f64 = self.shares.iter().map(|share| share.took).sum();
        let least: f64 = self.shares.iter().map(|share| share.least).sum();
        let mut lines = vec![format!(
            "{:<13} {:>8} {:>7} {:>9} {:>8}",
            "stage", "us", "share", "least us", "of it"
        )];
        let row = |name: &str, took: f64, least: f64| {
            let efficiency = match least > 0.0 && took > 0.0 {
                true => format!("{:.0}%", 100.0 * least / took),
                false => "-".to_owned(),
            };
            let share = 100.0 * took / total;
            let (took, least) = (took * 1e6, least * 1e6);
            format!("{name:<13} {took:>8.1} {share:>6.1}% {least:>9.1} {efficiency:>8}")
        };
        lines.extend(self.shares.iter().map(|s| row(s.stage.name(), s.took, s.least)));
        lines.push(row("all", total, least));
        lines
    }

    /// Draws two bars for each stage: what it took, and the least it could take.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn draw(&self, title: &str, path: &Path) -> Result<(), MeasureError> {
        let bar = |share: &StageShare| (share.stage.name().to_owned(), [share.took, share.least]);
        let bars = Bars {
            title: title.to_owned(),
            labels: ["taken", "least possible"],
            rows: self.shares.iter().map(bar).collect(),
        };
        Ok(bars.draw(path)?)
    }
}
