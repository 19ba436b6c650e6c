//! Value: cross-entropy of the state's 64 win-probability buckets, `[64]`, against the bucketed value
//! (paper 001, section 3, L_SV; paper 000 uses the same buckets for moves).

use super::entropy::bucket_entropy;
use crate::cpu::{Activations, HeadGradients};
use crate::data::Example;
use crate::net::BUCKETS;
use crate::train::buckets::Buckets;

/// The loss of position `p`; None if its value is unknown.
pub(super) fn loss(
    example: &Example,
    buckets: &Buckets,
    weight: f32,
    p: usize,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> Option<f64> {
    let row = p * BUCKETS..(p + 1) * BUCKETS;
    example.value.is_finite().then(|| {
        let target = buckets.target(example.value);
        bucket_entropy(&activations.value[row.clone()], target, weight, &mut grads.value[row])
    })
}
