//! The files of both command lines: no output is an input, another output, or anything but a regular file.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use clap::{Command, CommandFactory};
use engine::command::paths;
use std::fs;

/// A program, its command line, and the exceptions of its check.
type Program = (&'static str, fn() -> Command, &'static [(&'static str, &'static str)]);

const MAVKA: Program = ("mavka", engine::command::Cli::command, &engine::command::UNCHECKED);
const LAB: Program = ("mavka-lab", lab::command::Cli::command, &lab::command::UNCHECKED);

/// Error of the files of a command line, empty without one.
fn refused((name, command, unchecked): Program, words: &str) -> String {
    let words = [name].into_iter().chain(words.split_whitespace());
    let matches = command().try_get_matches_from(words).unwrap();
    paths::check(&matches, unchecked).err().map(|why| why.to_string()).unwrap_or_default()
}

/// A new path argument must be listed here, an output in `paths`, too.
#[test]
fn every_path_is_known_as_an_input_or_an_output() {
    let known = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let inputs = ["files", "read", "resume", "weights", "writer"];
    let outputs = ["csv", "html", "out", "plot", "save", "svg"];
    assert_eq!(paths::arguments(&MAVKA.1()), known(&[&inputs[..], &outputs].concat()));
    let inputs = [
        "against",
        "config",
        "data",
        "exclude",
        "file",
        "files",
        "folder",
        "init",
        "judge",
        "judged",
        "kinds",
        "labels",
        "measure",
        "merge",
        "openings",
        "puzzles",
        "rewards",
        "samples",
        "successors",
        "teacher",
        "weights",
        "writer",
    ];
    let outputs = ["clocks", "csv", "failures", "out", "pgn", "plot"];
    assert_eq!(paths::arguments(&LAB.1()), known(&[&inputs[..], &outputs].concat()));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_named_before_the_work() {
    let folder = std::env::temp_dir().join(format!("mavka-paths-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("below")).unwrap();
    fs::write(folder.join("old"), "").unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("fifo")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    for (link, target) in [("link", "old"), ("pipe", "fifo")] {
        std::os::unix::fs::symlink(target, folder.join(link)).unwrap();
    }
    let commands = [
        (MAVKA, "analyse a --out"),
        (MAVKA, "analyse a --html"),
        (MAVKA, "analyse a --player p --csv"),
        (MAVKA, "eval startpos --plot"),
        (MAVKA, "play --save"),
        (MAVKA, "think startpos --svg"),
        (LAB, "accuracy a --csv"),
        (LAB, "accuracy a --plot"),
        (LAB, "evalbench --plot"),
        (LAB, "imagination a --plot"),
        (LAB, "label a --engine e --out"),
        (LAB, "leaves a --engine e --out"),
        (LAB, "match --nodes 1 --clocks"),
        (LAB, "match --nodes 1 --csv"),
        (LAB, "match --nodes 1 --pgn"),
        (LAB, "puzzles a --failures"),
        (LAB, "puzzles a --plot"),
        (LAB, "relabel a --engine e --out"),
        (LAB, "team a --plot"),
        (LAB, "train --folder f --stages --plot"),
        (LAB, "train-nnue --data a --out"),
        (LAB, "train-writer --csv c --out"),
        (LAB, "treebench --plot"),
        (LAB, "tune a --plot"),
    ];
    for (program, words) in commands {
        for (name, fault) in [
            ("new", ""),
            ("link", ""),
            ("fifo", "a FIFO"),
            ("pipe", "a FIFO"),
            ("below", "a folder"),
            ("/dev/null", "a device"),
            ("/dev/full", "a device"),
            ("absent/file", "absent does not exist"),
        ] {
            let why = refused(program, &format!("{words} {}", folder.join(name).display()));
            assert_eq!(why.is_empty(), fault.is_empty(), "{words} {name}: {why}");
            let (_, argument) = words.rsplit_once(' ').unwrap();
            assert!(why.contains(fault), "{words} {name}: {why}");
            assert!(fault.is_empty() || why.starts_with(argument), "{words} {name}: {why}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 5, "nothing is left or made");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn standard_output_is_no_output_file() {
    for (program, words) in
        [(MAVKA, "analyse a --out -"), (MAVKA, "play --save -"), (LAB, "tune a --plot -")]
    {
        let why = refused(program, words);
        assert!(why.contains("standard output is no file; expected a file's name"), "{why}");
    }
}

#[test]
fn outputs_of_any_command_are_neither_inputs_nor_each_other() {
    for (program, words) in [
        (MAVKA, "think startpos --read a --svg a"),
        (MAVKA, "analyse a --html a"),
        (MAVKA, "analyse a --out b --html b"),
        (MAVKA, "analyse a.part --out a"),
        (LAB, "tune labels --plot labels"),
        (LAB, "accuracy labels --csv a --plot ./a"),
        (LAB, "puzzles a.csv --failures data/../a.csv"),
        (LAB, "train-nnue --data a --out a"),
        (LAB, "match --first-nodes 1 --second-nodes 1 --openings a --pgn a"),
    ] {
        assert!(refused(program, words).contains("would overwrite"), "{words}");
    }
    assert!(refused(MAVKA, "eval startpos --plot transcripts").contains("is a folder"));
    for (program, words) in [
        (MAVKA, ""),
        (MAVKA, "uci"),
        (MAVKA, "man --out transcripts"),
        (LAB, "uci"),
        (LAB, "accuracy labels --csv a --plot b"),
        (LAB, "train-nnue --data a --init b --out b"),
        (LAB, "league data/a --out data"),
    ] {
        assert_eq!(refused(program, words), "", "{words}");
    }
}
