//! Epilogues of AMX products in a training step: the sums of one block are finished and rounded while the next
//! block is multiplied, so that only the next product's operand leaves L1. Each function returns whether it
//! ran; if not, the caller takes the path in several passes, which is also the reference in the tests of `cpu::layers`.

use crate::amx::bf16::{BlockSums, Epilogue};
use crate::amx::tiles::BLOCK;
use crate::gemm::{Operand, Packed, multiply_blocks};
use crate::norm::bf16::supports;
use crate::norm::squared_relu::slope;
use crate::simd::avx512::{LANES, bf16_to_f32, f32_to_bf16};
use std::arch::x86_64::*;
use std::ops::Range;

/// A linear map.
#[derive(Clone, Copy)]
pub struct Map<'a> {
    /// `[inputs, columns]`.
    pub weight: &'a Packed,
    /// `[columns]`.
    pub bias: &'a [f32],
}

/// Squared ReLU of a linear map of some rows of `x`, into the same rows of `to`.
pub fn squares(map: Map<'_>, x: &Operand, rows: Range<usize>, to: &mut Operand) -> bool {
    let bias = map.bias;
    let Some(to) = Bf16Output::of(to, rows.clone(), bias.len()) else { return false };
    let weight = checked(map.weight, bias.len());
    // SAFETY: `bias` and each row of `to` have as many columns as the product, and `to` has `rows`;
    // `norm::bf16::supports` found AVX512_BF16.
    unsafe { multiply_blocks(x, rows, weight, &mut Squares { bias, to }) }
}

/// Adds a linear map of rows `rows` of `from` to `x`, `[rows.len(), columns]`.
pub fn add(map: Map<'_>, from: &Operand, rows: Range<usize>, x: &mut [f32]) -> bool {
    let bias = map.bias;
    assert!(x.len() >= rows.len() * bias.len(), "{} floats", x.len());
    let weight = checked(map.weight, bias.len());
    // SAFETY: `bias` has as many columns as the product, and `x` `rows.len()` rows of them, asserted above.
    unsafe { multiply_blocks(from, rows, weight, &mut Residual { bias, x }) }
}

/// Rows `rows` of `x` times `map`, into the same rows of `to`.
pub fn plain(map: &Packed, x: &Operand, rows: Range<usize>, to: &mut Operand) -> bool {
    let columns = to.cols();
    let map = checked(map, columns);
    let Some(to) = Bf16Output::of(to, rows.clone(), columns) else { return false };
    // SAFETY: `to` has `rows`, each with as many columns as the product.
    unsafe { multiply_blocks(x, rows, map, &mut StoreEpilogue { to }) }
}

/// Gradient of a squared ReLU through the linear map `down` that follows it (`w` holds its transpose): rows
/// `rows` of `dout` become the same rows of `to`, whose column sums are added to `sums`; `squared` is the
/// ReLU's output.
pub fn slopes(
    down: &Packed,
    (dout, squared): (&Operand, &Operand),
    rows: Range<usize>,
    to: &mut Operand,
    sums: &mut [f32],
) -> bool {
    let Some(squares) = squared.lanes(rows.clone()) else { return false };
    let Some(to) = Bf16Output::of(to, rows.clone(), sums.len()) else { return false };
    assert!(squares.len() == to.lanes.len(), "{} squares", 2 * squares.len());
    let down = checked(down, sums.len());
    // SAFETY: `sums` has as many entries as the product has columns; `squares` and `to` hold `rows` of as many
    // bf16, asserted above.
    unsafe { multiply_blocks(dout, rows, down, &mut Slopes { squares, to, sums }) }
}

/// Queries times `scale`, keys and values of rows `rows` of `x`, each as rows of bf16.
pub fn heads(
    map: Map<'_>,
    x: &Operand,
    rows: Range<usize>,
    scale: f32,
    parts: [&mut [u32]; 3],
) -> bool {
    let bias = map.bias;
    let width = bias.len() / 3;
    if !supports(width) {
        return false;
    }
    assert!(parts.iter().all(|part| 2 * part.len() >= rows.len() * width), "room");
    let parts = parts.map(|lanes| Bf16Output { lanes, columns: width });
    let weight = checked(map.weight, bias.len());
    // SAFETY: `bias` has the product's 3 * width columns; each part holds `rows.len()` rows of `width` bf16,
    // asserted above.
    unsafe { multiply_blocks(x, rows, weight, &mut HeadsEpilogue { bias, scale, parts }) }
}

/// `map`, which is `columns` wide.
fn checked(map: &Packed, columns: usize) -> &Packed {
    assert!(map.sizes().1 == columns, "{columns} columns of {}", map.sizes().1);
    map
}

/// Contiguous rows of bf16.
struct Bf16Output<'a> {
    lanes: &'a mut [u32],
    columns: usize,
}

impl<'a> Bf16Output<'a> {
    /// Rows `rows` of an operand; None unless they are bf16 and fill vectors.
    fn of(to: &'a mut Operand, rows: Range<usize>, columns: usize) -> Option<Bf16Output<'a>> {
        assert!(to.cols() == columns, "{columns} columns for {}", to.cols());
        supports(columns).then(|| to.lanes_mut(rows))?.map(|lanes| Bf16Output { lanes, columns })
    }

    /// Writes 32 floats as bf16 from column `col` on.
    ///
    /// # Safety
    /// The row exists and has 32 columns from `col` on; the CPU has AVX512_BF16.
    #[inline(always)]
    unsafe fn put(&mut self, row: usize, col: usize, [low, high]: [__m512; 2]) {
        // SAFETY: AVX512_BF16; 16 lanes from column `col` of the row lie in `lanes`.
        unsafe {
            let to = self.lanes.as_mut_ptr().add((row * self.columns + col) / 2);
            _mm512_storeu_si512(to.cast(), f32_to_bf16(low, high));
        }
    }
}

/// Loads two adjacent vectors.
///
/// # Safety
/// There are 32 floats at `from`; the CPU has AVX-512.
#[inline(always)]
unsafe fn pair(from: *const f32) -> [__m512; 2] {
    // SAFETY: AVX-512F; 32 floats lie at `from`.
    unsafe { [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(LANES))] }
}

/// Loads row `i` of a block's sums.
///
/// # Safety
/// `i` is below [`BLOCK`]; the CPU has AVX-512.
#[inline(always)]
unsafe fn row(sums: &BlockSums, i: usize) -> [__m512; 2] {
    // SAFETY: AVX-512F; a block has 32 rows of 32 floats, and `i < 32`.
    unsafe { pair(sums.0.as_ptr().add(i * BLOCK)) }
}

/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn sum([a, b]: [__m512; 2], [c, d]: [__m512; 2]) -> [__m512; 2] {
    // SAFETY: AVX-512F; registers only.
    unsafe { [_mm512_add_ps(a, c), _mm512_add_ps(b, d)] }
}

struct StoreEpilogue<'a> {
    to: Bf16Output<'a>,
}

impl Epilogue for StoreEpilogue<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &BlockSums, (first, col): (usize, usize), rows: Range<usize>) {
        for i in rows {
            // SAFETY: AVX512_BF16, and the block's rows and 32 columns lie in the product, whose shape `to`
            // has: `Epilogue::take`'s contract.
            unsafe { self.to.put(first + i, col, row(sums, i)) }
        }
    }
}

struct Squares<'a> {
    bias: &'a [f32],
    to: Bf16Output<'a>,
}

impl Epilogue for Squares<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &BlockSums, (first, col): (usize, usize), rows: Range<usize>) {
        // SAFETY: AVX512_BF16, and the block's rows and 32 columns lie in the product, whose shape `to` and
        // `bias` have: `Epilogue::take`'s contract.
        unsafe {
            let bias = pair(self.bias.as_ptr().add(col));
            for i in rows {
                let squares = sum(row(sums, i), bias).map(|x| {
                    let positive = _mm512_max_ps(x, _mm512_setzero_ps());
                    _mm512_mul_ps(positive, positive)
                });
                self.to.put(first + i, col, squares);
            }
        }
    }
}

struct Residual<'a> {
    bias: &'a [f32],
    x: &'a mut [f32],
}

impl Epilogue for Residual<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &BlockSums, (first, col): (usize, usize), rows: Range<usize>) {
        // SAFETY: AVX-512F, and the block's rows and 32 columns lie in the product, whose shape `x` and `bias`
        // have: `Epilogue::take`'s contract.
        unsafe {
            let bias = pair(self.bias.as_ptr().add(col));
            for i in rows {
                let x = self.x.as_mut_ptr().add((first + i) * self.bias.len() + col);
                let [low, high] = sum(sum(row(sums, i), bias), pair(x));
                _mm512_storeu_ps(x, low);
                _mm512_storeu_ps(x.add(LANES), high);
            }
        }
    }
}

struct Slopes<'a> {
    squares: &'a [u32],
    to: Bf16Output<'a>,
    sums: &'a mut [f32],
}

impl Epilogue for Slopes<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &BlockSums, (first, col): (usize, usize), rows: Range<usize>) {
        // SAFETY: AVX512_BF16, and the block's rows and 32 columns lie in the product, whose shape `to`,
        // `squares` and `sums` have: `Epilogue::take`'s contract.
        unsafe {
            let place = self.sums.as_mut_ptr().add(col);
            let mut totals = pair(place);
            for i in rows {
                let at = ((first + i) * self.to.columns + col) / 2;
                let squares = self.squares.as_ptr().add(at);
                let squares = [bf16_to_f32(squares), bf16_to_f32(squares.add(LANES / 2))];
                let [low, high] = row(sums, i);
                let slopes =
                    [_mm512_mul_ps(low, slope(squares[0])), _mm512_mul_ps(high, slope(squares[1]))];
                totals = sum(totals, slopes);
                self.to.put(first + i, col, slopes);
            }
            _mm512_storeu_ps(place, totals[0]);
            _mm512_storeu_ps(place.add(LANES), totals[1]);
        }
    }
}

struct HeadsEpilogue<'a> {
    bias: &'a [f32],
    scale: f32,
    parts: [Bf16Output<'a>; 3],
}

impl Epilogue for HeadsEpilogue<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &BlockSums, (first, col): (usize, usize), rows: Range<usize>) {
        // SAFETY: AVX512_BF16, and the block's rows and 32 columns lie in the product (`Epilogue::take`'s
        // contract), which has `bias.len()` columns, a multiple of 32: so `part < 3`, and no block straddles
        // two parts.
        unsafe {
            let width = self.bias.len() / 3;
            let (part, column) = (col / width, col % width);
            let scale = _mm512_set1_ps(if part == 0 { self.scale } else { 1.0 });
            let bias = pair(self.bias.as_ptr().add(col));
            let to = self.parts.get_unchecked_mut(part);
            for i in rows {
                let row = sum(row(sums, i), bias).map(|x| _mm512_mul_ps(x, scale));
                to.put(first + i, column, row);
            }
        }
    }
}
