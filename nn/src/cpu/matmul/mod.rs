//! Safe matrix products over slices. The kernels and, except on x86-64, the `gemm` crate take raw pointers;
//! every view is bounds-checked here first.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod columns;
#[cfg(target_arch = "x86_64")]
mod kernel;
mod operand;
#[cfg(target_arch = "x86_64")]
mod pack;
#[cfg(target_arch = "x86_64")]
mod pairs;
#[cfg(target_arch = "x86_64")]
mod panels;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(target_arch = "x86_64")]
mod task;
#[cfg(target_arch = "x86_64")]
mod tiles;
mod view;

use super::isa::Isa;
use crate::precision::Arithmetic;
use std::ops::Range;
#[cfg(any(test, not(target_arch = "x86_64")))]
use view::fits;

pub use operand::Operand;
#[cfg(target_arch = "x86_64")]
pub(super) use pack::{Buffer, Left, Method, Right};
#[cfg(target_arch = "x86_64")]
pub(super) use pairs::{Halves, floats, halves, tail_mask, transpose, zip};
#[cfg(target_arch = "x86_64")]
pub(super) use tiles::{Finish, Sums};
pub use view::{Accumulate, Mat};

/// `out[.., ..n] (+)= scale * a * b`, with `out` row-major and `stride` between its rows.
///
/// # Panics
/// If shapes do not agree: a fault of the caller's shapes, never of user input.
pub fn matmul(
    arithmetic: Arithmetic,
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    scale: f32,
    a: Mat<'_>,
    b: Mat<'_>,
) {
    assert_eq!(a.cols, b.rows, "inner sizes differ");
    #[cfg(target_arch = "x86_64")]
    by_kernel(pack::Method { isa: Isa::used(), arithmetic }, out, stride, into, scale, a, b);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = arithmetic;
        by_gemm(out, stride, into, scale, a, b);
    }
}

/// A right operand, packed once for many products.
pub struct Packed {
    /// Format of the lanes.
    #[cfg(target_arch = "x86_64")]
    method: pack::Method,
    /// Lanes in the kernel's layout.
    #[cfg(target_arch = "x86_64")]
    lanes: pack::Buffer,
    /// Plain rows for the `gemm` crate.
    #[cfg(not(target_arch = "x86_64"))]
    values: Vec<f32>,
    rows: usize,
    cols: usize,
}

impl Packed {
    /// Packs `b`; an unavailable arithmetic becomes single.
    #[must_use]
    pub fn new(b: Mat<'_>, arithmetic: Arithmetic) -> Packed {
        Packed::by(Isa::used(), b, arithmetic)
    }

    /// Rows and columns of the operand.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Packs another operand of the same sizes in place.
    ///
    /// # Panics
    /// If its sizes differ: a fault of the caller.
    pub fn refresh(&mut self, b: Mat<'_>) {
        assert_eq!((b.rows, b.cols), self.sizes(), "another operand's sizes");
        #[cfg(target_arch = "x86_64")]
        {
            let _ = pack::Right::packed(b, self.method, &mut self.lanes);
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            *self = Packed::by(Isa::used(), b, Arithmetic::Single);
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn by(isa: Isa, b: Mat<'_>, arithmetic: Arithmetic) -> Packed {
        let halves = arithmetic == Arithmetic::Bf16 && super::isa::bf16();
        let arithmetic = if halves { Arithmetic::Bf16 } else { Arithmetic::Single };
        let (method, mut lanes) = (pack::Method { isa, arithmetic }, pack::Buffer::default());
        let _ = pack::Right::packed(b, method, &mut lanes);
        Packed { method, lanes, rows: b.rows, cols: b.cols }
    }

    /// The first `cols` columns.
    #[cfg(target_arch = "x86_64")]
    fn right(&self, cols: usize) -> pack::Right<'_> {
        let lanes = self.lanes.lanes();
        pack::Right::of(lanes, self.cols, cols, self.rows, self.method)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn by(_: Isa, b: Mat<'_>, _: Arithmetic) -> Packed {
        let (rows, cols) = (b.rows, b.cols);
        let at = |i: usize| b.data[i / cols * b.row_stride + i % cols * b.col_stride];
        Packed { values: (0..rows * cols).map(at).collect(), rows, cols }
    }
}

/// `out[.., ..cols] (+)= a * b[.., ..cols]`, with `out` row-major and `stride` between its rows.
///
/// # Panics
/// If shapes do not agree: a fault of the caller's shapes, never of user input.
pub fn matmul_packed(
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    a: Mat<'_>,
    b: &Packed,
    cols: usize,
) {
    assert!(a.cols == b.rows && cols <= b.cols, "{} in {}x{}", a.cols, b.rows, b.cols);
    #[cfg(target_arch = "x86_64")]
    BUFFERS.with_borrow_mut(|[first, _]| {
        let left = match b.method.arithmetic {
            Arithmetic::Bf16 => pack::Left::halves(a, 1.0, b.method.isa, first),
            _ => pack::Left::plain(a),
        };
        kernel::multiply(out, stride, into, 1.0, b.method.isa, left, b.right(cols));
    });
    #[cfg(not(target_arch = "x86_64"))]
    {
        let right = Mat { cols, ..Mat::new(&b.values, b.rows, b.cols, b.cols) };
        by_gemm(out, stride, into, 1.0, a, right);
    }
}

/// [`matmul_packed`] of rows `rows` of `a`, whose arithmetic is that of `b`.
///
/// # Panics
/// If shapes or arithmetics do not agree: a fault of the caller's shapes, never of user input.
pub fn multiply_rows(
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    a: &Operand,
    rows: Range<usize>,
    b: &Packed,
    cols: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if let Some(left) = a.left(rows.clone()) {
        assert!(a.cols() == b.rows && cols <= b.cols, "{} in {}x{}", a.cols(), b.rows, b.cols);
        return kernel::multiply(out, stride, into, 1.0, b.method.isa, left, b.right(cols));
    }
    matmul_packed(out, stride, into, a.floats(rows), b, cols);
}

/// Calls `finish` with the product of rows `rows` of `a` and `b`, block by block, by AMX; false without AMX, or
/// if the operands do not fill blocks.
///
/// # Safety
/// `finish` accepts blocks of `rows.len()` rows and `b`'s columns.
///
/// # Panics
/// If shapes do not agree: a fault of the caller's shapes, never of user input.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn multiply_blocks<F: Finish>(
    a: &Operand,
    rows: Range<usize>,
    b: &Packed,
    finish: &mut F,
) -> bool {
    let Some(left) = a.left(rows) else { return false };
    assert!(a.cols() == b.rows, "{} in {}x{}", a.cols(), b.rows, b.cols);
    let by_tiles = b.method.isa == Isa::Amx && b.method.arithmetic == Arithmetic::Bf16;
    let right = b.right(b.cols);
    // SAFETY: `b` was packed for AMX only where AMX was found; `whole` checks that depth, rows and columns are
    // whole blocks; `finish` accepts them by this function's contract.
    by_tiles && unsafe { tiles::whole(&left, &right, finish) }
}

/// `out += aᵀ * b`, `[a.cols, b.cols]`: the gradient of weights.
///
/// # Panics
/// If the operands differ in rows or arithmetic, or `out` is too small: a fault of the caller.
pub fn multiply_transposed(out: &mut [f32], a: &Operand, b: &Operand) {
    assert!(a.rows() == b.rows() && a.arithmetic() == b.arithmetic(), "operands of two passes");
    #[cfg(target_arch = "x86_64")]
    if a.arithmetic() == Arithmetic::Bf16 {
        return BUFFERS.with_borrow_mut(|[first, second]| {
            // bf16 operands exist only with AVX-512; a lower limit set since then applies to later passes.
            let isa = Isa::used().max(Isa::Avx512);
            let right = b.right(isa, second);
            if kernel::add_transposed(out, b.cols(), a.pairs(), right, first) {
                return;
            }
            let left = a.transposed(isa, first);
            kernel::multiply(out, b.cols(), Accumulate::Add, 1.0, isa, left, right);
        });
    }
    let all = 0..a.rows();
    let (left, right) = (a.floats(all.clone()).t(), b.floats(all));
    matmul(Arithmetic::Single, out, b.cols(), Accumulate::Add, 1.0, left, right);
}

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// Scratch for operands that are packed for one product.
    static BUFFERS: std::cell::RefCell<[pack::Buffer; 2]> = std::cell::RefCell::default();
}

/// Below this many rows or steps, packing a right operand costs more than it saves.
#[cfg(target_arch = "x86_64")]
const MIN_PACKED: usize = 8;

#[cfg(target_arch = "x86_64")]
fn by_kernel(
    method: pack::Method,
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    scale: f32,
    a: Mat<'_>,
    b: Mat<'_>,
) {
    use pack::{Left, Method, Right};
    let Method { isa, arithmetic } = method;
    BUFFERS.with_borrow_mut(|[first, second]| {
        let small = a.rows < MIN_PACKED || a.cols < MIN_PACKED;
        if arithmetic == Arithmetic::Bf16 && arithmetic.available() && !small {
            let right = Right::packed(b, method, second);
            let left = Left::halves(a, scale, isa, first);
            return kernel::multiply(out, stride, into, 1.0, isa, left, right);
        }
        let right = match Right::plain(b) {
            Some(right) => right,
            None => Right::packed(b, Method { isa, arithmetic: Arithmetic::Single }, second),
        };
        kernel::multiply(out, stride, into, scale, isa, Left::plain(a), right);
    });
}

/// The product by the `gemm` crate; on x86-64 only its test calls it.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn by_gemm(
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    scale: f32,
    a: Mat<'_>,
    b: Mat<'_>,
) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(fits(out.len(), m, n, stride), "{m}x{n} (stride {stride}) in {}", out.len());
    if let Accumulate::Bias(bias) = into {
        out.chunks_mut(stride).take(m).for_each(|row| row[..n].copy_from_slice(&bias[..n]));
    }
    // SAFETY: `out`, `a.data` and `b.data` are live slices, `out` is exclusively borrowed, and `fits`
    // checked here and in `Mat::new` that each index `i * row_stride + j * col_stride` the product
    // touches lies inside them (a transposed view only swaps which index is which).
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            stride as isize,
            into != Accumulate::Replace,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            1.0,
            scale,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: the same product by three loops.
    fn twin(
        out: &mut [f32],
        stride: usize,
        into: Accumulate<'_>,
        scale: f32,
        a: Mat<'_>,
        b: Mat<'_>,
    ) {
        for i in 0..a.rows {
            for j in 0..b.cols {
                let mut sum = 0.0;
                for k in 0..a.cols {
                    sum += a.data[i * a.row_stride + k * a.col_stride]
                        * b.data[k * b.row_stride + j * b.col_stride];
                }
                let old = match into {
                    Accumulate::Replace => 0.0,
                    Accumulate::Add => out[i * stride + j],
                    Accumulate::Bias(bias) => bias[j],
                };
                out[i * stride + j] = old + scale * sum;
            }
        }
    }

    /// Products of operands against products of the floats they were made of.
    #[test]
    fn products_of_operands_equal_those_of_their_floats() {
        let data: Vec<f32> = (0..9000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        let sizes = [(64, 32, 48), (7, 5, 3), (33, 40, 80), (1, 8, 1), (96, 64, 32), (32, 32, 96)];
        for (rows, inputs, outputs) in sizes {
            for arithmetic in [Arithmetic::Single, Arithmetic::Bf16] {
                let arithmetic =
                    if arithmetic.available() { arithmetic } else { Arithmetic::Single };
                let (x, dout) = (&data[..rows * inputs], &data[11..11 + rows * outputs]);
                let mut operands = [Operand::default(), Operand::default()];
                let [a, b] = &mut operands;
                // Stale content must not matter.
                a.shape(arithmetic, 96, 96);
                a.put(0, &vec![f32::NAN; 96 * 96]);
                a.shape(arithmetic, rows, inputs);
                b.shape(arithmetic, rows, outputs);
                let half = rows / 2;
                a.put(half, &x[half * inputs..]);
                a.put(0, &x[..half * inputs]);
                b.put(0, dout);
                let near = |got: &[f32], want: &[f32]| {
                    for (got, want) in got.iter().zip(want) {
                        let error = 0.02 * (rows.max(inputs) as f32).sqrt();
                        assert!((got - want).abs() < error, "{got} for {want}");
                    }
                };
                let mut back = vec![0.0; (rows - half) * inputs];
                a.get(half, &mut back);
                near(&back, &x[half * inputs..]);

                let weight = Mat::new(&data[5..], inputs, outputs, outputs);
                let packed = Packed::new(weight, arithmetic);
                let len = (rows - half) * outputs;
                let (mut got, mut want) = (vec![0.5; len], vec![0.5; len]);
                multiply_rows(&mut got, outputs, Accumulate::Add, a, half..rows, &packed, outputs);
                let rest = Mat::new(&x[half * inputs..], rows - half, inputs, inputs);
                twin(&mut want, outputs, Accumulate::Add, 1.0, rest, weight);
                near(&got, &want);

                let (mut got, mut want) =
                    (vec![0.5; inputs * outputs], vec![0.5; inputs * outputs]);
                multiply_transposed(&mut got, a, b);
                let left = Mat::new(x, rows, inputs, inputs).t();
                let right = Mat::new(dout, rows, outputs, outputs);
                twin(&mut want, outputs, Accumulate::Add, 1.0, left, right);
                near(&got, &want);

                let (mut got, mut want) = (vec![0.5; outputs], vec![0.5; outputs]);
                b.add_every(3, 1, &mut got);
                for row in dout.chunks_exact(outputs).skip(1).step_by(3) {
                    want.iter_mut().zip(row).for_each(|(want, x)| *want += x);
                }
                near(&got, &want);
            }
        }
    }

    /// Every kernel of this CPU, and its relative error.
    #[cfg(target_arch = "x86_64")]
    fn kernels() -> Vec<(Isa, Arithmetic, f32)> {
        let all = [Isa::Portable, Isa::Avx2, Isa::Avx512];
        let all = all.map(|isa| (isa, Arithmetic::Single, 1e-4));
        let bf16 = [Isa::Avx512, Isa::Amx].map(|isa| (isa, Arithmetic::Bf16, 0.02));
        let bf16 = bf16.into_iter().filter(|_| Arithmetic::Bf16.available());
        all.into_iter().chain(bf16).filter(|(isa, ..)| *isa <= Isa::found()).collect()
    }

    /// Compares a product, and one with a packed right operand, with the plain loops.
    #[cfg(target_arch = "x86_64")]
    fn check((m, n, k, pad): (usize, usize, usize, usize), transposed: (bool, bool), data: &[f32]) {
        let a = if transposed.0 {
            Mat::new(data, k, m, m + pad).t()
        } else {
            Mat::new(data, m, k, k + pad)
        };
        let b = if transposed.1 {
            Mat::new(&data[7..], n, k, k + pad).t()
        } else {
            Mat::new(&data[7..], k, n, n + pad)
        };
        let bias: Vec<f32> = data[3..3 + n].to_vec();
        for (isa, arithmetic, error) in kernels() {
            for into in [Accumulate::Replace, Accumulate::Add, Accumulate::Bias(&bias)] {
                let start = vec![0.25; m * (n + pad)];
                let (mut got, mut packed, mut want) = (start.clone(), start.clone(), start);
                let method = pack::Method { isa, arithmetic };
                by_kernel(method, &mut got, n + pad, into, 0.5, a, b);
                twin(&mut want, n + pad, into, 0.5, a, b);
                let near = |x: f32, y: f32| (x - y).abs() < error * (k as f32).sqrt();
                let shown = format!("{m}x{n}x{k} {arithmetic:?} {isa} {transposed:?}");
                for (x, y) in got.iter().zip(&want) {
                    assert!(near(*x, *y), "{shown}: {x} against {y}");
                }
                let cols = n.div_ceil(2);
                let right = Packed::by(isa, b, arithmetic);
                matmul_packed(&mut packed, n + pad, into, a, &right, cols);
                want.fill(0.25);
                twin(&mut want, n + pad, into, 1.0, a, Mat { cols, ..b });
                for (x, y) in packed.iter().zip(&want) {
                    assert!(near(*x, *y), "{shown}, packed: {x} against {y}");
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn products_of_all_views_equal_the_plain_loops() {
        let data: Vec<f32> = (0..20_000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        let sizes = [
            (1, 1, 1, 0),
            (7, 5, 3, 2),
            (64, 16, 33, 1),
            (17, 40, 20, 5),
            (64, 64, 16, 0),
            (64, 16, 64, 3),
            (35, 148, 40, 0),
            (9, 80, 9, 7),
            (48, 64, 74, 0),
            (33, 31, 150, 1),
            (80, 33, 46, 2),
        ];
        for size in sizes {
            for transposed in [(false, false), (false, true), (true, false), (true, true)] {
                check(size, transposed, &data);
            }
        }
    }

    #[test]
    fn the_gemm_crate_is_held_to_the_same_loops() {
        let data: Vec<f32> = (0..4000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        let (a, b) = (Mat::new(&data, 17, 20, 22), Mat::new(&data[7..], 40, 20, 21).t());
        for into in [Accumulate::Replace, Accumulate::Add, Accumulate::Bias(&data[5..45])] {
            let (mut got, mut want) = (vec![0.25; 17 * 44], vec![0.25; 17 * 44]);
            by_gemm(&mut got, 44, into, 0.5, a, b);
            twin(&mut want, 44, into, 0.5, a, b);
            assert!(got.iter().zip(&want).all(|(x, y)| (x - y).abs() < 1e-4));
        }
    }
}
