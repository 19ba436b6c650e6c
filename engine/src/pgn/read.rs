//! From the words of a game to its tree. A line is cut at its first move that cannot be read or is not legal: the game
//! remembers where, and the rest stays as a comment.

use super::game::{Line, PgnGame, PgnMove, Unreadable};
use super::spelling::{Spelling, find};
use super::split::{Chunk, RESULTS, begins_next, split};
use super::tags;
use super::tokens::{Kind, Token, read_word, tokens};
use crate::chess::epd;
use crate::chess::game::Game;
use crate::errors::shorten;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, Move, Position};
use std::mem;

/// Variations deeper than this would only be there to exhaust the stack.
const DEEPEST: usize = 64;
/// Longest part of a refused word that a message repeats, in characters.
const LONGEST_WORD: usize = 40;

/// A game of a file.
#[derive(Clone, Debug)]
pub enum Entry {
    /// It can be played through, as far as its moves can be read.
    Game(Box<PgnGame>),
    /// Its first position is unknown.
    Unreadable {
        /// As [`PgnGame::number`].
        number: usize,
        /// The lines as they were, and an empty one.
        raw: String,
        /// What is wrong with it.
        why: Unreadable,
    },
}

/// The games of a text, numbered from `first`.
#[must_use]
pub fn read_games(text: &str, first: usize) -> Vec<Entry> {
    let chunks = split(text);
    chunks.iter().zip(first..).map(|(chunk, number)| read(number, chunk)).collect()
}

/// The legal move that `word` means, in any of the spellings, with signs of check and glyphs. None if it means none, or
/// more than one.
#[must_use]
pub fn legal_move(position: &Chess, word: &str) -> Option<Move> {
    match &read_word(word)[..] {
        [Kind::Move(spelling, _), rest @ ..] => {
            let only = rest.iter().all(|kind| matches!(kind, Kind::Nag(_)));
            find(*spelling, position).filter(|_| only)
        }
        _ => None,
    }
}

fn read(number: usize, chunk: &Chunk<'_>) -> Entry {
    let (tags, lost) = read_tags(chunk);
    let start = match start(&tags) {
        Ok(start) => start,
        Err(why) => return Entry::Unreadable { number, raw: chunk.raw(), why },
    };
    let open = vec![Branch::at(start.position().clone())];
    let game = PgnGame {
        number,
        tags,
        start,
        line: Line::default(),
        result: String::new(),
        lost,
        cut: None,
    };
    let mut draft = Draft { game, open, unread: Vec::new() };
    let tokens = tokens(&chunk.moves);
    let of_game =
        |token: &Token| matches!(token.kind, Kind::Move(..) | Kind::NoMove(_) | Kind::Result(_));
    if chunk.tags.is_empty() && !tokens.iter().any(of_game) {
        return Entry::Unreadable { number, raw: chunk.raw(), why: Unreadable::NoGame };
    }
    tokens.into_iter().for_each(|token| draft.add(token));
    Entry::Game(Box::new(draft.finish()))
}

/// The tags of a game, and what is wrong with them. A second `Event` or `FEN`, which other readers take for the next game's, is
/// left out.
fn read_tags(chunk: &Chunk<'_>) -> (Vec<(String, String)>, Vec<String>) {
    let (mut tags, mut lost) = (Vec::<(String, String)>::new(), Vec::new());
    for line in &chunk.tags {
        let (_, behind) = tags::divided(line.text);
        if !behind.is_empty() {
            let (number, behind) = (line.number, shorten(behind, LONGEST_WORD));
            lost.push(format!("line {number}: `{behind}` behind the tags is skipped"));
        }
        for (name, value) in tags::pairs(line.text) {
            let repeated = begins_next(&name) && tags.iter().any(|(known, _)| *known == name);
            if repeated {
                let (number, value) = (line.number, shorten(&value, LONGEST_WORD));
                lost.push(format!("line {number}: a second tag {name}, `{value}`, is skipped"));
            } else {
                tags.push((name, value));
            }
        }
    }
    (tags, lost)
}

/// A game half read.
struct Draft {
    game: PgnGame,
    /// The line being read, below the lines that it is a variation of.
    open: Vec<Branch>,
    /// The words after the cut of the game's own line.
    unread: Vec<String>,
}

struct Branch {
    line: Line,
    /// Before the last move, where a variation of it begins.
    before: Chess,
    position: Chess,
    /// The rest of the line is skipped.
    cut: bool,
}

impl Branch {
    fn at(position: Chess) -> Branch {
        Branch { line: Line::default(), before: position.clone(), position, cut: false }
    }

    /// False if no legal move is spelled so.
    fn play(&mut self, spelling: Spelling) -> bool {
        let mut next = self.position.clone();
        let (played, san) = if spelling == Spelling::Null {
            let Ok(passed) = next.swap_turn() else { return false };
            next = passed;
            (None, "--".to_owned())
        } else {
            let Some(made) = find(spelling, &self.position) else { return false };
            (Some(made), SanPlus::from_move_and_play_unchecked(&mut next, made).to_string())
        };
        let (nags, comments, variations) = (Vec::new(), Vec::new(), Vec::new());
        self.line.moves.push(PgnMove { played, san, nags, comments, variations });
        self.before = mem::replace(&mut self.position, next);
        true
    }
}

impl Draft {
    fn add(&mut self, token: Token) {
        let Token { line, kind } = token;
        let own = self.open.len() == 1;
        if let Kind::Result(result) = kind {
            if own {
                self.game.result = result.to_owned();
            }
            return;
        }
        if self.open[0].cut {
            self.unread.push(said(&kind));
            return;
        }
        match kind {
            Kind::Move(spelling, word) => {
                let top = self.top();
                if !top.cut && !top.play(spelling) {
                    let fen = epd::fen(&top.position);
                    self.cut(line, &word, &format!("is not one legal move in `{fen}`"));
                }
            }
            Kind::NoMove(word) => {
                if !self.top().cut {
                    self.cut(line, &word, "is no move");
                }
            }
            Kind::Nag(nag) => {
                let top = self.top();
                if let Some(made) = top.line.moves.last_mut().filter(|_| !top.cut)
                    && !made.nags.contains(&nag)
                {
                    made.nags.push(nag);
                }
            }
            Kind::Comment(text) => self.comment(text),
            Kind::Open => self.open_variation(line),
            Kind::Close if own => self.lose(line, "a `)` closes no variation".to_owned()),
            Kind::Close => self.close_variation(),
            Kind::Unknown(word) => {
                let word = shorten(&word, LONGEST_WORD);
                self.lose(line, format!("`{word}` is skipped: neither move nor comment"));
            }
            Kind::OpenComment => self.lose(line, "a comment is never closed".to_owned()),
            Kind::Result(_) => {}
        }
    }

    /// The innermost open line.
    fn top(&mut self) -> &mut Branch {
        // The game's own line is opened with the draft and never closed before its end.
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    fn lose(&mut self, line: usize, what: String) {
        self.game.lost.push(format!("line {line}: {what}"));
    }

    /// Cuts the innermost line before `word`.
    fn cut(&mut self, line: usize, word: &str, why: &str) {
        let own = self.open.len() == 1;
        let top = self.top();
        top.cut = true;
        let number = move_number(&top.position);
        let what = if own { "the game" } else { "a variation" };
        let bare = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let bare = shorten(if bare.is_empty() { word } else { bare }, LONGEST_WORD);
        self.lose(line, format!("{what} is cut at {number} {bare}, which {why}"));
        if own {
            self.unread.push(word.replace('}', ")"));
            self.game.cut = self.game.lost.last().cloned();
        }
    }

    fn comment(&mut self, text: String) {
        let line = &mut self.top().line;
        if !text.is_empty() {
            line.moves.last_mut().map_or(&mut line.comments, |made| &mut made.comments).push(text);
        }
    }

    fn open_variation(&mut self, line: usize) {
        if self.open.len() == DEEPEST {
            self.lose(line, format!("variations are nested more than {DEEPEST} deep"));
        }
        let top = self.top();
        let before = top.before.clone();
        // Where nothing was played there is nothing to vary.
        let cut = top.cut || top.line.moves.is_empty();
        let cut = cut || self.open.len() >= DEEPEST;
        self.open.push(Branch { cut, ..Branch::at(before) });
    }

    fn close_variation(&mut self) {
        if let Some(closed) = self.open.pop()
            && let Some(made) = self.top().line.moves.last_mut()
            && closed.line != Line::default()
        {
            made.variations.push(closed.line);
        }
    }

    fn finish(mut self) -> PgnGame {
        while self.open.len() > 1 {
            self.close_variation();
        }
        if !self.unread.is_empty() {
            let rest = self.unread.join(" ");
            self.comment(format!("Not read: {rest}"));
        }
        let mut game = self.game;
        game.line = self.open.pop().map(|branch| branch.line).unwrap_or_default();
        if game.result.is_empty() {
            let tagged = game.tag("Result").filter(|result| RESULTS.contains(result));
            game.result = tagged.unwrap_or("*").to_owned();
        }
        game
    }
}

/// A word inside a comment, which no brace of its own may end.
fn said(kind: &Kind) -> String {
    match kind {
        Kind::Move(_, word) | Kind::NoMove(word) | Kind::Unknown(word) => word.replace('}', ")"),
        Kind::Nag(nag) => format!("${nag}"),
        Kind::Comment(text) => format!("[{}]", text.replace('}', ")")),
        Kind::Open => "(".to_owned(),
        Kind::Close => ")".to_owned(),
        Kind::Result(result) => (*result).to_owned(),
        Kind::OpenComment => String::new(),
    }
}

/// `12.` or `12...`, by the side to move.
fn move_number(position: &Chess) -> String {
    let dots = if position.turn() == Color::White { "." } else { "..." };
    format!("{}{dots}", position.fullmoves())
}

/// The first position by the tags.
fn start(tags: &[(String, String)]) -> Result<Game, Unreadable> {
    let tag = |name: &str| {
        let found = tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
    let variant = tag("Variant").unwrap_or("standard");
    let plain: String =
        variant.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let chess960 = match plain.as_str() {
        "standard" | "chess" | "normal" | "fromposition" => false,
        "chess960" | "960" | "fischerandom" | "fischerrandom" | "frc" => true,
        _ => return Err(Unreadable::Variant(variant.to_owned())),
    };
    match tag("FEN") {
        Some(fen) => Game::from_fen(fen, chess960).map_err(Unreadable::Start),
        None => {
            let mode = shakmaty::CastlingMode::from_chess960(chess960);
            Ok(Game::new(Chess::default(), mode))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::rng::Rng;

    fn only(text: &str) -> PgnGame {
        match &read_games(text, 1)[..] {
            [Entry::Game(game)] => (**game).clone(),
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
        let [Entry::Unreadable { raw, .. }, Entry::Game(after)] =
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
                Entry::Game(game) => sans(game) == *sound,
                Entry::Unreadable { .. } => false,
            });
            assert!(found, "the other game is lost beside {:?}", both[damaged]);
        }
    }
}
