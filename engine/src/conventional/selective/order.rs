//! In which order moves are tried.

use super::attack::{Checks, Threats};
use super::history::{History, Past};
use super::scale::{opening_value, wins};
use crate::chess::action::Action;
use arrayvec::ArrayVec;
use shakmaty::{Chess, Move, MoveList, Position, Role};

/// No position has more moves.
const MOVES: usize = 256;
/// Captures and promotions to queens come with this and more; those that lose something with less than its opposite.
const TAKES: i32 = 4_000_000;
/// The two latest quiet moves that refuted another at this ply, and what refuted the same move before.
const REFUTES: [i32; 3] = [2_000_000, 1_900_000, 1_800_000];
/// Promotions to other pieces than queens.
const LESSER: i32 = -1_000_000;
/// A quiet move that gives check.
const CHECK: i32 = 16_384;

/// Moves that are sought out one by one before the others are sorted: mostly few are asked for.
const SOUGHT: usize = 3;

/// Moves by rank, the highest first.
pub(super) struct Ordered<'a> {
    moves: &'a MoveList,
    /// A rank, and below it the index, the lower the better. Sorted up to `next`, or all from [`SOUGHT`] on.
    keys: ArrayVec<i64, MOVES>,
    next: usize,
}

/// What the order goes by.
pub(super) struct Hints<'a> {
    /// The table's move.
    pub known: Option<Action>,
    /// See [`REFUTES`].
    pub refutations: [Option<Action>; 3],
    pub history: &'a History,
    pub past: &'a Past,
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

impl<'a> Ordered<'a> {
    // Inlined, it is made where it stays: it is large.
    #[inline(always)]
    pub fn new(
        position: &Chess,
        moves: &'a MoveList,
        purpose: &Purpose<'_>,
        hints: &Hints<'_>,
    ) -> Ordered<'a> {
        let turn = position.turn();
        let Hints { history, past, .. } = hints;
        let mut keys = ArrayVec::new();
        for (at, m) in moves.iter().enumerate() {
            let action = Action::new(*m);
            let taken = m.capture().map_or(0, opening_value);
            let takes = m.is_capture() || m.promotion() == Some(Role::Queen);
            let rank = match purpose {
                _ if hints.known == Some(action) => i32::MAX,
                Purpose::Evade if m.is_capture() => TAKES + taken - m.role() as i32,
                Purpose::Evade => history.of_quiet(turn, *m) + history.of_answer(turn, *m, past)[0],
                _ if m.promotion().is_some_and(|role| role != Role::Queen) => LESSER,
                _ if takes => {
                    let rank = 6 * taken + history.of_capture(turn, *m);
                    let loses = matches!(purpose, Purpose::All(..))
                        && !wins(position, *m, -69 * rank / 1024);
                    if loses { rank - TAKES } else { rank + TAKES }
                }
                Purpose::All(checks, threats) => {
                    match hints.refutations.iter().position(|known| *known == Some(action)) {
                        Some(refutation) => REFUTES[refutation],
                        None => {
                            let [one, two, four, six] = history.of_answer(turn, *m, past);
                            2 * (history.of_quiet(turn, *m) + one)
                                + two
                                + four
                                + six
                                + threats.escape(*m)
                                + if checks.directly(*m) { CHECK } else { 0 }
                        }
                    }
                }
                Purpose::Take => 0,
            };
            keys.push(i64::from(rank) << 8 | (MOVES - 1 - at) as i64);
        }
        Ordered { moves, keys, next: 0 }
    }
}

/// A move that is tried.
#[derive(Clone, Copy)]
pub(super) struct Ranked {
    pub m: Move,
    /// A quiet move of which nothing is known but its history.
    pub ordinary: bool,
}

impl Iterator for Ordered<'_> {
    type Item = Ranked;

    fn next(&mut self) -> Option<Ranked> {
        let left = self.keys.get_mut(self.next..)?;
        if self.next < SOUGHT {
            let (mut best, mut most) = (0, i64::MIN);
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
        self.next += 1;
        let m = *self.moves.get(MOVES - 1 - (key & 0xFF) as usize)?;
        let rank = (key >> 8) as i32;
        let ordinary = rank < REFUTES[2] && rank > -TAKES / 2;
        Some(Ranked { m, ordinary })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    #[test]
    fn moves_come_by_rank_and_each_once() {
        // A pawn takes a pawn, a queen would lose itself for that pawn, there is a killer and an answer to the last move.
        let game = Game::from_fen("4k3/8/2p5/3p4/3QPP2/8/8/4K3 w - - 0 1", false).unwrap();
        let (position, legal) = (game.position(), game.legal_actions());
        let named = |name: &str| legal.iter().find(|action| game.uci(**action) == name).copied();
        let hints = Hints {
            known: named("e1f1"),
            refutations: [named("e1d2"), None, named("d4a1")],
            history: &History::new(),
            past: &[None; 4],
        };
        let moves = position.legal_moves();
        let (checks, threats) = (Checks::new(position), Threats::new(position));
        let all = Purpose::All(&checks, &threats);
        let ordered = Ordered::new(position, &moves, &all, &hints);
        let order: Vec<(String, bool)> =
            ordered.map(|ranked| (game.uci(Action::new(ranked.m)), ranked.ordinary)).collect();
        let first: Vec<(&str, bool)> =
            order.iter().map(|(name, ordinary)| (name.as_str(), *ordinary)).take(4).collect();
        let special = ["e1f1", "e4d5", "e1d2", "d4a1"].map(|name| (name, false));
        assert_eq!(first, special, "{order:?}");
        assert_eq!(*order.last().unwrap(), ("d4d5".to_owned(), false), "the queen for a pawn");
        assert!(order[4..order.len() - 1].iter().all(|(_, ordinary)| *ordinary), "{order:?}");
        let place = |name: &str| order.iter().position(|(other, _)| other == name).unwrap();
        assert!(place("d4g7") > place("d4e3"), "by index where nothing is known");
        assert!(place("d4a4") < place("e1e2"), "a check first");
        let mut every: Vec<String> = legal.iter().map(|action| game.uci(*action)).collect();
        let mut each: Vec<String> = order.into_iter().map(|(name, _)| name).collect();
        every.sort();
        each.sort();
        assert_eq!(each, every);
    }

    #[test]
    fn out_of_check_captures_come_first() {
        let game = Game::from_fen("4k3/8/8/8/1b6/2N5/3P4/q3K1R1 w - - 0 1", false).unwrap();
        let (position, history) = (game.position(), History::new());
        let hints =
            Hints { known: None, refutations: [None; 3], history: &history, past: &[None; 4] };
        let moves = position.legal_moves();
        let ordered = Ordered::new(position, &moves, &Purpose::Evade, &hints);
        let takes: Vec<bool> = ordered.map(|ranked| ranked.m.is_capture()).collect();
        assert!(takes.is_sorted_by(|a, b| a >= b), "{takes:?}");
    }
}
