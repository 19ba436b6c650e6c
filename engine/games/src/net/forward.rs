//! The forward pass by the kernels of `nn`, one position at a time. The board lies in rows of `columns + 1` tokens, the last of each
//! empty, with empty rows around it: neighbours in one row are then one window of memory, and a convolution is one product per row of
//! its taps, without a copy of the neighbourhoods.

use super::file::{NetworkFile, UnfitNetwork};
use super::layout::{Block, Config, Layout, MOVE_COLUMNS, PLANES, RESULTS, planes};
use crate::game::{Game, Grid};
use crate::world::{Judge, Opinion};
use mcts::Wdl;
use nn::Arithmetic;
use nn::kernels::gemm::{Accumulate, Mat, Method, Packed, matmul_packed};
use nn::kernels::{Isa, ops};
use nn::net::config::{BUCKETS, CENTRES};
use nn::net::params::{Linear, Norm};
use nn::numeric::softmax;
use std::ops::Range;

/// A network on one board.
pub struct BoardNet {
    config: Config,
    layout: Layout,
    values: Vec<f32>,
    grid: Grid,
    /// Rows from a cell to the first tap of each run, as [`Grid::runs`] orders them.
    steps: Vec<isize>,
    stem: Map,
    blocks: Vec<[Map; 3]>,
    cells: Map,
    state: [Map; 2],
    action: [Map; 3],
    /// The map of a network of several players.
    intrinsic: Option<Map>,
}

/// A linear map: its weight, for a convolution in one part per run of taps.
struct Map {
    parts: Vec<Packed>,
    bias: Range<usize>,
}

/// Logits of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// `[STATE_COLUMNS]`.
    pub state: Vec<f32>,
    /// `[moves, MOVE_COLUMNS]`.
    pub moves: Vec<f32>,
    /// `[cells, CELLS]`; empty without a marked action.
    pub cells: Vec<f32>,
    /// `[INTRINSIC]`; empty in a network of one player.
    pub intrinsic: Vec<f32>,
}

impl BoardNet {
    /// A network on the board of `game`; the first player of one of several.
    ///
    /// # Errors
    /// It plays another game, or not on this board.
    pub fn new<G: Game>(network: &NetworkFile, game: &G) -> Result<BoardNet, UnfitNetwork> {
        BoardNet::of_player(network, game, 0)
    }

    /// One player of a network on the board of `game`; the last one if it has fewer.
    ///
    /// # Errors
    /// It plays another game, or not on this board.
    pub fn of_player<G: Game>(
        network: &NetworkFile,
        game: &G,
        player: usize,
    ) -> Result<BoardNet, UnfitNetwork> {
        network.check(game)?;
        let NetworkFile { config, layout, values } = network;
        let c = config.channels;
        let mut values = values.clone();
        if let Some(team) = &layout.team {
            let at = team.embedding.start + player.min(config.players - 1) * c;
            let embedding = values[at..at + c].to_vec();
            ops::add_scaled(Isa::found(), &mut values[layout.stem.bias.clone()], 1.0, &embedding);
        }
        let grid = game.grid();
        let runs = grid.runs();
        // `shares`: how many taps each part has; one tap is the whole of a plain map.
        let weight = |range: &Range<usize>, shares: &[usize], columns: usize| -> Vec<Packed> {
            let rows = range.len() / shares.iter().sum::<usize>() / columns;
            let mut first = range.start;
            let part = |taps: &usize| {
                let part = Mat::new(&values[first..], taps * rows, columns, columns);
                first += taps * rows * columns;
                Packed::new(part, Method::widest(Arithmetic::Single))
            };
            shares.iter().map(part).collect()
        };
        let shares: Vec<usize> = runs.iter().map(|run| run.2).collect();
        let convolution = |map: &Linear| Map {
            parts: weight(&map.weight, &shares, map.bias.len()),
            bias: map.bias.clone(),
        };
        let map = |map: &Linear| Map {
            parts: weight(&map.weight, &[1], map.bias.len()),
            bias: map.bias.clone(),
        };
        let block = |block: &Block| {
            let pool = block.pool.as_ref().map(map);
            let pool = pool.unwrap_or(Map { parts: Vec::new(), bias: 0..0 });
            [convolution(&block.first), pool, convolution(&block.second)]
        };
        let width = grid.columns as isize + 1;
        Ok(BoardNet {
            steps: runs.iter().map(|(row, column, _)| row * width + column).collect(),
            stem: convolution(&layout.stem),
            blocks: layout.blocks.iter().map(block).collect(),
            cells: map(&layout.cells),
            state: [map(&layout.state), map(&layout.state_out)],
            action: [
                Map { parts: weight(&layout.action, &[1], c), bias: 0..0 },
                map(&layout.action_board),
                map(&layout.action_out),
            ],
            intrinsic: layout.team.as_ref().map(|team| map(&team.intrinsic)),
            config: config.clone(),
            layout: layout.clone(),
            values,
            grid,
        })
    }

    /// Tokens of a padded row.
    fn width(&self) -> usize {
        self.grid.columns + 1
    }

    /// Empty tokens before the board, and behind it.
    fn margin(&self) -> usize {
        self.width() + 1
    }

    /// Tokens of the padded board.
    fn tokens(&self) -> usize {
        self.grid.rows * self.width()
    }

    /// The token of a cell.
    fn token(&self, cell: usize) -> usize {
        cell / self.grid.columns * self.width() + cell % self.grid.columns
    }

    /// `out = bias`, plus the convolution of `x`, `[margin + tokens + margin, inputs]`.
    fn convolve(&self, map: &Map, x: &[f32], out: &mut [f32]) {
        let bias = &self.values[map.bias.clone()];
        let (outputs, tokens) = (bias.len(), self.tokens());
        let inputs = x.len() / (tokens + 2 * self.margin());
        let mut into = Accumulate::Bias(bias);
        for (weight, step) in map.parts.iter().zip(&self.steps) {
            let first = self.margin().strict_add_signed(*step);
            let x = Mat::windows(&x[first * inputs..], tokens, weight.sizes().0, inputs);
            matmul_packed(out, outputs, into, x, weight, outputs);
            into = Accumulate::Add;
        }
    }

    /// `x * weight + bias` for each row of `x`.
    fn linear(&self, map: &Map, x: &[f32]) -> Vec<f32> {
        let Some(weight) = map.parts.first() else { return Vec::new() };
        let (inputs, outputs) = weight.sizes();
        let rows = x.len() / inputs;
        let mut out = vec![0.0; rows * outputs];
        let bias = &self.values[map.bias.clone()];
        let into = if bias.is_empty() { Accumulate::Replace } else { Accumulate::Bias(bias) };
        matmul_packed(&mut out, outputs, into, Mat::new(x, rows, inputs, inputs), weight, outputs);
        out
    }

    /// `out = relu(norm(x))`.
    fn normalise(&self, norm: &Norm, x: &[f32], scratch: &mut [Vec<f32>; 2], out: &mut [f32]) {
        let (gamma, beta) = (&self.values[norm.gamma.clone()], &self.values[norm.beta.clone()]);
        let [unit, scale] = scratch;
        ops::layer_norm(Isa::found(), x, gamma, beta, unit, scale, out);
        relu(out);
    }

    /// Empties the tokens between the rows.
    fn clear_padding(&self, x: &mut [f32]) {
        let channels = self.config.channels;
        x.chunks_mut(self.width() * channels)
            .for_each(|row| row[self.grid.columns * channels..].fill(0.0));
    }

    /// Mean and maximum of each channel over the cells, `[2 * channels]`.
    fn pool(&self, x: &[f32]) -> Vec<f32> {
        let (c, cells) = (self.config.channels, self.grid.cells());
        let mut pooled = vec![0.0; 2 * c];
        let (mean, most) = pooled.split_at_mut(c);
        most.fill(f32::NEG_INFINITY);
        for cell in 0..cells {
            let row = &x[self.token(cell) * c..][..c];
            for ((mean, most), x) in mean.iter_mut().zip(most.iter_mut()).zip(row) {
                *mean += x;
                *most = most.max(*x);
            }
        }
        mean.iter_mut().for_each(|mean| *mean /= cells as f32);
        pooled
    }

    /// The logits of a position: `cells` in the mover's view, `marked` a move of that view.
    #[must_use]
    pub fn forward(&self, cells: &[u8], marked: Option<u16>) -> Outputs {
        let (c, tokens, margin) = (self.config.channels, self.tokens(), self.margin());
        let mut input = vec![0.0; (tokens + 2 * margin) * PLANES];
        planes(&self.grid, cells, marked, &mut input, |cell| margin + self.token(cell));
        let [mut x, mut h, unit] = [(); 3].map(|()| vec![0.0; tokens * c]);
        let mut scratch = [unit, vec![0.0; tokens]];
        let mut padded = vec![0.0; (tokens + 2 * margin) * c];
        let inner = margin * c..(margin + tokens) * c;
        self.convolve(&self.stem, &input, &mut x);
        for (places, [first, pool, second]) in self.layout.blocks.iter().zip(&self.blocks) {
            self.normalise(&places.norm, &x, &mut scratch, &mut padded[inner.clone()]);
            self.clear_padding(&mut padded[inner.clone()]);
            self.convolve(first, &padded, &mut h);
            if places.pool.is_some() {
                ops::add_bias(Isa::found(), &self.linear(pool, &self.pool(&h)), &mut h);
            }
            relu(&mut h);
            self.clear_padding(&mut h);
            padded[inner.clone()].copy_from_slice(&h);
            self.convolve(second, &padded, &mut h);
            ops::add_scaled(Isa::found(), &mut x, 1.0, &h);
        }
        self.normalise(&self.layout.norm, &x, &mut scratch, &mut h);
        self.heads(&h, marked.is_some())
    }

    /// The heads, from the tokens behind the last block.
    fn heads(&self, x: &[f32], next: bool) -> Outputs {
        let c = self.config.channels;
        let board = self.pool(x);
        let mut state = self.linear(&self.state[0], &board);
        relu(&mut state);
        let mut means = vec![0.0; self.grid.moves.len() * c];
        for (mean, cells) in means.chunks_mut(c).zip(&self.grid.moves) {
            for cell in cells {
                let row = &x[self.token(usize::from(*cell)) * c..][..c];
                ops::add_scaled(Isa::found(), mean, 1.0 / cells.len() as f32, row);
            }
        }
        let mut moves = self.linear(&self.action[0], &means);
        ops::add_bias(Isa::found(), &self.linear(&self.action[1], &board), &mut moves);
        relu(&mut moves);
        let cells = (0..self.grid.cells()).filter(|_| next);
        let rows: Vec<f32> = cells.flat_map(|n| &x[self.token(n) * c..][..c]).copied().collect();
        Outputs {
            intrinsic: self.intrinsic.as_ref().map_or(Vec::new(), |map| self.linear(map, &state)),
            state: self.linear(&self.state[1], &state),
            moves: self.linear(&self.action[2], &moves),
            cells: if next { self.linear(&self.cells, &rows) } else { Vec::new() },
        }
    }

    fn opinion<G: Game>(&self, game: &G, state: &G::State) -> Opinion {
        let Outputs { state: logits, mut moves, intrinsic, .. } =
            self.forward(&game.encode(state), None);
        let result = softmax(&logits[BUCKETS..BUCKETS + RESULTS]);
        let wdl = Wdl { loss: result[0], draw: result[1], win: result[2] };
        let (mut values, mut policy) = (Vec::new(), Vec::new());
        let mut swaps = false;
        for action in game.moves(state) {
            let Some(row) =
                moves.chunks_exact_mut(MOVE_COLUMNS).nth(usize::from(game.in_view(state, action)))
            else {
                swaps = true;
                continue;
            };
            policy.push(row[0]);
            let buckets = &mut row[2..];
            ops::softmax64(Isa::found(), buckets);
            values.push(ops::dot(Isa::found(), buckets, &CENTRES));
        }
        let mut policy = softmax(&policy);
        if swaps {
            // The opponent gets this position: it is as likely a move as the position is bad.
            let value = wdl.q();
            policy.iter_mut().for_each(|policy| *policy *= value);
            policy.push(1.0 - value);
            values.push(1.0 - value);
        }
        Opinion { wdl, values, policy, intrinsic: intrinsic.try_into().unwrap_or_default() }
    }
}

impl<G: Game> Judge<G> for BoardNet {
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion> {
        states.iter().map(|state| self.opinion(game, state)).collect()
    }
}

fn relu(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = x.max(0.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::{Hex, Stones};
    use nn::rng::Rng;

    fn opinions(game: &Hex, states: &[&Stones]) -> Vec<Opinion> {
        let network = NetworkFile::random(&Hex::new(5).unwrap(), 20, 2, 3);
        BoardNet::new(&network, &Hex::new(5).unwrap()).unwrap().judge(game, states)
    }

    #[test]
    fn opinions_are_distributions_and_do_not_depend_on_the_batch_or_the_colour() {
        let game = Hex::new(5).unwrap();
        let (mut random, mut state) = (Rng::new(4), game.start());
        let mut states = vec![state.clone()];
        for _ in 0..7 {
            let moves = game.moves(&state);
            game.play(&mut state, moves[random.below(moves.len())]);
            states.push(state.clone());
        }
        let all = opinions(&game, &states.iter().collect::<Vec<_>>());
        for (state, opinion) in states.iter().zip(&all) {
            assert_eq!(opinions(&game, &[state])[0], *opinion);
            assert!((opinion.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(opinion.values.iter().all(|value| (0.0..=1.0).contains(value)));
            assert_eq!(opinion.values.len(), game.moves(state).len());
            // The board mirrored along its long diagonal, with the colours exchanged, is the same game.
            let mut mirrored = Stones { black_moves: !state.black_moves, ..Stones::default() };
            let mirror = |cell: usize| cell % 5 * 5 + cell / 5;
            state.mine.iter().for_each(|cell| mirrored.mine.insert(mirror(cell)));
            state.theirs.iter().for_each(|cell| mirrored.theirs.insert(mirror(cell)));
            let image = &opinions(&game, &[&mirrored])[0];
            assert_eq!(image.wdl, opinion.wdl);
            let moves = game.moves(&mirrored);
            for (action, policy) in game.moves(state).iter().zip(&opinion.policy) {
                let at = moves
                    .iter()
                    .position(|&other| usize::from(other) == mirror(usize::from(*action)));
                assert!((image.policy[at.unwrap()] - policy).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_swap_is_as_good_as_the_position_is_bad() {
        let game = Hex::new(5).unwrap().with_swap();
        let mut state = game.start();
        game.play(&mut state, 7);
        let opinion = &opinions(&game, &[&state])[0];
        assert_eq!(opinion.values.len(), 25);
        assert!((opinion.values[24] - (1.0 - opinion.wdl.q())).abs() < 1e-6);
        assert!((opinion.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }

    #[test]
    fn images_are_permutations_that_keep_neighbours() {
        let games = [Hex::new(4).unwrap().grid(), crate::connect4::ConnectFour::new(5, 4).grid()];
        for grid in games {
            let image = &grid.images[1];
            let step = |from: u16, to: u16| {
                let row = |cell: u16| (usize::from(cell) / grid.columns).cast_signed();
                let column = |cell: u16| (usize::from(cell) % grid.columns).cast_signed();
                grid.taps.contains(&(row(to) - row(from), column(to) - column(from)))
            };
            let cells = grid.cells() as u16;
            for (from, to) in (0..cells).flat_map(|from| (0..cells).map(move |to| (from, to))) {
                let moved = |cell: u16| image.cells[usize::from(cell)];
                assert_eq!(step(from, to), step(moved(from), moved(to)));
                assert_eq!(moved(moved(from)), from);
            }
            for (action, cells) in grid.moves.iter().enumerate() {
                let mut moved: Vec<u16> =
                    cells.iter().map(|&cell| image.cells[usize::from(cell)]).collect();
                moved.sort_unstable();
                assert_eq!(moved, grid.moves[usize::from(image.moves[action])]);
            }
        }
    }
}
