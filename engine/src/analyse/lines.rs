//! Lines beside a game that the page can step through: better lines of the search, and the variations of the file.

use super::found::RootMove;
use super::review::{Review, for_white};
use super::words::{self, PLIES};
use crate::pgn::{Line, PgnMove};
use chess::action::Action;
use serde::Serialize;
use shakmaty::{CastlingMode, Chess, Position};

/// Moves of variations that a game carries along; the rest of a book is left out.
const MAX_MOVES: usize = 400;

/// A line that leaves the game.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ReplayLine {
    /// The ply that it replaces.
    at: usize,
    /// Moves that belong to the line that it leaves itself.
    from: usize,
    /// `Better` or `Variation`.
    name: &'static str,
    /// Score for White, of a better line.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<String>,
    /// Moves separated by blanks; `0000` for a null move.
    uci: String,
    san: String,
}

/// All lines of a game, by ply; at one ply the better ones come first.
#[must_use]
pub fn all(review: &Review<'_>) -> Vec<ReplayLine> {
    let (mut found, mut room) = (Vec::new(), MAX_MOVES);
    for (ply, node) in review.game.line.moves.iter().enumerate().take(review.judgements.len()) {
        let better = better(review, ply);
        // An analysed file has the better lines as variations.
        let is_new = |line: &&Line| !better.iter().any(|better| repeats(line, better));
        let branch = LineMaker::new(review.board(ply), review.positions.mode());
        let mut open: Vec<(&Line, LineMaker)> = Vec::new();
        open.extend(node.variations.iter().filter(is_new).rev().map(|line| (line, branch.clone())));
        found.extend(better);
        while let Some((line, mut branch)) = open.pop() {
            let from = branch.san.len();
            let first = open.len();
            for node in line.moves.iter().take(room) {
                open.extend(node.variations.iter().map(|line| (line, branch.clone())));
                if !branch.make_node(node) {
                    break;
                }
            }
            room = room.saturating_sub(branch.san.len() - from);
            open[first..].reverse();
            if branch.san.len() > from {
                found.push(branch.line(ply, from, "Variation", None));
            }
        }
    }
    found
}

/// Whether a variation has nothing but the moves of a better line, or of its continuation.
fn repeats(line: &Line, better: &ReplayLine) -> bool {
    let is_plain = line.moves.iter().all(|node| node.variations.is_empty());
    is_plain && line.moves.iter().zip(better.san.split(' ')).all(|(node, san)| node.san == san)
}

/// Better lines than the move at `ply`.
fn better(review: &Review<'_>, ply: usize) -> Vec<ReplayLine> {
    let line = |choice: &RootMove| {
        let mut branch = LineMaker::new(review.board(ply), review.positions.mode());
        let _ = choice.line.iter().take(PLIES).all(|action| branch.make(*action));
        let score = words::score(for_white(review.mover(ply), choice.mate, choice.value));
        branch.line(ply, 0, "Better", Some(score))
    };
    review.better(ply).map(line).filter(|line| !line.uci.is_empty()).collect()
}

/// Makes the moves from the game to a position of a line.
#[derive(Clone)]
struct LineMaker {
    board: Chess,
    mode: CastlingMode,
    uci: Vec<String>,
    san: Vec<String>,
}

impl LineMaker {
    fn new(board: &Chess, mode: CastlingMode) -> LineMaker {
        LineMaker { board: board.clone(), mode, uci: Vec::new(), san: Vec::new() }
    }

    /// Makes a move; false if it is not legal.
    fn make(&mut self, action: Action) -> bool {
        let legal = action.to_move(&self.board).filter(|made| self.board.is_legal(*made));
        let Some(legal) = legal else { return false };
        self.uci.push(action.to_uci(&self.board, self.mode));
        self.san.push(action.to_san(&self.board));
        self.board.play_unchecked(legal);
        true
    }

    /// Makes a move of a file, perhaps a null move.
    fn make_node(&mut self, node: &PgnMove) -> bool {
        if let Some(played) = node.played {
            return self.make(Action::new(played));
        }
        let Ok(passed) = self.board.clone().swap_turn() else { return false };
        self.board = passed;
        self.uci.push("0000".to_owned());
        self.san.push("--".to_owned());
        true
    }

    fn line(self, at: usize, from: usize, name: &'static str, score: Option<String>) -> ReplayLine {
        ReplayLine { at, from, name, score, uci: self.uci.join(" "), san: self.san.join(" ") }
    }
}
