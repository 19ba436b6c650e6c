//! Hex over GTP 2 (G. Farnebäck, 2002) as HexGui speaks it, with the move `swap-pieces` and HexGui's analysis commands.

use crate::game::Game;
use crate::hex::{Hex, SWAP, Stones};
use crate::player::{AnyPlayer, Source};
use std::io::{self, BufRead, Write};
use std::time::Duration;

/// Size before the first `boardsize`, unless the network plays others only.
const DEFAULT_SIZE: usize = 11;
const COMMANDS: [&str; 18] = [
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
const ANALYSES: &str = "pspairs/Values/values\npspairs/Visits/visits\nvar/Best line/best_line";

/// A GTP session. Black joins top and bottom.
pub struct Gtp {
    player: AnyPlayer<Hex>,
    source: Source,
    playouts: Option<u64>,
    states: Vec<Stones>,
    /// True if `genmove` may swap.
    swap: bool,
    /// What `time_left` said, by colour, White first.
    time_left: [Option<Duration>; 2],
}

impl Gtp {
    /// A session whose `genmove` searches `playouts`, and may swap if `swap`.
    ///
    /// # Errors
    /// The network plays no size of Hex.
    pub fn new(source: Source, playouts: Option<u64>, swap: bool) -> Result<Gtp, String> {
        let knows = |size: &usize| player(*size, &source, playouts).is_ok();
        let size = [DEFAULT_SIZE].into_iter().chain((2..20).rev()).find(knows);
        let player = player(size.unwrap_or(DEFAULT_SIZE), &source, playouts)?;
        let states = vec![player.game().start()];
        Ok(Gtp { player, source, playouts, states, swap, time_left: [None; 2] })
    }

    /// Reads commands until `quit` or the end of the input.
    ///
    /// # Errors
    /// Input or output failed.
    pub fn run(&mut self, input: impl BufRead, mut out: impl Write) -> io::Result<()> {
        for line in input.lines() {
            let line = line?;
            let text: String = line.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
            let text = text.split('#').next().unwrap_or_default();
            let mut words = text.split_whitespace().peekable();
            let id = words.next_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
            let Some(command) = words.next() else { continue };
            let (mark, answer) = match self.answer(command, &words.collect::<Vec<_>>()) {
                Ok(answer) => ('=', answer),
                Err(why) => ('?', why),
            };
            let text = format!("{mark}{} {answer}", id.unwrap_or_default());
            write!(out, "{}\n\n", text.trim_end())?;
            out.flush()?;
            if command == "quit" {
                break;
            }
        }
        Ok(())
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
            "hexgui-analyze_commands" => Ok(ANALYSES.to_owned()),
            "boardsize" => self.resize(arguments).and(done),
            "clear_board" => {
                self.states.truncate(1);
                done
            }
            "play" => {
                let black = colour(argument(0, "a colour and a cell")?)?;
                self.play(black, argument(1, "a colour and a cell")?).and(done)
            }
            "genmove" => self.generate(colour(argument(0, "a colour")?)?),
            "undo" if self.states.len() == 1 => Err("nothing to undo".to_owned()),
            "undo" => {
                self.states.pop();
                done
            }
            "showboard" => Ok(format!("\n{}", self.game().picture(self.state(), |_| '.'))),
            "final_score" => self.score(),
            "all_legal_moves" => {
                let moves = self.game().moves(self.state());
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
    fn state(&self) -> &Stones {
        &self.states[self.states.len() - 1]
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
        self.player = player(size, &self.source, self.playouts)?;
        self.states = vec![self.game().start()];
        Ok(())
    }

    fn play(&mut self, black: bool, text: &str) -> Result<(), String> {
        let mut state = self.to_move(black)?;
        self.game().play_named(&mut state, text).map_err(|why| why.to_string())?;
        self.states.push(state);
        Ok(())
    }

    /// The position, if that colour is to move.
    fn to_move(&self, black: bool) -> Result<Stones, String> {
        let state = self.state().clone();
        if state.black_moves == black {
            return Ok(state);
        }
        Err(format!("it is {}'s turn", if black { "White" } else { "Black" }))
    }

    fn generate(&mut self, black: bool) -> Result<String, String> {
        let state = self.to_move(black)?;
        let mut moves = self.game().moves(&state);
        if !self.swap {
            moves.retain(|&action| action != self.game().swap_action());
        }
        // The time is shared among the moves that a half-full board leaves to this colour.
        let left = (self.game().empty(&state).count() / 4).max(4) as u32;
        let time = self.time_left[usize::from(black)].map(|time| time / left);
        let lines = self.player.search(&state, &moves, time);
        let action = lines.first().map(|line| line.moves[0]).ok_or("the game is over")?;
        let mut next = state;
        self.game().play(&mut next, action);
        self.states.push(next);
        Ok(self.name(action))
    }

    fn analysis(&mut self) -> Vec<mcts::Line<u16>> {
        let state = self.state().clone();
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
        let state = self.state();
        // The side that has just moved has won.
        let winner = if state.black_moves { "W+" } else { "B+" };
        self.game().end(state).map(|_| winner.to_owned()).ok_or("the game is not over".to_owned())
    }
}

/// A player on a board of this size.
fn player(size: usize, source: &Source, playouts: Option<u64>) -> Result<AnyPlayer<Hex>, String> {
    let game = Hex::new(size).map_err(|why| why.to_string())?.with_swap();
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
mod tests {
    use super::*;
    use crate::net::NetworkFile;

    fn session(swap: bool, commands: &str) -> Vec<String> {
        let mut out = Vec::new();
        Gtp::new(Source::RandomGames, Some(200), swap)
            .unwrap()
            .run(commands.as_bytes(), &mut out)
            .unwrap();
        answers(out)
    }

    fn answers(out: Vec<u8>) -> Vec<String> {
        let text = String::from_utf8(out).unwrap();
        text.split_terminator("\n\n").map(str::to_owned).collect()
    }

    #[test]
    fn a_network_plays_its_sizes_alone() {
        let network = NetworkFile::random(&Hex::new(3).unwrap(), 16, 1, 1);
        let mut gtp = Gtp::new(Source::Named(network.into()), Some(20), true).unwrap();
        let (mut out, commands) =
            (Vec::new(), "boardsize 4\nplay b b2\ngenmove w\nundo\nall_legal_moves\n");
        gtp.run(commands.as_bytes(), &mut out).unwrap();
        let answers = answers(out);
        assert_eq!(answers[0], "? the network plays hex 3x3, not hex 4x4");
        assert!(
            answers[2].starts_with("= ") && answers[4].ends_with("c3 swap-pieces"),
            "{answers:?}"
        );
        let other = NetworkFile::random(&crate::connect4::ConnectFour::default(), 16, 1, 1);
        let refused = Gtp::new(Source::Named(other.into()), Some(20), true).err();
        assert_eq!(refused.unwrap(), "the network plays connect4 7x6, not hex 11x11");
    }

    #[test]
    fn a_bundled_network_plays_its_sizes_and_random_games_the_others() {
        let network = NetworkFile::random(&Hex::new(3).unwrap(), 16, 1, 1);
        let mut gtp = Gtp::new(Source::Bundled(vec![network]), None, false).unwrap();
        let playouts = [gtp.player.playouts, {
            gtp.resize(&["3"]).unwrap();
            gtp.player.playouts
        }];
        assert_eq!((playouts, gtp.game().size()), ([20_000, 800], 3));
    }

    #[test]
    fn hexguis_greeting_is_answered() {
        let answers = session(
            false,
            "name\nversion\nhexgui-analyze_commands\nboardsize 3 3\n# comment\n\n7 play black b2\nshowboard\nquit\nname\n",
        );
        let version = concat!("= ", env!("CARGO_PKG_VERSION"));
        assert_eq!(answers[..2], ["= Mavka", version]);
        assert!(answers[2].starts_with("= pspairs/Values/values\n"), "{answers:?}");
        let board = "= \n   a b c\n 1 . . .\n  2 . B .\n   3 . . .";
        assert_eq!(answers[3..], ["=", "=7", board, "="]);
    }

    #[test]
    fn a_game_is_played_scored_and_taken_back() {
        let answers = session(
            false,
            "boardsize 2\nplay b a1\nplay w b1\nall_legal_moves\nfinal_score\nplay b a2\nfinal_score\nplay w b2\ngenmove w\nall_legal_moves\nundo\ngenmove black\nfinal_score\n",
        );
        let expected =
            ["=", "=", "=", "= a2 b2", "? the game is not over", "=", "= B+", "? the game is over"];
        assert_eq!(answers[..8], expected);
        assert_eq!(answers[8..], ["? the game is over", "=", "=", "= a2", "= B+"]);
    }

    #[test]
    fn pieces_are_swapped() {
        let play = "boardsize 3\nplay b c1\nplay w swap-pieces\nshowboard\nplay b swap-pieces\nundo\nall_legal_moves\nundo\n";
        let answers = session(false, play);
        assert!(answers[3].contains("3 W . ."), "{answers:?}");
        assert!(answers[4].contains("only White's first move"), "{answers:?}");
        assert!(answers[6].ends_with("c3 swap-pieces"), "{answers:?}");
        let generate = "boardsize 3\nplay b b2\ngenmove w\n";
        assert_eq!(session(true, generate)[2], "= swap-pieces");
        assert_ne!(session(false, generate)[2], "= swap-pieces");
    }

    #[test]
    fn bad_input_is_refused_with_what_was_expected() {
        for (command, answer) in [
            ("boardsize 20 20", "? size 20 is not supported, expected 2 to 19"),
            ("boardsize 1", "? size 1 is not supported, expected 2 to 19"),
            ("boardsize 5 6", "? size 5 6 is not supported, width and height must be equal"),
            ("boardsize x", "? \"x\" is not a size"),
            ("boardsize", "? \"\" is not a size"),
            ("play b z9", "? \"z9\" is not a cell, expected a1 to k11 or swap-pieces"),
            ("play b", "? play needs a colour and a cell"),
            ("play red a1", "? \"red\" is not a colour, expected black or white"),
            ("play w a1", "? it is Black's turn"),
            ("undo", "? nothing to undo"),
            ("time_left b soon 0", "? \"soon\" is not a number of seconds"),
            ("dance", "? unknown command dance"),
        ] {
            assert_eq!(session(false, command), [answer], "{command}");
        }
        assert_eq!(
            session(false, "play b a1\n3 play w A1")[1],
            "?3 illegal move A1: the cell is occupied"
        );
    }

    #[test]
    fn every_listed_command_is_known_and_analyses_answer() {
        for command in COMMANDS {
            let answers =
                session(false, &format!("boardsize 3\n{command} b a1\nknown_command {command}"));
            assert!(!answers[1].contains("unknown"), "{answers:?}");
            assert!(answers.get(2).is_none_or(|answer| answer == "= true"), "{answers:?}");
        }
        let answers = session(
            false,
            "boardsize 3\ntime_left b 60 0\nvalues\nvisits\nbest_line\nknown_command x",
        );
        assert!(answers[2].contains("b2 0.") || answers[2].contains("b2 1."), "{answers:?}");
        let visits: u64 = answers[3]
            .split_whitespace()
            .skip(2)
            .step_by(2)
            .map(|n| n.parse::<u64>().unwrap())
            .sum();
        assert!((100..=200).contains(&visits), "{answers:?}");
        assert!(answers[4].starts_with("= b "), "{answers:?}");
        assert_eq!(answers[5], "= false");
    }
}
