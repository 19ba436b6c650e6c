//! Connect Four in a terminal: one command a line, a board after each. No clock, no cursor: it works in a pipe as well.

use crate::connect4::{ConnectFour, Discs};
use crate::game::Game;
use crate::player::AnyPlayer;
use crate::solver::Solver;
use std::io::{self, Write};

/// Positions that the solver may search for the verdict of one move (a few seconds).
const SOLVER_NODES: u64 = 5_000_000;
/// Longest word that an error repeats, in characters.
const LONGEST_WORD: usize = 40;
/// Memory of the solver's table.
const TABLE_BYTES: usize = 64 << 20;
const HELP: &str = "1 to 7: your move; g: the engine moves; u: undo; h: action values; s: solver's verdict; q: quit";

/// A game between a user and the engine.
pub struct Board {
    game: ConnectFour,
    states: Vec<Discs>,
    solver: Solver<ConnectFour>,
    player: AnyPlayer<ConnectFour>,
}

impl Board {
    /// A game from the start; `player`, on the usual board, chooses where the solver has no verdict.
    #[must_use]
    pub fn new(player: AnyPlayer<ConnectFour>) -> Board {
        let game = *player.game();
        Board { game, states: vec![game.start()], solver: Solver::new(game, TABLE_BYTES), player }
    }

    /// Plays these moves and shows the commands and the board.
    ///
    /// # Errors
    /// The output is closed.
    pub fn begin(&mut self, moves: &[u16], out: &mut dyn Write) -> io::Result<()> {
        moves.iter().for_each(|&action| self.play(action));
        writeln!(out, "{HELP}\n{}", self.picture())
    }

    /// Obeys one line. False for `q`.
    ///
    /// # Errors
    /// The output is closed.
    pub fn obey(&mut self, line: &str, out: &mut dyn Write) -> io::Result<bool> {
        // Control characters would reach the terminal in an error.
        let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
        let text = match line.trim() {
            "q" => return Ok(false),
            "" => return Ok(true),
            "u" => self.undo(),
            "g" => self.answer(),
            "h" => self.action_values(),
            "s" => self.verdict(),
            column => self.move_of_user(column),
        };
        writeln!(out, "{text}")?;
        Ok(true)
    }

    fn state(&self) -> Discs {
        self.states.last().copied().unwrap_or_default()
    }

    fn play(&mut self, action: u16) {
        let mut state = self.state();
        self.game.play(&mut state, action);
        self.states.push(state);
    }

    fn move_of_user(&mut self, column: &str) -> String {
        // Repeated in an error: a line may be of any length.
        let column = &column.chars().take(LONGEST_WORD).collect::<String>();
        let mut state = self.state();
        match self.game.read_move(&mut state, column) {
            Err(why) => format!("{why}. {HELP}"),
            Ok(_) => {
                self.states.push(state);
                if self.game.end(&state).is_some() { self.picture() } else { self.answer() }
            }
        }
    }

    /// The engine's move: the search chooses among the moves that keep the value, where the solver knows them.
    fn answer(&mut self) -> String {
        let state = self.state();
        let known = self.solver.verdicts(&state, SOLVER_NODES).unwrap_or_default();
        let best = known.iter().map(|&(_, value)| value).max();
        let keeping = known.iter().filter(|&&(_, value)| Some(value) == best);
        let keeping: Vec<u16> = keeping.map(|&(action, _)| action).collect();
        let lines = self.player.search(&state, &keeping, None);
        let Some(action) = lines.first().map(|line| line.moves[0]) else {
            return "the game is over".to_owned();
        };
        self.play(action);
        format!("engine: {}\n{}", action + 1, self.picture())
    }

    /// Takes back the last two moves, or the only one.
    fn undo(&mut self) -> String {
        self.states.truncate(self.states.len().saturating_sub(2).max(1));
        self.picture()
    }

    fn action_values(&mut self) -> String {
        let state = self.state();
        let mut lines = self.player.search(&state, &[], None);
        lines.sort_by_key(|line| line.moves[0]);
        let value = |line: &mcts::Line<u16>| {
            format!("{}: {:.3} ({} visits)", line.moves[0] + 1, line.value.q(), line.visits)
        };
        lines.iter().map(value).collect::<Vec<_>>().join("\n")
    }

    fn verdict(&mut self) -> String {
        match self.solver.verdicts(&self.state(), SOLVER_NODES) {
            Err(why) => why.to_string(),
            Ok(verdicts) => describe(&verdicts),
        }
    }

    /// Rows from the top, X for the first player, and the state of the game.
    fn picture(&self) -> String {
        let state = self.state();
        let first_moves = state.all.count_ones().is_multiple_of(2);
        let first = if first_moves { state.mine } else { state.all ^ state.mine };
        let mut text = String::new();
        for row in (0..self.game.rows).rev() {
            for column in 0..self.game.columns {
                let cell = 1 << (column * (self.game.rows + 1) + row);
                let disc = match (state.all & cell != 0, first & cell != 0) {
                    (false, _) => '.',
                    (true, true) => 'X',
                    (true, false) => 'O',
                };
                text.extend([disc, ' ']);
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text += "1 2 3 4 5 6 7\n";
        text + match (self.game.end(&state).map(|result| result.loss > 0.0), first_moves) {
            (Some(true), true) => "O has won",
            (Some(true), false) => "X has won",
            (Some(false), _) => "drawn",
            (None, true) => "X to move",
            (None, false) => "O to move",
        }
    }
}

/// The verdicts of the solver, one move a column, and the position's.
#[must_use]
pub fn describe(verdicts: &[(u16, i32)]) -> String {
    let word = |value: i32| match value {
        1 => "won",
        0 => "drawn",
        _ => "lost",
    };
    let Some(best) = verdicts.iter().map(|&(_, value)| value).max() else {
        return "the game is over".to_owned();
    };
    let each = verdicts.iter().map(|&(action, value)| format!("{}: {}", action + 1, word(value)));
    format!("{} for the side to move\n{}", word(best), each.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(moves: &str, commands: &str) -> String {
        let mut out = Vec::new();
        let moves = ConnectFour::default().read(moves).unwrap();
        let player = AnyPlayer::plain(ConnectFour::default(), 300, 0);
        let mut board = Board::new(player);
        board.begin(&moves, &mut out).unwrap();
        let _ = commands.lines().take_while(|line| board.obey(line, &mut out).unwrap()).count();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn moves_are_answered_and_taken_back() {
        let text = session("4444442", "3\ng\nu\nu\nq\n7\n");
        assert_eq!(text.matches("engine: ").count(), 2, "{text}");
        let column = ". . . O . . .\n. . . X . . .\n".repeat(3);
        assert!(text.ends_with(&format!("{column}1 2 3 4 5 6 7\nX to move\n")), "{text}");
    }

    #[test]
    fn verdicts_values_and_the_end_are_shown() {
        let text = session("112233665577", "s\nh\n4\ns\ng\n");
        assert!(text.contains("won for the side to move\n1: "), "{text}");
        assert!(text.contains("4: won") && text.contains("4: 1.000 ("), "{text}");
        assert!(text.contains("X has won"), "{text}");
        assert_eq!(text.matches("the game is over").count(), 2, "{text}");
    }

    #[test]
    fn bad_input_gets_one_line() {
        let text = session("111111", "1\n8\nx\n\nu\nu\nu\nu\nu\n");
        let errors =
            ["column 1 is full. 1 to 7", "\"8\" is not a column, expected 1 to 7", "\"x\" is not"];
        assert!(errors.iter().all(|error| text.contains(error)), "{text}");
        let last = ". . . . . . .\n1 2 3 4 5 6 7\nX to move\n";
        assert!(text.ends_with(last), "{text}");
    }
}
