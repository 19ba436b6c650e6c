//! A game: initial position, moves, and whether it is over.
//!
//! The rules of endings are in [`super::ending`].

use super::action::Action;
use super::ending::{self, Ending, key};
use super::epd;
use crate::composed::composed;
use crate::quote::quote;
use shakmaty::fen::{Fen, ParseFenError};
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, FromSetup, Position, PositionErrorKinds};
use std::fmt;

/// Reason for rejecting a position or move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameError {
    /// Invalid FEN syntax.
    Syntax {
        /// The text.
        fen: String,
        /// The first error.
        why: ParseFenError,
    },
    /// A FEN that is not a legal position.
    Position {
        /// The FEN.
        fen: String,
        /// All errors as text.
        why: String,
    },
    /// An illegal move.
    Move {
        /// The move as given.
        text: String,
        /// Ply, from 1.
        ply: usize,
        /// FEN of the position before it.
        fen: String,
    },
    /// Text that does not have the form of a move.
    NoMove {
        /// The text.
        text: String,
        /// Ply, from 1.
        ply: usize,
    },
}

impl fmt::Display for GameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GameError::Syntax { fen, why } => write!(f, "{} is not a FEN: {why}", quote(fen)),
            GameError::Position { fen, why } => {
                write!(f, "{} is not a legal position: {why}", quote(fen))
            }
            GameError::Move { text, ply, fen } => {
                write!(f, "move {ply}, {}, is not legal in `{fen}`", quote(text))
            }
            GameError::NoMove { text, ply } => {
                write!(
                    f,
                    "move {ply}, {}, is no move; expected one like `e2e4` or `e7e8q`",
                    quote(text)
                )
            }
        }
    }
}

impl std::error::Error for GameError {}

/// A game.
#[derive(Clone, Debug)]
pub struct Game {
    start: Chess,
    position: Chess,
    actions: Vec<Action>,
    /// Key of each position, the initial one first, the current one last.
    keys: Vec<u64>,
    mode: CastlingMode,
}

impl Default for Game {
    fn default() -> Game {
        Game::new(Chess::default(), CastlingMode::Standard)
    }
}

impl Game {
    /// A game that starts at `start`. `mode` is the castling notation.
    #[must_use]
    pub fn new(start: Chess, mode: CastlingMode) -> Game {
        let keys = vec![key(&start)];
        Game { position: start.clone(), start, actions: Vec::new(), keys, mode }
    }

    /// Parses a FEN (X-FEN and Shredder-FEN castling, four fields are enough).
    ///
    /// Castling rights or an en-passant square without support on the board are dropped, as in other engines; a
    /// position that needs Chess960 rules gets them even if `chess960` is false. A side may have more pieces than a game can
    /// give it, unless they have more moves than a position of a game can have.
    ///
    /// # Errors
    /// Invalid FEN, or an illegal position.
    pub fn from_fen(text: &str, chess960: bool) -> Result<Game, GameError> {
        let fen: Fen =
            plain(text).parse().map_err(|why| GameError::Syntax { fen: text.to_owned(), why })?;
        let setup = fen.into_setup();
        let order = [CastlingMode::from_chess960(chess960), CastlingMode::Chess960];
        for mode in order {
            if let Ok(start) = Chess::from_setup(setup.clone(), mode) {
                return Ok(Game::new(start, mode));
            }
        }
        let mode = order[0];
        let checked = Chess::from_setup(setup, mode)
            .or_else(shakmaty::PositionError::ignore_invalid_castling_rights)
            .or_else(shakmaty::PositionError::ignore_invalid_ep_square)
            .or_else(shakmaty::PositionError::ignore_impossible_check);
        match checked.or_else(composed) {
            Ok(start) => Ok(Game::new(start, mode)),
            Err(error) => {
                let why = reasons(error.kinds());
                Err(GameError::Position { fen: text.to_owned(), why })
            }
        }
    }

    /// Plays a move in either castling notation.
    ///
    /// # Errors
    /// The move is illegal; the game is unchanged.
    pub fn play_uci(&mut self, text: &str) -> Result<Action, GameError> {
        let action = Action::from_uci(text, &self.position).ok_or_else(|| self.illegal(text))?;
        self.play(action)?;
        Ok(action)
    }

    /// Plays a move.
    ///
    /// # Errors
    /// The move is illegal; the game is unchanged.
    pub fn play(&mut self, action: Action) -> Result<(), GameError> {
        let m = action
            .to_move(&self.position)
            .filter(|m| self.position.is_legal(*m))
            .ok_or_else(|| self.illegal(&format!("{action:?}")))?;
        self.position.play_unchecked(m);
        self.actions.push(action);
        self.keys.push(key(&self.position));
        Ok(())
    }

    fn illegal(&self, text: &str) -> GameError {
        let (text, ply) = (text.to_owned(), self.actions.len() + 1);
        if text.to_ascii_lowercase().parse::<UciMove>().is_err() {
            return GameError::NoMove { text, ply };
        }
        GameError::Move { text, ply, fen: self.fen() }
    }

    /// Whether it is the initial position of chess, without moves.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.actions.is_empty() && self.start == Chess::default()
    }

    /// The position before the first move.
    #[must_use]
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// The position after the last move.
    #[must_use]
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// The moves played since the start.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Keys of all positions, the current one last.
    #[must_use]
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Castling notation of this game.
    #[must_use]
    pub fn mode(&self) -> CastlingMode {
        self.mode
    }

    /// The current position as FEN.
    #[must_use]
    pub fn fen(&self) -> String {
        epd::fen(&self.position)
    }

    /// The legal moves, in the order of the move generator.
    #[must_use]
    pub fn legal_actions(&self) -> Vec<Action> {
        self.position.legal_moves().into_iter().map(Action::new).collect()
    }

    /// `action` as text, in this game's castling notation.
    #[must_use]
    pub fn uci(&self, action: Action) -> String {
        action.to_uci(&self.position, self.mode)
    }

    /// `action` in standard algebraic notation.
    #[must_use]
    pub fn san(&self, action: Action) -> String {
        action.to_san(&self.position)
    }

    /// Ending of the game, if it is over. Mate takes precedence over the fifty-move rule.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        ending::of_game(&self.position, &self.keys)
    }

    /// Moves that lead from `earlier`, less its last `back` plies, to this game; None if it is no continuation.
    #[must_use]
    pub fn continuation_of(&self, earlier: &Game, back: usize) -> Option<&[Action]> {
        let same_start = self.start == earlier.start
            && self.start.halfmoves() == earlier.start.halfmoves()
            && self.mode == earlier.mode;
        let shared = earlier.actions.get(..earlier.actions.len().checked_sub(back)?)?;
        self.actions.strip_prefix(shared).filter(|_| same_start)
    }
}

fn reasons(kinds: PositionErrorKinds) -> String {
    let names = [
        (PositionErrorKinds::EMPTY_BOARD, "the board is empty"),
        (PositionErrorKinds::MISSING_KING, "a king is missing"),
        (PositionErrorKinds::TOO_MANY_KINGS, "a side has several kings"),
        (PositionErrorKinds::PAWNS_ON_BACKRANK, "a pawn stands on a back rank"),
        (PositionErrorKinds::OPPOSITE_CHECK, "the side not to move is in check"),
        (
            PositionErrorKinds::TOO_MUCH_MATERIAL,
            "a side has more pieces and moves than a game can give it",
        ),
        (PositionErrorKinds::VARIANT, "it belongs to a chess variant"),
    ];
    let found: Vec<&str> =
        names.iter().filter(|(kind, _)| kinds.contains(*kind)).map(|(_, name)| *name).collect();
    if found.is_empty() { "it cannot occur in a game".to_owned() } else { found.join(", ") }
}

/// A FEN with one blank between its fields, and counters in place of `-`.
fn plain(text: &str) -> String {
    let field = |(at, field)| match (at, field) {
        (4, "-") => "0",
        (5, "-") => "1",
        _ => field,
    };
    text.split_whitespace().enumerate().map(field).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composed::MOST_MOVES;

    fn game(fen: &str, moves: &[&str]) -> Game {
        let mut game = Game::from_fen(fen, false).unwrap();
        for text in moves {
            game.play_uci(text).unwrap();
        }
        game
    }

    #[test]
    fn errors_name_the_offender() {
        let missing = Game::from_fen("8/8/8/8/8/8/8/K7 w - - 0 1", false).unwrap_err().to_string();
        assert!(missing.contains("a king is missing"), "{missing}");
        assert!(matches!(Game::from_fen("not a fen", false), Err(GameError::Syntax { .. })));
        let mut game = Game::default();
        game.play_uci("e2e4").unwrap();
        let error = game.play_uci("e7e4").unwrap_err();
        assert!(error.to_string().starts_with("move 2, `e7e4`"), "{error}");
        assert_eq!(game.actions().len(), 1);
        for word in ["e7e9", "Nf3", "moves", "é", ""] {
            let error = game.play_uci(word).unwrap_err().to_string();
            assert!(error.starts_with(&format!("move 2, `{word}`, is no move")), "{error}");
        }
        for long in ["x".repeat(1_000_000), "é".repeat(1_000_000)] {
            assert!(game.play_uci(&long).unwrap_err().to_string().len() < 300);
            assert!(Game::from_fen(&long, false).unwrap_err().to_string().len() < 300);
        }
    }

    #[test]
    fn lenient_where_the_board_is_sound() {
        // Rights without rooks, an en-passant square without a pawn.
        let game = game("4k3/8/8/8/8/8/8/4K3 w KQkq e6 0 1", &[]);
        assert!(game.position().castles().is_empty());
        for fen in ["4k3/8/8/8/8/8/8/4K3 w - -", " 4k3/8/8/8/8/8/8/4K3\tw  - - - -\r\n"] {
            let game = Game::from_fen(fen, false).unwrap();
            assert_eq!((game.position().halfmoves(), game.position().fullmoves().get()), (0, 1));
        }
    }

    #[test]
    fn composed_positions_may_have_more_pieces_than_a_game() {
        for board in [
            "8/p4p2/kpP2p2/qrp1bp2/rpP2p2/pP6/P3K3/8",
            "n1B4r/r1p2k2/BpPp3p/pP1PpBpP/P1RbPpPb/1R1RbPbB/R1K3R1/1R3R1R",
            "6bQ/1b1b2PR/2b1b1PQ/3b2P1/2b3PQ/1b2p1PQ/b3P1P1/2k1KBRR",
        ] {
            let game = Game::from_fen(&format!("{board} w - - 0 1"), false).unwrap();
            let legal = game.legal_actions().len();
            assert!((1..=MOST_MOVES).contains(&legal), "{board}: {legal}");
        }
        let queens = "QQQQQQQQ/Q6Q/Q6Q/Q6Q/Q6Q/QQn4Q/nnQ4Q/knQQQQQK w - - 0 1";
        let why = Game::from_fen(queens, false).unwrap_err().to_string();
        assert!(why.contains("more pieces and moves"), "{why}");
    }

    #[test]
    fn chess960_is_noticed_without_the_option() {
        let game = Game::from_fen(
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
            false,
        );
        assert_eq!(game.unwrap().mode(), CastlingMode::Chess960);
    }

    #[test]
    fn continuation_is_found_only_on_the_same_line() {
        let mut early = Game::default();
        early.play_uci("e2e4").unwrap();
        let mut late = early.clone();
        late.play_uci("e7e5").unwrap();
        assert_eq!(late.continuation_of(&early, 0).map(<[Action]>::len), Some(1));
        assert_eq!(early.continuation_of(&late, 0), None);
        assert_eq!(early.continuation_of(&late, 1).map(<[Action]>::len), Some(0));
        assert_eq!(early.continuation_of(&late, 2).map(<[Action]>::len), Some(1));
        assert_eq!(early.continuation_of(&late, 3), None);
        let mut other = Game::default();
        other.play_uci("d2d4").unwrap();
        assert_eq!(other.continuation_of(&early, 0), None);
        assert_eq!(other.continuation_of(&early, 1).map(<[Action]>::len), Some(1));
    }
}
