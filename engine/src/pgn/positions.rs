//! The positions of a game in memory linear in its plies: a whole [`Game`], with the history that repetition needs, is
//! made for one of them at a time.

use super::PgnGame;
use chess::action::Action;
use chess::ending;
use chess::game::Game;
use shakmaty::{CastlingMode, Chess, Position};

/// Plies of history that a [`Game`] of one position has: a longer one cannot repeat, the fifty-move rule comes first.
const HISTORY: usize = 100;

/// All positions of a game, the first one before any move.
#[derive(Clone, Debug)]
pub struct Positions {
    boards: Vec<Chess>,
    keys: Vec<u64>,
    /// One per move; None for a null move, after which no earlier position counts as repeated.
    moves: Vec<Option<Action>>,
    mode: CastlingMode,
}

impl Positions {
    /// The positions of the game itself, up to a move that cannot be played: none in a game that was read.
    #[must_use]
    pub fn of(game: &PgnGame) -> Positions {
        let start = game.start.position().clone();
        let mut positions = Positions {
            keys: vec![ending::key(&start)],
            boards: vec![start],
            moves: Vec::new(),
            mode: game.start.mode(),
        };
        for made in &game.line.moves {
            let (mut board, key) = positions.last();
            let key = match made.played {
                Some(played) if board.is_legal(played) => {
                    ending::play_keyed(&mut board, key, played)
                }
                Some(_) => break,
                None => match board.clone().swap_turn() {
                    Ok(passed) => {
                        board = passed;
                        ending::key(&board)
                    }
                    Err(_) => break,
                },
            };
            positions.moves.push(made.played.map(Action::new));
            positions.boards.push(board);
            positions.keys.push(key);
        }
        positions
    }

    fn last(&self) -> (Chess, u64) {
        let place = self.moves.len();
        (self.boards[place].clone(), self.keys[place])
    }

    /// Number of positions: one more than there are moves.
    #[must_use]
    pub fn count(&self) -> usize {
        self.boards.len()
    }

    /// Number of moves.
    #[must_use]
    pub fn plies(&self) -> usize {
        self.moves.len()
    }

    /// All boards, in order.
    #[must_use]
    pub fn boards(&self) -> &[Chess] {
        &self.boards
    }

    /// The key of each position, as of repetitions.
    #[must_use]
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// How castling is written.
    #[must_use]
    pub fn mode(&self) -> CastlingMode {
        self.mode
    }

    /// The position at `place`, from 0.
    #[must_use]
    pub fn board(&self, place: usize) -> &Chess {
        &self.boards[place]
    }

    /// The move made at `ply`, from 0; None for a null move and beyond the end.
    #[must_use]
    pub fn played(&self, ply: usize) -> Option<Action> {
        self.moves.get(ply).copied().flatten()
    }

    /// The move of the position at `place` in standard notation.
    #[must_use]
    pub fn san(&self, place: usize, action: Action) -> String {
        action.to_san(&self.boards[place])
    }

    /// The move of the position at `place` in UCI notation.
    #[must_use]
    pub fn uci(&self, place: usize, action: Action) -> String {
        action.to_uci(&self.boards[place], self.mode)
    }

    /// The game up to the position at `place`, without the moves before the last capture or pawn move.
    #[must_use]
    pub fn game(&self, place: usize) -> Game {
        let first = place - self.history(place);
        let mut game = Game::new(self.boards[first].clone(), self.mode);
        let moves = self.moves[first..place].iter().flatten();
        // They were played when the positions were made.
        moves.for_each(|action| drop(game.play(*action)));
        game
    }

    /// The games up to the positions at `places`, in order. One at the next place continues the one before it, but
    /// for a null move.
    #[must_use]
    pub fn games(&self, places: &[usize]) -> Vec<Game> {
        let mut games: Vec<Game> = Vec::with_capacity(places.len());
        let before = std::iter::once(None).chain(places.iter().copied().map(Some));
        for (place, before) in places.iter().zip(before) {
            let follows = before.is_some_and(|before| before + 1 == *place);
            let next = games.last().filter(|_| follows).and_then(|last| {
                let mut next = last.clone();
                next.play(self.played(place - 1)?).ok().map(|()| next)
            });
            games.push(next.unwrap_or_else(|| self.game(*place)));
        }
        games
    }

    /// Whether the side to move may claim a draw: threefold repetition or fifty moves. Games go on after either.
    #[must_use]
    pub fn is_claimable(&self, place: usize) -> bool {
        let board = &self.boards[place];
        let history = self.history(place);
        ending::by_fifty_moves(board)
            || ending::by_repetition(board, &self.keys[place - history..=place])
    }

    /// Plies before `place` that its repetitions depend on.
    fn history(&self, place: usize) -> usize {
        let most = (self.boards[place].halfmoves() as usize).min(HISTORY).min(place);
        let moves = self.moves[place - most..place].iter().rev();
        moves.take_while(|action| action.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::{PgnEntry, read_games};

    fn positions(text: &str) -> Positions {
        match read_games(text, 1).into_iter().next() {
            Some(PgnEntry::Game(game)) => Positions::of(&game),
            _ => panic!("{text} is no game"),
        }
    }

    #[test]
    fn a_game_of_one_position_has_the_history_that_repetitions_need() {
        let positions = positions("1. e4 Nf6 2. Nf3 Ng8 3. Ng1 Nf6 4. Nf3 Ng8 5. Ng1 *");
        assert_eq!((positions.count(), positions.plies()), (10, 9));
        let game = positions.game(9);
        assert_eq!(game.actions().len(), 8, "from 1. e4 on");
        assert_eq!(game.position(), positions.board(9));
        assert_eq!(game.ending(), Some(chess::ending::Ending::Threefold));
        let claims: Vec<usize> = (0..10).filter(|place| positions.is_claimable(*place)).collect();
        assert_eq!(claims, [9]);
    }

    #[test]
    fn consecutive_games_continue_each_other() {
        let positions = positions("1. e4 e5 2. Nf3 -- 3. d4 *");
        let games = positions.games(&[1, 2, 3, 4, 5]);
        for (place, game) in (1..6).zip(&games) {
            assert_eq!(game.position(), positions.board(place));
        }
        assert_eq!(positions.games(&[1, 3])[1].position(), positions.board(3));
        assert!(games[2].continuation_of(&games[0], 0).is_some_and(|path| path.len() == 2));
        assert!(games[3].continuation_of(&games[2], 0).is_none(), "a null move");
    }

    #[test]
    fn a_null_move_begins_a_history_of_its_own() {
        let positions = positions("1. Nf3 Nf6 2. -- Ng8 3. Ng1 *");
        assert_eq!((positions.count(), positions.played(2)), (6, None));
        assert_eq!(positions.game(5).actions().len(), 2);
        assert_eq!(positions.game(2).actions().len(), 2);
    }
}
