//! Files that may be compressed. The content decides, not the name: gzip and zstd are decompressed while they are read, other
//! archives and binary formats are refused by name.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};
use std::mem;

/// Bytes read at once.
const BUFFER: usize = 1 << 16;
/// Enough of the beginning to recognise every format: a tar archive is marked at byte 257.
pub const HEAD: usize = 4096;
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Skippable frames of zstd have any of 16 magic numbers (RFC 8878, section 3.1.2); pzstd begins a file with one.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
/// libzstd's message for a window above 128 MiB.
const WINDOW: &str = "too much memory";

/// Beginnings of files that are no text, and their names.
const FOREIGN: [(&[u8], &str); 22] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"BZh", "a file compressed by bzip2"),
    (b"\xfd7zXZ\0", "a file compressed by xz"),
    (b"LZIP", "a file compressed by lzip"),
    (b"\x04\x22\x4d\x18", "a file compressed by lz4"),
    (b"\x1f\x9d", "a file compressed by compress"),
    (b"\x1f\x8b", "a gzip file inside a compressed one"),
    (b"\x28\xb5\x2f\xfd", "a zstd file inside a compressed one"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0", "a document of Microsoft Office"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"Scid.si", "a database of SCID"),
    (b"\x7fELF", "an executable"),
    (b"MZ\x90", "an executable"),
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"RIFF", "a media file (RIFF)"),
];

/// The content of a stream, decompressed where gzip or zstd packed it.
pub struct Unpacked<R: Read> {
    /// Names the stream in warnings.
    name: String,
    stream: Stream<R>,
    /// Bytes of content so far.
    length: u64,
}

enum Stream<R: Read> {
    Plain(Peeked<R>),
    Gzip(GzDecoder<Peeked<R>>),
    Zstd(Box<zstd::Decoder<'static, Peeked<R>>>),
    /// Read to its end, or to a fault.
    Ended,
}

impl<R: Read> Unpacked<R> {
    /// Looks at the beginning of `input`; `name` is for warnings.
    ///
    /// # Errors
    /// The system's, or a format that is refused ([`foreign`]).
    pub fn new(input: R, name: &str) -> io::Result<Unpacked<R>> {
        let mut input = Peeked::new(input);
        let head = input.peek(HEAD)?;
        let stream = if head.starts_with(&GZIP) {
            Stream::Gzip(GzDecoder::new(input))
        } else if is_packed(head) {
            Stream::Zstd(Box::new(zstd::Decoder::with_buffer(input)?))
        } else if let Some(kind) = foreign(head) {
            return Err(refused(kind));
        } else {
            Stream::Plain(input)
        };
        Ok(Unpacked { name: name.to_owned(), stream, length: 0 })
    }

    /// At the end of a gzip member: the next one, the end, or bytes that belong to none, which gzip ignores, too.
    fn next_member(&mut self) -> io::Result<()> {
        let Stream::Gzip(member) = mem::replace(&mut self.stream, Stream::Ended) else {
            return Ok(());
        };
        let mut rest = member.into_inner();
        if rest.peek(GZIP.len())?.starts_with(&GZIP) {
            self.stream = Stream::Gzip(GzDecoder::new(rest));
            return Ok(());
        }
        // Zeros fill the last block of a tape.
        let is_padding = rest.peek(BUFFER)?.iter().all(|byte| *byte == 0);
        if !is_padding {
            log::warn!("{}: the bytes behind the compressed data are ignored", self.name);
        }
        Ok(())
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            let (read, by) = match &mut self.stream {
                Stream::Plain(stream) => return stream.read(bytes),
                Stream::Gzip(stream) => (stream.read(bytes), "gzip"),
                Stream::Zstd(stream) => (stream.read(bytes), "zstd"),
                Stream::Ended => return Ok(0),
            };
            match read {
                Ok(0) if by == "gzip" => self.next_member()?,
                Ok(0) => self.stream = Stream::Ended,
                Ok(count) => {
                    self.length += count as u64;
                    return Ok(count);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => return Err(why),
                Err(why) => {
                    self.stream = Stream::Ended;
                    return Err(damage(&why, by, self.length));
                }
            }
        }
    }
}

/// An error of a decompressor, with a remedy where there is one. The system's errors have an error code and stay.
fn damage(why: &io::Error, by: &str, length: u64) -> io::Error {
    let said = why.to_string();
    if let Some(code) = why.raw_os_error() {
        return io::Error::from_raw_os_error(code);
    }
    let (kind, what) = if said.contains(WINDOW) {
        let remedy = "a window above 128 MiB; decompress it first with `zstd -d --long=31`";
        (io::ErrorKind::Unsupported, format!("compressed by zstd with {remedy}"))
    } else if why.kind() == io::ErrorKind::UnexpectedEof {
        (
            io::ErrorKind::UnexpectedEof,
            format!("the {by} file is cut off after {length} bytes of content"),
        )
    } else {
        let what = format!("the {by} file is damaged after {length} bytes of content ({said})");
        (io::ErrorKind::InvalidData, what)
    };
    io::Error::new(kind, what)
}

/// Whether an error of [`Unpacked`] means that compressed data is cut off or damaged: what was read before it is sound.
#[must_use]
pub fn is_damage(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

/// Whether `bytes` begin as a compressed file (gzip, zstd) does.
#[must_use]
pub fn is_packed(bytes: &[u8]) -> bool {
    let is_skippable = bytes.first().is_some_and(|first| first & 0xf0 == 0x50)
        && bytes[1..].starts_with(&SKIPPABLE);
    let magic = zstd::zstd_safe::MAGICNUMBER.to_le_bytes();
    is_skippable || bytes.starts_with(&magic) || bytes.starts_with(&GZIP)
}

/// The format of a file that is no text, by its first bytes ([`HEAD`]).
#[must_use]
pub fn foreign(head: &[u8]) -> Option<&'static str> {
    let known = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name);
    let is_tar = head.get(257..262) == Some(b"ustar");
    known.or(is_tar.then_some("a tar archive"))
}

/// The error for a format that is refused.
#[must_use]
pub fn refused(kind: &str) -> io::Error {
    let what = format!("{kind}, expected a text, plain or compressed by gzip or zstd");
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// A buffered stream whose next bytes can be looked at.
pub struct Peeked<R> {
    inner: R,
    buffer: Box<[u8]>,
    /// Bytes read and not consumed.
    filled: std::ops::Range<usize>,
    /// Error of a read behind bytes that are not consumed yet.
    fault: Option<io::Error>,
}

impl<R: Read> Peeked<R> {
    /// Reads nothing yet.
    pub fn new(inner: R) -> Peeked<R> {
        Peeked { inner, buffer: vec![0; BUFFER].into(), filled: 0..0, fault: None }
    }

    /// The next `count` bytes, at most 64 KiB, or those up to the end or to a fault.
    ///
    /// # Errors
    /// The stream's, where no byte is left before it.
    pub fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        let count = count.min(BUFFER);
        if self.filled.start + count > BUFFER {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        while self.filled.len() < count && self.fault.is_none() {
            match self.inner.read(&mut self.buffer[self.filled.end..]) {
                Ok(0) => break,
                Ok(read) => self.filled.end += read,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => self.fault = Some(why),
            }
        }
        match self.fault.take_if(|_| self.filled.is_empty()) {
            Some(why) => Err(why),
            None => Ok(&self.buffer[self.filled.clone()]),
        }
    }
}

impl<R: Read> BufRead for Peeked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.filled.is_empty() {
            self.filled = 0..0;
        }
        self.peek(1)
    }

    fn consume(&mut self, count: usize) {
        self.filled.start = (self.filled.start + count).min(self.filled.end);
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, bytes)
    }
}

/// [`Read::read`] of a reader with a buffer of its own.
///
/// # Errors
/// The buffer cannot be filled.
pub fn read_buffered(reader: &mut impl BufRead, bytes: &mut [u8]) -> io::Result<usize> {
    let mut found = reader.fill_buf()?;
    let count = found.read(bytes)?;
    reader.consume(count);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The content, and the error at its end.
    fn read(bytes: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let mut content = Vec::new();
        let done = Unpacked::new(bytes, "x").and_then(|mut file| file.read_to_end(&mut content));
        (content, done.err())
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(content: &[u8]) -> Vec<u8> {
        zstd::encode_all(content, 1).unwrap()
    }

    /// As pzstd begins a file: the size of the frame behind it.
    fn skippable(magic: u8) -> Vec<u8> {
        [&[magic, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], &[9, 9, 9, 9]].concat()
    }

    #[test]
    fn the_content_decides_how_a_file_is_read() {
        let text = b"1. e4 e5 *\n".repeat(1000);
        let whole = |parts: &[&[u8]]| {
            let (content, fault) = read(&parts.concat());
            assert!(fault.is_none(), "{fault:?}");
            content
        };
        assert_eq!(whole(&[&text]), text);
        assert_eq!(whole(&[]), b"");
        assert_eq!(whole(&[&gzip(&text)]), text);
        assert_eq!(whole(&[&gzip(&text), &gzip(b"x")]), [&text[..], b"x"].concat());
        assert_eq!(whole(&[&zstd(&text), &zstd(b"x")]), [&text[..], b"x"].concat());
        for magic in 0x50..=0x5f {
            let frame = skippable(magic);
            assert!(is_packed(&frame));
            let packed = [&frame[..], &zstd(&text), &frame, &zstd(b"x"), &frame];
            assert_eq!(whole(&packed), [&text[..], b"x"].concat(), "{magic:x}");
        }
        // Bytes that gzip ignores behind its data.
        assert_eq!(whole(&[&gzip(&text), &[0; 1000]]), text);
        assert_eq!(whole(&[&gzip(&text), b"junk"]), text);
        assert_eq!(whole(&[&gzip(&text), &[0, 0, 7]]), text);
    }

    #[test]
    fn what_stands_before_a_fault_is_read() {
        // Random bytes, or nothing would be left where half the file is.
        let mut state = 1_u32;
        let text: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(1 << 20)
        .collect();
        for (packed, name) in [(gzip(&text), "gzip"), (zstd(&text), "zstd")] {
            let (content, fault) = read(&packed[..packed.len() / 2]);
            let fault = fault.unwrap();
            assert!(content.len() > text.len() / 3 && text.starts_with(&content), "{name}");
            assert!(is_damage(&fault), "{fault:?}");
            let cut = format!("the {name} file is cut off after {} bytes", content.len());
            assert!(fault.to_string().starts_with(&cut), "{fault}");
        }
        let mut packed = gzip(&text);
        let end = packed.len() - 6;
        packed[end] ^= 1;
        let (content, fault) = read(&packed);
        assert!(content == text && is_damage(&fault.unwrap()), "the checksum is wrong");
        let (content, fault) = read(&[&zstd(&text)[..], b"junk"].concat());
        assert!(content == text && is_damage(&fault.unwrap()), "zstd -t fails, too");
    }

    #[test]
    fn a_window_above_the_limit_names_the_remedy() {
        let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
        packer.window_log(28).unwrap();
        packer.write_all(b"1. e4 *").unwrap();
        let (_, fault) = read(&packer.finish().unwrap());
        let fault = fault.unwrap();
        assert!(fault.to_string().contains("zstd -d --long=31") && !is_damage(&fault), "{fault}");
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        let tar = [&[b'a'; 257][..], b"ustar\0"].concat();
        for (bytes, name) in [
            (&b"PK\x03\x04\x14\0"[..], "zip"),
            (b"BZh91AY&SY", "bzip2"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"7z\xbc\xaf\x27\x1c\0", "7-Zip"),
            (&tar, "tar"),
        ] {
            let (content, fault) = read(bytes);
            let fault = fault.unwrap().to_string();
            assert!(content.is_empty() && fault.contains(name), "{fault}");
            assert!(fault.contains("expected a text"), "{fault}");
        }
        assert_eq!(foreign(b"[Event \"x\"]"), None);
    }

    #[test]
    fn a_stream_in_single_bytes_is_recognised() {
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
                bytes[0] = *first;
                self.0 = rest;
                Ok(1)
            }
        }
        let packed = [gzip(b"1. e4 "), gzip(b"e5 *")].concat();
        let mut content = String::new();
        Unpacked::new(Slow(&packed), "x").unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "1. e4 e5 *");
    }
}
