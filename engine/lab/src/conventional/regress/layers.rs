//! A layer of a regressor, forward and backward, in single precision. Matrix products by [`nn::kernels::gemm`].

use nn::kernels::gemm::{Accumulate, Mat, Method, matmul};
use nn::precision::Arithmetic;
use nn::rng::Rng;
use serde::{Deserialize, Serialize};

/// Files and ranks.
const SIDE: usize = 8;
/// Squares.
const SQUARES: usize = SIDE * SIDE;
/// Taps of a 3 × 3 filter.
const TAPS: usize = 9;

/// Inputs and outputs of a dense product.
pub type Part = (usize, usize);

/// Layer type, without the activation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Grouped dense layer: each group of inputs has its own product; outputs are concatenated.
    Dense(Vec<Part>),
    /// 3 × 3 convolution with zero padding: (input channels, output channels). Channels are the innermost dimension.
    Convolution(Part),
}

impl Shape {
    /// A dense layer of one group.
    #[must_use]
    pub fn dense(inputs: usize, outputs: usize) -> Shape {
        Shape::Dense(vec![(inputs, outputs)])
    }

    /// Inputs per row.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match self {
            Shape::Dense(parts) => parts.iter().map(|part| part.0).sum(),
            Shape::Convolution((inputs, _)) => SQUARES * inputs,
        }
    }

    /// Outputs per row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self {
            Shape::Dense(parts) => parts.iter().map(|part| part.1).sum(),
            Shape::Convolution((_, outputs)) => SQUARES * outputs,
        }
    }

    /// Rows and columns of each weight matrix.
    fn products(&self) -> Vec<Part> {
        match self {
            Shape::Dense(parts) => parts.clone(),
            Shape::Convolution((inputs, outputs)) => vec![(TAPS * inputs, *outputs)],
        }
    }

    /// Number of weights and biases; None if the shape is empty or too large.
    #[must_use]
    pub fn parameters(&self) -> Option<usize> {
        // Guards against overflow: a larger side is no layer of a small network.
        const MAX_SIDE: usize = 1 << 20;
        let products = match self {
            Shape::Dense(parts) => parts.clone(),
            Shape::Convolution((inputs, _)) if *inputs > MAX_SIDE => return None,
            Shape::Convolution(_) => self.products(),
        };
        let sound = |size: &usize| (1..=MAX_SIDE).contains(size);
        let all = products.iter().all(|(inputs, outputs)| sound(inputs) && sound(outputs));
        (all && !products.is_empty())
            .then(|| products.iter().map(|(inputs, outputs)| (inputs + 1) * outputs).sum())
    }
}

/// A layer with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Layer type.
    pub shape: Shape,
    /// Per product: weights `[inputs, outputs]`, row-major, then the bias `[outputs]`.
    pub values: Vec<f32>,
}

/// Gradients of a layer.
pub struct Gradients {
    /// By parameters, in their order.
    pub values: Vec<f32>,
    /// By inputs, `[rows, inputs]`; empty if not requested.
    pub inputs: Vec<f32>,
}

impl Layer {
    /// He initialisation (He et al., 2015), zero bias.
    #[must_use]
    pub fn new(shape: Shape, random: &mut Rng) -> Layer {
        let mut values = Vec::new();
        for (inputs, outputs) in shape.products() {
            let reach = (6.0 / inputs as f32).sqrt();
            let mut uniform = || (random.bits() >> 40) as f32 / (1u64 << 24) as f32 * 2.0 - 1.0;
            values.extend((0..inputs * outputs).map(|_| reach * uniform()));
            values.resize(values.len() + outputs, 0.0);
        }
        Layer { shape, values }
    }

    /// `[rows, inputs]` to `[rows, outputs]`.
    #[must_use]
    pub fn forward(&self, inputs: &[f32], rows: usize) -> Vec<f32> {
        let mut out = vec![0.0; rows * self.shape.outputs()];
        if rows == 0 {
            return out;
        }
        match &self.shape {
            Shape::Dense(_) => self.multiply(inputs, rows, &mut out),
            Shape::Convolution((channels, _)) => {
                self.multiply(&im2col(inputs, *channels), SQUARES * rows, &mut out);
            }
        }
        out
    }

    /// Gradients for output gradients `slopes`, `[rows, outputs]`, at these inputs.
    #[must_use]
    pub fn backward(&self, inputs: &[f32], slopes: &[f32], rows: usize, below: bool) -> Gradients {
        match &self.shape {
            Shape::Dense(_) => self.divide(inputs, slopes, rows, below),
            Shape::Convolution((channels, _)) => {
                let tap_square = im2col(inputs, *channels);
                let mut gradients = self.divide(&tap_square, slopes, SQUARES * rows, below);
                if below {
                    gradients.inputs = col2im(&gradients.inputs, *channels);
                }
                gradients
            }
        }
    }

    /// Applies each product to its part of the rows and adds the bias.
    fn multiply(&self, inputs: &[f32], rows: usize, out: &mut [f32]) {
        let (width, height) = self.strides();
        self.each(|Span { values, from, to, part: (wide, high) }| {
            let (weights, bias) = self.values[values..].split_at(wide * high);
            let a = Mat::new(&inputs[from..], rows, wide, width);
            let b = Mat::new(weights, wide, high, high);
            let bias = Accumulate::Bias(&bias[..high]);
            matmul(Method::widest(Arithmetic::Single), &mut out[to..], height, bias, 1.0, a, b);
        });
    }

    /// Gradients of the products.
    fn divide(&self, inputs: &[f32], slopes: &[f32], rows: usize, below: bool) -> Gradients {
        let (width, height) = self.strides();
        let mut gradients = Gradients {
            values: vec![0.0; self.values.len()],
            inputs: vec![0.0; if below { rows * width } else { 0 }],
        };
        self.each(|Span { values, from, to, part: (wide, high) }| {
            let size = wide * high;
            let slope = Mat::new(&slopes[to..], rows, high, height);
            let (weights, bias) = gradients.values[values..].split_at_mut(size);
            let a = Mat::new(&inputs[from..], rows, wide, width).t();
            matmul(
                Method::widest(Arithmetic::Single),
                weights,
                high,
                Accumulate::Replace,
                1.0,
                a,
                slope,
            );
            for row in slopes.chunks_exact(height) {
                bias.iter_mut().zip(&row[to..to + high]).for_each(|(sum, part)| *sum += part);
            }
            if below {
                let by = Mat::new(&self.values[values..values + size], wide, high, high).t();
                let out = &mut gradients.inputs[from..];
                matmul(
                    Method::widest(Arithmetic::Single),
                    out,
                    width,
                    Accumulate::Replace,
                    1.0,
                    slope,
                    by,
                );
            }
        });
        gradients
    }

    /// Row lengths of inputs and outputs.
    fn strides(&self) -> Part {
        self.shape.products().iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }

    fn each(&self, mut use_it: impl FnMut(Span)) {
        let (mut values, mut from, mut to) = (0, 0, 0);
        for part in self.shape.products() {
            use_it(Span { values, from, to, part });
            values += (part.0 + 1) * part.1;
            from += part.0;
            to += part.1;
        }
    }
}

/// Offsets of a product's parameters, inputs and outputs, and its size.
struct Span {
    values: usize,
    from: usize,
    to: usize,
    part: Part,
}

/// The square at a filter's tap around `square`, if it is on the board.
fn tap_square(square: usize, tap: usize) -> Option<usize> {
    let file = (square % SIDE + tap % 3).checked_sub(1).filter(|file| *file < SIDE)?;
    let rank = (square / SIDE + tap / 3).checked_sub(1).filter(|rank| *rank < SIDE)?;
    Some(SIDE * rank + file)
}

/// im2col: `[boards, 64, channels]` to `[boards, 64, 9, channels]`.
fn im2col(boards: &[f32], channels: usize) -> Vec<f32> {
    let mut out = vec![0.0; TAPS * boards.len()];
    let wide = out.chunks_exact_mut(SQUARES * TAPS * channels);
    for (board, wide) in boards.chunks_exact(SQUARES * channels).zip(wide) {
        for (place, to) in wide.chunks_exact_mut(channels).enumerate() {
            if let Some(from) = tap_square(place / TAPS, place % TAPS) {
                to.copy_from_slice(&board[channels * from..channels * (from + 1)]);
            }
        }
    }
    out
}

/// col2im: sums the taps of each square.
fn col2im(wide: &[f32], channels: usize) -> Vec<f32> {
    let mut out = vec![0.0; wide.len() / TAPS];
    let boards = out.chunks_exact_mut(SQUARES * channels);
    for (board, wide) in boards.zip(wide.chunks_exact(SQUARES * TAPS * channels)) {
        for (place, from) in wide.chunks_exact(channels).enumerate() {
            if let Some(to) = tap_square(place / TAPS, place % TAPS) {
                let to = &mut board[channels * to..channels * (to + 1)];
                to.iter_mut().zip(from).for_each(|(sum, part)| *sum += part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_sees_its_neighbours_and_zeros_beyond_the_edge() {
        // All weights are 1: each square gets the sum of its neighbourhood.
        let shape = Shape::Convolution((1, 1));
        let mut layer = Layer::new(shape, &mut Rng::from_state(1));
        layer.values.fill(1.0);
        layer.values[TAPS] = 0.5;
        let mut board = [0.0; SQUARES];
        (board[0], board[9]) = (1.0, 2.0);
        let out = layer.forward(&board, 1);
        assert_eq!(
            [0, 1, 2, 8, 16, 18, 7, 63].map(|i| out[i]),
            [3.5, 3.5, 2.5, 3.5, 2.5, 2.5, 0.5, 0.5]
        );
    }

    #[test]
    fn groups_do_not_see_each_other() {
        let layer = Layer::new(Shape::Dense(vec![(3, 2), (2, 4)]), &mut Rng::from_state(1));
        assert_eq!((layer.shape.inputs(), layer.shape.outputs(), layer.values.len()), (5, 6, 20));
        let (one, other) = (
            layer.forward(&[1.0, 2.0, 3.0, 4.0, 5.0], 1),
            layer.forward(&[1.0, 2.0, 3.0, 0.0, 9.0], 1),
        );
        assert_eq!(one[..2], other[..2]);
        assert_ne!(one[2..], other[2..]);
    }

    #[test]
    fn shapes_out_of_bounds_have_no_parameters() {
        for shape in [
            Shape::Dense(vec![]),
            Shape::dense(0, 1),
            Shape::dense(1, 0),
            Shape::dense(usize::MAX, 1),
            Shape::Convolution((usize::MAX, 1)),
        ] {
            assert_eq!(shape.parameters(), None, "{shape:?}");
        }
        assert_eq!(Shape::dense(3, 4).parameters(), Some(16));
        assert_eq!(Shape::Convolution((2, 5)).parameters(), Some(95));
    }
}
