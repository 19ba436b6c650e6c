//! Positions that may be used: none of the test suites', and no duplicate within a window.

use super::error::DataError;
use super::mirror::mirrored_position;
use chess::composed::composed;
use nn::encode::MoveCode;
use nn::rng::scramble;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position, fen::Fen};
use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Zobrist key of a position: pieces, side to move, castling rights, en passant where legal; no clocks.
#[must_use]
pub fn position_key(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

/// Key of `MAV(s)` or, with an action, of `MAV(s, a)`.
#[must_use]
pub fn query_key(position: u64, action: Option<MoveCode>) -> u64 {
    match action {
        None => position,
        Some(action) => position ^ scramble(action.index() as u64 + 1),
    }
}

/// Identity hash: keys are random already.
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = scramble(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A set of position keys.
pub type KeySet = HashSet<u64, BuildHasherDefault<KeyHasher>>;

/// The last keys admitted, up to the window's length.
pub(super) struct Recent {
    keys: KeySet,
    order: VecDeque<u64>,
    window: usize,
}

impl Recent {
    pub fn new(window: usize) -> Recent {
        Recent { keys: KeySet::default(), order: VecDeque::new(), window }
    }

    /// True if `key` is not among the last admitted; it then is.
    pub fn admit(&mut self, key: u64) -> bool {
        if self.window == 0 {
            return true;
        }
        if !self.keys.insert(key) {
            return false;
        }
        if self.order.len() == self.window
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
        self.order.push_back(key);
        true
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.order.clear();
    }
}

/// Keys of all positions in EPD, FEN or CSV files. The text before the fourth blank of each line (or before the
/// first comma) is a FEN; in a CSV, UCI moves after the first comma are played and their positions included.
/// Mirror images are excluded too, because a mirrored example must not be a suite's position. Lines without a
/// legal position are skipped.
///
/// # Errors
/// If a file cannot be read, is not UTF-8, or has a line of more than 64 KiB.
pub fn exclude_from_files<P: AsRef<Path>>(paths: &[P]) -> Result<KeySet, DataError> {
    let mut keys = KeySet::default();
    for path in paths {
        let file: Arc<str> = path.as_ref().display().to_string().into();
        let input = File::open(path);
        let input =
            input.map_err(|source| DataError::Io { file: file.clone(), offset: 0, source })?;
        exclude_lines(BufReader::new(input), &file, &mut keys)?;
    }
    Ok(keys)
}

/// Longest line of a suite, in bytes with its end; puzzle lines have a few hundred.
const MAX_LINE: usize = 1 << 16;

fn exclude_lines(
    mut input: impl BufRead,
    file: &Arc<str>,
    keys: &mut KeySet,
) -> Result<(), DataError> {
    let (mut offset, mut line) = (0, Vec::new());
    let fault = |offset, source| DataError::Io { file: file.clone(), offset, source };
    loop {
        line.clear();
        let mut within = input.by_ref().take(MAX_LINE as u64 + 1);
        let count = within.read_until(b'\n', &mut line).map_err(|error| fault(offset, error))?;
        if count == 0 {
            return Ok(());
        }
        if count > MAX_LINE {
            let what = format!("a line of more than {MAX_LINE} bytes, expected at most as many");
            return Err(fault(offset, io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        let text = str::from_utf8(&line);
        let text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        exclude_line(text.map_err(|error| fault(offset, error))?, keys);
        offset += count as u64;
    }
}

fn exclude_line(line: &str, keys: &mut KeySet) {
    let mut columns = line.split(',');
    let fields: Vec<&str> = columns.next().unwrap_or("").split_whitespace().take(4).collect();
    let Ok(fen) = fields.join(" ").parse::<Fen>() else {
        return;
    };
    // Composed positions with more moves than a list holds are of no use in training.
    let Ok(mut position) = fen.into_position(CastlingMode::Chess960).or_else(composed) else {
        return;
    };
    exclude(&position, keys);
    for uci in columns.next().unwrap_or("").split_whitespace() {
        let Ok(m) = uci
            .parse::<shakmaty::uci::UciMove>()
            .map_err(drop)
            .and_then(|uci| uci.to_move(&position).map_err(drop))
        else {
            return;
        };
        position.play_unchecked(m);
        exclude(&position, keys);
    }
}

fn exclude(position: &Chess, keys: &mut KeySet) {
    keys.insert(position_key(position));
    keys.extend(mirrored_position(position).as_ref().map(position_key));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::position;

    #[test]
    fn the_window_forgets_the_oldest_key() {
        let mut recent = Recent::new(2);
        assert_eq!(
            [1, 2, 1, 3, 1, 2].map(|key| recent.admit(key)),
            [true, true, false, true, true, true]
        );
        recent.clear();
        assert!(recent.admit(2));
        let mut none = Recent::new(0);
        assert!(none.admit(1) && none.admit(1));
    }

    #[test]
    fn keys_differ_where_the_network_input_does_except_the_clock() {
        let key = |fen| position_key(&position(fen));
        let white = key("4k3/8/8/8/4P3/8/8/R3K3 w Q - 0 1");
        assert_eq!(white, key("4k3/8/8/8/4P3/8/8/R3K3 w Q - 40 90"));
        for other in ["4k3/8/8/8/4P3/8/8/R3K3 b Q - 0 1", "4k3/8/8/8/4P3/8/8/R3K3 w - - 0 1"] {
            assert_ne!(white, key(other));
        }
        let code = MoveCode { from: 0, to: 1, promotion: 0 };
        assert_eq!(query_key(white, None), white);
        assert_ne!(query_key(white, Some(code)), white);
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let name: Arc<str> = "suite.epd".into();
        let start = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\r\n";
        let mut keys = KeySet::default();
        let endless = start.chain(io::repeat(b'x'));
        let why = exclude_lines(BufReader::new(endless), &name, &mut keys).expect_err("refused");
        let why = why.to_string();
        assert!(why.starts_with("suite.epd: after byte 54 "), "{why}");
        assert!(why.contains("more than 65536 bytes"), "{why}");
        assert_eq!(keys.len(), 1);
        let latin = exclude_lines(&b"# \xe4\n"[..], &name, &mut keys).expect_err("refused");
        assert!(latin.to_string().contains("utf-8"), "{latin}");
    }

    #[test]
    fn lines_of_every_kind_of_suite_are_understood() {
        let mut keys = KeySet::default();
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
        exclude_line(&format!("{start} w KQkq - bm e4; id \"one\";"), &mut keys);
        exclude_line(&format!("{start} w KQkq - 0 1 ;D1 20"), &mut keys);
        assert_eq!(keys.len(), 1);
        exclude_line(&format!("{start} w KQkq - 0 1,e2e4 e7e5 g1f3,1500,id"), &mut keys);
        assert_eq!(keys.len(), 4, "the puzzle's positions to its end");
        for no_position in ["fen,moves,rating,id", "", "# 8/8/8/8/8/8/8/8 w - -"] {
            exclude_line(no_position, &mut keys);
        }
        assert_eq!(keys.len(), 4);
        exclude_line("8/8/8/8/8/5k2/4p3/4K3 w - - bm Kd2;", &mut keys);
        assert!(keys.contains(&position_key(&position("8/8/8/8/8/2k5/3p4/3K4 w - - 0 1"))));
        assert_eq!(keys.len(), 6, "with its mirror image");
        assert!(
            exclude_from_files(&["no/such/file.epd"])
                .expect_err("absent")
                .to_string()
                .contains("no/such/file.epd")
        );
    }
}
