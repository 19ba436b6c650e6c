//! Quantization and int8 products by AVX-512 with VNNI.
//!
//! The kernel broadcasts four bytes of the activations at a time and reads vectors of 16 columns of the
//! weights.

use super::quantize;
use super::task::{Finish, Int8Product, Levels, PANEL, by_finish};
use crate::norm;
use crate::simd::avx512::{LANES, tail_mask};
use std::arch::x86_64::*;

/// [`quantize::round`].
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and DQ; the rest as there.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
pub(crate) unsafe fn round(
    x: &[f32],
    depth: usize,
    levels: Levels,
    bytes: &mut [u8],
    stride: usize,
    scales: &mut [f32],
) {
    // SAFETY: AVX-512 F/BW/VL/DQ are enabled; the caller guarantees the lengths that `quantize::round` asks
    // for.
    unsafe { quantize::round::<__m512>(x, depth, levels, bytes, stride, scales) }
}

/// Quantizes rows of `depth` non-negative bf16, two per lane; the rows' bytes are contiguous.
///
/// # Safety
/// The CPU has AVX-512 F and BW; `depth` is a multiple of 64; `x` and `bytes` hold as many rows as `scales`.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn round_halves(
    x: &[u32],
    depth: usize,
    levels: Levels,
    bytes: &mut [u8],
    scales: &mut [f32],
) {
    let lanes = depth / 2;
    for (high, x) in scales.iter_mut().zip(x.chunks_exact(lanes)) {
        // SAFETY: the enabled AVX-512 F/BW; `lanes` is a multiple of 32, so `at + 16 <= lanes`.
        unsafe {
            let mut top = _mm512_setzero_si512();
            for at in (0..lanes).step_by(LANES) {
                top = _mm512_max_epu16(top, _mm512_loadu_si512(x.as_ptr().add(at).cast()));
            }
            let upper = _mm512_srli_epi32::<16>(top);
            let lower = _mm512_and_si512(top, _mm512_set1_epi32(0xffff));
            let bits = _mm512_reduce_max_epu32(_mm512_max_epu32(upper, lower));
            *high = f32::from_bits(bits << 16);
        }
    }
    let rows = x.chunks_exact(lanes).zip(bytes.chunks_exact_mut(depth));
    for ((x, bytes), scale) in rows.zip(scales) {
        let factor = levels.factor(*scale);
        *scale /= levels.top;
        // SAFETY: the enabled AVX-512 F/BW; `lanes` is a multiple of 32, and the row has 2 * lanes bytes.
        unsafe {
            let factor = _mm512_set1_ps(factor);
            let upper = _mm512_set1_epi32(!0xffff);
            let whole = |bits: __m512i| {
                _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(bits), factor))
            };
            // Both bytes of a lane, in its lower 16 bits.
            let sixteen = |at: usize| {
                let x = _mm512_loadu_si512(x.as_ptr().add(at).cast());
                let even = whole(_mm512_slli_epi32::<16>(x));
                let odd = whole(_mm512_and_si512(x, upper));
                _mm512_or_si512(even, _mm512_slli_epi32::<8>(odd))
            };
            // `packus` interleaves 128-bit quarters: restore the order of their 64-bit halves.
            let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
            for at in (0..lanes).step_by(2 * LANES) {
                let all = _mm512_packus_epi32(sixteen(at), sixteen(at + LANES));
                let all = _mm512_permutexvar_epi64(order, all);
                _mm512_storeu_si512(bytes.as_mut_ptr().add(2 * at).cast(), all);
            }
        }
    }
}

/// [`norm::normalise`].
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and DQ; the rest as there.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
pub(crate) unsafe fn normalise(x: &[f32], gamma: &[f32], beta: &[f32], out: &mut [f32]) {
    // SAFETY: AVX-512 F/BW/VL/DQ are enabled; the caller guarantees the lengths that `norm::normalise` asks
    // for.
    unsafe { norm::normalise::<__m512>(x, gamma, beta, out) }
}

/// All rows and columns.
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and VNNI; the task's pointers hold what it says.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(crate) unsafe fn product(task: &Int8Product, finish: Finish) {
    // SAFETY: AVX-512 F/BW/VL/VNNI are enabled; the task's pointers hold its rows, depth and whole panels by
    // the caller's contract.
    unsafe { by_finish!(finish, panels, task) }
}

/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn panels<const FINISH: u8>(task: &Int8Product) {
    for col in (0..task.cols).step_by(PANEL) {
        // SAFETY: AVX-512 F/VNNI; `col < cols`, and panels are whole, so up to 4 vectors of columns exist
        // there.
        unsafe {
            match (task.cols - col).min(PANEL).div_ceil(LANES) {
                1 => panel::<FINISH, 12, 1>(task, col),
                2 => panel::<FINISH, 8, 2>(task, col),
                3 => panel::<FINISH, 8, 3>(task, col),
                _ => panel::<FINISH, 6, 4>(task, col),
            }
        }
    }
}

/// The rows of one panel: `MR` at a time, then 4, then one by one.
///
/// # Safety
/// As [`product`]; the panel at `col` has `NR` vectors of columns.
#[inline(always)]
unsafe fn panel<const FINISH: u8, const MR: usize, const NR: usize>(
    task: &Int8Product,
    col: usize,
) {
    let mut i = 0;
    // SAFETY: AVX-512 F/VNNI; `i + MR`, `i + 4` or `i + 1` is at most `rows`; the panel has `NR` vectors of
    // columns.
    unsafe {
        while i + MR <= task.rows {
            tile::<FINISH, MR, NR>(task, i, col);
            i += MR;
        }
        while i + 4 <= task.rows {
            tile::<FINISH, 4, NR>(task, i, col);
            i += 4;
        }
        while i < task.rows {
            tile::<FINISH, 1, NR>(task, i, col);
            i += 1;
        }
    }
}

/// `MR` rows and `NR` vectors of columns.
///
/// # Safety
/// As [`panel`]; there are such rows.
#[inline(always)]
unsafe fn tile<const FINISH: u8, const MR: usize, const NR: usize>(
    task: &Int8Product,
    row: usize,
    col: usize,
) {
    // SAFETY: AVX-512 F/VNNI; `MR` rows of `depth` bytes, a multiple of 16, and `NR` vectors of the panel
    // exist; `start`, scales and bias have whole panels; the tail mask ends at `cols`.
    unsafe {
        let a = task.a.add(row * task.depth);
        let b = task.b.add(col / PANEL * task.depth * PANEL);
        let mut sums = [[_mm512_setzero_si512(); NR]; MR];
        for j in 0..NR {
            let start = _mm512_loadu_si512(task.start.add(col + j * LANES).cast());
            for sums in &mut sums {
                sums[j] = start;
            }
        }
        for k in (0..task.depth).step_by(4) {
            let b = b.add(k * PANEL);
            let mut columns = [_mm512_setzero_si512(); NR];
            for (j, column) in columns.iter_mut().enumerate() {
                *column = _mm512_loadu_si512(b.add(j * 4 * LANES).cast());
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let four = a.add(i * task.depth + k).cast::<i32>().read_unaligned();
                let four = _mm512_set1_epi32(four);
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm512_dpbusd_epi32(*sum, four, column);
                }
            }
        }
        for j in 0..NR {
            let at = col + j * LANES;
            let mask = tail_mask(task.cols - at);
            let b_scale = _mm512_loadu_ps(task.b_scales.add(at));
            let bias = _mm512_loadu_ps(task.bias.add(at));
            for (i, sums) in sums.iter().enumerate() {
                let out = task.out.add((row + i) * task.stride + at);
                let scale = _mm512_mul_ps(_mm512_set1_ps(*task.a_scales.add(row + i)), b_scale);
                finish::<FINISH>(sums[j], scale, bias, mask, out);
            }
        }
    }
}

/// Scales sums, adds the bias, applies `FINISH` and writes the masked lanes.
///
/// # Safety
/// The masked lanes exist at `out`; the CPU has AVX-512.
#[inline(always)]
pub(crate) unsafe fn finish<const FINISH: u8>(
    sums: __m512i,
    scale: __m512,
    bias: __m512,
    mask: __mmask16,
    out: *mut f32,
) {
    // SAFETY: AVX-512F; only the masked floats at `out` are read or written.
    unsafe {
        let mut y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, bias);
        if FINISH == 1 {
            y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, out));
        } else if FINISH == 2 {
            // `max` returns its second operand for NaN: NaN propagates.
            y = _mm512_max_ps(_mm512_setzero_ps(), y);
            y = _mm512_mul_ps(y, y);
        }
        _mm512_mask_storeu_ps(out, mask, y);
    }
}
