//! `mavka` started by hand, and `mavka play` as a process: input that ends, Ctrl-C, files.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::pgn::{PgnEntry, open_games};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A folder of this test alone.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mavka-terminal-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn start(folder: &Path, words: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mavka-executables"));
    command.args(words.split_whitespace()).current_dir(folder).env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn run(folder: &Path, words: &str, input: &str) -> Output {
    let mut child = start(folder, words);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// The plies and the result of the last game in a file.
fn last_game(path: &Path) -> (usize, String) {
    match open_games(path, 1).unwrap().last().unwrap().unwrap() {
        PgnEntry::Game(game) => (game.line.moves.len(), game.result),
        PgnEntry::Unreadable { raw, .. } => panic!("{raw}"),
    }
}

#[test]
fn a_gui_sees_nothing_of_the_welcome_and_a_terminal_two_lines() {
    let folder = folder("welcome");
    for words in ["", "uci"] {
        let done = run(&folder, words, "quit\n");
        assert_eq!((done.stdout.len(), done.stderr.len()), (0, 0), "{words}: {done:?}");
    }
    // A pseudo-terminal as standard input; the other two are files.
    let inner = format!("{} >out 2>err", env!("CARGO_BIN_EXE_mavka-executables"));
    let mut command = Command::new("script");
    command.args(["-qec", &inner, "/dev/null"]).current_dir(&folder).stdin(Stdio::piped());
    let Ok(mut child) = command.stdout(Stdio::null()).spawn() else {
        println!("skipped: no script (util-linux), which makes a pseudo-terminal");
        return;
    };
    child.stdin.take().unwrap().write_all(b"quit\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(folder.join("out")).unwrap(), "");
    let welcome = fs::read_to_string(folder.join("err")).unwrap();
    assert_eq!(welcome.lines().count(), 2, "{welcome}");
    assert!(welcome.contains("UCI engine") && welcome.contains("mavka play"), "{welcome}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_game_is_saved_at_ctrl_c_and_continued() {
    let folder = folder("interrupt");
    let options = "--option Threads=1 --option Hash=16 --nodes 20";
    let mut child = start(&folder, &format!("play --elo 1500 {options} --color black"));
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The board after the first move: the process waits for a line.
    assert!(shown.any(|line| line.starts_with("Mavka: 1. ")));
    assert!(shown.any(|line| line.contains("h g f e d c b a")));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let last = shown.last().unwrap();
    assert!(child.wait().unwrap().success());
    let name = last.strip_prefix("Saved in ").and_then(|rest| rest.split(';').next());
    let path = folder.join(name.unwrap_or_else(|| panic!("{last}")));
    assert_eq!(last_game(&path), (1, "*".to_owned()));

    let words = format!("play {options} --resume {}", path.display());
    let done = run(&folder, &words, "take back\nhello\na6\nresign\n");
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{text}");
    assert!(text.starts_with("You are Black, Mavka plays at 1500 Elo.\n"), "{text}");
    assert!(text.is_ascii() && text.contains("`hello` is no legal move"), "{text}");
    assert_eq!(last_game(&path), (3, "1-0".to_owned()), "{text}");
    let again = run(&folder, &words, "");
    let why = String::from_utf8(again.stderr).unwrap();
    assert!(!again.status.success() && why.contains("expected one in progress"), "{why}");

    let words = format!("play {options} --chess960 0 --save {}", path.display());
    run(&folder, &words, "a4\n");
    assert_eq!(last_game(&path), (2, "*".to_owned()));
    let games = open_games(&path, 1).unwrap().count();
    assert_eq!((games, fs::read_dir(&folder).unwrap().count()), (2, 1), "one file of two games");
    fs::remove_dir_all(folder).unwrap();
}
