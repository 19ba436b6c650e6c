//! Gradient of attention by AMX, head by head: from what [`super::attention`] kept and the gradient of the
//! attention outputs to the gradients of scores, queries, keys and values. Everything but the results stays in
//! L2.

use super::attention::{PANELS, supports};
use crate::TOKENS;
use crate::amx::tiles::{BLOCK, Block, Panel, ROWS, Steps, configured, side_by_side};
use crate::attention::bf16_softmax::{SCORES, write};
use crate::gemm::{Bf16Rows, Buffer, Left, Right};
use crate::isa::Isa;
use crate::norm::bf16::sum_all;
use crate::simd::avx512::{LANES, bf16_to_f32};
use crate::simd::horizontal::{FOUR, broadcast4, reduce4};
use std::arch::x86_64::*;
use std::ptr;

const SQUARE: usize = TOKENS * TOKENS;
/// Scores of 16 rows (one tile's height) of one head.
const STRIP: usize = ROWS * TOKENS;

/// Head layout of a position.
#[derive(Clone, Copy, Default)]
struct HeadLayout {
    heads: usize,
    /// Channels of a head.
    dim: usize,
}

impl HeadLayout {
    fn width(self) -> usize {
        self.heads * self.dim
    }

    /// 1 / sqrt(dim).
    fn scale(self) -> f32 {
        (self.dim as f32).sqrt().recip()
    }
}

/// Operands that a forward pass keeps for the gradient, in bf16.
#[derive(Default)]
pub struct KeptOperands {
    sizes: HeadLayout,
    /// Queries / sqrt(dim), keys and values: `[positions, 64, width]`.
    parts: [Buffer; 3],
    /// `[positions, heads, 64, 64]`
    weights: Buffer,
}

impl KeptOperands {
    /// Makes room for `heads` heads of `dim` channels in each position.
    pub fn hold(&mut self, heads: usize, dim: usize, positions: usize) {
        self.sizes = HeadLayout { heads, dim };
        for part in &mut self.parts {
            part.hold(positions * TOKENS * self.sizes.width() / 2);
        }
        self.weights.hold(positions * heads * SQUARE / 2);
    }

    /// The scale of queries, and the destinations of position `p`'s queries, keys and values, `[64, width]`
    /// bf16 each.
    ///
    /// # Panics
    /// If there is no room: a fault of the caller.
    pub fn parts(&mut self, p: usize) -> (f32, [&mut [u32]; 3]) {
        let lanes = TOKENS * self.sizes.width() / 2;
        let parts = self.parts.each_mut();
        (self.sizes.scale(), parts.map(|part| &mut part.lanes_mut()[p * lanes..][..lanes]))
    }

    /// Queries, keys and values of each head of position `p`.
    pub fn heads(&self, p: usize) -> impl ExactSizeIterator<Item = [Bf16Rows<'_>; 3]> {
        (0..self.sizes.heads).map(move |h| [0, 1, 2].map(|i| self.part(i, (p, h))))
    }

    /// Destination of position `p`'s attention weights, `[heads, 64, 64]` bf16.
    ///
    /// # Panics
    /// If there is no room: a fault of the caller.
    pub fn weights(&mut self, p: usize) -> &mut [u32] {
        let lanes = self.sizes.heads * SQUARE / 2;
        &mut self.weights.lanes_mut()[p * lanes..][..lanes]
    }

    fn part(&self, i: usize, (p, h): (usize, usize)) -> Bf16Rows<'_> {
        let (dim, row) = (self.sizes.dim, self.sizes.width() / 2);
        let lanes = &self.parts[i].lanes()[p * TOKENS * row + h * dim / 2..];
        Bf16Rows::new(lanes, TOKENS, dim, row)
    }
}

/// Scratch: one head's packed operands.
#[derive(Default)]
pub struct GradientScratch {
    /// Packed by pairs of rows.
    queries: Buffer,
    keys: Buffer,
    dmeans: Buffer,
    /// Packed by pairs of channels.
    values: Buffer,
    /// Transposed weights and score gradients.
    weights_columns: Buffer,
    dscores_columns: Buffer,
    /// f32 scratch: gradient of 16 rows of weights, `[16, 64]`, then of queries, keys and values, `[3, 64,
    /// dim]`.
    sums: Buffer,
}

/// Destinations.
pub struct Gradients<'a> {
    /// `[heads, 64, 64]` bf16.
    pub dscores: &'a mut [u32],
    /// `[64, 3 * width]` bf16.
    pub dqkv: &'a mut [u32],
    /// `[3 * width]`: column sums of `dqkv` are added here (the bias gradient).
    pub sums: &'a mut [f32],
}

/// Gradients at position `p` from `dmeans`, the gradient of the attention outputs, `[64, width]` bf16.
///
/// # Panics
/// If [`super::attention::supports`] is false for `dim` or a buffer is too short: a fault of the caller.
pub fn backward(
    kept: &KeptOperands,
    p: usize,
    dmeans: &[u32],
    packed: &mut GradientScratch,
    to: &mut Gradients<'_>,
) {
    let sizes = kept.sizes;
    let HeadLayout { heads, dim } = sizes;
    let width = sizes.width();
    assert!(supports(Isa::Amx, dim), "heads of {dim}");
    assert!(to.dscores.len() >= heads * SQUARE / 2, "room for scores");
    assert!(to.dqkv.len() >= TOKENS * 3 * width / 2 && to.sums.len() >= 3 * width, "room");
    for h in 0..heads {
        let part = |i| kept.part(i, (p, h));
        let dmeans = Bf16Rows::new(&dmeans[h * dim / 2..], TOKENS, dim, width / 2);
        let place = (p * heads + h) * SQUARE / 2;
        let weights = &kept.weights.lanes()[place..][..SQUARE / 2];
        let head = PackedHead {
            dim,
            queries: Right::halves(part(0), Isa::Amx, &mut packed.queries),
            keys: Right::halves(part(1), Isa::Amx, &mut packed.keys),
            values: Right::channels(part(2), PANELS.isa, &mut packed.values),
            dmeans: Right::halves(dmeans, Isa::Amx, &mut packed.dmeans),
            dmeans_rows: Left::rows(dmeans),
            weights,
            weights_columns: Left::transposed(
                square(weights),
                Isa::Amx,
                &mut packed.weights_columns,
            ),
        };
        let dscores = &mut to.dscores[h * SQUARE / 2..][..SQUARE / 2];
        let sums = packed.sums.hold(STRIP + 3 * TOKENS * dim).cast::<f32>();
        // SAFETY: `supports` found AMX with AVX512_BF16; the operands were packed above for 64 rows of `dim`;
        // `sums` holds `[16, 64]` and `[3, 64, dim]` floats; `dqkv` and `to.sums` have 3 * width columns,
        // asserted above.
        unsafe {
            configured(ROWS, ROWS, || head.scores(sums, dscores));
            let columns = Left::transposed(square(dscores), Isa::Amx, &mut packed.dscores_columns);
            let out = sums.add(STRIP);
            configured(ROWS, ROWS, || head.rest(dscores, columns, out));
            for (i, scale) in [sizes.scale(), 1.0, 1.0].into_iter().enumerate() {
                let at = i * width + h * dim;
                let lanes = to.dqkv.as_mut_ptr().add(at / 2);
                let from = out.add(i * TOKENS * dim);
                finish(from, dim, scale, (lanes, 3 * width / 2), to.sums.as_mut_ptr().add(at));
            }
        }
    }
}

/// A head's `[64, 64]` scores or weights.
fn square(lanes: &[u32]) -> Bf16Rows<'_> {
    Bf16Rows::new(lanes, TOKENS, TOKENS, TOKENS / 2)
}

/// One head, packed.
struct PackedHead<'a> {
    dim: usize,
    queries: Right<'a>,
    keys: Right<'a>,
    values: Right<'a>,
    dmeans: Right<'a>,
    dmeans_rows: Left<'a>,
    weights: &'a [u32],
    weights_columns: Left<'a>,
}

impl PackedHead<'_> {
    /// Writes the gradient of the scores. While the tiles multiply 16 rows, vector code finishes the 16 rows
    /// before.
    ///
    /// # Safety
    /// Inside [`configured`] for whole tiles; the operands are packed; `sums` are `[16, 64]`, `dscores` `[64, 64]` halves.
    #[inline(always)]
    unsafe fn scores(&self, sums: *mut f32, dscores: &mut [u32]) {
        let (a_row, count) = (self.dmeans_rows.row, self.dim / 2 / ROWS);
        for first in (0..=TOKENS).step_by(ROWS) {
            // SAFETY: AMX is configured for 16 x 16 tiles; `dmeans_rows` has 64 rows of `dim / 2` lanes, a
            // multiple of 16, values one panel of 64 columns, `sums` `[16, 64]` floats; weights and `dscores`
            // hold `[64, 64]` bf16.
            unsafe {
                if first < TOKENS {
                    let a = self.dmeans_rows.data.as_ptr().add(first * a_row);
                    let b = side_by_side(self.values.data.as_ptr());
                    let panel = Panel { a, b, base: ptr::null(), base_row: 0 };
                    let b_row = self.values.step;
                    panel.multiply_halves(Steps { a_row, b_row, lanes: ROWS, count });
                }
                if first > 0 {
                    let at = (first - ROWS) * TOKENS / 2;
                    slopes(sums, self.weights.as_ptr().add(at), dscores.as_mut_ptr().add(at));
                }
                if first < TOKENS {
                    Panel::store(sums.cast(), 4 * TOKENS);
                }
            }
        }
    }

    /// Writes the gradients of queries (times sqrt(dim)), keys and values to `out`, `[3, 64, dim]`.
    ///
    /// # Safety
    /// As [`PackedHead::scores`].
    #[inline(always)]
    unsafe fn rest(&self, dscores: &[u32], dscores_columns: Left<'_>, out: *mut f32) {
        let all = [
            (dscores.as_ptr(), self.keys),
            (dscores_columns.data.as_ptr(), self.queries),
            (self.weights_columns.data.as_ptr(), self.dmeans),
        ];
        for (i, (a, right)) in all.into_iter().enumerate() {
            // SAFETY: AMX is configured for whole tiles; each `a` is `[64, 64]` bf16, each right operand has 64
            // rows of `dim` columns, `out` `[3, 64, dim]` floats.
            unsafe { product(a, right, out.add(i * TOKENS * self.dim)) };
        }
    }
}

/// `[64, 64]` bf16 at `a`, row by row, times `right`, to `[64, right.cols]` floats.
///
/// # Safety
/// Inside [`configured`] for whole tiles; there are the lanes, and there is room.
#[inline(always)]
unsafe fn product(a: *const u32, right: Right<'_>, out: *mut f32) {
    let (a_row, count) = (TOKENS / 2, TOKENS / 2 / ROWS);
    for col in (0..right.cols).step_by(BLOCK) {
        for row in (0..TOKENS).step_by(BLOCK) {
            // SAFETY: AMX is configured for whole tiles; `a` has 64 rows of 32 lanes, `right.cols` is a
            // multiple of 32, and `out` holds 64 rows of them.
            unsafe {
                let a = a.add(row * a_row);
                let b = right.data.as_ptr();
                let block = Block {
                    a: [a, a.add(ROWS * a_row)],
                    b: [b.add(right.at(col)), b.add(right.at(col + LANES))],
                    base: [ptr::null(); 2],
                    base_row: 0,
                };
                block.multiply_halves(Steps { a_row, b_row: right.step, lanes: ROWS, count });
                let out = out.add(row * right.cols + col);
                let out = [out, out.add(ROWS * right.cols)];
                Block::store(out.map(<*mut f32>::cast), 4 * right.cols);
            }
        }
    }
}

/// Softmax gradient of 16 rows: from the gradient of the weights (f32) and the weights (bf16) to the gradient
/// of the scores (bf16).
///
/// # Safety
/// There are 16 rows of 64 at each pointer; the CPU has AVX-512 F, BW, DQ and AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn slopes(dweights: *const f32, weights: *const u32, dscores: *mut u32) {
    for first in (0..ROWS).step_by(FOUR) {
        // SAFETY: the enabled AVX-512 F/BW/DQ/BF16; rows `first..first + 4` of 16, 64 columns each, lie in all
        // three.
        unsafe {
            let mut slopes = [[_mm512_setzero_ps(); SCORES]; FOUR];
            let mut shares = slopes;
            let mut sums = [_mm512_setzero_ps(); FOUR];
            for i in 0..FOUR {
                for j in 0..SCORES {
                    let at = (first + i) * TOKENS + j * LANES;
                    let slope = _mm512_loadu_ps(dweights.add(at));
                    let share = bf16_to_f32(weights.add(at / 2));
                    sums[i] = _mm512_fmadd_ps(slope, share, sums[i]);
                    (slopes[i][j], shares[i][j]) = (slope, share);
                }
            }
            let means = broadcast4(reduce4(sums, |a, b| _mm512_add_ps(a, b)));
            for (i, (slopes, shares)) in slopes.iter_mut().zip(&shares).enumerate() {
                for (slope, share) in slopes.iter_mut().zip(shares) {
                    *slope = _mm512_mul_ps(*share, _mm512_sub_ps(*slope, means[i]));
                }
                write(*slopes, dscores.add((first + i) * TOKENS / 2));
            }
        }
    }
}

/// Rounds `[64, dim]` floats times `scale` to rows of bf16, and adds their column sums to `sums`.
///
/// # Safety
/// There are `[64, dim]` floats at `from`, room at `to` for 64 rows of `dim` bf16, `row` lanes apart, and `dim`
/// sums; `dim` is a multiple of 32; the CPU has AVX-512 F, BW and AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn finish(
    from: *const f32,
    dim: usize,
    scale: f32,
    (to, row): (*mut u32, usize),
    sums: *mut f32,
) {
    // SAFETY: the enabled AVX-512 F/BW/BF16; `from` is `[64, dim]`, `to` has 64 rows `row` lanes apart, `sums`
    // `dim` floats, `dim` a multiple of 32.
    unsafe {
        let scale = _mm512_set1_ps(scale);
        sum_all((to, 2 * row), sums, (TOKENS, dim), |at| {
            _mm512_mul_ps(_mm512_loadu_ps(from.add(at)), scale)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Numbers in [-1, 1] that bf16 represents exactly.
    fn numbers(count: usize, random: &mut Rng) -> Vec<f32> {
        let mut number = || random.unit() as f32 * 2.0 - 1.0;
        (0..count).map(|_| f32::from_bits(number().to_bits() & 0xffff_0000)).collect()
    }

    fn pack(x: &[f32], to: &mut [u32]) {
        for (pair, lane) in x.chunks_exact(2).zip(to) {
            *lane = pair[0].to_bits() >> 16 | pair[1].to_bits() & 0xffff_0000;
        }
    }

    fn unpack(lanes: &[u32]) -> Vec<f32> {
        let pair = |lane: &u32| [lane << 16, lane & 0xffff_0000].map(f32::from_bits);
        lanes.iter().flat_map(pair).collect()
    }

    /// Reference by plain loops; a head's rows are `width` apart.
    struct Twin {
        dscores: Vec<f32>,
        parts: [Vec<f32>; 3],
    }

    fn twin(
        parts: &[Vec<f32>; 3],
        weights: &[f32],
        dmeans: &[f32],
        heads: usize,
        dim: usize,
    ) -> Twin {
        let width = heads * dim;
        let mut dscores = vec![0.0; heads * SQUARE];
        let mut out = [0, 1, 2].map(|_| vec![0.0; TOKENS * width]);
        for h in 0..heads {
            let at = |row: usize, d: usize| row * width + h * dim + d;
            let weight = |i: usize, j: usize| weights[h * SQUARE + i * TOKENS + j];
            for i in 0..TOKENS {
                let slope = |j: usize| -> f32 {
                    (0..dim).map(|d| dmeans[at(i, d)] * parts[2][at(j, d)]).sum()
                };
                let slopes: Vec<f32> = (0..TOKENS).map(slope).collect();
                let mean: f32 = (0..TOKENS).map(|j| weight(i, j) * slopes[j]).sum();
                for j in 0..TOKENS {
                    let ds = weight(i, j) * (slopes[j] - mean);
                    dscores[h * SQUARE + i * TOKENS + j] = ds;
                    for d in 0..dim {
                        out[0][at(i, d)] += ds * parts[1][at(j, d)] / (dim as f32).sqrt();
                        out[1][at(j, d)] += ds * parts[0][at(i, d)];
                        out[2][at(j, d)] += weight(i, j) * dmeans[at(i, d)];
                    }
                }
            }
        }
        Twin { dscores, parts: out }
    }

    fn near(got: &[f32], want: &[f32], what: &str) {
        let most = want.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        assert!(got.len() == want.len() && most > 0.0, "{what}");
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() <= 0.01 * most, "{what}: {got} for {want}, at most {most}");
        }
    }

    #[test]
    fn gradients_equal_plain_loops() {
        for (heads, dim) in [(3, 32), (2, 64)] {
            if !supports(Isa::Amx, dim) {
                return crate::isa::skipped("AMX");
            }
            let (width, random) = (heads * dim, &mut Rng::new(dim as u64));
            let mut kept = KeptOperands::default();
            kept.hold(heads, dim, 2);
            let parts = [0, 1, 2].map(|_| numbers(TOKENS * width, random));
            for (part, to) in parts.iter().zip(kept.parts(1).1) {
                pack(part, to);
            }
            let share = |x: f32| f32::from_bits((x.abs() / 32.0).to_bits() & 0xffff_0000);
            let weights: Vec<f32> =
                numbers(heads * SQUARE, random).into_iter().map(share).collect();
            pack(&weights, kept.weights(1));
            let dmeans = numbers(TOKENS * width, random);
            let mut lanes = vec![0; TOKENS * width / 2];
            pack(&dmeans, &mut lanes);

            let (mut dscores, mut dqkv) =
                (vec![0; heads * SQUARE / 2], vec![0; TOKENS * 3 * width / 2]);
            let mut sums = vec![1.0; 3 * width];
            let to = &mut Gradients { dscores: &mut dscores, dqkv: &mut dqkv, sums: &mut sums };
            backward(&kept, 1, &lanes, &mut GradientScratch::default(), to);

            let want = twin(&parts, &weights, &dmeans, heads, dim);
            near(&unpack(&dscores), &want.dscores, "scores");
            let rows = unpack(&dqkv);
            for (i, want) in want.parts.iter().enumerate() {
                let part = |row: &[f32]| row[i * width..][..width].to_vec();
                let got: Vec<f32> = rows.chunks_exact(3 * width).flat_map(part).collect();
                near(&got, want, ["queries", "keys", "values"][i]);
                let column = |d: usize| 1.0 + want.iter().skip(d).step_by(width).sum::<f32>();
                let want: Vec<f32> = (0..width).map(column).collect();
                near(&sums[i * width..][..width], &want, "sums");
            }
        }
    }
}
