//! From the words of a game to its tree. A line is cut at its first move that cannot be read or is not legal: the game
//! remembers where, and the rest stays as a comment.

use super::game::{Line, PgnGame, PgnMove};
use super::spelling::{Spelling, find};
use super::tokens::{RESULTS, Token, TokenKind, plain, result};
use chess::epd;
use chess::game::Game;
use chess::quote::shorten;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Color, Position};
use std::mem;

/// Variations deeper than this would only be there to exhaust the stack.
const DEEPEST: usize = 64;
/// Longest part of a refused word that a message repeats, in characters.
pub const LONGEST_WORD: usize = 40;
/// Most messages of one game.
const MOST_LOST: usize = 100;
/// The result of a game that both sides lost.
const BOTH_LOST: &str = "0-0";

/// Adds a message with its line.
pub fn lose(lost: &mut Vec<String>, line: usize, what: &str) {
    match lost.len() {
        MOST_LOST => lost.push(format!("line {line} and later lines: more of the kind")),
        count if count > MOST_LOST => {}
        _ => lost.push(format!("line {line}: {what}")),
    }
}

/// A game half read.
pub struct GameDraft {
    game: PgnGame,
    /// The line being read, below the lines that it is a variation of.
    open: Vec<Branch>,
    /// Variations open beyond [`DEEPEST`].
    too_deep: usize,
    /// The words after the cut of the game's own line.
    unread: String,
    /// A `0-0` of the game's own line: castling, or as the last word the result of a game that both sides lost.
    zeros: Option<Token>,
}

struct Branch {
    line: Line,
    /// Before the last move, where a variation of it begins.
    before: Chess,
    position: Chess,
    /// The rest of the line is skipped.
    cut: bool,
    /// Glyphs before the first move: ChessBase writes some in front, as 142 ("better is").
    /// With their lines.
    glyphs: Vec<(usize, u8)>,
}

impl Branch {
    fn at(position: Chess) -> Branch {
        let before = position.clone();
        Branch { line: Line::default(), before, position, cut: false, glyphs: Vec::new() }
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
        let (comments, variations) = (Vec::new(), Vec::new());
        let nags = mem::take(&mut self.glyphs).into_iter().map(|(_, nag)| nag).collect();
        self.line.moves.push(PgnMove { played, san, nags, comments, variations });
        self.before = mem::replace(&mut self.position, next);
        true
    }
}

impl GameDraft {
    /// A game without moves.
    #[must_use]
    pub fn new(
        number: usize,
        tags: Vec<(String, String)>,
        start: Game,
        lost: Vec<String>,
    ) -> GameDraft {
        let open = vec![Branch::at(start.position().clone())];
        let (line, result) = (Line::default(), String::new());
        let game = PgnGame { number, tags, start, line, result, lost, cut: None };
        GameDraft { game, open, too_deep: 0, unread: String::new(), zeros: None }
    }

    /// Adds the next word.
    pub fn add(&mut self, token: Token) {
        if let Some(zeros) = self.zeros.take() {
            self.add_zeros(zeros, false);
        }
        let is_zeros =
            matches!(&token.kind, TokenKind::Move(Spelling::Castle(true), word) if word == "0-0");
        if is_zeros && self.open.len() == 1 && !self.open[0].cut {
            self.zeros = Some(token);
        } else {
            self.add_known(token);
        }
    }

    /// A result where the tag says so or nothing follows, and castling is not legal; castling, even if legal, is no last word
    /// of a game that both sides lost.
    fn add_zeros(&mut self, zeros: Token, is_last: bool) {
        let is_tagged = self.game.tag("Result").map(plain).is_some_and(|tag| tag == BOTH_LOST);
        let is_legal = find(Spelling::Castle(true), &self.top().position).is_some();
        let is_result = if is_legal { is_tagged && is_last } else { is_tagged || is_last };
        if !is_result {
            self.add_known(zeros);
            return;
        }
        // The movetext has no such result: the tag alone names it.
        self.game.result = RESULTS[3].to_owned();
        if !is_tagged {
            self.game.tags.retain(|(name, _)| !name.eq_ignore_ascii_case("Result"));
            self.game.tags.push(("Result".to_owned(), BOTH_LOST.to_owned()));
        }
    }

    fn add_known(&mut self, token: Token) {
        let Token { line, kind } = token;
        let own = self.open.len() == 1;
        if let TokenKind::Result(result) = kind {
            if own {
                self.game.result = result.to_owned();
            }
            return;
        }
        if self.open[0].cut {
            self.push_unread(&said(&kind));
            return;
        }
        if self.too_deep > 0 {
            match kind {
                TokenKind::Open => self.too_deep += 1,
                TokenKind::Close => self.too_deep -= 1,
                _ => {}
            }
            return;
        }
        match kind {
            TokenKind::Move(spelling, word) => {
                let top = self.top();
                if !top.cut && !top.play(spelling) {
                    let fen = epd::fen(&top.position);
                    self.cut(line, &word, &format!("is not one legal move in `{fen}`"));
                }
            }
            TokenKind::NoMove(word) => {
                if !self.top().cut {
                    self.cut(line, &word, "is no move");
                }
            }
            TokenKind::Nag(nag) => {
                let top = self.top();
                match top.line.moves.last_mut() {
                    _ if top.cut => {}
                    Some(made) if made.nags.contains(&nag) => {}
                    Some(made) => made.nags.push(nag),
                    None if top.glyphs.iter().any(|(_, known)| *known == nag) => {}
                    None => top.glyphs.push((line, nag)),
                }
            }
            TokenKind::Comment(text) => self.comment(text),
            TokenKind::Open => self.open_variation(line),
            TokenKind::Close if own => self.lose(line, "a `)` closes no variation"),
            TokenKind::Close => self.close_variation(),
            TokenKind::Unknown(word) => {
                let word = shorten(&word, LONGEST_WORD);
                self.lose(line, &format!("`{word}` is skipped: neither move nor comment"));
            }
            TokenKind::OpenComment => self.lose(line, "a comment is never closed"),
            TokenKind::Result(_) => {}
        }
    }

    /// The innermost open line.
    fn top(&mut self) -> &mut Branch {
        // The game's own line is opened with the draft and never closed before its end.
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    fn lose(&mut self, line: usize, what: &str) {
        lose(&mut self.game.lost, line, what);
    }

    fn push_unread(&mut self, word: &str) {
        if !self.unread.is_empty() {
            self.unread.push(' ');
        }
        self.unread.push_str(word);
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
        let what = format!("{what} is cut at {number} {bare}, which {why}");
        if own {
            self.push_unread(&word.replace('}', ")"));
            let cut = format!("line {line}: {what}");
            self.game.lost.push(cut.clone());
            self.game.cut = Some(cut);
        } else {
            self.lose(line, &what);
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
            self.lose(line, &format!("variations are nested more than {DEEPEST} deep"));
            self.too_deep = 1;
            return;
        }
        let top = self.top();
        let before = top.before.clone();
        // Where nothing was played there is nothing to vary.
        let cut = top.cut || top.line.moves.is_empty();
        self.open.push(Branch { cut, ..Branch::at(before) });
    }

    /// Takes the innermost line.
    fn close(&mut self) -> Line {
        let Some(closed) = self.open.pop() else { return Line::default() };
        if let Some((line, nag)) = closed.glyphs.first() {
            self.lose(*line, &format!("the glyph ${nag} has no move"));
        }
        closed.line
    }

    fn close_variation(&mut self) {
        let closed = self.close();
        if let Some(made) = self.top().line.moves.last_mut()
            && closed != Line::default()
        {
            made.variations.push(closed);
        }
    }

    /// The game, with its open variations closed.
    #[must_use]
    pub fn finish(mut self) -> PgnGame {
        if let Some(zeros) = self.zeros.take() {
            self.add_zeros(zeros, true);
        }
        while self.open.len() > 1 {
            self.close_variation();
        }
        if !self.unread.is_empty() {
            self.comment(format!("Not read: {}", self.unread));
        }
        let line = self.close();
        let mut game = PgnGame { line, ..self.game };
        if game.result.is_empty() {
            let tagged = game.tag("Result").and_then(|tag| result(&plain(tag.trim())));
            game.result = tagged.unwrap_or(RESULTS[3]).to_owned();
        }
        game
    }
}

/// A word inside a comment, which no brace of its own may end.
fn said(kind: &TokenKind) -> String {
    match kind {
        TokenKind::Move(_, word) | TokenKind::NoMove(word) | TokenKind::Unknown(word) => {
            word.replace('}', ")")
        }
        TokenKind::Nag(nag) => format!("${nag}"),
        TokenKind::Comment(text) => format!("[{}]", text.replace('}', ")")),
        TokenKind::Open => "(".to_owned(),
        TokenKind::Close => ")".to_owned(),
        TokenKind::Result(result) => (*result).to_owned(),
        TokenKind::OpenComment => String::new(),
    }
}

/// `12.` or `12...`, by the side to move.
fn move_number(position: &Chess) -> String {
    let dots = if position.turn() == Color::White { "." } else { "..." };
    format!("{}{dots}", position.fullmoves())
}
