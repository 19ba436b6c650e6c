//! The layers that a network is made of, and their gradients: linear maps, normalisation, ReLU.

use super::activations::size;
use super::matmul::{Into, Mat, Operand, matmul, multiply_transposed};
use super::weights::Weights;
use super::{ops, rows};
use crate::net::params::{Linear, Norm};

/// Rows that go together from one pass over them to the next: they stay in the first-level cache.
const FEW: usize = 8;

/// What a gradient goes back through, and where it is summed up.
pub(super) struct Gradient<'a> {
    /// As [`Weights::transposed`] packs them.
    pub w: &'a Weights,
    /// dL/d(parameters), laid out as they are.
    pub grads: &'a mut [f32],
}

/// Where the gradient of a map's input goes.
pub(super) struct InputGradient<'a> {
    /// `[rows, inputs]`.
    pub dx: &'a mut [f32],
    /// What it is added to.
    pub into: Into<'a>,
}

/// `out = x * weight + bias`, `[rows, in] -> [rows, out]`.
pub(super) fn linear(w: &Weights, places: &Linear, x: &[f32], rows: usize, out: &mut Vec<f32>) {
    let (inputs, outputs) = (places.weight.len() / places.bias.len(), places.bias.len());
    size(out, rows * outputs);
    if rows == 0 {
        return;
    }
    let bias = Into::Bias(&w[places.bias.clone()]);
    w.product(out, outputs, bias, Mat::new(x, rows, inputs, inputs), &places.weight);
}

/// The same for an operand, all rows of it.
pub(super) fn project(w: &Weights, places: &Linear, x: &Operand, out: &mut Vec<f32>) {
    let outputs = places.bias.len();
    size(out, x.rows() * outputs);
    let bias = Into::Bias(&w[places.bias.clone()]);
    w.product_of_rows(out, outputs, bias, x, 0..x.rows(), &places.weight);
}

/// Gradient of [`linear`], down to `x`.
pub(super) fn linear_backward(
    g: &mut Gradient<'_>,
    places: &Linear,
    x: &[f32],
    dout: &[f32],
    to: InputGradient<'_>,
) {
    let outputs = places.bias.len();
    let (inputs, rows) = (places.weight.len() / outputs, dout.len() / outputs);
    if rows == 0 {
        return;
    }
    let dout_view = Mat::new(dout, rows, outputs, outputs);
    ops::add_rows(dout, &mut g.grads[places.bias.clone()]);
    let x = Mat::new(x, rows, inputs, inputs).t();
    let dweight = &mut g.grads[places.weight.clone()];
    matmul(g.w.arithmetic(), dweight, outputs, Into::Add, 1.0, x, dout_view);
    g.w.product(to.dx, inputs, to.into, dout_view, &places.weight);
}

/// Gradient of [`project`], whose bias has been dealt with by whoever made `dout`.
pub(super) fn project_backward(
    g: &mut Gradient<'_>,
    places: &Linear,
    x: &Operand,
    dout: &Operand,
    to: InputGradient<'_>,
) {
    multiply_transposed(&mut g.grads[places.weight.clone()], x, dout);
    g.w.product_of_rows(to.dx, x.cols(), to.into, dout, 0..dout.rows(), &places.weight);
}

/// Makes `dout`, `[rows, outputs]`, an operand, and adds its rows to the bias's gradient.
pub(super) fn take_gradient(g: &mut Gradient<'_>, places: &Linear, dout: &[f32], to: &mut Operand) {
    let outputs = places.bias.len();
    to.shape(g.w.arithmetic(), dout.len() / outputs, outputs);
    put_gradient(g.grads, places, dout, to, 0);
}

/// The same for rows from `first` on of an operand that has its shape.
pub(super) fn put_gradient(
    grads: &mut [f32],
    places: &Linear,
    dout: &[f32],
    to: &mut Operand,
    first: usize,
) {
    for (i, dout) in dout.chunks(FEW * places.bias.len()).enumerate() {
        ops::add_rows(dout, &mut grads[places.bias.clone()]);
        to.put(first + i * FEW, dout);
    }
}

/// What the gradient of a normalisation needs.
pub(super) struct Unit<'a> {
    pub unit: &'a mut Vec<f32>,
    pub scale: &'a mut Vec<f32>,
}

/// Normalises rows of `x` into an operand; `few` is scratch.
pub(super) fn norm(
    w: &Weights,
    places: &Norm,
    x: &[f32],
    kept: Unit<'_>,
    out: &mut Operand,
    few: &mut Vec<f32>,
) {
    let (gamma, beta) = (&w[places.gamma.clone()], &w[places.beta.clone()]);
    let width = gamma.len();
    size(kept.unit, x.len());
    size(kept.scale, x.len() / width);
    size(few, FEW * width);
    out.shape(w.arithmetic(), x.len() / width, width);
    let units = kept.unit.chunks_mut(FEW * width).zip(kept.scale.chunks_mut(FEW));
    for (i, (x, (unit, scale))) in x.chunks(FEW * width).zip(units).enumerate() {
        let few = &mut few[..x.len()];
        rows::layer_norm(x, gamma, beta, unit, scale, few);
        out.put(i * FEW, few);
    }
}

/// Squared ReLU of rows of `x`, in place and into rows of an operand from row `first` on.
pub(super) fn squared_relu(x: &mut [f32], out: &mut Operand, first: usize) {
    for (i, x) in x.chunks_mut(FEW * out.cols()).enumerate() {
        ops::square_positive(x);
        out.put(first + i * FEW, x);
    }
}

pub(super) fn relu(x: &mut [f32]) {
    for x in x {
        *x = x.max(0.0);
    }
}

/// Zeroes `grad` where the ReLU's output is zero.
pub(super) fn relu_backward(grad: &mut [f32], out: &[f32]) {
    for (grad, out) in grad.iter_mut().zip(out) {
        *grad = if *out > 0.0 { *grad } else { 0.0 };
    }
}
