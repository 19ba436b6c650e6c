//! Files that a kill must not spoil.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a file whole or not at all: a reader sees the old one or the new one.
///
/// # Errors
/// The system's.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    fs::write(&part, content).and_then(|()| fs::rename(&part, path))
}
