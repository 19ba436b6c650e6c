//! The network in burn: the reference of the forward pass in `games` and of [`super::gradient`].

use super::losses::{LOSSES, WEIGHTS};
use super::sample::{Batch, Padding};
use burn::tensor::module::linear;
use burn::tensor::{Device, Tensor, TensorData, activation};
use games::game::Grid;
use games::net::{CELLS, ENDS, Layout, MOVE_COLUMNS, PLANES, RESULTS, STATE_COLUMNS, Team};
use games::world::INTRINSIC;
use nn::kernels::Isa;
use nn::kernels::ops::add_scaled;
use nn::net::config::BUCKETS;
use nn::net::params::{Linear, Norm};
use std::ops::Range;

/// As in [`nn::kernels::ops::layer_norm`].
const EPSILON: f32 = 1e-5;

/// Parameters as leaves of autodiff.
pub(super) struct AutodiffNet<'a> {
    layout: &'a Layout,
    grid: &'a Grid,
    device: Device,
    /// In the order of the flat vector.
    leaves: Vec<Tensor<1>>,
}

/// Logits of `n` positions with `a` moves.
pub(super) struct Logits {
    /// `[n, STATE_COLUMNS]`.
    pub state: Tensor<2>,
    /// `[n, a, MOVE_COLUMNS]`.
    pub moves: Tensor<3>,
    /// `[n, cells, CELLS]`.
    pub cells: Tensor<3>,
    /// `[n, INTRINSIC]`, of a network of several players.
    pub intrinsic: Option<Tensor<2>>,
}

impl<'a> AutodiffNet<'a> {
    pub fn new(layout: &'a Layout, values: &[f32], grid: &'a Grid) -> AutodiffNet<'a> {
        let device = Device::flex().autodiff();
        let leaf = |range: &Range<usize>| {
            let data = TensorData::new(values[range.clone()].to_vec(), [range.len()]);
            Tensor::<1>::from_data(data, &device).require_grad()
        };
        let leaves = layout.params.iter().map(|param| leaf(&param.range)).collect();
        AutodiffNet { layout, grid, device, leaves }
    }

    fn param<const D: usize>(&self, range: &Range<usize>, shape: [usize; D]) -> Tensor<D> {
        let at = self.layout.params.partition_point(|param| param.range.start < range.start);
        self.leaves[at].clone().reshape(shape)
    }

    fn linear<const D: usize>(&self, map: &Linear, x: Tensor<D>) -> Tensor<D> {
        let outputs = map.bias.len();
        let weight = self.param(&map.weight, [map.weight.len() / outputs, outputs]);
        linear(x, weight, Some(self.param(&map.bias, [outputs])))
    }

    fn on<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }

    /// `relu(norm(x))`.
    fn norm(&self, norm: &Norm, x: Tensor<2>) -> Tensor<2> {
        let centred = x.clone() - x.mean_dim(1);
        let variance = (centred.clone() * centred.clone()).mean_dim(1);
        let unit = centred / (variance + EPSILON).sqrt();
        let width = norm.gamma.len();
        let [gamma, beta] = [&norm.gamma, &norm.beta].map(|range| self.param(range, [1, width]));
        activation::relu(unit * gamma + beta)
    }

    /// Convolution of `x`, `[margin + tokens + margin, inputs]`.
    fn convolve(&self, map: &Linear, x: Tensor<2>) -> Tensor<2> {
        let padding = Padding::of(self.grid);
        let tokens = x.dims()[0] - 2 * padding.margin();
        let tap = |(row, column): &(isize, isize)| {
            let step = row * padding.width.cast_signed() + column;
            x.clone().narrow(0, padding.margin().strict_add_signed(step), tokens)
        };
        self.linear(map, Tensor::cat(self.grid.taps.iter().map(tap).collect(), 1))
    }

    /// The tokens of the cells, `[n, cells, c]`.
    fn cells(&self, x: Tensor<2>) -> Tensor<3> {
        let padding = Padding::of(self.grid);
        let [tokens, c] = x.dims();
        let n = tokens / padding.tokens();
        let board = x.reshape([n, padding.rows, padding.width, c]);
        let board = board.narrow(1, 0, self.grid.rows).narrow(2, 0, self.grid.columns);
        board.reshape([n, self.grid.cells(), c])
    }

    /// Mean and maximum over the cells, `[n, 2 * c]`.
    fn pool(&self, x: Tensor<3>) -> Tensor<2> {
        Tensor::cat(vec![x.clone().mean_dim(1), x.max_dim(1)], 2).squeeze_dim(1)
    }

    /// The embeddings of the players of a batch, `[n, 1, c]`.
    fn players(&self, team: &Team, players: &[usize], c: usize) -> Tensor<3> {
        let (n, count) = (players.len(), team.embedding.len() / c);
        let mut latent = vec![0.0; n * count];
        players.iter().enumerate().for_each(|(i, player)| latent[i * count + player] = 1.0);
        let rows = self.param(&team.embedding, [count, c]);
        self.on(latent, [n, count]).matmul(rows).reshape([n, 1, c])
    }

    pub fn forward(&self, batch: &Batch) -> Logits {
        let (n, input) = (batch.n, batch.planes.clone());
        let padding = Padding::of(self.grid);
        let (tokens, places) = (n * padding.tokens(), self.layout);
        let input: Tensor<2> = self.on(input, [tokens + 2 * padding.margin(), PLANES]);
        // The plane of all cells.
        let mask = input.clone().narrow(1, 2, 1).narrow(0, padding.margin(), tokens);
        let mut x = self.convolve(&places.stem, input);
        let c = x.dims()[1];
        if let Some(team) = &places.team {
            let boards = x.reshape([n, padding.tokens(), c]);
            x = (boards + self.players(team, &batch.players, c)).reshape([tokens, c]);
        }
        let empty: Tensor<2> = Tensor::zeros([padding.margin(), c], &self.device);
        let padded =
            |x: Tensor<2>| Tensor::cat(vec![empty.clone(), x * mask.clone(), empty.clone()], 0);
        for block in &places.blocks {
            let mut h = self.convolve(&block.first, padded(self.norm(&block.norm, x.clone())));
            if let Some(pool) = &block.pool {
                let board = self.linear(pool, self.pool(self.cells(h.clone())));
                let board = board.reshape([n, 1, c]);
                h = (h.reshape([n, padding.tokens(), c]) + board).reshape([tokens, c]);
            }
            x = x + self.convolve(&block.second, padded(activation::relu(h)));
        }
        let x = self.cells(self.norm(&places.norm, x));
        let board = self.pool(x.clone());
        let state = activation::relu(self.linear(&places.state, board.clone()));
        let action = self.param(&places.action, [c, c]);
        let moves = linear(self.means(&x), action, None)
            + self.linear(&places.action_board, board).reshape([n, 1, c]);
        Logits {
            intrinsic: places.team.as_ref().map(|team| self.linear(&team.intrinsic, state.clone())),
            state: self.linear(&places.state_out, state),
            moves: self.linear(&places.action_out, activation::relu(moves)),
            cells: self.linear(&places.cells, x),
        }
    }

    /// Mean over the cells of each move, `[n, a, c]`.
    fn means(&self, x: &Tensor<3>) -> Tensor<3> {
        let (a, cells) = (self.grid.moves.len(), self.grid.cells());
        let mut shares = vec![0.0; a * cells];
        for (shares, move_cells) in shares.chunks_mut(cells).zip(&self.grid.moves) {
            let share = 1.0 / move_cells.len() as f32;
            move_cells.iter().for_each(|cell| shares[usize::from(*cell)] = share);
        }
        self.on(shares, [1, a, cells]).matmul(x.clone())
    }

    /// Sums of the losses over a batch, `[LOSSES]`.
    fn losses(&self, batch: &Batch) -> Tensor<1> {
        let (n, a, cells) = (batch.n, self.grid.moves.len(), self.grid.cells());
        let logits = self.forward(batch);
        let known: Vec<f32> =
            batch.intrinsic.iter().map(|x| f32::from(u8::from(!x.is_nan()))).collect();
        let wanted: Vec<f32> =
            batch.intrinsic.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
        let intrinsic = logits.intrinsic.map_or(self.on(vec![0.0], [1]), |found| {
            let error = (found - self.on(wanted, [n, INTRINSIC])) * self.on(known, [n, INTRINSIC]);
            (error.clone() * error).sum()
        });
        let state = |first: usize, columns: usize| logits.state.clone().narrow(1, first, columns);
        let policy = logits.moves.clone().narrow(2, 0, 1).reshape([n, a]);
        let legality = logits.moves.clone().narrow(2, 1, 1).reshape([n, a]);
        let buckets = logits.moves.narrow(2, 2, MOVE_COLUMNS - 2);
        let target = |values: &[f32], columns: usize| self.on(values.to_vec(), [n, columns]);
        let result = BUCKETS + RESULTS;
        let legal = binary(legality, target(&batch.legal, a)) / a as f32;
        let losses = vec![
            entropy(policy + target(&batch.padding, a), target(&batch.policy, a)),
            entropy(buckets, self.on(batch.actions.clone(), [n, a, BUCKETS])),
            entropy(state(0, BUCKETS), target(&batch.value, BUCKETS)),
            entropy(state(BUCKETS, RESULTS), target(&batch.result, RESULTS)),
            (legal * target(&batch.unmarked, 1)).sum(),
            entropy(logits.cells, self.on(batch.cells.clone(), [n, cells, CELLS])),
            entropy(state(result, STATE_COLUMNS - result), target(&batch.end, ENDS)),
            intrinsic,
        ];
        Tensor::cat(losses, 0)
    }

    /// Adds the gradient of the weighted losses, divided by `samples`, to `grads`; returns the losses' sums.
    pub fn gradient(
        &self,
        batch: &Batch,
        samples: usize,
        grads: &mut [f32],
    ) -> [f64; LOSSES.len()] {
        let losses = self.losses(batch);
        let weights = WEIGHTS.map(|weight| weight / samples as f32).to_vec();
        let mut gradients = (losses.clone() * self.on(weights, [LOSSES.len()])).sum().backward();
        let read = |tensor: Tensor<1>| tensor.try_into_vec_as::<f32>().unwrap();
        for (leaf, param) in self.leaves.iter().zip(&self.layout.params) {
            let Some(gradient) = leaf.grad_remove(&mut gradients) else { continue };
            add_scaled(Isa::found(), &mut grads[param.range.clone()], 1.0, &read(gradient));
        }
        let mut sums = [0.0; LOSSES.len()];
        sums.iter_mut().zip(read(losses.inner())).for_each(|(sum, x)| *sum = f64::from(x));
        sums
    }
}

/// Cross-entropy of the softmax over the last dimension, summed, `[1]`.
fn entropy<const D: usize>(logits: Tensor<D>, target: Tensor<D>) -> Tensor<1> {
    -(activation::log_softmax(logits, D - 1) * target).sum()
}

/// Binary cross-entropy of every logit.
fn binary(logits: Tensor<2>, truth: Tensor<2>) -> Tensor<2> {
    // softplus(x) = -log sigmoid(-x), which burn computes without overflow.
    -activation::log_sigmoid(-logits.clone()) - truth * logits
}
