//! Games of a stream, one after the other in bounded memory.

use super::draft::{GameDraft, LONGEST_WORD, lose};
use super::game::{PgnGame, Unreadable};
use super::spelling::find;
use super::split::{Chunk, Chunks};
use super::start::start;
use super::tags;
use super::text::{self, TextStream};
use super::tokens::{NumberedLine, TokenKind, for_each_token, read_word};
use chess::action::Action;
use chess::quote::shorten;
use shakmaty::{Chess, Move};
use std::collections::HashSet;
use std::io::{self, BufRead};
use std::path::Path;

/// Tags that a game has once: other readers take a second one for the first, or for the next game's.
const ONCE: [&str; 9] =
    ["Event", "Site", "Date", "Round", "White", "Black", "Result", "SetUp", "FEN"];

/// A game of a file.
#[derive(Clone, Debug)]
pub enum PgnEntry {
    /// It can be played through, as far as its moves can be read.
    Game(Box<PgnGame>),
    /// Its first position is unknown.
    Unreadable {
        /// As [`PgnGame::number`].
        number: usize,
        /// The lines as they were, and an empty one.
        raw: String,
        /// The fault.
        why: Unreadable,
    },
}

/// The games of a stream, one after the other, in bounded memory. The last item may be the stream's error: the game before it is
/// there as far as it could be read ([`nn::unpack::is_damage`] tells damaged data from errors of the system).
pub struct PgnGames<R> {
    chunks: Chunks<R>,
    number: usize,
    /// Stands before each sentence of [`PgnGame::lost`].
    name: String,
}

impl<R: BufRead> PgnGames<R> {
    /// Games are numbered from `first`.
    pub fn new(input: R, first: usize) -> PgnGames<R> {
        PgnGames { chunks: Chunks::new(input), number: first, name: String::new() }
    }
}

/// The games of a file, or of standard input for `-`; plain, or compressed by gzip or zstd. Lost parts are named with the
/// file.
///
/// # Errors
/// The file cannot be read, or is of another kind.
pub fn open_games(path: &Path, first: usize) -> io::Result<PgnGames<TextStream>> {
    let name = format!("{} ", path.display());
    Ok(PgnGames { name, ..PgnGames::new(text::open(path)?, first) })
}

impl<R: BufRead> Iterator for PgnGames<R> {
    type Item = io::Result<PgnEntry>;

    fn next(&mut self) -> Option<io::Result<PgnEntry>> {
        let chunk = match self.chunks.next()? {
            Ok(chunk) => chunk,
            Err(why) => return Some(Err(why)),
        };
        let mut entry = read(self.number, &chunk);
        self.number += 1;
        if let PgnEntry::Game(game) = &mut entry
            && !self.name.is_empty()
        {
            game.lost.iter_mut().for_each(|lost| lost.insert_str(0, &self.name));
        }
        Some(Ok(entry))
    }
}

/// The games of a text, numbered from `first`.
#[must_use]
pub fn read_games(text: &str, first: usize) -> Vec<PgnEntry> {
    // A text in memory has no errors.
    PgnGames::new(text.as_bytes(), first).map_while(Result::ok).collect()
}

/// The legal move that `word` means, in any of the spellings, with signs of check and glyphs. None if it means none, or
/// more than one.
#[must_use]
pub fn legal_move(position: &Chess, word: &str) -> Option<Move> {
    match &read_word(word)[..] {
        [TokenKind::Move(spelling, _), rest @ ..] => {
            let only = rest.iter().all(|kind| matches!(kind, TokenKind::Nag(_)));
            find(*spelling, position).filter(|_| only)
        }
        _ => None,
    }
}

/// The legal move that a person types: in UCI's notation, in either form of castling, or as [`legal_move`] reads it.
#[must_use]
pub fn typed_move(position: &Chess, word: &str) -> Option<Action> {
    let as_pgn = || legal_move(position, word).map(Action::new);
    let as_uci = || Action::from_uci(word, position);
    // `Bb2b4` and `B2b4` are a bishop's: UCI's notation has no capital letters.
    match word.starts_with(|letter: char| letter.is_ascii_uppercase()) {
        true => as_pgn().or_else(as_uci),
        false => as_uci().or_else(as_pgn),
    }
}

fn read(number: usize, chunk: &Chunk) -> PgnEntry {
    if chunk.is_too_large {
        return PgnEntry::Unreadable { number, raw: chunk.raw(), why: Unreadable::TooLarge };
    }
    let (tags, lost) = read_tags(chunk);
    let start = match start(&tags) {
        Ok(start) => start,
        Err(why) => return PgnEntry::Unreadable { number, raw: chunk.raw(), why },
    };
    let mut draft = GameDraft::new(number, tags, start, lost);
    let mut is_game = !chunk.tags.is_empty();
    for_each_token(&chunk.moves, |token| {
        is_game |=
            matches!(token.kind, TokenKind::Move(..) | TokenKind::NoMove(_) | TokenKind::Result(_));
        draft.add(token);
    });
    match is_game {
        true => PgnEntry::Game(Box::new(draft.finish())),
        false => PgnEntry::Unreadable { number, raw: chunk.raw(), why: Unreadable::NoGame },
    }
}

/// The tags of a game, and what is wrong with them.
fn read_tags(chunk: &Chunk) -> (Vec<(String, String)>, Vec<String>) {
    let (mut tags, mut lost) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    for NumberedLine { number, text } in &chunk.tags {
        let pairs = tags::pairs(text);
        let (_, behind) = tags::divided(text);
        if pairs.is_empty() {
            let text = shorten(text.trim(), LONGEST_WORD);
            lose(&mut lost, *number, &format!("`{text}` is no tag and is skipped"));
        } else if !behind.is_empty() {
            let behind = shorten(behind, LONGEST_WORD);
            lose(&mut lost, *number, &format!("`{behind}` behind the tags is skipped"));
        }
        for (name, value) in pairs {
            if ONCE.contains(&name.as_str()) && !known.insert(name.clone()) {
                let value = shorten(&value, LONGEST_WORD);
                let what = format!("a second tag {name}, `{value}`, is skipped");
                lose(&mut lost, *number, &what);
            } else {
                tags.push((name, value));
            }
        }
    }
    (tags, lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::rng::Rng;

    fn only(text: &str) -> PgnGame {
        match &read_games(text, 1)[..] {
            [PgnEntry::Game(game)] => (**game).clone(),
            other => panic!("{text}: {} games", other.len()),
        }
    }

    fn sans(game: &PgnGame) -> String {
        game.line.moves.iter().map(|made| &*made.san).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn spellings_of_others_are_read() {
        for (text, moves) in [
            ("1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7++ 1-0", "e4 e5 Bc4 Nc6 Qh5 Nf6 Qxf7#"),
            ("1. e2-e4 e7e5 2. Ng1-f3 Nc6= 3. Bf1b5 a6 4. o-o *", "e4 e5 Nf3 Nc6 Bb5 a6 O-O"),
            ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O\u{2013}O", "e4 e5 Nf3 Nc6 Bc4 Bc5 O-O"),
            ("1. e4 -- 2. d4 Z0 3. Nf3 *", "e4 -- d4 -- Nf3"),
            ("1. e4\0d5 2. e:d5 Qxd5 *", "e4 d5 exd5 Qxd5"),
            ("1. \u{2658}f3 d5 2. g3 *", "Nf3 d5 g3"),
            ("[FEN \"8/P6k/8/8/8/8/8/K7 w - - 0 1\"]\n\n1. a8Q *", "a8=Q"),
            ("[FEN \"8/P6k/8/8/8/8/8/K7 w - - 0 1\"]\n\n1. a8(Q) *", "a8=Q"),
        ] {
            let text = super::super::text::decode(text.as_bytes());
            let game = only(&text);
            assert_eq!((sans(&game).as_str(), game.lost.len()), (moves, 0), "{:?}", game.lost);
            assert_eq!(super::super::Positions::of(&game).plies(), game.line.moves.len());
        }
    }

    #[test]
    fn a_game_is_cut_at_what_cannot_be_read_and_nothing_is_lost() {
        let game = only("[White \"A\"]\n\n1. e4 e5 2. Nxx5 Nc6 {why} 3. Bb5 1-0\n");
        assert_eq!((sans(&game).as_str(), game.result.as_str()), ("e4 e5", "1-0"));
        assert_eq!(game.lost, ["line 3: the game is cut at 2. Nxx5, which is no move"]);
        assert_eq!(game.line.moves[1].comments, ["Not read: Nxx5 Nc6 [why] Bb5"]);
        assert_eq!(game.cut.as_ref(), game.lost.first());
        let game = only("1. e4 e5 2. Ke3 d6 *");
        assert!(
            game.lost[0]
                .starts_with("line 1: the game is cut at 2. Ke3, which is not one legal move in `")
        );
        let game = only("1. e4 e5 (1... c5 2. Qh9 Nc6) 2. Nf3 well *");
        assert_eq!((sans(&game).as_str(), game.lost.len()), ("e4 e5 Nf3", 2));
        assert_eq!(game.cut, None, "its own moves are all there");
        let game = only("[Event \"a\"] [White \"x\"] [Event \"b\"]\n\n1. e4 e9} *\n");
        assert_eq!(game.lost[0], "line 1: a second tag Event, `b`, is skipped");
        assert_eq!((game.tags.len(), &*game.line.moves[0].comments[0]), (2, "Not read: e9 )"));
        let game = only("[White \"A\"] a note\n[Result \"1-0\"] 1. e4 e5 2. Nf3\n");
        assert_eq!((sans(&game).as_str(), game.result.as_str()), ("e4 e5 Nf3", "1-0"));
        assert_eq!(game.lost, ["line 1: `a note` behind the tags is skipped"]);
        let [PgnEntry::Unreadable { raw, .. }, PgnEntry::Game(after)] =
            &read_games("[Variant \"Atomic\"]\n\n1. e4 *\n\n[White \"B\"]\n\n1. d4 *\n", 1)[..]
        else {
            panic!("two games")
        };
        assert_eq!(
            (raw.as_str(), sans(after)),
            ("[Variant \"Atomic\"]\n\n1. e4 *\n\n", "d4".to_owned())
        );
    }

    /// Damaged texts: no panic, no game more than results and tags could make, moves are a prefix of those written.
    #[test]
    fn damage_takes_no_earlier_move_and_no_other_game() {
        let games = [
            "[Event \"a\"]\n[White \"x\"]\n\n1. e4 e5 2. Nf3 (2. f4 {gambit}) 2... Nc6 3. Bb5 a6 1-0\n",
            "[Event \"b\"]\n[Black \"y\"]\n\n1. d4 d5 2. c4 $1 e6 3. Nc3 Nf6 4. Bg5 ; pin\nBe7 1/2-1/2\n",
        ];
        let whole: Vec<String> = games.iter().map(|text| sans(&only(text))).collect();
        let mut rng = Rng::from_state(11);
        let letters = "a1 x{}();$%[]\"\\\0.-\nQ=".chars().collect::<Vec<_>>();
        for _ in 0..3_000 {
            let damaged = rng.below(2);
            let mut text: Vec<char> = games[damaged].chars().collect();
            for _ in 0..=rng.below(3) {
                let at = rng.below(text.len());
                let letter = letters[rng.below(letters.len())];
                match rng.below(3) {
                    0 => text[at] = letter,
                    1 => text.insert(at, letter),
                    _ => drop(text.remove(at)),
                }
            }
            let mut both = games.map(str::to_owned);
            both[damaged] = text.iter().collect();
            let [first, second] = &both;
            let read = read_games(&format!("{first}\n{second}"), 1);
            let sound = &whole[1 - damaged];
            let found = read.iter().any(|entry| match entry {
                PgnEntry::Game(game) => sans(game) == *sound,
                PgnEntry::Unreadable { .. } => false,
            });
            assert!(found, "the other game is lost beside {:?}", both[damaged]);
        }
    }
}
