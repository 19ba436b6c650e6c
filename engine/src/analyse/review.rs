//! One game with its results: a judgement per move, accuracy of both sides.

use super::accuracy::{self, MoveLoss};
use super::found::{PositionResult, identity, over};
use super::journal::{Journal, Pass};
use super::judge::Judgement;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::pgn::PgnGame;
use crate::play::report::{centipawns, mate};
use shakmaty::{ByColor, Color, Position};
use std::ops::Range;
use uci::Score;

/// A game with its positions and judgements.
pub struct Review<'a> {
    /// The parsed game.
    pub game: &'a PgnGame,
    /// One more than there are moves.
    pub positions: Vec<Game>,
    /// Evaluation of each position.
    pub known: Vec<Known<'a>>,
    /// One per move; None where a search is missing.
    pub judgements: Vec<Option<Judgement>>,
}

/// Evaluation of a position.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// A search's result.
    Searched(&'a PositionResult),
    /// The game is over: win probability of the side to move.
    Over(f32),
    /// Not searched yet.
    Nothing,
}

impl Known<'_> {
    fn of<'a>(position: &Game, journal: impl Fn(u64) -> Option<&'a PositionResult>) -> Known<'a> {
        match over(position) {
            Some(ending) => Known::Over(if ending.winner().is_some() { 0.0 } else { 0.5 }),
            None => journal(identity(position)).map_or(Known::Nothing, Known::Searched),
        }
    }

    /// Win probability of the side to move.
    #[must_use]
    pub fn win(&self) -> Option<f32> {
        match self {
            Known::Searched(found) => Some(found.win()),
            Known::Over(win) => Some(*win),
            Known::Nothing => None,
        }
    }
}

impl<'a> Review<'a> {
    /// Judges each move by the longest searches. A second search can only make a glyph milder: a glyph needs both.
    /// `lines` is the maximum number of better moves.
    #[must_use]
    pub fn new(game: &'a PgnGame, journal: &'a Journal, lines: usize) -> Review<'a> {
        let first = Review::at_first(game, journal, lines);
        let known = |position: &Game| Known::of(position, |identity| journal.best(identity));
        let review = Review::of(game, first.positions, &known, lines);
        let milder = |(judged, before): (Option<Judgement>, Option<Judgement>)| {
            Some(judged?.limited_by(before.as_ref()))
        };
        let judgements = review.judgements.into_iter().zip(first.judgements).map(milder).collect();
        Review { judgements, ..review }
    }

    /// Judges each move by the first searches alone.
    #[must_use]
    pub fn at_first(game: &'a PgnGame, journal: &'a Journal, lines: usize) -> Review<'a> {
        let lookup =
            |position: &Game| Known::of(position, |identity| journal.get(identity, Pass::First));
        Review::of(game, game.positions(), &lookup, lines)
    }

    fn of(
        game: &'a PgnGame,
        positions: Vec<Game>,
        lookup: &dyn Fn(&Game) -> Known<'a>,
        lines: usize,
    ) -> Review<'a> {
        let known: Vec<Known<'a>> = positions.iter().map(lookup).collect();
        let judge = |ply: usize| {
            let played = *positions[ply + 1].actions().last()?;
            match (known[ply], known[ply + 1].win()) {
                (Known::Searched(before), Some(reply)) => {
                    Some(Judgement::new(before, played, 1.0 - reply, lines))
                }
                _ => None,
            }
        };
        let judgements = (0..positions.len() - 1).map(judge).collect();
        Review { game, positions, known, judgements }
    }

    /// The move at `ply`, from 0.
    #[must_use]
    pub fn played(&self, ply: usize) -> Option<Action> {
        self.positions.get(ply + 1)?.actions().last().copied()
    }

    /// The side that made the move at `ply`.
    #[must_use]
    pub fn mover(&self, ply: usize) -> Color {
        self.positions[ply].position().turn()
    }

    /// The search before the move at `ply`.
    #[must_use]
    pub fn found(&self, ply: usize) -> Option<&'a PositionResult> {
        match self.known.get(ply)? {
            Known::Searched(found) => Some(found),
            _ => None,
        }
    }

    /// White's win probability in a position.
    #[must_use]
    pub fn white_win(&self, place: usize) -> Option<f32> {
        let win = self.known.get(place)?.win()?;
        Some(self.positions[place].position().turn().fold_wb(win, 1.0 - win))
    }

    /// Score of a position for White; None after a mate, or without a result.
    #[must_use]
    pub fn score(&self, place: usize) -> Option<Score> {
        let turn = self.positions[place].position().turn();
        match self.known[place] {
            Known::Searched(found) => {
                let best = found.best()?;
                Some(for_white(turn, best.mate, best.value))
            }
            Known::Over(win) => (win > 0.0).then_some(Score::Centipawns(0)),
            Known::Nothing => None,
        }
    }

    /// Accuracy of both sides, over those of `plies` that are judged without a gap.
    #[must_use]
    pub fn accuracy(&self, plies: Range<usize>) -> ByColor<Option<f64>> {
        let judged = self.judgements[plies.clone()].iter().map_while(Option::as_ref);
        let moves: Vec<MoveLoss> = judged
            .zip(plies.clone())
            .map(|(judged, ply)| MoveLoss { color: self.mover(ply), loss: judged.loss() })
            .collect();
        let places = plies.start..=plies.start + moves.len();
        let wins: Vec<f32> = places.map_while(|place| self.white_win(place)).collect();
        accuracy::of_game(&wins, &moves)
    }

    /// Number of judged moves.
    #[must_use]
    pub fn judged(&self) -> usize {
        self.judgements.iter().flatten().count()
    }
}

/// Converts the side to move's score to White's.
#[must_use]
pub fn for_white(turn: Color, mate_plies: Option<i32>, value: f32) -> Score {
    let score = mate_plies.map_or_else(|| centipawns(value), mate);
    match (turn, score) {
        (Color::White, score) => score,
        (Color::Black, Score::Centipawns(score)) => Score::Centipawns(-score),
        (Color::Black, Score::Mate(moves)) => Score::Mate(-moves),
    }
}
