//! Syzygy endgame tables (Ronald de Man): WDL and DTZ of positions with few pieces, read by the crate
//! `shakmaty-syzygy`.
//!
//! Tables of up to four pieces are bundled; folders may add larger ones.
//!
//! [`root`] ranks the moves of a root; the search probes [`Tables::wdl`] below it. A folder or table that is missing,
//! damaged or unreadable is reported once, and the game continues without it.

mod bundled;
mod conversion;
mod edge;
pub mod root;

use crate::quote::quote_path;
use shakmaty::{Chess, Position};
use shakmaty_syzygy::{Metric, ProbeError, SyzygyError, Tablebase};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Tables of folders, and the bundled ones if requested. Clones share the files.
#[derive(Clone)]
pub struct Tables {
    files: Arc<Files>,
    /// Limit of pieces for a probe.
    most_pieces: usize,
}

/// A result for the side to move, with the fifty-move rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableResult {
    /// The side to move wins.
    Win,
    /// Neither side wins, perhaps by the fifty-move rule.
    Draw,
    /// The side to move loses.
    Loss,
}

struct Files {
    base: Tablebase<Chess>,
    /// The bundled tables alone: fallback if a folder's table of the same name is damaged.
    bundled: Option<Tablebase<Chess>>,
    /// Tables in folders.
    count: usize,
    /// Largest number of pieces among them.
    most_pieces: usize,
    /// The first error.
    error: OnceLock<String>,
    warned: AtomicBool,
}

impl Tables {
    /// Indexes the tables in the folders of `path`, separated by `;` or by the system's path separator. Files are
    /// opened on demand.
    #[must_use]
    pub fn find(path: &str) -> Tables {
        Tables::of(Files::new(), path)
    }

    /// The bundled tables, and those in the folders of `path`, which take precedence.
    #[must_use]
    pub fn with_bundled(path: &str) -> Tables {
        let mut files = Files::new();
        let mut bundled = tablebase();
        for path in bundled::paths() {
            files.add_file(&path);
            // Cannot fail: the bundled files are intact.
            let _ = bundled.add_file(&path);
        }
        files.bundled = Some(bundled);
        Tables::of(files, path)
    }

    /// The same, and what they are and what is wrong with them, where anything is.
    #[must_use]
    pub fn open(path: &str) -> (Tables, Option<String>) {
        let tables = Tables::with_bundled(path);
        let trouble = tables.take_warning().map(|trouble| format!("{tables}; {trouble}"));
        (tables, trouble)
    }

    fn of(mut files: Files, path: &str) -> Tables {
        let folders = path.split(';').flat_map(std::env::split_paths);
        for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            files.add_folder(&folder);
        }
        let most_pieces = files.base.max_pieces();
        Tables { files: Arc::new(files), most_pieces }
    }

    /// The same tables, limited to positions of this many pieces. None if no table is that small.
    #[must_use]
    pub fn up_to(&self, pieces: usize) -> Option<Tables> {
        let most_pieces = self.most_pieces.min(pieces);
        (most_pieces > 0).then(|| Tables { files: self.files.clone(), most_pieces })
    }

    /// Number of tables in folders.
    #[must_use]
    pub fn found(&self) -> usize {
        self.files.count
    }

    /// The first error, returned once.
    #[must_use]
    pub fn take_warning(&self) -> Option<&str> {
        let error = self.files.error.get()?;
        // Relaxed: it publishes nothing; only one caller gets the warning.
        (!self.files.warned.swap(true, Ordering::Relaxed)).then_some(error)
    }

    /// Whether tables may contain a position: few pieces, no castling rights.
    #[inline]
    #[must_use]
    pub fn covers(&self, position: &Chess) -> bool {
        position.board().occupied().count() <= self.most_pieces && position.castles().is_empty()
    }

    /// WDL for the side to move directly after a capture or a pawn move. A win or loss that the fifty-move rule
    /// prevents is a draw. None without a table.
    #[must_use]
    pub fn wdl(&self, position: &Chess) -> Option<TableResult> {
        self.raw_wdl(position).map(|wdl| match wdl {
            shakmaty_syzygy::Wdl::Win => TableResult::Win,
            shakmaty_syzygy::Wdl::Loss => TableResult::Loss,
            _ => TableResult::Draw,
        })
    }

    /// The table's five-valued WDL.
    fn raw_wdl(&self, position: &Chess) -> Option<shakmaty_syzygy::Wdl> {
        self.files.probe_tables(|base| base.probe_wdl_after_zeroing(position))
    }

    /// DTZ: plies to the next capture, pawn move or mate, negative for the losing side; one more, or one less for
    /// that side, where the table rounds. See [`edge`].
    fn dtz(&self, position: &Chess) -> Option<i32> {
        let dtz = self.files.probe_tables(|base| base.probe_dtz(position))?;
        Some(dtz.ignore_rounding().0)
    }
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files.count {
            0 => f.write_str("no Syzygy tables found"),
            count => {
                write!(
                    f,
                    "{count} Syzygy tables found, for up to {} pieces",
                    self.files.most_pieces
                )
            }
        }
    }
}

impl Files {
    fn new() -> Files {
        Files {
            base: tablebase(),
            bundled: None,
            count: 0,
            most_pieces: 0,
            error: OnceLock::new(),
            warned: AtomicBool::new(false),
        }
    }

    /// Adds files one by one: an invalid file must not hide the rest.
    fn add_folder(&mut self, folder: &Path) {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(why) => return self.record_error(format_args!("{}: {why}", quote_path(folder))),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if self.add_file(&path) {
                self.count += 1;
                self.most_pieces = self.most_pieces.max(pieces(&path));
            }
        }
    }

    /// Whether the file may be a table.
    fn add_file(&mut self, path: &Path) -> bool {
        match self.base.add_file(path) {
            Ok(()) => return true,
            // Its name is not that of a table.
            Err(why) if why.kind() == std::io::ErrorKind::InvalidInput => {}
            Err(why) => self.record_error(format_args!("{}: {why}", path.display())),
        }
        false
    }

    /// Probes a table. A damaged table may panic in the reader; a bundled one of the same material is the fallback.
    fn probe_tables<T>(
        &self,
        probe: impl Fn(&Tablebase<Chess>) -> Result<T, SyzygyError>,
    ) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(|| probe(&self.base))) {
            Ok(Ok(found)) => return Some(found),
            Ok(Err(why)) => self.record_error(UserText(&why)),
            Err(_) => self.record_error("a table is damaged"),
        }
        probe(self.bundled.as_ref()?).ok()
    }

    fn record_error(&self, error: impl fmt::Display) {
        self.error.get_or_init(|| format!("Syzygy: {error}"));
    }
}

/// An empty tablebase that can open bundled tables.
fn tablebase() -> Tablebase<Chess> {
    Tablebase::with_filesystem(Arc::new(bundled::Bundled::default()))
}

/// Number of pieces by a table's name: `KQvKP.rtbw` has four.
fn pieces(path: &Path) -> usize {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.bytes().filter(u8::is_ascii_uppercase).count()
}

/// Error text for users, without source locations.
struct UserText<'a>(&'a SyzygyError);

impl fmt::Display for UserText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |metric: &Metric| match metric {
            Metric::Wdl => "rtbw",
            Metric::Dtz => "rtbz",
        };
        match self.0 {
            SyzygyError::MissingTable { metric, material } => {
                write!(f, "{material}.{} is missing", kind(metric))
            }
            SyzygyError::ProbeFailed { metric, material, error } => {
                write!(f, "{material}.{} ", kind(metric))?;
                match &**error {
                    ProbeError::Read { error } => write!(f, "cannot be read: {error}"),
                    ProbeError::Magic { .. } => f.write_str("is no table"),
                    ProbeError::CorruptedTable { .. } => f.write_str("is damaged"),
                }
            }
            other => other.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Game;

    /// A random position with the material of a table's name, no piece on the first or last rank. `random` is an xorshift
    /// generator (Marsaglia 2003).
    fn position(material: &str, random: &mut u64) -> Game {
        let (white, black) = material.split_once('v').unwrap();
        let pieces = white.chars().chain(black.chars().map(|piece| piece.to_ascii_lowercase()));
        loop {
            let mut board = ['1'; 64];
            for piece in pieces.clone() {
                *random ^= *random << 13;
                *random ^= *random >> 7;
                *random ^= *random << 17;
                board[8 + (*random % 48) as usize] = piece;
            }
            let ranks: Vec<String> = board.chunks(8).map(|rank| rank.iter().collect()).collect();
            let fen = format!("{} w - - 0 1", ranks.join("/"));
            if let Ok(game) = Game::from_fen(&fen, false)
                && game.position().board().occupied().count() == pieces.clone().count()
            {
                return game;
            }
        }
    }

    #[test]
    fn every_bundled_table_answers() {
        let tables = Tables::with_bundled("");
        let mut random = 1;
        for path in bundled::paths() {
            let material = path.file_stem().unwrap().to_str().unwrap().to_owned();
            assert_eq!(pieces(&path), material.len() - 1, "{material}");
            for _ in 0..20 {
                let game = position(&material, &mut random);
                let (wdl, dtz) = (tables.raw_wdl(game.position()), tables.dtz(game.position()));
                let sign = dtz.unwrap().signum();
                assert_eq!(i32::from(wdl.unwrap() as i8).signum(), sign, "{}", game.fen());
            }
        }
        assert_eq!((tables.take_warning(), tables.most_pieces), (None, 4));
    }

    #[test]
    fn folders_go_before_what_is_bundled_and_nothing_else_is_lost() {
        let tables = Tables::with_bundled("/no/such/folder");
        assert!(tables.take_warning().is_some_and(|warning| warning.contains("/no/such/folder")));
        let game = Game::from_fen("8/8/8/3k4/8/8/8/1N2KB2 w - - 0 1", false).unwrap();
        assert_eq!(tables.wdl(game.position()), Some(TableResult::Win));
        assert_eq!(Tables::find("/no/such/folder").wdl(game.position()), None);
    }

    #[test]
    fn a_damaged_table_of_a_folder_hides_no_bundled_one() {
        let folder = std::env::temp_dir().join(format!("mavka-damaged-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // Not a table, but of a plausible size.
        for name in ["KQvK.rtbw", "KQvK.rtbz"] {
            std::fs::write(folder.join(name), [7; 64 + 16]).unwrap();
        }
        let path = folder.to_str().unwrap();
        let game = Game::from_fen("8/8/8/3k4/8/8/8/KQ6 w - - 0 1", false).unwrap();
        let (alone, tables) = (Tables::find(path), Tables::with_bundled(path));
        assert_eq!(tables.found(), 2);
        assert_eq!(alone.wdl(game.position()), None);
        assert_eq!(tables.wdl(game.position()), Some(TableResult::Win));
        assert!(tables.dtz(game.position()).is_some());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(tables.take_warning().is_some_and(|error| error.contains("KQvK.rtbw is no table")));
    }
}
