//! Parses the paper's text into a thought: the inverse of [`super::print`](mod@super::print) for traces that obey the
//! grammar. A trace truncated after a complete step is a stopped thought.

use super::page::{NodeAnswer, NodePage, PredictedOutcome};
use super::print::{
    AGAINST, CHILD_HEADER, INVALID, PLAIN, ROOT_HEADER, name, outcome_text, state_text,
};
use super::think::{Thought, ThoughtEnd};
use chess::action::Action;
use nn::encode::MoveCode;
use nn::writer::word::BUCKETS;
use nn::writer::{Backup, Kind, Shape, Trace, Word, WordChoice};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Color, FromSetup, PositionError};
use std::fmt;

/// A line that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line number, from 1.
    line: usize,
    /// Expected text.
    expected: String,
    /// Actual text.
    found: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseError { line, expected, found } = self;
        write!(f, "line {line}: expected {expected}, found `{found}`")
    }
}

impl std::error::Error for ParseError {}

/// Parses a text.
///
/// # Errors
/// The first line that cannot be parsed.
pub fn parse(text: &str) -> Result<Thought, ParseError> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let lines: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.is_empty()).collect();
    let mut reader = Reader { lines: &lines, last: (1, "") };
    let (shape, backup) = reader.prompt()?;
    let thought =
        Thought { trace: Trace::new(shape, backup), pages: Vec::new(), end: ThoughtEnd::Stopped };
    Parser { reader, thought, decided: None }.run()
}

/// Reads non-empty lines.
struct Reader<'a> {
    lines: &'a [(usize, &'a str)],
    last: (usize, &'a str),
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.lines.split_first()?;
        (self.last, self.lines) = (*first, rest);
        Some(first.1)
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.first().map(|(_, line)| *line)
    }

    /// An error at the last line.
    fn wrong(&self, expected: impl Into<String>) -> ParseError {
        let found = self.last.1.chars().take(120).collect();
        ParseError { line: self.last.0, expected: expected.into(), found }
    }

    /// The text of the next line between a prefix and a suffix.
    fn between(&mut self, head: &str, tail: &str) -> Result<&'a str, ParseError> {
        let line = self.next().unwrap_or_else(|| {
            self.last = (self.last.0 + 1, "the end");
            "the end"
        });
        let inside = line.strip_prefix(head).and_then(|line| line.strip_suffix(tail));
        inside.ok_or_else(|| self.wrong(format!("{head}…{tail}")))
    }

    fn exactly(&mut self, text: &str) -> Result<(), ParseError> {
        self.between(text, "").and_then(|rest| match rest {
            "" => Ok(()),
            _ => Err(self.wrong(text)),
        })
    }

    fn prompt(&mut self) -> Result<(Shape, Backup), ParseError> {
        let line = self.between("", "")?;
        let read = |backup: Backup| {
            let numbers = line.strip_prefix(backup.name())?.strip_prefix(" breadth=")?;
            let (breadth, depth) = numbers.split_once(" depth=")?;
            let shape = Shape { breadth: breadth.parse().ok()?, depth: depth.parse().ok()? };
            Some((shape, backup))
        };
        let found = Backup::ALL.into_iter().find_map(read);
        found.ok_or_else(|| self.wrong("Minimax or AlphaBeta, breadth=NUMBER depth=NUMBER"))
    }

    fn action(&self, text: &str) -> Result<Action, ParseError> {
        read_action(text).ok_or_else(|| self.wrong(format!("a move in place of `{text}`")))
    }

    fn bucket(&self, text: &str) -> Result<u8, ParseError> {
        let number = text.strip_prefix("<ctrl").and_then(|text| text.strip_suffix('>'));
        let bucket = number.and_then(|number| number.parse().ok());
        let bucket = bucket.filter(|bucket| *bucket < BUCKETS);
        bucket.ok_or_else(|| self.wrong(format!("<ctrl0> to <ctrl63> in place of `{text}`")))
    }
}

/// A move by its squares, legal or not.
fn read_action(text: &str) -> Option<Action> {
    match text.parse::<UciMove>().ok()? {
        UciMove::Normal { from, to, promotion } => {
            let promotion = promotion.map_or(0, |role| role as u16 - 1);
            let action = Action::from(u16::from(from) | u16::from(to) << 6 | promotion << 12);
            (format!("{action:?}") == text).then_some(action)
        }
        _ => None,
    }
}

/// A board in the notation of `%state`. Impossible positions are accepted, as in predictions.
fn read_state(text: &str) -> Option<Option<Chess>> {
    if text == INVALID {
        return Some(None);
    }
    let fields = text.split(' ').count();
    let fen = if fields == 2 { format!("{text} {PLAIN} 1") } else { format!("{text} 1") };
    let setup = fen.parse::<Fen>().ok()?.into_setup();
    let state = Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .ok()?;
    (state_text(Some(&state)) == text).then_some(Some(state))
}

fn read_outcome(text: &str) -> Option<PredictedOutcome> {
    let all = [
        PredictedOutcome::Won(Color::White),
        PredictedOutcome::Won(Color::Black),
        PredictedOutcome::Drawn,
        PredictedOutcome::NoState,
    ];
    all.into_iter().find(|outcome| outcome_text(*outcome) == text)
}

struct Parser<'a> {
    reader: Reader<'a>,
    thought: Thought,
    /// Node of the last decision, and whether its children were scored.
    decided: Option<(u8, bool)>,
}

impl Parser<'_> {
    fn run(mut self) -> Result<Thought, ParseError> {
        while let Some(line) = self.reader.peek() {
            if self.thought.end == ThoughtEnd::Played {
                self.reader.next();
                return Err(self.reader.wrong("the end"));
            }
            if line.starts_with("Evaluation") {
                self.evaluation()?;
            } else if line.starts_with("Expand") {
                self.expand()?;
            } else if line.starts_with("Decision") {
                self.decision()?;
            } else if line.starts_with("Selecting") {
                self.select()?;
            } else {
                self.play()?;
            }
        }
        Ok(self.thought)
    }

    /// Index of the last matching word.
    fn place(&self, wanted: impl Fn(&Word) -> bool) -> Option<usize> {
        self.thought.trace.words().iter().rposition(wanted)
    }

    /// Index of a node's `best` or `over`.
    fn head(&self, node: u8) -> Option<usize> {
        self.place(|word| matches!(word.kind, Kind::Best | Kind::Over) && word.node == Some(node))
    }

    /// Node of this name.
    fn node(&self, text: &str) -> Result<u8, ParseError> {
        let trace = &self.thought.trace;
        let mut names = (0..trace.names()).filter_map(|node| u8::try_from(node).ok());
        let node = names.find(|node| name(trace, *node) == text);
        node.ok_or_else(|| self.reader.wrong(format!("a node named before in place of `{text}`")))
    }

    fn write(&mut self, kind: Kind, source: Option<usize>, bucket: u8) -> Result<(), ParseError> {
        let missing = || self.reader.wrong(format!("a source of `{}` before it", kind.name()));
        let source = source.ok_or_else(missing)?;
        let written = self.thought.trace.write(WordChoice { kind, source, bucket });
        written.map_err(|fault| self.reader.wrong(format!("a word that fits ({fault})")))
    }

    fn evaluation(&mut self) -> Result<(), ParseError> {
        let text = self.reader.between("Evaluation for node: ", "")?;
        let node = self.node(text)?;
        if node == 0 {
            self.reader.exactly(ROOT_HEADER)?;
        } else {
            let child = self.place(|word| word.kind == Kind::Child && word.node == Some(node));
            let parent = child.and_then(|child| self.thought.trace.words()[child].parent);
            let pages = &self.thought.pages;
            let page = parent.and_then(|parent| pages.get(usize::from(parent))?.as_ref());
            let before = state_text(page.and_then(|page| page.state.as_ref()));
            self.reader.exactly(CHILD_HEADER)?;
            self.reader.exactly(&format!("[%prev_state {before}]"))?;
            let path = super::boards::path_of(&self.thought.trace, node);
            let action = path.last().map_or_else(String::new, |action| format!("{action:?}"));
            self.reader.exactly(&format!("[%prev_action {action}]"))?;
            self.write(Kind::Eval, child, 0)?;
        }
        if self.thought.trace.asks_for() != Some(node) {
            return Err(self.reader.wrong("a node not evaluated yet"));
        }
        let page = self.page()?;
        page.give(&mut self.thought.trace);
        let place = usize::from(node);
        let pages = &mut self.thought.pages;
        pages.resize(pages.len().max(place + 1), None);
        pages[place] = Some(page);
        Ok(())
    }

    fn page(&mut self) -> Result<NodePage, ParseError> {
        let text = self.reader.between("[%state ", "]")?;
        let state = read_state(text).ok_or_else(|| self.reader.wrong("a board in FEN"))?;
        if self.reader.peek().is_some_and(|line| line.starts_with("[%top_1 ")) {
            let text = self.reader.between(&format!("[%top_1 {INVALID} : \""), "\"]")?;
            let outcome = read_outcome(text).ok_or_else(|| self.reader.wrong("a result"))?;
            return Ok(NodePage::over(state, outcome));
        }
        let mut list = Vec::new();
        for word in self.reader.between("[%top_all ", "]")?.split(' ') {
            let (action, bucket) = word.split_once(':').unwrap_or((word, ""));
            list.push((self.reader.action(action)?, self.reader.bucket(bucket)?));
        }
        let best = self.reader.between("[%best_action ", "]")?;
        if list.first().map(|(action, _)| *action) != Some(self.reader.action(best)?) {
            return Err(self.reader.wrong("the first move of the list"));
        }
        Ok(NodePage { state, answer: NodeAnswer::List(list) })
    }

    fn expand(&mut self) -> Result<(), ParseError> {
        let text = self.reader.between("Expand from node ", ":")?;
        let bounded = self.thought.trace.has_bucket(Kind::Expand);
        let (text, bound) = match text.split_once(AGAINST).filter(|_| bounded) {
            Some((text, bound)) => (text, self.reader.bucket(bound)?),
            None => (text, 0),
        };
        let node = self.node(text)?;
        self.write(Kind::Expand, self.head(node), bound)?;
        let stem = text.trim_end_matches('>');
        while self.reader.peek().is_some_and(|line| line.starts_with('<')) {
            let action = self.reader.between(stem, ">")?.trim_start();
            let action = MoveCode::of(self.reader.action(action)?, false);
            let item = self.place(|word| {
                word.kind == Kind::Item && word.parent == Some(node) && word.action == Some(action)
            });
            self.write(Kind::Child, item, 0)?;
        }
        Ok(())
    }

    fn decision(&mut self) -> Result<(), ParseError> {
        let line = self.reader.between("Decision for node: ", "")?;
        let end = line.find('>').map_or(line.len(), |end| end + 1);
        let (text, scores) = line.split_at(end);
        let node = self.node(text)?;
        let words: Vec<&str> = scores.split(' ').filter(|word| !word.is_empty()).collect();
        self.decided = Some((node, !words.is_empty()));
        if words.is_empty() {
            return self.write(Kind::Decide, self.head(node), 0);
        }
        let expand = self.place(|word| word.kind == Kind::Expand && word.node == Some(node));
        self.write(Kind::Decide, expand, 0)?;
        for score in words.chunks(3) {
            let &[action, ":", value] = score else {
                return Err(self.reader.wrong("moves with values: g3d6 : \"<ctrl32>\""));
            };
            let action = MoveCode::of(self.reader.action(action)?, false);
            let bucket = self.reader.bucket(value.trim_matches('"'))?;
            let child = self.place(|word| {
                word.kind == Kind::Child && word.parent == Some(node) && word.action == Some(action)
            });
            self.write(Kind::Score, child, bucket)?;
        }
        Ok(())
    }

    fn select(&mut self) -> Result<(), ParseError> {
        let line = self.reader.between("Selecting: ", "\"")?;
        let (action, bucket) = line.split_once(" : \"").unwrap_or((line, ""));
        let bucket = self.reader.bucket(bucket)?;
        let action = match action {
            INVALID => None,
            action => Some(MoveCode::of(self.reader.action(action)?, false)),
        };
        let undecided = || self.reader.wrong("a decision before the selection");
        let (node, scored) = self.decided.take().ok_or_else(undecided)?;
        let source = match scored {
            false => self.head(node).filter(|at| self.thought.trace.words()[*at].action == action),
            true => self.place(|word| {
                word.kind == Kind::Score && word.parent == Some(node) && word.action == action
            }),
        };
        self.write(Kind::Select, source, bucket)
    }

    fn play(&mut self) -> Result<(), ParseError> {
        let text = self.reader.between("Playing ", "!")?;
        let action = MoveCode::of(self.reader.action(text)?, false);
        let select = self.place(|word| word.kind == Kind::Select);
        let select = select.filter(|at| self.thought.trace.words()[*at].action == Some(action));
        self.write(Kind::Play, select, 0)?;
        self.thought.end = ThoughtEnd::Played;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
