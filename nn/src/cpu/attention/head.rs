//! What attention is given.

/// One head of one position.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Head<'a> {
    /// Queries, keys and values: rows of `dim` floats, `stride` apart, in each.
    pub qkv: [&'a [f32]; 3],
    pub stride: usize,
    pub dim: usize,
    /// `[64, 64]`, added to the scaled scores.
    pub bias: &'a [f32],
    /// The same, of this position alone.
    pub dynamic: Option<&'a [f32]>,
}
