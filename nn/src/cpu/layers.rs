//! Layers and their gradients: linear maps, normalisation, ReLU.

use super::activations::{Normalized, size};
use super::profile::{Stage, Stages};
use super::weights::Weights;
#[cfg(target_arch = "x86_64")]
use crate::kernels::amx::epilogues;
use crate::kernels::gemm::{Accumulate, Mat, Operand, matmul, multiply_transposed};
use crate::kernels::isa::Isa;
use crate::kernels::norm;
use crate::kernels::ops::{self, Normed};
use crate::net::params::{Linear, Norm};
use std::ops::Range;

/// Rows per pass in multi-pass paths: they stay in L1 between passes.
const ROWS_PER_PASS: usize = 8;

/// Context of a backward pass.
pub(super) struct Gradient<'a> {
    /// The second of [`Weights::both`].
    pub w: &'a Weights,
    /// dL/d(parameters), laid out as they are.
    pub grads: &'a mut [f32],
}

/// Destination of the gradient of a map's input.
pub(super) struct InputGradient<'a> {
    /// `[rows, inputs]`.
    pub dx: &'a mut [f32],
    /// The sums that the gradient is added to.
    pub into: Accumulate<'a>,
}

/// The map at `places`.
#[cfg(target_arch = "x86_64")]
pub(super) fn map<'a>(w: &'a Weights, places: &Linear) -> epilogues::Map<'a> {
    epilogues::Map { weight: w.packed(&places.weight), bias: &w[places.bias.clone()] }
}

/// `out = x * weight + bias`, `[rows, in] -> [rows, out]`.
pub(super) fn linear(w: &Weights, places: &Linear, x: &[f32], rows: usize, out: &mut Vec<f32>) {
    let (inputs, outputs) = (places.weight.len() / places.bias.len(), places.bias.len());
    size(out, rows * outputs);
    if rows == 0 {
        return;
    }
    let bias = Accumulate::Bias(&w[places.bias.clone()]);
    w.product(out, outputs, bias, Mat::new(x, rows, inputs, inputs), &places.weight);
}

/// [`linear`] of all rows of an operand.
pub(super) fn project(w: &Weights, places: &Linear, x: &Operand, out: &mut Vec<f32>) {
    let outputs = places.bias.len();
    size(out, x.rows() * outputs);
    let bias = Accumulate::Bias(&w[places.bias.clone()]);
    w.product_of_rows(out, outputs, bias, x, 0..x.rows(), &places.weight);
}

/// Squared ReLU of a map of rows `rows` of `x`, into the same rows of `out`; `wide_scratch` is scratch. By AMX it is
/// one stage.
pub(super) fn project_squared(
    w: &Weights,
    places: &Linear,
    x: &Operand,
    rows: Range<usize>,
    out: &mut Operand,
    wide_scratch: &mut Vec<f32>,
    stages: &mut Stages,
) {
    stages.begin(Stage::Up);
    #[cfg(target_arch = "x86_64")]
    if epilogues::squares(map(w, places), x, rows.clone(), out) {
        return;
    }
    let (outputs, first) = (places.bias.len(), rows.start);
    size(wide_scratch, rows.len() * outputs);
    let bias = Accumulate::Bias(&w[places.bias.clone()]);
    w.product_of_rows(wide_scratch, outputs, bias, x, rows, &places.weight);
    stages.begin(Stage::Activation);
    squared_relu(w.isa(), wide_scratch, out, first);
}

/// Adds a map of rows `rows` of `from` to `x`, `[rows, out]`.
pub(super) fn project_onto(
    w: &Weights,
    places: &Linear,
    from: &Operand,
    rows: Range<usize>,
    x: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if epilogues::add(map(w, places), from, rows.clone(), x) {
        return;
    }
    ops::add_bias(w.isa(), &w[places.bias.clone()], x);
    w.product_of_rows(x, places.bias.len(), Accumulate::Add, from, rows, &places.weight);
}

/// Gradient of a map's input, rows `rows`, into the same rows of an operand; `scratch` is scratch.
pub(super) fn input_gradient(
    w: &Weights,
    places: &Linear,
    dout: &Operand,
    rows: Range<usize>,
    to: &mut Operand,
    scratch: &mut Vec<f32>,
) {
    let inputs = to.cols();
    #[cfg(target_arch = "x86_64")]
    if epilogues::plain(w.packed(&places.weight), dout, rows.clone(), to) {
        return;
    }
    let first = rows.start;
    size(scratch, rows.len() * inputs);
    w.product_of_rows(scratch, inputs, Accumulate::Replace, dout, rows, &places.weight);
    to.put(first, scratch);
}

/// Gradient of [`linear`]: of the parameters and of `x`.
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
    ops::add_rows(g.w.isa(), dout, &mut g.grads[places.bias.clone()]);
    let x = Mat::new(x, rows, inputs, inputs).t();
    let dweight = &mut g.grads[places.weight.clone()];
    matmul(g.w.method(), dweight, outputs, Accumulate::Add, 1.0, x, dout_view);
    g.w.product(to.dx, inputs, to.into, dout_view, &places.weight);
}

/// Gradient of [`project`] except the bias, which [`take_gradient`] or [`put_gradient`] handled.
pub(super) fn project_backward(
    g: &mut Gradient<'_>,
    places: &Linear,
    x: &Operand,
    dout: &Operand,
    to: InputGradient<'_>,
) {
    multiply_transposed(g.w.isa(), &mut g.grads[places.weight.clone()], x, dout);
    g.w.product_of_rows(to.dx, x.cols(), to.into, dout, 0..dout.rows(), &places.weight);
}

/// Converts `dout`, `[rows, outputs]`, to an operand and adds its column sums to the bias's gradient.
pub(super) fn take_gradient(g: &mut Gradient<'_>, places: &Linear, dout: &[f32], to: &mut Operand) {
    let outputs = places.bias.len();
    to.shape(g.w.arithmetic(), dout.len() / outputs, outputs);
    put_gradient(g, places, dout, to, 0);
}

/// [`take_gradient`] for rows from `first` on of an operand that has its shape already.
pub(super) fn put_gradient(
    g: &mut Gradient<'_>,
    places: &Linear,
    dout: &[f32],
    to: &mut Operand,
    first: usize,
) {
    let sums = &mut g.grads[places.bias.clone()];
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = whole_rows(to, first, dout.len()) {
        return norm::bf16::sum(dout, lanes, sums);
    }
    for (i, dout) in dout.chunks(ROWS_PER_PASS * sums.len()).enumerate() {
        ops::add_rows(g.w.isa(), dout, sums);
        to.put(first + i * ROWS_PER_PASS, dout);
    }
}

/// Gradient through the map `down` and the squared ReLU before it: rows `rows` of `dout` become the same rows
/// of `to`, whose column sums are added to the bias gradient of `up`, the map before; `squared` is the ReLU's
/// output. By AMX it is one stage.
pub(super) fn slopes(
    g: &mut Gradient<'_>,
    (up, down): (&Linear, &Linear),
    (dout, squared): (&Operand, &Operand),
    rows: Range<usize>,
    to: &mut Operand,
    [dwide, scratch]: &mut [Vec<f32>; 2],
    stages: &mut Stages,
) {
    stages.begin(Stage::Down);
    #[cfg(target_arch = "x86_64")]
    {
        let (sums, given) = (&mut g.grads[up.bias.clone()], (dout, squared));
        if epilogues::slopes(g.w.packed(&down.weight), given, rows.clone(), to, sums) {
            return;
        }
    }
    let (ffn, first) = (to.cols(), rows.start);
    size(dwide, rows.len() * ffn);
    g.w.product_of_rows(dwide, ffn, Accumulate::Replace, dout, rows.clone(), &down.weight);
    stages.begin(Stage::Activation);
    #[cfg(target_arch = "x86_64")]
    if let (Some(lanes), Some(squares)) = (whole_rows(to, first, dwide.len()), squared.lanes(rows))
    {
        return norm::bf16::sum_slopes(dwide, squares, lanes, &mut g.grads[up.bias.clone()]);
    }
    size(scratch, dwide.len());
    squared.get(first, scratch);
    norm::square_positive_backward(g.w.isa(), dwide, scratch);
    put_gradient(g, up, dwide, to, first);
}

/// The `len` bf16 of rows from `first` on, if [`norm::bf16`] can write them.
#[cfg(target_arch = "x86_64")]
fn whole_rows(to: &mut Operand, first: usize, len: usize) -> Option<&mut [u32]> {
    let columns = to.cols();
    norm::bf16::supports(columns).then(|| to.lanes_mut(first..first + len / columns))?
}

/// Normalises rows of `x`, whole positions; `scratch` is scratch.
pub(super) fn norm(
    w: &Weights,
    places: &Norm,
    x: &[f32],
    Normalized { unit, scale, out }: &mut Normalized,
    scratch: &mut Vec<f32>,
) {
    let (gamma, beta) = (&w[places.gamma.clone()], &w[places.beta.clone()]);
    let width = gamma.len();
    size(scale, x.len() / width);
    unit.shape(w.arithmetic(), x.len() / width, width);
    out.shape(w.arithmetic(), x.len() / width, width);
    #[cfg(target_arch = "x86_64")]
    if let (Some(unit), Some(out)) = (whole_rows(unit, 0, x.len()), whole_rows(out, 0, x.len())) {
        return norm::bf16::norm(x, gamma, beta, norm::bf16::KeptRows { unit, scale }, out);
    }
    size(scratch, 2 * ROWS_PER_PASS * width);
    let (scratch, units) = scratch.split_at_mut(ROWS_PER_PASS * width);
    let rows = x.chunks(ROWS_PER_PASS * width).zip(scale.chunks_mut(ROWS_PER_PASS));
    for (i, (x, scale)) in rows.enumerate() {
        let (scratch, units) = (&mut scratch[..x.len()], &mut units[..x.len()]);
        norm::layer_norm(w.isa(), x, gamma, beta, units, scale, scratch);
        unit.put(i * ROWS_PER_PASS, units);
        out.put(i * ROWS_PER_PASS, scratch);
    }
}

/// Gradient of [`norm`]: adds to `dx` and to the parameters' gradients; `scratch` is scratch.
pub(super) fn norm_backward(
    g: &mut Gradient<'_>,
    places: &Norm,
    (unit, scale): (&Operand, &[f32]),
    dout: &[f32],
    dx: &mut [f32],
    scratch: &mut Vec<f32>,
) {
    let gamma = &g.w[places.gamma.clone()];
    let width = gamma.len();
    size(scratch, (2 + ROWS_PER_PASS) * width);
    let (sums, scratch) = scratch.split_at_mut(2 * width);
    sums.fill(0.0);
    let (dgamma, dbeta) = sums.split_at_mut(width);
    if !norm_backward_fused(gamma, (unit, scale), dout, dx, [dgamma, dbeta]) {
        let rows = dout.chunks(ROWS_PER_PASS * width).zip(dx.chunks_mut(ROWS_PER_PASS * width));
        for (i, ((dout, dx), scale)) in rows.zip(scale.chunks(ROWS_PER_PASS)).enumerate() {
            let unit_rows = &mut scratch[..dout.len()];
            unit.get(i * ROWS_PER_PASS, unit_rows);
            let normed = Normed { gamma, unit: unit_rows, scale };
            norm::layer_norm_backward(g.w.isa(), dout, normed, dx, dgamma, dbeta);
        }
    }
    ops::add_rows(g.w.isa(), dgamma, &mut g.grads[places.gamma.clone()]);
    ops::add_rows(g.w.isa(), dbeta, &mut g.grads[places.beta.clone()]);
}

/// [`norm_backward`] by [`norm::bf16`], if it applies; adds the parameters' gradients to `dgamma` and `dbeta`.
fn norm_backward_fused(
    gamma: &[f32],
    (unit, scale): (&Operand, &[f32]),
    dout: &[f32],
    dx: &mut [f32],
    [dgamma, dbeta]: [&mut [f32]; 2],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(unit) = unit.lanes(0..unit.rows()).filter(|_| norm::bf16::supports(gamma.len())) {
        let normed = Normed { gamma, unit, scale };
        norm::bf16::norm_backward(dout, normed, dx, dgamma, dbeta);
        return true;
    }
    let _ = (gamma, unit, scale, dout, dx, dgamma, dbeta);
    false
}

/// Squared ReLU of rows of `x`, which is overwritten, into rows of an operand from row `first` on.
fn squared_relu(isa: Isa, x: &mut [f32], out: &mut Operand, first: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = whole_rows(out, first, x.len()) {
        return norm::bf16::square(x, lanes);
    }
    for (i, x) in x.chunks_mut(ROWS_PER_PASS * out.cols()).enumerate() {
        ops::square_positive(isa, x);
        out.put(first + i * ROWS_PER_PASS, x);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::gemm::Method;
    use crate::net::NetConfig;
    use crate::net::layout::Layout;
    use crate::precision::Arithmetic;

    /// Rows of a position.
    const ROWS: usize = 64;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut random = crate::rng::Rng::new(seed);
        (0..count).map(|_| random.unit() as f32 * 2.0 - 1.0).collect()
    }

    /// A network whose maps fill blocks, or not: forward and transposed.
    fn maps(width: usize, ffn: usize) -> (Layout, [Weights; 2]) {
        let config = NetConfig { width, ffn, heads: 2, layers: 1, ..NetConfig::default() };
        let layout = Layout::new(&config);
        let values: Vec<f32> = numbers(layout.len, 9).iter().map(|x| 0.25 * x).collect();
        let weights = Weights::both(Method::widest(Arithmetic::Bf16), &layout, &values);
        (layout, weights)
    }

    /// An operand, and the numbers as it rounds them.
    fn operand(x: &[f32], cols: usize) -> (Operand, Vec<f32>) {
        let (mut operand, mut held) = (Operand::default(), vec![0.0; x.len()]);
        operand.shape(Arithmetic::Bf16, x.len() / cols, cols);
        operand.put(0, x);
        operand.get(0, &mut held);
        (operand, held)
    }

    fn empty(cols: usize) -> Operand {
        operand(&vec![f32::NAN; 2 * ROWS * cols], cols).0
    }

    fn all(operand: &Operand) -> Vec<f32> {
        let mut out = vec![0.0; operand.rows() * operand.cols()];
        operand.get(0, &mut out);
        out
    }

    /// Within bf16's rounding error.
    fn near(got: &[f32], want: &[f32]) {
        assert_eq!(got.len(), want.len());
        let most = want.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        for (got, want) in got.iter().zip(want) {
            let error = 0.005 * want.abs() + 0.0005 * most;
            assert!((got - want).abs() <= error, "{got} for {want}");
        }
    }

    /// A product of rows without epilogue.
    fn product(w: &Weights, places: &Linear, x: &Operand, cols: usize) -> Vec<f32> {
        let mut out = vec![0.0; ROWS * cols];
        let rows = ROWS..2 * ROWS;
        w.product_of_rows(&mut out, cols, Accumulate::Replace, x, rows, &places.weight);
        out
    }

    /// The second of two positions, so that a wrong row shows.
    #[test]
    fn fused_maps_equal_maps_in_several_passes() {
        for (width, ffn) in [(64, 96), (48, 96), (20, 24)] {
            let (layout, [w, transposed]) = maps(width, ffn);
            let (block, rows) = (&layout.blocks[0], ROWS..2 * ROWS);
            let (x, _) = operand(&numbers(2 * ROWS * width, 1), width);
            let mut scratch = [Vec::new(), Vec::new()];

            let mut squared = empty(ffn);
            let stages = &mut Stages::default();
            let (wide_scratch, up) = (&mut scratch[0], rows.clone());
            project_squared(&w, &block.up, &x, up, &mut squared, wide_scratch, stages);
            let mut want = product(&w, &block.up, &x, ffn);
            ops::add_bias(Isa::found(), &w[block.up.bias.clone()], &mut want);
            ops::square_positive(Isa::found(), &mut want);
            near(&all(&squared)[ROWS * ffn..], &want);

            let start = numbers(ROWS * width, 2);
            let mut sum = start.clone();
            project_onto(&w, &block.down, &squared, rows.clone(), &mut sum);
            let mut want = product(&w, &block.down, &squared, width);
            ops::add_bias(Isa::found(), &w[block.down.bias.clone()], &mut want);
            ops::add_scaled(Isa::found(), &mut want, 1.0, &start);
            near(&sum, &want);

            let (dout, _) = operand(&numbers(2 * ROWS * width, 3), width);
            let mut dx = empty(width);
            let down = rows.clone();
            input_gradient(&transposed, &block.out, &dout, down, &mut dx, &mut scratch[0]);
            near(&all(&dx)[ROWS * width..], &product(&transposed, &block.out, &dout, width));

            let (squared, squares) = operand(&squares(2 * ROWS * ffn), ffn);
            let (mut grads, mut dwide) = (vec![0.5; layout.len], empty(ffn));
            let g = &mut Gradient { w: &transposed, grads: &mut grads };
            let (maps, given) = ((&block.up, &block.down), (&dout, &squared));
            slopes(g, maps, given, rows, &mut dwide, &mut scratch, stages);
            let mut want = product(&transposed, &block.down, &dout, ffn);
            ops::square_positive_backward(Isa::found(), &mut want, &squares[ROWS * ffn..]);
            near(&all(&dwide)[ROWS * ffn..], &want);
            let mut sums = vec![0.5; ffn];
            ops::add_rows(Isa::found(), &want, &mut sums);
            near(&grads[block.up.bias.clone()], &sums);
        }
    }

    /// Half of them zero.
    fn squares(count: usize) -> Vec<f32> {
        numbers(count, 4).into_iter().map(|x| x.max(0.0) * x).collect()
    }

    #[test]
    fn gradients_become_operands_and_sums() {
        for width in [64, 20] {
            let (layout, [_, transposed]) = maps(width, 32);
            let places = &layout.blocks[0].out;
            let dout = numbers(2 * ROWS * width, 5);
            let (mut grads, mut to) = (vec![0.5; layout.len], Operand::default());
            let g = &mut Gradient { w: &transposed, grads: &mut grads };
            take_gradient(g, places, &dout, &mut to);
            near(&all(&to), &dout);
            let mut sums = vec![0.5; width];
            ops::add_rows(Isa::found(), &dout, &mut sums);
            near(&grads[places.bias.clone()], &sums);
        }
    }

    #[test]
    fn normalisation_and_its_gradient_are_those_of_plain_loops() {
        for width in [64, 20] {
            let (layout, [w, _]) = maps(width, 32);
            let places = &layout.norm;
            let (gamma, beta) = (&w[places.gamma.clone()], &w[places.beta.clone()]);
            let (x, rows) = (numbers(ROWS * width, 6), ROWS);
            let mut normed = Normalized::default();
            norm(&w, places, &x, &mut normed, &mut Vec::new());
            let Normalized { unit, scale, out } = normed;
            let (mut units, mut scales, mut want) =
                (vec![0.0; x.len()], vec![0.0; rows], vec![0.0; x.len()]);
            ops::layer_norm(Isa::found(), &x, gamma, beta, &mut units, &mut scales, &mut want);
            near(&all(&unit), &units);
            near(&scale, &scales);
            near(&all(&out), &want);

            let (dout, start) = (numbers(x.len(), 7), numbers(x.len(), 8));
            let (mut grads, mut dx) = (vec![0.5; layout.len], start.clone());
            let g = &mut Gradient { w: &w, grads: &mut grads };
            norm_backward(g, places, (&unit, &scale), &dout, &mut dx, &mut Vec::new());
            let (mut want, mut dgamma, mut dbeta) = (start, vec![0.5; width], vec![0.5; width]);
            let units = all(&unit);
            let normed = Normed { gamma, unit: &units, scale: &scale };
            ops::layer_norm_backward(
                Isa::found(),
                &dout,
                normed,
                &mut want,
                &mut dgamma,
                &mut dbeta,
            );
            near(&dx, &want);
            near(&grads[places.gamma.clone()], &dgamma);
            near(&grads[places.beta.clone()], &dbeta);
        }
    }
}
