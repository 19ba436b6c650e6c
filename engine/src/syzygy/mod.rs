//! Endgame tables after Ronald de Man: the result of every position with few pieces, and how far the next
//! capture or pawn move is. The files are read by the crate `shakmaty-syzygy`.
//!
//! Those of up to four pieces are in the executable; folders may have more.
//!
//! [`root`] chooses among the moves of a game; the search asks [`Tables::wdl`] below the root. A folder or
//! table that is missing, damaged or unreadable is told of once, and play goes on without it.

mod bundled;
mod conversion;
pub mod root;

use crate::errors::quote_path;
use mcts::Wdl;
use shakmaty::{Chess, Position};
use shakmaty_syzygy::{Dtz, MaybeRounded, Metric, ProbeError, SyzygyError, Tablebase};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The tables of some folders, and the bundled ones if asked for. Clones share the files.
#[derive(Clone)]
pub struct Tables {
    files: Arc<Files>,
    /// Positions with more pieces are not looked up.
    most_pieces: usize,
}

struct Files {
    base: Tablebase<Chess>,
    /// The bundled tables alone, where a folder's table in place of one of them is damaged.
    bundled: Option<Tablebase<Chess>>,
    /// Found in folders.
    count: usize,
    /// The most pieces that one of those is for.
    most_pieces: usize,
    /// The first thing that went wrong.
    trouble: OnceLock<String>,
    told: AtomicBool,
}

impl Tables {
    /// Finds the tables in the folders of `path`, which are divided by `;` or by what divides the system's
    /// search path. Files are opened when they are needed.
    #[must_use]
    pub fn find(path: &str) -> Tables {
        Tables::of(Files::new(), path)
    }

    /// The bundled tables, and those in the folders of `path`, which go before bundled ones of the same name.
    #[must_use]
    pub fn with_bundled(path: &str) -> Tables {
        let mut files = Files::new();
        let mut spare = tablebase();
        for path in bundled::paths() {
            files.add_file(&path);
            // Never fails, as the files are sound.
            let _ = spare.add_file(&path);
        }
        files.bundled = Some(spare);
        Tables::of(files, path)
    }

    fn of(mut files: Files, path: &str) -> Tables {
        let folders = path.split(';').flat_map(std::env::split_paths);
        for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            files.add_folder(&folder);
        }
        let most_pieces = files.base.max_pieces();
        Tables { files: Arc::new(files), most_pieces }
    }

    /// The same for positions of at most so many pieces. None if no table has so few.
    #[must_use]
    pub fn up_to(&self, pieces: usize) -> Option<Tables> {
        let most_pieces = self.most_pieces.min(pieces);
        (most_pieces > 0).then(|| Tables { files: self.files.clone(), most_pieces })
    }

    /// How many tables the folders have.
    #[must_use]
    pub fn found(&self) -> usize {
        self.files.count
    }

    /// What has gone wrong, the first time that somebody asks.
    #[must_use]
    pub fn take_warning(&self) -> Option<&str> {
        let trouble = self.files.trouble.get()?;
        // Relaxed: nothing hangs on it but who tells.
        (!self.files.told.swap(true, Ordering::Relaxed)).then_some(trouble)
    }

    /// Whether tables may have a position: few pieces, and nobody may castle.
    #[must_use]
    pub fn covers(&self, position: &Chess) -> bool {
        position.board().occupied().count() <= self.most_pieces && position.castles().is_empty()
    }

    /// The result for the side to move just after a capture or a pawn move. A win or a loss that the
    /// fifty-move rule turns into a draw is one. None if no table tells.
    #[must_use]
    pub fn wdl(&self, position: &Chess) -> Option<Wdl> {
        self.raw_wdl(position).map(|wdl| match wdl {
            shakmaty_syzygy::Wdl::Win => Wdl::WIN,
            shakmaty_syzygy::Wdl::Loss => Wdl::LOSS,
            _ => Wdl::DRAW,
        })
    }

    /// As in the table.
    fn raw_wdl(&self, position: &Chess) -> Option<shakmaty_syzygy::Wdl> {
        self.files.look(|base| base.probe_wdl_after_zeroing(position))
    }

    /// Plies to the next capture or pawn move, negative for the side that loses.
    fn dtz(&self, position: &Chess) -> Option<MaybeRounded<Dtz>> {
        self.files.look(|base| base.probe_dtz(position))
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
            trouble: OnceLock::new(),
            told: AtomicBool::new(false),
        }
    }

    /// One file at a time: a bad one must not hide those behind it.
    fn add_folder(&mut self, folder: &Path) {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(why) => return self.complain(format_args!("{}: {why}", quote_path(folder))),
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

    /// Whether it may be a table.
    fn add_file(&mut self, path: &Path) -> bool {
        match self.base.add_file(path) {
            Ok(()) => return true,
            // No table by its name.
            Err(why) if why.kind() == std::io::ErrorKind::InvalidInput => {}
            Err(why) => self.complain(format_args!("{}: {why}", path.display())),
        }
        false
    }

    /// Looks something up. A table that is not what it should be may make the reader panic; a bundled one of the same
    /// material then answers.
    fn look<T>(&self, probe: impl Fn(&Tablebase<Chess>) -> Result<T, SyzygyError>) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(|| probe(&self.base))) {
            Ok(Ok(found)) => return Some(found),
            Ok(Err(why)) => self.complain(Trouble(&why)),
            Err(_) => self.complain("a table is damaged"),
        }
        probe(self.bundled.as_ref()?).ok()
    }

    fn complain(&self, trouble: impl fmt::Display) {
        self.trouble.get_or_init(|| format!("Syzygy: {trouble}"));
    }
}

/// A collection without tables, which can open bundled ones.
fn tablebase() -> Tablebase<Chess> {
    Tablebase::with_filesystem(Arc::new(bundled::Bundled::default()))
}

/// The pieces that a table is for, by its name: `KQvKP.rtbw` is for four.
fn pieces(path: &Path) -> usize {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.bytes().filter(u8::is_ascii_uppercase).count()
}

/// An error in words for a user, without the places in code that led to it.
struct Trouble<'a>(&'a SyzygyError);

impl fmt::Display for Trouble<'_> {
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
    use crate::chess::game::Game;
    use nn::rng::Rng;

    /// A position with the pieces of a table's name, none of them on the first or last rank.
    fn position(material: &str, random: &mut Rng) -> Game {
        let (white, black) = material.split_once('v').unwrap();
        let pieces = white.chars().chain(black.chars().map(|piece| piece.to_ascii_lowercase()));
        loop {
            let mut board = ['1'; 64];
            for piece in pieces.clone() {
                board[8 + (random.bits() % 48) as usize] = piece;
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
        let mut random = Rng::new(1);
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
        assert!(tables.take_warning().is_some_and(|news| news.contains("/no/such/folder")));
        let game = Game::from_fen("8/8/8/3k4/8/8/8/1N2KB2 w - - 0 1", false).unwrap();
        assert_eq!(tables.wdl(game.position()), Some(Wdl::WIN));
        assert_eq!(Tables::find("/no/such/folder").wdl(game.position()), None);
    }

    #[test]
    fn a_damaged_table_of_a_folder_hides_no_bundled_one() {
        let folder = std::env::temp_dir().join(format!("mavka-damaged-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // No table, but of a size that one may have.
        for name in ["KQvK.rtbw", "KQvK.rtbz"] {
            std::fs::write(folder.join(name), [7; 64 + 16]).unwrap();
        }
        let path = folder.to_str().unwrap();
        let game = Game::from_fen("8/8/8/3k4/8/8/8/KQ6 w - - 0 1", false).unwrap();
        let (alone, tables) = (Tables::find(path), Tables::with_bundled(path));
        assert_eq!(tables.found(), 2);
        assert_eq!(alone.wdl(game.position()), None);
        assert_eq!(tables.wdl(game.position()), Some(Wdl::WIN));
        assert!(tables.dtz(game.position()).is_some());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            tables.take_warning().is_some_and(|trouble| trouble.contains("KQvK.rtbw is no table"))
        );
    }
}
