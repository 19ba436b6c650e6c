//! In which order moves are tried.

use super::attack::{Checks, Threats};
use super::history::{History, Setting};
use super::margins::CHEAP_CHECK;
use super::moves::{add_quiet, is_loud};
use super::scale::{piece_value, wins};
use crate::chess::action::Action;
use arrayvec::ArrayVec;
use shakmaty::{Chess, Move, MoveList, Position};

/// No position has more moves.
const MOVES: usize = 256;
/// The move to begin with.
const HINTED: i32 = 5_000_000;
/// Captures out of check come with this and more.
const TAKES: i32 = 4_000_000;
/// A quiet move that gives check and loses little.
const CHECK: i32 = 16_384;
/// Quiet moves with no more come after captures that lose something.
const POOR: i32 = -14_000;

/// Moves that are sought out one by one before the others are sorted: mostly few are asked for.
const SOUGHT: usize = 3;

/// Some moves by rank.
struct Ranking {
    /// A rank, and below it the index, the lower the better. Sorted up to `next`, or all from [`SOUGHT`] on.
    keys: ArrayVec<i32, MOVES>,
    next: usize,
}

impl Ranking {
    fn new() -> Ranking {
        Ranking { keys: ArrayVec::new(), next: 0 }
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.next = 0;
    }

    /// A move by its index; ranks stay below 2^23.
    fn push(&mut self, rank: i32, at: usize) {
        self.keys.push(rank << 8 | (MOVES - 1 - at) as i32);
    }

    /// The highest rank left, if it is above `bar`, and its move's index.
    fn take(&mut self, bar: i32) -> Option<(i32, usize)> {
        let left = self.keys.get_mut(self.next..)?;
        if self.next < SOUGHT {
            let (mut best, mut most) = (0, i32::MIN);
            for (at, key) in left.iter().enumerate() {
                if *key > most {
                    (best, most) = (at, *key);
                }
            }
            left.get(best)?;
            left.swap(0, best);
        } else if self.next == SOUGHT {
            left.sort_unstable_by(|a, b| b.cmp(a));
        }
        let key = *left.first()?;
        let rank = key >> 8;
        if rank <= bar {
            return None;
        }
        self.next += 1;
        Some((rank, MOVES - 1 - (key & 0xFF) as usize))
    }
}

/// What moves are ordered for.
pub(super) enum Purpose<'a> {
    /// All moves are searched.
    All(&'a Checks, &'a Threats),
    /// All moves out of check.
    Evade,
    /// Captures alone.
    Take,
}

/// What the order goes by, beside the history.
#[derive(Clone, Copy)]
pub(super) struct Hints {
    /// To be tried first, unless all moves are searched.
    pub first: Option<Action>,
    pub setting: Setting,
}

/// Which moves come next.
#[derive(Clone, Copy)]
enum Stage {
    /// Captures and promotions to queens that lose nothing.
    Loud,
    /// All others, until they are [`POOR`].
    Quiet,
    /// Captures that lose something.
    Losing,
    /// What is left.
    Poor,
}

/// Room for what [`Ordered`] finds out: too much to be moved about.
pub(super) struct Rankings {
    /// Of the moves whose turn it is.
    now: Ranking,
    losing: Ranking,
}

impl Rankings {
    #[inline(always)]
    pub fn new() -> Rankings {
        Rankings { now: Ranking::new(), losing: Ranking::new() }
    }
}

/// Moves by rank, the highest first. They are ranked when their turn comes: mostly one of the first is enough.
pub(super) struct Ordered<'a> {
    position: &'a Chess,
    /// For [`Purpose::All`] at first those that [`is_loud`] holds of.
    moves: &'a mut MoveList,
    purpose: &'a Purpose<'a>,
    hints: Hints,
    stage: Stage,
    rankings: &'a mut Rankings,
}

impl<'a> Ordered<'a> {
    /// Of `moves`, legal ones: all, or for [`Purpose::All`] those that [`is_loud`] holds of, which the others are added to when their turn
    /// comes. `rankings` are new.
    pub fn new(
        position: &'a Chess,
        moves: &'a mut MoveList,
        purpose: &'a Purpose<'a>,
        hints: Hints,
        history: &History,
        rankings: &'a mut Rankings,
    ) -> Ordered<'a> {
        let mut ordered = Ordered { position, moves, purpose, hints, stage: Stage::Loud, rankings };
        ordered.rank_first(history);
        ordered
    }

    /// Ranks what it begins with.
    fn rank_first(&mut self, history: &History) {
        let turn = self.position.turn();
        let answers = history.answers(&self.hints.setting.past);
        for (at, m) in self.moves.iter().enumerate() {
            let taken = m.capture().map_or(0, piece_value);
            let rank = match self.purpose {
                Purpose::Evade | Purpose::Take if self.hints.first == Some(Action::new(*m)) => {
                    HINTED
                }
                Purpose::Evade if is_loud(*m) => TAKES + taken,
                Purpose::Evade => history.of_quiet(turn, *m) + answers.of_last(turn, *m)[0],
                Purpose::All(..) | Purpose::Take => 7 * taken + history.of_capture(turn, *m),
            };
            self.rankings.now.push(rank, at);
        }
    }

    fn rank_quiet(&mut self, checks: &Checks, threats: &Threats, history: &History) {
        let turn = self.position.turn();
        let Setting { past, ply, pawns, .. } = &self.hints.setting;
        let answers = history.answers(past);
        self.rankings.now.clear();
        for (at, m) in self.moves.iter().enumerate() {
            if is_loud(*m) {
                continue;
            }
            let checks = checks.directly(*m) && wins(self.position, *m, CHEAP_CHECK);
            let rank = 2 * (history.of_quiet(turn, *m) + history.of_shaped(turn, *m, *pawns))
                + answers.sum(turn, *m)
                + if checks { CHECK } else { 0 }
                + threats.escape(*m)
                + 8 * history.of_early(*m, *ply) / (1 + *ply as i32);
            self.rankings.now.push(rank, at);
        }
    }

    /// The next move; `history` may have changed meanwhile. After `enough` no quiet move follows.
    pub fn next(&mut self, history: &History, enough: bool) -> Option<Move> {
        loop {
            match (self.stage, self.purpose) {
                (Stage::Loud, Purpose::All(checks, threats)) => {
                    match self.rankings.now.take(i32::MIN) {
                        Some((rank, at)) => {
                            let m = self.moves[at];
                            if wins(self.position, m, -rank / 18) {
                                return Some(m);
                            }
                            self.rankings.losing.push(rank, at);
                        }
                        None => {
                            if !enough {
                                add_quiet(self.position, self.moves);
                                self.rank_quiet(checks, threats, history);
                            }
                            self.stage = Stage::Quiet;
                        }
                    }
                }
                (Stage::Loud, _) => {
                    let (_, at) = self.rankings.now.take(i32::MIN)?;
                    return Some(self.moves[at]);
                }
                (Stage::Quiet, _) => match self.rankings.now.take(POOR).filter(|_| !enough) {
                    Some((_, at)) => return Some(self.moves[at]),
                    None => self.stage = Stage::Losing,
                },
                (Stage::Losing, _) => match self.rankings.losing.take(i32::MIN) {
                    Some((_, at)) => return Some(self.moves[at]),
                    None => self.stage = Stage::Poor,
                },
                (Stage::Poor, _) => {
                    let (_, at) = self.rankings.now.take(i32::MIN).filter(|_| !enough)?;
                    return Some(self.moves[at]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::NO_PAST;
    use super::super::moves::add_loud;
    use super::*;
    use crate::chess::game::Game;

    /// Far from the root, after no move.
    fn setting(position: &Chess) -> Setting {
        let (turn, check) = (position.turn(), position.is_check());
        Setting { turn, past: NO_PAST, check, ply: 9, pawns: 0 }
    }

    /// All of them, where after so many it is enough.
    fn ordered(
        position: &Chess,
        moves: &mut MoveList,
        purpose: &Purpose<'_>,
        hints: &Hints,
        enough: usize,
    ) -> Vec<Move> {
        let history = History::new();
        let mut rankings = Rankings::new();
        let mut ordered = Ordered::new(position, moves, purpose, *hints, &history, &mut rankings);
        let mut found = Vec::new();
        while let Some(m) = ordered.next(&history, found.len() >= enough) {
            found.push(m);
        }
        found
    }

    #[test]
    fn moves_come_by_rank_and_each_once() {
        // A pawn takes a pawn; a queen would lose itself for that pawn, or go where pawns attack it.
        let game = Game::from_fen("4k3/8/2p5/3p4/3QPP2/8/8/4K3 w - - 0 1", false).unwrap();
        let (position, legal) = (game.position(), game.legal_actions());
        let hints = Hints { first: None, setting: setting(position) };
        let mut moves = MoveList::new();
        add_loud(position, &mut moves);
        let (checks, threats) = (Checks::new(position), Threats::new(position));
        let all = Purpose::All(&checks, &threats);
        let names = |moves: Vec<Move>| -> Vec<String> {
            moves.into_iter().map(|m| game.uci(Action::new(m))).collect()
        };
        let order = names(ordered(position, &mut moves, &all, &hints, usize::MAX));
        assert_eq!(order[0], "e4d5", "{order:?}");
        let place = |name: &str| order.iter().position(|other| other == name).unwrap();
        assert!(place("d4g7") > place("d4e3"), "by index where nothing is known");
        assert!(place("d4a4") < place("e1e2"), "a check that loses nothing first");
        assert!(place("d4d5") < place("d4c4"), "a queen lost for a pawn, and for nothing");
        let mut every: Vec<String> = legal.iter().map(|action| game.uci(*action)).collect();
        let mut each = order.clone();
        every.sort();
        each.sort();
        assert_eq!(each, every);
        for (quiet, known) in [(0, vec![]), (2, order[1..3].to_vec())] {
            let mut moves = MoveList::new();
            add_loud(position, &mut moves);
            let some = names(ordered(position, &mut moves, &all, &hints, 1 + quiet));
            let expected = [&order[..1], &known[..], &["d4d5".to_owned()]].concat();
            assert_eq!(some, expected, "quiet moves are enough after {quiet}");
        }
    }

    #[test]
    fn out_of_check_captures_come_first() {
        let game = Game::from_fen("4k3/8/8/8/1b6/2N5/3P4/q3K1R1 w - - 0 1", false).unwrap();
        let mut moves = game.position().legal_moves();
        for first in [None, Some(Action::new(*moves.last().unwrap()))] {
            let hints = Hints { first, setting: setting(game.position()) };
            let order = ordered(game.position(), &mut moves, &Purpose::Evade, &hints, usize::MAX);
            let rest = &order[usize::from(first.is_some())..];
            assert!(first.is_none_or(|first| first == Action::new(order[0])));
            assert!(rest.is_sorted_by(|a, b| a.is_capture() >= b.is_capture()));
            assert_eq!(order.len(), moves.len());
        }
    }
}
