//! Integration tests of the whole house live beside this file as `[[test]]` entries; what several of
//! them need is here: a UCI session inside the process, fake networks, seeded dice.
//!
//! A session fails loudly when an answer does not come. This is a guard against hanging, not a
//! measurement: no test here passes or fails by how long something took.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::play::network::{Network, Only};
use engine::process::streams::for_each_line;
use engine::{Setup, run_with};
use nn::Evaluator;
use nn::encode::canonical_moves;
use nn::rng::Rng;
use shakmaty::{Chess, Position};
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use train::data::record::{Header, MavgGame};
use train::data::{FileWriter, Format, Game, GameResult};

/// Words that sources and pages must not use, for which the field has others. The words of a phrase follow each other.
pub const PRIVATE_WORDS: [&str; 12] = [
    "told",
    "so many",
    "whoever",
    "nobody",
    "worth",
    "no number",
    "what comes of",
    "of its own accord",
    "hear",
    "news",
    "barren",
    "lucky",
];
/// Words that a sentence does not begin with: its subject comes first.
const NO_BEGINNING: [&str; 5] = ["What", "Of", "Who", "Whose", "That"];
/// How long a lost answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How many sentences of a line begin with a word that they should not begin with. `begins`: the line begins a sentence;
/// afterwards, the next line does.
pub fn inverted(line: &str, begins: &mut bool) -> usize {
    let mut found = 0;
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        found += usize::from(*begins && NO_BEGINNING.contains(&bare));
        *begins = word.ends_with(['.', '!', '?', ':']);
    }
    found
}

/// A setup whose only network is `evaluator`.
pub fn setup(evaluator: impl Evaluator + 'static) -> Setup {
    let network = Network {
        evaluator: Arc::new(evaluator),
        name: "fake".to_owned(),
        on_gpu: true,
        players: 1,
    };
    Setup { networks: Arc::new(Only(network)), ..Setup::default() }
}

/// An engine in this process, spoken to as a GUI would.
pub struct Session {
    to_engine: Option<Sender<Vec<u8>>>,
    from_engine: Receiver<String>,
    engine: Option<JoinHandle<()>>,
    /// Everything said, both ways.
    record: Vec<String>,
    searches: usize,
    answers: usize,
    quit: bool,
    /// The last line with a score and moves, of the first rank.
    last_info: Option<String>,
    /// The same before the last `bestmove`.
    final_info: Option<String>,
}

impl Session {
    /// Starts the engine on a thread of its own.
    pub fn start(setup: Setup) -> Session {
        let (to_engine, input) = channel();
        let (output, from_engine) = channel();
        let input = Pipe { lines: input, rest: Vec::new(), at: 0 };
        let output = Lines { lines: output, rest: Vec::new() };
        let engine = thread::spawn(move || run_with(setup, input, output));
        Session {
            to_engine: Some(to_engine),
            from_engine,
            engine: Some(engine),
            record: Vec::new(),
            searches: 0,
            answers: 0,
            quit: false,
            last_info: None,
            final_info: None,
        }
    }

    /// The last line with a score and moves, of the first rank, before the last `bestmove`.
    #[must_use]
    pub fn final_info(&self) -> Option<&str> {
        self.final_info.as_deref()
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends bytes as they are; they should end a line, unless they are the last.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.send_cut(bytes, &[]);
    }

    /// The same, cut before these places. A place that is there twice is a read that finds nothing yet.
    pub fn send_cut(&mut self, bytes: &[u8], places: &[usize]) {
        for_each_line(bytes, |line| {
            let line = String::from_utf8_lossy(line);
            self.record.push(format!("> {}", line.chars().take(1000).collect::<String>()));
            match uci::parse(&line) {
                // Nothing said after `quit` is heard.
                Some((uci::Command::Go(go), _)) if go.perft.is_none() && !self.quit => {
                    self.searches += 1;
                }
                Some((uci::Command::Quit, _)) => self.quit = true,
                _ => {}
            }
            true
        });
        let ends = places.iter().copied().chain([bytes.len()]);
        if let Some(sender) = &self.to_engine {
            let mut from = 0;
            for end in ends {
                // After `quit` the engine reads no more.
                let _ = sender.send(bytes[from..end].to_vec());
                from = end;
            }
        }
    }

    /// Waits for a line that matches `pattern`; a `bestmove` or `readyok` met before it is a failure.
    pub fn expect(&mut self, pattern: &str) -> String {
        loop {
            let Some(line) = self.next_line() else {
                panic!("waited in vain for `{pattern}`\n{}", self.transcript());
            };
            if matches(pattern, &line) {
                return line;
            }
            let out_of_turn = line.starts_with("bestmove") || line == "readyok";
            assert!(!out_of_turn, "`{line}` came before `{pattern}`\n{}", self.transcript());
        }
    }

    /// Waits for a line, whatever it says.
    pub fn expect_any(&mut self) -> String {
        match self.next_line() {
            Some(line) => line,
            None => panic!("waited in vain for a line\n{}", self.transcript()),
        }
    }

    /// Waits for `readyok`; returns what came before it.
    pub fn drain_until_ready(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.next_line() {
                Some(line) if line == "readyok" => return lines,
                Some(line) => lines.push(line),
                None => panic!("no readyok\n{}", self.transcript()),
            }
        }
    }

    fn next_line(&mut self) -> Option<String> {
        let line = self.from_engine.recv_timeout(PATIENCE).ok()?;
        self.record.push(format!("< {line}"));
        self.watch(&line);
        Some(line)
    }

    /// Checks of every line of every session.
    fn watch(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        if line.starts_with("info ") && words.get(1) != Some(&"string") {
            let rank =
                words.iter().position(|word| *word == "multipv").and_then(|at| words.get(at + 1));
            if line.contains(" score ") && rank.is_none_or(|rank| *rank == "1") {
                self.last_info = Some(line.to_owned());
            }
        }
        if words.first() != Some(&"bestmove") {
            return;
        }
        self.answers += 1;
        assert!(
            self.answers <= self.searches,
            "a bestmove nobody asked for\n{}",
            self.transcript()
        );
        let best = words.get(1).copied().unwrap_or_default();
        if best != "(none)" {
            let info = self.last_info.take().unwrap_or_default();
            let led =
                info.contains(&format!(" pv {best} ")) || info.ends_with(&format!(" pv {best}"));
            assert!(led, "no info with score and pv led to `{line}`\n{}", self.transcript());
            self.final_info = Some(info);
        }
    }

    /// Closes the input, waits for the engine to end, and checks that every `go` had its answer.
    pub fn finish(mut self) -> Vec<String> {
        self.to_engine = None;
        while self.next_line().is_some() {}
        if let Some(engine) = self.engine.take() {
            assert!(engine.join().is_ok(), "the engine panicked\n{}", self.transcript());
        }
        let complete = self.answers == self.searches;
        assert!(complete, "{} go, {} bestmove\n{}", self.searches, self.answers, self.transcript());
        std::mem::take(&mut self.record)
    }

    /// The last lines said, both ways.
    pub fn transcript(&self) -> String {
        let from = self.record.len().saturating_sub(60);
        self.record[from..].join("\n")
    }
}

/// Whole-line match; `*` stands for any text.
pub fn matches(pattern: &str, line: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == line };
    let Some(rest) = line.strip_prefix(head) else { return false };
    (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(tail, &rest[at..]))
}

struct Pipe {
    lines: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    at: usize,
}

impl BufRead for Pipe {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.rest.len() {
            // A sender that is gone is the end of the input.
            let part = self.lines.recv();
            if part.as_ref().is_ok_and(Vec::is_empty) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.rest = part.unwrap_or_default();
            self.at = 0;
        }
        Ok(&self.rest[self.at..])
    }
    fn consume(&mut self, used: usize) {
        self.at += used;
    }
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut chunk = self.fill_buf()?;
        let read = chunk.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

struct Lines {
    lines: Sender<String>,
    rest: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line[..end]).into_owned();
            self.lines.send(text).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Seeded dice, the same on every machine: [`Rng`] from the very state that the seed names.
pub struct Dice(Rng);

impl Dice {
    /// Dice that fall alike for the same seed.
    pub fn new(seed: u64) -> Dice {
        Dice(Rng::from_state(seed))
    }

    /// The next 64 random bits.
    pub fn roll(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `end`, which is not 0. A remainder, so that a test's seed keeps its games.
    pub fn below(&mut self, end: usize) -> usize {
        (self.roll() % end as u64) as usize
    }

    /// One of `from`, which is not empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Games of random moves, with a value of every legal move.
///
/// # Panics
/// The file cannot be written.
pub fn write_random_games(path: &Path) {
    let mut dice = Dice::new(1);
    let mut writer = FileWriter::create(path, Format::Mavg).unwrap();
    for _ in 0..51 {
        let mut position = Chess::default();
        let mut game = MavgGame::new(Header::new(position.clone(), false, GameResult::Drawn));
        for _ in 0..30 {
            let moves = canonical_moves(&position);
            let Some(played) = (!moves.is_empty()).then(|| dice.below(moves.len())) else { break };
            let mut values = vec![10; moves.len()];
            values[played] = 70;
            game.push(0, (played as u8, played as u8), 20, &values).unwrap();
            position.play_unchecked(moves[played]);
        }
        writer.write(&Game::Mavg(game)).unwrap();
    }
    writer.finish_file().unwrap();
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_match_any_text_and_nothing_else_does() {
        assert!(matches("bestmove *", "bestmove e2e4"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*b*c", "a-c"));
        assert!(!matches("bestmove", "bestmove e2e4"));
        assert!(matches("*", ""));
    }
}
