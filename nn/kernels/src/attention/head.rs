//! Input of the attention kernels that compute one head of one position.

/// One head of one position.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    /// Queries, keys and values: 64 rows of `dim` floats each, `stride` apart.
    pub qkv: [&'a [f32]; 3],
    /// Floats from row to row of queries, keys and values.
    pub stride: usize,
    /// Channels.
    pub dim: usize,
    /// `[64, 64]`, added to the scaled scores.
    pub bias: &'a [f32],
    /// `[64, 64]`, likewise, of this position only.
    pub dynamic: Option<&'a [f32]>,
}
