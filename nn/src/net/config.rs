//! Sizes of the network. Configuration, not code: a checkpoint carries its own.

use crate::encode::board::{EMBEDDING_ROWS, MARKS};
use crate::encode::relations::RELATIONS;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Buckets of the value and action-value heads over win probability (paper 000, section 2).
pub const BUCKETS: usize = 64;

/// Win probability at the centre of each bucket.
pub const CENTRES: [f32; BUCKETS] = {
    let mut centres = [0.0; BUCKETS];
    let mut bucket = 0;
    while bucket < BUCKETS {
        centres[bucket] = (bucket as f32 + 0.5) / BUCKETS as f32;
        bucket += 1;
    }
    centres
};
/// Squares, hence tokens.
pub const TOKENS: usize = 64;
/// Occupied squares of a position of a game, on average.
const OCCUPIED: usize = 22;
/// Outputs of the transition head per token: 13 piece classes, our castling rook, theirs, en passant.
pub const TRANSITION_OUTPUTS: usize = 16;
/// Outputs for win, draw, loss, stored in the order loss, draw, win.
pub const RESULTS: usize = 3;
/// Outputs of the terminal head: ongoing, lost, drawn.
pub const TERMINALS: usize = 3;

/// Promotion classes except "none".
const PROMOTIONS: usize = 4;
/// Most players of one network.
const MAX_PLAYERS: usize = 16;
/// Most parameters of a network: 1 GiB of floats, the limit of a file.
pub const MAX_PARAMETERS: usize = 1 << 28;

/// Sizes of a board-token transformer and its heads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetConfig {
    /// Channels of a token.
    pub width: usize,
    /// Blocks of the trunk.
    pub layers: usize,
    /// Attention heads; divides `width`.
    pub heads: usize,
    /// Hidden channels of a block's FFN.
    pub ffn: usize,
    /// Channels of the policy's from- and to-projections.
    pub policy_dim: usize,
    /// Hidden channels of the action-value head, per move.
    pub action_dim: usize,
    /// Channels of the legality head's from- and to-projections; fewer than 64 cannot represent all sets of
    /// target squares (measured: 32 kept F1 near 0.9).
    pub legality_dim: usize,
    /// Channels per token for the value head.
    pub value_channels: usize,
    /// Hidden channels of the value head.
    pub value_hidden: usize,
    /// Position-dependent attention bias; None: only the static one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_bias: Option<DynamicBiasConfig>,
    /// The first blocks, in which only occupied and flagged squares have tokens; the others join in the next
    /// block, as they were embedded. A position has 22 pieces on average.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub piece_blocks: usize,
    /// Attention bias by attack relations: one number per block, head and kind of attack
    /// (`encode/relations.rs`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relations: bool,
    /// The action-value head reads the policy's channel products too; then `policy_dim` is `action_dim`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub policy_in_actions: bool,
    /// The transition head adds a learned bias by each square's relation to the marked action
    /// (`encode/board.rs`): where a castling puts king and rook, and that a king's move ends the rights, is
    /// then local to each square.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transition_marks: bool,
    /// Players that share all parameters but a few vectors each (paper 003); [`crate::checkpoint::Network::of_player`].
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub players: usize,
}

/// Sizes of the position-dependent attention bias ("smolgen" of Monroe and Chalmers 2024, "Mastering Chess with
/// a Transformer Model", section 3): tokens are compressed, concatenated, mixed, and weigh a basis of 64 x 64
/// patterns shared by all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DynamicBiasConfig {
    /// Channels per token.
    pub channels: usize,
    /// Hidden channels of the whole board.
    pub hidden: usize,
    /// Patterns in the basis.
    pub rank: usize,
}

impl Default for NetConfig {
    /// Sizes of the bundled network.
    fn default() -> Self {
        NetConfig {
            width: 128,
            layers: 4,
            heads: 4,
            ffn: 384,
            policy_dim: 64,
            action_dim: 64,
            legality_dim: 64,
            value_channels: 16,
            value_hidden: 128,
            dynamic_bias: Some(DynamicBiasConfig { channels: 8, hidden: 32, rank: 16 }),
            piece_blocks: 0,
            relations: false,
            policy_in_actions: false,
            transition_marks: true,
            players: 1,
        }
    }
}

fn one() -> usize {
    1
}

/// For `serde`, which passes a reference.
fn is_one(number: &usize) -> bool {
    *number == 1
}

/// As above.
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// An invalid configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "network configuration: {}", self.0)
    }
}

impl std::error::Error for ConfigError {}

fn in_range(name: &str, value: usize, max: usize) -> Result<(), ConfigError> {
    if value == 0 || value > max {
        return Err(ConfigError(format!("{name} is {value}, expected 1 to {max}")));
    }
    Ok(())
}

impl NetConfig {
    /// Checks invariants and bounds each size and the number of parameters, so that a hostile file cannot
    /// exhaust memory.
    ///
    /// # Errors
    /// Names the first field at fault, its value and its limit.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (name, value, max) in [
            ("width", self.width, 2048),
            ("layers", self.layers, 64),
            ("heads", self.heads, 64),
            ("ffn", self.ffn, 8192),
            ("policy_dim", self.policy_dim, 1024),
            ("action_dim", self.action_dim, 1024),
            ("legality_dim", self.legality_dim, 1024),
            ("value_channels", self.value_channels, 256),
            ("value_hidden", self.value_hidden, 4096),
            ("players", self.players, MAX_PLAYERS),
        ] {
            in_range(name, value, max)?;
        }
        if let Some(bias) = &self.dynamic_bias {
            in_range("dynamic_bias.channels", bias.channels, 256)?;
            in_range("dynamic_bias.hidden", bias.hidden, 4096)?;
            in_range("dynamic_bias.rank", bias.rank, 1024)?;
        }
        if self.piece_blocks >= self.layers {
            return Err(ConfigError(format!(
                "piece_blocks is {}, expected fewer than layers, {}",
                self.piece_blocks, self.layers
            )));
        }
        if self.policy_in_actions && self.policy_dim != self.action_dim {
            return Err(ConfigError(format!(
                "policy_dim {} is not action_dim {}, which policy_in_actions needs",
                self.policy_dim, self.action_dim
            )));
        }
        if !self.width.is_multiple_of(self.heads) {
            return Err(ConfigError(format!(
                "width {} is not a multiple of heads {}",
                self.width, self.heads
            )));
        }
        in_range("parameters", self.parameters(), MAX_PARAMETERS)
    }

    /// Vectors of a player: one for the embedding, two for each normalisation.
    #[must_use]
    pub fn player_segments(&self) -> usize {
        1 + 2 * (2 * self.layers + 1)
    }

    /// Length of [`Layout`](super::Layout)'s flat vector, computed without a layout.
    fn parameters(&self) -> usize {
        let linear = |inputs: usize, outputs: usize| (inputs + 1) * outputs;
        let NetConfig { width, heads, ffn, policy_dim, action_dim, legality_dim, .. } = *self;
        let NetConfig { value_channels, value_hidden, .. } = *self;
        let square = TOKENS * TOKENS;
        let (basis, bias) = self.dynamic_bias.map_or((0, 0), |b| {
            let compress = linear(width, b.channels);
            let hidden = linear(TOKENS * b.channels, b.hidden);
            (b.rank * square, compress + hidden + linear(b.hidden, heads * b.rank))
        });
        let relations = if self.relations { heads * RELATIONS } else { 0 };
        let attention = linear(width, 3 * width) + linear(width, width) + heads * square;
        let feed_forward = linear(width, ffn) + linear(ffn, width);
        let block = 4 * width + attention + bias + relations + feed_forward;
        let columns = 2 * (policy_dim + action_dim + legality_dim)
            + value_channels
            + PROMOTIONS
            + 1
            + TRANSITION_OUTPUTS;
        let marks = if self.transition_marks { TOKENS * MARKS * TRANSITION_OUTPUTS } else { 0 };
        let value = linear(TOKENS * value_channels, value_hidden)
            + linear(value_hidden, BUCKETS + RESULTS + TERMINALS);
        let policy = if self.policy_in_actions { action_dim } else { 0 };
        let actions = linear(value_hidden, action_dim)
            + (PROMOTIONS + 1) * action_dim
            + policy
            + linear(action_dim, BUCKETS);
        let players =
            if self.players > 1 { self.players * self.player_segments() * width } else { 0 };
        (EMBEDDING_ROWS + TOKENS) * width
            + players
            + basis
            + self.layers * block
            + 2 * width
            + linear(width, columns)
            + marks
            + square
            + value
            + actions
    }

    /// The smallest network with every mandatory part, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn tiny() -> NetConfig {
        NetConfig {
            width: 8,
            layers: 1,
            heads: 2,
            ffn: 8,
            policy_dim: 4,
            action_dim: 4,
            legality_dim: 4,
            value_channels: 2,
            value_hidden: 4,
            dynamic_bias: None,
            piece_blocks: 0,
            relations: false,
            policy_in_actions: false,
            transition_marks: false,
            players: 1,
        }
    }

    /// FLOP of one evaluation (multiply and add counted separately): matrix products only, play heads, 35 legal
    /// moves, 22 occupied squares.
    #[must_use]
    pub fn flops(&self) -> f64 {
        let (d, f) = (self.width as f64, self.ffn as f64);
        let block = |tokens: usize| {
            let bias = self.dynamic_bias.map_or(0.0, |b| {
                let mixed = self.heads * b.rank;
                let macs = (tokens * self.width + TOKENS * b.hidden) * b.channels
                    + b.hidden * mixed
                    + mixed * tokens * tokens;
                2.0 * macs as f64
            });
            let t = tokens as f64;
            2.0 * t * d * (4.0 * d + 2.0 * f) + 4.0 * t * t * d + bias
        };
        let columns = 2 * self.policy_dim + 4 + 2 * self.action_dim + self.value_channels;
        let t = TOKENS as f64;
        let value = 2.0 * t * (self.value_channels * self.value_hidden) as f64;
        let actions = 35.0 * 2.0 * (self.action_dim * BUCKETS + self.policy_dim) as f64;
        let whole = self.layers.saturating_sub(self.piece_blocks) as f64;
        self.piece_blocks as f64 * block(OCCUPIED)
            + whole * block(TOKENS)
            + 2.0 * t * d * columns as f64
            + value
            + actions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Layout;

    /// Every field at its limit: 99 GB of parameters.
    fn largest_fields() -> NetConfig {
        NetConfig {
            width: 2048,
            layers: 64,
            heads: 64,
            ffn: 8192,
            policy_dim: 1024,
            action_dim: 1024,
            legality_dim: 1024,
            value_channels: 256,
            value_hidden: 4096,
            dynamic_bias: Some(DynamicBiasConfig { channels: 256, hidden: 4096, rank: 1024 }),
            piece_blocks: 0,
            relations: true,
            policy_in_actions: true,
            transition_marks: true,
            players: MAX_PLAYERS,
        }
    }

    #[test]
    fn fields_within_their_limits_may_still_make_too_many_parameters() {
        let fault = largest_fields().check().unwrap_err().to_string();
        let expected = format!(
            "parameters is {}, expected 1 to {MAX_PARAMETERS}",
            largest_fields().parameters()
        );
        assert!(fault.contains(&expected), "{fault}");
    }

    #[test]
    fn parameters_are_those_of_the_layout() {
        let plain = NetConfig { width: 24, heads: 3, dynamic_bias: None, ..NetConfig::default() };
        let bias = Some(DynamicBiasConfig { channels: 3, hidden: 7, rank: 5 });
        let all = NetConfig {
            dynamic_bias: bias,
            relations: true,
            policy_in_actions: true,
            transition_marks: false,
            players: 3,
            ..plain.clone()
        };
        for config in [NetConfig::default(), NetConfig::tiny(), plain, all] {
            assert_eq!(config.parameters(), Layout::new(&config).len, "{config:?}");
        }
    }

    #[test]
    fn sizes_that_cannot_work_are_named() {
        let odd = NetConfig { heads: 3, ..NetConfig::default() };
        assert!(
            odd.check().unwrap_err().to_string().contains("width 128 is not a multiple of heads 3")
        );
        let huge = NetConfig { ffn: 1 << 20, ..NetConfig::default() };
        assert!(huge.check().unwrap_err().to_string().contains("ffn"));
        let unequal = NetConfig { action_dim: 32, policy_in_actions: true, ..NetConfig::default() };
        assert!(
            unequal.check().unwrap_err().to_string().contains("policy_dim 64 is not action_dim 32")
        );
        let all = NetConfig { piece_blocks: 4, ..NetConfig::default() };
        let found = all.check().unwrap_err().to_string();
        assert!(found.contains("piece_blocks is 4, expected fewer than layers, 4"), "{found}");
        assert!(NetConfig::default().check().is_ok());
    }
}
