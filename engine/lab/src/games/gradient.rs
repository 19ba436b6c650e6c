//! Losses and gradient of the network by hand, on the matrix kernels of `nn`: 2.7 times as fast as burn's autodiff (48 channels, 5 blocks,
//! one thread each, AVX2, the machine busy). `twin`, the same in burn, is the reference of the tests.
//!
//! Boards lie behind one another as in [`Batch`], so that a convolution is one product per row of taps, forwards and backwards.

use super::losses::{LOSSES, WEIGHTS};
use super::sample::{Batch, Padding};
use games::game::Grid;
use games::net::{CELLS, ENDS, Layout, MOVE_COLUMNS, PLANES, RESULTS, STATE_COLUMNS};
use nn::Arithmetic;
use nn::kernels::Isa;
use nn::kernels::gemm::{Accumulate, Mat, Method, matmul};
use nn::kernels::ops::{self, Normed};
use nn::net::config::BUCKETS;
use nn::net::params::{Linear, Norm};
use std::ops::Range;

/// Parameters and shapes of a pass.
pub(super) struct Gradient<'a> {
    pub layout: &'a Layout,
    pub values: &'a [f32],
    pub grid: &'a Grid,
}

/// Kept by a normalisation for its gradient: normalised rows, and 1 / standard deviation of each.
struct NormActivations {
    rows: Vec<f32>,
    scale: Vec<f32>,
}

/// Kept by a block for its gradient.
struct BlockActivations {
    unit: NormActivations,
    /// Inputs of both convolutions, with margins.
    inputs: [Vec<f32>; 2],
    /// Mean and maximum of the first convolution's output, and the tokens of the maxima.
    pool: Option<Pool>,
}

/// Mean and maximum over the cells, `[n, 2 * c]`, and the token of each maximum, `[n, c]`.
struct Pool {
    values: Vec<f32>,
    tokens: Vec<usize>,
}

impl Gradient<'_> {
    fn padding(&self) -> Padding {
        Padding::of(self.grid)
    }

    fn channels(&self) -> usize {
        self.layout.norm.gamma.len()
    }

    /// The tokens of the cells of board `i`.
    fn tokens(&self, i: usize) -> impl Iterator<Item = usize> {
        let (padding, columns) = (self.padding(), self.grid.columns);
        let rows = 0..self.grid.rows;
        rows.flat_map(move |row| {
            let first = i * padding.tokens() + row * padding.width;
            first..first + columns
        })
    }

    /// For each run of taps: the first number of `x`, `[margin + tokens + margin, inputs]`, that it reads, its weight, and its taps.
    fn runs(
        &self,
        weight: &Range<usize>,
        inputs: usize,
    ) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
        let padding = self.padding();
        let len = weight.len() / self.grid.taps.len();
        let mut start = weight.start;
        self.grid.runs().into_iter().map(move |(row, column, taps)| {
            let step = row * padding.width.cast_signed() + column;
            let first = padding.margin().strict_add_signed(step) * inputs;
            let range = start..start + taps * len;
            start = range.end;
            (first, range, taps)
        })
    }

    fn convolve(&self, map: &Linear, x: &[f32], inputs: usize) -> Vec<f32> {
        let outputs = map.bias.len();
        let rows = x.len() / inputs - 2 * self.padding().margin();
        let mut out = vec![0.0; rows * outputs];
        let mut into = Accumulate::Bias(&self.values[map.bias.clone()]);
        for (first, weight, taps) in self.runs(&map.weight, inputs) {
            let weight = Mat::new(&self.values[weight], taps * inputs, outputs, outputs);
            let x = Mat::windows(&x[first..], rows, taps * inputs, inputs);
            matmul(Method::widest(Arithmetic::Single), &mut out, outputs, into, 1.0, x, weight);
            into = Accumulate::Add;
        }
        out
    }

    /// Gradient of [`Gradient::convolve`] by its weights and bias; `dout` is 0 at empty tokens.
    fn convolve_backward(
        &self,
        map: &Linear,
        x: &[f32],
        inputs: usize,
        dout: &[f32],
        grads: &mut [f32],
    ) {
        let outputs = map.bias.len();
        let rows = dout.len() / outputs;
        ops::add_rows(Isa::found(), dout, &mut grads[map.bias.clone()]);
        let dout = Mat::new(dout, rows, outputs, outputs);
        for (first, weight, taps) in self.runs(&map.weight, inputs) {
            let x = Mat::windows(&x[first..], rows, taps * inputs, inputs).t();
            let to = &mut grads[weight];
            matmul(Method::widest(Arithmetic::Single), to, outputs, Accumulate::Add, 1.0, x, dout);
        }
    }

    /// Gradient of [`Gradient::convolve`] by its input, without margins: a convolution of `dout` with each tap at the opposite place.
    fn convolve_input_backward(&self, map: &Linear, dout: &[f32]) -> Vec<f32> {
        let (outputs, padding) = (map.bias.len(), self.padding());
        let inputs = map.weight.len() / outputs / self.grid.taps.len();
        let (rows, margin) = (dout.len() / outputs, padding.margin() * outputs);
        let mut padded = vec![0.0; dout.len() + 2 * margin];
        padded[margin..][..dout.len()].copy_from_slice(dout);
        let mut dx = vec![0.0; rows * inputs];
        let mut into = Accumulate::Replace;
        let mut start = map.weight.start;
        for (row, column, taps) in self.grid.runs() {
            let mut flipped = Vec::with_capacity(taps * inputs * outputs);
            for tap in (0..taps).rev() {
                let weight = &self.values[start + tap * inputs * outputs..][..inputs * outputs];
                let column = |output: usize| weight[output..].iter().step_by(outputs);
                flipped.extend((0..outputs).flat_map(column));
            }
            start += taps * inputs * outputs;
            let step = -row * padding.width.cast_signed() - column - (taps.cast_signed() - 1);
            let first = padding.margin().strict_add_signed(step) * outputs;
            let x = Mat::windows(&padded[first..], rows, taps * outputs, outputs);
            let weight = Mat::new(&flipped, taps * outputs, inputs, inputs);
            matmul(Method::widest(Arithmetic::Single), &mut dx, inputs, into, 1.0, x, weight);
            into = Accumulate::Add;
        }
        dx
    }

    fn linear(&self, map: &Linear, x: &[f32]) -> Vec<f32> {
        let outputs = map.bias.len();
        let inputs = map.weight.len() / outputs;
        let mut out = vec![0.0; x.len() / inputs * outputs];
        let weight = Mat::new(&self.values[map.weight.clone()], inputs, outputs, outputs);
        let bias = Accumulate::Bias(&self.values[map.bias.clone()]);
        let x = Mat::new(x, x.len() / inputs, inputs, inputs);
        matmul(Method::widest(Arithmetic::Single), &mut out, outputs, bias, 1.0, x, weight);
        out
    }

    /// Gradient of [`Gradient::linear`]; that of `x` is added to `dx`.
    fn linear_backward(
        &self,
        map: &Linear,
        x: &[f32],
        dout: &[f32],
        dx: &mut [f32],
        grads: &mut [f32],
    ) {
        ops::add_rows(Isa::found(), dout, &mut grads[map.bias.clone()]);
        self.weight_backward(&map.weight, map.bias.len(), x, dout, dx, grads);
    }

    /// The same without a bias.
    fn weight_backward(
        &self,
        weight: &Range<usize>,
        outputs: usize,
        x: &[f32],
        dout: &[f32],
        dx: &mut [f32],
        grads: &mut [f32],
    ) {
        let (rows, inputs) = (dout.len() / outputs, weight.len() / outputs);
        let dout = Mat::new(dout, rows, outputs, outputs);
        let x = Mat::new(x, rows, inputs, inputs).t();
        let to = &mut grads[weight.clone()];
        matmul(Method::widest(Arithmetic::Single), to, outputs, Accumulate::Add, 1.0, x, dout);
        let weight = Mat::new(&self.values[weight.clone()], inputs, outputs, outputs).t();
        matmul(Method::widest(Arithmetic::Single), dx, inputs, Accumulate::Add, 1.0, dout, weight);
    }

    /// `relu(norm(x))` at the cells, 0 elsewhere, with margins of `margin` tokens.
    fn normalise(
        &self,
        norm: &Norm,
        n: usize,
        x: &[f32],
        margin: usize,
    ) -> (NormActivations, Vec<f32>) {
        let c = self.channels();
        let mut unit = NormActivations { rows: vec![0.0; x.len()], scale: vec![0.0; x.len() / c] };
        let mut all = vec![0.0; x.len()];
        let (gamma, beta) = (&self.values[norm.gamma.clone()], &self.values[norm.beta.clone()]);
        ops::layer_norm(Isa::found(), x, gamma, beta, &mut unit.rows, &mut unit.scale, &mut all);
        let out = self.rectified(n, &all, margin);
        (unit, out)
    }

    /// `relu(x)` at the cells, 0 elsewhere, with margins.
    fn rectified(&self, n: usize, x: &[f32], margin: usize) -> Vec<f32> {
        let c = self.channels();
        let mut out = vec![0.0; x.len() + 2 * margin * c];
        for token in (0..n).flat_map(|i| self.tokens(i)) {
            let out = &mut out[(margin + token) * c..][..c];
            out.iter_mut().zip(&x[token * c..]).for_each(|(out, x)| *out = x.max(0.0));
        }
        out
    }

    /// Gradient of [`Gradient::normalise`] by `dout`, without margins; adds to `dx`.
    fn normalise_backward(
        &self,
        norm: &Norm,
        unit: &NormActivations,
        (out, dout): (&[f32], &mut [f32]),
        dx: &mut [f32],
        grads: &mut [f32],
    ) {
        relu_backward(out, dout);
        let c = self.channels();
        let gamma = &self.values[norm.gamma.clone()];
        let (mut dgamma, mut dbeta) = (vec![0.0; c], vec![0.0; c]);
        let normed = Normed { gamma, unit: &unit.rows, scale: &unit.scale };
        ops::layer_norm_backward(Isa::found(), dout, normed, dx, &mut dgamma, &mut dbeta);
        ops::add_scaled(Isa::found(), &mut grads[norm.gamma.clone()], 1.0, &dgamma);
        ops::add_scaled(Isa::found(), &mut grads[norm.beta.clone()], 1.0, &dbeta);
    }

    fn pool(&self, n: usize, x: &[f32]) -> Pool {
        let c = self.channels();
        let mut pool = Pool { values: vec![0.0; 2 * n * c], tokens: vec![0; n * c] };
        for (i, values) in pool.values.chunks_mut(2 * c).enumerate() {
            let (mean, most) = values.split_at_mut(c);
            let tokens = &mut pool.tokens[i * c..][..c];
            most.fill(f32::NEG_INFINITY);
            for token in self.tokens(i) {
                let row = &x[token * c..][..c];
                for (at, x) in row.iter().enumerate() {
                    mean[at] += x;
                    if *x > most[at] {
                        (most[at], tokens[at]) = (*x, token);
                    }
                }
            }
            mean.iter_mut().for_each(|mean| *mean /= self.grid.cells() as f32);
        }
        pool
    }

    /// Adds the gradient of [`Gradient::pool`] to `dx`.
    fn pool_backward(&self, pool: &Pool, dpool: &[f32], dx: &mut [f32]) {
        let c = self.channels();
        for (i, dpool) in dpool.chunks(2 * c).enumerate() {
            let (dmean, dmost) = dpool.split_at(c);
            for token in self.tokens(i) {
                ops::add_scaled(
                    Isa::found(),
                    &mut dx[token * c..][..c],
                    1.0 / self.grid.cells() as f32,
                    dmean,
                );
            }
            for (at, token) in pool.tokens[i * c..][..c].iter().enumerate() {
                dx[token * c + at] += dmost[at];
            }
        }
    }

    /// Adds the gradient of the weighted losses, divided by `samples`, to `grads`; returns the losses' sums.
    pub fn add(&self, batch: &Batch, samples: usize, grads: &mut [f32]) -> [f64; LOSSES.len()] {
        let (n, c, margin, places) =
            (batch.n, self.channels(), self.padding().margin(), self.layout);
        let inner = |x: &[f32]| margin * c..x.len() - margin * c;
        let mut x = self.convolve(&places.stem, &batch.planes, PLANES);
        if let Some(team) = &places.team {
            for (player, x) in batch.players.iter().zip(x.chunks_mut(self.padding().tokens() * c)) {
                let row = &self.values[team.embedding.clone()][player * c..][..c];
                ops::add_bias(Isa::found(), row, x);
            }
        }
        let mut kept = Vec::with_capacity(places.blocks.len());
        for block in &places.blocks {
            let (unit, first) = self.normalise(&block.norm, n, &x, margin);
            let mut h = self.convolve(&block.first, &first, c);
            let pool = block.pool.as_ref().map(|map| {
                let pool = self.pool(n, &h);
                let board = self.linear(map, &pool.values);
                for (h, board) in h.chunks_mut(self.padding().tokens() * c).zip(board.chunks(c)) {
                    ops::add_bias(Isa::found(), board, h);
                }
                pool
            });
            let second = self.rectified(n, &h, margin);
            ops::add_scaled(Isa::found(), &mut x, 1.0, &self.convolve(&block.second, &second, c));
            kept.push(BlockActivations { unit, inputs: [first, second], pool });
        }
        let (unit, mut tokens) = self.normalise(&places.norm, n, &x, 0);
        let (losses, mut dtokens) = self.heads(batch, samples, &tokens, grads);
        let mut dx = vec![0.0; x.len()];
        self.normalise_backward(&places.norm, &unit, (&tokens, &mut dtokens), &mut dx, grads);
        tokens.clear();
        for (block, kept) in places.blocks.iter().zip(kept).rev() {
            let BlockActivations { unit, inputs: [first, second], pool } = kept;
            self.convolve_backward(&block.second, &second, c, &dx, grads);
            let mut dh = self.convolve_input_backward(&block.second, &dx);
            relu_backward(&second[inner(&second)], &mut dh);
            if let (Some(map), Some(pool)) = (&block.pool, pool) {
                let mut dboard = vec![0.0; n * c];
                for (dboard, dh) in dboard.chunks_mut(c).zip(dh.chunks(self.padding().tokens() * c))
                {
                    ops::add_rows(Isa::found(), dh, dboard);
                }
                let mut dpool = vec![0.0; pool.values.len()];
                self.linear_backward(map, &pool.values, &dboard, &mut dpool, grads);
                self.pool_backward(&pool, &dpool, &mut dh);
            }
            self.convolve_backward(&block.first, &first, c, &dh, grads);
            let mut dfirst = self.convolve_input_backward(&block.first, &dh);
            let rectified = (&first[inner(&first)], &mut dfirst[..]);
            self.normalise_backward(&block.norm, &unit, rectified, &mut dx, grads);
        }
        self.convolve_backward(&places.stem, &batch.planes, PLANES, &dx, grads);
        if let Some(team) = &places.team {
            for (player, dx) in batch.players.iter().zip(dx.chunks(self.padding().tokens() * c)) {
                let row = &mut grads[team.embedding.clone()][player * c..][..c];
                ops::add_rows(Isa::found(), dx, row);
            }
        }
        losses
    }

    /// Losses, and their gradient by `x`, the tokens behind the last block.
    fn heads(
        &self,
        batch: &Batch,
        samples: usize,
        x: &[f32],
        grads: &mut [f32],
    ) -> ([f64; LOSSES.len()], Vec<f32>) {
        let (n, c, places) = (batch.n, self.channels(), self.layout);
        let (a, cells) = (self.grid.moves.len(), self.grid.cells());
        let weights = WEIGHTS.map(|weight| weight / samples as f32);
        let mut losses = [0.0; LOSSES.len()];
        let mut dx = vec![0.0; x.len()];
        let board = self.pool(n, x);
        let mut dboard = vec![0.0; board.values.len()];

        let mut state = self.linear(&places.state, &board.values);
        relu(&mut state);
        let mut logits = self.linear(&places.state_out, &state);
        for (i, logits) in logits.chunks_mut(STATE_COLUMNS).enumerate() {
            let (value, rest) = logits.split_at_mut(BUCKETS);
            let (result, end) = rest.split_at_mut(RESULTS);
            losses[2] += entropy(value, &batch.value[i * BUCKETS..][..BUCKETS], weights[2]);
            losses[3] += entropy(result, &batch.result[i * RESULTS..][..RESULTS], weights[3]);
            losses[6] += entropy(end, &batch.end[i * ENDS..][..ENDS], weights[6]);
        }
        let mut dstate = vec![0.0; state.len()];
        self.linear_backward(&places.state_out, &state, &logits, &mut dstate, grads);
        if let Some(team) = &places.team {
            let mut found = self.linear(&team.intrinsic, &state);
            for (found, target) in found.iter_mut().zip(&batch.intrinsic) {
                let error = if target.is_nan() { 0.0 } else { *found - target };
                losses[7] += f64::from(error * error);
                *found = 2.0 * weights[7] * error;
            }
            self.linear_backward(&team.intrinsic, &state, &found, &mut dstate, grads);
        }
        relu_backward(&state, &mut dstate);
        self.linear_backward(&places.state, &board.values, &dstate, &mut dboard, grads);

        let columns = self.grid.columns;
        let token = |i: usize, cell: u16| {
            let (row, column) = (usize::from(cell) / columns, usize::from(cell) % columns);
            (i * self.padding().tokens() + row * self.padding().width + column) * c
        };
        let mut means = vec![0.0; n * a * c];
        for (at, mean) in means.chunks_mut(c).enumerate() {
            let move_cells = &self.grid.moves[at % a];
            for cell in move_cells {
                ops::add_scaled(
                    Isa::found(),
                    mean,
                    1.0 / move_cells.len() as f32,
                    &x[token(at / a, *cell)..][..c],
                );
            }
        }
        let mut action = vec![0.0; n * a * c];
        let weight = Mat::new(&self.values[places.action.clone()], c, c, c);
        let rows = Mat::new(&means, n * a, c, c);
        matmul(
            Method::widest(Arithmetic::Single),
            &mut action,
            c,
            Accumulate::Replace,
            1.0,
            rows,
            weight,
        );
        let common = self.linear(&places.action_board, &board.values);
        for (action, common) in action.chunks_mut(a * c).zip(common.chunks(c)) {
            ops::add_bias(Isa::found(), common, action);
        }
        relu(&mut action);
        let mut logits = self.linear(&places.action_out, &action);
        for (i, logits) in logits.chunks_mut(a * MOVE_COLUMNS).enumerate() {
            let mut policy: Vec<f32> = logits.chunks(MOVE_COLUMNS).map(|row| row[0]).collect();
            ops::add_scaled(Isa::found(), &mut policy, 1.0, &batch.padding[i * a..][..a]);
            losses[0] += entropy(&mut policy, &batch.policy[i * a..][..a], weights[0]);
            for (at, row) in logits.chunks_mut(MOVE_COLUMNS).enumerate() {
                let place = i * a + at;
                row[0] = policy[at];
                let (x, legal) = (row[1], batch.legal[place]);
                let counted = batch.unmarked[i] / a as f32;
                losses[4] +=
                    f64::from(counted * (x.max(0.0) - x * legal + (-x.abs()).exp().ln_1p()));
                row[1] = weights[4] * counted * (1.0 / (1.0 + (-x).exp()) - legal);
                let target = &batch.actions[place * BUCKETS..][..BUCKETS];
                losses[1] += entropy(&mut row[2..], target, weights[1]);
            }
        }
        let mut daction = vec![0.0; action.len()];
        self.linear_backward(&places.action_out, &action, &logits, &mut daction, grads);
        relu_backward(&action, &mut daction);
        let mut dcommon = vec![0.0; common.len()];
        for (dcommon, daction) in dcommon.chunks_mut(c).zip(daction.chunks(a * c)) {
            ops::add_rows(Isa::found(), daction, dcommon);
        }
        self.linear_backward(&places.action_board, &board.values, &dcommon, &mut dboard, grads);
        let mut dmeans = vec![0.0; means.len()];
        self.weight_backward(&places.action, c, &means, &daction, &mut dmeans, grads);
        for (at, dmean) in dmeans.chunks(c).enumerate() {
            let move_cells = &self.grid.moves[at % a];
            for cell in move_cells {
                let dx = &mut dx[token(at / a, *cell)..][..c];
                ops::add_scaled(Isa::found(), dx, 1.0 / move_cells.len() as f32, dmean);
            }
        }

        let marked: Vec<usize> = (0..n).filter(|i| batch.unmarked[*i] == 0.0).collect();
        let places_of =
            || marked.iter().flat_map(|i| (0..cells as u16).map(|cell| token(*i, cell)));
        let rows: Vec<f32> = places_of().flat_map(|at| &x[at..at + c]).copied().collect();
        if !rows.is_empty() {
            let mut logits = self.linear(&places.cells, &rows);
            let targets = marked
                .iter()
                .flat_map(|i| batch.cells[i * cells * CELLS..][..cells * CELLS].chunks(CELLS));
            for (logits, target) in logits.chunks_mut(CELLS).zip(targets) {
                losses[5] += entropy(logits, target, weights[5]);
            }
            let mut drows = vec![0.0; rows.len()];
            self.linear_backward(&places.cells, &rows, &logits, &mut drows, grads);
            for (at, drow) in places_of().zip(drows.chunks(c)) {
                ops::add_scaled(Isa::found(), &mut dx[at..at + c], 1.0, drow);
            }
        }
        self.pool_backward(&board, &dboard, &mut dx);
        (losses, dx)
    }
}

/// Cross-entropy of softmax(`logits`) against `target`, of any sum. `logits` becomes `weight` times its gradient.
fn entropy(logits: &mut [f32], target: &[f32], weight: f32) -> f64 {
    let share: f32 = target.iter().sum();
    if share == 0.0 {
        logits.fill(0.0);
        return 0.0;
    }
    let top = logits.iter().copied().fold(f32::MIN, f32::max);
    let total: f32 = logits.iter().map(|x| (x - top).exp()).sum();
    let log = top + total.ln();
    let mut loss = 0.0;
    for (x, target) in logits.iter_mut().zip(target) {
        if *target > 0.0 {
            loss += target * (log - *x);
        }
        *x = weight * (share * (*x - log).exp() - target);
    }
    f64::from(loss)
}

fn relu(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = x.max(0.0));
}

/// Zeroes `dout` where the ReLU's output is zero.
fn relu_backward(out: &[f32], dout: &mut [f32]) {
    for (dout, out) in dout.iter_mut().zip(out) {
        *dout = if *out > 0.0 { *dout } else { 0.0 };
    }
}
