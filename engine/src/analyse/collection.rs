//! The games of one or more files, batch by batch: the memory of an analysis does not grow with their number. Games none of
//! whose moves can be read are copied.

use crate::pgn::text::STDIN;
use crate::pgn::{PgnEntry, PgnGame, Unreadable, open_games};
use crate::process::errors::FileError;
use crate::process::shard::Shard;
use crate::process::stderr_log::write_stderr;
use nn::unpack::is_damage;
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

/// Most games of a batch: enough that threads seldom wait at its end. Guess.
pub const MOST_GAMES: usize = 256;
/// A batch ends behind as many moves of main lines, or lines of unreadable games: their results take about 100 MB.
const MOST_MOVES: usize = 30_000;

type Entries<'a> = Peekable<Box<dyn Iterator<Item = Result<PgnEntry, FileError>> + 'a>>;

/// Neighbouring games, which are analysed and written at once.
pub struct Batch {
    /// Games that can be played through, in order.
    pub games: Vec<PgnGame>,
    /// The others.
    pub unreadable: Vec<CopiedGame>,
    /// All games up to the end of this batch.
    pub tally: Tally,
    /// No game follows.
    pub is_last: bool,
}

/// A game none of whose moves can be read; it is copied.
pub struct CopiedGame {
    /// As [`PgnGame::number`].
    pub number: usize,
    /// Its lines.
    pub raw: String,
    /// The fault.
    pub why: Unreadable,
}

/// Games so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Those that can be played through.
    pub games: usize,
    /// Those among them that could not be read whole.
    pub cut: usize,
    /// Those that are copied.
    pub copied: usize,
    /// Hash of the text of all of them.
    digest: u64,
}

impl Tally {
    /// Number of games of both kinds.
    #[must_use]
    pub fn all(&self) -> usize {
        self.games + self.copied
    }

    fn add(&mut self, entry: &PgnEntry) {
        // The same in each run of one build; the journal of another one is refused.
        let mut hasher = DefaultHasher::new();
        self.digest.hash(&mut hasher);
        match entry {
            PgnEntry::Game(game) => {
                self.games += 1;
                self.cut += usize::from(!game.lost.is_empty());
                (&game.tags, &game.line, &game.result).hash(&mut hasher);
            }
            PgnEntry::Unreadable { raw, .. } => {
                self.copied += 1;
                raw.hash(&mut hasher);
            }
        }
        self.digest = hasher.finish();
    }
}

impl Batch {
    /// Names on standard error what cannot be read; `then` is what becomes of a game none of whose moves can.
    pub fn warn(&self, then: &str) {
        for CopiedGame { number, why, .. } in &self.unreadable {
            write_stderr(format_args!("game {number} {then}: {why}"));
        }
        for game in &self.games {
            let number = game.number;
            game.lost.iter().for_each(|lost| write_stderr(format_args!("game {number}: {lost}")));
        }
    }
}

/// The batches of a collection. An error is the last item.
pub struct Batches<'a> {
    entries: Entries<'a>,
    tally: Tally,
    most: usize,
}

impl<'a> Batches<'a> {
    /// The games of files, `-` for standard input; plain, or compressed by gzip or zstd. For a shard the games are counted first.
    ///
    /// # Errors
    /// A file cannot be read, or is read only once and has to be counted.
    pub fn open(files: &'a [PathBuf], shard: Option<Shard>) -> Result<Batches<'a>, FileError> {
        for file in files {
            match (is_stream(file), shard) {
                // A later file must not end the work of hours.
                (false, _) => drop(open_games(file, 1).map_err(FileError::of(file))?),
                (true, None) => {}
                (true, Some(_)) => {
                    let what = "--shard reads the games twice; expected an ordinary file";
                    return Err(FileError::of(file)(io::Error::other(what)));
                }
            }
        }
        let Some(shard) = shard else { return Ok(Batches::new(entries(files), MOST_GAMES)) };
        let count = entries(files).try_fold(0, |count, entry| entry.map(|_| count + 1))?;
        let part = shard.range(count);
        Ok(Batches::new(entries(files).skip(part.start).take(part.len()), MOST_GAMES))
    }

    /// At most `most` games a batch.
    pub fn new(
        entries: impl Iterator<Item = Result<PgnEntry, FileError>> + 'a,
        most: usize,
    ) -> Batches<'a> {
        let entries: Box<dyn Iterator<Item = _> + 'a> = Box::new(entries);
        Batches { entries: entries.peekable(), tally: Tally::default(), most }
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<Batch, FileError>;

    fn next(&mut self) -> Option<Result<Batch, FileError>> {
        let (mut games, mut unreadable, mut moves) = (Vec::new(), Vec::new(), 0);
        while games.len() + unreadable.len() < self.most && moves < MOST_MOVES {
            let entry = match self.entries.next() {
                Some(Ok(entry)) => entry,
                Some(Err(why)) => return Some(Err(why)),
                None => break,
            };
            self.tally.add(&entry);
            match entry {
                PgnEntry::Game(game) => {
                    moves += game.line.moves.len();
                    games.push(*game);
                }
                PgnEntry::Unreadable { number, raw, why } => {
                    moves += raw.lines().count();
                    unreadable.push(CopiedGame { number, raw, why });
                }
            }
        }
        let is_end = games.is_empty() && unreadable.is_empty();
        let is_last = self.entries.peek().is_none();
        (!is_end).then_some(Ok(Batch { games, unreadable, tally: self.tally, is_last }))
    }
}

/// Whether it can be read only once.
fn is_stream(path: &Path) -> bool {
    let is_special = |found: fs::Metadata| !found.is_file() && !found.is_dir();
    path == Path::new(STDIN) || fs::metadata(path).is_ok_and(is_special)
}

/// The games of all files, numbered from 1. Damage ends a file, with a warning.
fn entries(files: &[PathBuf]) -> impl Iterator<Item = Result<PgnEntry, FileError>> + '_ {
    let all = files.iter().flat_map(|path| {
        let (games, fault) = match open_games(path, 1) {
            Ok(games) => (Some(games), None),
            Err(why) => (None, Some(Err(why))),
        };
        games.into_iter().flatten().chain(fault).filter_map(move |entry| match entry {
            Err(why) if is_damage(&why) => {
                log::warn!("{}: {why}; the games before are read", path.display());
                None
            }
            entry => Some(entry.map_err(FileError::of(path))),
        })
    });
    all.zip(1..).map(|(mut entry, place)| {
        match &mut entry {
            Ok(PgnEntry::Game(game)) => game.number = place,
            Ok(PgnEntry::Unreadable { number, .. }) => *number = place,
            Err(_) => {}
        }
        entry
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::GzEncoder;
    use std::io::Read;

    fn all(files: &[PathBuf], shard: Option<&str>) -> Vec<String> {
        let shard = shard.map(|text| text.parse().unwrap());
        let batches = Batches::open(files, shard).unwrap().map(|batch| batch.unwrap());
        let games = batches.flat_map(|batch| batch.games);
        games.map(|game| format!("{} {}", game.number, game.tag("Event").unwrap())).collect()
    }

    #[test]
    fn the_games_of_a_torn_file_and_of_the_next_one_are_read() {
        let folder = std::env::temp_dir().join(format!("mavka-batches-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let files = ["torn.pgn.gz", "b.pgn"].map(|name| folder.join(name));
        let game = |number: usize| format!("[Event \"{number}\"]\n\n1. e4 {{{number}}} *\n\n");
        let text: String = (0..2_000).map(game).collect();
        let mut packed = Vec::new();
        GzEncoder::new(text.as_bytes(), Compression::fast()).read_to_end(&mut packed).unwrap();
        fs::write(&files[0], &packed[..packed.len() / 2]).unwrap();
        fs::write(&files[1], game(7)).unwrap();
        let whole = all(&files, None);
        let torn = whole.len() - 1;
        assert!((500..1_500).contains(&torn), "{torn}");
        assert_eq!(whole[torn - 1], format!("{torn} {}", torn - 1));
        assert_eq!(whole[torn], format!("{} 7", torn + 1));
        let parts = ["1/3", "2/3", "3/3"].map(|shard| all(&files, Some(shard)));
        assert_eq!(parts.concat(), whole);
        // Before the work begins.
        let refused = |name: &str, shard: Option<Shard>| {
            let files = [files[1].clone(), folder.join(name)];
            Batches::open(&files, shard).err().map(|why| why.to_string()).unwrap_or_default()
        };
        assert!(refused("absent", None).contains("absent"));
        let why = Batches::open(&[PathBuf::from(STDIN)], Some(Shard::default())).err().unwrap();
        assert!(why.to_string().contains("--shard reads the games twice"), "{why}");
        fs::write(folder.join("page"), "<!doctype html><html>").unwrap();
        assert!(refused("page", None).contains("HTML"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_batch_of_long_games_has_fewer() {
        let text = format!("1. {}*\n\n", "Nf3 Nf6 Ng1 Ng8 ".repeat(MOST_MOVES / 8)).repeat(5);
        let games = crate::pgn::read_games(&text, 1).into_iter().map(Ok);
        let sizes = Batches::new(games, 4).map(|batch| batch.unwrap());
        let sizes: Vec<_> = sizes.map(|batch| (batch.games.len(), batch.is_last)).collect();
        assert_eq!(sizes, [(2, false), (2, false), (1, true)]);
    }
}
