//! Static exchange evaluation (SEE): material after all profitable recaptures on one square. Pins are ignored.

use shakmaty::{Bitboard, Chess, Color, Move, Position, Role, Square};

/// Whether the exchanges that `m` starts win at least `least`. `value` gives piece values.
#[must_use]
pub fn wins(position: &Chess, m: Move, least: i32, value: fn(Role) -> i32) -> bool {
    let board = position.board();
    let target = m.to();
    let promoted = m.promotion().map_or(0, |role| value(role) - value(Role::Pawn));
    // Gain above `least` if there is no recapture.
    let surplus = m.capture().map_or(0, value) + promoted - least;
    if surplus < 0 {
        return false;
    }
    // The opponent's gain from a recapture that is not answered.
    let mut swap = value(m.promotion().unwrap_or(m.role())) - surplus;
    if swap <= 0 {
        return true;
    }
    let mut occupied = board.occupied().with(target);
    if let Some(from) = m.from() {
        occupied.discard(from);
    }
    let (mut side, mut won) = (!position.turn(), true);
    while let Some((from, role)) = least_attacker(position, target, side, occupied) {
        won = !won;
        occupied.discard(from);
        if role == Role::King {
            // The king cannot recapture a defended piece.
            let defended = (board.attacks_to(target, !side, occupied) & occupied).any();
            return won != defended;
        }
        swap = value(role) - swap;
        if swap < i32::from(won) {
            break;
        }
        side = !side;
    }
    won
}

fn least_attacker(
    position: &Chess,
    target: Square,
    side: Color,
    occupied: Bitboard,
) -> Option<(Square, Role)> {
    let board = position.board();
    let attackers = board.attacks_to(target, side, occupied) & occupied;
    Role::ALL
        .into_iter()
        .find_map(|role| (attackers & board.by_role(role)).first().map(|from| (from, role)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::action::Action;
    use chess::game::Game;

    fn value(role: Role) -> i32 {
        match role {
            Role::Pawn => 100,
            Role::Knight | Role::Bishop => 300,
            Role::Rook => 500,
            Role::Queen => 900,
            Role::King => 0,
        }
    }

    /// The highest threshold that `wins` passes.
    fn most(fen: &str, m: &str) -> i32 {
        let game = Game::from_fen(fen, false).unwrap();
        let named = |action: &Action| game.uci(*action) == m;
        let action = game.legal_actions().into_iter().find(named).unwrap();
        let m = action.to_move(game.position()).unwrap();
        let granted = |least: i32| wins(game.position(), m, least, value);
        let most = (-1000..=1000).rev().find(|least| granted(*least)).unwrap();
        assert!((-1000..=most).all(granted), "what is won with more is won with less");
        most
    }

    #[test]
    fn exchanges_are_counted_to_their_end() {
        for (fen, m, won) in [
            // A free pawn, a pawn once defended by a pawn, twice attacked and twice defended.
            ("4k3/8/8/3p4/8/8/3R4/4K3 w - - 0 1", "d2d5", 100),
            ("4k3/8/4p3/3p4/8/8/3R4/4K3 w - - 0 1", "d2d5", -400),
            ("3rk3/8/4p3/3p4/8/2N5/3R4/4K3 w - - 0 1", "c3d5", -200),
            // The rook behind the rook counts.
            ("3rk3/8/8/3r4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 500),
            // A king recaptures only an undefended piece.
            ("8/8/4k3/3p4/8/8/3Q4/4K3 w - - 0 1", "d2d5", -800),
            ("8/8/4k3/3p4/8/5B2/3Q4/4K3 w - - 0 1", "d2d5", 100),
            // A quiet move onto an attacked square, and a promotion that is taken.
            ("4k3/8/4p3/8/8/8/3R4/4K3 w - - 0 1", "d2d5", -500),
            ("3rk3/2P5/8/8/8/8/8/4K3 w - - 0 1", "c7d8q", 400),
            ("r3k3/2P5/8/8/8/8/8/4K3 w - - 0 1", "c7c8q", -100),
        ] {
            assert_eq!(most(fen, m), won, "{fen} {m}");
        }
    }
}
