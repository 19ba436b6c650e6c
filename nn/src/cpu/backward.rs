//! Gradient of [`super::forward()`], layer by layer from the heads down, accumulated in one flat vector laid
//! out as the parameters are.

use super::activations::{Activations, FloatLayer, HeadGradients, Scratch, size, zeroed};
use super::layers::{
    Gradient, InputGradient, input_gradient, linear_backward, norm_backward, project_backward,
    relu_backward, slopes, take_gradient,
};
use super::profile::Stage;
use super::relations::Relations;
use super::weights::Weights;
use super::{dynamic_bias, multihead};
use crate::encode::Item;
use crate::encode::board::MARKS;
use crate::kernels::gemm::{Accumulate, Mat, matmul, multiply_transposed};
use crate::kernels::ops;
use crate::net::TOKENS;
use crate::net::layout::{BlockLayout, Layout, TRANSITION_OUTPUTS};
use std::ops::Range;

/// Adds dL/d(parameters) of a forward pass that kept its layers and computed all heads; `w` is
/// the second of [`Weights::both`].
pub fn backward(
    layout: &Layout,
    w: &Weights,
    items: &[Item<'_>],
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
    grads: &mut [f32],
) {
    let (n, width) = (items.len(), layout.config.width);
    let rows = n * TOKENS;
    s.stages.begin(Stage::Heads);
    zeroed(&mut s.dtokens, rows * activations.tokens.columns);
    zeroed(&mut s.dboard, n * layout.config.value_hidden);
    let g = &mut Gradient { w, grads };
    move_heads(layout, g, items, activations, heads, s);
    board_heads(layout, g, n, activations, heads, s);
    token_heads(layout, g, n, activations, heads, s);
    marks(layout, items, heads, g);

    s.stages.begin(Stage::Tokens);
    size(&mut s.dnormed, rows * width);
    take_gradient(g, &layout.heads, &s.dtokens, &mut s.dout);
    let to = InputGradient { dx: &mut s.dnormed, into: Accumulate::Replace };
    project_backward(g, &layout.heads, &activations.norm.out, &s.dout, to);
    s.stages.begin(Stage::Norm);
    zeroed(&mut s.dx, rows * width);
    let kept = (&activations.norm.unit, &activations.norm.scale[..]);
    norm_backward(g, &layout.norm, kept, &s.dnormed, &mut s.dx, &mut s.scratch[0]);
    for (places, layer) in layout.blocks.iter().zip(&activations.layers).rev() {
        block(layout, g, places, &activations.relations, layer, s);
    }
    s.stages.begin(Stage::Embedding);
    embed(layout, items, &s.dx, g);
    s.stages.begin(Stage::Outside);
}

fn block(
    layout: &Layout,
    g: &mut Gradient<'_>,
    places: &BlockLayout,
    relations: &Relations,
    layer: &FloatLayer,
    s: &mut Scratch,
) {
    let (width, ffn) = (layout.config.width, places.up.bias.len());
    s.stages.begin(Stage::Down);
    take_gradient(g, &places.down, &s.dx, &mut s.dout);
    s.dwide.shape(g.w.arithmetic(), s.dout.rows(), ffn);
    for first in (0..s.dout.rows()).step_by(TOKENS) {
        let (maps, given) = ((&places.up, &places.down), (&s.dout, &layer.squared));
        let rows = first..first + TOKENS;
        slopes(g, maps, given, rows, &mut s.dwide, &mut s.scratch, &mut s.stages);
    }
    s.stages.begin(Stage::Down);
    multiply_transposed(
        g.w.isa(),
        &mut g.grads[places.down.weight.clone()],
        &layer.squared,
        &s.dout,
    );
    s.stages.begin(Stage::Up);
    let to = InputGradient { dx: &mut s.dnormed, into: Accumulate::Replace };
    project_backward(g, &places.up, &layer.norm2.out, &s.dwide, to);
    s.stages.begin(Stage::Norm);
    let kept = (&layer.norm2.unit, &layer.norm2.scale[..]);
    norm_backward(g, &places.norm2, kept, &s.dnormed, &mut s.dx, &mut s.scratch[0]);

    s.stages.begin(Stage::Output);
    take_gradient(g, &places.out, &s.dx, &mut s.dout);
    multiply_transposed(g.w.isa(), &mut g.grads[places.out.weight.clone()], &layer.mixed, &s.dout);
    let rows = 0..s.dout.rows();
    s.dmixed.shape(g.w.arithmetic(), rows.end, width);
    input_gradient(g.w, &places.out, &s.dout, rows, &mut s.dmixed, &mut s.scratch[0]);
    s.stages.begin(Stage::Attention);
    multihead::backward(layout, g, places, layer, s);
    s.stages.begin(Stage::Qkv);
    let to = InputGradient { dx: &mut s.dnormed, into: Accumulate::Replace };
    project_backward(g, &places.qkv, &layer.norm1.out, &s.dout, to);
    s.stages.begin(Stage::Bias);
    if let Some(bias) = &places.dynamic_bias {
        dynamic_bias::backward(layout, g, bias, layer, s);
    }
    if let Some(table) = &places.relations {
        let [dbias, _] = &mut s.scratch;
        size(dbias, s.dscores.rows() * s.dscores.cols());
        s.dscores.get(0, dbias);
        relations.backward(dbias, &mut g.grads[table.clone()]);
    }
    s.stages.begin(Stage::Norm);
    let kept = (&layer.norm1.unit, &layer.norm1.scale[..]);
    norm_backward(g, &places.norm1, kept, &s.dnormed, &mut s.dx, &mut s.scratch[0]);
}

fn embed(layout: &Layout, items: &[Item<'_>], dx: &[f32], g: &mut Gradient<'_>) {
    let (width, isa) = (layout.config.width, g.w.isa());
    let grads = &mut *g.grads;
    ops::add_rows(isa, dx, &mut grads[layout.position.clone()]);
    for (item, dx) in items.iter().zip(dx.chunks_exact(TOKENS * width)) {
        for (t, dx) in dx.chunks_exact(width).enumerate() {
            item.features.embedding_rows(t, |row, factor| {
                let grad = &mut grads[layout.embed.start + row * width..][..width];
                ops::add_scaled(isa, grad, factor, dx);
            });
        }
    }
}

/// Policy and action values, down to `dtokens`, `dcontext` and, through it, `dboard`.
fn move_heads(
    layout: &Layout,
    g: &mut Gradient<'_>,
    items: &[Item<'_>],
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
) {
    let (c, dim) = (&layout.columns, layout.config.action_dim);
    size(&mut s.dhidden, activations.heads.hidden.len());
    let to = InputGradient { dx: &mut s.dhidden, into: Accumulate::Replace };
    linear_backward(g, &layout.action_buckets, &activations.heads.hidden, &heads.actions, to);
    relu_backward(&mut s.dhidden, &activations.heads.hidden);
    zeroed(&mut s.dcontext, activations.heads.context.len());
    let scale = (layout.config.policy_dim as f32).sqrt().recip();
    let mut rows = s.dhidden.chunks_exact(dim).zip(&heads.policy);
    let (w, isa, grads) = (g.w, g.w.isa(), &mut *g.grads);
    for (p, item) in items.iter().enumerate() {
        let dcontext = &mut s.dcontext[p * dim..][..dim];
        for m in item.moves {
            let Some((dhidden, &dlogit)) = rows.next() else { return };
            let start = |t: u8| (p * TOKENS + usize::from(t)) * activations.tokens.columns;
            let (from, to) = (start(m.from), start(m.to));
            let columns =
                |start: usize, range: &Range<usize>| start + range.start..start + range.end;
            ops::add_scaled(isa, dcontext, 1.0, dhidden);
            ops::add_scaled(isa, &mut s.dtokens[columns(from, &c.action_from)], 1.0, dhidden);
            ops::add_scaled(isa, &mut s.dtokens[columns(to, &c.action_to)], 1.0, dhidden);
            let kind = layout.action_promotion.start + usize::from(m.promotion) * dim;
            ops::add_scaled(isa, &mut grads[kind..][..dim], 1.0, dhidden);

            let (query, key) = (columns(from, &c.policy_from), columns(to, &c.policy_to));
            if let Some(share) = &layout.action_policy {
                for i in 0..dim {
                    let (q, k) = (query.start + i, key.start + i);
                    let product = activations.tokens.rows[q] * activations.tokens.rows[k];
                    grads[share.start + i] += dhidden[i] * product;
                    let slope = dhidden[i] * w[share.start + i];
                    s.dtokens[q] += slope * activations.tokens.rows[k];
                    s.dtokens[k] += slope * activations.tokens.rows[q];
                }
            }
            ops::add_scaled(
                isa,
                &mut s.dtokens[query.clone()],
                scale * dlogit,
                &activations.tokens.rows[key.clone()],
            );
            ops::add_scaled(
                isa,
                &mut s.dtokens[key],
                scale * dlogit,
                &activations.tokens.rows[query],
            );
            if m.promotion > 0 {
                s.dtokens[to + c.promotion.start + usize::from(m.promotion) - 1] += dlogit;
            }
        }
    }
    let to = InputGradient { dx: &mut s.dboard, into: Accumulate::Add };
    linear_backward(g, &layout.action_context, &activations.heads.board, &s.dcontext, to);
}

/// Gradient of the value, result and terminal heads and of the moves' context, down to `dtokens`.
fn board_heads(
    layout: &Layout,
    g: &mut Gradient<'_>,
    n: usize,
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
) {
    for (places, dout) in [
        (&layout.value_buckets, &heads.value),
        (&layout.value_result, &heads.result),
        (&layout.value_terminal, &heads.terminal),
    ] {
        let to = InputGradient { dx: &mut s.dboard, into: Accumulate::Add };
        linear_backward(g, places, &activations.heads.board, dout, to);
    }
    relu_backward(&mut s.dboard, &activations.heads.board);
    let channels = layout.config.value_channels;
    size(&mut s.dflat, n * TOKENS * channels);
    let to = InputGradient { dx: &mut s.dflat, into: Accumulate::Replace };
    linear_backward(g, &layout.value_hidden, &activations.heads.flat, &s.dboard, to);
    relu_backward(&mut s.dflat, &activations.heads.flat);
    let rows = s.dtokens.chunks_exact_mut(activations.tokens.columns);
    for (row, dflat) in rows.zip(s.dflat.chunks_exact(channels)) {
        row[layout.columns.value.clone()].copy_from_slice(dflat);
    }
}

/// Gradient of the square marks' contribution to the transition logits.
fn marks(layout: &Layout, items: &[Item<'_>], heads: &HeadGradients, g: &mut Gradient<'_>) {
    let Some(table) = &layout.transition_marks else { return };
    let (isa, grads, outputs) = (g.w.isa(), &mut g.grads[table.clone()], TRANSITION_OUTPUTS);
    for (item, rows) in items.iter().zip(heads.transition.chunks_exact(TOKENS * outputs)) {
        for (t, row) in rows.chunks_exact(outputs).enumerate() {
            if let Some(mark) = item.features.mark(t) {
                ops::add_scaled(
                    isa,
                    &mut grads[(t * MARKS + mark) * outputs..][..outputs],
                    1.0,
                    row,
                );
            }
        }
    }
}

/// Legality and transition, down to `dtokens`.
fn token_heads(
    layout: &Layout,
    g: &mut Gradient<'_>,
    n: usize,
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
) {
    let (c, dim) = (&layout.columns, layout.config.legality_dim);
    let square = TOKENS * TOKENS;
    let method = g.w.method();
    ops::add_rows(method.isa, &heads.legality, &mut g.grads[layout.legality_bias.clone()]);
    let scale = (dim as f32).sqrt().recip();
    for p in 0..n {
        let start = p * TOKENS * activations.tokens.columns;
        let side = |columns: &Range<usize>| {
            Mat::new(
                &activations.tokens.rows[start + columns.start..],
                TOKENS,
                dim,
                activations.tokens.columns,
            )
        };
        let dlogits = Mat::new(&heads.legality[p * square..], TOKENS, TOKENS, TOKENS);
        let from = &mut s.dtokens[start + c.legality_from.start..];
        matmul(
            method,
            from,
            activations.tokens.columns,
            Accumulate::Replace,
            scale,
            dlogits,
            side(&c.legality_to),
        );
        let to = &mut s.dtokens[start + c.legality_to.start..];
        matmul(
            method,
            to,
            activations.tokens.columns,
            Accumulate::Replace,
            scale,
            dlogits.t(),
            side(&c.legality_from),
        );
    }
    let rows = s.dtokens.chunks_exact_mut(activations.tokens.columns);
    let gradients = heads.transition.chunks_exact(c.transition.len()).zip(&heads.promotes);
    for (row, (transition, promotes)) in rows.zip(gradients) {
        row[c.transition.clone()].copy_from_slice(transition);
        row[c.promotes.start] = *promotes;
    }
}
