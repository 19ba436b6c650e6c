//! What can be wrong with a data file, said so that the reader of the message finds the byte.

use std::fmt;
use std::sync::Arc;

/// Damage in a data file, or a request the data cannot satisfy.
#[derive(Debug)]
pub enum DataError {
    /// The file cannot be opened, read or decompressed.
    Io {
        /// Its name.
        file: Arc<str>,
        /// Bytes of the decompressed stream read before.
        offset: u64,
        /// What the system says.
        source: std::io::Error,
    },
    /// The bytes are not what the format asks for. `offset` counts bytes of the decompressed stream.
    Format {
        /// Its name.
        file: Arc<str>,
        /// The first byte at fault.
        offset: u64,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A compressed frame is damaged.
    Frame {
        /// The file's name.
        file: Arc<str>,
        /// Where the frame begins: bytes of the file itself.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Another process writes this file.
    InUse(Arc<str>),
    /// The configuration asks for something that no file can give.
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
