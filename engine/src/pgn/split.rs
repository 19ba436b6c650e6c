//! Cuts a PGN text into games before anything is parsed, so that a damaged game cannot take its neighbours with it: an
//! unclosed comment would otherwise reach to the end of the file.

use super::tags::{divided, is_tag_line, name_of};

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered<'a> {
    /// Counted from 1.
    pub number: usize,
    /// Without its line end.
    pub text: &'a str,
}

/// The lines of one game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Tag pairs, with what stands behind them unless it is movetext.
    pub tags: Vec<Numbered<'a>>,
    /// The moves.
    pub moves: Vec<Numbered<'a>>,
}

/// Results of games.
pub const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

/// The games of a text, in order. Escaped lines (`%`), and comments to the end of a line before a game's tags, belong to no
/// game.
#[must_use]
pub fn split(text: &str) -> Vec<Chunk<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut games = Vec::new();
    let mut game = Chunk::default();
    // Inside a comment; a result was read; an empty line came after it, or after the tags.
    let (mut inside, mut ended, mut gap) = (false, false, false);
    for (at, line) in lines.iter().copied().enumerate() {
        let numbered = Numbered { number: at + 1, text: line };
        let empty = line.trim().is_empty();
        let begun = !game.moves.is_empty();
        if !inside && (line.starts_with('%') || line.starts_with(';') && (!begun || ended && gap)) {
            continue;
        }
        let tag = is_tag_line(line) && (!inside || begins_game(&lines[at..]));
        if tag && (begun || repeats(&game, line, gap))
            || !tag && begun && ended && gap && !inside && !empty
        {
            games.push(std::mem::take(&mut game));
            (inside, ended, gap) = (false, false, false);
        }
        if empty && !inside {
            gap |= ended || !game.tags.is_empty() && game.moves.is_empty();
        }
        let movetext = match tag.then(|| divided(line)) {
            None => Some(numbered).filter(|_| !empty || inside),
            Some((tags, behind)) => {
                let begins = begins_movetext(behind, &lines[at + 1..]);
                game.tags.push(Numbered { text: if begins { tags } else { line }, ..numbered });
                gap = false;
                begins.then_some(Numbered { text: behind, ..numbered })
            }
        };
        if let Some(moves) = movetext {
            game.moves.push(moves);
            inside = still_inside(moves.text, inside);
            let last = moves.text.split_whitespace().next_back().unwrap_or_default();
            ended = !inside && RESULTS.contains(&last);
            gap = false;
        }
    }
    if game != Chunk::default() {
        games.push(game);
    }
    games
}

impl Chunk<'_> {
    /// The lines as they were.
    #[must_use]
    pub fn raw(&self) -> String {
        let lines = |lines: &[Numbered<'_>]| -> String {
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

/// A tag that the game has already: of the next game, which has no moves between. Beside each other, only `Event` and `FEN`
/// are taken for that.
fn repeats(game: &Chunk<'_>, line: &str, gap: bool) -> bool {
    let Some(name) = name_of(line) else { return false };
    let known = game.tags.iter().any(|tag| name_of(tag.text) == Some(name));
    known && (gap || begins_next(name))
}

/// Whether a second tag of this name begins the next game, even directly behind the tags of this one.
#[must_use]
pub fn begins_next(name: &str) -> bool {
    ["Event", "FEN"].contains(&name)
}

/// Text behind the tags of a line is movetext if it begins as such, or if no further tags follow.
fn begins_movetext(behind: &str, following: &[&str]) -> bool {
    let next = following.iter().find(|line| !line.starts_with(['%', ';']));
    let tags_follow = next.is_some_and(|line| is_tag_line(line));
    match behind.chars().next() {
        None | Some(';' | '%') => false,
        Some(first) => first.is_ascii_digit() || first == '*' || !tags_follow,
    }
}

/// A tag inside a comment begins a game if the comment is never closed, or if a game's tags and moves follow; else it is
/// quoted, as it is if the comment is closed behind it.
fn begins_game(lines: &[&str]) -> bool {
    if !lines.iter().any(|line| line.contains('}')) {
        return true;
    }
    let tags = lines.iter().take_while(|line| is_tag_line(line)).count();
    if lines[..tags].iter().any(|line| line.contains('}')) {
        return false;
    }
    let begins = |c: char| c.is_ascii_digit() || c == '*' || c == '{';
    let first = lines.get(tags + 1).is_some_and(|line| line.starts_with(begins));
    tags > 1 || lines.get(tags).is_some_and(|line| line.trim().is_empty()) && first
}

fn still_inside(line: &str, mut inside: bool) -> bool {
    for letter in line.chars() {
        match letter {
            '{' => inside = true,
            '}' => inside = false,
            ';' if !inside => break,
            _ => {}
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(text: &str) -> Vec<String> {
        let join = |game: &Chunk<'_>| {
            let lines: Vec<_> = game.moves.iter().map(|line| line.text).collect();
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
