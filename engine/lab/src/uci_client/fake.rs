//! A scripted engine in memory, with a clock that advances only while a caller waits.

use super::player::{Fault, Player, Timeouts};
use super::transport::{ReadOutcome, Transport};
use chess::game::Game;
use shakmaty::{Chess, Position};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Brain = Box<dyn FnMut(&str) -> Vec<(u64, String)> + Send>;

/// A script without output.
pub(crate) fn nothing(_line: &str) -> Vec<(u64, String)> {
    Vec::new()
}

/// Answers each input line with lines after delays in milliseconds.
pub(crate) struct Fake {
    brain: Brain,
    clock: Duration,
    coming: VecDeque<(Duration, String)>,
    closed: bool,
    sent: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    pub(crate) fn new<S: Into<String>>(
        mut brain: impl FnMut(&str) -> Vec<(u64, S)> + Send + 'static,
    ) -> Fake {
        Fake {
            brain: Box::new(move |line| {
                brain(line).into_iter().map(|(after, text)| (after, text.into())).collect()
            }),
            clock: Duration::ZERO,
            coming: VecDeque::new(),
            closed: false,
            sent: Arc::default(),
        }
    }

    /// Answers `uci` and `isready` correctly; `brain` answers the rest. The output `EOF` closes the stream.
    pub(crate) fn polite<S: Into<String>>(
        mut brain: impl FnMut(&str) -> Vec<(u64, S)> + Send + 'static,
    ) -> Fake {
        Fake::new(move |line| match line {
            "uci" => [
                "id name Fake 1.0",
                "option name Hash type spin default 16 min 1 max 64",
                "option name MultiPV type spin default 1 min 1 max 256",
                "option name UCI_Chess960 type check default false",
                "uciok",
            ]
            .map(|text| (1, text.to_owned()))
            .to_vec(),
            "isready" => vec![(1, "readyok".to_owned())],
            _ => brain(line).into_iter().map(|(after, text)| (after, text.into())).collect(),
        })
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn sent(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.sent)
    }
}

impl Transport for Fake {
    fn send(&mut self, line: &str) -> io::Result<()> {
        if self.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.sent.lock().unwrap().push(line.to_owned());
        if line == "stop" {
            self.coming.clear();
        }
        for (after, text) in (self.brain)(line) {
            self.coming.push_back((self.clock + Duration::from_millis(after), text));
        }
        Ok(())
    }

    fn receive(&mut self, timeout: Duration) -> ReadOutcome {
        if self.closed {
            return ReadOutcome::Closed;
        }
        let limit = self.clock + timeout;
        match self.coming.front() {
            Some(&(at, _)) if at <= limit => {}
            _ => {
                self.clock = limit;
                return ReadOutcome::Silence;
            }
        }
        let Some((at, text)) = self.coming.pop_front() else {
            return ReadOutcome::Silence;
        };
        self.clock = self.clock.max(at);
        if text == "EOF" {
            self.closed = true;
            return ReadOutcome::Closed;
        }
        ReadOutcome::Line { text, at }
    }

    fn now(&self) -> Duration {
        self.clock
    }

    fn exit_report(&mut self) -> String {
        "scripted".to_owned()
    }
}

/// Plays the first legal move, except for the trick at its first `go`.
pub(crate) fn first_mover(trick: Option<&'static str>) -> Result<Player<Fake>, Fault> {
    let mut position = Chess::default();
    let fake = Fake::polite(move |line| {
        let mut words = line.split(' ');
        match words.next() {
            Some("position") => {
                let (start, moves) = line.split_once(" moves ").unwrap_or((line, ""));
                position = match start.strip_prefix("position fen ") {
                    Some(fen) => Game::from_fen(fen, false).unwrap().position().clone(),
                    None => Chess::default(),
                };
                for word in moves.split_ascii_whitespace() {
                    let action: shakmaty::uci::UciMove = word.parse().unwrap();
                    position.play_unchecked(action.to_move(&position).unwrap());
                }
                vec![]
            }
            Some("go") => {
                let best = position.legal_moves()[0];
                let text = match trick {
                    Some(trick) => trick.to_owned(),
                    None => {
                        format!("bestmove {}", best.to_uci(shakmaty::CastlingMode::Standard))
                    }
                };
                vec![(1, text)]
            }
            _ => vec![],
        }
    });
    Player::greet(fake, &[], Timeouts::default())
}
