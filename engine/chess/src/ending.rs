//! Endings of a game: by the board, by the fifty-move rule, by repetition.
//!
//! Games, search paths and the referee of matches use these rules.

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, Color, EnPassantMode, Move, Position};

/// Reason for the end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The side to move is in check without a legal move.
    Checkmate {
        /// The other side.
        winner: Color,
    },
    /// The side to move has no legal move and is not in check.
    Stalemate,
    /// Neither side can ever mate.
    InsufficientMaterial,
    /// Fifty moves of both sides without a capture or a pawn move.
    FiftyMoves,
    /// Third occurrence of the position.
    Threefold,
}

impl Ending {
    /// None for a draw.
    #[must_use]
    pub fn winner(self) -> Option<Color> {
        match self {
            Ending::Checkmate { winner } => Some(winner),
            _ => None,
        }
    }
}

/// Ending by the board alone. `legal` is the number of legal moves.
#[inline]
#[must_use]
pub fn by_board(position: &Chess, legal: usize) -> Option<Ending> {
    if legal == 0 {
        return Some(match position.is_check() {
            true => Ending::Checkmate { winner: !position.turn() },
            false => Ending::Stalemate,
        });
    }
    position.is_insufficient_material().then_some(Ending::InsufficientMaterial)
}

/// Fifty moves without a capture or a pawn move. Mate on the last of them takes precedence.
#[inline]
#[must_use]
pub fn by_fifty_moves(position: &Chess) -> bool {
    position.halfmoves() >= 100
}

/// `position`, whose key is the last of `keys`, occurs for the third time.
#[inline]
#[must_use]
pub fn by_repetition(position: &Chess, keys: &[u64]) -> bool {
    recurrences(position, |plies| key_before(keys, plies)).nth(1).is_some()
}

/// Ending of a game in `position`, if it is over. `keys` are those of all its positions, the last one's last.
#[must_use]
pub fn of_game(position: &Chess, keys: &[u64]) -> Option<Ending> {
    by_board(position, position.legal_moves().len())
        .or_else(|| by_fifty_moves(position).then_some(Ending::FiftyMoves))
        .or_else(|| by_repetition(position, keys).then_some(Ending::Threefold))
}

/// The key `plies` before the last of `keys`.
#[inline]
#[must_use]
pub fn key_before(keys: &[u64], plies: usize) -> Option<u64> {
    keys.get(keys.len().checked_sub(plies + 1)?).copied()
}

/// Plies to earlier occurrences of `position`, latest first. `key_before` returns the key that many plies ago; 0 is
/// `position`.
#[inline]
pub fn recurrences(
    position: &Chess,
    key_before: impl Fn(usize) -> Option<u64>,
) -> impl Iterator<Item = usize> {
    let now = key_before(0);
    // Positions do not recur across a capture or a pawn move, or with the other side to move.
    let reach = position.halfmoves() as usize;
    let past = (4..=reach).step_by(2).map_while(move |plies| Some((plies, key_before(plies)?)));
    past.filter(move |(_, key)| Some(*key) == now).map(|(plies, _)| plies)
}

/// Whether the search scores a position as a draw by repetition. `below_root` is its ply. One recurrence below the
/// root is a draw: the cycle can be repeated. A position of the real game, root included, must occur a third time, as
/// in the rules.
#[inline]
#[must_use]
pub fn repeats(
    position: &Chess,
    key_before: impl Fn(usize) -> Option<u64>,
    below_root: usize,
) -> bool {
    let mut occurrences = 0;
    recurrences(position, key_before).any(|plies| {
        occurrences += 1;
        plies < below_root || occurrences == 2
    })
}

/// The [`key`] after a legal move, if it can be updated incrementally from `key`.
#[inline]
#[must_use]
pub fn key_after(position: &Chess, key: u64, m: Move) -> Option<u64> {
    Some(position.update_zobrist_hash(Zobrist64(key), m, EnPassantMode::Legal)?.0)
}

/// Plays a legal move and returns the new [`key`], updated incrementally from `key` if possible.
#[inline]
#[must_use]
pub fn play_keyed(position: &mut Chess, key: u64, m: Move) -> u64 {
    let quick = key_after(position, key, m);
    position.play_unchecked(m);
    quick.unwrap_or_else(|| self::key(position))
}

/// Zobrist key for repetition: board, side to move, castling rights, and the en-passant square if a capture there is
/// legal.
#[inline]
#[must_use]
pub fn key(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Game;

    fn after(fen: &str, moves: &[&str]) -> Option<Ending> {
        let mut game = Game::from_fen(fen, false).unwrap();
        for text in moves {
            game.play_uci(text).unwrap();
        }
        game.ending()
    }

    #[test]
    fn the_third_occurrence_ends_the_game_and_the_second_does_not() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let dance = ["g1f3", "g8f6", "f3g1", "f6g8"];
        assert_eq!(after(start, &dance), None);
        assert_eq!(after(start, &dance.repeat(2)), Some(Ending::Threefold));
        // The same board, but castling rights were lost in between.
        let kings = ["e2e3", "e7e6", "e1e2", "e8e7", "e2e1", "e7e8"];
        let walk = ["e1e2", "e8e7", "e2e1", "e7e8"];
        assert_eq!(after(start, &[&kings[..], &walk[..]].concat()), None);
        assert_eq!(
            after(start, &[&kings[..], &walk[..], &walk[..]].concat()),
            Some(Ending::Threefold)
        );
    }

    #[test]
    fn mate_on_the_hundredth_ply_is_mate() {
        let fen = "7k/8/5KQ1/8/8/8/8/8 w - - 99 80";
        assert_eq!(after(fen, &["g6g7"]), Some(Ending::Checkmate { winner: Color::White }));
        assert_eq!(after(fen, &["g6g1"]), Some(Ending::FiftyMoves));
    }

    #[test]
    fn keys_made_from_the_one_before_are_those_of_the_board() {
        let mut game = Game::default();
        let (mut position, mut last) = (Chess::default(), key(&Chess::default()));
        // En passant, castling and a promotion.
        let moves = "e2e4 a7a6 e4e5 d7d5 e5d6 g8f6 g1f3 g7g6 f1e2 f8g7 e1g1 e8g8 d6c7 a6a5 c7b8q";
        for text in moves.split(' ') {
            let action = game.play_uci(text).unwrap();
            let m = action.to_move(&position).unwrap();
            last = play_keyed(&mut position, last, m);
            assert_eq!((&position, last), (game.position(), key(game.position())), "{text}");
        }
    }

    #[test]
    fn endings_are_distinguished() {
        assert_eq!(after("7k/8/6Q1/8/8/8/8/K7 b - - 0 1", &[]), Some(Ending::Stalemate));
        let bishop = after("7k/8/8/8/8/8/8/KB6 w - - 0 1", &[]);
        assert_eq!(bishop, Some(Ending::InsufficientMaterial));
        assert_eq!(Game::default().ending(), None);
        assert_eq!(Ending::Checkmate { winner: Color::Black }.winner(), Some(Color::Black));
        assert_eq!(Ending::Threefold.winner(), None);
    }
}
