//! Lines of a text stream in bounded memory, each decoded by itself.

use std::io::{self, BufRead};

/// Longest line that is kept, in bytes.
pub const LONGEST: usize = 16 << 20;

/// Windows-1252 from 0x80 to 0x9f, where ISO 8859-1 has control characters; its five gaps stay those.
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// A line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLine {
    /// Counted from 1.
    pub number: usize,
    /// Without its end.
    pub text: String,
    /// How much of it is there.
    pub extent: Extent,
}

/// How much of a line is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Its first [`LONGEST`] bytes.
    TooLong,
    /// Its whole words before a fault of the stream.
    Torn,
}

/// The lines of a stream that end with a line feed, a carriage return, or both. Each is UTF-8, or else Windows-1252, a superset
/// of the ISO 8859-1 that the PGN standard (section 4.1) has: a stray byte changes no other line. NUL characters, byte order
/// marks and the end mark of old systems (0x1a) become blanks. Ends behind the first error, which follows the torn line.
pub struct Lines<R> {
    input: R,
    /// Lines handed out.
    number: usize,
    /// Empty lines that are due.
    empty: usize,
    state: ReadState,
}

enum ReadState {
    Reading,
    /// The line before ended with a carriage return.
    AfterReturn,
    Failed(io::Error),
    Ended,
}

impl<R: BufRead> Lines<R> {
    /// Reads nothing yet.
    pub fn new(input: R) -> Lines<R> {
        Lines { input, number: 0, empty: 0, state: ReadState::Reading }
    }

    /// Reads past what belongs to a carriage return: further ones before a line feed are of the same line end, which some
    /// programs double; without a line feed each ends an empty line.
    fn end_return(&mut self) -> io::Result<()> {
        self.state = ReadState::Reading;
        loop {
            let next = self.input.fill_buf()?.first().copied();
            match next {
                Some(b'\r') => self.empty += 1,
                Some(b'\n') => self.empty = 0,
                _ => return Ok(()),
            }
            self.input.consume(1);
            if next == Some(b'\n') {
                return Ok(());
            }
        }
    }

    /// Reads one line; None at the end.
    fn read(&mut self) -> io::Result<Option<TextLine>> {
        if matches!(self.state, ReadState::AfterReturn) {
            self.end_return()?;
        }
        if self.empty > 0 {
            self.empty -= 1;
            return Ok(Some(self.line(&[], Extent::Whole)));
        }
        let (mut bytes, mut extent) = (Vec::new(), Extent::Whole);
        loop {
            let chunk = match self.input.fill_buf() {
                Ok([]) if bytes.is_empty() => return Ok(None),
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) if bytes.is_empty() => return Err(why),
                Err(why) => {
                    self.state = ReadState::Failed(why);
                    let whole = bytes.iter().rposition(u8::is_ascii_whitespace);
                    return Ok(Some(self.line(&bytes[..whole.unwrap_or(0)], Extent::Torn)));
                }
            };
            let end = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let kept = part.len().min(LONGEST - bytes.len());
            if kept < part.len() {
                extent = Extent::TooLong;
            }
            bytes.extend_from_slice(&part[..kept]);
            let is_return = end.is_some_and(|end| chunk[end] == b'\r');
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.input.consume(used);
            if is_return {
                self.state = ReadState::AfterReturn;
            }
            if end.is_some() {
                break;
            }
        }
        Ok(Some(self.line(&bytes, extent)))
    }

    fn line(&mut self, bytes: &[u8], extent: Extent) -> TextLine {
        self.number += 1;
        let mark = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| self.number == 1);
        TextLine { number: self.number, text: characters(mark.unwrap_or(bytes)), extent }
    }
}

fn characters(bytes: &[u8]) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| windows_1252(*byte)).collect(),
    };
    const BLANKS: [char; 3] = ['\0', '\u{1a}', '\u{feff}'];
    if text.contains(BLANKS) { text.replace(BLANKS, " ") } else { text }
}

fn windows_1252(byte: u8) -> char {
    let own = byte.checked_sub(0x80).and_then(|at| WINDOWS.get(usize::from(at)));
    own.copied().unwrap_or(char::from(byte))
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<TextLine>;

    fn next(&mut self) -> Option<io::Result<TextLine>> {
        match std::mem::replace(&mut self.state, ReadState::Ended) {
            ReadState::Ended => return None,
            ReadState::Failed(why) => return Some(Err(why)),
            state => self.state = state,
        }
        let read = self.read();
        if !matches!(read, Ok(Some(_))) {
            self.state = ReadState::Ended;
        }
        read.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn lines(bytes: &[u8]) -> Vec<(usize, String)> {
        // A small buffer: line ends fall between two of them.
        let lines = Lines::new(BufReader::with_capacity(3, bytes));
        lines.map(|line| line.unwrap()).map(|line| (line.number, line.text)).collect()
    }

    #[test]
    fn every_line_end_is_one() {
        for text in ["a\n\nbc\nd", "a\r\n\r\nbc\r\nd\r\n", "a\r\rbc\rd\r", "a\r\r\n\r\r\nbc\r\r\nd"]
        {
            let found = lines(text.as_bytes());
            let expected = [(1, "a"), (2, ""), (3, "bc"), (4, "d")];
            assert_eq!(found, expected.map(|(at, text)| (at, text.to_owned())), "{text:?}");
        }
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn each_line_has_its_own_encoding() {
        let bytes = "\u{feff}J\u{f6}rg\n".as_bytes();
        let found = lines(&[bytes, b"J\xf6rg \x80\x96\xa9\nK\xc3\xb6\0nig\x1a"].concat());
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["J\u{f6}rg", "J\u{f6}rg \u{20ac}\u{2013}\u{a9}", "K\u{f6} nig "]);
        assert_eq!(lines(b"\xef\xbb\xbfK\xf6nig")[0].1, "K\u{f6}nig", "a mark before Latin-1");
    }

    #[test]
    fn an_endless_line_and_a_fault_are_marked() {
        let endless = std::io::repeat(b'a').take(LONGEST as u64 + 1);
        let mut found = Lines::new(BufReader::new(endless.chain(&b"\nb"[..])));
        let first = found.next().unwrap().unwrap();
        assert_eq!((first.text.len(), first.extent), (LONGEST, Extent::TooLong));
        assert_eq!(found.next().unwrap().unwrap().text, "b");

        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let mut found = Lines::new(BufReader::new(b"1. e4\n1... e5 2. Nf".chain(Fails)));
        assert_eq!(found.next().unwrap().unwrap().extent, Extent::Whole);
        let torn = found.next().unwrap().unwrap();
        assert_eq!((torn.text.as_str(), torn.extent), ("1... e5 2.", Extent::Torn));
        assert!(found.next().unwrap().is_err() && found.next().is_none());
    }
}
