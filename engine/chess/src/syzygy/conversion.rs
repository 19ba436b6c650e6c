//! Effort to convert a won endgame, so that it makes progress without sacrificing material.
//!
//! DTZ counts plies to the next capture or pawn move of *either* side; the fastest way there may be to sacrifice a
//! piece that is not needed. A position with a spare piece is therefore probed without it: queen and rook mate no
//! later than the queen alone. Without a spare piece, the next capture or pawn move is the winner's.

use super::Tables;
use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, FromSetup, Position, PositionError, Rank, Role,
    Square,
};
use shakmaty_syzygy::Wdl;

/// Effort after one move; less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Effort {
    /// The opponent can win a piece, not a pawn, without compensation.
    pub gives_away: bool,
    /// The position repeats.
    pub returns: bool,
    /// Estimated plies to mate.
    pub plies: u32,
}

/// Plies per pawn step. Guess: every second step waits for another move.
const PLIES_PER_STEP: u32 = 4;
/// Plies of the fifty-move counter that add one ply per step, so that waiting ends. Guess.
const CLOCK_PER_PLY: u32 = 4;
/// Plies to mate with the queen of a promoted pawn. Guess: the mean over all positions is 14, other pieces help.
const PROMOTION_MATE_PLIES: u32 = 12;
/// Maximum plies to mate with a queen, a rook, or minor pieces against the bare king.
const MAX_MATE_PLIES: [u32; 3] = [20, 32, 66];
/// Winner's pieces beside the king up to which spare ones are probed: each may double the probes. Guess.
const MAX_SPARE_SEARCH: usize = 3;

/// Estimated plies to mate from `position`, where the side to move is lost. None if a probe fails.
pub(super) fn plies(tables: &Tables, position: &Chess, clock: u32) -> Option<u32> {
    let winner = !position.turn();
    let board = position.board();
    let men = board.by_color(winner) & !board.kings();
    let mut least = None;
    let mut spare_piece = false;
    if (2..=MAX_SPARE_SEARCH).contains(&men.count()) {
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
        let distance = tables.dtz(position)?.unsigned_abs();
        let plies = distance + after_zeroing(position, winner, clock);
        least = Some(least.map_or(plies, |least| least.min(plies)));
    }
    least
}

/// The position without one piece of the side not to move.
fn without(position: &Chess, square: Square) -> Option<Chess> {
    let mut setup = position.to_setup(EnPassantMode::Legal);
    setup.board.discard_piece_at(square);
    setup.ep_square = None;
    Chess::from_setup(setup, CastlingMode::Standard)
        .or_else(PositionError::ignore_impossible_check)
        .ok()
}

/// Estimated plies from the winner's next capture or pawn move to mate; 0 if mate comes first.
fn after_zeroing(position: &Chess, winner: Color, clock: u32) -> u32 {
    let board = position.board();
    let own = board.by_color(winner);
    let others = u32::try_from((board.by_color(!winner) & !board.kings()).count()).unwrap_or(0);
    let step = PLIES_PER_STEP + clock / CLOCK_PER_PLY;
    let last = winner.fold_wb(Rank::Eighth, Rank::First);
    let steps = |square: Square| square.rank().distance(last);
    if let Some(steps) = (own & board.pawns()).into_iter().map(steps).min() {
        return step * (steps + others) + PROMOTION_MATE_PLIES;
    }
    if others == 0 {
        return 0;
    }
    let [queen, rook, minor] = MAX_MATE_PLIES;
    let mate = match own {
        _ if (own & board.queens()).any() => queen,
        _ if (own & board.rooks()).any() => rook,
        _ => minor,
    };
    step * others + mate
}

/// The side to move can win a piece, not a pawn: no recapture of equal value.
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
    use crate::game::Game;

    fn plies_of(fen: &str) -> u32 {
        let game = Game::from_fen(fen, false).unwrap();
        plies(&Tables::with_bundled(""), game.position(), 0).unwrap()
    }

    #[test]
    fn spare_pieces_are_kept() {
        let queen = plies_of("8/8/8/8/3k4/8/8/KQ6 b - - 0 1");
        assert!(plies_of("8/8/8/8/3k4/8/8/KQR5 b - - 0 1") <= queen);
        assert!(queen <= MAX_MATE_PLIES[0]);
        // DTZ itself is the distance to the loss of a piece.
        let rooks = plies_of("8/8/8/3k4/8/8/8/KRR5 b - - 0 1");
        assert!((10..=MAX_MATE_PLIES[1]).contains(&rooks), "{rooks}");
        // Each pawn step is closer, and promotion is better still.
        let pawns = ["7k/8/8/8/8/8/4PK2/8", "7k/8/8/8/4P3/8/5K2/8", "7k/8/4P3/8/8/8/5K2/8"];
        let steps = pawns.map(|board| plies_of(&format!("{board} b - - 0 1")));
        assert!(steps.is_sorted_by(|a, b| a > b), "{steps:?}");
    }

    #[test]
    fn a_recaptured_piece_is_not_given_away() {
        let gives = |fen: &str| gives_away(Game::from_fen(fen, false).unwrap().position());
        assert!(gives("8/8/7R/1k6/1Q6/8/8/4K3 b - - 0 1"));
        assert!(!gives("8/8/8/1k6/1Q6/2K5/8/7R b - - 0 1"), "the king guards it");
        assert!(!gives("8/8/8/1k6/1P6/8/8/4K2R b - - 0 1"), "a pawn");
        assert!(!gives("8/8/8/1k1r4/8/8/3R4/3RK3 b - - 0 1"), "rook for rook");
        assert!(gives("8/8/8/1k1r4/8/8/3Q4/3RK3 b - - 0 1"), "queen for rook");
    }
}
