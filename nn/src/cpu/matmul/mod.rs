//! Safe matrix products over slices. Our kernels and, for processors other than x86-64, the `gemm` crate take
//! raw pointers, and every view is bounds-checked here before they get them.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod pack;
#[cfg(target_arch = "x86_64")]
mod tiles;

use super::Isa;
use super::int8::Kernel;
use crate::precision::{Arithmetic, ArithmeticError};
use std::str::FromStr;

/// A read-only strided matrix.
#[derive(Clone, Copy)]
pub struct Mat<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Mat<'a> {
    /// `rows x cols`, row after row, `stride` apart, beginning at `data[0]`.
    ///
    /// # Panics
    /// If the matrix does not fit in `data`: a fault of the caller's shapes, never of user input.
    #[must_use]
    pub fn new(data: &'a [f32], rows: usize, cols: usize, stride: usize) -> Mat<'a> {
        assert!(
            fits(data.len(), rows, cols, stride),
            "{rows}x{cols} (stride {stride}) in {}",
            data.len()
        );
        Mat { data, rows, cols, row_stride: stride, col_stride: 1 }
    }

    /// The transposed view.
    #[must_use]
    pub fn t(self) -> Mat<'a> {
        Mat {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// `rows x cols` with `stride` between rows fits in `len` elements.
fn fits(len: usize, rows: usize, cols: usize, stride: usize) -> bool {
    rows > 0 && cols > 0 && stride >= cols && (rows - 1) * stride + cols <= len
}

/// What a product is added to.
#[derive(Clone, Copy, PartialEq)]
pub enum Into<'a> {
    /// Nothing: the destination is overwritten.
    Replace,
    /// What the destination held.
    Add,
    /// This row, in every row of the destination, which is overwritten.
    Bias(&'a [f32]),
}

impl Arithmetic {
    /// The fastest of floats that this CPU has and play does not suffer from.
    ///
    /// AVX512_BF16 alone is not enough: Intel's (Sapphire Rapids) multiplies bf16 more slowly than single
    /// precision, 0.66 times as fast, AMD's (Zen 5) 1.6 times as fast. AMX is 1.9 to 3.7 times as fast: `assets/speed.md`.
    #[must_use]
    pub fn best() -> Arithmetic {
        #[cfg(target_arch = "x86_64")]
        if Arithmetic::Bf16.available() && (tiles::available() || vendor() == *b"AuthenticAMD") {
            return Arithmetic::Bf16;
        }
        Arithmetic::Single
    }

    /// Whether 8 bits are faster than [`Arithmetic::best`], which they are but beside AMX.
    #[must_use]
    pub fn int8_is_best() -> bool {
        #[cfg(target_arch = "x86_64")]
        let tiles = Arithmetic::best() == Arithmetic::Bf16 && tiles::available();
        #[cfg(not(target_arch = "x86_64"))]
        let tiles = false;
        Arithmetic::Int8.available() && !tiles
    }

    /// Whether there are kernels for it on this CPU: for single precision always.
    #[must_use]
    pub fn available(self) -> bool {
        match self {
            Arithmetic::Single => true,
            Arithmetic::Bf16 => Isa::used() == Isa::Avx512 && self.on_this_cpu(),
            Arithmetic::Int8 => Kernel::used().is_some(),
        }
    }

    /// Whether the kernels here have it, whatever [`Isa::limit`] says; bytes are not multiplied here.
    fn on_this_cpu(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let halves = Isa::found() == Isa::Avx512 && is_x86_feature_detected!("avx512bf16");
        #[cfg(not(target_arch = "x86_64"))]
        let halves = false;
        self == Arithmetic::Single || self == Arithmetic::Bf16 && halves
    }
}

/// Who made this CPU.
#[cfg(target_arch = "x86_64")]
fn vendor() -> [u8; 12] {
    let found = std::arch::x86_64::__cpuid(0);
    let words = [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes);
    std::array::from_fn(|i| words[i / 4][i % 4])
}

/// `auto`, `single`, `bf16` or `int8`.
impl FromStr for Arithmetic {
    type Err = ArithmeticError;

    fn from_str(text: &str) -> Result<Arithmetic, ArithmeticError> {
        match text {
            "auto" => Ok(Arithmetic::best()),
            "single" => Ok(Arithmetic::Single),
            "bf16" if Arithmetic::Bf16.available() => Ok(Arithmetic::Bf16),
            "bf16" => Err(ArithmeticError::NoBf16),
            "int8" if Arithmetic::Int8.available() => Ok(Arithmetic::Int8),
            "int8" => Err(ArithmeticError::NoInt8),
            _ => Err(ArithmeticError::Unknown),
        }
    }
}

/// `out[.., ..n] (+)= scale * a * b`, with `out` row-major and `stride` between its rows.
///
/// # Panics
/// If shapes do not agree: a fault of the caller's shapes, never of user input.
pub fn matmul(
    arithmetic: Arithmetic,
    out: &mut [f32],
    stride: usize,
    into: Into<'_>,
    scale: f32,
    a: Mat<'_>,
    b: Mat<'_>,
) {
    assert_eq!(a.cols, b.rows, "inner sizes differ");
    #[cfg(target_arch = "x86_64")]
    by_kernel((Isa::used(), arithmetic), out, stride, into, scale, a, b);
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = arithmetic;
        by_gemm(out, stride, into, scale, a, b);
    }
}

/// A right operand, packed once for many products.
pub struct Packed {
    /// What the lanes are for, and the lanes as the kernel wants them.
    #[cfg(target_arch = "x86_64")]
    lanes: (Isa, Arithmetic, pack::Buffer),
    /// Plain rows: all that the `gemm` crate wants.
    #[cfg(not(target_arch = "x86_64"))]
    values: Vec<f32>,
    rows: usize,
    cols: usize,
}

impl Packed {
    /// Packs `b`; an arithmetic that is not available becomes single.
    #[must_use]
    pub fn new(b: Mat<'_>, arithmetic: Arithmetic) -> Packed {
        Packed::by(Isa::used(), b, arithmetic)
    }

    /// Rows and columns of the operand.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Packs another operand of the same sizes in the same place.
    ///
    /// # Panics
    /// If its sizes differ: a fault of the caller.
    pub fn refresh(&mut self, b: Mat<'_>) {
        assert_eq!((b.rows, b.cols), self.sizes(), "another operand's sizes");
        #[cfg(target_arch = "x86_64")]
        {
            let (isa, arithmetic, lanes) = &mut self.lanes;
            let _ = pack::Right::packed(b, (*isa, *arithmetic), lanes);
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            *self = Packed::by(Isa::used(), b, Arithmetic::Single);
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn by(isa: Isa, b: Mat<'_>, arithmetic: Arithmetic) -> Packed {
        let arithmetic = if arithmetic.on_this_cpu() { arithmetic } else { Arithmetic::Single };
        let mut lanes = pack::Buffer::default();
        let _ = pack::Right::packed(b, (isa, arithmetic), &mut lanes);
        Packed { lanes: (isa, arithmetic, lanes), rows: b.rows, cols: b.cols }
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
    into: Into<'_>,
    a: Mat<'_>,
    b: &Packed,
    cols: usize,
) {
    assert!(a.cols == b.rows && cols <= b.cols, "{} in {}x{}", a.cols, b.rows, b.cols);
    #[cfg(target_arch = "x86_64")]
    BUFFERS.with_borrow_mut(|[first, _]| {
        let (isa, arithmetic, lanes) = &b.lanes;
        let right = pack::Right::of(lanes.lanes(), (b.cols, cols), b.rows, *arithmetic);
        let left = match arithmetic {
            Arithmetic::Bf16 => pack::Left::halves(a, first),
            _ => pack::Left::plain(a),
        };
        kernel::multiply(out, stride, into, 1.0, (*isa, left, right));
    });
    #[cfg(not(target_arch = "x86_64"))]
    {
        let right = Mat { cols, ..Mat::new(&b.values, b.rows, b.cols, b.cols) };
        by_gemm(out, stride, into, 1.0, a, right);
    }
}

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// Where operands are packed for one product.
    static BUFFERS: std::cell::RefCell<[pack::Buffer; 2]> = std::cell::RefCell::default();
}

/// Below so many rows or steps, packing a right operand would cost more than it saves.
#[cfg(target_arch = "x86_64")]
const WORTH_PACKING: usize = 8;

#[cfg(target_arch = "x86_64")]
fn by_kernel(
    (isa, arithmetic): (Isa, Arithmetic),
    out: &mut [f32],
    stride: usize,
    into: Into<'_>,
    scale: f32,
    a: Mat<'_>,
    b: Mat<'_>,
) {
    use pack::{Left, Right};
    BUFFERS.with_borrow_mut(|[first, second]| {
        let small = a.rows < WORTH_PACKING || a.cols < WORTH_PACKING;
        if arithmetic == Arithmetic::Bf16 && arithmetic.available() && !small {
            let right = Right::packed(b, (isa, arithmetic), second);
            let left = Left::halves(a, first);
            return kernel::multiply(out, stride, into, scale, (isa, left, right));
        }
        let right = match Right::plain(b) {
            Some(right) => right,
            None => Right::packed(b, (isa, Arithmetic::Single), second),
        };
        kernel::multiply(out, stride, into, scale, (isa, Left::plain(a), right));
    });
}

/// The product by the `gemm` crate: on x86-64 only its test calls it.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn by_gemm(out: &mut [f32], stride: usize, into: Into<'_>, scale: f32, a: Mat<'_>, b: Mat<'_>) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(fits(out.len(), m, n, stride), "{m}x{n} (stride {stride}) in {}", out.len());
    if let Into::Bias(bias) = into {
        out.chunks_mut(stride).take(m).for_each(|row| row[..n].copy_from_slice(&bias[..n]));
    }
    // SAFETY: `out`, `a.data` and `b.data` are live slices, `out` is exclusively borrowed, and `fits`
    // checked here and in `Mat::new` that every index `i * row_stride + j * col_stride` the product
    // touches lies inside them (a transposed view only swaps which index is which).
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            stride as isize,
            into != Into::Replace,
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

    /// The same product by three loops: the checked twin of the unsafe code.
    fn twin(out: &mut [f32], stride: usize, into: Into<'_>, scale: f32, a: Mat<'_>, b: Mat<'_>) {
        for i in 0..a.rows {
            for j in 0..b.cols {
                let mut sum = 0.0;
                for k in 0..a.cols {
                    sum += a.data[i * a.row_stride + k * a.col_stride]
                        * b.data[k * b.row_stride + j * b.col_stride];
                }
                let old = match into {
                    Into::Replace => 0.0,
                    Into::Add => out[i * stride + j],
                    Into::Bias(bias) => bias[j],
                };
                out[i * stride + j] = old + scale * sum;
            }
        }
    }

    /// Every kernel that this CPU has, and its relative error.
    #[cfg(target_arch = "x86_64")]
    fn kernels() -> Vec<(Isa, Arithmetic, f32)> {
        let all = [Isa::Portable, Isa::Avx2, Isa::Avx512];
        let all = all.map(|isa| (isa, Arithmetic::Single, 1e-4));
        let bf16 = Arithmetic::Bf16.available().then_some((Isa::Avx512, Arithmetic::Bf16, 0.02));
        all.into_iter().filter(|(isa, ..)| *isa <= Isa::found()).chain(bf16).collect()
    }

    /// Compares a product, and the same with the right operand packed, with the plain loops.
    #[cfg(target_arch = "x86_64")]
    fn check((m, n, k, pad): (usize, usize, usize, usize), turned: (bool, bool), data: &[f32]) {
        let a = if turned.0 {
            Mat::new(data, k, m, m + pad).t()
        } else {
            Mat::new(data, m, k, k + pad)
        };
        let b = if turned.1 {
            Mat::new(&data[7..], n, k, k + pad).t()
        } else {
            Mat::new(&data[7..], k, n, n + pad)
        };
        let bias: Vec<f32> = data[3..3 + n].to_vec();
        for (isa, arithmetic, error) in kernels() {
            for into in [Into::Replace, Into::Add, Into::Bias(&bias)] {
                let start = vec![0.25; m * (n + pad)];
                let (mut got, mut packed, mut want) = (start.clone(), start.clone(), start);
                by_kernel((isa, arithmetic), &mut got, n + pad, into, 0.5, a, b);
                twin(&mut want, n + pad, into, 0.5, a, b);
                let near = |x: f32, y: f32| (x - y).abs() < error * (k as f32).sqrt();
                let shown = format!("{m}x{n}x{k} {arithmetic:?} {isa} {turned:?}");
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
            for turned in [(false, false), (false, true), (true, false), (true, true)] {
                check(size, turned, &data);
            }
        }
    }

    #[test]
    fn the_gemm_crate_is_held_to_the_same_loops() {
        let data: Vec<f32> = (0..4000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        let (a, b) = (Mat::new(&data, 17, 20, 22), Mat::new(&data[7..], 40, 20, 21).t());
        for into in [Into::Replace, Into::Add, Into::Bias(&data[5..45])] {
            let (mut got, mut want) = (vec![0.25; 17 * 44], vec![0.25; 17 * 44]);
            by_gemm(&mut got, 44, into, 0.5, a, b);
            twin(&mut want, 44, into, 0.5, a, b);
            assert!(got.iter().zip(&want).all(|(x, y)| (x - y).abs() < 1e-4));
        }
    }

    #[test]
    #[should_panic(expected = "in 10")]
    fn a_view_past_its_slice_is_refused() {
        let _ = Mat::new(&[0.0; 10], 3, 4, 4);
    }
}
