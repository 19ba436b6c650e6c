//! File format of a trained regressor.

use super::board::Board;
use super::features::Features;
use super::layers::Shape;
use super::network::Network;
use super::successors::BoardValue;
use engine::process::errors::quote_path;
use nn::files::read_regular;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Magic bytes; the version follows and ends the line.
pub const MAGIC: &[u8] = b"MAVKA-REGRESSOR-";
/// Version of the format.
const VERSION: &[u8] = b"2\n";

/// Maximum file size: the largest of ours have about 10 MB.
pub const MAX_BYTES: u64 = 1 << 30;

/// Second line of a file.
#[derive(Serialize, Deserialize)]
struct Header {
    features: String,
    layers: Vec<Shape>,
}

/// Error of a regressor's file.
#[derive(Debug)]
pub enum ModelError {
    /// Unknown version.
    Version,
    /// Truncated header.
    Cut,
    /// Invalid header.
    Header(serde_json::Error),
    /// Unknown features.
    Features(String),
    /// Wrong number of parameters, or a NaN or infinity.
    Numbers,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no regressor: ")?;
        match self {
            ModelError::Version => f.write_str("it is of another version; train it again"),
            ModelError::Cut => f.write_str("its header has no end"),
            ModelError::Header(why) => why.fmt(f),
            ModelError::Features(name) => write!(f, "unknown features `{name}`"),
            ModelError::Numbers => f.write_str("its numbers do not fit its layers"),
        }
    }
}

impl std::error::Error for ModelError {}

/// Error of opening a regressor.
#[derive(Debug)]
pub enum OpenError {
    /// It cannot be read.
    File(PathBuf, io::Error),
    /// Another file format, or a damaged regressor.
    Model(PathBuf, Option<ModelError>),
}

impl OpenError {
    /// The file does not exist.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, OpenError::File(_, why) if why.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::File(file, why) => write!(f, "{}: {why}", quote_path(file)),
            OpenError::Model(file, Some(why)) => write!(f, "{}: {why}", quote_path(file)),
            OpenError::Model(file, None) => write!(f, "{} is no regressor", quote_path(file)),
        }
    }
}

impl std::error::Error for OpenError {}

/// A regressor.
#[derive(Clone, Debug, PartialEq)]
pub struct Regressor {
    /// Encoding of the board.
    pub features: Features,
    /// The network.
    pub network: Network,
}

impl Regressor {
    /// An untrained regressor.
    #[must_use]
    pub fn new(features: Features, seed: u64) -> Regressor {
        Regressor { features, network: Network::new(features.layers(), seed) }
    }

    /// Serializes it.
    ///
    /// # Errors
    /// Never: the header is plain JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let (features, layers) = (self.features.name().to_owned(), self.network.shapes());
        let mut bytes = [MAGIC, VERSION].concat();
        bytes.extend(serde_json::to_vec(&Header { features, layers })?);
        bytes.push(b'\n');
        bytes.extend(self.network.values().into_iter().flat_map(f32::to_le_bytes));
        Ok(bytes)
    }

    /// Opens the regressor in `file`.
    ///
    /// # Errors
    /// The file and its error.
    pub fn open(file: &Path) -> Result<Regressor, OpenError> {
        let bytes =
            read_regular(file, MAX_BYTES).map_err(|why| OpenError::File(file.to_owned(), why))?;
        match Regressor::from_bytes(&bytes) {
            Some(model) => model.map_err(|why| OpenError::Model(file.to_owned(), Some(why))),
            None => Err(OpenError::Model(file.to_owned(), None)),
        }
    }

    /// Parses a regressor; None if the bytes are another format.
    ///
    /// # Errors
    /// The magic bytes match, but the rest is invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Result<Regressor, ModelError>> {
        let rest = bytes.strip_prefix(MAGIC)?;
        Some(rest.strip_prefix(VERSION).ok_or(ModelError::Version).and_then(Regressor::read))
    }

    fn read(rest: &[u8]) -> Result<Regressor, ModelError> {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(ModelError::Cut)?;
        let header: Header = serde_json::from_slice(&rest[..end]).map_err(ModelError::Header)?;
        let features = Features::named(&header.features)
            .ok_or_else(|| ModelError::Features(header.features.clone()))?;
        let (chunks, odd) = rest[end + 1..].as_chunks::<4>();
        let values: Vec<f32> = chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let network = Network::from_values(&header.layers, &values).ok_or(ModelError::Numbers)?;
        let sound = odd.is_empty()
            && header.layers.first().map(Shape::inputs) == Some(features.width())
            && values.iter().all(|value| value.is_finite());
        if !sound {
            return Err(ModelError::Numbers);
        }
        Ok(Regressor { features, network })
    }

    /// Encodes boards, `[boards, width]`.
    #[must_use]
    pub fn inputs<'a>(&self, boards: impl ExactSizeIterator<Item = &'a Board>) -> Vec<f32> {
        let width = self.features.width();
        let mut rows = vec![0.0; boards.len() * width];
        for (row, board) in rows.chunks_exact_mut(width).zip(boards) {
            self.features.write(board, row);
        }
        rows
    }
}

impl BoardValue for Regressor {
    fn win_probabilities(&self, boards: &[Board]) -> Vec<f32> {
        self.network.forward(&self.inputs(boards.iter()), boards.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_the_model_and_damage_is_named() {
        for features in Features::ALL {
            let model = Regressor::new(features, 1);
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Regressor::from_bytes(&bytes).unwrap().unwrap(), model);
            for end in [MAGIC.len(), MAGIC.len() + 20, bytes.len() - 1, bytes.len() - 4] {
                assert!(Regressor::from_bytes(&bytes[..end]).unwrap().is_err(), "{end}");
            }
        }
        assert!(Regressor::from_bytes(b"something else").is_none());
        let old = Regressor::from_bytes(b"MAVKA-REGRESSOR-1\n{}").unwrap();
        assert!(old.unwrap_err().to_string().contains("train it again"));
    }

    #[test]
    fn a_model_of_other_inputs_is_refused() {
        let Regressor { network, .. } = Regressor::new(Features::OneHot, 1);
        let mixed = Regressor { features: Features::Giraffe, network };
        let read = Regressor::from_bytes(&mixed.to_bytes().unwrap()).unwrap();
        assert!(matches!(read, Err(ModelError::Numbers)));
    }
}
