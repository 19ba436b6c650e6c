//! A file of games that grows by chunks, each a compressed frame of its own, so that a run that was killed goes
//! on where it stopped. The reader takes such a file as any other: a decoder goes from frame to frame.

use super::error::DataError;
use super::read::FileReader;
use super::record::{Format, Game};
use super::write::GameWriter;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// zstd's level: files are read far more often than written.
const LEVEL: i32 = 12;

/// A file that grows by frames.
pub(crate) struct Frames {
    file: File,
    name: Arc<str>,
    /// What its content begins with.
    magic: &'static [u8; 6],
    /// It holds that.
    begun: bool,
}

impl Frames {
    /// Opens a file to add to, or creates it. A last frame that was cut short is cut off. Whether its content begins with `magic`
    /// shows when it is read.
    ///
    /// # Errors
    /// If the file cannot be read or written, or holds something else.
    pub fn open(path: &Path, magic: &'static [u8; 6]) -> Result<Frames, DataError> {
        let name: Arc<str> = path.display().to_string().into();
        let of_file = |source| DataError::Io { file: name.clone(), offset: 0, source };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .append(true)
            .open(path)
            .map_err(of_file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(of_file)?;
        let whole = whole_frames(&bytes);
        // A frame of ours that was cut short begins as zstd does; anything else is somebody's file.
        let ours = zstd::zstd_safe::MAGICNUMBER.to_le_bytes();
        if !bytes[whole..].iter().zip(ours).all(|(byte, ours)| *byte == ours) {
            let why = "holds more than compressed data: not ours to add to";
            return Err(of_file(io::Error::new(io::ErrorKind::InvalidData, why)));
        }
        file.set_len(whole as u64).map_err(of_file)?;
        Ok(Frames { file, name, magic, begun: whole > 0 })
    }

    /// It holds whole frames.
    pub fn is_begun(&self) -> bool {
        self.begun
    }

    /// Adds a frame of `content`, which begins with the magic.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, content: &[u8]) -> Result<(), DataError> {
        let head = if self.begun { self.magic.len() } else { 0 };
        let frame = zstd::encode_all(&content[head..], LEVEL);
        // One write: what is cut in two by the end of the process is cut off when the file is opened again.
        frame.and_then(|frame| self.file.write_all(&frame)).map_err(|source| DataError::Io {
            file: self.name.clone(),
            offset: 0,
            source,
        })?;
        self.begun = true;
        Ok(())
    }
}

/// Adds games to a file.
pub struct ChunkWriter {
    frames: Frames,
    format: Format,
}

impl ChunkWriter {
    /// Opens a file to add to, or creates it; also says how many games it holds. A last chunk that was cut short is
    /// cut off.
    ///
    /// # Errors
    /// If the file cannot be read or written, or holds something else.
    pub fn open(path: &Path, format: Format) -> Result<(ChunkWriter, u64), DataError> {
        let frames = Frames::open(path, format.magic())?;
        let mut games = 0;
        if frames.is_begun() {
            let mut reader = FileReader::open(path)?;
            if reader.format() != format {
                let why = "the other format of labels";
                let source = io::Error::new(io::ErrorKind::InvalidData, why);
                return Err(DataError::Io { file: frames.name.clone(), offset: 0, source });
            }
            reader.by_ref().try_for_each(|game| game.map(drop))?;
            games = reader.games();
        }
        Ok((ChunkWriter { frames, format }, games))
    }

    /// Adds games as one chunk; none make no chunk.
    ///
    /// # Errors
    /// If a game is of the other format, or the file cannot be written.
    pub fn write(&mut self, games: &[Game]) -> Result<(), DataError> {
        if games.is_empty() {
            return Ok(());
        }
        let mut writer = GameWriter::new(Vec::new(), self.format, &self.frames.name)?;
        games.iter().try_for_each(|game| writer.write(game))?;
        self.frames.write(&writer.into_inner())
    }
}

/// Length of the whole frames that `bytes` begin with.
fn whole_frames(bytes: &[u8]) -> usize {
    let mut end = 0;
    while end < bytes.len()
        && let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(&bytes[end..])
    {
        end += length;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{pvgr_bytes, unpack};
    use std::fs;

    fn games(seed: u64, count: u64) -> Vec<Game> {
        let bytes = pvgr_bytes(seed, count);
        let reader = crate::data::read::GameReader::new(bytes.as_slice(), "sample").expect("magic");
        reader.map(|game| game.expect("game")).collect()
    }

    #[test]
    fn a_file_cut_anywhere_keeps_its_whole_chunks_and_grows_on() {
        let path = std::env::temp_dir().join(format!("mavka-chunks-{}.zst", std::process::id()));
        let _ = fs::remove_file(&path);
        let (mut writer, held) = ChunkWriter::open(&path, Format::Pvgr).expect("open");
        assert_eq!(held, 0);
        writer.write(&[]).expect("nothing");
        assert_eq!(fs::metadata(&path).expect("file").len(), 0);
        writer.write(&games(1, 3)).expect("write");
        let first = fs::metadata(&path).expect("file").len();
        writer.write(&games(2, 2)).expect("write");
        assert_eq!(unpack(&path).len(), 5);
        let whole = fs::read(&path).expect("file");
        for cut in [0, 1, first - 1, first, first + 1, whole.len() as u64 - 1] {
            fs::write(&path, &whole[..cut as usize]).expect("write");
            let (mut writer, held) = ChunkWriter::open(&path, Format::Pvgr).expect("open");
            assert_eq!(held, if cut < first { 0 } else { 3 }, "cut at {cut}");
            writer.write(&games(3, 4)).expect("write");
            assert_eq!(unpack(&path).len() as u64, held + 4, "cut at {cut}");
        }
        fs::remove_file(&path).expect("remove");
    }

    #[test]
    fn other_files_are_left_as_they_are() {
        let path = std::env::temp_dir().join(format!("mavka-no-chunks-{}", std::process::id()));
        fs::write(&path, "letters to a friend").expect("write");
        assert!(ChunkWriter::open(&path, Format::Pvgr).is_err());
        assert_eq!(fs::read(&path).expect("file"), b"letters to a friend");
        let mavg = zstd::encode_all(&Format::Mavg.magic()[..], 1).expect("compressed");
        fs::write(&path, &mavg).expect("write");
        assert!(ChunkWriter::open(&path, Format::Pvgr).is_err());
        assert_eq!(fs::read(&path).expect("file"), mavg);
        fs::remove_file(&path).expect("remove");
    }
}
