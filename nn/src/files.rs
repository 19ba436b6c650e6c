//! Files: written so that a kill does not spoil them, read within a limit.

use std::fs::{self, File};
use std::io::{self, Read};
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

/// Opens a regular file, or a symbolic link to one, to be read. Devices and pipes may never end.
///
/// # Errors
/// The system's, or `path` is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Before it is opened: opening a pipe waits for its writer.
    check_regular(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    // Again: the path may lead elsewhere by now.
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Refuses whatever is not a regular file.
///
/// # Errors
/// Says what was found instead.
pub fn check_regular(found: &fs::Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let found = if found.is_dir() { "a folder" } else { "a device or a pipe" };
    let what = format!("{found}, expected a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// The system's, or the file is larger or not a regular one.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    check_size(file.metadata()?.len(), limit)?;
    let mut bytes = Vec::new();
    // A file may grow while it is read, and those of `/proc` have no size.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    check_size(bytes.len() as u64, limit)?;
    Ok(bytes)
}

fn check_size(size: u64, limit: u64) -> io::Result<()> {
    if size <= limit {
        return Ok(());
    }
    let what = format!("{size} bytes, expected at most {limit}");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let path = std::env::temp_dir().join(format!("mavka-files-{}", std::process::id()));
        fs::write(&path, "123456").unwrap();
        let [at, beyond] = [6, 5].map(|limit| read_regular(&path, limit));
        fs::remove_file(&path).unwrap();
        assert_eq!(at.unwrap(), b"123456");
        assert_eq!(beyond.unwrap_err().to_string(), "6 bytes, expected at most 5");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_size_is_read_within_the_limit() {
        let path = Path::new("/proc/self/status");
        assert!(!read_regular(path, 1 << 20).unwrap().is_empty());
        let fault = read_regular(path, 10).unwrap_err().to_string();
        assert_eq!(fault, "11 bytes, expected at most 10");
    }
}
