//! Files that a kill must not spoil: texts written whole or not at all, and journals of one JSON value a line.
//! Fields of CSV files.

use crate::errors::FileError;
pub use nn::files::write_whole;
use serde::Serialize;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A journal, open for appending. A lock keeps other processes from writing to it.
pub struct JournalFile {
    path: PathBuf,
    file: File,
}

/// Why a journal cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be read or written.
    File(FileError),
    /// Another process holds the lock.
    InUse(PathBuf),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::File(why) => why.fmt(f),
            OpenError::InUse(path) => {
                let path = path.display();
                write!(
                    f,
                    "{path}: another process writes this journal; wait for it, or choose another --out"
                )
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl JournalFile {
    /// Opens the journal at `path` or creates an empty one, and locks it until it is dropped. Writes nothing.
    ///
    /// # Errors
    /// The file cannot be used, or another process holds its lock.
    pub fn open(path: &Path) -> Result<JournalFile, OpenError> {
        let failed = |why| OpenError::File(FileError::of(path)(why));
        loop {
            let opened = OpenOptions::new().create(true).read(true).append(true).open(path);
            let file = opened.map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(OpenError::InUse(path.to_owned())),
                // Not every file system has locks.
                Err(TryLockError::Error(why)) => {
                    log::warn!("{}: not locked: {why}", path.display());
                }
            }
            // The last holder may have deleted the file between `open` and `try_lock`.
            if is_at(&file, path) {
                return Ok(JournalFile { path: path.to_owned(), file });
            }
        }
    }

    /// The whole content.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&mut self) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(FileError::of(&self.path))?;
        Ok(bytes)
    }

    /// Keeps the first `sound` bytes of the `length` that were read. Warns where something is cut off.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn truncate(&mut self, sound: usize, length: usize) -> Result<(), FileError> {
        if sound == length {
            return Ok(());
        }
        let (path, cut) = (self.path.display(), length - sound);
        log::warn!("{path}: {cut} bytes after the last whole line are cut off");
        self.file.set_len(sound as u64).map_err(FileError::of(&self.path))
    }

    /// Adds a line by one call of `write`, so that a kill can only cut the last line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, value: &impl Serialize) -> Result<(), FileError> {
        let line = serde_json::to_string(value).map_err(io::Error::from);
        let written = line.and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        written.map_err(FileError::of(&self.path))
    }

    /// Deletes the file.
    ///
    /// # Errors
    /// The system's.
    pub fn delete(self) -> Result<(), FileError> {
        fs::remove_file(&self.path).map_err(FileError::of(&self.path))
    }
}

impl Drop for JournalFile {
    /// Unlocks the file: a process that is just being started holds a copy of the handle until it runs.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Whether `path` still names the open `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        (_, Err(why)) => why.kind() != io::ErrorKind::NotFound,
        (Err(_), _) => true,
    }
}

/// Other systems keep the name of a deleted file until it is closed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// A text as one field of a CSV: in quotes, its own doubled (RFC 4180, section 2).
#[must_use]
pub fn csv_field(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The lines of a journal with their ends. Leaves out a last line that was cut short, possibly within a letter.
pub fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').take_while(|line| line.ends_with(b"\n"))
}

/// Whether a file without a whole line can be a journal whose first line, which begins as `beginning`, was cut
/// short. Anything else is somebody's file.
#[must_use]
pub fn is_cut_journal(bytes: &[u8], beginning: &str) -> bool {
    beginning.as_bytes().starts_with(bytes.get(..beginning.len()).unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_has_one_writer_until_it_is_dropped() {
        let path = std::env::temp_dir().join(format!("mavka-lock-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let mut first = JournalFile::open(&path).unwrap();
        first.append(&1).unwrap();
        assert!(matches!(JournalFile::open(&path), Err(OpenError::InUse(_))));
        drop(first);
        assert_eq!(JournalFile::open(&path).unwrap().read().unwrap(), b"1\n");
        // A handle on a deleted journal is no claim to the new one.
        let old = File::open(&path).unwrap();
        JournalFile::open(&path).unwrap().delete().unwrap();
        let mut second = JournalFile::open(&path).unwrap();
        assert!(is_at(&second.file, &path) && (!is_at(&old, &path) || cfg!(not(unix))));
        assert_eq!(second.read().unwrap(), b"");
        second.delete().unwrap();
    }

    #[test]
    fn only_the_beginning_of_a_journal_is_a_cut_one() {
        for text in ["", "{", "{\"j\":", "{\"j\":1,\"na"] {
            assert!(is_cut_journal(text.as_bytes(), "{\"j\":"), "{text}");
        }
        for text in ["1. e4", "{}", "{\"k\":1", "{\"é"] {
            assert!(!is_cut_journal(text.as_bytes(), "{\"j\":"), "{text}");
        }
    }
}
