//! A decoder's file: its parameters as one safetensors file with format and version, 16 bits a number.

use super::decoder::DecoderWeights;
use super::layout::Layout;
use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

const FORMAT: &str = "mavka-writer";
const VERSION: &str = "1";

/// What is wrong with a file.
#[derive(Debug)]
pub enum WriterFileError {
    /// It cannot be read or written.
    Io(std::io::Error),
    /// Not a file of ours, or damaged: what was found and what was expected.
    Format(String),
}

impl fmt::Display for WriterFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriterFileError::Io(error) => write!(f, "{error}"),
            WriterFileError::Format(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for WriterFileError {}

fn format_error(what: impl fmt::Display) -> WriterFileError {
    WriterFileError::Format(what.to_string())
}

impl DecoderWeights {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Not a decoder's file of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<DecoderWeights, WriterFileError> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(format_error)?;
        let facts = header.metadata().clone().unwrap_or_default();
        for (fact, expected) in [("format", FORMAT), ("version", VERSION)] {
            let found = facts.get(fact).map_or("none", String::as_str);
            if found != expected {
                return Err(format_error(format!("{fact} {found}, expected {expected}")));
            }
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(format_error)?;
        let layout = Layout::new();
        let mut values = Vec::with_capacity(layout.len);
        for param in &layout.params {
            let tensor = tensors.tensor(&param.name).map_err(format_error)?;
            if tensor.dtype() != Dtype::F16 || tensor.shape() != param.shape {
                let found = format!("{:?} {:?}", tensor.dtype(), tensor.shape());
                let expected = format!("F16 {:?}", param.shape);
                return Err(format_error(format!("{}: {found}, expected {expected}", param.name)));
            }
            let numbers = tensor.data().chunks_exact(2);
            values.extend(numbers.map(|bytes| f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()));
        }
        if !values.iter().all(|value| value.is_finite()) {
            return Err(format_error("a parameter is no number"));
        }
        let length = values.len();
        DecoderWeights::new(values)
            .ok_or_else(|| format_error(format!("{length} parameters, expected {}", layout.len)))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Not readable, or not a decoder's file of this version.
    pub fn load(path: &Path) -> Result<DecoderWeights, WriterFileError> {
        DecoderWeights::from_bytes(&std::fs::read(path).map_err(WriterFileError::Io)?)
    }

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), WriterFileError> {
        let layout = Layout::new();
        let half = |range: &std::ops::Range<usize>| -> Vec<u8> {
            let numbers = self.values()[range.clone()].iter();
            numbers.flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
        };
        let stored: Vec<Vec<u8>> = layout.params.iter().map(|param| half(&param.range)).collect();
        let mut views = Vec::new();
        for (param, bytes) in layout.params.iter().zip(&stored) {
            let view = TensorView::new(Dtype::F16, param.shape.clone(), bytes);
            views.push((param.name.as_str(), view.map_err(format_error)?));
        }
        let facts = [("format", FORMAT), ("version", VERSION)];
        let facts: HashMap<String, String> =
            facts.map(|(fact, value)| (fact.to_owned(), value.to_owned())).into();
        let bytes = safetensors::serialize(views, Some(facts)).map_err(format_error)?;
        let part = path.with_extension("part");
        std::fs::write(&part, bytes).map_err(WriterFileError::Io)?;
        std::fs::rename(&part, path).map_err(WriterFileError::Io)
    }
}
