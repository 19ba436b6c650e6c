//! Safe matrix products over slices. The one place in this crate that may be `unsafe`: the `gemm`
//! crate takes raw pointers, and every view is bounds-checked here before it gets them.
#![allow(unsafe_code)]

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

/// What becomes of the destination's old content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// Overwritten.
    Replace,
    /// Added to.
    Add,
}

/// Columns that the widest vectors take at once.
const LANES: usize = 16;

/// `out[.., ..n] (+)= scale * a * b`, with `out` row-major and `stride` between its rows.
///
/// # Panics
/// If shapes do not agree: a fault of the caller's shapes, never of user input.
pub fn matmul(out: &mut [f32], stride: usize, into: Into, scale: f32, a: Mat<'_>, b: Mat<'_>) {
    let whole = b.cols / LANES * LANES;
    if whole == 0 || whole == b.cols || b.col_stride != 1 {
        return product(out, stride, into, scale, a, b);
    }
    // `gemm` copies the whole of `b` if its columns do not fill vectors; this way only the rest.
    product(out, stride, into, scale, a, Mat { cols: whole, ..b });
    let rest = Mat { data: &b.data[whole..], cols: b.cols - whole, ..b };
    product(&mut out[whole..], stride, into, scale, a, rest);
}

fn product(out: &mut [f32], stride: usize, into: Into, scale: f32, a: Mat<'_>, b: Mat<'_>) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert_eq!(k, b.rows, "inner sizes differ");
    assert!(fits(out.len(), m, n, stride), "{m}x{n} (stride {stride}) in {}", out.len());
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
            into == Into::Add,
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

    /// The same product by three loops: the checked twin of the unsafe block.
    fn twin(out: &mut [f32], stride: usize, into: Into, scale: f32, a: Mat<'_>, b: Mat<'_>) {
        for i in 0..a.rows {
            for j in 0..b.cols {
                let mut sum = 0.0;
                for k in 0..a.cols {
                    sum += a.data[i * a.row_stride + k * a.col_stride]
                        * b.data[k * b.row_stride + j * b.col_stride];
                }
                let old = if into == Into::Add { out[i * stride + j] } else { 0.0 };
                out[i * stride + j] = old + scale * sum;
            }
        }
    }

    #[test]
    fn products_of_all_views_equal_the_plain_loops() {
        let data: Vec<f32> = (0..4000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        for (m, n, k, pad) in [(1, 1, 1, 0), (7, 5, 3, 2), (64, 16, 33, 1), (17, 40, 20, 5)] {
            for transposed in 0..4 {
                let a = if transposed & 1 == 0 {
                    Mat::new(&data, m, k, k + pad)
                } else {
                    Mat::new(&data, k, m, m + pad).t()
                };
                let b = if transposed & 2 == 0 {
                    Mat::new(&data[7..], k, n, n + pad)
                } else {
                    Mat::new(&data[7..], n, k, k + pad).t()
                };
                for into in [Into::Replace, Into::Add] {
                    let mut got = vec![0.25; m * (n + pad)];
                    let mut want = got.clone();
                    matmul(&mut got, n + pad, into, 0.5, a, b);
                    twin(&mut want, n + pad, into, 0.5, a, b);
                    for (x, y) in got.iter().zip(&want) {
                        assert!((x - y).abs() < 1e-4, "{m}x{n}x{k}: {x} against {y}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "in 10")]
    fn a_view_past_its_slice_is_refused() {
        let _ = Mat::new(&[0.0; 10], 3, 4, 4);
    }
}
