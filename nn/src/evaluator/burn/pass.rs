//! One pass of rows through the network on a device, in a few fixed shapes: kernels are compiled when a shape
//! first occurs, which must not happen during a game.

use crate::checkpoint::Network;
use crate::cpu::Heads;
use crate::device::{DeviceError, guarded};
use crate::encode::MoveCode;
use crate::encode::{Encoded, Item};
use crate::evaluator::error::EvalError;
use crate::net::layout::{RESULTS, TERMINALS, TRANSITION_OUTPUTS};
use crate::net::{BUCKETS, Net, TOKENS};
use burn::tensor::{Device, Tensor};

/// Padded shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shapes {
    /// Rows of a pass, ascending; empty: no padding.
    pub sizes: &'static [usize],
    /// Moves per row.
    pub moves: usize,
}

/// Larger inputs take several passes.
const LARGEST: usize = 1024;

impl Shapes {
    /// For a GPU, where few shapes matter more than the waste of padding.
    /// 32 rows take about as long as one there: starting the kernels does.
    pub const PADDED: Shapes = Shapes { sizes: &[32, 256, LARGEST], moves: 64 };
    /// For a driver that computes on the CPU, by wgpu: on two cores one row took llvmpipe 0.1 s, 8 took 0.5, 32 took 1.3.
    pub const SOFTWARE: Shapes = Shapes { sizes: &[1, 8], moves: 64 };
    /// For a CPU, which compiles no kernels.
    pub const ANY: Shapes = Shapes { sizes: &[], moves: 0 };

    /// Rows of the next pass out of `left`, and their padded number.
    pub fn next(self, left: usize) -> (usize, usize) {
        let fits = self.sizes.iter().rev().find(|&&size| size <= left);
        let holds = self.sizes.iter().find(|&&size| size >= left);
        match (fits, holds) {
            // 257 rows are better passed as 256 and 32 than as 1024.
            (Some(&size), Some(_)) if left < 2 * size => (size, size),
            (_, Some(&size)) => (left, size),
            (Some(&size), None) => (size, size),
            (None, None) => (left.min(LARGEST), left.min(LARGEST)),
        }
    }

    /// A position and its moves as rows; several rows if it has more moves than a row holds. A move's logits do
    /// not depend on the other moves in the row.
    pub fn rows(self, position: Encoded) -> Vec<Encoded> {
        if self.moves == 0 || position.moves.len() <= self.moves {
            return vec![position];
        }
        let Encoded { features, moves } = position;
        let row =
            |moves: &[MoveCode]| Encoded { features: features.clone(), moves: moves.to_vec() };
        moves.chunks(self.moves).map(row).collect()
    }
}

/// The logits of one row with `m` moves.
#[derive(Clone, Debug, Default)]
pub struct RowLogits {
    /// `[m]`.
    pub policy: Vec<f32>,
    /// `[m, 64]`.
    pub actions: Vec<f32>,
    /// `[64]`.
    pub value: Vec<f32>,
    /// `[3]`.
    pub result: Vec<f32>,
    /// `[3]`; this and the following only with [`Heads::All`].
    pub terminal: Vec<f32>,
    /// `[64, 64]` (from, to).
    pub legality: Vec<f32>,
    /// `[64]`.
    pub promotes: Vec<f32>,
    /// `[64, 16]`.
    pub transition: Vec<f32>,
}

/// A network on a device.
pub struct Pass {
    net: Net,
    device: Device,
    shapes: Shapes,
}

impl Pass {
    /// Puts the network on `device`.
    ///
    /// # Errors
    /// The device failed, or the network's values do not fit its layout.
    pub fn new(network: &Network, device: &Device, shapes: Shapes) -> Result<Pass, EvalError> {
        let device = device.clone().without_autodiff();
        let net = guarded(|| Net::from_values(&network.layout, &network.values, &device))
            .map_err(|error| EvalError::Device(error.0))?
            .map_err(|error| EvalError::Device(error.to_string()))?;
        Ok(Pass { net, device, shapes })
    }

    /// The logits of `rows`, in order, computed in one pass padded to `size` rows.
    ///
    /// # Errors
    /// The device failed.
    pub fn logits(
        &self,
        rows: &[Encoded],
        size: usize,
        heads: Heads,
    ) -> Result<Vec<RowLogits>, EvalError> {
        guarded(|| self.compute(rows, size, heads)).map_err(|error| EvalError::Device(error.0))?
    }

    fn compute(
        &self,
        rows: &[Encoded],
        size: usize,
        heads: Heads,
    ) -> Result<Vec<RowLogits>, EvalError> {
        let items: Vec<Item<'_>> = rows.iter().map(Encoded::item).collect();
        let inputs = self.net.inputs(&items, size, self.shapes.moves, &self.device);
        let k = inputs.moves;
        let (play, world) = match heads {
            Heads::Play => (self.net.play(&inputs), None),
            Heads::All => {
                let (play, world) = self.net.forward(&inputs);
                (play, Some(world))
            }
        };
        let mut parts = vec![
            (k, play.policy.reshape([-1])),
            (k * BUCKETS, play.actions.reshape([-1])),
            (BUCKETS, play.values.buckets.reshape([-1])),
            (RESULTS, play.values.result.reshape([-1])),
        ];
        if let Some(world) = world {
            parts.extend([
                (TERMINALS, play.values.terminal.reshape([-1])),
                (TOKENS * TOKENS, world.legality.reshape([-1])),
                (TOKENS, world.promotes.reshape([-1])),
                (TOKENS * TRANSITION_OUTPUTS, world.transition.reshape([-1])),
            ]);
        }
        // Floats per row, head by head.
        let (lengths, parts): (Vec<usize>, Vec<Tensor<1>>) = parts.into_iter().unzip();
        // One download for all heads.
        let all = Tensor::<1>::cat(parts, 0).try_into_vec_as::<f32>();
        let all = all.map_err(|error| EvalError::Device(DeviceError::of(error).0))?;
        let logits = rows.iter().enumerate().map(|(p, row)| {
            let mut start = 0;
            let mut heads = lengths.iter().map(|&length| {
                let own = &all[start + p * length..][..length];
                start += inputs.positions * length;
                own
            });
            let mut next = |most: usize| {
                let head = heads.next().unwrap_or_default();
                head[..head.len().min(most)].to_vec()
            };
            let m = row.moves.len();
            RowLogits {
                policy: next(m),
                actions: next(m * BUCKETS),
                value: next(usize::MAX),
                result: next(usize::MAX),
                terminal: next(usize::MAX),
                legality: next(usize::MAX),
                promotes: next(usize::MAX),
                transition: next(usize::MAX),
            }
        });
        Ok(logits.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_have_few_sizes_and_waste_little() {
        let cut = |mut left: usize| {
            let mut passes = Vec::new();
            while left > 0 {
                let (taken, size) = Shapes::PADDED.next(left);
                assert!(0 < taken && taken <= size && Shapes::PADDED.sizes.contains(&size));
                passes.push(size);
                left -= taken;
            }
            passes
        };
        assert_eq!(cut(1), [32]);
        assert_eq!(cut(32), [32]);
        assert_eq!(cut(33), [32, 32]);
        assert_eq!(cut(64), [256]);
        assert_eq!(cut(257), [256, 32]);
        assert_eq!(cut(700), [1024]);
        assert_eq!(cut(2500), [1024, 1024, 256, 256]);
        assert_eq!(Shapes::ANY.next(37), (37, 37));
        assert_eq!(Shapes::ANY.next(5000), (LARGEST, LARGEST));
    }
}
