//! Matrix products, safe over slices. The kernels and, except on x86-64, the `gemm` crate take raw pointers; every view
//! is bounds-checked here first.
//!
//! | file | product | instructions |
//! |---|---|---|
//! | `microkernel`, `format` | floats; bf16 with sums in floats | plain loops, AVX2, AVX-512, AVX512_BF16 |
//! | `packed`, `panels` | operands as lanes and panels of columns | plain loops, AVX-512, AVX512_BF16 |
//! | `bf16` | packing of bf16 | AVX512_BF16 |
//! | `int8` | bytes, with quantization | AVX2, AVX-VNNI, AVX512_VNNI, NEON |
//! | `int16` | 16-bit integers, for attention and its biases | AVX2 |
//!
//! `matrix` has the views, `operand` a matrix of activations that is written once and read by several products.
//! Products by AMX are in [`crate::amx`].

mod arithmetic;
#[cfg(target_arch = "x86_64")]
pub(crate) mod bf16;
#[cfg(target_arch = "x86_64")]
pub(crate) mod format;
#[cfg(target_arch = "x86_64")]
pub(crate) mod int16;
pub mod int8;
mod matrix;
mod method;
#[cfg(target_arch = "x86_64")]
mod microkernel;
mod operand;
#[cfg(target_arch = "x86_64")]
pub(crate) mod packed;
#[cfg(target_arch = "x86_64")]
pub(crate) mod panels;

use super::isa::Isa;
use crate::precision::Arithmetic;
#[cfg(any(test, not(target_arch = "x86_64")))]
use matrix::fits;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
pub use bf16::pairs::Bf16Rows;
pub use matrix::{Accumulate, Mat};
pub use method::Method;
pub use operand::Operand;
#[cfg(target_arch = "x86_64")]
pub use packed::Buffer;
#[cfg(target_arch = "x86_64")]
pub(crate) use packed::{Left, Right};

/// `out[.., ..n] (+)= scale * a * b`, with `out` row-major and `stride` between its rows.
///
/// # Panics
/// If shapes do not agree: a fault of the caller's shapes, never of user input.
pub fn matmul(
    method: Method,
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    scale: f32,
    a: Mat<'_>,
    b: Mat<'_>,
) {
    assert_eq!(a.cols, b.rows, "inner sizes differ");
    #[cfg(target_arch = "x86_64")]
    by_kernel(method, out, stride, into, scale, a, b);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = method;
        by_gemm(out, stride, into, scale, a, b);
    }
}

/// A right operand, packed once for many products.
pub struct Packed {
    /// Format of the lanes.
    #[cfg(target_arch = "x86_64")]
    method: Method,
    /// Lanes in the kernel's layout.
    #[cfg(target_arch = "x86_64")]
    lanes: packed::Buffer,
    /// Plain rows for the `gemm` crate.
    #[cfg(not(target_arch = "x86_64"))]
    values: Vec<f32>,
    rows: usize,
    cols: usize,
}

impl Packed {
    /// Packs `b`; an unavailable arithmetic becomes single.
    #[must_use]
    pub fn new(b: Mat<'_>, method: Method) -> Packed {
        let (rows, cols) = (b.rows, b.cols);
        #[cfg(target_arch = "x86_64")]
        {
            let isa = method.isa.available();
            let halves = method.arithmetic == Arithmetic::Bf16 && method.arithmetic.available(isa);
            let arithmetic = if halves { Arithmetic::Bf16 } else { Arithmetic::Single };
            let (method, mut lanes) = (Method { isa, arithmetic }, packed::Buffer::default());
            let _ = packed::Right::packed(b, method, &mut lanes);
            Packed { method, lanes, rows, cols }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = method;
            let at = |i: usize| b.data[i / cols * b.row_stride + i % cols * b.col_stride];
            Packed { values: (0..rows * cols).map(at).collect(), rows, cols }
        }
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
            let _ = packed::Right::packed(b, self.method, &mut self.lanes);
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            *self = Packed::new(b, Method::widest(Arithmetic::Single));
        }
    }

    /// The first `cols` columns.
    #[cfg(target_arch = "x86_64")]
    fn right(&self, cols: usize) -> packed::Right<'_> {
        let lanes = self.lanes.lanes();
        packed::Right::of(lanes, self.cols, cols, self.rows, self.method)
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
            Arithmetic::Bf16 => packed::Left::halves(a, 1.0, b.method.isa, first),
            _ => packed::Left::plain(a),
        };
        microkernel::multiply(out, stride, into, 1.0, b.method.isa, left, b.right(cols));
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
        return microkernel::multiply(out, stride, into, 1.0, b.method.isa, left, b.right(cols));
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
pub(crate) unsafe fn multiply_blocks<F: crate::amx::bf16::Epilogue>(
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
    by_tiles && unsafe { crate::amx::bf16::whole(&left, &right, finish) }
}

/// `out += aᵀ * b`, `[a.cols, b.cols]`, by the kernels of `isa`: the gradient of weights.
///
/// # Panics
/// If the operands differ in rows or arithmetic, or `out` is too small: a fault of the caller.
pub fn multiply_transposed(isa: Isa, out: &mut [f32], a: &Operand, b: &Operand) {
    assert!(a.rows() == b.rows() && a.arithmetic() == b.arithmetic(), "operands of two passes");
    #[cfg(target_arch = "x86_64")]
    if a.arithmetic() == Arithmetic::Bf16 {
        return BUFFERS.with_borrow_mut(|[first, second]| {
            // bf16 operands exist only with AVX-512.
            let isa = isa.available().max(Isa::Avx512);
            let right = b.right(isa, second);
            if microkernel::add_transposed(out, b.cols(), a.pairs(), right, first) {
                return;
            }
            let left = a.transposed(isa, first);
            microkernel::multiply(out, b.cols(), Accumulate::Add, 1.0, isa, left, right);
        });
    }
    let all = 0..a.rows();
    let (left, right) = (a.floats(all.clone()).t(), b.floats(all));
    matmul(
        Method { isa, arithmetic: Arithmetic::Single },
        out,
        b.cols(),
        Accumulate::Add,
        1.0,
        left,
        right,
    );
}

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// Scratch for operands that are packed for one product.
    static BUFFERS: std::cell::RefCell<[packed::Buffer; 2]> = std::cell::RefCell::default();
}

/// Below this many rows or steps, packing a right operand costs more than it saves.
#[cfg(target_arch = "x86_64")]
const MIN_PACKED: usize = 8;

#[cfg(target_arch = "x86_64")]
fn by_kernel(
    method: Method,
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    scale: f32,
    a: Mat<'_>,
    b: Mat<'_>,
) {
    use packed::{Left, Right};
    let (isa, arithmetic) = (method.isa.available(), method.arithmetic);
    let method = Method { isa, arithmetic };
    BUFFERS.with_borrow_mut(|[first, second]| {
        let small = a.rows < MIN_PACKED || a.cols < MIN_PACKED;
        if arithmetic == Arithmetic::Bf16 && arithmetic.available(isa) && !small {
            let right = Right::packed(b, method, second);
            let left = Left::halves(a, scale, isa, first);
            return microkernel::multiply(out, stride, into, 1.0, isa, left, right);
        }
        let right = match Right::plain(b) {
            Some(right) => right,
            None => Right::packed(b, Method { isa, arithmetic: Arithmetic::Single }, second),
        };
        microkernel::multiply(out, stride, into, scale, isa, Left::plain(a), right);
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
mod tests;
