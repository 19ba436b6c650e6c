//! The effort that a won endgame still takes, so that it makes progress without giving pieces away.
//!
//! The tables count plies to the next capture or pawn move of *either* side: the quickest way there is to give a
//! spare piece away. A position with a spare piece is therefore looked up without it: queen and rook mate no later
//! than the queen alone. Without a spare piece, the next capture or pawn move is the winner's.

use super::Tables;
use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, FromSetup, Position, PositionError, Rank, Role,
    Square,
};
use shakmaty_syzygy::Wdl;

/// The effort after one move, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Effort {
    /// The opponent can capture a piece, not a pawn, for nothing.
    pub gives_away: bool,
    /// The position was on the board before.
    pub returns: bool,
    /// Estimated plies to mate.
    pub plies: u32,
}

/// Plies per step of a pawn. Guess: each second step waits for another move.
const STEP: u32 = 4;
/// Plies of the fifty-move counter per ply that a step counts more, so that waiting ends. Guess.
const PATIENCE: u32 = 4;
/// Plies to mate with the queen of a pawn's promotion. Guess: the mean over all positions is 14, other men help.
const PROMOTED: u32 = 12;
/// The most plies that a queen, a rook, or minor pieces take against the king alone.
const MATES: [u32; 3] = [20, 32, 66];
/// Winner's men beside the king up to which spare ones are looked for: each may double the look-ups. Guess.
const MOST_MEN: usize = 3;

/// Estimated plies to mate from `position`, in which the side to move is lost. None if the tables fail.
pub(super) fn plies(tables: &Tables, position: &Chess, clock: u32) -> Option<u32> {
    let winner = !position.turn();
    let board = position.board();
    let men = board.by_color(winner) & !board.kings();
    let mut least = None;
    let mut spare_piece = false;
    if (2..=MOST_MEN).contains(&men.count()) {
        for square in men {
            let Some(fewer) = without(position, square) else { continue };
            if tables.raw_wdl(&fewer) != Some(Wdl::Loss) {
                continue;
            }
            spare_piece |= board.role_at(square) != Some(Role::Pawn);
            let plies = plies(tables, &fewer, clock)?;
            least = Some(least.map_or(plies, |least: u32| least.min(plies)));
        }
    }
    if !spare_piece {
        let distance = tables.dtz(position)?.ignore_rounding().0.unsigned_abs();
        let plies = distance + beyond(position, winner, clock);
        least = Some(least.map_or(plies, |least| least.min(plies)));
    }
    least
}

/// The same position without a man of the side not to move.
fn without(position: &Chess, square: Square) -> Option<Chess> {
    let mut setup = position.to_setup(EnPassantMode::Legal);
    setup.board.discard_piece_at(square);
    setup.ep_square = None;
    Chess::from_setup(setup, CastlingMode::Standard)
        .or_else(PositionError::ignore_impossible_check)
        .ok()
}

/// Estimated plies from the winner's next capture or pawn move to mate; 0 if mate comes first.
fn beyond(position: &Chess, winner: Color, clock: u32) -> u32 {
    let board = position.board();
    let own = board.by_color(winner);
    let others = u32::try_from((board.by_color(!winner) & !board.kings()).count()).unwrap_or(0);
    let step = STEP + clock / PATIENCE;
    let last = winner.fold_wb(Rank::Eighth, Rank::First);
    let steps = |square: Square| square.rank().distance(last);
    if let Some(steps) = (own & board.pawns()).into_iter().map(steps).min() {
        return step * (steps + others) + PROMOTED;
    }
    if others == 0 {
        return 0;
    }
    let [queen, rook, minor] = MATES;
    let mate = match own {
        _ if (own & board.queens()).any() => queen,
        _ if (own & board.rooks()).any() => rook,
        _ => minor,
    };
    step * others + mate
}

/// The side to move can capture a piece, not a pawn, and the other side cannot take back as much.
pub(super) fn gives_away(position: &Chess) -> bool {
    let value = |role: Role| [0, 1, 3, 3, 5, 9, 9][role as usize];
    position.capture_moves().iter().any(|m| {
        let Some(victim) = m.capture().filter(|victim| *victim != Role::Pawn) else {
            return false;
        };
        let mut after = position.clone();
        after.play_unchecked(*m);
        let taken_back = after.legal_moves().iter().any(|back| back.to() == m.to());
        !taken_back || value(m.role()) < value(victim)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    fn plies_of(fen: &str) -> u32 {
        let game = Game::from_fen(fen, false).unwrap();
        plies(&Tables::with_bundled(""), game.position(), 0).unwrap()
    }

    #[test]
    fn a_spare_piece_stands_by() {
        let queen = plies_of("8/8/8/8/3k4/8/8/KQ6 b - - 0 1");
        assert!(plies_of("8/8/8/8/3k4/8/8/KQR5 b - - 0 1") <= queen);
        assert!(queen <= MATES[0]);
        // The table's own distance is to the loss of a piece.
        let rooks = plies_of("8/8/8/3k4/8/8/8/KRR5 b - - 0 1");
        assert!((10..=MATES[1]).contains(&rooks), "{rooks}");
        // Each step brings the pawn nearer, and promotion is better still.
        let pawns = ["7k/8/8/8/8/8/4PK2/8", "7k/8/8/8/4P3/8/5K2/8", "7k/8/4P3/8/8/8/5K2/8"];
        let steps = pawns.map(|board| plies_of(&format!("{board} b - - 0 1")));
        assert!(steps.is_sorted_by(|a, b| a > b), "{steps:?}");
    }

    #[test]
    fn what_is_taken_back_is_not_given_away() {
        let gives = |fen: &str| gives_away(Game::from_fen(fen, false).unwrap().position());
        assert!(gives("8/8/7R/1k6/1Q6/8/8/4K3 b - - 0 1"));
        assert!(!gives("8/8/8/1k6/1Q6/2K5/8/7R b - - 0 1"), "the king guards it");
        assert!(!gives("8/8/8/1k6/1P6/8/8/4K2R b - - 0 1"), "a pawn");
        assert!(!gives("8/8/8/1k1r4/8/8/3R4/3RK3 b - - 0 1"), "rook for rook");
        assert!(gives("8/8/8/1k1r4/8/8/3Q4/3RK3 b - - 0 1"), "queen for rook");
    }
}
