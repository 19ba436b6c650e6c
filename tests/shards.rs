//! Work shared out to two processes by `--shard`: the parts together are the whole.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mavka-shards-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn start(folder: &Path, program: &str, words: &[&str]) -> Child {
    let exe = env!("CARGO_BIN_EXE_mavka-executables");
    let words = words.iter().map(|word| word.replace("{exe}", exe));
    let mut command = Command::new(exe);
    command.args(words).current_dir(folder).env("MAVKA_EXECUTABLE", program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a command as a whole and as two parts at the same time; `out` is put where its output goes.
fn whole_and_parts(folder: &Path, program: &str, words: &[&str]) {
    let run = |out: &str, more: &[&str]| start(folder, program, &[words, &[out], more].concat());
    finish(run("whole", &[]));
    let parts = [run("part1", &["--shard", "1/2"]), run("part2", &["--shard", "2/2"])];
    parts.into_iter().for_each(finish);
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn analysed_parts_in_order_are_the_whole() {
    let folder = folder("analyse");
    let game = |n: usize, moves: &str| format!("[Event \"{n}\"]\n[Result \"*\"]\n\n{moves} *\n\n");
    let moves = ["1. e4 e5 2. Nf3", "1. d4 d5 2. c4", "no game", "1. c4 e5 2. Nc3", "1. Nf3 d5"];
    let games: String = moves.iter().enumerate().map(|(n, moves)| game(n, moves)).collect();
    fs::write(folder.join("games.pgn"), games).unwrap();
    let words = ["analyse", "games.pgn", "--nodes", "20", "--threads", "1", "--out"];
    whole_and_parts(&folder, "mavka", &words);
    let [whole, first, second] = ["whole", "part1", "part2"].map(|name| text(&folder, name));
    assert_eq!(first.matches("[Event ").count(), 2);
    assert_eq!(first + &second, whole);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn labels_of_the_parts_are_those_of_the_whole() {
    let folder = folder("label");
    mavka_tests::write_random_games(&folder.join("games.mavg.zst"));
    let engine = "{exe} uci --show-hidden";
    let words = [
        "label",
        "games.mavg.zst",
        "--limit",
        "12",
        "--engine",
        engine,
        "--option",
        "Search=alpha-beta",
        "--option",
        "Threads=1",
        "--option",
        "Hash=1",
        "--best-nodes",
        "500",
        "--move-nodes",
        "50",
        "--out",
    ];
    whole_and_parts(&folder, "mavka-lab", &words);
    let lines = |text: String| -> Vec<String> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines.dedup();
        lines
    };
    let whole = lines(text(&folder, "whole"));
    let parts = text(&folder, "part1") + &text(&folder, "part2");
    assert!(whole.len() > 4, "{whole:?}");
    assert_eq!(lines(parts.clone()), whole);
    // The parts put behind one another are a file of labels: nothing is left to do.
    fs::write(folder.join("all"), &parts).unwrap();
    finish(start(&folder, "mavka-lab", &[&words[..], &["all"]].concat()));
    assert_eq!(text(&folder, "all"), parts);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn games_of_a_leagues_parts_are_merged() {
    let folder = folder("league");
    let agents: String =
        ["a", "b", "c"].map(|name| format!("[[agent]]\nname = '{name}'\n")).concat();
    let plan = format!(
        "name = 'parts'\ngames = 10\nlimit = {{ nodes = 300 }}\nrules = {{ max-plies = 16 }}\n\
         options = {{ Search = 'alpha-beta', Threads = 1, Hash = 1 }}\n{agents}"
    );
    fs::write(folder.join("plan.toml"), plan).unwrap();
    let parts = ["1/2", "2/2"].map(|shard| {
        let out = format!("part{}", &shard[..1]);
        start(&folder, "mavka-lab", &["league", "plan.toml", "--shard", shard, "--out", &out])
    });
    parts.into_iter().for_each(finish);
    let games = |out: &str| text(&folder, &format!("{out}/games.pgn")).matches("[Event ").count();
    assert_eq!([games("part1"), games("part2")], [6, 4]);
    // The second time there is nothing new.
    for _ in 0..2 {
        let words = ["league", "plan.toml", "--out", "all", "--merge", "part1", "part2"];
        finish(start(&folder, "mavka-lab", &words));
        assert_eq!(games("all"), 10);
    }
    fs::remove_dir_all(&folder).unwrap();
}
