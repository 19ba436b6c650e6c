//! Files of samples: "MVKN1
//! ", then 28 bytes each, compressed. A file grows by frames, so that a killed run resumes where it stopped.
//!
//! ```text
//! sample = u64 occupied squares from the mover's edge, 16 bytes: half a byte for each of them in order (0..=5 the mover's pawn,
//!          knight, bishop, rook, queen, king, 6..=11 the other side's), f32 win probability of the mover
//! ```

use super::sample::Sample;
use crate::data::DataError;
use crate::data::chunks::Frames;
use nn::files::open_regular;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 6] = b"MVKN1\n";
/// Samples per read.
const READ: usize = 1 << 15;
/// Most samples of a file that is read whole, 32 GiB of memory: a few compressed bytes may stand for any
/// number.
pub const MAX_SAMPLES: usize = 1 << 30;
/// One in this number of samples, at the end of a file, is held out: they come from other games than those
/// before.
const HELD_OUT: usize = 100;

/// Appends samples to a file.
pub struct SampleWriter(Frames);

impl SampleWriter {
    /// Opens a file for appending, or creates it; also returns the number of samples in it.
    ///
    /// # Errors
    /// The file cannot be read or written, is not a regular file, holds something else, or is damaged before
    /// its last frame. It is then unchanged.
    pub fn open(path: &Path) -> Result<(SampleWriter, u64), DataError> {
        let (frames, held) = Frames::open(path, MAGIC, |content| {
            let mut held = 0;
            read(content, &path.display().to_string(), &mut |samples| {
                held += samples.len() as u64;
                true
            })?;
            Ok(held)
        })?;
        Ok((SampleWriter(frames), held))
    }

    /// Appends samples as one frame; no samples make no frame.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, samples: &[Sample]) -> Result<(), DataError> {
        if samples.is_empty() {
            return Ok(());
        }
        let mut content = MAGIC.to_vec();
        samples.iter().for_each(|sample| content.extend_from_slice(&sample.to_bytes()));
        self.0.write(&content)
    }
}

/// The training samples of a file, and the held-out ones. Calls `watch` with the number read so far; stops
/// early if it returns false.
///
/// # Errors
/// The file cannot be read, holds something else, or more than 2^30 samples.
pub fn samples(
    path: &Path,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<(Vec<Sample>, Vec<Sample>), DataError> {
    let name = path.display().to_string();
    let content = open_regular(path).and_then(zstd::Decoder::new);
    let content = content.map_err(|source| {
        let file = name.as_str().into();
        DataError::Io { file, offset: 0, source }
    })?;
    let mut all = gather(content, &name, MAX_SAMPLES, watch)?;
    let held_out = all.split_off(all.len() - all.len().div_ceil(HELD_OUT));
    Ok((all, held_out))
}

/// The samples of a file's content, at most `most`.
fn gather(
    content: impl Read,
    name: &str,
    most: usize,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<Sample>, DataError> {
    let mut all = Vec::new();
    let mut fits = true;
    read(content, name, &mut |samples| {
        fits = samples.len() <= most - all.len();
        if fits {
            all.extend(samples);
        }
        fits && watch(all.len())
    })?;
    if !fits {
        let what = format!("{name} holds more than {most} samples, expected at most as many");
        return Err(DataError::Config(what));
    }
    Ok(all)
}

/// Calls `take` with the samples of a file's content, many at a time, until it returns false.
fn read(
    mut input: impl Read,
    name: &str,
    take: &mut dyn FnMut(Vec<Sample>) -> bool,
) -> Result<(), DataError> {
    let file: Arc<str> = name.into();
    let at = |offset: usize| {
        let file = file.clone();
        move |source| DataError::Io { file, offset: offset as u64, source }
    };
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic).map_err(at(0))?;
    if magic != *MAGIC {
        let found = magic.escape_ascii().to_string();
        return Err(DataError::Format { file, offset: 0, expected: "MVKN1", found });
    }
    let mut offset = MAGIC.len();
    let mut bytes = vec![0; READ * Sample::BYTES];
    loop {
        let filled = fill(&mut input, &mut bytes).map_err(at(offset))?;
        let (whole, rest) = bytes[..filled].as_chunks::<{ Sample::BYTES }>();
        let sample = |(number, bytes)| {
            Sample::from_bytes(bytes).ok_or_else(|| DataError::Format {
                file: file.clone(),
                offset: (offset + number * Sample::BYTES) as u64,
                expected: "a board and a win probability",
                found: format!("{bytes:02x?}"),
            })
        };
        let samples = whole.iter().enumerate().map(sample).collect::<Result<Vec<_>, _>>()?;
        if !rest.is_empty() {
            let cut = io::Error::new(io::ErrorKind::UnexpectedEof, "a sample is cut short");
            return Err(at(offset + filled)(cut));
        }
        if filled == 0 || !take(samples) {
            return Ok(());
        }
        offset += filled;
    }
}

/// Reads up to `bytes.len()` bytes; fewer only at the end.
fn fill(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..])? {
            0 => break,
            some => filled += some,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Chess;
    use std::fs;

    #[test]
    fn a_file_grows_gives_what_was_written_and_holds_its_end_out() {
        let path = std::env::temp_dir().join(format!("mavka-samples-{}.zst", std::process::id()));
        let _ = fs::remove_file(&path);
        let made = |from: usize, to: usize| -> Vec<Sample> {
            (from..to).map(|at| Sample::at(&Chess::default(), at as f32 / 1000.0)).collect()
        };
        let (mut writer, held) = SampleWriter::open(&path).unwrap();
        assert_eq!(held, 0);
        writer.write(&made(0, 150)).unwrap();
        drop(writer);
        let (mut writer, held) = SampleWriter::open(&path).unwrap();
        assert_eq!(held, 150);
        writer.write(&[]).unwrap();
        writer.write(&made(150, 201)).unwrap();
        drop(writer);
        let read = samples(&path, &mut |_| true);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let (_, cut) = SampleWriter::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let (trained, last) = read.unwrap();
        assert_eq!((trained.len(), last.len()), (198, 3));
        let all: Vec<[u8; Sample::BYTES]> =
            trained.iter().chain(&last).map(Sample::to_bytes).collect();
        let expected: Vec<_> = made(0, 201).iter().map(Sample::to_bytes).collect();
        assert_eq!(all, expected);
        assert_eq!(cut, 150, "the frame that was cut short is gone");
    }

    #[test]
    fn more_samples_than_the_limit_are_refused() {
        let sample = Sample::at(&Chess::default(), 0.5).to_bytes();
        let content = [&MAGIC[..], &sample.repeat(READ + 1)].concat();
        let read = |most| gather(content.as_slice(), "many", most, &mut |_| true);
        assert_eq!(read(READ + 1).unwrap().len(), READ + 1);
        let why = read(READ).err().unwrap().to_string();
        assert!(why.contains("many holds more than 32768 samples"), "{why}");
    }

    #[test]
    fn what_is_no_sample_is_named() {
        let path = std::env::temp_dir().join(format!("mavka-no-samples-{}", std::process::id()));
        let fault = |content: &[u8]| {
            fs::write(&path, zstd::encode_all(content, 1).unwrap()).unwrap();
            samples(&path, &mut |_| true).err().map(|why| why.to_string())
        };
        let good = Sample::at(&Chess::default(), 0.5).to_bytes();
        let mut bad_value = good;
        bad_value[24..].copy_from_slice(&1.5f32.to_le_bytes());
        let mut class = good;
        class[8] = 0x0c;
        assert_eq!(fault(&[&MAGIC[..], &good].concat()), None);
        for (content, words) in [
            ([b"MAVG1\n", &good[..]].concat(), "expected MVKN1, found MAVG1\\n"),
            (
                [MAGIC, &good[..], &bad_value].concat(),
                "byte 34 of the decompressed stream: expected a board",
            ),
            ([MAGIC, &class[..]].concat(), "byte 6 of the decompressed stream: expected a board"),
            ([MAGIC, &good[..27]].concat(), "cut short"),
        ] {
            let why = fault(&content).expect("a fault");
            assert!(why.contains(words), "{why}");
        }
        fs::remove_file(&path).unwrap();
    }
}
