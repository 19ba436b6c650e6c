//! A file of games that grows by chunks, each its own compressed frame, so that a killed run resumes where it
//! stopped. The reader needs no special case: a zstd decoder reads consecutive frames.

use super::error::DataError;
use super::read::{BUFFER, GameReader, WINDOW_LOG_MAX};
use super::record::{Format, Game};
use super::write::GameWriter;
use nn::files::{check_regular, try_lock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Take, Write};
use std::path::Path;
use std::sync::Arc;

/// zstd compression level: files are read far more often than written.
const LEVEL: i32 = 12;
/// First bytes of every frame.
const FRAME: [u8; 4] = zstd::zstd_safe::MAGICNUMBER.to_le_bytes();

/// A file that grows by frames. A lock keeps other processes from writing to it.
pub(crate) struct Frames {
    file: File,
    name: Arc<str>,
    /// First bytes of the decompressed content.
    magic: &'static [u8; 6],
    /// Bytes of its whole frames; 0: none yet.
    len: u64,
}

/// The content of a file's whole frames.
pub(crate) type Content = zstd::Decoder<'static, BufReader<Take<File>>>;

impl Frames {
    /// Opens a file for appending, or creates it. If it holds whole frames, `check` reads their content. Only
    /// then is a truncated last frame removed; after an error the file is unchanged.
    ///
    /// # Errors
    /// The file cannot be read or written, is not a regular file, is written by another process, does not begin with
    /// `magic`, or is damaged before its last frame; or `check` fails.
    pub fn open<T: Default>(
        path: &Path,
        magic: &'static [u8; 6],
        check: impl FnOnce(Content) -> Result<T, DataError>,
    ) -> Result<(Frames, T), DataError> {
        let name: Arc<str> = path.display().to_string().into();
        let of_file = |source| DataError::Io { file: name.clone(), offset: 0, source };
        // Before opening: opening a pipe waits for its other end.
        if let Ok(found) = fs::metadata(path) {
            check_regular(&found).map_err(of_file)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).append(true);
        let mut file = options.open(path).map_err(of_file)?;
        let found = file.metadata().map_err(of_file)?;
        check_regular(&found).map_err(of_file)?;
        // Before it is read: the end of another process's frame that is being written looks cut short.
        if !try_lock(&file, path) {
            return Err(DataError::InUse(name));
        }
        let found = file.metadata().map_err(of_file)?;
        let len = whole_frames(&file, &name, magic)?;
        let checked = if len > 0 {
            file.seek(SeekFrom::Start(0)).map_err(of_file)?;
            let whole = file.try_clone().map_err(of_file)?.take(len);
            let mut content = zstd::Decoder::new(whole).map_err(of_file)?;
            content.window_log_max(WINDOW_LOG_MAX).map_err(of_file)?;
            check(content)?
        } else {
            T::default()
        };
        if len < found.len() {
            file.set_len(len).map_err(of_file)?;
        }
        Ok((Frames { file, name, magic, len }, checked))
    }

    /// Adds a frame of `content`, which begins with the magic.
    ///
    /// # Errors
    /// The file cannot be written; it then ends as before.
    pub fn write(&mut self, content: &[u8]) -> Result<(), DataError> {
        let of_file = |source| DataError::Io { file: self.name.clone(), offset: 0, source };
        // The magic has its own frame, so that a file truncated anywhere still identifies itself.
        let mut frames = match self.len {
            0 => frame(self.magic).map_err(of_file)?,
            _ => Vec::new(),
        };
        frames.extend(frame(&content[self.magic.len()..]).map_err(of_file)?);
        // One write: a frame truncated by the end of the process is removed at the next open.
        if let Err(source) = self.file.write_all(&frames) {
            // Disk full: the next frame must not follow half a frame.
            self.file.set_len(self.len).map_err(of_file)?;
            return Err(of_file(source));
        }
        self.len += frames.len() as u64;
        Ok(())
    }
}

impl Drop for Frames {
    /// Unlocks the file: a process that is just being started holds a copy of the handle until it runs.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Adds games to a file.
pub struct ChunkWriter {
    frames: Frames,
    format: Format,
}

impl ChunkWriter {
    /// Opens a file for appending, or creates it; also returns the number of games in it. A truncated last
    /// chunk is removed.
    ///
    /// # Errors
    /// The file cannot be read or written, is not a regular file, holds something else, or is damaged before
    /// its last chunk. It is then unchanged.
    pub fn open(path: &Path, format: Format) -> Result<(ChunkWriter, u64), DataError> {
        let name = path.display().to_string();
        let (frames, games) = Frames::open(path, format.magic(), |content| {
            let content = BufReader::with_capacity(BUFFER, content);
            let mut reader = GameReader::new(content, &name)?;
            reader.by_ref().try_for_each(|game| game.map(drop))?;
            reader.check_whole()?;
            Ok(reader.games())
        })?;
        Ok((ChunkWriter { frames, format }, games))
    }

    /// Appends games as one chunk; no games make no chunk.
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

/// A frame of `content` with a checksum.
fn frame(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.write_all(content)?;
    encoder.finish()
}

/// Bytes of the whole frames at the start of `file`. At most one truncated frame follows them.
///
/// # Errors
/// The content begins with anything but `magic`, or a frame is damaged.
fn whole_frames(file: &File, name: &Arc<str>, magic: &'static [u8; 6]) -> Result<u64, DataError> {
    let of_file = |source| DataError::Io { file: name.clone(), offset: 0, source };
    let damaged = |offset: u64, why: String| DataError::Frame { file: name.clone(), offset, why };
    let mut input = BufReader::with_capacity(BUFFER, file);
    let mut head = Vec::new();
    let (len, torn) = loop {
        let start = input.stream_position().map_err(of_file)?;
        if input.fill_buf().map_err(of_file)?.is_empty() {
            break (start, Vec::new());
        }
        match decode_frame(&mut input, magic.len(), &mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let mut rest = Vec::new();
                input.seek(SeekFrom::Start(start)).map_err(of_file)?;
                input.read_to_end(&mut rest).map_err(of_file)?;
                break (start, rest);
            }
            Err(error) => return Err(damaged(start, format!("is damaged ({error})"))),
        }
    };
    // A damaged length leads beyond the end of the file, too.
    if let Some(next) = later_frame(&torn) {
        let why = format!("is damaged: it leads beyond the next one, {next} bytes after it");
        return Err(damaged(len, why));
    }
    if head != magic {
        // A truncated first frame may lack the magic: compare its compressed bytes.
        let first = frame(magic).map_err(of_file)?;
        if len > 0 || !first.starts_with(&torn) {
            return Err(DataError::Format {
                file: name.clone(),
                offset: 0,
                expected: std::str::from_utf8(magic).unwrap_or_default().trim_end(),
                found: format!("\"{}\"", head.escape_ascii()),
            });
        }
    }
    Ok(len)
}

/// Decodes the frame at the start of `input`; the first `most` bytes of a file's content go to `head`.
///
/// # Errors
/// The frame is damaged, or truncated: [`ErrorKind::UnexpectedEof`].
fn decode_frame(input: &mut impl BufRead, most: usize, head: &mut Vec<u8>) -> io::Result<()> {
    let mut decoder = zstd::Decoder::with_buffer(input)?.single_frame();
    decoder.window_log_max(WINDOW_LOG_MAX)?;
    let mut bytes = vec![0; BUFFER];
    loop {
        let count = decoder.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(&bytes[..count.min(most - head.len())]);
    }
}

/// Start of another frame after the first byte of `bytes`, if any.
fn later_frame(bytes: &[u8]) -> Option<usize> {
    bytes.windows(FRAME.len()).skip(1).position(|word| word == FRAME).map(|at| at + 1)
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
        drop(writer);
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
        let packed = |content: &[u8]| zstd::encode_all(content, 1).expect("compressed");
        let mavg = packed(&Format::Mavg.magic()[..]);
        let letters = packed(b"letters to a friend");
        let torn = |bytes: &[u8]| bytes[..bytes.len() - 3].to_vec();
        for (content, words) in [
            (b"letters to a friend".to_vec(), "the frame at byte 0 of the file is damaged"),
            (mavg.clone(), "expected PVGR1, found \"MAVG1\\n\""),
            (letters.clone(), "expected PVGR1, found \"letter\""),
            (torn(&letters), "expected PVGR1, found \"letter\""),
            (letters[..8].to_vec(), "expected PVGR1, found \"\""),
            ([mavg, torn(&letters)].concat(), "expected PVGR1, found \"MAVG1\\n\""),
            ([letters.clone(), torn(&letters)].concat(), "expected PVGR1, found \"letter\""),
        ] {
            fs::write(&path, &content).expect("write");
            let why = ChunkWriter::open(&path, Format::Pvgr).err().expect("refused").to_string();
            assert!(fs::read(&path).expect("file") == content, "changed, after {why}");
            assert!(why.contains("mavka-no-chunks-") && why.contains(words), "{why}");
        }
        fs::remove_file(&path).expect("remove");
    }

    #[test]
    fn damage_before_the_last_frame_is_named_and_costs_no_byte() {
        let path = std::env::temp_dir().join(format!("mavka-damage-{}.zst", std::process::id()));
        let _ = fs::remove_file(&path);
        let (mut writer, _) = ChunkWriter::open(&path, Format::Pvgr).expect("open");
        let mut ends = Vec::new();
        for seed in 1..4 {
            writer.write(&games(seed, 2)).expect("write");
            ends.push(fs::metadata(&path).expect("file").len() as usize);
        }
        drop(writer);
        let good = fs::read(&path).expect("file");
        let mut refused = 0;
        for (at, cut) in (ends[0]..ends[1]).flat_map(|at| [(at, 0), (at, 5)]) {
            let mut bad = good[..good.len() - cut].to_vec();
            bad[at] ^= 0x41;
            fs::write(&path, &bad).expect("write");
            match ChunkWriter::open(&path, Format::Pvgr) {
                // The window size is not part of the content.
                Ok((_, held)) => assert_eq!(held, if cut == 0 { 6 } else { 4 }, "byte {at}"),
                Err(why) => {
                    let why = why.to_string();
                    refused += usize::from(cut == 0);
                    assert!(fs::read(&path).expect("file") == bad, "changed, after {why}");
                    assert!(why.contains("mavka-damage-") && why.contains("at byte "), "{why}");
                }
            }
        }
        assert!(refused + 2 >= ends[1] - ends[0], "{refused} of {}", ends[1] - ends[0]);
        // The block length leads beyond the end of the file.
        let mut bad = good.clone();
        bad[ends[0] + 8] = 0x0f;
        fs::write(&path, &bad).expect("write");
        let why = ChunkWriter::open(&path, Format::Pvgr).err().expect("refused").to_string();
        assert!(why.contains(&format!("the frame at byte {} of the file", ends[0])), "{why}");
        assert!(fs::read(&path).expect("file") == bad, "changed");
        fs::remove_file(&path).expect("remove");
    }

    #[test]
    fn a_file_has_one_writer_until_it_is_dropped() {
        let path = std::env::temp_dir().join(format!("mavka-writers-{}.zst", std::process::id()));
        let _ = fs::remove_file(&path);
        let (mut first, _) = ChunkWriter::open(&path, Format::Pvgr).expect("open");
        let second = || ChunkWriter::open(&path, Format::Pvgr).err().map(|why| why.to_string());
        let why = second().expect("refused");
        assert!(why.contains("mavka-writers-") && why.contains("another process"), "{why}");
        first.write(&games(1, 2)).expect("write");
        assert!(second().is_some());
        drop(first);
        let (_, held) = ChunkWriter::open(&path, Format::Pvgr).expect("open");
        assert_eq!(held, 2);
        fs::remove_file(&path).expect("remove");
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_grow() {
        let why = ChunkWriter::open(Path::new("/dev/zero"), Format::Pvgr).err().expect("refused");
        assert!(why.to_string().contains("/dev/zero"), "{why}");
        assert!(why.to_string().contains("expected a regular file"), "{why}");
    }
}
