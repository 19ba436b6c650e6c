//! What search and network say of one position: everything later judgements need, and what the journal
//! keeps.

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

/// Root moves kept of a search, at least: the best, and enough to see that all others are worse.
const LEAST_MOVES: usize = 4;
/// Plies kept of a line.
const PLIES: usize = 16;
/// A policy below this is not kept.
const LEAST_POLICY: f32 = 0.005;

/// The result of one search, all from the side to move's point of view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Best first; never empty.
    pub choices: Vec<Choice>,
    /// What the network alone expected: move and probability, the likeliest first.
    pub policy: Vec<(Action, f32)>,
    /// Playouts of the search.
    pub playouts: u64,
}

/// One root move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The move and best play after it.
    pub line: Vec<Action>,
    /// Its visits.
    pub visits: u64,
    /// Its win probability, draws counted half.
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

    /// The first move; never None in what a search found.
    #[must_use]
    pub fn action(&self) -> Option<Action> {
        self.line.first().copied()
    }

    /// The win probability, a proven mate being certain.
    #[must_use]
    pub fn win(&self) -> f32 {
        match self.mate {
            Some(plies) if plies > 0 => 1.0,
            Some(_) => 0.0,
            None => self.value,
        }
    }
}

impl Found {
    /// Searches a position with nothing kept from other searches. None if `stop` broke it off.
    ///
    /// # Errors
    /// The network failed.
    pub fn search(
        analyst: &mut Analyst,
        question: &Question<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Found>, EvalError> {
        let Question { game, effort, lines, checks } = *question;
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
        let choices = visited.take((lines + 1).max(LEAST_MOVES)).map(Choice::new).collect();
        let mut choices: Vec<Choice> = choices;
        let best = choices.first().filter(|best| checks && best.mate.is_none());
        let refuted = best
            .and_then(Choice::action)
            .and_then(|best| analyst.refute(game, best, snapshot.playouts));
        if let Some(Refutation { better, win, mate_plies, .. }) = refuted {
            choices.retain(|choice| choice.action() != better.first().copied());
            let line = better.into_iter().take(PLIES).collect();
            let visits = snapshot.playouts;
            choices.insert(0, Choice { line, visits, value: win, mate: mate_plies });
        }
        let policy = answer.map(|answer| answer.policy).unwrap_or_default();
        let mut policy: Vec<_> = game.legal_actions().into_iter().zip(policy).collect();
        policy.retain(|(_, share)| *share >= LEAST_POLICY);
        policy.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(Some(Found { choices, policy, playouts: snapshot.playouts }))
    }

    /// The best root move.
    #[must_use]
    pub fn best(&self) -> Option<&Choice> {
        self.choices.first()
    }

    /// The win probability of the side to move.
    #[must_use]
    pub fn win(&self) -> f32 {
        self.best().map_or(0.5, Choice::win)
    }

    /// What the network alone gave to a move; 0 for less than half a percent.
    #[must_use]
    pub fn expected(&self, action: Action) -> f32 {
        self.policy.iter().find(|(known, _)| *known == action).map_or(0.0, |(_, share)| *share)
    }
}

/// What to search.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Its last position.
    pub game: &'a Game,
    /// What it may cost.
    pub effort: Effort,
    /// Lines that will be shown.
    pub lines: usize,
    /// Whether alpha-beta checks the best move for a blunder; if it is one, the better move's line comes first.
    pub checks: bool,
}

/// The end of the game that the board alone shows: nothing to search there. Repetitions and fifty moves
/// have to be claimed, and games go on after them.
#[must_use]
pub fn over(game: &Game) -> Option<Ending> {
    ending::by_board(game.position(), game.position().legal_moves().len())
}

/// Names a position together with the moves that led to it, the same in every run: two games that began
/// alike are searched once for as long as they do.
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
