//! Games by lines, against the made-up network.

use super::*;
use crate::pgn::{PgnEntry, PgnGame, open_games};
use crate::play::network::{Only, hashed};
use crate::play::setup::Setup;
use chess::game::Game;
use crossbeam::channel::Sender;
use nn::rng::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The beginning of a game, and how it is played.
#[derive(Clone, Copy, Default)]
struct Case<'a> {
    fen: &'a str,
    black: bool,
    ascii: bool,
    level: Option<u32>,
    time: Option<&'a str>,
    interrupted: bool,
    resumed: Option<&'a Path>,
}

/// Answers a text of the terminal with a line, or waits for the next one.
type Typist = Box<dyn FnMut(&str) -> Option<String>>;

/// A terminal that keeps its text, and types where the game waits for it.
struct Terminal {
    text: String,
    types: Option<Typist>,
    sender: Option<Sender<String>>,
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).unwrap();
        self.text += text;
        let line = self.types.as_mut().and_then(|types| types(text));
        if let (Some(line), Some(sender)) = (line, &self.sender) {
            sender.send(line).unwrap();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file of this process alone, which is not there.
fn new_file() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("mavka-play-{}-{count}.pgn", std::process::id()))
}

/// The text of the terminal, the end of the session, and the file of a game that was not saved before.
fn session(
    case: Case<'_>,
    terminal: Terminal,
    lines: &Receiver<String>,
) -> (String, io::Result<()>, PathBuf) {
    let mut terminal = terminal;
    let setup = Setup { networks: Arc::new(Only(hashed())), ..Setup::default() };
    let options = [("Threads", "1"), ("Hash", "4"), ("Seed", "1")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let record = match (case.resumed, case.fen) {
        (Some(path), _) => GameRecord::open(path).unwrap().0,
        (None, "") => GameRecord::new(Game::default(), &[("Result", OPEN)]),
        (None, fen) => GameRecord::new(Game::from_fen(fen, false).unwrap(), &[("Result", OPEN)]),
    };
    let (raise, interrupt) = channel::bounded(1);
    if case.interrupted {
        raise.send(()).unwrap();
    }
    let default_file = new_file();
    let game = TerminalGame {
        record,
        clocks: case.time.map(|time| GameClocks::new(time.parse().unwrap())),
        opponent: Opponent::new(setup, &options, case.level),
        player: if case.black { Color::Black } else { Color::White },
        effort: Go { nodes: Some(60), ..Go::default() },
        characters: if case.ascii { Characters::Ascii } else { Characters::Unicode },
        prompts: false,
        file: None,
        default_file: default_file.clone(),
        out: &mut terminal,
        state: SessionState::default(),
    };
    let done = game.run(lines, &interrupt);
    (terminal.text, done, default_file)
}

/// The same for lines that are typed ahead, up to the end of the input.
fn typed(case: Case<'_>, input: &str) -> (String, io::Result<()>, PathBuf) {
    let (sender, lines) = channel::unbounded();
    input.lines().for_each(|line| sender.send(line.to_owned()).unwrap());
    drop(sender);
    session(case, Terminal { text: String::new(), types: None, sender: None }, &lines)
}

/// The last game of a file, which is removed.
fn saved(path: &Path) -> PgnGame {
    let last = open_games(path, 1).unwrap().last().unwrap().unwrap();
    std::fs::remove_file(path).unwrap();
    match last {
        PgnEntry::Game(game) => *game,
        PgnEntry::Unreadable { raw, .. } => panic!("{raw}"),
    }
}

fn moves(game: &PgnGame) -> String {
    game.line.moves.iter().map(|made| &*made.san).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_whole_game_is_played_to_its_end_and_read_back() {
    let (sender, lines) = channel::unbounded();
    let (mut game, mut rng) = (Game::default(), Rng::from_state(3));
    let mut sans = Vec::new();
    let types = move |text: &str| {
        if let Some(answer) = text.strip_prefix("Mavka: ") {
            let san = answer.split_whitespace().nth(1).unwrap();
            game.play(typed_move(game.position(), san).unwrap()).unwrap();
            sans.push(san.to_owned());
            return None;
        }
        if text == format!("{OVER}\n") {
            return Some("quit".to_owned());
        }
        if text.starts_with("Save the game?") {
            return Some(String::new());
        }
        if !text.contains("a b c d e f g h") || game.ending().is_some() {
            return None;
        }
        let legal = game.legal_actions();
        let action = legal[rng.below(legal.len())];
        let (san, uci) = (game.san(action), game.uci(action));
        game.play(action).unwrap();
        sans.push(san.clone());
        Some(if rng.below(2) == 0 { san } else { uci })
    };
    let terminal =
        Terminal { text: String::new(), types: Some(Box::new(types)), sender: Some(sender) };
    let (text, done, path) = session(Case::default(), terminal, &lines);
    done.unwrap();
    let game = saved(&path);
    assert!(game.lost.is_empty() && game.line.moves.len() > 20, "{text}");
    let positions = crate::pgn::Positions::of(&game);
    let last = positions.game(positions.plies());
    let result = last.ending().unwrap().winner().map_or("1/2-1/2", |w| w.fold_wb("1-0", "0-1"));
    assert_eq!((game.result.as_str(), game.tag("Result")), (result, Some(result)), "{text}");
}

#[test]
fn mates_and_draws_end_the_game() {
    let mate = "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1";
    let stalemate = "7k/8/8/8/8/6Q1/8/K7 w - - 0 1";
    for (fen, black, input, part, result) in [
        (mate, false, "Re8", "Checkmate: White wins. 1-0", "1-0"),
        (mate, true, "", "Mavka: 1. Re8#\nCheckmate: White wins. 1-0", "1-0"),
        (stalemate, false, "Qg6", "Stalemate: a draw. 1/2-1/2", "1/2-1/2"),
        ("7k/8/8/8/8/8/1p6/K7 w - - 0 1", false, "Kxb2", "Neither side can mate", "1/2-1/2"),
    ] {
        let (text, done, path) = typed(Case { fen, black, ..Case::default() }, input);
        done.unwrap();
        assert!(text.contains(part), "{text}");
        assert_eq!(saved(&path).result, result, "{text}");
    }
    let after = typed(Case { fen: mate, ..Case::default() }, "Re8\nKa2\nhint\nresign\nquit\nn");
    assert_eq!(after.0.matches(OVER).count(), 4, "{}", after.0);
    assert!(!after.2.exists(), "not to be saved");
}

#[test]
fn moves_are_taken_back_by_either_side_and_after_the_end() {
    let (text, _, path) = typed(Case::default(), "take back\ne4\ntake back\nundo\nd4\nquit\n");
    assert_eq!(text.matches("no move of yours to take back").count(), 2, "{text}");
    let game = saved(&path);
    assert!(moves(&game).starts_with("d4 ") && game.line.moves.len() == 2, "{text}");
    let (text, _, path) = typed(Case { black: true, ..Case::default() }, "u\ne5\nu\n");
    assert_eq!(text.matches("no move of yours").count(), 1, "{text}");
    assert_eq!(saved(&path).line.moves.len(), 1, "the engine's");
    let fen = "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1";
    let (text, _, path) = typed(Case { fen, ..Case::default() }, "Re8\ntake back\nRe7\n");
    let game = saved(&path);
    assert!(moves(&game).starts_with("Re7 ") && game.result == OPEN, "{text}");
}

#[test]
fn castling_in_chess960_is_typed_in_either_notation() {
    let fen = "nbbrkrqn/ppppp1pp/5p2/8/8/8/PPPPPPPP/RK4R1 w GAfd - 0 2";
    for word in ["O-O", "0-0", "b1g1", "Kg1"] {
        let (text, done, path) = typed(Case { fen, ..Case::default() }, word);
        done.unwrap();
        let game = saved(&path);
        assert!(moves(&game).starts_with("O-O ") && game.line.moves.len() == 2, "{word}: {text}");
        assert_eq!((game.tag("Variant"), game.tag("SetUp")), (Some("Chess960"), Some("1")));
    }
}

#[test]
fn bad_input_gets_one_line_and_ends_nothing() {
    let long = "x".repeat(1 << 20);
    let bad = ["e5", "Ke2", "\u{1b}[2J", "g8f6", "hint me", "♞x", long.as_str(), "--", "9"];
    let case = Case { ascii: true, ..Case::default() };
    let (text, done, path) = typed(case, &format!("{}\nsave\n\nnf3\n", bad.join("\n")));
    done.unwrap();
    assert_eq!(text.matches(" is no legal move here; expected one such as ").count(), bad.len());
    assert!(text.contains("expected the name of a file"), "{text}");
    assert!(text.len() < 4_000 && text.is_ascii() && !text.contains('\u{1b}'), "{text}");
    assert!(moves(&saved(&path)).starts_with("Nf3 "));
}

#[test]
fn a_game_that_ends_in_the_middle_is_saved_and_continued() {
    for interrupted in [false, true] {
        // An interrupt may come before the first line is read.
        let input = if interrupted { "" } else { "e4" };
        let case = Case { interrupted, black: interrupted, ..Case::default() };
        let (text, done, path) = typed(case, input);
        done.unwrap();
        if interrupted {
            assert!(!path.exists(), "there is nothing to save: {text}");
            continue;
        }
        assert!(
            text.contains(&format!("Saved in {}; mavka play --resume", path.display())),
            "{text}"
        );
        let case = Case { resumed: Some(&path), ..Case::default() };
        let (text, done, second) = typed(case, "moves\nNc3\nmoves\n");
        done.unwrap();
        let (first, second) = (saved(&path), saved(&second));
        assert_eq!((first.line.moves.len(), second.line.moves.len()), (2, 4), "{text}");
        assert!(moves(&second).starts_with(&moves(&first)), "{text}");
        assert!(text.contains("\n1. e4 ") && text.contains(" 2. Nc3 "), "{text}");
    }
}

#[test]
fn the_player_says_where_a_game_is_saved() {
    let named = new_file();
    let (text, done, other) =
        typed(Case::default(), &format!("e4\nquit\n/nowhere/game.pgn\n{}\n", named.display()));
    done.unwrap();
    assert!(text.contains("/nowhere does not exist") && !other.exists(), "{text}");
    assert_eq!(saved(&named).line.moves.len(), 2);
    let input = format!("e4\nsave {0}\nNf3\nquit\nsave {0}\n", named.display());
    let (text, done, other) = typed(Case::default(), &input);
    done.unwrap();
    assert!(text.ends_with(&format!("Saved in {}.\n", named.display())) && !other.exists());
    assert_eq!(saved(&named).line.moves.len(), 4, "each move is saved");
    let (text, done, _) = typed(Case::default(), "quit\ne4\n");
    done.unwrap();
    assert!(!text.contains("Save the game?") && !text.contains("Mavka: "), "{text}");
}

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

#[test]
fn hints_draws_and_resignation_are_answered() {
    let case = Case { level: Some(1200), ..Case::default() };
    let (text, done, path) = typed(case, "hint\ndraw\ne4\nhint\nresign\n");
    done.unwrap();
    assert_eq!(text.matches("Hint: ").count(), 2, "{text}");
    assert!(text.contains("it has not made a move yet") && text.contains("White resigns. 0-1"));
    let game = saved(&path);
    assert_eq!((game.result.as_str(), game.line.moves.len()), ("0-1", 2));
    assert_eq!(game.line.moves[1].comments, ["White resigns."]);
    // The engine is a queen behind, a queen ahead, and as good as even.
    for (fen, input, part) in [
        ("7k/8/8/8/8/1Q6/8/K7 w - - 0 1", "Ka2\ndraw\n", "Draw by agreement. 1/2-1/2"),
        ("7k/8/8/8/8/8/6q1/K7 w - - 0 1", "Kb1\ndraw\n", "Mavka declines.\n"),
        (START, "a3\nback\ne4\ndraw\n", "Mavka declines.\n"),
    ] {
        let (text, _, path) = typed(Case { fen, ..Case::default() }, input);
        assert_eq!(saved(&path).line.moves.len(), 2, "{text}");
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_clock_runs_out_and_is_kept_in_the_game() {
    let (sender, lines) = channel::unbounded();
    let types = |text: &str| (text == format!("{OVER}\n")).then(|| "quit".to_owned());
    let terminal =
        Terminal { text: String::new(), types: Some(Box::new(types)), sender: Some(sender) };
    let case = Case { time: Some("0.001s"), ..Case::default() };
    let (text, done, _) = session(case, terminal, &lines);
    done.unwrap();
    assert!(text.contains("White has no time left. 0-1"), "{text}");
    let case = Case { time: Some("5s+1s"), ..Case::default() };
    let (text, done, path) = typed(case, "e4\n");
    done.unwrap();
    assert!(text.contains("White 0:00:05, Black 0:00:05"), "{text}");
    let case = Case { resumed: Some(&path), ..case };
    let (text, _, second) = typed(case, "");
    let game = saved(&path);
    let _ = std::fs::remove_file(second);
    for made in &game.line.moves {
        assert!(clock_in(&made.comments.join(" ")).is_some(), "{:?}", made.comments);
    }
    let left = clock_text(clock_in(&game.line.moves[0].comments.join(" ")).unwrap());
    assert!(text.contains(&format!("White {left}, Black ")), "{text}");
}
