//! In which order moves are tried.

use super::history::{History, Past};
use crate::chess::action::Action;
use crate::conventional::evaluation::value;
use crate::conventional::exchange;
use shakmaty::{Chess, Move, MoveList, Position, Role};

/// No position has more moves.
const MOVES: usize = 256;
/// Captures and promotions that lose nothing come with this and more, those that lose something with less than its
/// opposite.
const TAKES: i32 = 2_000_000;
/// Of the two latest quiet moves that refuted another at this ply.
const KILLERS: [i32; 2] = [1_000_000, 900_000];

/// Moves that are sought out one by one before the others are sorted: mostly few are asked for.
const SOUGHT: usize = 3;

/// Moves by rank, the highest first.
pub(super) struct Ordered<'a> {
    moves: &'a MoveList,
    /// A rank, and below it the index, the lower the better. Sorted up to `next`, or all from [`SOUGHT`] on.
    keys: [i64; MOVES],
    next: usize,
}

/// What the order goes by.
pub(super) struct Hints<'a> {
    /// The table's move.
    pub known: Option<Action>,
    /// See [`KILLERS`].
    pub killers: [Option<Action>; 2],
    pub history: &'a History,
    pub past: Past,
}

impl<'a> Ordered<'a> {
    // Inlined, it is made where it stays: it is large.
    #[inline(always)]
    pub fn new(position: &Chess, moves: &'a MoveList, hints: &Hints<'_>) -> Ordered<'a> {
        let turn = position.turn();
        let mut keys = [0; MOVES];
        for ((at, m), key) in moves.iter().enumerate().zip(&mut keys) {
            let action = Action::new(*m);
            let rank = if hints.known == Some(action) {
                i32::MAX
            } else if m.is_capture() || m.is_promotion() {
                let promoted = match m.promotion() {
                    None => 0,
                    Some(Role::Queen) => value(Role::Queen) - value(Role::Pawn),
                    Some(_) => -2 * value(Role::Queen),
                };
                let taken = m.capture().map_or(0, value);
                let likely = hints.history.of_capture(turn, *m) / 4;
                let rank = 16 * (taken + promoted) - value(m.role()) / 16 + likely;
                let wins = taken >= value(m.role()) || exchange::wins(position, *m, 0);
                if wins && promoted >= 0 { TAKES + rank } else { rank - TAKES }
            } else if let Some(killer) = hints.killers.iter().position(|k| *k == Some(action)) {
                KILLERS[killer]
            } else {
                hints.history.of_quiet(turn, *m, hints.past)
            };
            *key = i64::from(rank) << 8 | (MOVES - 1 - at) as i64;
        }
        Ordered { moves, keys, next: 0 }
    }
}

/// A move that is tried.
#[derive(Clone, Copy)]
pub(super) struct Ranked {
    pub m: Move,
    /// A capture or promotion that loses something.
    pub loses: bool,
    /// What a quiet move is known for, if that is what it has its rank by.
    pub history: Option<i32>,
}

impl Iterator for Ordered<'_> {
    type Item = Ranked;

    fn next(&mut self) -> Option<Ranked> {
        let left = self.keys.get_mut(self.next..self.moves.len())?;
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
        let history = (rank.abs() < KILLERS[1] / 2).then_some(rank);
        Some(Ranked { m, loses: rank < -TAKES / 2, history })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    #[test]
    fn moves_come_by_rank_and_each_once() {
        // A pawn takes a pawn, a queen would lose itself for that pawn, and there is a killer.
        let game = Game::from_fen("4k3/8/2p5/3p4/3QPP2/8/8/4K3 w - - 0 1", false).unwrap();
        let legal = game.legal_actions();
        let named = |name: &str| legal.iter().find(|action| game.uci(**action) == name).copied();
        let hints = Hints {
            known: named("e1f1"),
            killers: [named("e1d2"), None],
            history: &History::new(),
            past: [None; 2],
        };
        let moves = game.position().legal_moves();
        let ordered = Ordered::new(game.position(), &moves, &hints);
        let order: Vec<(String, bool)> =
            ordered.map(|ranked| (game.uci(Action::new(ranked.m)), ranked.loses)).collect();
        let first: Vec<&str> = order.iter().map(|(name, _)| name.as_str()).take(3).collect();
        assert_eq!(first, ["e1f1", "e4d5", "e1d2"], "{order:?}");
        assert_eq!(*order.last().unwrap(), ("d4d5".to_owned(), true), "the queen for a pawn");
        let mut all: Vec<String> = legal.iter().map(|action| game.uci(*action)).collect();
        let mut each: Vec<String> = order.into_iter().map(|(name, _)| name).collect();
        all.sort();
        each.sort();
        assert_eq!(each, all);
    }
}
