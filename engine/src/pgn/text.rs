//! Bytes of a PGN file, and their text.

use crate::errors::FileError;
use flate2::read::MultiGzDecoder;
use nn::files::{MAX_TEXT, read_limited, unpacked};
use std::fs::File;
use std::io;
use std::path::Path;

/// The name of standard input.
pub const STDIN: &str = "-";

/// The content of a file, or of standard input for [`STDIN`]; decompressed where gzip or zstd packed it.
///
/// # Errors
/// The system's, or more than [`MAX_TEXT`] bytes.
pub fn read_packed(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = match path == Path::new(STDIN) {
        true => read_limited(io::stdin().lock(), MAX_TEXT)?,
        false => read_limited(File::open(path)?, MAX_TEXT)?,
    };
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => read_limited(MultiGzDecoder::new(bytes.as_slice()), MAX_TEXT),
        false => unpacked(bytes, MAX_TEXT),
    }
}

/// The text of a file, or of standard input for [`STDIN`]: [`decode`] of [`read_packed`].
///
/// # Errors
/// As [`read_packed`].
pub fn read_decoded(path: &Path) -> Result<String, FileError> {
    Ok(decode(&read_packed(path).map_err(FileError::of(path))?))
}

/// The text of a file: UTF-8, UTF-16, or else ISO 8859-1 as the PGN standard (section 4.1) has it. NUL characters become
/// spaces.
#[must_use]
pub fn decode(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        // Without a byte order mark, a text that begins in ASCII has a NUL in each pair.
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => {
            utf16(bytes, u16::from_le_bytes)
        }
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => {
            utf16(bytes, u16::from_be_bytes)
        }
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        },
    };
    text.trim_start_matches('\u{feff}').replace(['\0', '\u{feff}'], " ")
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_recognised() {
        assert_eq!(decode(b"K\xf6nig"), "K\u{f6}nig");
        assert_eq!(decode("\u{feff}K\u{f6}nig".as_bytes()), "K\u{f6}nig");
        assert_eq!(decode(b"\xef\xbb\xbfK\xf6nig"), "K\u{f6}nig", "a mark before Latin-1");
        let wide: Vec<u16> = "[Event \"\u{17d}\"]".encode_utf16().collect();
        let little: Vec<u8> = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = wide.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [&[0xff, 0xfe][..], &[]].map(|mark| [mark, &little].concat()) {
            assert_eq!(decode(&bytes), "[Event \"\u{17d}\"]");
        }
        for bytes in [&[0xfe, 0xff][..], &[]].map(|mark| [mark, &big].concat()) {
            assert_eq!(decode(&bytes), "[Event \"\u{17d}\"]");
        }
        assert_eq!(decode(b"1. e4\0e5"), "1. e4 e5");
    }
}
