//! Hex over GTP 2 (G. Farnebäck, 2002) as HexGui speaks it: with the moves `swap-pieces` and `resign`, stones out of turn,
//! HexGui's analysis commands, and the parameter `allow_swap` of the Benzene engines (MoHex, Wolve).

use crate::game::Game;
use crate::hex::{Hex, SWAP, Stones};
use crate::player::{AnyPlayer, Source};
use std::io::{self, Write};
use std::time::Duration;

/// Size before the first `boardsize`, unless the network plays others only.
const DEFAULT_SIZE: usize = 11;
const COMMANDS: [&str; 19] = [
    "all_legal_moves",
    "best_line",
    "boardsize",
    "clear_board",
    "final_score",
    "genmove",
    "hexgui-analyze_commands",
    "known_command",
    "list_commands",
    "name",
    "param_game",
    "play",
    "protocol_version",
    "quit",
    "showboard",
    "time_left",
    "undo",
    "values",
    "version",
];
/// Type, label and command of each analysis.
const ANALYSES: &str = "param/Game Param/param_game\npspairs/Values/values\npspairs/Visits/visits\nvar/Best line/best_line";
/// Name of the parameter that decides whether the swap rule holds.
const ALLOW_SWAP: &str = "allow_swap";
/// Longest text of an error, in characters: a command may be of any length.
const LONGEST_ERROR: usize = 200;

/// A GTP session. Black joins top and bottom.
pub struct Gtp {
    player: AnyPlayer<Hex>,
    source: Source,
    playouts: Option<u64>,
    /// The game so far, the present last.
    turns: Vec<Turn>,
    /// True if the swap rule holds, for both sides: in what the player thinks, and in the moves.
    swap: bool,
    /// The answers to `time_left`, by colour, White first.
    time_left: [Option<Duration>; 2],
}

/// A moment of the game.
#[derive(Clone)]
struct Turn {
    stones: Stones,
    /// The side that has resigned; true for Black.
    resigned: Option<bool>,
}

impl Gtp {
    /// A session whose `genmove` searches `playouts`. The swap rule holds if `swap`.
    ///
    /// # Errors
    /// The network plays no size of Hex.
    pub fn new(source: Source, playouts: Option<u64>, swap: bool) -> Result<Gtp, String> {
        let knows = |size: &usize| player(*size, &source, playouts, swap).is_ok();
        let size = [DEFAULT_SIZE].into_iter().chain((2..20).rev()).find(knows);
        let player = player(size.unwrap_or(DEFAULT_SIZE), &source, playouts, swap)?;
        let turns = vec![Turn { stones: player.game().start(), resigned: None }];
        Ok(Gtp { player, source, playouts, turns, swap, time_left: [None; 2] })
    }

    /// Obeys one line. False for `quit`.
    ///
    /// # Errors
    /// The answer cannot be written.
    pub fn obey(&mut self, line: &str, out: &mut dyn Write) -> io::Result<bool> {
        // GTP 2, section 3.1: tabs are blanks, other control characters do not count.
        let text: String = line
            .chars()
            .map(|letter| if letter == '\t' { ' ' } else { letter })
            .filter(|letter| !letter.is_control())
            .collect();
        let text = text.split('#').next().unwrap_or_default();
        let mut words = text.split_whitespace().peekable();
        let id = words.next_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(command) = words.next() else { return Ok(true) };
        let (mark, answer) = match self.answer(command, &words.collect::<Vec<_>>()) {
            Ok(answer) => ('=', answer),
            Err(why) => ('?', why.chars().take(LONGEST_ERROR).collect()),
        };
        // HexGui reads no answer without the blank.
        let text = format!("{mark}{} {}\n\n", id.unwrap_or_default(), answer.trim_end());
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(command != "quit")
    }

    fn answer(&mut self, command: &str, arguments: &[&str]) -> Result<String, String> {
        let argument = |at: usize, what: &str| {
            arguments.get(at).copied().ok_or_else(|| format!("{command} needs {what}"))
        };
        let done = Ok(String::new());
        match command {
            "protocol_version" => Ok("2".to_owned()),
            "name" => Ok("Mavka".to_owned()),
            "version" => Ok(env!("CARGO_PKG_VERSION").to_owned()),
            "list_commands" => Ok(COMMANDS.join("\n")),
            "known_command" => Ok(COMMANDS.contains(&argument(0, "a command")?).to_string()),
            "param_game" if arguments.is_empty() => {
                Ok(format!("\n[bool] {ALLOW_SWAP} {}", u8::from(self.swap)))
            }
            "param_game" => {
                self.set_parameter(arguments[0], argument(1, "a name and a value")?).and(done)
            }
            "hexgui-analyze_commands" => Ok(ANALYSES.to_owned()),
            "boardsize" => self.resize(arguments).and(done),
            "clear_board" => {
                self.turns.truncate(1);
                done
            }
            "play" => {
                let black = colour(argument(0, "a colour and a cell")?)?;
                self.play(black, argument(1, "a colour and a cell")?).and(done)
            }
            "genmove" => self.generate(colour(argument(0, "a colour")?)?),
            "undo" if self.turns.len() == 1 => Err("nothing to undo".to_owned()),
            "undo" => {
                self.turns.pop();
                done
            }
            "showboard" => Ok(format!("\n{}", self.game().picture(self.state(), |_| '.'))),
            "final_score" => self.score(),
            "all_legal_moves" => {
                let moves = self.moves(self.state());
                Ok(moves.iter().map(|&action| self.name(action)).collect::<Vec<_>>().join(" "))
            }
            "time_left" => {
                let black = colour(argument(0, "a colour and seconds")?)?;
                let text = argument(1, "a colour and seconds")?;
                let seconds = text.parse::<u64>();
                let seconds =
                    seconds.map_err(|_| format!("\"{text}\" is not a number of seconds"))?;
                self.time_left[usize::from(black)] = Some(Duration::from_secs(seconds));
                done
            }
            "values" => Ok(self.pairs(|line| format!("{:.3}", line.value.q()))),
            "visits" => Ok(self.pairs(|line| line.visits.to_string())),
            "best_line" => {
                let lines = self.analysis();
                let moves = lines.first().map(|line| &line.moves[..]).unwrap_or_default();
                let mut black = self.state().black_moves;
                let step = |&action: &u16| {
                    let text = format!("{} {}", if black { 'b' } else { 'w' }, self.name(action));
                    black = !black;
                    text
                };
                Ok(moves.iter().map(step).collect::<Vec<_>>().join(" "))
            }
            "quit" => done,
            _ => Err(format!("unknown command {command}")),
        }
    }

    fn game(&self) -> &Hex {
        self.player.game()
    }

    /// There is always the start.
    fn turn(&self) -> &Turn {
        &self.turns[self.turns.len() - 1]
    }

    fn state(&self) -> &Stones {
        &self.turn().stones
    }

    /// The legal moves; none after a resignation.
    fn moves(&self, state: &Stones) -> Vec<u16> {
        if self.turn().resigned.is_some() { Vec::new() } else { self.game().moves(state) }
    }

    fn name(&self, action: u16) -> String {
        if action == self.game().swap_action() {
            SWAP.to_owned()
        } else {
            self.game().cell_name(usize::from(action))
        }
    }

    fn resize(&mut self, arguments: &[&str]) -> Result<(), String> {
        let text = arguments.join(" ");
        let (width, height) = text.split_once(' ').unwrap_or((&text, &text));
        if width != height {
            return Err(format!("size {text} is not supported, width and height must be equal"));
        }
        let size = width.parse::<usize>().map_err(|_| format!("\"{width}\" is not a size"))?;
        self.player = player(size, &self.source, self.playouts, self.swap)?;
        self.turns = vec![Turn { stones: self.game().start(), resigned: None }];
        Ok(())
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        if !name.eq_ignore_ascii_case(ALLOW_SWAP) {
            return Err(format!("{name} is no parameter, expected {ALLOW_SWAP}"));
        }
        let swap = match value.to_ascii_lowercase().as_str() {
            "1" | "true" => true,
            "0" | "false" => false,
            _ => {
                return Err(format!("\"{value}\" is not a value of {ALLOW_SWAP}, expected 0 or 1"));
            }
        };
        self.player = player(self.game().size(), &self.source, self.playouts, swap)?;
        self.swap = swap;
        Ok(())
    }

    fn play(&mut self, black: bool, text: &str) -> Result<(), String> {
        let mut stones = self.to_move(black)?;
        let resigned = text.eq_ignore_ascii_case("resign").then_some(black);
        if resigned.is_none() {
            self.game().play_named(&mut stones, text).map_err(|why| why.to_string())?;
        }
        self.turns.push(Turn { stones, resigned });
        Ok(())
    }

    /// The position with that colour to move, whose turn it need not be: a board is set up stone by stone.
    fn to_move(&self, black: bool) -> Result<Stones, String> {
        let state = self.state();
        // First: only the side that is to move has lost.
        if self.turn().resigned.is_some() || self.game().end(state).is_some() {
            return Err("the game is over".to_owned());
        }
        Ok(if state.black_moves == black { state.clone() } else { self.game().passed(state) })
    }

    fn generate(&mut self, black: bool) -> Result<String, String> {
        let mut stones = self.to_move(black)?;
        // The time is shared among the moves that a half-full board leaves to this colour.
        let left = (self.game().empty(&stones).count() / 4).max(4) as u32;
        let time = self.time_left[usize::from(black)].map(|time| time / left);
        let lines = self.player.search(&stones, &[], time);
        let action = lines.first().map(|line| line.moves[0]).ok_or("the game is over")?;
        self.game().play(&mut stones, action);
        self.turns.push(Turn { stones, resigned: None });
        Ok(self.name(action))
    }

    fn analysis(&mut self) -> Vec<mcts::Line<u16>> {
        let state = self.state().clone();
        if self.turn().resigned.is_some() {
            return Vec::new();
        }
        self.player.search(&state, &[], None)
    }

    /// A cell and a text for each searched move.
    fn pairs(&mut self, text: impl Fn(&mcts::Line<u16>) -> String) -> String {
        let lines = self.analysis();
        let swap = self.game().swap_action();
        let lines = lines.iter().filter(|line| line.visits > 0 && line.moves[0] != swap);
        let pair = |line: &mcts::Line<u16>| format!("{} {}", self.name(line.moves[0]), text(line));
        lines.map(pair).collect::<Vec<_>>().join(" ")
    }

    fn score(&self) -> Result<String, String> {
        let Turn { stones, resigned } = self.turn();
        // The side that has just moved has joined its edges.
        let lost = resigned.or_else(|| self.game().end(stones).map(|_| stones.black_moves));
        let lost = lost.ok_or("the game is not over")?;
        Ok(if lost { "W+" } else { "B+" }.to_owned())
    }
}

/// A player on a board of this size, which thinks with the swap rule if `swap`.
fn player(
    size: usize,
    source: &Source,
    playouts: Option<u64>,
    swap: bool,
) -> Result<AnyPlayer<Hex>, String> {
    let game = Hex::new(size).map_err(|why| why.to_string())?;
    let game = if swap { game.with_swap() } else { game };
    source.player(game, playouts).map_err(|why| why.to_string())
}

fn colour(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "b" | "black" => Ok(true),
        "w" | "white" => Ok(false),
        _ => Err(format!("\"{text}\" is not a colour, expected black or white")),
    }
}

#[cfg(test)]
mod tests;
