//! Cuts a stream of PGN into games before anything is parsed, so that a damaged game cannot take its neighbours with it: an
//! unclosed comment would otherwise reach to the end of the file.

use super::lines::{Extent, Lines, TextLine};
use super::tags::{divided, is_odd_line, is_tag_line, name_of};
use super::tokens::{NumberedLine, begins_moves, is_result};
use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead};

/// Most text of one game, in bytes. The largest collections that are one game with variations have a quarter of it, and a game
/// takes some 30 times its text in memory.
pub const LARGEST_GAME: usize = 16 << 20;
/// Bytes of a line beside its text.
const LINE: usize = 64;
/// Lines that are looked at beyond the current one, where its meaning depends on them.
const AHEAD: usize = 64;
/// The same in bytes; the line that exceeds it counts.
const AHEAD_BYTES: usize = 1 << 16;
/// The movetext of a game beyond [`LARGEST_GAME`].
const LEFT_OUT: &str = "{ More than 16 MiB of text, left out } *";

/// The lines of one game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Tag pairs, with what stands behind them unless it is movetext, and odd lines between them.
    pub tags: Vec<NumberedLine>,
    /// The moves.
    pub moves: Vec<NumberedLine>,
    /// More than [`LARGEST_GAME`]: the moves are [`LEFT_OUT`].
    pub is_too_large: bool,
}

impl Chunk {
    /// The lines as they were.
    #[must_use]
    pub fn raw(&self) -> String {
        let lines = |lines: &[NumberedLine]| -> String {
            lines.iter().map(|line| format!("{}\n", line.text.trim_end())).collect()
        };
        let (tags, moves) = (lines(&self.tags), lines(&self.moves));
        // Empty lines belong to a comment that is never closed.
        let moves = moves.trim_end();
        match (tags.is_empty(), moves.is_empty()) {
            (_, true) => format!("{tags}\n"),
            (true, false) => format!("{moves}\n\n"),
            (false, false) => format!("{tags}\n{moves}\n\n"),
        }
    }
}

/// The games of a stream, in order. Escaped lines (`%`), and comments to the end of a line before a game's tags, belong to no
/// game. The stream's error is the last item, behind the game that it tore.
pub struct Chunks<R> {
    lines: Lines<R>,
    /// Lines that are read and not used yet.
    ahead: VecDeque<TextLine>,
    fault: Option<io::Error>,
    game: ChunkDraft,
}

/// A game half read.
#[derive(Default)]
struct ChunkDraft {
    chunk: Chunk,
    /// Names of its tags.
    names: HashSet<String>,
    /// Bytes of its lines, with [`LINE`] for each.
    size: usize,
    /// It has movetext.
    begun: bool,
    /// Inside a comment.
    inside: bool,
    /// A result was read.
    ended: bool,
    /// An empty line came after the result, or after the tags.
    gap: bool,
}

impl<R: BufRead> Chunks<R> {
    /// Reads nothing yet.
    pub fn new(input: R) -> Chunks<R> {
        let game = ChunkDraft::default();
        Chunks { lines: Lines::new(input), ahead: VecDeque::new(), fault: None, game }
    }

    /// Reads ahead, if the stream has as much.
    fn fill(&mut self, count: usize) {
        let mut bytes: usize = self.ahead.iter().map(|line| line.text.len()).sum();
        while self.ahead.len() < count && bytes <= AHEAD_BYTES && self.fault.is_none() {
            match self.lines.next() {
                Some(Ok(line)) => {
                    bytes += line.text.len();
                    self.ahead.push_back(line);
                }
                Some(Err(why)) => self.fault = Some(why),
                None => break,
            }
        }
    }

    /// Adds a line to the game. The game before it, if the line is of the next one.
    fn add(&mut self, line: TextLine) -> Option<Chunk> {
        let TextLine { number, mut text, mut extent } = line;
        let empty = text.trim().is_empty();
        let ChunkDraft { begun, inside, ended, gap, .. } = self.game;
        let comment = text.starts_with(';') && (!begun || ended && gap);
        if !inside && (text.starts_with('%') || comment) {
            return None;
        }
        let strict = is_tag_line(&text) && (!inside || self.begins_game(&text));
        let tag = strict || !inside && (!begun || ended) && is_odd_line(&text);
        if !tag && !empty {
            // Games without tags may follow each other on one line.
            for begin in scan(&text, inside, false).begins.into_iter().rev() {
                let piece = text.split_off(begin);
                let extent = std::mem::replace(&mut extent, Extent::Whole);
                self.ahead.push_front(TextLine { number, text: piece, extent });
            }
        }
        let follows = ended && !inside && !empty && (gap || begins_moves(&text));
        let repeats = tag && !begun && self.game.repeats(&text);
        let is_next = if tag { begun || repeats } else { begun && follows };
        let done = is_next.then(|| std::mem::take(&mut self.game).chunk);
        self.game.grow(text.len(), extent);
        if tag {
            let (of_tags, behind) = divided(&text);
            let moves = self.begins_movetext(behind).then(|| behind.to_owned());
            let text = if moves.is_some() { of_tags.to_owned() } else { text };
            self.game.add_tags(NumberedLine { number, text });
            if let Some(text) = moves {
                self.game.add_moves(NumberedLine { number, text });
            }
        } else if !empty || self.game.inside {
            self.game.add_moves(NumberedLine { number, text });
            // Whatever its rest has opened.
            self.game.inside &= extent != Extent::TooLong;
        } else {
            let game = &mut self.game;
            game.gap |= game.ended || !game.chunk.tags.is_empty() && !game.begun;
        }
        done
    }

    /// Text behind the tags of a line is movetext if it begins as such, or if no further tags follow.
    fn begins_movetext(&mut self, behind: &str) -> bool {
        let Some(first) = behind.chars().next().filter(|first| !";%".contains(*first)) else {
            return false;
        };
        if first.is_ascii_digit() || first == '*' {
            return true;
        }
        self.fill(AHEAD);
        let next = self.ahead.iter().find(|line| !line.text.starts_with(['%', ';']));
        !next.is_some_and(|line| is_tag_line(&line.text))
    }

    /// A tag inside a comment begins a game if the comment is not closed in the lines ahead, or if a game's tags and moves
    /// follow; else it is quoted, as it is if the comment is closed behind it.
    fn begins_game(&mut self, line: &str) -> bool {
        self.fill(AHEAD);
        let lines = || [line].into_iter().chain(self.ahead.iter().map(|line| line.text.as_str()));
        if !lines().any(|line| line.contains('}')) {
            return true;
        }
        let tags = lines().take_while(|line| is_tag_line(line)).count();
        if lines().take(tags).any(|line| line.contains('}')) {
            return false;
        }
        let begins = |c: char| c.is_ascii_digit() || c == '*' || c == '{';
        let first = lines().nth(tags + 1).is_some_and(|line| line.starts_with(begins));
        tags > 1 || lines().nth(tags).is_some_and(|line| line.trim().is_empty()) && first
    }
}

impl<R: BufRead> Iterator for Chunks<R> {
    type Item = io::Result<Chunk>;

    fn next(&mut self) -> Option<io::Result<Chunk>> {
        loop {
            self.fill(1);
            let Some(line) = self.ahead.pop_front() else { break };
            if let Some(done) = self.add(line) {
                return Some(Ok(done));
            }
        }
        let last = std::mem::take(&mut self.game).chunk;
        if last != Chunk::default() {
            return Some(Ok(last));
        }
        self.fault.take().map(Err)
    }
}

impl ChunkDraft {
    /// Makes room for a line, or empties a game that becomes too large.
    fn grow(&mut self, bytes: usize, extent: Extent) {
        self.size += bytes + LINE;
        let is_too_large = self.size > LARGEST_GAME || extent == Extent::TooLong;
        if is_too_large && !self.chunk.is_too_large {
            self.chunk.is_too_large = true;
            self.chunk.moves = vec![NumberedLine { number: 0, text: LEFT_OUT.to_owned() }];
        }
    }

    fn add_tags(&mut self, line: NumberedLine) {
        self.names.extend(name_of(&line.text));
        if !self.chunk.is_too_large {
            self.chunk.tags.push(line);
        }
        self.inside = false;
        self.gap = false;
    }

    fn add_moves(&mut self, line: NumberedLine) {
        let Scan { inside, ended, .. } = scan(&line.text, self.inside, self.ended);
        (self.inside, self.ended) = (inside, ended);
        self.begun = true;
        self.gap = false;
        if !self.chunk.is_too_large {
            self.chunk.moves.push(line);
        }
    }

    /// A tag that the game has already: of the next game, which has no moves between. Beside each other, only `Event` and
    /// `FEN` are taken for that.
    fn repeats(&self, line: &str) -> bool {
        name_of(line)
            .is_some_and(|name| self.names.contains(&name) && (self.gap || begins_next(&name)))
    }
}

/// Whether a second tag of this name begins the next game, even directly behind the tags of this one.
#[must_use]
pub fn begins_next(name: &str) -> bool {
    ["Event", "FEN"].contains(&name)
}

/// Effect of a line of movetext.
struct Scan {
    /// Where further games begin: at a first move behind a result.
    begins: Vec<usize>,
    /// Its end is inside a comment.
    inside: bool,
    /// Its last word outside comments is a result.
    ended: bool,
}

/// Goes through a line that begins inside a comment, or behind a result, or neither.
fn scan(line: &str, inside: bool, ended: bool) -> Scan {
    let mut scan = Scan { begins: Vec::new(), inside, ended };
    let mut at = 0;
    while let Some(byte) = line.as_bytes().get(at) {
        match byte {
            _ if scan.inside => {
                let end = line[at..].find('}');
                scan.inside = end.is_none();
                at = end.map_or(line.len(), |end| at + end + 1);
            }
            b';' => break,
            b'{' => {
                scan.inside = true;
                at += 1;
            }
            b'}' => at += 1,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                let is_end = |c: char| c.is_whitespace() || "{};".contains(c);
                let rest = &line[at..];
                // A blank beyond ASCII is a word of its own.
                let first = rest.chars().next().map_or(1, char::len_utf8);
                let end = rest.find(is_end).unwrap_or(rest.len());
                let word = &rest[..end.max(first)];
                if scan.ended && word.starts_with("1.") && !word.starts_with("1..") {
                    scan.begins.push(at);
                }
                scan.ended = is_result(word);
                at += word.len();
            }
        }
    }
    scan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Chunk> {
        Chunks::new(text.as_bytes()).map(Result::unwrap).collect()
    }

    fn moves(text: &str) -> Vec<String> {
        let join = |game: &Chunk| {
            let lines: Vec<_> = game.moves.iter().map(|line| line.text.as_str()).collect();
            lines.join("|")
        };
        split(text).iter().map(join).collect()
    }

    #[test]
    fn games_are_cut_at_their_tags_and_behind_their_results() {
        let text = "[Event \"a\"]\n\n1. e4\n\ne5 1-0\n\n1. d4 d5 *\n[Event \"b\"]\n[Site \"c\"]\n1. c4 *\n\
                    [Event \"no moves\"]\n\n[Event \"d\"]\n*\n";
        assert_eq!(moves(text), ["1. e4|e5 1-0", "1. d4 d5 *", "1. c4 *", "", "*"]);
        assert_eq!(split(text)[2].tags[1].text, "[Site \"c\"]");
        assert_eq!(split(""), []);
    }

    #[test]
    fn an_open_comment_ends_with_its_game_and_a_quoted_tag_does_not() {
        let open = "[Event \"a\"]\n\n1. e4 {never closed\n\n[Event \"b\"]\n\n1. d4 *\n";
        assert_eq!(moves(open).len(), 2);
        let closed_later = "1. e4 {never closed\n\n[Event \"b\"]\n[Site \"c\"]\n\n1. d4 {x} *\n";
        assert_eq!(moves(closed_later).len(), 2);
        let quoted = "1. e4 {he wrote\n[White \"in it\"]\nthere} e5 *\n";
        assert_eq!(moves(quoted).len(), 1);
        let last = "1. e4 {he wrote\n[White \"in it\"] } e5 *\n\n1. d4 *\n";
        assert_eq!(moves(last).len(), 2);
    }

    #[test]
    fn lines_between_games_belong_to_none() {
        let text = "% made by X\n; a collection\n[Event \"a\"]\n\n1. e4 *\n\n; the next\n% one\n[Event \"b\"]\n\n*\n";
        assert_eq!(moves(text), ["1. e4 *", "*"]);
        assert_eq!(moves("1. e4 e5\n; a comment of the game\n2. Nf3 *").len(), 1);
    }

    #[test]
    fn moves_behind_tags_belong_to_the_game() {
        assert_eq!(
            moves("[White \"A\"]\n[Result \"1-0\"] 1. e4 e5\n2. Nf3 1-0\n"),
            ["1. e4 e5|2. Nf3 1-0"]
        );
        assert_eq!(
            moves("[White \"A\"] e4 e5 *\n\n[White \"B\"] 1. d4 *\n[White \"C\"] *"),
            ["e4 e5 *", "1. d4 *", "*"]
        );
        let notes = "[White \"A\"] a note\n[Black \"B\"] ; another\n\n1. e4 *\n";
        assert_eq!(moves(notes), ["1. e4 *"]);
        assert_eq!(split(notes)[0].tags[0].text, "[White \"A\"] a note");
    }

    #[test]
    fn repeated_tags_begin_a_game() {
        assert_eq!(moves("[FEN \"a\"]\n\n[FEN \"b\"]\n\n").len(), 2);
        assert_eq!(moves("[White \"a\"]\n\n[White \"b\"]\n").len(), 2);
        assert_eq!(moves("[White \"a\"]\n[White \"b\"]\n*\n").len(), 1);
        assert_eq!(moves(" [White Ann2]\n[White-Team \"x\"]\n\n[Black \"b\"]\n1. e4 *\n").len(), 1);
    }
}
