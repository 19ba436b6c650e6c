//! Views of slices for products, bounds-checked at construction.

/// A read-only strided matrix.
#[derive(Clone, Copy)]
pub struct Mat<'a> {
    pub(super) data: &'a [f32],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_stride: usize,
    pub(super) col_stride: usize,
}

impl<'a> Mat<'a> {
    /// `rows x cols`, row-major, `stride` between rows, beginning at `data[0]`.
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

    /// `rows` windows of `cols` numbers, each `step` numbers behind the one before, so that they may overlap: a convolution's
    /// neighbourhoods without a copy.
    ///
    /// # Panics
    /// If the windows do not fit in `data`: a fault of the caller's shapes, never of user input.
    #[must_use]
    pub fn windows(data: &'a [f32], rows: usize, cols: usize, step: usize) -> Mat<'a> {
        let ends = (rows.max(1) - 1).checked_mul(step).and_then(|last| last.checked_add(cols));
        assert!(
            rows > 0 && cols > 0 && step > 0 && ends.is_some_and(|end| end <= data.len()),
            "{rows} windows of {cols} (step {step}) in {}",
            data.len()
        );
        Mat { data, rows, cols, row_stride: step, col_stride: 1 }
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
pub(super) fn fits(len: usize, rows: usize, cols: usize, stride: usize) -> bool {
    rows > 0 && cols > 0 && stride >= cols && (rows - 1) * stride + cols <= len
}

/// How a product combines with its destination.
#[derive(Clone, Copy, PartialEq)]
pub enum Accumulate<'a> {
    /// Overwrites the destination.
    Replace,
    /// Is added to the destination.
    Add,
    /// Plus this row, in every row of the destination, which is overwritten.
    Bias(&'a [f32]),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "in 10")]
    fn a_window_past_its_slice_is_refused() {
        let _ = Mat::windows(&[0.0; 10], 4, 5, 2);
    }

    #[test]
    #[should_panic(expected = "in 10")]
    fn a_view_past_its_slice_is_refused() {
        let _ = Mat::new(&[0.0; 10], 3, 4, 4);
    }
}
