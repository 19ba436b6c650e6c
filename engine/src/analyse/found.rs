//! Result of tables, rules and searches for one position: the input of all judgements, and the journal's content.
//!
//! Neighbouring positions of a game are searched as one segment: the tree search goes forward and keeps its tree, then the
//! alpha-beta search goes back and keeps its table. A move's value is the mean of what both say.

use crate::fnv::Fnv;
use crate::play::analyst::{Analyst, Effort};
use crate::play::search::blunder_check::{Examination, Refutation};
use crate::world::rules::wdl_of;
use chess::action::Action;
use chess::ending::{self, Ending};
use chess::game::Game;
use chess::syzygy::root::RootTables;
use mcts::Line;
use nn::EvalError;
use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Position};
use std::ops::ControlFlow;

/// Minimum number of root moves kept: the best, and enough to detect an only move.
const MIN_MOVES: usize = 4;
/// Minimum share of the playouts for the value of a move that is not the best to count. Guess.
const MIN_VISIT_SHARE: f32 = 0.05;
/// Maximum length of a line, in plies.
const PLIES: usize = 16;
/// Minimum policy that is kept.
const MIN_POLICY: f32 = 0.005;

/// Positions of the alpha-beta search for each playout of the tree: half of the time on a CPU. Values of both together
/// agree better with a deep search than those of either in twice its time (`docs/src/guide/analyse.md`).
const EXAMINED_PER_PLAYOUT: u64 = 180;
/// Positions of the alpha-beta search that finds the line, and perhaps the mate, of a table's best move. Guess.
const TABLE_LINE_POSITIONS: u64 = 5_000;

/// Result for one position, from the side to move's point of view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionResult {
    /// Best first; never empty.
    pub choices: Vec<RootMove>,
    /// The network's policy: move and probability, in descending order.
    pub policy: Vec<(Action, f32)>,
    /// Playouts of the tree search; 0 where endgame tables have the position.
    pub playouts: u64,
    /// The values are those of endgame tables.
    pub exact: bool,
}

/// One root move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RootMove {
    /// The move and best play after it.
    pub line: Vec<Action>,
    /// Visits of the move.
    pub visits: u64,
    /// Win probability, draws counted half.
    pub value: f32,
    /// Plies to a proven mate, negative if the mover is mated.
    pub mate: Option<i32>,
}

impl RootMove {
    fn new(line: &Line<Action>) -> RootMove {
        let Line { moves, visits, value, mate_plies, .. } = line;
        let line = moves.iter().take(PLIES).copied().collect();
        RootMove { line, visits: *visits, value: value.q(), mate: *mate_plies }
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
    /// Searches neighbouring positions of a game, in its order. Owes nothing to searches before; None if `stop` aborted
    /// it.
    ///
    /// # Errors
    /// The network failed.
    pub fn search(
        analyst: &mut Analyst,
        segment: &[Game],
        limits: SearchLimits,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<PositionResult>>, EvalError> {
        analyst.forget();
        let mut results = Vec::with_capacity(segment.len());
        for game in segment {
            if stop() {
                return Ok(None);
            }
            match PositionResult::of_tree(analyst, game, limits, stop)? {
                Some(found) => results.push(found),
                None => return Ok(None),
            }
        }
        for (game, found) in segment.iter().zip(&mut results).rev() {
            if stop() {
                return Ok(None);
            }
            found.examine(analyst, game);
            found.apply_rules(game);
        }
        Ok(Some(results))
    }

    /// By endgame tables, else by the tree search. None if `stop` aborted it.
    fn of_tree(
        analyst: &mut Analyst,
        game: &Game,
        limits: SearchLimits,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<PositionResult>, EvalError> {
        let most = (limits.lines + 1).max(MIN_MOVES);
        let policy = policy(analyst, game)?;
        if let Some(choices) = analyst.ranked(game).and_then(|ranked| of_tables(game, &ranked)) {
            return Ok(Some(PositionResult { choices, policy, playouts: 0, exact: true }));
        }
        let mut broken = false;
        let snapshot = analyst.search(game, limits.effort, &mut |_| {
            broken = stop();
            if broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if broken {
            return Ok(None);
        }
        let visited = snapshot.lines.iter().filter(|line| line.visits > 0);
        let mut choices: Vec<RootMove> = visited.take(most).map(RootMove::new).collect();
        if choices.is_empty() {
            // A single playout evaluates the position alone: the network's action values are all there is.
            choices = snapshot.lines.iter().take(most).map(RootMove::new).collect();
        }
        let playouts = snapshot.playouts;
        Ok(Some(PositionResult { choices, policy, playouts, exact: false }))
    }

    /// Adds the alpha-beta search's opinion. To a table's values it adds the line and the mate alone.
    fn examine(&mut self, analyst: &mut Analyst, game: &Game) {
        let Some(chosen) = self.best().and_then(RootMove::action) else { return };
        let (allowed, most) = match self.exact {
            true => (analyst.ranked(game).map(|ranked| ranked.best()), TABLE_LINE_POSITIONS),
            false => (None, EXAMINED_PER_PLAYOUT.saturating_mul(self.playouts)),
        };
        let allowed = allowed.unwrap_or_default();
        let Some(found) = analyst.examine(game, chosen, &allowed, most) else { return };
        match self.exact {
            true => self.take_line(found),
            false => self.combine(found),
        }
    }

    /// The line of a table's best move, and the mate if there is one and the table says the same.
    fn take_line(&mut self, Examination { best, mate_plies, .. }: Examination) {
        let Some(value) = self.best().map(|best| best.value) else { return };
        let agrees = |plies: &i32| value == if *plies > 0 { 1.0 } else { 0.0 };
        let mate = mate_plies.filter(agrees);
        self.lead_with(RootMove { line: best, visits: 0, value, mate });
    }

    /// Combines the tree's values with the alpha-beta search's.
    fn combine(&mut self, found: Examination) {
        let Examination { best, win, mate_plies, refutation } = found;
        let proven = self.best().is_some_and(|best| best.mate.is_some());
        let tree = self.best().map_or(win, |best| best.value);
        match (mate_plies, refutation) {
            // The tree's proof may be longer, but it stands.
            _ if proven => {}
            (Some(plies), _) => {
                let value = if plies > 0 { 1.0 } else { 0.0 };
                if plies < 0 {
                    // The best move is mated: no other is better.
                    self.choices.iter_mut().for_each(|choice| choice.value = 0.0);
                }
                self.lead_with(RootMove { line: best, visits: 0, value, mate: mate_plies });
            }
            (None, Some(Refutation { better, .. })) => {
                let value = f32::midpoint(tree, win);
                self.choices.iter_mut().for_each(|choice| choice.value = choice.value.min(value));
                self.lead_with(RootMove { line: better, visits: 0, value, mate: None });
            }
            (None, None) => {
                let shift = (win - tree) / 2.0;
                let open = self.choices.iter_mut().filter(|choice| choice.mate.is_none());
                open.for_each(|choice| choice.value = (choice.value + shift).clamp(0.0, 1.0));
            }
        }
    }

    /// A move that draws at once, by the board, by repetition or by the fifty-move rule, has the value of a draw. It
    /// comes first where everything else is worse.
    fn apply_rules(&mut self, game: &Game) {
        if self.exact {
            return;
        }
        let draws = |action: &Action| {
            let mut after = game.clone();
            after.play(*action).is_ok()
                && after.ending().is_some_and(|ending| ending.winner().is_none())
        };
        let drawing: Vec<Action> = game.legal_actions().into_iter().filter(draws).collect();
        let drawn = |line, visits| RootMove { line, visits, value: 0.5, mate: None };
        for choice in &mut self.choices {
            if let Some(action) = choice.action().filter(|action| drawing.contains(action)) {
                *choice = drawn(vec![action], choice.visits);
            }
        }
        if let Some(first) = drawing.first().filter(|_| self.win() < 0.5) {
            let known = self
                .choices
                .iter()
                .find_map(|choice| choice.action().filter(|action| drawing.contains(action)));
            self.lead_with(drawn(vec![known.unwrap_or(*first)], 0));
        }
    }

    /// Puts a choice first. The move keeps its visits.
    fn lead_with(&mut self, mut choice: RootMove) {
        choice.line.truncate(PLIES);
        let first = choice.action();
        if let Some(place) = self.choices.iter().position(|known| known.action() == first) {
            choice.visits = self.choices.remove(place).visits;
        }
        self.choices.insert(0, choice);
    }

    /// The best root move.
    #[must_use]
    pub fn best(&self) -> Option<&RootMove> {
        self.choices.first()
    }

    /// A move's share of the visits, in [0, 1]. A tree kept from the position before brings visits along, so the playouts
    /// may be fewer.
    #[must_use]
    pub fn visited(&self, choice: &RootMove) -> f32 {
        let visits = self.choices.iter().map(|choice| choice.visits).sum::<u64>();
        choice.visits as f32 / visits.max(self.playouts).max(1) as f32
    }

    /// Whether a move's value is more than the noise of a few visits.
    #[must_use]
    pub fn knows(&self, choice: &RootMove) -> bool {
        let visited_enough = choice.visits as f32 >= MIN_VISIT_SHARE * self.playouts as f32;
        self.exact || visited_enough || choice.mate.is_some()
    }

    /// The win probability of the side to move.
    #[must_use]
    pub fn win(&self) -> f32 {
        self.best().map_or(0.5, RootMove::win)
    }

    /// The network's policy for a move; 0 below half a percent.
    #[must_use]
    pub fn expected(&self, action: Action) -> f32 {
        self.policy.iter().find(|(known, _)| *known == action).map_or(0.0, |(_, share)| *share)
    }
}

/// The network's policy of a position without the least likely moves, most likely first.
fn policy(analyst: &Analyst, game: &Game) -> Result<Vec<(Action, f32)>, EvalError> {
    let answer = analyst.glance(game)?;
    let policy = answer.map(|answer| answer.policy).unwrap_or_default();
    let mut policy: Vec<_> = game.legal_actions().into_iter().zip(policy).collect();
    policy.retain(|(_, share)| *share >= MIN_POLICY);
    policy.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(policy)
}

/// The moves of a position that endgame tables have, the one to play first. None if the value of one is not known.
fn of_tables(game: &Game, ranked: &RootTables) -> Option<Vec<RootMove>> {
    let line = |action: Action| {
        let value = wdl_of(ranked.value_of(action)?);
        let mate_plies = ranked.mates(action).then_some(1);
        Some(Line { moves: vec![action], visits: 0, value, mate_plies, prior: 0.0, q: value.q() })
    };
    let mut lines: Vec<Line<Action>> =
        game.legal_actions().into_iter().map(line).collect::<Option<_>>()?;
    lines.sort_by_key(|line| ranked.order(line.moves.first().copied(), line.mate_plies));
    // A cursed win ranks before a draw; its value is that of a draw.
    lines.sort_by(|a, b| b.value.q().total_cmp(&a.value.q()));
    Some(lines.iter().take(MIN_MOVES).map(RootMove::new).collect())
}

/// Limits of a search.
#[derive(Clone, Copy)]
pub struct SearchLimits {
    /// Limit of each position's tree search.
    pub effort: Effort,
    /// Number of lines that will be shown.
    pub lines: usize,
}

/// Ending that the board alone shows. Repetition and the fifty-move rule have to be claimed, and games continue after
/// them.
#[must_use]
pub fn over(position: &Chess) -> Option<Ending> {
    ending::by_board(position, position.legal_moves().len())
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
        let choice = |mate| RootMove { line: vec![], visits: 1, value: 0.7, mate };
        assert_eq!(choice(Some(3)).win(), 1.0);
        assert_eq!(choice(Some(-2)).win(), 0.0);
        assert_eq!(choice(None).win(), 0.7);
    }
    #[test]
    fn shares_of_a_kept_trees_visits_are_at_most_one() {
        let choice = |visits| RootMove { line: vec![], visits, value: 0.5, mate: None };
        let shares = |visits: [u64; 2], playouts| {
            let choices = visits.map(choice).to_vec();
            let found = PositionResult { choices, policy: vec![], playouts, exact: false };
            found.choices.iter().map(|choice| found.visited(choice)).collect::<Vec<_>>()
        };
        assert_eq!(shares([30, 10], 25), [0.75, 0.25], "fifteen visits were there before");
        assert_eq!(shares([10, 10], 25), [0.4, 0.4], "five visits are of moves not kept");
        assert_eq!(shares([0, 0], 0), [0.0, 0.0]);
    }
}
