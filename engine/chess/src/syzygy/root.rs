//! Ranks root moves by the tables under the fifty-move rule, with the game's own counter. In play the search chooses
//! among the moves that preserve the result; analysis searches all moves, and the ranks order its lines.
//!
//! Far from the fifty-move rule, all winning moves rank equal: the shortest proven mate is played; without one, the
//! move of least effort. Near the rule, DTZ decides.

use super::conversion::{self, Effort};
use super::edge::EdgeSearch;
use super::{TableResult, Tables};
use crate::action::Action;
use crate::ending::{self, Ending};
use crate::game::Game;
use shakmaty::Position;
use std::cmp::{Ordering, Reverse};

/// Ranked root moves.
#[derive(Clone, Debug, PartialEq)]
pub struct RootTables {
    /// In the order given; not empty.
    moves: Vec<RankedMove>,
    /// Results take the fifty-move rule into account: see [`RootTables::value`].
    certain: bool,
    /// Number of probes.
    pub hits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct RankedMove {
    action: Action,
    rank: Rank,
    /// For winning moves only.
    effort: Effort,
}

/// Rank of a move, worst first. Plies are those of the fifty-move counter at the next capture or pawn move, with best
/// play of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Lost. Plies are 0 far from the rule: then the search chooses the defence.
    Loss(u32),
    /// Lost, but saved by the fifty-move rule.
    BlessedLoss(u32),
    Draw,
    /// Won, but the fifty-move rule comes first: the opponent may still err.
    CursedWin(Reverse<u32>),
    /// Won, with plies to the next capture or pawn move.
    Win(Reverse<u32>),
    Mate,
}

/// The fifty-move rule, in plies.
const RULE: u32 = 100;
/// Fifty-move counter from which the rule is near.
const NEAR: u32 = RULE / 2;

impl Rank {
    /// Moves of one class are left to the search.
    fn class(self) -> Rank {
        if self.wins() { Rank::Mate } else { self }
    }

    fn wins(self) -> bool {
        matches!(self, Rank::Win(_) | Rank::Mate)
    }

    /// Rank of a quiet piece move. `dtz` is the mover's before it, perhaps one ply short; the last capture or pawn move
    /// was `clock` plies ago. `in_time` is asked where that ply decides, and may not know.
    fn of_quiet(dtz: i32, clock: u32, in_time: impl FnOnce() -> Option<bool>) -> Rank {
        let plies = dtz.unsigned_abs();
        let counter = plies.saturating_add(clock);
        let in_time = match counter.cmp(&RULE) {
            Ordering::Less => Some(true),
            Ordering::Equal => in_time(),
            Ordering::Greater => Some(false),
        };
        match (dtz.signum(), in_time) {
            (1, Some(true)) => Rank::Win(Reverse(plies)),
            (1, Some(false)) => Rank::CursedWin(Reverse(counter.max(RULE + 1))),
            (1, None) => Rank::CursedWin(Reverse(RULE)),
            (-1, Some(true)) if 2 * plies + clock < RULE => Rank::Loss(0),
            (-1, Some(true)) => Rank::Loss(counter),
            (-1, Some(false)) => Rank::BlessedLoss(counter.max(RULE + 1)),
            (-1, None) => Rank::Loss(RULE + 1),
            _ => Rank::Draw,
        }
    }

    /// Rank of a zeroing move, after which the *opponent* has this result.
    fn of_opponents(wdl: shakmaty_syzygy::Wdl) -> Rank {
        match wdl {
            shakmaty_syzygy::Wdl::Win => Rank::Loss(0),
            shakmaty_syzygy::Wdl::CursedWin => Rank::BlessedLoss(0),
            shakmaty_syzygy::Wdl::Draw => Rank::Draw,
            shakmaty_syzygy::Wdl::BlessedLoss => Rank::CursedWin(Reverse(1)),
            shakmaty_syzygy::Wdl::Loss => Rank::Win(Reverse(1)),
        }
    }

    fn value(self) -> Option<TableResult> {
        match self {
            Rank::Mate | Rank::Win(_) => Some(TableResult::Win),
            // Rounding hides a ply, and no search has found it.
            Rank::CursedWin(Reverse(RULE)) => None,
            Rank::Loss(counter) => (counter <= RULE).then_some(TableResult::Loss),
            Rank::CursedWin(_) | Rank::Draw | Rank::BlessedLoss(_) => Some(TableResult::Draw),
        }
    }
}

/// Kind of probe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// DTZ.
    Distance,
    /// WDL, where DTZ tables are missing: as if the counter were zero.
    Result,
}

impl RootTables {
    /// Ranks the moves `allowed`. None if the position is not in the tables, or a probe fails.
    #[must_use]
    pub fn new(tables: &Tables, game: &Game, allowed: &[Action]) -> Option<RootTables> {
        if allowed.is_empty() || !tables.covers(game.position()) {
            return None;
        }
        let mut edge = EdgeSearch::new(tables);
        let mut ranks = |probe| -> Option<Vec<RankedMove>> {
            let ranked = |action: &Action| {
                let rank = rank(tables, game, *action, probe, &mut edge)?;
                Some(RankedMove { action: *action, rank, effort: Effort::default() })
            };
            allowed.iter().map(ranked).collect()
        };
        let (mut moves, probe) = match ranks(Probe::Distance) {
            Some(moves) => (moves, Probe::Distance),
            None => (ranks(Probe::Result)?, Probe::Result),
        };
        rate(&mut moves, tables, game);
        let certain = probe == Probe::Distance || game.position().halfmoves() == 0;
        Some(RootTables { moves, certain, hits: allowed.len() as u64 })
    }

    /// Moves that preserve the result.
    #[must_use]
    pub fn keeping(&self) -> Vec<Action> {
        let best = self.moves.iter().map(|ranked| ranked.rank.class()).max();
        let moves = self.moves.iter().filter(|ranked| Some(ranked.rank.class()) == best);
        moves.map(|ranked| ranked.action).collect()
    }

    /// Moves to play among those, without a proven mate.
    #[must_use]
    pub fn best(&self) -> Vec<Action> {
        let best = self.moves.iter().map(RankedMove::key).min();
        let moves = self.moves.iter().filter(|ranked| Some(ranked.key()) == best);
        moves.map(|ranked| ranked.action).collect()
    }

    /// Result for the side to move; None if it depends on a rounded ply, or if DTZ is missing and the fifty-move rule
    /// may apply.
    #[must_use]
    pub fn value(&self) -> Option<TableResult> {
        self.value_of_rank(self.moves.iter().map(|ranked| ranked.rank).max()?)
    }

    /// Result after `action`.
    #[must_use]
    pub fn value_of(&self, action: Action) -> Option<TableResult> {
        self.value_of_rank(self.rank_of(action)?)
    }

    fn value_of_rank(&self, rank: Rank) -> Option<TableResult> {
        rank.value().filter(|_| self.certain || matches!(rank, Rank::Mate | Rank::Draw))
    }

    /// Whether `action` is mate.
    #[must_use]
    pub fn mates(&self, action: Action) -> bool {
        self.rank_of(action) == Some(Rank::Mate)
    }

    fn rank_of(&self, action: Action) -> Option<Rank> {
        self.find(action).map(|ranked| ranked.rank)
    }

    fn find(&self, action: Action) -> Option<&RankedMove> {
        self.moves.iter().find(|ranked| ranked.action == action)
    }

    /// Sort key of a line by its first move, the best line's is the smallest: by class, winning moves by the shortest
    /// proven mate, then by effort. `mate_plies` is positive where the side to move mates.
    #[must_use]
    pub fn order(&self, first: Option<Action>, mate_plies: Option<i32>) -> impl Ord + use<> {
        let ranked = first.and_then(|action| self.find(action));
        let mate = mate_plies.filter(|plies| *plies > 0);
        let effort = ranked.map(|ranked| ranked.effort);
        let class = ranked.map(|ranked| ranked.rank.class());
        (Reverse(class), mate.unwrap_or(i32::MAX), effort)
    }
}

impl RankedMove {
    /// Sort key: minimum is best.
    fn key(&self) -> (Reverse<Rank>, Effort) {
        (Reverse(self.rank.class()), self.effort)
    }
}

/// Computes the effort of the winning moves.
fn rate(moves: &mut [RankedMove], tables: &Tables, game: &Game) {
    let clock = game.position().halfmoves();
    let distance = |rank| match rank {
        Rank::Mate => Some(1),
        Rank::Win(Reverse(plies)) => Some(plies),
        _ => None,
    };
    let Some(least) = moves.iter().filter_map(|ranked| distance(ranked.rank)).min() else { return };
    // If half of the plies left suffice for the next capture or pawn move, slower ways are safe, too.
    let far = clock < NEAR && 2 * least <= RULE - clock;
    for ranked in moves {
        let Some(plies) = distance(ranked.rank) else { continue };
        ranked.effort = match ranked.rank {
            Rank::Mate => Effort::default(),
            _ if far => effort(tables, game, ranked.action),
            _ => Effort { plies, ..Effort::default() },
        };
    }
}

/// Effort after a winning move that is not mate.
fn effort(tables: &Tables, game: &Game, action: Action) -> Effort {
    let mut after = game.clone();
    // Legal: it has been ranked.
    let _ = after.play(action);
    let position = after.position();
    let key_before = |plies| ending::key_before(after.keys(), plies);
    Effort {
        gives_away: conversion::gives_away(position),
        returns: ending::recurrences(position, key_before).next().is_some(),
        plies: conversion::plies(tables, position, game.position().halfmoves()).unwrap_or(RULE),
    }
}

/// Rank of a legal move. None if a probe fails.
fn rank(
    tables: &Tables,
    game: &Game,
    action: Action,
    probe: Probe,
    edge: &mut EdgeSearch<'_>,
) -> Option<Rank> {
    let clock = game.position().halfmoves();
    let mut after = game.clone();
    after.play(action).ok()?;
    match after.ending() {
        Some(Ending::Checkmate { .. }) => return Some(Rank::Mate),
        Some(_) => return Some(Rank::Draw),
        None => {}
    }
    let position = after.position();
    if probe == Probe::Result || position.halfmoves() == 0 {
        return tables.raw_wdl(position).map(Rank::of_opponents);
    }
    let dtz = -tables.dtz(position)?;
    let left = RULE.saturating_sub(position.halfmoves());
    // At counter zero, the tables include the fifty-move rule.
    let in_time = || if clock == 0 { Some(true) } else { edge.zeroes_within(position, left) };
    let rank = Rank::of_quiet(dtz + dtz.signum(), clock, in_time);
    Some(if rank.wins() && allows_threefold(&after) { Rank::Draw } else { rank })
}

/// The side to move can complete a threefold repetition.
fn allows_threefold(game: &Game) -> bool {
    game.legal_actions().into_iter().any(|reply| {
        let mut after = game.clone();
        after.play(reply).is_ok() && after.ending() == Some(Ending::Threefold)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank by a distance of the mover, which the table may read one ply short: `short` if it does.
    fn quiet(dtz: i32, clock: u32, short: Option<bool>) -> Rank {
        Rank::of_quiet(dtz, clock, || short.map(|short| !short))
    }

    fn exact(dtz: i32, clock: u32) -> Rank {
        quiet(dtz, clock, Some(false))
    }

    #[test]
    fn a_win_counts_if_the_rule_leaves_time_for_it() {
        assert_eq!(
            exact(60, 40).value(),
            Some(TableResult::Win),
            "the capture is made on the last ply"
        );
        assert_eq!(exact(60, 41).value(), Some(TableResult::Draw));
        assert_eq!(quiet(60, 40, Some(true)).value(), Some(TableResult::Draw), "61 plies");
        assert_eq!(quiet(60, 40, None).value(), None, "60 or 61 plies");
        assert_eq!(quiet(60, 39, None).value(), Some(TableResult::Win));
        assert_eq!(exact(102, 0).value(), Some(TableResult::Draw), "a cursed win");
    }

    #[test]
    fn a_loss_counts_if_the_rule_does_not_save_it() {
        assert_eq!(exact(-60, 40).value(), Some(TableResult::Loss));
        assert_eq!(quiet(-60, 40, Some(true)).value(), Some(TableResult::Draw), "61 plies");
        assert_eq!(quiet(-60, 40, None).value(), None, "60 or 61 plies");
        assert_eq!(quiet(-60, 39, None).value(), Some(TableResult::Loss));
        assert_eq!(exact(-60, 41).value(), Some(TableResult::Draw));
        assert_eq!(exact(-102, 0).value(), Some(TableResult::Draw), "a blessed loss");
        assert_eq!((exact(-20, 10), exact(-30, 10)), (Rank::Loss(0), Rank::Loss(0)));
        assert!(exact(-30, 60) > exact(-20, 60), "the rule is near: longer is better");
    }

    #[test]
    fn ranks_go_from_lost_to_mate() {
        let order = [
            exact(-10, 0),
            exact(-30, 60),
            exact(-40, 60),
            quiet(-40, 60, None),
            quiet(-40, 60, Some(true)),
            exact(-50, 60),
            exact(0, 60),
            exact(70, 60),
            exact(50, 60),
            quiet(40, 60, Some(true)),
            quiet(40, 60, None),
            exact(40, 60),
            exact(2, 60),
            Rank::of_opponents(shakmaty_syzygy::Wdl::Loss),
            Rank::Mate,
        ];
        assert!(
            order.is_sorted() && order.iter().collect::<Vec<_>>().windows(2).all(|p| p[0] != p[1])
        );
    }
}
