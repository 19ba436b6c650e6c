//! Errors of data files, with the byte offset.

use std::fmt;
use std::sync::Arc;

/// Damage in a data file, or a request that the data cannot satisfy.
#[derive(Debug)]
pub enum DataError {
    /// The file cannot be opened, read or decompressed.
    Io {
        /// File name.
        file: Arc<str>,
        /// Bytes of the decompressed stream read before.
        offset: u64,
        /// The system's error.
        source: std::io::Error,
    },
    /// The bytes violate the format. `offset` counts bytes of the decompressed stream.
    Format {
        /// File name.
        file: Arc<str>,
        /// The first byte at fault.
        offset: u64,
        /// The format's requirement.
        expected: &'static str,
        /// The value found.
        found: String,
    },
    /// A compressed frame is damaged.
    Frame {
        /// File name.
        file: Arc<str>,
        /// Start of the frame: byte of the compressed file.
        offset: u64,
        /// The fault.
        why: String,
    },
    /// Another process writes this file.
    InUse(Arc<str>),
    /// The configuration asks for something that no file provides.
    Config(String),
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Io { file, offset, source } => {
                write!(f, "{file}: after byte {offset} of the decompressed stream: {source}")
            }
            DataError::Format { file, offset, expected, found } => {
                write!(
                    f,
                    "{file}: byte {offset} of the decompressed stream: expected {expected}, found {found}"
                )
            }
            DataError::Frame { file, offset, why } => {
                write!(f, "{file}: the frame at byte {offset} of the file {why}")
            }
            DataError::InUse(file) => {
                write!(
                    f,
                    "{file}: another process writes this file; wait for it, or choose another output"
                )
            }
            DataError::Config(what) => write!(f, "data configuration: {what}"),
        }
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DataError::Io { source, .. } => Some(source),
            DataError::Format { .. }
            | DataError::Frame { .. }
            | DataError::InUse(_)
            | DataError::Config(_) => None,
        }
    }
}
