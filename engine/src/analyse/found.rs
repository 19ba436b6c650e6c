//! Result of search and network for one position: the input of all judgements, and the journal's content.

use crate::chess::action::Action;
use crate::chess::ending::{self, Ending};
use crate::chess::game::Game;
use crate::fnv::Fnv;
use crate::play::analyst::{Analyst, Effort};
use crate::play::blunder_check::Refutation;
use mcts::Line;
use nn::EvalError;
use serde::{Deserialize, Serialize};
use shakmaty::Position;
use std::ops::ControlFlow;

/// Minimum number of root moves kept: the best, and enough to detect an only move.
const MIN_MOVES: usize = 4;
/// Minimum share of the playouts for the value of a move that is not the best to count. Guess.
const MIN_VISIT_SHARE: f32 = 0.05;
/// Maximum length of a line, in plies.
const PLIES: usize = 16;
/// Minimum policy that is kept.
const MIN_POLICY: f32 = 0.005;

/// Positions of the blunder check for each playout of the tree: a third of the time on a CPU.
const CHECKED_PER_PLAYOUT: u64 = 200;

/// Result of one search, from the side to move's point of view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionResult {
    /// Best first; never empty.
    pub choices: Vec<Choice>,
    /// The network's policy: move and probability, in descending order.
    pub policy: Vec<(Action, f32)>,
    /// Playouts of the search.
    pub playouts: u64,
}

/// One root move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The move and best play after it.
    pub line: Vec<Action>,
    /// Visits of the move.
    pub visits: u64,
    /// Win probability, draws counted half.
    pub value: f32,
    /// Plies to a proven mate, negative if the mover is mated.
    pub mate: Option<i32>,
}

impl Choice {
    fn new(line: &Line<Action>) -> Choice {
        let Line { moves, visits, value, mate_plies, .. } = line;
        let line = moves.iter().take(PLIES).copied().collect();
        Choice { line, visits: *visits, value: value.q(), mate: *mate_plies }
    }

    /// The first move; never None in a search's result.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        self.line.first().copied()
    }

    /// Win probability; a proven mate is 0 or 1.
    #[must_use]
    pub fn win(&self) -> f32 {
        match self.mate {
            Some(plies) if plies > 0 => 1.0,
            Some(_) => 0.0,
            None => self.value,
        }
    }
}

impl PositionResult {
    /// Searches a position with a fresh tree, whose best move an alpha-beta search then examines: the better line of a
    /// refutation comes first. None if `stop` aborted it.
    ///
    /// # Errors
    /// The network failed.
    pub fn search(
        analyst: &mut Analyst,
        request: &SearchRequest<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<PositionResult>, EvalError> {
        let SearchRequest { game, effort, lines } = *request;
        analyst.forget();
        let mut broken = false;
        let snapshot = analyst.search(game, effort, &mut |_| {
            broken = stop();
            if broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let answer = analyst.glance(game)?;
        if broken {
            return Ok(None);
        }
        let visited = snapshot.lines.iter().filter(|line| line.visits > 0);
        let choices = visited.take((lines + 1).max(MIN_MOVES)).map(Choice::new).collect();
        let mut choices: Vec<Choice> = choices;
        let best = choices.first().filter(|best| best.mate.is_none());
        let most = CHECKED_PER_PLAYOUT.saturating_mul(snapshot.playouts);
        let refuted =
            best.and_then(Choice::action).and_then(|best| analyst.refute(game, best, most));
        if let Some(Refutation { better, win, mate_plies, .. }) = refuted {
            let first = better.first().copied();
            let place = choices.iter().position(|choice| choice.action() == first);
            let visits = place.map_or(0, |place| choices.remove(place).visits);
            let line = better.into_iter().take(PLIES).collect();
            choices.insert(0, Choice { line, visits, value: win, mate: mate_plies });
        }
        let policy = answer.map(|answer| answer.policy).unwrap_or_default();
        let mut policy: Vec<_> = game.legal_actions().into_iter().zip(policy).collect();
        policy.retain(|(_, share)| *share >= MIN_POLICY);
        policy.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(Some(PositionResult { choices, policy, playouts: snapshot.playouts }))
    }

    /// The best root move.
    #[must_use]
    pub fn best(&self) -> Option<&Choice> {
        self.choices.first()
    }

    /// Whether a move's value is more than the noise of a few visits.
    #[must_use]
    pub fn knows(&self, choice: &Choice) -> bool {
        let visited_enough = choice.visits as f32 >= MIN_VISIT_SHARE * self.playouts as f32;
        visited_enough || choice.mate.is_some()
    }

    /// The win probability of the side to move.
    #[must_use]
    pub fn win(&self) -> f32 {
        self.best().map_or(0.5, Choice::win)
    }

    /// The network's policy for a move; 0 below half a percent.
    #[must_use]
    pub fn expected(&self, action: Action) -> f32 {
        self.policy.iter().find(|(known, _)| *known == action).map_or(0.0, |(_, share)| *share)
    }
}

/// Position and limits of a search.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    /// The position is its last.
    pub game: &'a Game,
    /// Limits.
    pub effort: Effort,
    /// Number of lines that will be shown.
    pub lines: usize,
}

/// Ending that the board alone shows. Repetition and the fifty-move rule have to be claimed, and games continue after
/// them.
#[must_use]
pub fn over(game: &Game) -> Option<Ending> {
    ending::by_board(game.position(), game.position().legal_moves().len())
}

/// Hash of a position with the moves that led to it, stable between runs: games with the same opening share searches.
#[must_use]
pub fn identity(game: &Game) -> u64 {
    let begun = Fnv::seeded(u64::from(game.start().halfmoves()));
    game.keys().iter().fold(begun, |hash, key| hash.with_word(*key)).get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_position_by_another_way_is_another() {
        let after = |moves: &[&str]| {
            let mut game = Game::default();
            for text in moves {
                game.play_uci(text).unwrap();
            }
            game
        };
        let (one, other) = (["g1f3", "g8f6", "b1c3"], ["b1c3", "g8f6", "g1f3"]);
        assert_eq!(after(&one).keys().last(), after(&other).keys().last());
        assert_ne!(identity(&after(&one)), identity(&after(&other)));
        assert_eq!(identity(&after(&one)), identity(&after(&one)));
    }

    #[test]
    fn mates_are_certain() {
        let choice = |mate| Choice { line: vec![], visits: 1, value: 0.7, mate };
        assert_eq!(choice(Some(3)).win(), 1.0);
        assert_eq!(choice(Some(-2)).win(), 0.0);
        assert_eq!(choice(None).win(), 0.7);
    }
}
