//! Parameters and their file.

use super::{BUCKETS, HIDDEN, INPUTS};
use nn::net::params::{Builder, Init, Param, fan_in, initial_values};
use nn::parameter_file::{CheckpointError, Format, Precision, Tensor, parameters, read, write};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

const FORMAT: Format = Format { name: "mavka-nnue", version: 2 };

/// Offsets of the parameters in a flat vector.
pub struct Layout {
    /// In the order of the flat vector.
    pub params: Vec<Param>,
    /// `[INPUTS, HIDDEN]`.
    pub rows: Range<usize>,
    /// `[HIDDEN]`.
    pub bias: Range<usize>,
    /// `[BUCKETS, 2 * HIDDEN]`: the mover's channels, then the other side's.
    pub output: Range<usize>,
    /// `[BUCKETS]`.
    pub output_bias: Range<usize>,
}

impl Layout {
    /// The only one there is.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a layout is computed")]
    pub fn new() -> Layout {
        let mut builder = Builder::default();
        // About thirty rows are summed.
        let rows = builder.param("input.weight", &[INPUTS, HIDDEN], fan_in(32));
        let bias = builder.param("input.bias", &[HIDDEN], Init::Constant(0.3));
        let output = builder.param("output.weight", &[BUCKETS, 2 * HIDDEN], fan_in(2 * HIDDEN));
        let output_bias = builder.param("output.bias", &[BUCKETS], Init::Zero);
        Layout { params: builder.params, rows, bias, output, output_bias }
    }
}

/// Parameters in single precision, for training and storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// In the order of [`Layout`].
    values: Vec<f32>,
}

impl Parameters {
    /// Random initialisation.
    #[must_use]
    pub fn new(seed: u64) -> Parameters {
        Parameters { values: initial_values(&Layout::new().params, seed) }
    }

    /// From values in the order of [`Layout`].
    #[must_use]
    pub fn of(values: Vec<f32>) -> Parameters {
        Parameters { values }
    }

    /// In the order of [`Layout`].
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Names the fault: another format, a missing tensor, NaN or infinity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Parameters, CheckpointError> {
        let (tensors, _) = FORMAT.open(bytes)?;
        Ok(Parameters { values: parameters(&Layout::new().params, &tensors, |_| ())? })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`Parameters::from_bytes`], or it cannot be read.
    pub fn load(path: &Path) -> Result<Parameters, CheckpointError> {
        Parameters::from_bytes(&read(path)?)
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// A parameter is not finite in 16 bits, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), CheckpointError> {
        let layout = Layout::new();
        let params = layout.params.iter();
        let tensors = params
            .map(|param| Tensor::of(param, &self.values, Precision::Half))
            .collect::<Result<Vec<_>, _>>()?;
        write(path, &FORMAT.to_bytes(&tensors, HashMap::new())?)
    }
}
