//! Parses one game into its tree. An illegal move in the main line is an error; a variation is truncated at its first
//! illegal move, and a note is kept.

use super::game::{Line, PgnError, PgnGame, PgnMove};
use super::split::{Chunk, RESULTS, clean};
use crate::chess::epd;
use crate::chess::game::Game;
use pgn_reader::{Nag, Outcome, RawComment, RawTag, Reader, SanPlus, Skip, Visitor};
use shakmaty::san::San;
use shakmaty::{Chess, Color, Move, Position};
use std::ops::ControlFlow;

/// Maximum nesting of variations: guards the stack.
const MAX_NESTING: usize = 64;

/// Reads one game.
///
/// # Errors
/// The game is damaged.
pub fn read(number: usize, chunk: &Chunk) -> Result<PgnGame, PgnError> {
    let moves = clean(&chunk.moves)?;
    let text = format!("{}\n{moves}", chunk.tags);
    let longest = text.len();
    let mut reader = Reader::build(text.as_bytes())
        .set_supported_tag_line_length(longest)
        .set_supported_comment_length(longest)
        .finish();
    let read = reader.read_game(&mut Builder { number });
    let game =
        read.map_err(|why| PgnError::Syntax(why.to_string()))?.unwrap_or(Err(PgnError::Nothing))?;
    let empty = game.tags.is_empty() && game.line.moves.is_empty();
    if empty { Err(PgnError::Nothing) } else { Ok(game) }
}

struct Builder {
    number: usize,
}

/// A game while it is parsed.
struct Draft {
    game: PgnGame,
    /// Stack of open lines: the main line and nested variations.
    open: Vec<Branch>,
}

struct Branch {
    line: Line,
    /// Position before the last move, where its variations start.
    before: Chess,
    position: Chess,
    /// After an illegal move: skip the rest of the line.
    cut: bool,
}

impl Branch {
    fn at(position: Chess) -> Branch {
        Branch { line: Line::default(), before: position.clone(), position, cut: false }
    }

    /// Plays a move in any notation. False if it is illegal.
    fn play(&mut self, san: San, null_allowed: bool) -> bool {
        let mut next = self.position.clone();
        let (played, san) = if san == San::Null && null_allowed {
            let Ok(passed) = next.swap_turn() else { return false };
            next = passed;
            (None, "--".to_owned())
        } else {
            let Some(node) = find(san, &self.position) else { return false };
            (Some(node), SanPlus::from_move_and_play_unchecked(&mut next, node).to_string())
        };
        self.line.moves.push(PgnMove {
            played,
            san,
            nags: Vec::new(),
            comments: Vec::new(),
            variations: Vec::new(),
        });
        self.before = std::mem::replace(&mut self.position, next);
        true
    }
}

/// The move, even if its capture sign is wrong or missing.
fn find(san: San, position: &Chess) -> Option<Move> {
    let exact = san.to_move(position).ok();
    exact.or_else(|| match san {
        San::Normal { role, file, rank, capture, to, promotion } => {
            let lax = San::Normal { role, file, rank, capture: !capture, to, promotion };
            lax.to_move(position).ok()
        }
        _ => None,
    })
}

/// `12.` or `12...`, by the side to move.
fn move_number(position: &Chess) -> String {
    let dots = if position.turn() == Color::White { "." } else { "..." };
    format!("{}{dots}", position.fullmoves())
}

impl Draft {
    /// The innermost open line.
    fn top(&mut self) -> &mut Branch {
        // The main line stays open until the end.
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    fn close_variation(&mut self) {
        if self.open.len() < 2 {
            return;
        }
        if let Some(closed) = self.open.pop()
            && let Some(node) = self.top().line.moves.last_mut()
            && closed.line != Line::default()
        {
            node.variations.push(closed.line);
        }
    }
}

impl Visitor for Builder {
    type Tags = Vec<(String, String)>;
    type Movetext = Draft;
    type Output = Result<PgnGame, PgnError>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Self::Tags> {
        ControlFlow::Continue(Vec::new())
    }

    fn tag(
        &mut self,
        tags: &mut Self::Tags,
        name: &[u8],
        value: RawTag<'_>,
    ) -> ControlFlow<Self::Output> {
        let name = String::from_utf8_lossy(name).trim().to_owned();
        tags.push((name, value.decode_utf8_lossy().into_owned()));
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Self::Tags) -> ControlFlow<Self::Output, Draft> {
        let start = match start(&tags) {
            Ok(start) => start,
            Err(damage) => return ControlFlow::Break(Err(damage)),
        };
        let open = vec![Branch::at(start.position().clone())];
        let (line, result, lost) = (Line::default(), String::new(), Vec::new());
        let game = PgnGame { number: self.number, tags, start, line, result, lost };
        ControlFlow::Continue(Draft { game, open })
    }

    fn san(&mut self, draft: &mut Draft, read: SanPlus) -> ControlFlow<Self::Output> {
        let inside = draft.open.len() > 1;
        let top = draft.top();
        if top.cut || top.play(read.san, inside) {
            return ControlFlow::Continue(());
        }
        let number = move_number(&top.position);
        let (san, fen) = (read.to_string(), epd::fen(&top.position));
        if !inside {
            return ControlFlow::Break(Err(PgnError::Move { san, number, fen }));
        }
        top.cut = true;
        let lost = format!("a variation is cut at {number} {san}, which is not legal in `{fen}`");
        draft.game.lost.push(lost);
        ControlFlow::Continue(())
    }

    fn nag(&mut self, draft: &mut Draft, nag: Nag) -> ControlFlow<Self::Output> {
        let top = draft.top();
        if let Some(node) = top.line.moves.last_mut().filter(|_| !top.cut)
            && !node.nags.contains(&nag.0)
        {
            node.nags.push(nag.0);
        }
        ControlFlow::Continue(())
    }

    fn comment(&mut self, draft: &mut Draft, comment: RawComment<'_>) -> ControlFlow<Self::Output> {
        let text = String::from_utf8_lossy(comment.as_bytes()).trim().to_owned();
        let line = &mut draft.top().line;
        if !text.is_empty() {
            line.moves.last_mut().map_or(&mut line.comments, |node| &mut node.comments).push(text);
        }
        ControlFlow::Continue(())
    }

    fn begin_variation(&mut self, draft: &mut Draft) -> ControlFlow<Self::Output, Skip> {
        if draft.open.len() > MAX_NESTING {
            return ControlFlow::Break(Err(PgnError::Nesting));
        }
        let before = draft.top().before.clone();
        // A variation needs a move to replace.
        let cut = draft.top().cut || draft.top().line.moves.is_empty();
        draft.open.push(Branch { cut, ..Branch::at(before) });
        ControlFlow::Continue(Skip(false))
    }

    fn end_variation(&mut self, draft: &mut Draft) -> ControlFlow<Self::Output> {
        draft.close_variation();
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, draft: &mut Draft, outcome: Outcome) -> ControlFlow<Self::Output> {
        if draft.open.len() == 1 {
            draft.game.result = outcome.to_string();
        }
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, mut draft: Draft) -> Self::Output {
        while draft.open.len() > 1 {
            draft.close_variation();
        }
        let mut game = draft.game;
        game.line = draft.open.pop().map(|branch| branch.line).unwrap_or_default();
        if game.result.is_empty() {
            let tag = game.tag("Result").filter(|tag| RESULTS.contains(tag));
            game.result = tag.unwrap_or("*").to_owned();
        }
        Ok(game)
    }
}

/// Initial position by the tags.
fn start(tags: &[(String, String)]) -> Result<Game, PgnError> {
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
        _ => return Err(PgnError::Variant(variant.to_owned())),
    };
    match tag("FEN") {
        Some(fen) => Game::from_fen(fen, chess960).map_err(PgnError::Start),
        None => {
            let mode = shakmaty::CastlingMode::from_chess960(chess960);
            Ok(Game::new(Chess::default(), mode))
        }
    }
}
