//! Unlabelled examples: boards of random pieces, unlike any game (paper 000's "random out-of-distribution
//! boards"), and other positions of which only the rules are known. They show whether the network has learnt
//! how pieces move, or only what games look like.

use super::build::{Label, Values, of_action, of_state};
use super::example::{Example, Source, Terminal};
use super::filter::{KeySet, position_key};
use nn::encode::canonical_moves;
use nn::encode::terminal;
use nn::rng::Rng;
use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, FromSetup, Move, Piece, Position, PositionError,
    Role, Setup, Square,
};

/// Most pieces beside the king per side.
const PIECES: usize = 15;

/// `count` distinct positions, deterministic for a seed on every machine. Each side has a king and 0 to 15
/// other pieces of any kind, within what promotions allow; the side that does not move is not in check, and the
/// game is not over. There are no castling rights and no en passant. Checks that no move could have given do
/// occur.
#[must_use]
pub fn random_boards(count: usize, seed: u64) -> Vec<Chess> {
    let mut rng = Rng::new(seed);
    let (mut boards, mut seen) = (Vec::with_capacity(count), KeySet::default());
    while boards.len() < count {
        boards.extend(random_board(&mut rng).filter(|board| seen.insert(position_key(board))));
    }
    boards
}

/// One draw; None if it is no legal position or the game is over.
fn random_board(rng: &mut Rng) -> Option<Chess> {
    let mut setup = Setup::empty();
    for color in Color::ALL {
        place(&mut setup.board, color.king(), rng);
        for _ in 0..rng.below(PIECES + 1) {
            let roles = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];
            let role = roles[rng.below(roles.len())];
            place(&mut setup.board, Piece { color, role }, rng);
        }
    }
    setup.turn = if rng.chance(0.5) { Color::White } else { Color::Black };
    // Too much material stays refused: beyond it a move list could overflow.
    let board = Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(PositionError::ignore_impossible_check)
        .ok()?;
    (terminal(&board, board.legal_moves().len()) == Terminal::Ongoing).then_some(board)
}

/// Puts a piece on a random free square; one exists, because at most 32 of 64 are taken.
pub(super) fn place(board: &mut Board, piece: Piece, rng: &mut Rng) {
    let mut free = !board.occupied();
    if piece.role == Role::Pawn {
        free &= !Bitboard::BACKRANKS;
    }
    let squares: Vec<Square> = free.into_iter().collect();
    if let Some(&square) = squares.get(rng.below(squares.len())) {
        board.set_piece_at(square, piece);
    }
}

fn label(best: Option<u8>) -> Label<'static> {
    Label {
        source: Source::Rules,
        best,
        values: Values::None,
        visits: &[],
        value: f32::NAN,
        result: None,
    }
}

/// `MAV(s)` of a position; `best` is its best move, if known.
#[must_use]
pub fn unlabelled(state: &Chess, best: Option<Move>) -> Example {
    let legal = canonical_moves(state);
    let index = best.and_then(|best| legal.iter().position(|&m| m == best));
    of_state(state, &legal, label(index.and_then(|index| u8::try_from(index).ok())))
}

/// `MAV(s, a)`. None if the action is not legal.
#[must_use]
pub fn unlabelled_action(state: &Chess, action: Move) -> Option<Example> {
    if !state.is_legal(action) {
        return None;
    }
    let mut after = state.clone();
    after.play_unchecked(action);
    of_action(state, action, &after, &canonical_moves(&after), label(None))
}

/// `MAV(s, a)` of each board with a random legal move, deterministic for a seed.
#[must_use]
pub fn random_actions(boards: &[Chess], seed: u64) -> Vec<Example> {
    let mut rng = Rng::new(!seed);
    let draw = |board: &Chess| {
        let legal = canonical_moves(board);
        unlabelled_action(board, *legal.get(rng.below(legal.len()))?)
    };
    boards.iter().filter_map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::position;
    use nn::encode::{Features, NextBoard};
    use shakmaty::EnPassantMode;
    use shakmaty::fen::Fen;
    use std::collections::HashSet;

    fn fen(board: &Chess) -> String {
        Fen::from_position(board, EnPassantMode::Legal).to_string()
    }

    #[test]
    fn boards_are_legal_distinct_and_repeat_for_a_seed() {
        let boards = random_boards(2_000, 5);
        let fens: Vec<String> = boards.iter().map(fen).collect();
        assert_eq!(fens.iter().collect::<HashSet<_>>().len(), 2_000);
        assert_eq!(fens, random_boards(2_000, 5).iter().map(fen).collect::<Vec<_>>());
        assert_eq!(fens[..10], random_boards(10, 5).iter().map(fen).collect::<Vec<_>>());
        let other: HashSet<String> = random_boards(2_000, 6).iter().map(fen).collect();
        assert!(fens.iter().filter(|fen| other.contains(*fen)).count() < 20);
        for (board, fen) in boards.iter().zip(&fens) {
            let setup = fen.parse::<Fen>().expect("FEN").into_setup();
            let read = Chess::from_setup(setup, CastlingMode::Standard)
                .or_else(PositionError::ignore_impossible_check);
            assert_eq!(read.as_ref().ok(), Some(board), "{fen}");
            assert!(!board.legal_moves().is_empty() && !board.is_insufficient_material(), "{fen}");
            let theirs = board.board().king_of(!board.turn()).expect("a king");
            let attackers = board.king_attackers(theirs, board.turn(), board.board().occupied());
            assert!(attackers.is_empty(), "{fen}");
        }
    }

    #[test]
    fn boards_are_of_all_kinds() {
        let boards = random_boards(2_000, 1);
        let count = |is: &dyn Fn(&Chess) -> bool| boards.iter().filter(|board| is(board)).count();
        let black = count(&|board| board.turn() == Color::Black);
        assert!((800..1_200).contains(&black), "{black}");
        assert!(count(&|board| board.is_check()) > 100);
        let of = |board: &Chess, piece: Piece| board.board().by_piece(piece).count();
        assert!(count(&|board| of(board, Color::White.queen()) > 2) > 100, "beyond any game");
        assert!(count(&|board| of(board, Color::Black.pawn()) == 0) > 100);
        assert!(count(&|board| board.board().occupied().count() < 8) > 20);
        assert!(count(&|board| board.board().occupied().count() > 24) > 20);
    }

    #[test]
    fn numbers_measured_once_stay_comparable() {
        // A changed generator would measure other boards than those of docs/src/networks-log.md.
        let first = fen(&random_boards(1, 0)[0]);
        assert_eq!(first, "R5B1/2Q2R2/2R5/8/7R/4k3/8/N5K1 b - - 0 1");
    }

    #[test]
    fn only_the_rules_are_known() {
        let state = position("4k3/P7/8/8/8/8/8/R3K3 b Q - 3 9");
        let legal = canonical_moves(&state);
        let example = unlabelled(&state, Some(legal[2]));
        assert_eq!((example.features, example.best), (Features::of(&state), Some(2)));
        assert_eq!((example.moves.len(), example.action_values.len()), (legal.len(), 0));
        assert!(example.value.is_nan() && example.result.is_none() && example.next.is_none());
        let mut after = state.clone();
        after.play_unchecked(legal[0]);
        let example = unlabelled_action(&state, legal[0]).expect("legal");
        assert_eq!(example.next.as_deref(), Some(&NextBoard::of(&after)));
        assert_eq!(example.moves.len(), after.legal_moves().len());
        assert!(unlabelled_action(&after, legal[0]).is_none());
        let actions = random_actions(&random_boards(50, 2), 2);
        assert_eq!(actions.len(), 50);
        assert!(actions.iter().all(|e| e.features.has_action && e.source == Source::Rules));
        assert_eq!(
            format!("{actions:?}"),
            format!("{:?}", random_actions(&random_boards(50, 2), 2))
        );
    }
}
