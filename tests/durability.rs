//! Commands that work for hours: killed at random moments and started again, started twice on one output, stopped by a full disk.
//! Each must end with the result of a run that was left alone. `MAVKA_KILLS=50` kills each command 50 times instead of once.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use mavka_tests::{Dice, write_random_games};
use nn::checkpoint::Network;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use train::data::FileReader;
use train::data::relabelled::{self, Relabelled};

/// Kills of each command where the environment does not say.
const KILLS: usize = 1;
/// Between two looks at a process.
const NAP: Duration = Duration::from_millis(1);

/// A command under test. It runs in a folder of its own, in which it finds its inputs.
struct Case {
    name: &'static str,
    program: &'static str,
    /// Its arguments; `{exe}` is the executable.
    words: &'static str,
    /// Writes the inputs.
    prepare: fn(&Path),
    /// The file that grows while it works.
    grows: &'static str,
    /// The file that is there only after the end, if any.
    ends: Option<&'static str>,
    /// The size of a full disk, relative to what was written before.
    room: f64,
    /// The whole records written so far. Later ones follow them.
    records: fn(&Path) -> Vec<String>,
    /// Compares a folder with that of a run that was left alone.
    check: fn(&Path, &Path),
}

/// A case with its folders.
struct Trial {
    case: Case,
    root: PathBuf,
    folders: usize,
    took: Duration,
}

impl Trial {
    fn folder(&mut self) -> PathBuf {
        self.folders += 1;
        let folder = self.root.join(self.folders.to_string());
        fs::create_dir_all(&folder).unwrap();
        (self.case.prepare)(&folder);
        folder
    }

    /// `before` comes in front of the command line, in a shell.
    fn start(&self, folder: &Path, before: &str) -> Child {
        let exe = env!("CARGO_BIN_EXE_mavka-executables");
        let words = self.case.words.replace("{exe}", exe);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before} exec {exe} {words}")]).current_dir(folder);
        command.env("MAVKA_EXECUTABLE", self.case.program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn finish(&self, folder: &Path) {
        let output = self.start(folder, "").wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {}", self.case.name, errors(&output).join("\n"));
    }

    fn records(&self, folder: &Path) -> Vec<String> {
        (self.case.records)(folder)
    }

    fn has_ended(&self, folder: &Path) -> bool {
        self.case.ends.is_some_and(|name| folder.join(name).exists())
            && !folder.join(self.case.grows).exists()
    }

    /// Starts it in a new folder and halts it when it has written something.
    fn halted(&mut self) -> (PathBuf, Child) {
        loop {
            let folder = self.folder();
            let mut child = self.start(&folder, "");
            while self.records(&folder).len() < 6 && child.try_wait().unwrap().is_none() {
                sleep(NAP);
            }
            signal(&child, "-STOP");
            // On a busy machine it may have ended before.
            if child.try_wait().unwrap().is_none() {
                return (folder, child);
            }
        }
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// A command's stderr without its progress and its cost.
fn errors(output: &Output) -> Vec<String> {
    let progress = |line: &str| {
        line.contains(" positions: about ")
            || line.split('/').all(|part| part.parse::<usize>().is_ok())
    };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().filter(|line| !progress(line)).map(str::to_owned).collect()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn survive(case: Case) {
    let root = std::env::temp_dir().join(format!("mavka-{}-{}", case.name, std::process::id()));
    let _ = fs::remove_dir_all(&root);
    let mut trial = Trial { case, root, folders: 0, took: Duration::ZERO };
    let reference = trial.folder();
    let begun = Instant::now();
    trial.finish(&reference);
    trial.took = begun.elapsed();
    (trial.case.check)(&reference, &reference);
    killed(&mut trial, &reference);
    two_at_once(&mut trial, &reference);
    full_disk(&mut trial, &reference);
    fs::remove_dir_all(&trial.root).unwrap();
}

/// Kills it at random moments until it has been killed often enough.
fn killed(trial: &mut Trial, reference: &Path) {
    let kills = std::env::var("MAVKA_KILLS").ok().and_then(|text| text.parse().ok());
    let kills = kills.unwrap_or(KILLS);
    let mut left = kills;
    let (mut dice, mut runs) = (Dice::new(left as u64), 0);
    while left > 0 {
        let folder = trial.folder();
        runs += 1;
        while left > 0 && !trial.has_ended(&folder) {
            let before = trial.records(&folder);
            let mut child = trial.start(&folder, "");
            let (begun, wait) = (Instant::now(), trial.took.mul_f64(dice.below(1000) as f64 / 1e3));
            while begun.elapsed() < wait && child.try_wait().unwrap().is_none() {
                sleep(NAP);
            }
            if let Some(status) = child.try_wait().unwrap() {
                // The first run was slower.
                trial.took = trial.took.min(begun.elapsed());
                assert!(
                    status.success(),
                    "{}",
                    errors(&child.wait_with_output().unwrap()).join("\n")
                );
                break;
            }
            kill(child);
            left -= 1;
            let after = trial.records(&folder);
            let kept = after.starts_with(&before) || trial.has_ended(&folder);
            assert!(kept, "{}: {before:#?} became {after:#?}", trial.case.name);
        }
        if !trial.has_ended(&folder) {
            trial.finish(&folder);
        }
        (trial.case.check)(&folder, reference);
    }
    println!("{}: {kills} kills in {runs} runs of {:?}", trial.case.name, trial.took);
}

fn two_at_once(trial: &mut Trial, reference: &Path) {
    let (folder, first) = trial.halted();
    let second = trial.start(&folder, "").wait_with_output().unwrap();
    signal(&first, "-CONT");
    let first = first.wait_with_output().unwrap();
    let said = errors(&second);
    assert!(!second.status.success(), "{}: the second ended well", trial.case.name);
    assert!(
        said.len() == 1 && said[0].contains("another process"),
        "{}: {said:#?}",
        trial.case.name
    );
    assert!(first.status.success(), "{}: {:#?}", trial.case.name, errors(&first));
    (trial.case.check)(&folder, reference);
}

/// A limit on the size of files stands for the disk: a write beyond it fails after a part of it is done.
fn full_disk(trial: &mut Trial, reference: &Path) {
    let (folder, child) = trial.halted();
    kill(child);
    let before = trial.records(&folder);
    let path = folder.join(trial.case.grows);
    let written = fs::metadata(&path).unwrap().len();
    // In dash's blocks.
    let blocks = (written as f64 * trial.case.room / 512.0) as u64;
    let limit = format!("ulimit -f {blocks};");
    let output = trial.start(&folder, &limit).wait_with_output().unwrap();
    let said = errors(&output);
    assert!(!output.status.success(), "{}: no error", trial.case.name);
    assert!(said.len() == 1 && said[0].contains("too large"), "{}: {said:#?}", trial.case.name);
    let after = trial.records(&folder);
    assert!(after.starts_with(&before), "{}: {before:#?} became {after:#?}", trial.case.name);
    let bytes = fs::read(&path).unwrap();
    let is_text = bytes.starts_with(before.concat().as_bytes());
    assert!(!is_text || bytes.ends_with(b"\n"), "{}: half a line is left", trial.case.name);
    let part = path.with_file_name(format!("{}.part", path.file_name().unwrap().display()));
    assert!(!part.exists(), "{} is left", part.display());
    trial.finish(&folder);
    (trial.case.check)(&folder, reference);
}

/// A log beyond the limit ends with a word to the GUI, and the engine answers as before.
#[test]
fn a_log_that_cannot_grow_ends_without_the_engine() {
    let log = std::env::temp_dir().join(format!("mavka-log-{}", std::process::id()));
    let _ = fs::remove_file(&log);
    let script = format!("ulimit -f 1; exec {}", env!("CARGO_BIN_EXE_mavka-executables"));
    let mut engine = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = format!(
        "setoption name Log File value {}\n{}quit\n",
        log.display(),
        "isready\n".repeat(100)
    );
    engine.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = engine.wait_with_output().unwrap();
    let written = fs::metadata(&log).unwrap().len();
    fs::remove_file(&log).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert_eq!(said.matches("readyok\n").count(), 100, "{said}");
    assert_eq!(said.matches("info string the log file ends here: ").count(), 1, "{said}");
    assert!(written <= 1024, "{written}");
}

/// The whole lines of a text; none if it is not there.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
}

fn assert_distinct(records: &[String]) {
    let distinct: BTreeSet<&String> = records.iter().collect();
    assert_eq!(distinct.len(), records.len(), "a record is there twice");
}

#[test]
fn label_keeps_every_position_once() {
    survive(Case {
        name: "label",
        program: "mavka-lab",
        words: "label games.mavg.zst --out labels --engine '{exe} uci' --option Search=alpha-beta --option Threads=1 \
                --option Hash=1 --best-nodes 2000 --move-nodes 100",
        prepare: |folder| write_random_games(&folder.join("games.mavg.zst")),
        grows: "labels",
        ends: None,
        room: 1.5,
        records: |folder| lines(&folder.join("labels")),
        check: |folder, reference| {
            let [mut found, mut expected] =
                [folder, reference].map(|folder| lines(&folder.join("labels")));
            assert_distinct(&found);
            found.sort();
            expected.sort();
            assert!(found == expected);
        },
    });
}

#[test]
fn leaves_keeps_every_chunk_once() {
    /// More than a chunk, less than two.
    const COUNT: usize = 2000;
    fn games(folder: &Path) -> Vec<String> {
        let Ok(reader) = FileReader::open(&folder.join("leaves")) else { return Vec::new() };
        reader.map_while(Result::ok).map(|game| format!("{game:?}")).collect()
    }
    survive(Case {
        name: "leaves",
        program: "mavka-lab",
        words: "leaves roots.epd --out leaves --count 2000 --of alpha-beta --depth 1 --looked-at 20 --engine '{exe} uci' \
                --option Search=alpha-beta --option Threads=1 --option Hash=1",
        prepare: |folder| {
            let roots = include_str!("../assets/papers/tcec_openings.epd");
            fs::write(folder.join("roots.epd"), roots).unwrap();
        },
        grows: "leaves",
        ends: None,
        room: 1.5,
        records: games,
        check: |folder, _| {
            assert!(games(folder).len() >= COUNT);
            // Every chunk is a frame of its own, and of other positions.
            let file = fs::read(folder.join("leaves")).unwrap();
            let starts = (0..file.len()).filter(|at| file[*at..].starts_with(b"\x28\xb5\x2f\xfd"));
            let starts: Vec<usize> = starts.chain([file.len()]).collect();
            let frames = starts.windows(2).map(|ends| format!("{:?}", &file[ends[0]..ends[1]]));
            assert_distinct(&frames.collect::<Vec<_>>());
            assert!(starts.len() > 3);
        },
    });
}

#[test]
fn relabel_keeps_every_position_once() {
    fn positions(folder: &Path) -> Vec<String> {
        let Ok(reader) = relabelled::open(&folder.join("both")) else { return Vec::new() };
        let whole = reader.map_while(Result::ok);
        // New labels depend on what the engine's hash table holds.
        let old = |both: Relabelled| {
            format!("{:?} {:?}", both.old.header.start, both.old.positions[0].played)
        };
        whole.map(old).collect()
    }
    survive(Case {
        name: "relabel",
        program: "mavka-lab",
        words: "relabel games.mavg.zst --out both --nodes 100 --depth 1 --engine '{exe} uci' --option Search=alpha-beta \
                --option Threads=1 --option Hash=1",
        prepare: |folder| write_random_games(&folder.join("games.mavg.zst")),
        grows: "both",
        ends: None,
        // The first of two chunks is two thirds of the positions.
        room: 1.2,
        records: positions,
        check: |folder, reference| {
            let found = positions(folder);
            assert!(found.len() > 1_400, "{}", found.len());
            assert!(found == positions(reference));
        },
    });
}

#[test]
fn analyse_writes_the_same_games() {
    survive(Case {
        name: "analyse",
        program: "mavka",
        words: "analyse games.pgn --out out.pgn --nodes 20 --threads 1",
        prepare: |folder| {
            let moves = "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Nxe4 6. Qe2 *\n\n";
            let other = moves.replace("3. Bb5 a6 4. Ba4", "3. Bc4 h6 4. Bb3");
            let games =
                [moves, &other].map(|moves| format!("[Event \"a\"]\n[Result \"*\"]\n\n{moves}"));
            fs::write(folder.join("games.pgn"), games.concat()).unwrap();
        },
        grows: "out.pgn.journal",
        ends: Some("out.pgn"),
        room: 1.5,
        records: |folder| lines(&folder.join("out.pgn.journal")),
        check: |folder, reference| {
            let [found, expected] = [folder, reference]
                .map(|folder| fs::read_to_string(folder.join("out.pgn")).unwrap());
            assert_eq!(found, expected);
            assert!(!folder.join("out.pgn.journal").exists());
        },
    });
}

#[test]
fn league_plays_every_game_once() {
    const GAMES: usize = 24;
    survive(Case {
        name: "league",
        program: "mavka-lab",
        words: "league plan.toml --out league",
        prepare: |folder| {
            let agents =
                ["a", "b", "c"].map(|name| format!("[[agent]]\nname = '{name}'\n")).concat();
            let plan = format!(
                "name = 'durable'\ngames = {GAMES}\nconcurrency = 2\nlimit = {{ nodes = 300 }}\nrules = {{ max-plies = 16 }}\n\
                 options = {{ Search = 'alpha-beta', Threads = 1, Hash = 1 }}\n{agents}"
            );
            fs::write(folder.join("plan.toml"), plan).unwrap();
        },
        grows: "league/games.jsonl",
        ends: None,
        room: 1.5,
        records: |folder| lines(&folder.join("league/games.jsonl")),
        check: |folder, _| {
            let lines = lines(&folder.join("league/games.jsonl"));
            let lines =
                lines.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            let (games, others): (Vec<_>, Vec<_>) =
                lines.partition(|line| line.get("game").is_some());
            assert_eq!((games.len(), others.len()), (GAMES, 1 + 3));
            let numbers = games
                .iter()
                .map(|game| format!("{} {}", game["game"]["pair"], game["game"]["game"]));
            assert_distinct(&numbers.collect::<Vec<_>>());
            assert!(
                games.iter().all(|game| game["game"]["guilty"].is_null()),
                "an engine is blamed for the kill"
            );
            let pgn = fs::read_to_string(folder.join("league/games.pgn")).unwrap();
            assert_eq!(pgn.matches("[Event ").count(), GAMES);
        },
    });
}

/// The games would take minutes.
#[test]
fn a_league_answers_ctrl_c_at_once_and_leaves_at_the_second() {
    let folder = std::env::temp_dir().join(format!("mavka-ctrl-c-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let agents = ["a", "b"].map(|name| format!("[[agent]]\nname = '{name}'\n")).concat();
    let plan = format!(
        "name = 'slow'\ngames = 2\nlimit = {{ movetime = 60000 }}\n\
         options = {{ Search = 'alpha-beta', Threads = 1, Hash = 1 }}\n{agents}"
    );
    fs::write(folder.join("plan.toml"), plan).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mavka-executables"));
    command.args(["league", "plan.toml", "--out", "league"]).current_dir(&folder);
    command.env("MAVKA_EXECUTABLE", "mavka-lab").stdin(Stdio::null()).stderr(Stdio::piped());
    let mut league = command.stdout(Stdio::null()).spawn().unwrap();
    // A game has begun once an engine runs; before that the league would end by itself.
    let children = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children"));
    let plays = |league: &Child| {
        let threads = fs::read_dir(format!("/proc/{}/task", league.id())).unwrap();
        threads.flatten().any(|thread| children(thread).is_ok_and(|pids| !pids.is_empty()))
    };
    while !plays(&league) {
        assert!(league.try_wait().unwrap().is_none(), "the league has ended");
        sleep(NAP);
    }
    signal(&league, "-INT");
    let mut errors = BufReader::new(league.stderr.take().unwrap()).lines();
    let answer = errors.find(|line| line.as_ref().is_ok_and(|line| line.contains("Ctrl-C again")));
    assert!(answer.is_some());
    signal(&league, "-INT");
    assert_eq!(league.wait().unwrap().code(), Some(130));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn train_goes_through_every_step_once() {
    /// Rows up to the checkpoint without their losses: what follows is trained again.
    fn rows(folder: &Path) -> Vec<String> {
        let state = fs::read(folder.join("run/state.safetensors")).unwrap_or_default();
        let state = String::from_utf8_lossy(&state);
        let step = state
            .split_once("\"step\":\"")
            .and_then(|(_, rest)| rest.split('"').next()?.parse().ok());
        let row = |line: String| {
            let words: Vec<&str> = line.split(',').take(3).collect();
            (words[0].parse::<u64>().ok()? <= step?).then(|| words.join(","))
        };
        lines(&folder.join("run/losses.csv")).into_iter().filter_map(row).collect()
    }
    survive(Case {
        name: "train",
        program: "mavka-lab",
        words: "train --folder run --config config.json --data games.mavg.zst --threads 1 --arithmetic single \
                --checkpoint-minutes 0.001",
        prepare: |folder| {
            write_random_games(&folder.join("games.mavg.zst"));
            let config = r#"{
                "network": {"width": 8, "layers": 1, "heads": 2, "ffn": 8, "policy_dim": 4, "action_dim": 4,
                    "legality_dim": 4, "value_channels": 2, "value_hidden": 4},
                "buffer": 100, "batch": 8, "schedule": {"examples": 4000}
            }"#;
            fs::write(folder.join("config.json"), config).unwrap();
        },
        grows: "run/state.safetensors",
        ends: None,
        room: 0.5,
        records: rows,
        check: |folder, reference| {
            let [found, expected] = [folder, reference].map(rows);
            assert_eq!(found.len(), 500 / 20);
            assert_eq!(found, expected);
            // Resumed training draws other examples of the data: another network of the same sizes.
            let networks = [folder, reference]
                .map(|folder| Network::load(&folder.join("run/network.safetensors")).unwrap());
            assert_eq!(networks[0].layout.config, networks[1].layout.config);
        },
    });
}
