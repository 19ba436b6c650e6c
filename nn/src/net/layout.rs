//! Offsets of each parameter in the flat vector that trainer, CPU kernels and checkpoint share; the burn module
//! loads its tensors by the same names.
//!
//! Weights of linear maps are stored `[in, out]`, row-major, as burn's `Linear` does.

use super::config::{BUCKETS, NetConfig, TOKENS};
pub use super::config::{RESULTS, TERMINALS, TRANSITION_OUTPUTS};
use super::params::{Builder, Init, Linear, Norm, Param, fan_in, initial_values};
use crate::encode::board::{EMBEDDING_ROWS, MARKS};
use crate::encode::relations::RELATIONS;
use std::ops::Range;

/// Offsets of one transformer block's parameters.
#[derive(Clone, Debug)]
pub struct BlockLayout {
    /// Before attention.
    pub norm1: Norm,
    /// `[width, 3 * width]`: queries of all heads, then keys, then values.
    pub qkv: Linear,
    /// `[heads, 64, 64]`, added to the scaled scores (query row, key column).
    pub attention_bias: Range<usize>,
    /// Position-dependent attention bias.
    pub dynamic_bias: Option<DynamicBiasLayout>,
    /// `[heads, RELATIONS]`: attention bias of each attack relation.
    pub relations: Option<Range<usize>>,
    /// `[width, width]`: output projection of attention.
    pub out: Linear,
    /// Before the FFN.
    pub norm2: Norm,
    /// `[width, ffn]`.
    pub up: Linear,
    /// `[ffn, width]`.
    pub down: Linear,
}

impl BlockLayout {
    /// Whether the attention bias depends on the position.
    #[must_use]
    pub fn has_position_bias(&self) -> bool {
        self.dynamic_bias.is_some() || self.relations.is_some()
    }
}

/// Offsets of a block's position-dependent attention bias.
#[derive(Clone, Debug)]
pub struct DynamicBiasLayout {
    /// `[width, channels]`.
    pub compress: Linear,
    /// `[64 * channels, hidden]`.
    pub hidden: Linear,
    /// `[hidden, heads * rank]`.
    pub mix: Linear,
}

/// Columns of the per-token head projection, in this order. Play needs only a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadColumns {
    /// Policy, read on the `from` token.
    pub policy_from: Range<usize>,
    /// Policy, read on the `to` token.
    pub policy_to: Range<usize>,
    /// Four offsets by promotion class, read on the `to` token.
    pub promotion: Range<usize>,
    /// Value, read on every token.
    pub value: Range<usize>,
    /// Action value, read on the `from` token.
    pub action_from: Range<usize>,
    /// Action value, read on the `to` token.
    pub action_to: Range<usize>,
    /// Legality, read on the `from` token.
    pub legality_from: Range<usize>,
    /// Legality, read on the `to` token.
    pub legality_to: Range<usize>,
    /// One logit on the `from` token: its moves promote.
    pub promotes: Range<usize>,
    /// Transition, read on every token.
    pub transition: Range<usize>,
}

impl HeadColumns {
    fn new(c: &NetConfig) -> HeadColumns {
        let mut end = 0;
        let mut take = |n: usize| {
            end += n;
            end - n..end
        };
        HeadColumns {
            policy_from: take(c.policy_dim),
            policy_to: take(c.policy_dim),
            promotion: take(4),
            value: take(c.value_channels),
            action_from: take(c.action_dim),
            action_to: take(c.action_dim),
            legality_from: take(c.legality_dim),
            legality_to: take(c.legality_dim),
            promotes: take(1),
            transition: take(TRANSITION_OUTPUTS),
        }
    }

    /// Columns for play: values, action values and policy.
    #[must_use]
    pub fn play(&self) -> usize {
        self.action_to.end
    }

    /// All columns.
    #[must_use]
    pub fn all(&self) -> usize {
        self.transition.end
    }
}

/// All parameters of a configuration.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The sizes laid out.
    pub config: NetConfig,
    /// All parameters, in the order of the flat vector.
    pub params: Vec<Param>,
    /// `[EMBEDDING_ROWS, width]`.
    pub embed: Range<usize>,
    /// `[64, width]`.
    pub position: Range<usize>,
    /// `[rank, 64, 64]`: patterns of every block's dynamic attention bias; empty without.
    pub bias_basis: Range<usize>,
    /// The trunk's blocks.
    pub blocks: Vec<BlockLayout>,
    /// After the last block.
    pub norm: Norm,
    /// `[width, columns.all()]`.
    pub heads: Linear,
    /// Columns of the head projection by head.
    pub columns: HeadColumns,
    /// `[64, MARKS, TRANSITION_OUTPUTS]`: bias of the transition logits by the square's mark.
    pub transition_marks: Option<Range<usize>>,
    /// `[64, 64]` (from, to), added to the legality logits: most pairs are no move of any piece.
    pub legality_bias: Range<usize>,
    /// `[64 * value_channels, value_hidden]`.
    pub value_hidden: Linear,
    /// `[value_hidden, 64]`.
    pub value_buckets: Linear,
    /// `[value_hidden, RESULTS]`.
    pub value_result: Linear,
    /// `[value_hidden, TERMINALS]`.
    pub value_terminal: Linear,
    /// `[value_hidden, action_dim]`: board context added to each move.
    pub action_context: Linear,
    /// `[5, action_dim]`, by promotion class.
    pub action_promotion: Range<usize>,
    /// `[action_dim]`: weight of each policy channel product in a move's hidden row.
    pub action_policy: Option<Range<usize>>,
    /// `[action_dim, 64]`.
    pub action_buckets: Linear,
    /// `[players, segments, width]`: what each player adds to the parameters of [`Layout::of_players`], one segment each; that of player 0
    /// stays zero. The last ones: without them it is the layout of one player.
    pub players: Option<Range<usize>>,
    /// Length of the flat vector.
    pub len: usize,
}

impl Layout {
    /// Lays out a configuration that passed [`NetConfig::check`].
    #[must_use]
    pub fn new(config: &NetConfig) -> Layout {
        let c = config;
        let mut b = Builder::default();
        let embed = b.param("embed.rows", &[EMBEDDING_ROWS, c.width], Init::Normal(0.5));
        let position = b.param("embed.position", &[TOKENS, c.width], Init::Normal(0.5));
        // Zero: the dynamic bias has no effect at first.
        let bias_basis = match &c.dynamic_bias {
            Some(bias) => b.param("bias_basis", &[bias.rank, TOKENS, TOKENS], Init::Zero),
            None => b.len..b.len,
        };
        let blocks = (0..c.layers)
            .map(|i| BlockLayout {
                norm1: b.norm(&format!("block{i}.norm1"), c.width),
                qkv: b.linear(&format!("block{i}.qkv"), c.width, 3 * c.width, fan_in(c.width)),
                attention_bias: b.param(
                    &format!("block{i}.attention_bias"),
                    &[c.heads, TOKENS, TOKENS],
                    Init::Zero,
                ),
                dynamic_bias: c.dynamic_bias.as_ref().map(|sizes| {
                    let (name, flat) = (format!("block{i}.dynamic_bias"), TOKENS * sizes.channels);
                    let mut part = |part: &str, inputs: usize, outputs: usize| {
                        b.linear(&format!("{name}.{part}"), inputs, outputs, fan_in(inputs))
                    };
                    DynamicBiasLayout {
                        compress: part("compress", c.width, sizes.channels),
                        hidden: part("hidden", flat, sizes.hidden),
                        mix: part("mix", sizes.hidden, c.heads * sizes.rank),
                    }
                }),
                // Zero: no effect at first.
                relations: c.relations.then(|| {
                    b.param(&format!("block{i}.relations"), &[c.heads, RELATIONS], Init::Zero)
                }),
                // The residual branches start at zero, so that depth costs nothing at first.
                out: b.linear(&format!("block{i}.out"), c.width, c.width, Init::Zero),
                norm2: b.norm(&format!("block{i}.norm2"), c.width),
                up: b.linear(&format!("block{i}.up"), c.width, c.ffn, fan_in(c.width)),
                down: b.linear(&format!("block{i}.down"), c.ffn, c.width, Init::Zero),
            })
            .collect();
        let norm = b.norm("norm", c.width);
        let columns = HeadColumns::new(c);
        let heads = b.linear("heads", c.width, columns.all(), fan_in(c.width));
        // Zero: no effect at first.
        let transition_marks = c
            .transition_marks
            .then(|| b.param("transition.marks", &[TOKENS, MARKS, TRANSITION_OUTPUTS], Init::Zero));
        // About 35 of 4,096 pairs are legal.
        let legality_bias = b.param("legality.bias", &[TOKENS, TOKENS], Init::Constant(-4.0));
        let flat = TOKENS * c.value_channels;
        let value_hidden = b.linear("value.hidden", flat, c.value_hidden, fan_in(flat));
        let value_buckets =
            b.linear("value.buckets", c.value_hidden, BUCKETS, fan_in(c.value_hidden));
        let value_result =
            b.linear("value.result", c.value_hidden, RESULTS, fan_in(c.value_hidden));
        let value_terminal =
            b.linear("value.terminal", c.value_hidden, TERMINALS, fan_in(c.value_hidden));
        let action_context =
            b.linear("action.context", c.value_hidden, c.action_dim, fan_in(c.value_hidden));
        let action_promotion = b.param("action.promotion", &[5, c.action_dim], Init::Normal(0.1));
        let action_policy =
            c.policy_in_actions.then(|| b.param("action.policy", &[c.action_dim], Init::Zero));
        let action_buckets =
            b.linear("action.buckets", c.action_dim, BUCKETS, fan_in(c.action_dim));
        // Zero: equal players at first.
        let players = (c.players > 1)
            .then(|| b.param("players", &[c.players, c.player_segments(), c.width], Init::Zero));
        Layout {
            config: c.clone(),
            params: b.params,
            embed,
            position,
            bias_basis,
            blocks,
            norm,
            heads,
            columns,
            transition_marks,
            legality_bias,
            value_hidden,
            value_buckets,
            value_result,
            value_terminal,
            action_context,
            action_promotion,
            action_policy,
            action_buckets,
            players,
            len: b.len,
        }
    }

    /// The parameters to which a player adds a vector of its own, `[rows, width]` each: every square's embedding, and scale and shift of
    /// every normalisation (Perez et al. 2018, "FiLM"). In order, one for each of [`NetConfig::player_segments`].
    #[must_use]
    pub fn of_players(&self) -> Vec<Range<usize>> {
        let norms = self.blocks.iter().flat_map(|block| [&block.norm1, &block.norm2]);
        let norms = norms.chain([&self.norm]).flat_map(|norm| [&norm.gamma, &norm.beta]);
        std::iter::once(&self.position).chain(norms).cloned().collect()
    }

    /// The transition head's parameters, in order; they affect no other head.
    #[must_use]
    pub fn of_transitions(&self) -> Vec<Range<usize>> {
        let (all, columns) = (self.columns.all(), &self.columns.transition);
        let mut places = Vec::new();
        for (start, rows) in
            [(self.heads.weight.start, self.config.width), (self.heads.bias.start, 1)]
        {
            let starts = (0..rows).map(|row| start + row * all);
            places.extend(starts.map(|start| start + columns.start..start + columns.end));
        }
        places.extend(self.transition_marks.clone());
        places
    }

    /// Initial values, deterministic for a seed.
    #[must_use]
    pub fn init(&self, seed: u64) -> Vec<f32> {
        initial_values(&self.params, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_tile_the_vector() {
        let layout = Layout::new(&NetConfig::default());
        let mut end = 0;
        for param in &layout.params {
            assert_eq!(param.range.start, end, "{}", param.name);
            assert_eq!(param.range.len(), param.shape.iter().product::<usize>());
            end = param.range.end;
        }
        assert_eq!(end, layout.len);
    }

    #[test]
    fn initial_values_repeat_and_have_their_deviation() {
        let layout = Layout::new(&NetConfig::default());
        let values = layout.init(7);
        assert_eq!(values, layout.init(7));
        assert_ne!(values, layout.init(8));
        let rows = &values[layout.heads.weight.clone()];
        let variance = rows.iter().map(|x| x * x).sum::<f32>() / rows.len() as f32;
        let expected = 1.0 / layout.config.width as f32;
        assert!((variance / expected - 1.0).abs() < 0.05, "{variance}");
    }
}
