//! One game with its results: a judgement per move, accuracy of both sides.
//!
//! A position's value is the better of what its own search says and of the move that the game followed: the next
//! position's search sees one ply further. So a move loses exactly the difference of the values before and after it.

use super::accuracy::{self, MoveLoss};
use super::found::{PositionResult, RootMove, identity, over};
use super::judge::{Glyphs, Judgement};
use crate::pgn::{PgnGame, Positions};
use crate::play::report::{centipawns, mate};
use chess::action::Action;
use chess::game::Game;
use shakmaty::{ByColor, Chess, Color, Position};
use std::ops::Range;
use uci::Score;

/// Largest score that is no mate, in centipawns. Other programs write less than a hundred pawns.
const MAX_CENTIPAWNS: i32 = 9_900;

/// A game with its positions and judgements.
pub struct Review<'a> {
    /// The parsed game.
    pub game: &'a PgnGame,
    /// One more than there are moves.
    pub positions: Positions,
    /// Evaluation of each position.
    known: Vec<ReviewedValue<'a>>,
    /// The same for the side to move with what the game shows behind it ([`backed_up`]).
    values: Vec<Option<Value>>,
    /// One per move; None where a search is missing.
    pub judgements: Vec<Option<Judgement>>,
}

/// How moves are judged.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Maximum number of better moves.
    pub lines: usize,
    /// Thresholds of the glyphs.
    pub glyphs: Glyphs,
}

/// A position's search, and whether it was the longer one.
pub type Lookup<'a, 'b> = &'b dyn Fn(u64) -> Option<(&'a PositionResult, bool)>;

/// Evaluation of a position.
#[derive(Clone, Copy, Debug)]
pub enum ReviewedValue<'a> {
    /// A search's result.
    Searched {
        /// The result.
        found: &'a PositionResult,
        /// Glyphs may rest on it: the longer search, or endgame tables.
        sure: bool,
    },
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
    const DRAW: Value = Value { win: 0.5, mate: None };

    fn of(choice: &RootMove) -> Value {
        Value { win: choice.win(), mate: choice.mate }
    }

    /// The value of the position before a move to this one, for its mover, if it plays the move.
    fn before(self) -> Value {
        let plies = |plies: i32| if plies > 0 { -(plies + 1) } else { 1 - plies };
        Value { win: 1.0 - self.win, mate: self.mate.map(plies) }
    }

    /// The value of the position after a move that keeps this proven mate, for its side to move.
    fn behind(self) -> Value {
        let plies = |plies: i32| if plies < 0 { -plies - 1 } else { 1 - plies };
        Value { win: 1.0 - self.win, mate: self.mate.map(plies) }
    }

    /// For the side to move.
    fn score(self) -> Score {
        for_white(Color::White, self.mate, self.win)
    }
}

impl<'a> ReviewedValue<'a> {
    fn of(position: &Game, lookup: Lookup<'a, '_>) -> ReviewedValue<'a> {
        let found = lookup(identity(position));
        found.map_or(ReviewedValue::Nothing, |(found, longer)| ReviewedValue::Searched {
            found,
            sure: longer || found.exact,
        })
    }

    fn value(&self) -> Option<Value> {
        match self {
            ReviewedValue::Searched { found, .. } => found.best().map(Value::of),
            // Mated.
            ReviewedValue::Over(win) => Some(Value { win: *win, mate: (*win == 0.0).then_some(0) }),
            ReviewedValue::Nothing => None,
        }
    }

    fn is_sure(&self) -> bool {
        matches!(self, ReviewedValue::Searched { sure: true, .. } | ReviewedValue::Over(_))
    }
}

impl<'a> Review<'a> {
    /// Judges each move by the searches that `lookup` has.
    #[must_use]
    pub fn new(game: &'a PgnGame, lookup: Lookup<'a, '_>, rules: Rules) -> Review<'a> {
        let positions = Positions::of(game);
        let known = |place| match over(positions.board(place)) {
            Some(ending) => ReviewedValue::Over(if ending.winner().is_some() { 0.0 } else { 0.5 }),
            None => ReviewedValue::of(&positions.game(place), lookup),
        };
        let known: Vec<ReviewedValue<'a>> = (0..positions.count()).map(known).collect();
        let values = backed_up(&positions, &known);
        let mut review = Review { game, positions, known, values, judgements: Vec::new() };
        review.judgements =
            (0..review.positions.plies()).map(|ply| review.judge(ply, rules)).collect();
        review
    }

    /// Places of positions that need the longer search, for a glyph rests on them, in order.
    #[must_use]
    pub fn unsure(&self) -> Vec<usize> {
        let is_unsure = |place: &usize| {
            let around = place.saturating_sub(1)..=*place;
            let judged = |ply| self.judgements.get(ply).and_then(Option::as_ref);
            !self.known[*place].is_sure()
                && around.into_iter().filter_map(judged).any(|judged| judged.glyph.is_some())
        };
        (0..self.known.len()).filter(is_unsure).collect()
    }

    /// The same without the glyphs that rest on short searches.
    #[must_use]
    pub fn without_unsure_glyphs(mut self) -> Review<'a> {
        for (ply, judged) in self.judgements.iter_mut().enumerate() {
            let sure = self.known[ply].is_sure() && self.known[ply + 1].is_sure();
            if let Some(judged) = judged.as_mut().filter(|_| !sure) {
                (judged.glyph, judged.better) = (None, Vec::new());
            }
        }
        self
    }

    fn judge(&self, ply: usize, Rules { lines, glyphs }: Rules) -> Option<Judgement> {
        let played = self.positions.played(ply)?;
        let (before, best) = (self.found(ply)?, self.values[ply]?);
        let after = after(&self.positions, &self.values, ply + 1)?.before();
        // Less than `after` is left only after a claim of a draw that was not made.
        let best = if after.win > best.win { after } else { best };
        let wins = [best.win, after.win];
        let glyph = glyphs.of(wins, [best.score(), after.score()]);
        Some(Judgement::new(before, played, wins, glyph, lines))
    }

    /// Better moves than the one at `ply`, the best first; none without a judgement.
    pub fn better(&self, ply: usize) -> impl Iterator<Item = &'a RootMove> {
        let choices = self.found(ply).map_or(&[][..], |found| &found.choices);
        let judged = self.judgements[ply].as_ref();
        let places = judged.map_or(&[][..], |judged| &judged.better);
        places.iter().filter_map(move |place| choices.get(*place))
    }

    /// The move at `ply`, from 0.
    #[must_use]
    pub fn played(&self, ply: usize) -> Option<Action> {
        self.positions.played(ply)
    }

    /// The position at `place`, from 0.
    #[must_use]
    pub fn board(&self, place: usize) -> &Chess {
        self.positions.board(place)
    }

    /// The side that made the move at `ply`.
    #[must_use]
    pub fn mover(&self, ply: usize) -> Color {
        self.board(ply).turn()
    }

    /// The search before the move at `ply`.
    #[must_use]
    pub fn found(&self, ply: usize) -> Option<&'a PositionResult> {
        match self.known.get(ply)? {
            ReviewedValue::Searched { found, .. } => Some(found),
            _ => None,
        }
    }

    /// White's win probability in a position.
    #[must_use]
    pub fn white_win(&self, place: usize) -> Option<f32> {
        let Value { win, .. } = after(&self.positions, &self.values, place)?;
        Some(self.mover(place).fold_wb(win, 1.0 - win))
    }

    /// Score of a position for White; None after a mate, or without a result.
    #[must_use]
    pub fn score(&self, place: usize) -> Option<Score> {
        let Value { win, mate } = after(&self.positions, &self.values, place)?;
        match self.known[place] {
            ReviewedValue::Over(0.0) => None,
            _ => Some(for_white(self.mover(place), mate, win)),
        }
    }

    /// Accuracy of both sides, over those of `plies` that are judged without a gap.
    #[must_use]
    pub fn accuracy(&self, plies: Range<usize>) -> ByColor<Option<f64>> {
        let judged = self.judgements.iter().map_while(Option::as_ref);
        let moves: Vec<MoveLoss> = judged
            .enumerate()
            .map(|(ply, judged)| MoveLoss { color: self.mover(ply), loss: judged.loss() })
            .collect();
        let wins: Vec<f32> = (0..=moves.len()).map_while(|place| self.white_win(place)).collect();
        accuracy::of_part(&wins, &moves, plies)
    }

    /// Average centipawn loss of both sides.
    #[must_use]
    pub fn centipawn_loss(&self) -> ByColor<Option<f64>> {
        let scores = |ply: usize| {
            self.judgements[ply].as_ref()?;
            let mover = self.mover(ply);
            // None after a mate.
            let after = self.score(ply + 1).unwrap_or(Score::Mate(mover.fold_wb(1, -1)));
            Some((mover, [self.score(ply)?, after]))
        };
        let moves: Vec<_> = (0..self.judgements.len()).filter_map(scores).collect();
        accuracy::centipawn_loss(&moves)
    }

    /// Number of judged moves.
    #[must_use]
    pub fn judged(&self) -> usize {
        self.judgements.iter().flatten().count()
    }
}

/// The value of a position that a move led to: a draw where it can be claimed.
fn after(positions: &Positions, values: &[Option<Value>], place: usize) -> Option<Value> {
    let value = (*values.get(place)?)?;
    let mated = value.mate == Some(0);
    Some(if !mated && positions.is_claimable(place) { Value::DRAW } else { value })
}

/// The value of each position for the side to move: that of the best move among the one that the game followed, by the
/// next position's value, and the others that its search knows well. Tables and proven mates need no such help.
fn backed_up(positions: &Positions, known: &[ReviewedValue<'_>]) -> Vec<Option<Value>> {
    let mut values: Vec<Option<Value>> = known.iter().map(ReviewedValue::value).collect();
    carry_mates(positions, known, &mut values);
    for place in (0..positions.plies()).rev() {
        let ReviewedValue::Searched { found, .. } = known[place] else { continue };
        let Some(followed) = after(positions, &values, place + 1).map(Value::before) else {
            continue;
        };
        let proven = values[place].is_some_and(|value| value.mate.is_some());
        let Some(played) = positions.played(place).filter(|_| !found.exact && !proven) else {
            continue;
        };
        let others = found.choices.iter().enumerate().filter(|(place, choice)| {
            choice.action() != Some(played) && (*place == 0 || found.knows(choice))
        });
        let others = others.map(|(_, choice)| Value::of(choice));
        values[place] = Some(
            others.fold(followed, |best, other| if other.win > best.win { other } else { best }),
        );
    }
    values
}

/// A mate that a search proved stands in the next position, too, whose own search may be too short for it: after every move of
/// the side that is mated, and after the proven move of the other.
fn carry_mates(positions: &Positions, known: &[ReviewedValue<'_>], values: &mut [Option<Value>]) {
    for place in 0..positions.plies() {
        let own = [known[place], known[place + 1]].map(|known| match known {
            ReviewedValue::Searched { found, .. } if !found.exact => found.best(),
            _ => None,
        });
        let ([Some(best), Some(next)], Some(value)) = (own, values[place]) else { continue };
        let Some(played) = positions.played(place) else { continue };
        let is_kept = match value.mate {
            Some(plies) if plies < 0 => true,
            Some(_) => best.mate.is_some() && best.action() == Some(played),
            None => false,
        };
        if is_kept && next.mate.is_none() {
            values[place + 1] = Some(value.behind());
        }
    }
}

/// Converts the side to move's score to White's.
#[must_use]
pub fn for_white(turn: Color, mate_plies: Option<i32>, value: f32) -> Score {
    match (turn, mate_plies.map_or_else(|| centipawns(value), mate)) {
        (Color::White, Score::Mate(moves)) => Score::Mate(moves),
        (Color::Black, Score::Mate(moves)) => Score::Mate(-moves),
        (turn, Score::Centipawns(score)) => {
            let score = score.clamp(-MAX_CENTIPAWNS, MAX_CENTIPAWNS);
            Score::Centipawns(turn.fold_wb(score, -score))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::{PgnEntry, read_games};

    fn read(text: &str) -> PgnGame {
        match read_games(text, 1).into_iter().next() {
            Some(PgnEntry::Game(game)) => *game,
            _ => panic!("{text} is no game"),
        }
    }

    /// The choices as move, visits, value and plies to mate.
    fn found(board: &Chess, choices: &[(&str, u64, f32, Option<i32>)]) -> PositionResult {
        let choice = |&(uci, visits, value, mate): &(&str, u64, f32, Option<i32>)| RootMove {
            line: vec![Action::from_uci(uci, board).unwrap()],
            visits,
            value,
            mate,
        };
        PositionResult {
            choices: choices.iter().map(choice).collect(),
            policy: Vec::new(),
            playouts: 100,
            exact: false,
        }
    }

    #[test]
    fn the_next_search_sees_further_and_the_mover_keeps_its_other_moves() {
        let positions = Positions::of(&read("1. e4 *"));
        let values = |choices: &[(&str, u64, f32, Option<i32>)], reply| {
            let before = found(positions.board(0), choices);
            let behind = found(positions.board(1), &[reply]);
            let known =
                [&before, &behind].map(|found| ReviewedValue::Searched { found, sure: true });
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
        // The game followed another move than the search, and a better one.
        assert_eq!(values(&[("d2d4", 60, 0.75, None), best], reply(0.5, None)), (0.75, None));
        assert_eq!(values(&[("d2d4", 60, 0.75, None), best], reply(0.125, None)), (0.875, None));
    }

    #[test]
    fn a_proven_mate_stands_until_its_move_is_missed() {
        let positions = Positions::of(&read("1. e4 e5 *"));
        let values = |mate, best, next: f32| {
            let win = if mate > 0 { 1.0 } else { 0.0 };
            let found = [
                found(positions.board(0), &[(best, 60, win, Some(mate))]),
                found(positions.board(1), &[("e7e5", 60, next, None)]),
                found(positions.board(2), &[("g1f3", 60, 0.75, None)]),
            ];
            let known = found.each_ref().map(|found| ReviewedValue::Searched { found, sure: true });
            let values = backed_up(&positions, &known);
            [0, 1, 2].map(|place| values[place].map(|value| (value.win, value.mate)).unwrap())
        };
        // White mates by the move of the game, and still does after every reply.
        let mates = [(1.0, Some(5)), (0.0, Some(-4)), (1.0, Some(3))];
        assert_eq!(values(5, "e2e4", 0.125), mates);
        // The game missed the mate.
        assert_eq!(values(5, "d2d4", 0.125), [(1.0, Some(5)), (0.25, None), (0.75, None)]);
        // White is mated whatever it plays; whether Black's move kept the mate is not known.
        let mated = [(0.0, Some(-6)), (1.0, Some(5)), (0.75, None)];
        assert_eq!(values(-6, "d2d4", 0.875), mated);
    }

    #[test]
    fn a_certain_score_is_a_mate_or_less_than_a_hundred_pawns() {
        assert_eq!(for_white(Color::White, None, 1.0), Score::Centipawns(9_900));
        assert_eq!(for_white(Color::Black, None, 1.0), Score::Centipawns(-9_900));
        assert_eq!(for_white(Color::Black, Some(3), 1.0), Score::Mate(-2));
    }
}
