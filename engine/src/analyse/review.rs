//! One game with its results: a judgement per move, accuracy of both sides.

use super::accuracy::{self, MoveLoss};
use super::found::{Choice, PositionResult, identity, over};
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
    /// The same for the side to move with what the game shows behind it ([`backed_up`]).
    values: Vec<Option<Value>>,
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

/// A position's value for the side to move.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value {
    /// Win probability.
    win: f32,
    /// Plies to a proven mate, negative if the side to move is mated.
    mate: Option<i32>,
}

impl Value {
    /// That of the position before a move to this one, for its mover, if it plays the move.
    fn before(self) -> Value {
        let plies = |plies: i32| if plies > 0 { -(plies + 1) } else { 1 - plies };
        Value { win: 1.0 - self.win, mate: self.mate.map(plies) }
    }
}

impl Known<'_> {
    fn value(&self) -> Option<Value> {
        match self {
            Known::Searched(found) => {
                Some(Value { win: found.win(), mate: found.best().and_then(|best| best.mate) })
            }
            // Mated.
            Known::Over(win) => Some(Value { win: *win, mate: (*win == 0.0).then_some(0) }),
            Known::Nothing => None,
        }
    }

    fn of<'a>(position: &Game, journal: impl Fn(u64) -> Option<&'a PositionResult>) -> Known<'a> {
        match over(position) {
            Some(ending) => Known::Over(if ending.winner().is_some() { 0.0 } else { 0.5 }),
            None => journal(identity(position)).map_or(Known::Nothing, Known::Searched),
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
        let values = backed_up(&positions, &known);
        let judge = |ply: usize| {
            let played = *positions[ply + 1].actions().last()?;
            match (known[ply], values[ply + 1]) {
                (Known::Searched(before), Some(reply)) => {
                    Some(Judgement::new(before, played, reply.before().win, lines))
                }
                _ => None,
            }
        };
        let judgements = (0..positions.len() - 1).map(judge).collect();
        Review { game, positions, known, values, judgements }
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
        let Value { win, .. } = (*self.values.get(place)?)?;
        Some(self.positions[place].position().turn().fold_wb(win, 1.0 - win))
    }

    /// Score of a position for White; None after a mate, or without a result.
    #[must_use]
    pub fn score(&self, place: usize) -> Option<Score> {
        let turn = self.positions[place].position().turn();
        let Value { win, mate } = self.values[place]?;
        match self.known[place] {
            Known::Over(_) => (win > 0.0).then_some(Score::Centipawns(0)),
            _ => Some(for_white(turn, mate, win)),
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

/// The value of each position for the side to move. Where a game follows the move that a search chose, the search of the next position
/// sees one ply further, so its value takes the place of that move's; the mover keeps the other moves that the search knows well. Without
/// it a sacrifice costs its player what the search does not see until the next move.
fn backed_up(positions: &[Game], known: &[Known<'_>]) -> Vec<Option<Value>> {
    let mut values: Vec<Option<Value>> = known.iter().map(Known::value).collect();
    for place in (0..positions.len().saturating_sub(1)).rev() {
        let (Known::Searched(found), Some(after)) = (known[place], values[place + 1]) else {
            continue;
        };
        let played = positions[place + 1].actions().last().copied();
        if found.best().and_then(Choice::action) != played
            || found.best().is_some_and(|best| best.mate.is_some())
        {
            continue;
        }
        let others = found.choices.iter().skip(1).filter(|choice| found.knows(choice));
        let others = others.map(|choice| Value { win: choice.win(), mate: choice.mate });
        let first = after.before();
        values[place] =
            Some(others.fold(first, |best, other| if other.win > best.win { other } else { best }));
    }
    values
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The choices as move, visits, value and plies to mate.
    fn found(game: &Game, choices: &[(&str, u64, f32, Option<i32>)]) -> PositionResult {
        let choice = |&(uci, visits, value, mate): &(&str, u64, f32, Option<i32>)| Choice {
            line: vec![Action::from_uci(uci, game.position()).unwrap()],
            visits,
            value,
            mate,
        };
        PositionResult {
            choices: choices.iter().map(choice).collect(),
            policy: Vec::new(),
            playouts: 100,
        }
    }

    #[test]
    fn the_next_search_sees_further_and_the_mover_keeps_its_other_moves() {
        let start = Game::default();
        let mut after = start.clone();
        after.play_uci("e2e4").unwrap();
        let positions = [start, after];
        let values = |choices: &[(&str, u64, f32, Option<i32>)], reply| {
            let before = found(&positions[0], choices);
            let behind = found(&positions[1], &[reply]);
            let known = [Known::Searched(&before), Known::Searched(&behind)];
            let value = backed_up(&positions, &known)[0].unwrap();
            (value.win, value.mate)
        };
        let reply = |value, mate| ("e7e5", 90, value, mate);
        let best = ("e2e4", 60, 0.75, None);
        assert_eq!(values(&[best], reply(0.125, None)), (0.875, None));
        assert_eq!(values(&[best], reply(0.5, None)), (0.5, None));
        // Another move is better now, if it is known well.
        assert_eq!(values(&[best, ("d2d4", 30, 0.625, None)], reply(0.5, None)), (0.625, None));
        assert_eq!(values(&[best, ("d2d4", 3, 0.625, None)], reply(0.5, None)), (0.5, None));
        // The mover is mated in two plies: one more from here. It mates in three: mated in four.
        assert_eq!(values(&[best], reply(0.0, Some(-2))), (1.0, Some(3)));
        assert_eq!(values(&[best], reply(1.0, Some(3))), (0.0, Some(-4)));
        // The game followed another move than the search.
        assert_eq!(values(&[("d2d4", 60, 0.75, None), best], reply(0.5, None)), (0.75, None));
    }
}
