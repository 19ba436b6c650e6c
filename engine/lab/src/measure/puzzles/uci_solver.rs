//! A UCI engine as a solver: the result is what a GUI would get.

use super::Solver;
use crate::uci_client::limit::Clock;
use crate::uci_client::{Fault, Limit, Player, SearchAnswer, Timeouts, Transport};
use chess::action::Action;
use chess::epd;
use chess::game::Game;
use engine::process::errors::wraps;
use shakmaty::Position;
use std::fmt;
use std::time::Duration;
use uci::{Command, Info, Score, StartPosition};

/// Timeout of a move; puzzles have no clock.
const MOVE_TIMEOUT: Duration = Duration::from_secs(600);

/// Error of an engine.
#[derive(Debug)]
pub enum SolverError {
    /// The engine is lost.
    Fault(Fault),
    /// The answer was not a legal move.
    Illegal {
        /// The answer.
        word: String,
        /// FEN of the position.
        fen: String,
    },
}

wraps! { SolverError: Fault(Fault) }

impl fmt::Display for SolverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SolverError::Fault(fault) => fault.fmt(f),
            SolverError::Illegal { word, fen } => {
                write!(f, "the engine answered `{word}` in `{fen}`")
            }
        }
    }
}

impl std::error::Error for SolverError {}

/// Slope of the win probability in centipawns (paper 000, footnote to section 2), for engines without `wdl`.
const SLOPE: f32 = 0.003_682_08;

/// A UCI engine with the same limit for every move.
pub struct UciSolver<T: Transport> {
    player: Player<T>,
    limit: Limit,
}

impl<T: Transport> UciSolver<T> {
    /// Performs the handshake and sets options.
    ///
    /// # Errors
    /// No answer, or an unknown option.
    pub fn greet(
        transport: T,
        options: &[(String, String)],
        limit: Limit,
    ) -> Result<UciSolver<T>, SolverError> {
        let timeouts = Timeouts { think: MOVE_TIMEOUT, ..Timeouts::default() };
        let mut player = Player::greet(transport, options, timeouts)?;
        player.show_wdl()?;
        Ok(UciSolver { player, limit })
    }

    /// `mate`: search a mate in this many moves.
    fn think(
        &mut self,
        game: &Game,
        mate: Option<u32>,
    ) -> Result<(Action, SearchAnswer), SolverError> {
        // Each position is a new game.
        let clock = Clock::new(self.limit);
        let mut go = clock.go(&clock, game.position().turn() == shakmaty::Color::White);
        go.mate = mate;
        let time = match self.limit {
            Limit::MoveTime(time) => Some(time + Duration::from_secs(5)),
            Limit::Clock { .. } | Limit::Nodes(_) | Limit::Depth(_) => None,
        };
        let thought = self.player.think(&command(game), go, time)?;
        match Action::from_uci(&thought.best, game.position()) {
            Some(action) => Ok((action, thought)),
            None => Err(SolverError::Illegal { word: thought.best, fen: game.fen() }),
        }
    }
}

impl<T: Transport> Solver for UciSolver<T> {
    type Error = SolverError;

    fn begin(&mut self) -> Result<(), SolverError> {
        Ok(self.player.new_game(false)?)
    }

    fn choose(&mut self, game: &Game) -> Result<Action, SolverError> {
        Ok(self.think(game, None)?.0)
    }

    fn announce(&mut self, game: &Game, moves: u32) -> Result<(Action, Option<i32>), SolverError> {
        let (action, thought) = self.think(game, Some(moves))?;
        let mate = match thought.last.and_then(|info| info.score) {
            Some(Score::Mate(moves)) => Some(moves),
            _ => None,
        };
        Ok((action, mate))
    }

    fn evaluate(&mut self, game: &Game) -> Result<(Action, Option<f32>), SolverError> {
        let (action, thought) = self.think(game, None)?;
        Ok((action, thought.last.as_ref().and_then(expected_score)))
    }
}

/// Expected score of the side to move, in [0, 1]. None without a score.
fn expected_score(info: &Info) -> Option<f32> {
    let of_wdl = |[win, draw, loss]: [u32; 3]| {
        let all = (win + draw + loss).max(1) as f32;
        (win as f32 + draw as f32 / 2.0) / all
    };
    let of_score = |score: Score| match score {
        Score::Centipawns(score) => 1.0 / (1.0 + (-SLOPE * score as f32).exp()),
        Score::Mate(moves) => f32::from(u8::from(moves > 0)),
    };
    info.wdl.map(of_wdl).or(info.score.map(of_score))
}

/// The `position` command of a game.
fn command(game: &Game) -> Command {
    let start = StartPosition::Fen(epd::fen(game.start()));
    let mut position = game.start().clone();
    let mut moves = Vec::new();
    for action in game.actions() {
        moves.push(action.to_uci(&position, game.mode()));
        if let Some(action) = action.to_move(&position) {
            position.play_unchecked(action);
        }
    }
    Command::Position { start, moves }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_that_of_wdl_or_else_of_the_score() {
        let score = |score, wdl| expected_score(&Info { score, wdl, ..Info::default() });
        assert_eq!(score(Some(Score::Centipawns(300)), Some([100, 800, 100])), Some(0.5));
        assert_eq!(score(Some(Score::Centipawns(0)), None), Some(0.5));
        assert!((score(Some(Score::Centipawns(100)), None).unwrap() - 0.591).abs() < 1e-3);
        assert_eq!(score(Some(Score::Mate(-3)), None), Some(0.0));
        assert_eq!(score(Some(Score::Mate(3)), None), Some(1.0));
        assert_eq!(score(None, None), None);
    }

    #[test]
    fn position_command_has_start_and_moves() {
        let mut game = Game::from_fen("4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1", false).unwrap();
        assert_eq!(command(&game).to_string(), "position fen 4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1");
        for word in ["e1g1", "h8h1"] {
            game.play_uci(word).unwrap();
        }
        assert_eq!(
            command(&game).to_string(),
            "position fen 4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1 moves e1g1 h8h1"
        );
    }
}
