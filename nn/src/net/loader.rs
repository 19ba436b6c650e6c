//! Loads the parameters of the flat vector into burn's layers, on the device.

use super::params;
use burn::module::Param;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Device, Tensor, TensorData};
use std::ops::Range;

/// Slices parameters out of the flat vector on the device.
pub(super) struct Loader {
    /// `[layout.len]`.
    values: Tensor<1>,
    device: Device,
}

impl Loader {
    /// One upload for all parameters; slicing on the device is cheap.
    pub(super) fn new(values: &[f32], device: &Device) -> Loader {
        let data = TensorData::new(values.to_vec(), [values.len()]);
        Loader { values: Tensor::from_data(data, device), device: device.clone() }
    }

    pub(super) fn param<const D: usize>(
        &self,
        range: &Range<usize>,
        shape: [usize; D],
    ) -> Param<Tensor<D>> {
        Param::from_tensor(self.values.clone().slice(range.clone()).reshape(shape))
    }

    pub(super) fn linear(&self, places: &params::Linear) -> Linear {
        let outputs = places.bias.len();
        Linear {
            weight: self.param(&places.weight, [places.weight.len() / outputs, outputs]),
            bias: Some(self.param(&places.bias, [outputs])),
        }
    }

    pub(super) fn norm(&self, places: &params::Norm) -> LayerNorm {
        let width = places.gamma.len();
        // burn's default epsilon, 1e-5, is that of `kernels::ops`.
        let mut norm = LayerNormConfig::new(width).init(&self.device);
        norm.gamma = self.param(&places.gamma, [width]);
        norm.beta = Some(self.param(&places.beta, [width]));
        norm
    }
}
