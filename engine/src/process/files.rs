//! Files that a kill must not spoil: texts written whole or not at all, and journals of one JSON value a line. Which
//! files a command may write. Fields of CSV files.

use super::errors::FileError;
use nn::files::{MAX_TEXT, is_at, read_limited, read_text};
pub use nn::files::{
    check_ordinary, check_writable, make_folder, part_of, target, try_lock, write_whole,
};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
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
                    "{path}: another process writes this file; wait for it, or choose another --out"
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
            let file = open_to_append(path).map_err(failed)?;
            if !try_lock(&file, path) {
                return Err(OpenError::InUse(path.to_owned()));
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
    /// The file cannot be read, or holds more than 4 GiB.
    pub fn read(&mut self) -> Result<Vec<u8>, FileError> {
        read_limited(&self.file, MAX_TEXT).map_err(FileError::of(&self.path))
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
        self.keep(sound as u64)
    }

    /// Adds a line by one call of `write`, so that a kill can only cut the last line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, value: &impl Serialize) -> Result<(), FileError> {
        let line = serde_json::to_string(value).map_err(io::Error::from);
        self.append_line(&line.map_err(FileError::of(&self.path))?)
    }

    /// The same for a line, without its end.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append_line(&mut self, line: &str) -> Result<(), FileError> {
        self.append_text(&format!("{line}\n"))
    }

    /// Adds a text; where that fails, the file is as before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append_text(&mut self, text: &str) -> Result<(), FileError> {
        let length = self.length()?;
        let written = self.file.write_all(text.as_bytes());
        if written.is_err() {
            // Disk full: the next line must not follow half a line.
            let _ = self.file.set_len(length);
        }
        written.map_err(FileError::of(&self.path))
    }

    /// Length in bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn length(&self) -> Result<u64, FileError> {
        Ok(self.file.metadata().map_err(FileError::of(&self.path))?.len())
    }

    /// Keeps the first bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, length: u64) -> Result<(), FileError> {
        self.file.set_len(length).map_err(FileError::of(&self.path))
    }

    /// Replaces all lines by this one: a kill leaves the old file or the new one.
    ///
    /// # Errors
    /// The file cannot be written, or another process has locked the new one.
    pub fn restart(&mut self, value: &impl Serialize) -> Result<(), OpenError> {
        let line = serde_json::to_string(value).map_err(io::Error::from);
        let written = line.and_then(|line| write_whole(&self.path, line + "\n"));
        written.map_err(|why| OpenError::File(FileError::of(&self.path)(why)))?;
        *self = JournalFile::open(&self.path)?;
        Ok(())
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

/// Opens a file to read it and to append to it, or creates it.
///
/// # Errors
/// The system's; `path` leads to no ordinary file. A FIFO would block.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let path = target(path)?;
    check_ordinary(&path)?;
    OpenOptions::new().create(true).read(true).append(true).open(path)
}

/// Reads a text whole, from a file or a pipe.
///
/// # Errors
/// It cannot be read, is not UTF-8 or has more than 4 GiB.
pub fn read_whole_text(path: &Path) -> Result<String, FileError> {
    read_text(path, MAX_TEXT).map_err(FileError::of(path))
}

/// A file that a command reads or writes, and the argument that names it.
#[derive(Clone, Copy, Debug)]
pub struct NamedFile<'a> {
    /// Such as `--out`.
    pub argument: &'a str,
    /// The file.
    pub path: &'a Path,
}

/// Why a command must not write a file.
#[derive(Debug)]
pub enum OutputError {
    /// It is read or written as another argument's file, too.
    Shared {
        /// The argument to change.
        argument: String,
        /// The file.
        path: PathBuf,
        /// The other argument.
        other: String,
    },
    /// It is no ordinary file, its folder is missing, or the system does not let it be written.
    Unwritable(String, io::Error),
    /// Without this marker beside it, it is the user's own.
    Foreign(PathBuf, &'static str),
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputError::Shared { argument, path, other } => {
                let path = path.display();
                write!(
                    f,
                    "{argument} would overwrite {path}, which {other} names; choose another file"
                )
            }
            OutputError::Unwritable(argument, why) => write!(f, "{argument}: {why}"),
            OutputError::Foreign(path, marker) => {
                let path = path.display();
                write!(
                    f,
                    "{path} is not of this command, for there is no {marker} beside it; move it away, or choose another folder"
                )
            }
        }
    }
}

impl std::error::Error for OutputError {}

/// Refuses outputs that are inputs, each other, or cannot be written: before the work for them begins.
///
/// # Errors
/// Names the first such output.
pub fn check_outputs(
    inputs: &[NamedFile<'_>],
    outputs: &[NamedFile<'_>],
) -> Result<(), OutputError> {
    check_shared(inputs, outputs)?;
    outputs.iter().try_for_each(|NamedFile { argument, path }| {
        check_writable(path).map_err(|why| OutputError::Unwritable((*argument).to_owned(), why))
    })
}

/// Refuses outputs that are inputs, each other or no ordinary files, in a folder that may be made later. [`write_whole`] also
/// writes the temporary file beside an output.
///
/// # Errors
/// Names the first such output.
pub fn check_shared(
    inputs: &[NamedFile<'_>],
    outputs: &[NamedFile<'_>],
) -> Result<(), OutputError> {
    let mut taken: HashMap<PathBuf, &str> = HashMap::new();
    taken.extend(inputs.iter().map(|input| (identity(input.path), input.argument)));
    for NamedFile { argument, path } in outputs {
        let unwritable = |why| OutputError::Unwritable((*argument).to_owned(), why);
        // Elsewhere it means standard output.
        if *path == Path::new("-") {
            let why = "standard output is no file; expected a file's name";
            return Err(unwritable(io::Error::new(io::ErrorKind::InvalidInput, why)));
        }
        let target = target(path).map_err(unwritable)?;
        for path in [part_of(&target), target] {
            check_ordinary(&path).map_err(unwritable)?;
            if let Some(other) = taken.insert(identity(&path), argument) {
                let (argument, other) = ((*argument).to_owned(), other.to_owned());
                return Err(OutputError::Shared { argument, path, other });
            }
        }
    }
    Ok(())
}

/// Refuses a folder that holds one of the files `names` but none of the `markers` that the command leaves in its own folders.
///
/// # Errors
/// Names the user's file.
pub fn check_folder(
    folder: &Path,
    markers: &[&'static str],
    names: &[&str],
) -> Result<(), OutputError> {
    if markers.iter().any(|marker| folder.join(marker).exists()) {
        return Ok(());
    }
    let own =
        names.iter().map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_ok());
    let marker = markers.first().copied().unwrap_or_default();
    own.map_or(Ok(()), |path| Err(OutputError::Foreign(path, marker)))
}

/// The one absolute path of a file, whether or not it exists.
fn identity(path: &Path) -> PathBuf {
    let target = target(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok().zip(target.file_name());
    let absent = || beside.map(|(folder, name)| folder.join(name));
    fs::canonicalize(&target).ok().or_else(absent).unwrap_or(target)
}

/// A text, which may be a name of others, as one field of a CSV: in quotes, its own doubled (RFC 4180, section 2). A spreadsheet
/// takes a text that begins like a formula for one, even in quotes: such a text gets an apostrophe in front (OWASP, "CSV Injection").
#[must_use]
pub fn csv_field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let mark = if is_formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
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

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("mavka-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The refusal of outputs beside the input `in.pgn`.
    fn refused(folder: &Path, input: &str, outputs: &[&str]) -> Option<String> {
        let paths: Vec<PathBuf> = outputs.iter().map(|name| folder.join(name)).collect();
        let input = folder.join(input);
        let outputs: Vec<NamedFile<'_>> = paths
            .iter()
            .zip(["--out", "--html"])
            .map(|(path, argument)| NamedFile { argument, path })
            .collect();
        let input = NamedFile { argument: "GAME.pgn", path: &input };
        check_outputs(&[input], &outputs).err().map(|why| why.to_string())
    }

    #[test]
    fn an_output_is_neither_an_input_nor_another_output() {
        let folder = folder("outputs");
        fs::write(folder.join("in.pgn"), "1. e4 *").unwrap();
        fs::write(folder.join("out.pgn.part"), "1. d4 *").unwrap();
        assert_eq!(refused(&folder, "in.pgn", &["out.pgn", "out.html"]), None);
        for (input, outputs) in [
            ("in.pgn", &["in.pgn"][..]),
            ("in.pgn", &["./in.pgn"]),
            ("in.pgn", &["out.pgn", "in.pgn"]),
            ("in.pgn", &["new", "new"]),
            ("in.pgn", &["new", "new.part"]),
            ("out.pgn.part", &["out.pgn"]),
        ] {
            let why = refused(&folder, input, outputs).unwrap_or_default();
            assert!(why.contains("would overwrite"), "{input} {outputs:?}: {why}");
        }
        let why = refused(&folder, "in.pgn", &["."]).unwrap_or_default();
        assert!(why.contains("--out") && why.contains("a folder"), "{why}");
        let why = refused(&folder, "in.pgn", &["absent/out.pgn"]).unwrap_or_default();
        assert!(
            why.contains("--out: the folder") && why.contains("absent does not exist"),
            "{why}"
        );
        assert!(!folder.join("absent").exists() && !folder.join("new.part").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_are_seen_through() {
        use std::os::unix::fs::symlink;
        let folder = folder("output-links");
        fs::write(folder.join("in.pgn"), "1. e4 *").unwrap();
        symlink("in.pgn", folder.join("link.pgn")).unwrap();
        symlink("in.pgn", folder.join("new.pgn.part")).unwrap();
        assert!(refused(&folder, "in.pgn", &["link.pgn"]).unwrap().contains("would overwrite"));
        assert!(refused(&folder, "in.pgn", &["new.pgn"]).unwrap().contains("new.pgn.part"));
        assert!(refused(&folder, "in.pgn", &["/dev/null"]).unwrap().contains("a device"));
        assert!(open_to_append(Path::new("/dev/null")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_with_files_of_the_user_is_refused() {
        let folder = folder("output-folder");
        let check = || check_folder(&folder, &["mark"], &["a.csv", "b.csv"]);
        check().unwrap();
        fs::write(folder.join("other"), "").unwrap();
        check().unwrap();
        fs::write(folder.join("b.csv"), "").unwrap();
        let why = check().unwrap_err().to_string();
        assert!(why.contains("b.csv") && why.contains("no mark"), "{why}");
        fs::write(folder.join("mark"), "").unwrap();
        check().unwrap();
        check_folder(&folder.join("absent"), &["mark"], &["a.csv"]).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn no_field_is_a_formula() {
        for (text, field) in [
            ("a=1", "\"a=1\""),
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("+1", "\"'+1\""),
            ("-\"a\"", "\"'-\"\"a\"\"\""),
            ("@a", "\"'@a\""),
            ("", "\"\""),
        ] {
            assert_eq!(csv_field(text), field);
        }
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
