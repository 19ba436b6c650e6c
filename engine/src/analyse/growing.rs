//! Outputs that are too large to be written at once.

use crate::process::errors::FileError;
use crate::process::files::{JournalFile, OpenError, part_of, target};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// An output that grows beside its place, as [`part_of`] names it, and is put there at the end. A lock keeps other processes from
/// writing to it.
pub struct GrowingFile {
    target: PathBuf,
    part: PathBuf,
    file: JournalFile,
}

impl GrowingFile {
    /// Opens the output at `path` with the first `kept` bytes of what an interrupted run wrote: the file beside its place, or the
    /// one in its place after [`GrowingFile::finish`].
    ///
    /// # Errors
    /// The file cannot be used, another process writes it, or fewer bytes are there.
    pub fn open(path: &Path, kept: u64) -> Result<GrowingFile, OpenError> {
        let failed = |why| OpenError::File(FileError::of(path)(why));
        let target = target(path).map_err(failed)?;
        let part = part_of(&target);
        if kept > 0 {
            let is_beside = part.try_exists().map_err(failed)?;
            let old = if is_beside { &part } else { &target };
            let length = fs::metadata(old).map_or(0, |found| found.len());
            if length < kept {
                let what = format!("{length} bytes, expected the {kept} of the interrupted run");
                return Err(failed(io::Error::other(what)));
            }
            if !is_beside {
                fs::rename(old, &part).map_err(failed)?;
            }
        }
        let mut file = JournalFile::open(&part)?;
        file.keep(kept).map_err(OpenError::File)?;
        Ok(GrowingFile { target, part, file })
    }

    /// Adds a text; a full disk leaves the file as it was before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, text: &str) -> Result<(), FileError> {
        self.file.append_text(text)
    }

    /// Length in bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn length(&self) -> Result<u64, FileError> {
        self.file.length()
    }

    /// Puts the file in its place with `text` behind the first line that is `mark`. Takes the memory of a line.
    ///
    /// # Errors
    /// The system's; the file is still beside its place.
    pub fn finish_with(self, mark: &str, text: &str) -> Result<(), FileError> {
        let whole = part_of(&self.part);
        let insert = || -> io::Result<()> {
            let mut rest = BufReader::new(File::open(&self.part)?);
            let mut out = BufWriter::new(File::create(&whole)?);
            let mut line = Vec::new();
            while rest.read_until(b'\n', &mut line)? > 0 {
                out.write_all(&line)?;
                if line.strip_suffix(b"\n") == Some(mark.as_bytes()) {
                    out.write_all(text.as_bytes())?;
                    break;
                }
                line.clear();
            }
            io::copy(&mut rest, &mut out)?;
            out.into_inner()?.sync_all()
        };
        if let Err(why) = insert() {
            let _ = fs::remove_file(&whole);
            return Err(FileError::of(&whole)(why));
        }
        fs::rename(&whole, &self.target).map_err(FileError::of(&self.target))?;
        self.file.delete()
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(self) -> Result<(), FileError> {
        fs::rename(&self.part, &self.target).map_err(FileError::of(&self.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_grows_from_what_was_kept_of_it() {
        let name = format!("mavka-growing-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let [out, part] = ["out", "out.part"].map(|name| folder.join(name));
        fs::write(&out, "of an earlier analysis").unwrap();
        let mut file = GrowingFile::open(&out, 0).unwrap();
        file.append("one, ").unwrap();
        file.append("two").unwrap();
        drop(file);
        // Killed: what was written behind the mark is dropped.
        let mut file = GrowingFile::open(&out, 5).unwrap();
        assert!(matches!(GrowingFile::open(&out, 5), Err(OpenError::InUse(_))));
        file.append("three").unwrap();
        file.finish().unwrap();
        assert_eq!(
            (fs::read_to_string(&out).unwrap().as_str(), part.exists()),
            ("one, three", false)
        );
        // Ended in order: it goes on from its place.
        let mut file = GrowingFile::open(&out, 5).unwrap();
        file.append("four").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&out).unwrap(), "one, four");
        // Another file is in its place.
        fs::write(&out, "1").unwrap();
        let why = GrowingFile::open(&out, 5).err().unwrap().to_string();
        assert!(why.contains("1 bytes, expected the 5"), "{why}");
        assert_eq!((fs::read_to_string(&out).unwrap().as_str(), part.exists()), ("1", false));
        // A text stands behind its mark; without one the file is whole.
        for (content, expected) in
            [("a\nmark\nb\nmark\n", "a\nmark\nnew\nb\nmark\n"), ("a mark", "a mark")]
        {
            let mut file = GrowingFile::open(&out, 0).unwrap();
            file.append(content).unwrap();
            file.finish_with("mark", "new\n").unwrap();
            assert_eq!(fs::read_to_string(&out).unwrap(), expected);
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
