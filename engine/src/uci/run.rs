//! The loop between GUI and engine: lines in, lines out, until `quit` or the end of either pipe.
//!
//! One thread reads, so that the time at which a line was received is known, and logged, even while the engine
//! ends an older search; this thread obeys. Nothing a GUI writes ends the loop but `quit`. A `go` that is sent before a search with
//! a limit has ended waits for that search's answer, as in Stockfish; one without a limit is ended by it.

use crate::bench;
use crate::eval::table::{board, table};
use crate::options::{self, Shown};
use crate::output::{InputLog, Output};
use crate::play::engine::Engine;
use crate::play::setup::Setup;
use crate::process::streams::for_each_line;
use crossbeam::channel::{self, Sender, select};
use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::time::Duration;
use uci::{Command, IdLine, Info};

/// Lines waiting while the engine is busy.
const QUEUE: usize = 4096;

/// Speaks UCI with this executable's own network and clock.
pub fn run(input: impl BufRead + Send + 'static, output: impl Write + Send + 'static) {
    run_with(Setup::default(), input, output);
}

/// Speaks UCI with the given clock and networks. Returns after `quit`, at the end of `input`, or when
/// `output` can no longer be written to; no search is left running.
pub fn run_with(
    setup: Setup,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) {
    let (lines_in, lines) = channel::bounded(QUEUE);
    let (hangup, hung_up) = channel::bounded(1);
    let output = Output::new(Box::new(output), setup.clock.clone(), hangup);
    let log = output.input_log();
    // Not joined: it may be blocked in a read that never returns when the writing end went first.
    let reader = std::thread::Builder::new().name("reader".to_owned());
    if let Err(why) = reader.spawn(move || read_lines(input, &lines_in, &log)) {
        return output.note(format_args!("the system gives no thread: {why}"));
    }
    let engine = Engine::new(setup, output.clone());
    let ended = engine.ended();
    let mut protocol = Protocol { engine, output, held: VecDeque::new() };
    loop {
        let line = select! {
            recv(hung_up) -> _ => break,
            recv(ended) -> number => {
                number.iter().for_each(|number| protocol.engine.take_back(*number));
                protocol.obey_held();
                continue;
            }
            recv(lines) -> line => line,
        };
        let Ok((received, line)) = line else { break };
        protocol.output.obeying();
        if !protocol.take(&line, received) {
            break;
        }
    }
    protocol.end();
}

/// Obeys commands in their order. A search that a limit ends keeps the next `go` waiting, and what comes after that.
struct Protocol {
    engine: Engine,
    output: Output,
    /// Commands that wait for the end of a search.
    held: VecDeque<Command>,
}

impl Protocol {
    /// Takes one line. False for `quit`.
    fn take(&mut self, line: &str, received: Duration) -> bool {
        let Some((command, notes)) = uci::parse(line) else { return true };
        for note in notes {
            self.output.note(note);
        }
        match command {
            // A GUI may ask for these at any time.
            Command::Uci | Command::IsReady | Command::Debug(_) | Command::PonderHit => {}
            Command::Quit => return false,
            Command::Stop => {
                self.engine.stop();
                // The searches to come were sent before it, and it ends them, too.
                if !self.held.is_empty() {
                    self.held.push_back(Command::Stop);
                }
                return true;
            }
            _ if self.held.is_empty() && !self.must_wait(&command) => {}
            _ if self.held.len() < QUEUE => {
                self.held.push_back(command);
                return true;
            }
            _ => self.engine.wait(),
        }
        obey(&mut self.engine, &self.output, command, received);
        true
    }

    /// The command would end a search that is to end by itself.
    fn must_wait(&self, command: &Command) -> bool {
        matches!(command, Command::Go(_) | Command::UciNewGame)
            && self.engine.is_in_limited_search()
    }

    /// A search has ended: obeys what waited for that, up to the next search.
    fn obey_held(&mut self) {
        while let Some(command) = self.held.front() {
            if self.must_wait(command) {
                return;
            }
            if let Some(command) = self.held.pop_front() {
                // Its time begins now, not while it waited.
                let received = self.engine.now();
                obey(&mut self.engine, &self.output, command, received);
            }
        }
    }

    /// Answers all that is owed, at once: a GUI may not read it any more, but a shell's pipe does.
    fn end(mut self) {
        self.engine.stop_and_wait();
        while !self.held.is_empty() {
            self.obey_held();
            self.engine.stop_and_wait();
        }
    }
}

/// Records every line in `log` and sends it with the time at which it was received, until the input ends or the
/// engine is gone.
fn read_lines(input: impl BufRead, lines: &Sender<(Duration, String)>, log: &InputLog) {
    for_each_line(input, |line| {
        let text = String::from_utf8_lossy(line).into_owned();
        log.record(&text).is_some_and(|received| lines.send((received, text)).is_ok())
    });
}

/// Obeys one command.
fn obey(engine: &mut Engine, output: &Output, command: Command, received: Duration) {
    match command {
        Command::Uci => {
            introduce(output, engine.shown_options());
            engine.preload();
        }
        Command::Debug(on) => engine.set_debug(on),
        Command::IsReady => {
            engine.prepare();
            output.line(uci::READYOK);
        }
        Command::SetOption(option) => engine.set_option(&option),
        Command::UciNewGame => {
            engine.new_game();
            engine.begin();
        }
        Command::Position { start, moves } => match engine.set_position(&start, &moves) {
            Ok(()) => engine.begin(),
            Err(why) => output.note(why),
        },
        Command::Go(go) => engine.go(&go, received),
        Command::Stop => engine.stop(),
        Command::PonderHit => engine.ponderhit(),
        Command::Register | Command::Quit => {}
        Command::Other(words) => own_words(engine, output, &words),
    }
}

/// The same lines every time; touches neither network nor device.
fn introduce(output: &Output, shown: Shown) {
    let id = [
        IdLine::Name(format!("Mavka {}", env!("CARGO_PKG_VERSION"))),
        IdLine::Author("the Mavka developers".to_owned()),
    ];
    let mut lines: Vec<String> = id.iter().map(ToString::to_string).collect();
    lines.extend(options::specs(shown).map(|spec| spec.to_string()));
    lines.push(uci::UCIOK.to_owned());
    output.block(&lines);
}

/// Words that are ours, not the protocol's.
fn own_words(engine: &mut Engine, output: &Output, words: &str) {
    match words.split_whitespace().next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "bench" => {
            engine.stop_and_wait();
            if let Err(why) = bench::run(&bench::Bench::default(), &mut |line| output.line(line)) {
                output.note(why);
            }
        }
        "d" => match engine.game() {
            Some(game) => output.line(board(game)),
            None => output.note("no position: the last one was refused"),
        },
        "eval" => {
            engine.stop_and_wait();
            let network = engine.network();
            match engine.game() {
                Some(game) => output.line(table(game, &network, engine.settings())),
                None => output.note("no position: the last one was refused"),
            }
        }
        "help" => output.block(&[
            Info::text(
                "UCI commands: uci isready setoption ucinewgame position go stop ponderhit quit",
            ),
            Info::text(
                "own words: d (board), eval (the network's view), bench (speed), go perft N",
            ),
        ]),
        other => output.note(format_args!(
            "unknown command `{}`; try `help`",
            other.chars().take(40).collect::<String>()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::network::{Only, hashed};
    use shakmaty::CastlingMode;
    use std::io::{self, Cursor, Read};
    use std::sync::Arc;
    use uci::SetOption;

    /// The lines of the log that a conversation leaves: `> ` from the GUI, `< ` to it.
    fn logged(name: &str, words: &str) -> Vec<String> {
        let path = std::env::temp_dir().join(format!("mavka-{name}-{}.log", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let words = format!("setoption name Log File value {}\n{words}", path.display());
        run(Cursor::new(words), io::sink());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        text.lines().map(|line| line.trim_start().split_once(' ').unwrap().1.to_owned()).collect()
    }

    #[test]
    fn a_line_is_logged_when_it_is_received_not_when_it_is_obeyed() {
        let log = logged("received", "eval\nd\nquit\n");
        let at = |wanted: &str| log.iter().position(|line| line.starts_with(wanted));
        let (eval, board, answer) = (at("> eval").unwrap(), at("> d").unwrap(), at("<"));
        assert!(eval < board && board < answer.unwrap(), "{log:?}");
        let input: Vec<_> = log.iter().filter(|line| line.starts_with('>')).collect();
        assert_eq!(input, ["> eval", "> d", "> quit"], "each line once");
    }

    #[test]
    fn a_new_game_is_in_the_notation_of_the_option() {
        let (hangup, _hung_up) = channel::bounded(1);
        let setup = Setup { networks: Arc::new(Only(hashed())), ..Setup::default() };
        let output = Output::new(Box::new(io::sink()), setup.clock.clone(), hangup);
        let mut engine = Engine::new(setup, output);
        let set = |engine: &mut Engine, value: &str| {
            let (name, value) = ("UCI_Chess960".to_owned(), Some(value.to_owned()));
            engine.set_option(&SetOption { name, value });
            engine.game().unwrap().mode()
        };
        assert_eq!(set(&mut engine, "true"), CastlingMode::Chess960, "before any game");
        engine.new_game();
        assert_eq!(engine.game().unwrap().mode(), CastlingMode::Chess960);
        assert_eq!(set(&mut engine, "false"), CastlingMode::Standard);
        engine.set_position(&uci::StartPosition::Startpos, &["e2e4".to_owned()]).unwrap();
        assert_eq!(set(&mut engine, "true"), CastlingMode::Standard, "until the next position");
        assert_eq!(engine.game().unwrap().actions().len(), 1);
    }

    #[test]
    fn names_of_any_length_are_cut_in_answers() {
        let long = "ab".repeat(1 << 18);
        for words in [
            format!("setoption name {long} value 1"),
            format!("setoption name Hash value {long}"),
            format!("setoption name CPuct value {}", "9".repeat(1 << 18)),
            format!("setoption name SyzygyPath value /{long}"),
            format!("setoption name Search value {long}"),
            format!("position fen {long}"),
            long.clone(),
        ] {
            let (mut reader, writer) = io::pipe().unwrap();
            run(Cursor::new(format!("{words}\nquit\n")), writer);
            let mut answers = String::new();
            reader.read_to_string(&mut answers).unwrap();
            let longest = answers.lines().map(str::len).max();
            assert!(longest.is_some_and(|length| length < 1200), "{longest:?}");
        }
    }
}
