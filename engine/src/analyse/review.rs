//! One game with everything that was found about it: a judgement of each move, the accuracy of both sides.

use super::accuracy::{self, MoveLoss};
use super::found::{Found, identity, over};
use super::game::PgnGame;
use super::journal::{Journal, Look};
use super::judge::Judgement;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::play::report::{centipawns, mate};
use shakmaty::{ByColor, Color, Position};
use uci::Score;

/// A game, its positions and what is known of them.
pub struct Review<'a> {
    /// As it was read.
    pub game: &'a PgnGame,
    /// One position more than moves.
    pub positions: Vec<Game>,
    /// What is known of each.
    pub known: Vec<Known<'a>>,
    /// One for each move; None where a search is missing.
    pub judgements: Vec<Option<Judgement>>,
}

/// What is known of a position.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// A search's result.
    Searched(&'a Found),
    /// The game is over: the mover's win probability.
    Over(f32),
    /// Nothing yet.
    Nothing,
}

impl Known<'_> {
    fn of<'a>(position: &Game, journal: impl Fn(u64) -> Option<&'a Found>) -> Known<'a> {
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
    /// Judges each move by the best that is known, and where that has changed by a second look, no harder than the
    /// first look did: a glyph needs both. `lines` is how many better moves are named.
    #[must_use]
    pub fn new(game: &'a PgnGame, journal: &'a Journal, lines: usize) -> Review<'a> {
        let first = Review::at_first(game, journal, lines);
        let known = |position: &Game| Known::of(position, |identity| journal.best(identity));
        let review = Review::of(game, first.positions, &known, lines);
        let milder = |(judged, before): (Option<Judgement>, Option<Judgement>)| {
            Some(judged?.no_harder_than(before.as_ref()))
        };
        let judgements = review.judgements.into_iter().zip(first.judgements).map(milder).collect();
        Review { judgements, ..review }
    }

    /// Judges each move by the first look alone.
    #[must_use]
    pub fn at_first(game: &'a PgnGame, journal: &'a Journal, lines: usize) -> Review<'a> {
        let look =
            |position: &Game| Known::of(position, |identity| journal.get(identity, Look::First));
        Review::of(game, game.positions(), &look, lines)
    }

    fn of(
        game: &'a PgnGame,
        positions: Vec<Game>,
        look: &dyn Fn(&Game) -> Known<'a>,
        lines: usize,
    ) -> Review<'a> {
        let known: Vec<Known<'a>> = positions.iter().map(look).collect();
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

    /// The move made at `ply`, from 0.
    #[must_use]
    pub fn played(&self, ply: usize) -> Option<Action> {
        self.positions.get(ply + 1)?.actions().last().copied()
    }

    /// Who made the move at `ply`.
    #[must_use]
    pub fn mover(&self, ply: usize) -> Color {
        self.positions[ply].position().turn()
    }

    /// What a search said before the move at `ply`.
    #[must_use]
    pub fn found(&self, ply: usize) -> Option<&'a Found> {
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

    /// The score of a position for White; None after a mate, or where nothing is known.
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

    /// Accuracy of both sides, over the moves that are judged from the first on.
    #[must_use]
    pub fn accuracy(&self) -> ByColor<Option<f64>> {
        let judged = self.judgements.iter().map_while(Option::as_ref).enumerate();
        let moves: Vec<MoveLoss> = judged
            .map(|(ply, judgement)| MoveLoss { color: self.mover(ply), loss: judgement.loss() })
            .collect();
        let wins: Vec<f32> = (0..=moves.len()).map_while(|place| self.white_win(place)).collect();
        accuracy::of_game(&wins, &moves)
    }

    /// Moves that are judged.
    #[must_use]
    pub fn judged(&self) -> usize {
        self.judgements.iter().flatten().count()
    }
}

/// A score of the side to move as White's.
#[must_use]
pub fn for_white(turn: Color, mate_plies: Option<i32>, value: f32) -> Score {
    let score = mate_plies.map_or_else(|| centipawns(value), mate);
    match (turn, score) {
        (Color::White, score) => score,
        (Color::Black, Score::Centipawns(score)) => Score::Centipawns(-score),
        (Color::Black, Score::Mate(moves)) => Score::Mate(-moves),
    }
}
