//! `mavka play`: arguments of a game in the terminal. [`crate::terminal`] does the work.

use super::args::{read_option, read_settings};
use super::output::{Failure, written};
use crate::options::{Kind, find};
use crate::play::setup::Setup;
use crate::process::interrupt::{answer_when, raised_by_ctrl_c};
use crate::process::streams::{self, for_each_line};
use crate::terminal::opponent::Opponent;
use crate::terminal::picture::Characters;
use crate::terminal::record::{GameRecord, OPEN, SaveFile};
use crate::terminal::session::TerminalGame;
use crate::terminal::time_control::{GameClocks, TimeControl};
use chess::game::Game;
use chess::quote::quote_path;
use clap::{Args, ValueEnum};
use crossbeam::channel;
use nn::rng::Rng;
use shakmaty::{Color, Position};
use std::hash::{BuildHasher, RandomState};
use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};
use std::thread;
use uci::Go;

/// Time of a move without a clock, in milliseconds.
const MOVE_TIME: i64 = 1_000;
/// The engine's name in the tags.
const NAME: &str = "Mavka";
/// Lines typed ahead.
const QUEUE: usize = 64;

/// Arguments of `mavka play`.
///
/// Moves are typed as e4 or e2e4; help lists the commands.
#[derive(Args, Clone, Debug)]
pub struct Play {
    /// Your side [default: white; of a game that is continued, the side that Mavka did not play]
    #[arg(long, value_enum)]
    color: Option<Side>,
    /// Rating of the engine, 1000 to 2800 [default: its full strength]
    #[arg(long, value_parser = read_elo)]
    elo: Option<u32>,
    /// Clock of each side, time and more for each move: 5m+3s, 90s, 1h [default: no clock]
    #[arg(long, value_name = "TIME")]
    time: Option<TimeControl>,
    /// Playouts of a move of the engine and of a hint [default: one second]
    #[arg(long, value_name = "N", conflicts_with = "time", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Begin with this position
    #[arg(long, value_name = "FEN", conflicts_with_all = ["chess960", "resume"])]
    fen: Option<String>,
    /// Chess960, from the start position with this number, 0 to 959 [default: any of them]
    #[arg(long, value_name = "N", num_args = 0..=1, conflicts_with = "resume", value_parser = clap::value_parser!(u16).range(0..960))]
    chess960: Option<Option<u16>>,
    /// Continue the last game of a file, and save it there
    #[arg(long, value_name = "FILE.pgn")]
    resume: Option<PathBuf>,
    /// Save the game after each move; added to the games of the file
    #[arg(long, value_name = "FILE.pgn")]
    save: Option<PathBuf>,
    /// Letters for pieces, as where the locale is not UTF-8
    #[arg(long)]
    ascii: bool,
    /// A UCI option; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Side {
    White,
    Black,
}

impl Play {
    /// Plays a game on standard input and output.
    ///
    /// # Errors
    /// An argument or a file cannot be used, or standard output fails.
    pub fn run(mut self) -> Result<(), Failure> {
        let settings = read_settings(&self.options)?;
        self.elo = self.elo.or(settings.limit_strength.then_some(settings.elo));
        let (record, file) = self.begin()?;
        let (sender, lines) = channel::bounded(QUEUE);
        let read = move || {
            for_each_line(streams::input(), |line| {
                sender.send(String::from_utf8_lossy(line).into_owned()).is_ok()
            });
        };
        // Not joined: it waits for input that may not come.
        thread::Builder::new().name("reader".to_owned()).spawn(read)?;
        let (raise, interrupt) = channel::bounded(1);
        answer_when(&raised_by_ctrl_c()?, move || {
            // The game may have ended meanwhile.
            let _ = raise.send(());
        });
        let characters = match self.ascii {
            true => Characters::Ascii,
            false => Characters::of_locale(|name| std::env::var(name).ok()),
        };
        let effort = match self.nodes {
            Some(nodes) => Go { nodes: Some(nodes), ..Go::default() },
            None => Go { movetime: Some(MOVE_TIME), ..Go::default() },
        };
        let game = TerminalGame {
            clocks: self.time.map(GameClocks::new),
            opponent: Opponent::new(Setup::default(), &self.options, self.elo),
            player: self.player(&record),
            record,
            effort,
            characters,
            prompts: stdin().is_terminal(),
            file,
            default_file: chrono::Local::now().format("mavka-%Y%m%d-%H%M%S.pgn").to_string().into(),
            out: &mut *streams::output(),
            state: Default::default(),
        };
        written(game.run(&lines, &interrupt))
    }

    /// The game, and the file that it is saved in. Takes from a game that is continued what the arguments do not say.
    fn begin(&mut self) -> Result<(GameRecord, Option<SaveFile>), Failure> {
        let save = self.save.as_deref().map(SaveFile::new).transpose()?;
        let Some(path) = &self.resume else {
            let record = self.new_record()?;
            if record.game().ending().is_some() {
                return Err(format!("the game is over in `{}`", record.game().fen()).into());
            }
            return Ok((record, save));
        };
        let (record, before) = GameRecord::open(path)?;
        let file = match (save, before) {
            (Some(save), _) => save,
            (None, Some(before)) => SaveFile::after(path, before)?,
            (None, None) => return Err(unsafe_to_replace(path)),
        };
        let engine = engine_side(&record);
        let elo = engine.and_then(|side| record.tag(side.fold_wb("WhiteElo", "BlackElo")));
        self.elo = self.elo.or_else(|| elo.and_then(|elo| read_elo(elo).ok()));
        if self.nodes.is_none() {
            self.time = self.time.or_else(|| TimeControl::of_tag(record.tag("TimeControl")?));
        }
        Ok((record, Some(file)))
    }

    fn new_record(&self) -> Result<GameRecord, Failure> {
        let game = match (&self.fen, self.chess960) {
            (Some(fen), _) => Game::from_fen(fen, false)?,
            (None, Some(number)) => {
                let any = || Rng::from_state(RandomState::new().hash_one(0)).below(960);
                start_position(number.map_or_else(any, usize::from))?
            }
            (None, None) => Game::default(),
        };
        let player = self.color.map_or(Color::White, Color::from);
        let date = chrono::Local::now().format("%Y.%m.%d").to_string();
        let mut tags = vec![
            ("Event", "Casual game"),
            ("Site", "?"),
            ("Date", &*date),
            ("Round", "-"),
            ("White", player.fold_wb("Player", NAME)),
            ("Black", player.fold_wb(NAME, "Player")),
            ("Result", OPEN),
        ];
        let elo = self.elo.map(|elo| elo.to_string());
        tags.extend(elo.as_deref().map(|elo| (player.fold_wb("BlackElo", "WhiteElo"), elo)));
        let control = self.time.map(TimeControl::tag);
        tags.extend(control.as_deref().map(|control| ("TimeControl", control)));
        Ok(GameRecord::new(game, &tags))
    }

    fn player(&self, record: &GameRecord) -> Color {
        let given = self.color.map(Color::from);
        let other = || engine_side(record).map(|side| !side);
        given.or_else(other).unwrap_or_else(|| record.game().position().turn())
    }
}

impl From<Side> for Color {
    fn from(side: Side) -> Color {
        match side {
            Side::White => Color::White,
            Side::Black => Color::Black,
        }
    }
}

/// The side that the engine plays by the tags; None if neither or both have its name.
fn engine_side(record: &GameRecord) -> Option<Color> {
    let [white, black] = ["White", "Black"].map(|name| record.tag(name) == Some(NAME));
    (white != black).then_some(Color::from_white(white))
}

fn unsafe_to_replace(path: &Path) -> Failure {
    let path = quote_path(path);
    format!("{path}: the last game has no tag Event to begin with, so that it cannot be replaced; add --save FILE")
        .into()
}

/// A rating in the range of `UCI_Elo`.
fn read_elo(text: &str) -> Result<u32, String> {
    let Some(Kind::Spin { min, max, .. }) = find("UCI_Elo").map(|entry| entry.kind) else {
        return Err("no levels".to_owned());
    };
    let elo = text.parse().ok().filter(|elo| (min..=max).contains(elo));
    elo.and_then(|elo| u32::try_from(elo).ok()).ok_or_else(|| format!("expected {min} to {max}"))
}

/// A start position of Chess960 by its number (Scharnagl's): bishops, queen, knights, then rook, king, rook.
fn start_position(number: usize) -> Result<Game, Failure> {
    let mut files = [' '; 8];
    files[number % 4 * 2 + 1] = 'b';
    files[number / 4 % 4 * 2] = 'b';
    let mut put = |piece, nth: usize| {
        let free = files.iter_mut().filter(|file| **file == ' ').nth(nth);
        free.into_iter().for_each(|file| *file = piece);
    };
    put('q', number / 16 % 6);
    // Two of five files that are free.
    let pairs = (0..5).flat_map(|first| (first..4).map(move |second| (first, second)));
    let (first, second) = pairs.into_iter().nth(number / 96).unwrap_or_default();
    put('n', first);
    put('n', second);
    ['r', 'k', 'r'].into_iter().for_each(|piece| put(piece, 0));
    let black: String = files.iter().collect();
    let white = black.to_uppercase();
    let fen = format!("{black}/pppppppp/8/8/8/8/PPPPPPPP/{white} w KQkq - 0 1");
    Ok(Game::from_fen(&fen, true)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::parsed;

    #[test]
    fn start_positions_have_their_numbers() {
        let all: std::collections::HashSet<String> =
            (0..960).map(|number| start_position(number).unwrap().fen()).collect();
        assert_eq!(all.len(), 960);
        for (number, rank) in
            [(0, "BBQNNRKR"), (518, "RNBQKBNR"), (959, "RKRNNQBB"), (534, "RNBKQBNR")]
        {
            let fen = start_position(number).unwrap().fen();
            assert!(fen.contains(&format!("/{rank} w ")), "{number}: {fen}");
        }
    }

    #[test]
    fn arguments_are_checked() {
        let play = |words: &str| parsed::<Play>("play", &words.split(' ').collect::<Vec<_>>());
        assert!(play("--color black --elo 1500 --time 5m+3s --chess960 --save a.pgn").is_ok());
        for (words, part) in [
            ("--elo 500", "expected 1000 to 2800"),
            ("--time 5", "such as 5m+3s"),
            ("--chess960 960", "0..960"),
            ("--time 5m --nodes 3", "cannot be used with"),
            ("--resume a.pgn --fen x", "cannot be used with"),
        ] {
            let why = play(words).unwrap_err();
            assert!(why.contains(part), "{words}: {why}");
        }
        let refused = |words: &[&str]| {
            parsed::<Play>("play", words).unwrap().begin().unwrap_err().to_string()
        };
        assert!(refused(&["--fen", "7k/6Q1/5K2/8/8/8/8/8 b - - 0 1"]).contains("the game is over"));
        assert!(refused(&["--fen", "nonsense"]).contains("is not a FEN"));
        assert!(refused(&["--resume", "/nowhere/a.pgn"]).contains("No such file"));
    }
}
