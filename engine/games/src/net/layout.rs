//! Sizes, input planes and parameters of the network, in one flat vector.

use crate::game::{Grid, MINE, THEIRS};
use crate::world::INTRINSIC;
use nn::net::config::BUCKETS;
use nn::net::params::{Builder, Init, Linear, Norm, Param, fan_in, initial_values};
use std::ops::Range;

/// Input planes: the mover's cells, the opponent's, all cells, the mover's edges, the opponent's edges, the marked action.
pub const PLANES: usize = 6;
/// Loss, draw, win.
pub const RESULTS: usize = 3;
/// The next state: ongoing, lost for its mover, drawn.
pub const ENDS: usize = 3;
/// Classes of a cell of the next state, in the view of the state's mover.
pub const CELLS: usize = 3;
/// Players of one network that are read at most.
pub const MAX_PLAYERS: usize = 16;
/// Outputs of a state: buckets, result, end of the next state.
pub const STATE_COLUMNS: usize = BUCKETS + RESULTS + ENDS;
/// Outputs of a move: policy, legality, buckets.
pub const MOVE_COLUMNS: usize = 2 + BUCKETS;

/// Shape of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name of the game.
    pub game: String,
    /// Sizes of the boards that it was trained on, as [`crate::game::Game::size`] names them.
    pub sizes: Vec<String>,
    /// Cells of a neighbourhood.
    pub taps: usize,
    /// Channels of a token.
    pub channels: usize,
    /// Residual blocks. Every second one adds the board's mean and maximum.
    pub blocks: usize,
    /// Players in this network, 1 or more (paper 003).
    pub players: usize,
}

/// Offsets of a residual block's parameters; `c` channels, `t` taps.
#[derive(Clone, Debug)]
pub struct Block {
    /// Before the first convolution.
    pub norm: Norm,
    /// `[t * c, c]`.
    pub first: Linear,
    /// `[2 * c, c]`: mean and maximum of the first convolution's output over the board, added to it.
    pub pool: Option<Linear>,
    /// `[t * c, c]`.
    pub second: Linear,
}

/// Offsets of what a network of several players has besides.
#[derive(Clone, Debug)]
pub struct Team {
    /// `[players, c]`: added to every token behind the stem, the one-hot latent of paper 003 through a linear map. The first player's
    /// is zero at first.
    pub embedding: Range<usize>,
    /// `[c, INTRINSIC]`: from the hidden layer of the state.
    pub intrinsic: Linear,
}

/// Offsets of all parameters.
#[derive(Clone, Debug)]
pub struct Layout {
    /// In the order of the flat vector.
    pub params: Vec<Param>,
    /// `[t * PLANES, c]`.
    pub stem: Linear,
    /// In order.
    pub blocks: Vec<Block>,
    /// After the last block.
    pub norm: Norm,
    /// `[c, CELLS]`.
    pub cells: Linear,
    /// `[2 * c, c]`: mean and maximum over the board.
    pub state: Linear,
    /// `[c, STATE_COLUMNS]`.
    pub state_out: Linear,
    /// `[c, c]`: the mean over the move's cells.
    pub action: Range<usize>,
    /// `[2 * c, c]`: added to it.
    pub action_board: Linear,
    /// `[c, MOVE_COLUMNS]`.
    pub action_out: Linear,
    /// None with one player. Behind all others, so that a network of one player is the beginning of one of several.
    pub team: Option<Team>,
    /// Length of the flat vector.
    pub len: usize,
}

/// Normal values with standard deviation `size` times the variance-preserving one.
fn scaled(size: f32, inputs: usize) -> Init {
    Init::Normal(size / (inputs as f32).sqrt())
}

impl Layout {
    /// The layout of a shape.
    #[must_use]
    pub fn new(config: &Config) -> Layout {
        let (c, t) = (config.channels, config.taps);
        let mut b = Builder::default();
        Layout {
            stem: b.linear("stem", t * PLANES, c, fan_in(t * PLANES)),
            blocks: (0..config.blocks)
                .map(|i| Block {
                    norm: b.norm(&format!("block{i}.norm"), c),
                    // He initialisation: half of the inputs are 0 behind a ReLU.
                    first: b.linear(&format!("block{i}.first"), t * c, c, scaled(1.4, t * c)),
                    pool: (i % 2 == 1)
                        .then(|| b.linear(&format!("block{i}.pool"), 2 * c, c, scaled(0.5, 2 * c))),
                    second: b.linear(&format!("block{i}.second"), t * c, c, scaled(0.5, t * c)),
                })
                .collect(),
            norm: b.norm("norm", c),
            cells: b.linear("cells", c, CELLS, scaled(0.1, c)),
            state: b.linear("state", 2 * c, c, scaled(1.4, 2 * c)),
            state_out: b.linear("state.out", c, STATE_COLUMNS, scaled(0.1, c)),
            action: b.param("action.weight", &[c, c], fan_in(c)),
            action_board: b.linear("action.board", 2 * c, c, fan_in(2 * c)),
            action_out: b.linear("action.out", c, MOVE_COLUMNS, scaled(0.1, c)),
            team: (config.players > 1).then(|| Team {
                embedding: b.param("players", &[config.players, c], Init::Normal(0.1)),
                intrinsic: b.linear("intrinsic", c, INTRINSIC, scaled(0.1, c)),
            }),
            len: b.len,
            params: b.params,
        }
    }

    /// Initial values, deterministic for a seed.
    #[must_use]
    pub fn init(&self, seed: u64) -> Vec<f32> {
        let mut values = initial_values(&self.params, seed);
        if let Some(team) = &self.team {
            values[team.embedding.clone()][..self.norm.gamma.len()].fill(0.0);
        }
        values
    }
}

/// Writes the input of a position, `[cells, PLANES]`, in rows `at(cell)` of `out`. `marked`, a move in the mover's view, marks its cells.
pub fn planes(
    grid: &Grid,
    cells: &[u8],
    marked: Option<u16>,
    out: &mut [f32],
    at: impl Fn(usize) -> usize,
) {
    let marked = marked.and_then(|action| grid.moves.get(usize::from(action)));
    for (cell, class) in cells.iter().enumerate() {
        let is_marked = marked.is_some_and(|cells| cells.contains(&(cell as u16)));
        let planes = [
            *class == MINE,
            *class == THEIRS,
            true,
            grid.edges[0][cell],
            grid.edges[1][cell],
            is_marked,
        ];
        let out = &mut out[at(cell) * PLANES..][..PLANES];
        out.iter_mut().zip(planes).for_each(|(out, plane)| *out = f32::from(u8::from(plane)));
    }
}
