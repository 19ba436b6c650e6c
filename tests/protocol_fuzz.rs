//! Random talk, sensible and not, from fixed seeds. Whatever is said, the engine answers `isready`,
//! gives exactly one `bestmove` for each `go`, and ends when the input does.
//!
//! `MAVKA_FUZZ_SEQUENCES=5000` says how many sequences of commands are tried in this process; one in twenty of as many goes
//! through the executable.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::process::streams::LONGEST_LINE;
use mavka_tests::{Dice, Session, setup};
use nn::evaluator::fake::{Breakdown, Failing, Hashed};

/// Sequences where the environment does not say.
const SEQUENCES: usize = 60;
/// Sequences in this process for each one through the executable.
const IN_PROCESS: usize = 20;

const LINES: &[&str] = &[
    "uci",
    "debug on",
    "debug off",
    "debug",
    "ucinewgame",
    "stop",
    "stop",
    "ponderhit",
    "register later",
    "position startpos",
    "position startpos moves e2e4 e7e5 g1f3",
    "position startpos moves e2e4 e7e9 g1f3",
    "position startpos moves e2e5",
    "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
    "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 moves e1g1 e8a8",
    "position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
    "position fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1",
    "position fen 8/8/8/8/8/8/8/K6k w - - 0 1",
    "position fen k7/8/1K6/8/8/8/8/7R w - - 99 120",
    "position fen bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "position",
    "position fen",
    "position startpos moves",
    "go",
    "go infinite",
    "go ponder wtime 1000 btime 1000",
    "go ponder",
    "go nodes 1",
    "go nodes 50",
    "go nodes 0",
    "go nodes 99999999999999999999999",
    "go depth 1",
    "go depth 300",
    "go mate 1",
    "go movetime 1",
    "go movetime -5",
    "go wtime 20 btime 20",
    "go wtime -1 btime -1",
    "go wtime 100 btime 100 movestogo 0 winc 5 binc 5",
    "go wtime 9223372036854775807 btime 1 nodes 20",
    "go searchmoves e2e4 d2d4 nodes 20",
    "go searchmoves a1a1 nodes 20",
    "go perft 2",
    "go depth nonsense nodes 10",
    "setoption name Hash value 1",
    "setoption name Hash value nonsense",
    "setoption name MultiPV value 5",
    "setoption name MultiPV value 500",
    "setoption name Threads value 1",
    "setoption name Threads value 3",
    "setoption name UCI_Chess960 value true",
    "setoption name UCI_ShowWDL value true",
    "setoption name Search value policy",
    "setoption name Search value action-value",
    "setoption name Search value state-value",
    "setoption name Search value mcts",
    "setoption name Scoring value max",
    "setoption name Temperature value 0.5",
    "setoption name Seed value 3",
    "position startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1",
    "setoption name Clear Hash",
    "setoption name",
    "setoption name No Such Option value 3",
    "d",
];

/// Sequences to try.
fn sequences() -> usize {
    std::env::var("MAVKA_FUZZ_SEQUENCES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SEQUENCES)
}

/// A line with its end, sound or damaged.
fn line(dice: &mut Dice, lines: &[&str]) -> Vec<u8> {
    let mut line = dice.pick(lines).as_bytes().to_vec();
    let place = dice.below(line.len() + 1);
    match dice.below(14) {
        0 => {
            line = b"#".to_vec();
            line.extend((0..dice.below(60)).map(|_| dice.below(256) as u8));
        }
        1 => {
            // A word dropped or doubled.
            let mut words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
            let at = dice.below(words.len());
            if dice.below(2) == 0 {
                words.insert(at, words[at]);
            } else {
                words.remove(at);
            }
            line = words.join(&b' ');
        }
        2 => line.push(b'\r'),
        // NUL, bytes that begin or continue no UTF-8, a carriage return alone.
        3 => line.insert(place, *dice.pick(&[0, 0xff, 0x80, 0xc3, b'\r', b'\t'])),
        4 if place < line.len() => {
            line.remove(place);
        }
        5 if dice.below(20) == 0 => {
            let filler = *dice.pick(&[b' ', b'7', 0, 0xff]);
            line.resize(LONGEST_LINE + dice.below(LONGEST_LINE), filler);
        }
        _ => {}
    }
    line.push(b'\n');
    line
}

/// Increasing places to cut `length` bytes at.
fn places(dice: &mut Dice, length: usize) -> Vec<usize> {
    let count = dice.below(4) * dice.below(8);
    let mut places: Vec<usize> = (0..count).map(|_| dice.below(length + 1)).collect();
    places.sort_unstable();
    places
}

fn talk(seed: u64, lines: usize, mut session: Session) {
    let mut dice = Dice::new(seed);
    for count in 0..lines {
        let line = line(&mut dice, LINES);
        session.send_cut(&line, &places(&mut dice, line.len()));
        if count % 25 == 24 {
            session.send("isready");
            session.drain_until_ready();
        }
    }
    // The end of the input may come in the middle of a line.
    let mut last = line(&mut dice, LINES);
    last.truncate(dice.below(last.len()));
    session.send_bytes(&last);
    session.finish();
}

#[test]
fn a_healthy_engine_survives_any_talk() {
    for seed in 0..6 {
        talk(seed, 150, Session::start(setup(Hashed { seed })));
    }
}

#[test]
fn many_short_talks_are_survived() {
    for seed in 0..sequences() as u64 {
        talk(seed + 1000, 12, Session::start(setup(Hashed { seed })));
    }
}

#[test]
fn a_failing_network_costs_no_answer() {
    for (seed, how) in [Breakdown::Error, Breakdown::NotANumber, Breakdown::Short, Breakdown::Panic]
        .into_iter()
        .enumerate()
    {
        let seed = seed as u64 + 100;
        talk(seed, 80, Session::start(setup(Failing::after(seed % 7 + 2, how))));
    }
}

/// The executable, through streams that do not block on its side, or do.
#[cfg(unix)]
mod processes {
    use super::*;
    use engine::process::streams::for_each_line;
    use mavka_tests::PATIENCE;
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::process::{Child, Command, ExitStatus, Stdio};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    /// How a sequence ends.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum End {
        Line,
        MidLine,
        Quit,
        Signal,
    }

    /// Our end of a stream and the engine's.
    fn pair(dice: &mut Dice) -> (UnixStream, Stdio) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(dice.below(4) > 0).unwrap();
        (ours, OwnedFd::from(theirs).into())
    }

    /// All output. Each message on `pauses` has it stop reading until the next one.
    fn read(mut output: UnixStream, pauses: &Receiver<()>) -> Vec<u8> {
        let (mut all, mut part) = (Vec::new(), [0; 4096]);
        loop {
            if pauses.try_recv().is_ok() {
                // A sender that is gone ends the pause, too.
                let _ = pauses.recv();
            }
            match output.read(&mut part) {
                Ok(0) | Err(_) => return all,
                Ok(count) => all.extend_from_slice(&part[..count]),
            }
        }
    }

    fn ended(engine: &mut Child) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = engine.try_wait().unwrap() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        let _ = engine.kill();
        None
    }

    /// Searches and `isready` in `input`, up to `quit`.
    fn owed(input: &[u8]) -> [usize; 2] {
        let mut owed = [0; 2];
        for_each_line(input, |line| {
            match uci::parse(&String::from_utf8_lossy(line)) {
                Some((uci::Command::Go(go), _)) => owed[0] += usize::from(go.perft.is_none()),
                Some((uci::Command::IsReady, _)) => owed[1] += 1,
                Some((uci::Command::Quit, _)) => return false,
                _ => {}
            }
            true
        });
        owed
    }

    fn sequence(seed: u64, lines: &[&str]) {
        let mut dice = Dice::new(seed);
        let ((mut to_engine, stdin), (from_engine, stdout)) = (pair(&mut dice), pair(&mut dice));
        let mut engine = Command::new(env!("CARGO_BIN_EXE_mavka-executables"))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (pause, pauses): (Sender<()>, _) = channel();
        let reader = thread::spawn(move || read(from_engine, &pauses));
        let end = *dice.pick(&[End::Line, End::MidLine, End::Quit, End::Signal]);
        let mut input = Vec::new();
        for _ in 0..dice.below(20) {
            match dice.below(10) {
                // The reader ends with the engine.
                0 => drop(pause.send(())),
                // More than the stream holds, while the reader may be halted.
                1 => input.extend(b"uci\n".repeat(60)),
                _ => {}
            }
            input.extend(line(&mut dice, lines));
        }
        match end {
            End::Line | End::Signal => {}
            End::MidLine => input.extend(&b"go nodes 3"[..dice.below(11)]),
            End::Quit => input.extend(b"quit\ngo nodes 1\n"),
        }
        let mut from = 0;
        for place in places(&mut dice, input.len()).into_iter().chain([input.len()]) {
            // After `quit` the stream may be closed.
            let _ = to_engine.write_all(&input[from..place]);
            from = place;
        }
        if end == End::Signal {
            let kill = Command::new("kill").args(["-TERM", &engine.id().to_string()]).status();
            assert!(kill.unwrap().success());
        }
        drop((to_engine, pause));
        let status = ended(&mut engine);
        let output = String::from_utf8_lossy(&reader.join().unwrap()).into_owned();
        let about = || {
            let tail = input.len().saturating_sub(3000);
            format!(
                "{seed}, {end:?}, {status:?}\n{}\n{output}",
                String::from_utf8_lossy(&input[tail..])
            )
        };
        let count =
            |word: &str| output.lines().filter(|line| line.split(' ').next() == Some(word)).count();
        let (found, owed) = ([count("bestmove"), count("readyok")], owed(&input));
        let Some(status) = status else { panic!("it does not end: {}", about()) };
        if end == End::Signal {
            assert!(found[0] <= owed[0] && found[1] <= owed[1], "{}", about());
        } else {
            assert!(status.success() && found == owed, "{found:?} of {owed:?}: {}", about());
            assert!(output.is_empty() || output.ends_with('\n'), "{}", about());
        }
    }

    #[test]
    fn the_executable_survives_any_talk() {
        let folder = std::env::temp_dir().join(format!("mavka-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let fifo = folder.join("KQvK.rtbw");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let odd = [fifo.as_path(), Path::new("/dev/zero"), &folder, Path::new("/dev/full")];
        let options = ["WeightsFile", "Log File", "SyzygyPath"].into_iter().flat_map(|name| {
            odd.map(|path| format!("setoption name {name} value {}", path.display()))
        });
        let options: Vec<String> = options.collect();
        let lines: Vec<&str> =
            LINES.iter().copied().chain(options.iter().map(String::as_str)).collect();
        for seed in 0..sequences().div_ceil(IN_PROCESS) as u64 {
            sequence(seed, &lines);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Exit status and output of a command line in a shell; `{}` is the executable.
    fn shell(program: &str, words: &str) -> (Option<i32>, String) {
        let words = words.replace("{}", env!("CARGO_BIN_EXE_mavka-executables"));
        let mut command = Command::new("sh");
        command.args(["-c", &words]).env("MAVKA_EXECUTABLE", program);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    }

    #[test]
    fn closed_and_full_streams_end_no_command() {
        for stderr in ["2>&-", "2>/dev/full", "2>&1 | true"] {
            for (program, words, status) in [
                ("mavka", "{} eval nonsense", 1),
                ("mavka", "{} options", 0),
                ("mavka", "{} perft startpos 1", 0),
                ("mavka", "echo 'go nodes 1' | MAVKA_LOG=trace {} uci", 0),
                ("mavka-lab", "{} puzzles /no/such/file", 1),
                ("mavka-lab", "{} match --nodes 1 --first /no/such/engine", 1),
            ] {
                // In a pipe the status is that of `true`.
                let status = if stderr.contains('|') { 0 } else { status };
                let line = format!("{words} {stderr}");
                assert_eq!(shell(program, &line).0, Some(status), "{line}");
            }
        }
        let (status, page) = shell("mavka", "{} man | cat");
        assert!(status == Some(0) && page.contains(".TH mavka"), "{page}");
        for words in ["{} man", "{} options --all", "{} completions bash", "{} man --help"] {
            // The program's status goes around the pipe, whose reader is gone at once.
            let line = format!("exec 3>&1; {{ {words} 2>&1; echo $? >&3; }} | true");
            assert_eq!(shell("mavka", &line).1.trim(), "0", "{words}");
        }
    }

    /// Every kind of file in place of an output: named, kept, and before the work begins.
    #[test]
    fn an_output_that_cannot_be_written_is_named_and_kept() {
        let folder = std::env::temp_dir().join(format!("mavka-places-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("below")).unwrap();
        std::fs::write(folder.join("game.pgn"), "1. e4 *\n").unwrap();
        let fifo = folder.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let at = |name: &str| folder.join(name).display().to_string();
        let game = at("game.pgn");
        for (words, argument) in [
            (format!("{{}} analyse {game} --nodes 1 --out"), "--out"),
            (format!("{{}} analyse {game} --nodes 1 --html"), "--html"),
            ("{} eval startpos --plot".to_owned(), "--plot"),
            ("{} think startpos --by-hand --svg".to_owned(), "--svg"),
        ] {
            for (name, fault) in [
                ("fifo", "a FIFO"),
                ("below", "a folder"),
                ("/dev/full", "a device"),
                ("/dev/null", "a device"),
                ("absent/file", "does not exist"),
            ] {
                let (status, text) = shell("mavka", &format!("{words} {} 2>&1", at(name)));
                assert_eq!(status, Some(1), "{words} {name}: {text}");
                assert!(text.contains(argument) && text.contains(fault), "{words} {name}: {text}");
                assert_eq!(text.lines().count(), 1, "{text}");
            }
        }
        // Through a link, which stays.
        std::os::unix::fs::symlink("target.svg", folder.join("link.svg")).unwrap();
        let (status, text) =
            shell("mavka", &format!("{{}} eval startpos --plot {}", at("link.svg")));
        assert_eq!(status, Some(0), "{text}");
        assert!(folder.join("link.svg").is_symlink() && folder.join("target.svg").is_file());
        let mut left: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["below", "fifo", "game.pgn", "link.svg", "target.svg"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
