//! Attack relations between squares, for which a block may add an attention bias. Piece geometry on the board
//! only, without pins, checks and side to move, so any board has relations, imagined ones too.

use super::board::Features;
use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

/// Kinds of attack: by each of the twelve piece classes (`class - 1`), then x-rays by our sliders and by
/// theirs.
pub const ATTACKS: usize = 14;
/// Kinds of relation: each attack from the attacker's square and from the attacked one.
pub const RELATIONS: usize = 2 * ATTACKS;

const OUR_X_RAY: u8 = 12;
const THEIR_X_RAY: u8 = 13;

/// One piece's attack on one square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attack {
    /// Token of the attacker.
    pub from: u8,
    /// Token of the attacked square, occupied or not.
    pub to: u8,
    /// Below [`ATTACKS`].
    pub kind: u8,
}

impl Attack {
    /// The two entries of `[64, 64]` (query, key) for this attack, each with its relation.
    #[must_use]
    pub fn entries(self) -> [(usize, usize); 2] {
        let (from, to, kind) =
            (usize::from(self.from), usize::from(self.to), usize::from(self.kind));
        [(from * 64 + to, kind), (to * 64 + from, ATTACKS + kind)]
    }
}

impl Features {
    /// Calls `each` for every attack on the board, a pair of squares at most once per direction. En passant is
    /// not included, nor the effect of a marked action.
    pub fn attacks(&self, mut each: impl FnMut(Attack)) {
        let mut occupied = Bitboard::EMPTY;
        for (token, &class) in self.pieces.iter().enumerate() {
            if class > 0 {
                occupied |= Bitboard::from_square(Square::new(token as u32));
            }
        }
        for (token, &class) in self.pieces.iter().enumerate() {
            let ours = class <= 6;
            let Ok(role) = Role::try_from(if ours { class } else { class - 6 }) else { continue };
            // The mover's pieces go up the board in this frame, whatever their colour.
            let piece = Piece { color: Color::from_white(ours), role };
            let from = Square::new(token as u32);
            let direct = attacks::attacks(from, piece, occupied);
            let mut tell = |squares: Bitboard, kind: u8| {
                for to in squares {
                    each(Attack { from: token as u8, to: u32::from(to) as u8, kind });
                }
            };
            tell(direct, class - 1);
            if matches!(role, Role::Bishop | Role::Rook | Role::Queen) {
                let behind = attacks::attacks(from, piece, occupied & !direct) & !direct;
                tell(behind, if ours { OUR_X_RAY } else { THEIR_X_RAY });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{position, random_game};
    use shakmaty::Position;

    fn all(features: &Features) -> Vec<Attack> {
        let mut all = Vec::new();
        features.attacks(|attack| all.push(attack));
        all
    }

    #[test]
    fn sliders_see_through_one_man_and_no_further() {
        let features = Features::of(&position("4k3/8/8/r2p3p/8/8/8/1K6 b - - 0 1"));
        // From Black a5 is token 24, d5 27, h5 31: ours.
        let rook: Vec<_> = all(&features).into_iter().filter(|a| a.from == 24).collect();
        let along = |kind: u8| -> Vec<u8> {
            let mut to: Vec<u8> = rook.iter().filter(|a| a.kind == kind).map(|a| a.to).collect();
            to.retain(|to| to / 8 == 3);
            to.sort_unstable();
            to
        };
        assert_eq!(along(3), [25, 26, 27]);
        assert_eq!(along(OUR_X_RAY), [28, 29, 30, 31]);
        // a1, at the end of an empty file, is token 56; the white king stands beside it.
        assert!(rook.contains(&Attack { from: 24, to: 56, kind: 3 }));
        let king = all(&features).into_iter().filter(|a| a.from == 57);
        assert!(king.clone().all(|a| a.kind == 11) && king.count() == 5);
    }

    #[test]
    fn pawns_attack_forwards_of_their_side() {
        let features = Features::of(&position("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1"));
        let pawns: Vec<_> =
            all(&features).into_iter().filter(|a| a.kind % 6 == 0 && a.kind < 12).collect();
        assert_eq!(
            pawns,
            [
                Attack { from: 28, to: 35, kind: 0 },
                Attack { from: 28, to: 37, kind: 0 },
                Attack { from: 35, to: 26, kind: 6 },
                Attack { from: 35, to: 28, kind: 6 },
            ]
        );
    }

    /// Compared with the rules' attackers over games; no pair twice.
    #[test]
    fn direct_attacks_are_those_of_the_rules() {
        for seed in 0..20 {
            for state in &random_game(seed, 60).0 {
                let turn: u32 = if state.turn().is_black() { 56 } else { 0 };
                let board = state.board();
                let mut counted = [[0; 64]; 64];
                all(&Features::of(state)).iter().for_each(|a| {
                    counted[usize::from(a.from)][usize::from(a.to)] +=
                        1 + 10 * i32::from(a.kind >= 12);
                });
                for from in Square::ALL {
                    let attacked = board.attacks_from(from);
                    for to in Square::ALL {
                        let found = counted[(u32::from(from) ^ turn) as usize]
                            [(u32::from(to) ^ turn) as usize];
                        assert!(found == 0 || found == 1 || found == 11, "{from}{to}");
                        assert_eq!(found == 1, attacked.contains(to), "seed {seed} {from}{to}");
                    }
                }
            }
        }
    }
}
