//! A decoder's file: its parameters, 16 bits per number.

use super::decoder::DecoderWeights;
use super::layout::WriterLayout;
use crate::parameter_file::{
    CheckpointError, Format, Precision, Tensor, format_error, parameters, read, write,
};
use std::collections::HashMap;
use std::path::Path;

const FORMAT: Format = Format { name: "mavka-writer", version: 4 };

impl DecoderWeights {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Not a decoder's file of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<DecoderWeights, CheckpointError> {
        let (tensors, _) = FORMAT.open(bytes)?;
        let layout = WriterLayout::new();
        let values = parameters(&layout.params, &tensors, |_| ())?;
        let length = values.len();
        DecoderWeights::new(values)
            .ok_or_else(|| format_error(format!("{length} parameters, expected {}", layout.len)))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Not readable, or not a decoder's file of this version.
    pub fn load(path: &Path) -> Result<DecoderWeights, CheckpointError> {
        DecoderWeights::from_bytes(&read(path)?)
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// A parameter is not finite in 16 bits, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), CheckpointError> {
        let params = self.layout.params.iter();
        let tensors = params
            .map(|param| Tensor::of(param, self.values(), Precision::Half))
            .collect::<Result<Vec<_>, _>>()?;
        write(path, &FORMAT.to_bytes(&tensors, HashMap::new())?)
    }
}
