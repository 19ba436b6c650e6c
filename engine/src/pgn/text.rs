//! Bytes of text files, and their characters: decompressed, decoded, and refused where they are no text.

use super::lines::{Extent, Lines, TextLine};
use crate::process::errors::FileError;
use nn::unpack::{HEAD, Peeked, Unpacked, foreign, is_damage, read_buffered, refused};
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// The name of standard input.
pub const STDIN: &str = "-";
/// Longest text that is read whole, in bytes: the puzzles of lichess.org fit twice.
const LONGEST_TEXT: usize = 2 << 30;
/// A file is binary with at least this many control characters, and more than one in [`TEXT_BYTES`] bytes. A guess: text has almost
/// none, and of random bytes one in ten is one.
const CONTROLS: usize = 4;
const TEXT_BYTES: usize = 16;

/// A text as a stream of bytes, in UTF-8 or any encoding that has ASCII.
pub type TextStream = Box<dyn BufRead + Send>;

/// Opens a text file, or standard input for [`STDIN`]. It may be compressed by gzip or zstd; UTF-16 becomes UTF-8.
///
/// # Errors
/// The system's, or the file is of another kind, which is named.
pub fn open(path: &Path) -> io::Result<TextStream> {
    let name = path.display().to_string();
    match path == Path::new(STDIN) {
        true => decompress(io::stdin(), &name),
        false => decompress(File::open(path)?, &name),
    }
}

fn decompress(input: impl Read + Send + 'static, name: &str) -> io::Result<TextStream> {
    let mut text = Peeked::new(Unpacked::new(input, name)?);
    let head = text.peek(HEAD)?;
    if let Some(kind) = foreign(head) {
        return Err(refused(kind));
    }
    if let Some(unit) = wide(head) {
        return Ok(Box::new(Utf16::new(text, unit)));
    }
    match unfit(head) {
        Some(kind) => Err(refused(kind)),
        None => Ok(Box::new(text)),
    }
}

/// A kind of content that is no chess: pages of the web, and whatever is no text.
fn unfit(head: &[u8]) -> Option<&'static str> {
    let bare = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    // No notation of chess begins so; a null move, `<>`, stands behind another move or a number.
    if bare.first() == Some(&b'<') {
        let is_page = ["html", "<head", "<body", "<script"];
        let head = String::from_utf8_lossy(bare).to_ascii_lowercase();
        let is_page = is_page.iter().any(|mark| head.contains(mark));
        return Some(if is_page { "a page of the web (HTML)" } else { "a file of markup (XML)" });
    }
    // A lost block at the end of a file is full of zeros.
    let end = head.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let is_control =
        |byte: &&u8| byte.is_ascii_control() && !b"\t\n\r\x0b\x0c\x1a\x1b".contains(byte);
    let controls = head[..end].iter().filter(is_control).count();
    let is_binary =
        controls >= CONTROLS && controls * TEXT_BYTES > end || end == 0 && !head.is_empty();
    is_binary.then_some("a binary file")
}

/// The text of a file, or of standard input for [`STDIN`], line by line as `Lines` reads it. Compressed data that is cut off or
/// damaged is read up to its last whole line, with a warning.
///
/// # Errors
/// As [`open`], or more than 2 GiB.
pub fn read_decoded(path: &Path) -> Result<String, FileError> {
    open(path).and_then(|text| whole(text, path)).map_err(FileError::of(path))
}

fn whole(text: TextStream, path: &Path) -> io::Result<String> {
    let mut whole = String::new();
    for line in Lines::new(text) {
        match line {
            Err(why) if is_damage(&why) => {
                log::warn!("{}: {why}; the lines before are read", path.display());
            }
            line => push_line(&mut whole, line?),
        }
        if whole.len() > LONGEST_TEXT {
            let what = format!("a text of more than {} GiB", LONGEST_TEXT >> 30);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
    }
    Ok(whole)
}

/// The text of these bytes, line by line as `Lines` reads it.
#[must_use]
pub fn decode(bytes: &[u8]) -> String {
    let input: Box<dyn BufRead + '_> = match wide(bytes) {
        Some(unit) => Box::new(Utf16::new(bytes, unit)),
        None => Box::new(bytes),
    };
    let mut text = String::with_capacity(bytes.len());
    // A slice has no errors.
    Lines::new(input).map_while(Result::ok).for_each(|line| push_line(&mut text, line));
    text
}

fn push_line(text: &mut String, line: TextLine) {
    if line.extent != Extent::Torn {
        text.push_str(&line.text);
        text.push('\n');
    }
}

/// Two bytes of UTF-16.
type Utf16Unit = fn([u8; 2]) -> u16;

/// The byte order of UTF-16, by its mark; without one, a text that begins in ASCII has a NUL in each pair.
fn wide(head: &[u8]) -> Option<Utf16Unit> {
    match head {
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => Some(u16::from_le_bytes),
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// UTF-16 as UTF-8.
struct Utf16<R> {
    input: R,
    unit: Utf16Unit,
    /// The first half of a pair.
    high: Option<u16>,
    /// Characters that are read, and how many of their bytes are consumed.
    ready: String,
    consumed: usize,
    /// Error of a read behind these characters.
    fault: Option<io::Error>,
}

impl<R: BufRead> Utf16<R> {
    fn new(input: R, unit: Utf16Unit) -> Utf16<R> {
        Utf16 { input, unit, high: None, ready: String::new(), consumed: 0, fault: None }
    }

    /// The next two bytes. Half a unit at the end is dropped.
    fn next_unit(&mut self) -> io::Result<Option<u16>> {
        let mut pair = [0; 2];
        let mut filled = 0;
        while filled < 2 {
            match self.input.read(&mut pair[filled..])? {
                0 => return Ok(None),
                count => filled += count,
            }
        }
        Ok(Some((self.unit)(pair)))
    }

    fn push(&mut self, unit: u16) {
        let is_high = (0xd800..0xdc00).contains(&unit);
        let units = self.high.take().into_iter().chain(Some(unit).filter(|_| !is_high));
        let characters = char::decode_utf16(units);
        self.ready.extend(characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        self.high = is_high.then_some(unit);
    }
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, bytes)
    }
}

impl<R: BufRead> BufRead for Utf16<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.ready.len() {
            self.ready.clear();
            self.consumed = 0;
            while self.ready.len() < HEAD && self.fault.is_none() {
                match self.next_unit() {
                    Ok(Some(unit)) => self.push(unit),
                    Ok(None) => break,
                    Err(why) => self.fault = Some(why),
                }
            }
            if let Some(why) = self.fault.take_if(|_| self.ready.is_empty()) {
                return Err(why);
            }
        }
        Ok(&self.ready.as_bytes()[self.consumed..])
    }

    fn consume(&mut self, count: usize) {
        self.consumed = (self.consumed + count).min(self.ready.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_recognised() {
        assert_eq!(decode(b"K\xf6nig"), "K\u{f6}nig\n");
        assert_eq!(decode("\u{feff}K\u{f6}nig".as_bytes()), "K\u{f6}nig\n");
        let wide: Vec<u16> = "[Event \"\u{17d}\u{1f600}\"]\r\n".encode_utf16().collect();
        let little: Vec<u8> = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = wide.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [&[0xff, 0xfe][..], &[]].map(|mark| [mark, &little].concat()) {
            assert_eq!(decode(&bytes), "[Event \"\u{17d}\u{1f600}\"]\n");
        }
        for bytes in [&[0xfe, 0xff][..], &[]].map(|mark| [mark, &big].concat()) {
            assert_eq!(decode(&bytes), "[Event \"\u{17d}\u{1f600}\"]\n");
        }
        assert_eq!(decode(b"1. e4\0e5"), "1. e4 e5\n");
    }

    #[test]
    fn what_is_no_text_is_refused_by_name() {
        let fault = |bytes: &'static [u8]| {
            decompress(bytes, "x").err().map(|why| why.to_string()).unwrap_or_default()
        };
        for (bytes, name) in [
            (&b"\n<!DOCTYPE html>\n<title>Not found</title>"[..], "HTML"),
            (b"\xef\xbb\xbf<?xml version='1.0'?>", "XML"),
            (b"PK\x03\x04", "zip"),
            (b"\x01\x02\x03\x04\x05\x06\x07\x08 text", "a binary file"),
            (&[0; 100], "a binary file"),
        ] {
            assert!(fault(bytes).contains(name), "{bytes:?}: {}", fault(bytes));
        }
        for bytes in [
            &b"1. e4 e5 *\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..],
            b"1. e4\0e5 *\x1a",
            b"\xff\xfe[\0A\0 \0\"\0",
            b"\x1b[31m 1. e4 *",
            b"",
        ] {
            assert_eq!(fault(bytes), "", "{bytes:?}");
        }
        let mut packer =
            flate2::read::GzEncoder::new(&b"PK\x03\x04"[..], flate2::Compression::fast());
        let mut packed = Vec::new();
        packer.read_to_end(&mut packed).unwrap();
        let packed: &'static [u8] = packed.leak();
        assert!(fault(packed).contains("zip"), "a packed archive");
    }
}
