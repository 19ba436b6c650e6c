//! Widens a network without changing its function (Chen et al. 2016, "Net2Net", section 2): every channel is
//! replicated, and each consumer of a channel splits its weight among the copies. The split is random, so that
//! the copies learn different things.

use super::layout::Layout;
use super::params::Param;
use crate::rng::Rng;

/// Meaning of a parameter's dimension.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    /// Channels of a token.
    Width,
    /// Heads, and channels within each.
    Heads,
    /// [`Axis::Heads`] three times: queries, keys, values.
    Qkv,
    /// Hidden channels of a block's FFN.
    Ffn,
    /// The same number of entries per head.
    PerHead,
    /// Does not grow.
    Fixed,
}

/// The dimensions of a parameter as a matrix `[in, out]`; `None` without inputs.
fn axes(name: &str) -> (Option<Axis>, Axis) {
    let part = match name.split_once('.') {
        Some((block, part)) if block.starts_with("block") => part,
        _ => name,
    };
    match part {
        "embed.rows" | "embed.position" => (None, Axis::Width),
        "heads.weight" | "dynamic_bias.compress.weight" => (Some(Axis::Width), Axis::Fixed),
        "qkv.weight" => (Some(Axis::Width), Axis::Qkv),
        "qkv.bias" => (None, Axis::Qkv),
        "out.weight" => (Some(Axis::Heads), Axis::Width),
        "up.weight" => (Some(Axis::Width), Axis::Ffn),
        "up.bias" => (None, Axis::Ffn),
        "down.weight" => (Some(Axis::Ffn), Axis::Width),
        "out.bias" | "down.bias" => (None, Axis::Width),
        "dynamic_bias.mix.weight" => (Some(Axis::Fixed), Axis::PerHead),
        "attention_bias" | "relations" | "dynamic_bias.mix.bias" => (None, Axis::PerHead),
        name if name.ends_with(".gamma") || name.ends_with(".beta") => (None, Axis::Width),
        _ => (None, Axis::Fixed),
    }
}

/// From a network's sizes to larger ones.
pub(crate) struct Growth<'a> {
    old: &'a Layout,
    new: &'a Layout,
    rng: Rng,
}

impl<'a> Growth<'a> {
    /// None if some channel would have more copies than another: the width must grow by a whole factor, or
    /// normalisation would change the function. Heads grow wider, or more numerous at the same width by a whole
    /// factor. FFN channels must not shrink.
    pub fn new(old: &'a Layout, new: &'a Layout, seed: u64) -> Option<Growth<'a>> {
        let (a, b) = (&old.config, &new.config);
        let heads = a.heads == b.heads || a.width / a.heads == b.width / b.heads;
        let grows = b.width.is_multiple_of(a.width) && heads && a.ffn <= b.ffn;
        grows.then(|| Growth { old, new, rng: Rng::new(seed) })
    }

    /// Fills the parameter `new` from the old network's `old`; false, with nothing written, if their dimensions
    /// do not match.
    pub fn fill(&mut self, new: &Param, old: &Param, from: &[f32], to: &mut [f32]) -> bool {
        let (input, output) = axes(&new.name);
        let sides = |param: &Param| match (input, param.shape.as_slice()) {
            (Some(_), [rows, cols]) => (*rows, *cols),
            (None, [.., cols]) if !matches!(output, Axis::Fixed | Axis::PerHead) => {
                (param.shape.iter().product::<usize>() / cols, *cols)
            }
            _ => (1, param.shape.iter().product()),
        };
        let ((rows, cols), (old_rows, old_cols)) = (sides(new), sides(old));
        let rows_of: Vec<usize> =
            (0..rows).map(|i| self.source(input.unwrap_or(Axis::Fixed), i, rows)).collect();
        let cols_of: Vec<usize> = (0..cols).map(|i| self.source(output, i, cols)).collect();
        let within = |of: &[usize], end: usize| of.iter().max().is_some_and(|last| last + 1 == end);
        if !within(&rows_of, old_rows) || !within(&cols_of, old_cols) {
            return false;
        }
        let mut copies = vec![0.0; old_rows];
        rows_of.iter().for_each(|&row| copies[row] += 1.0);
        for (col, &old_col) in cols_of.iter().enumerate() {
            let shares = self.shares(&rows_of, &copies);
            let factor = self.query_factor(output, col);
            for (row, &old_row) in rows_of.iter().enumerate() {
                let value = from[old_row * old_cols + old_col];
                to[row * cols + col] = factor * shares[row] * value;
            }
        }
        true
    }

    /// The old index that new index `i` of `len` copies.
    fn source(&self, axis: Axis, i: usize, len: usize) -> usize {
        let (a, b) = (&self.old.config, &self.new.config);
        let within_heads = |i: usize| {
            let (old, new) = (a.width / a.heads, b.width / b.heads);
            (i / new % a.heads) * old + i % new % old
        };
        match axis {
            Axis::Width => i % a.width,
            Axis::Ffn => i % a.ffn,
            Axis::Heads => within_heads(i),
            Axis::Qkv => (i / b.width) * a.width + within_heads(i % b.width),
            Axis::PerHead => i % (len / b.heads * a.heads),
            Axis::Fixed => i,
        }
    }

    /// A share for each row; those of one source row's copies add up to 1; 1 for a single copy.
    fn shares(&mut self, rows_of: &[usize], copies: &[f64]) -> Vec<f32> {
        let mut sums = vec![0.0; copies.len()];
        let mut shares = vec![1.0; rows_of.len()];
        for (share, &row) in shares.iter_mut().zip(rows_of) {
            if copies[row] > 1.0 {
                *share = 0.5 + self.rng.unit();
            }
            sums[row] += *share;
        }
        shares.iter().zip(rows_of).map(|(share, &row)| (share / sums[row]) as f32).collect()
    }

    /// Scores are divided by sqrt(dim), which may grow: `n` times the sum over sqrt(`n` times the channels).
    fn query_factor(&self, axis: Axis, col: usize) -> f32 {
        let (a, b) = (&self.old.config, &self.new.config);
        if axis == Axis::Qkv && col < b.width {
            let (old, new) = (a.width / a.heads, b.width / b.heads);
            (old as f32 / new as f32).sqrt()
        } else {
            1.0
        }
    }
}
