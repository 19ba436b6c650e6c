//! UCI client of one engine: handshake, options, searches, timeouts. Independent of the rules of chess.

use super::answer::SearchAnswer;
use super::transport::{ReadOutcome, Transport};
use chess::quote::quote;
use std::fmt;
use std::time::Duration;
use uci::{Answer, BestMove, Command, Go, IdLine, Info, SetOption, parse_answer};

/// Timeouts.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Until `uciok`.
    pub start: Duration,
    /// Until `readyok`, which may include loading a network.
    pub ready: Duration,
    /// Until `bestmove` without a clock.
    pub think: Duration,
    /// From `stop` to `bestmove` after the time is over.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            // With the two seconds that a silent process has to quit, the fault is known within 20 s.
            start: Duration::from_secs(15),
            ready: Duration::from_secs(120),
            think: Duration::from_secs(600),
            grace: Duration::from_secs(5),
        }
    }
}

/// Option with the seed of an engine's random choices.
const SEED: &str = "Seed";

/// Option that adds win, draw and loss probabilities to `info`.
const SHOW_WDL: &str = "UCI_ShowWDL";

/// Time to read the output of an engine that no longer takes input.
const LAST_WORDS_TIME: Duration = Duration::from_millis(500);

/// Prefix of the answer to `eval`.
const EVALUATION: &str = "Final evaluation";

/// An engine that has to be restarted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Failed to start or to complete the handshake.
    Absent(String),
    /// Closed its pipes; with its exit report and its last words.
    Crashed(String),
    /// Did not answer this command in time.
    Stalled(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Absent(why) => write!(f, "the engine did not start: {why}"),
            Fault::Crashed(words) => write!(f, "the engine left the game ({words})"),
            Fault::Stalled(command) => write!(f, "the engine did not answer `{command}` in time"),
        }
    }
}

impl std::error::Error for Fault {}

/// An engine after handshake and options.
pub struct Player<T: Transport> {
    transport: T,
    name: String,
    /// Names of the declared options, in lower case.
    options: Vec<String>,
    timeouts: Timeouts,
    chess960: bool,
    /// The seed is set by its options and must not change.
    own_seed: bool,
    /// The latest text in no answer's form: `info string`, or a line outside the protocol. Some engines name there why
    /// they end themselves, as Stockfish 19 after a move that it calls illegal.
    last_words: Option<String>,
    /// The user knows that this engine ended a search only by `stop`.
    overran: bool,
    lost: bool,
}

impl<T: Transport> Player<T> {
    /// Performs the handshake, sets options in order, and waits until the engine is ready.
    ///
    /// # Errors
    /// No answer, or an option is not declared.
    pub fn greet(
        transport: T,
        options: &[(String, String)],
        timeouts: Timeouts,
    ) -> Result<Player<T>, Fault> {
        let mut player = Player::introduce(transport, options, timeouts)?;
        player.ready()?;
        Ok(player)
    }

    /// The same without waiting until it is ready, for which an engine may load a large network: a trial of the command
    /// line and the options.
    ///
    /// # Errors
    /// As [`Player::greet`].
    pub fn introduce(
        transport: T,
        options: &[(String, String)],
        timeouts: Timeouts,
    ) -> Result<Player<T>, Fault> {
        let mut player = Player {
            transport,
            name: String::new(),
            options: Vec::new(),
            timeouts,
            chess960: false,
            own_seed: options.iter().any(|(name, _)| name.eq_ignore_ascii_case(SEED)),
            last_words: None,
            overran: false,
            lost: false,
        };
        player.send(&Command::Uci)?;
        player.read_greeting()?;
        for (name, value) in options {
            player.set_option(name, value)?;
        }
        Ok(player)
    }

    fn read_greeting(&mut self) -> Result<(), Fault> {
        let deadline = self.transport.now() + self.timeouts.start;
        loop {
            let line = self.line("uci", deadline)?;
            match parse_answer(&line) {
                Some(Answer::UciOk) => return Ok(()),
                Some(Answer::Id(IdLine::Name(name))) => self.name = name,
                Some(Answer::Option(option)) => self.options.push(option.name.to_lowercase()),
                _ => {}
            }
        }
    }

    /// Sets an option.
    ///
    /// # Errors
    /// The engine is lost, or has not declared the option.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        if !self.options.contains(&name.to_lowercase()) {
            return Err(Fault::Absent(format!("{} has no option `{name}`", self.name)));
        }
        let value = (!value.is_empty()).then(|| value.to_owned());
        self.send(&Command::SetOption(SetOption { name: name.to_owned(), value }))
    }

    /// True after a fault: communication is out of sync.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Name by `id name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Prepares for a game.
    ///
    /// # Errors
    /// The engine is lost, or lacks Chess960 support.
    pub fn new_game(&mut self, chess960: bool) -> Result<(), Fault> {
        if chess960 != self.chess960 {
            self.set_option("UCI_Chess960", if chess960 { "true" } else { "false" })?;
            self.chess960 = chess960;
        }
        self.send(&Command::UciNewGame)?;
        self.ready()
    }

    /// Sets the option `Seed`, if the engine has one and its options do not fix it.
    ///
    /// # Errors
    /// The engine is lost.
    pub fn seed(&mut self, seed: u64) -> Result<(), Fault> {
        if self.own_seed || !self.options.iter().any(|name| name.eq_ignore_ascii_case(SEED)) {
            return Ok(());
        }
        // 31 bits fit a spin option; never 0, which requests a random seed.
        self.set_option(SEED, &((seed & 0x7fff_ffff).max(1)).to_string())
    }

    /// Asks for win, draw and loss probabilities, if the engine has them.
    ///
    /// # Errors
    /// The engine is lost.
    pub fn show_wdl(&mut self) -> Result<(), Fault> {
        if self.options.iter().any(|name| name.eq_ignore_ascii_case(SHOW_WDL)) {
            self.set_option(SHOW_WDL, "true")?;
        }
        Ok(())
    }

    /// Searches a position. Blocks until the answer, or until `time` and the grace period are over; an answer in the
    /// grace period is returned, and `elapsed` shows that it was late.
    ///
    /// # Errors
    /// The engine is lost.
    pub fn think(
        &mut self,
        position: &Command,
        go: Go,
        time: Option<Duration>,
    ) -> Result<SearchAnswer, Fault> {
        self.last_words = None;
        self.send(position)?;
        // Excludes the setup of a long game from the thinking time.
        self.ready()?;
        let go = Command::Go(go);
        self.send(&go)?;
        let start = self.transport.now();
        let mut thought = SearchAnswer::default();
        if !self.listen(&mut thought, start, start + time.unwrap_or(self.timeouts.think))? {
            if time.is_none() && !std::mem::replace(&mut self.overran, true) {
                let seconds = self.timeouts.think.as_secs();
                log::warn!(
                    "{}: `{go}` was not over after {seconds} s and is stopped: the engine may not know this limit",
                    self.name
                );
            }
            self.send(&Command::Stop)?;
            let deadline = self.transport.now() + self.timeouts.grace;
            if !self.listen(&mut thought, start, deadline)? {
                return Err(self.stalled("go"));
            }
        }
        Ok(thought)
    }

    /// Searches many positions as one batch, which saves round trips between short searches. The engine must queue its
    /// commands. Blocks until the last answer.
    ///
    /// # Errors
    /// The engine is lost.
    pub fn think_all(&mut self, searches: &[(Command, Go)]) -> Result<Vec<SearchAnswer>, Fault> {
        for (position, go) in searches {
            self.send(position)?;
            self.send(&Command::Go(go.clone()))?;
        }
        let mut thoughts = Vec::with_capacity(searches.len());
        for _ in searches {
            let start = self.transport.now();
            let mut thought = SearchAnswer::default();
            if !self.listen(&mut thought, start, start + self.timeouts.think)? {
                return Err(self.stalled("go"));
            }
            thoughts.push(thought);
        }
        Ok(thoughts)
    }

    /// Static evaluations of positions as one batch, by the non-standard command `eval` of Stockfish and others.
    /// Blocks until the last answer; returns the text after `Final evaluation`.
    ///
    /// # Errors
    /// The engine is lost.
    pub fn eval_all(&mut self, positions: &[Command]) -> Result<Vec<String>, Fault> {
        let eval = Command::Other("eval".to_owned());
        for position in positions {
            self.send(position)?;
            self.send(&eval)?;
        }
        let mut answers = Vec::with_capacity(positions.len());
        while answers.len() < positions.len() {
            let deadline = self.transport.now() + self.timeouts.think;
            let line = self.line("eval", deadline)?;
            answers.extend(line.strip_prefix(EVALUATION).map(|answer| answer.trim().to_owned()));
        }
        Ok(answers)
    }

    /// Reads lines until `bestmove` (true) or the deadline (false).
    fn listen(
        &mut self,
        thought: &mut SearchAnswer,
        start: Duration,
        deadline: Duration,
    ) -> Result<bool, Fault> {
        loop {
            let left = deadline.saturating_sub(self.transport.now());
            let (text, at) = match self.transport.receive(left) {
                ReadOutcome::Line { text, at } => (text, at),
                ReadOutcome::Silence => return Ok(false),
                ReadOutcome::Closed => return Err(self.crashed()),
            };
            match self.parse(&text) {
                Some(Answer::BestMove(BestMove { best, ponder })) => {
                    thought.best = best.unwrap_or_else(|| "(none)".to_owned());
                    thought.ponder = ponder;
                    thought.elapsed = at.saturating_sub(start);
                    return Ok(true);
                }
                Some(Answer::Info(info)) => thought.take(info),
                _ => {}
            }
            // Continuous output does not extend the deadline.
            if at > deadline {
                return Ok(false);
            }
        }
    }

    fn ready(&mut self) -> Result<(), Fault> {
        self.send(&Command::IsReady)?;
        let deadline = self.transport.now() + self.timeouts.ready;
        loop {
            match parse_answer(&self.line("isready", deadline)?) {
                Some(Answer::ReadyOk) => return Ok(()),
                // So Mavka says that something else plays than was asked for, as the built-in network for a file.
                Some(Answer::Info(Info { string: Some(text), .. }))
                    if text.starts_with("cannot ") =>
                {
                    log::warn!("{}: {text}", self.name);
                }
                _ => {}
            }
        }
    }

    fn line(&mut self, command: &'static str, deadline: Duration) -> Result<String, Fault> {
        let left = deadline.saturating_sub(self.transport.now());
        match self.transport.receive(left) {
            ReadOutcome::Line { text, at } if at <= deadline => {
                self.parse(&text);
                Ok(text)
            }
            ReadOutcome::Line { .. } | ReadOutcome::Silence => Err(self.stalled(command)),
            ReadOutcome::Closed => Err(self.crashed()),
        }
    }

    /// Parses a line, and keeps it if it may be the engine's last words.
    fn parse(&mut self, text: &str) -> Option<Answer> {
        let answer = parse_answer(text);
        if let Some(Answer::Info(Info { string: Some(words), .. }) | Answer::Other(words)) = &answer
        {
            self.last_words = Some(words.clone());
        }
        answer
    }

    fn send(&mut self, command: &Command) -> Result<(), Fault> {
        self.transport.send(&command.to_string()).map_err(|_| self.crashed())
    }

    fn stalled(&mut self, command: &'static str) -> Fault {
        self.lost = true;
        Fault::Stalled(command)
    }

    fn crashed(&mut self) -> Fault {
        self.lost = true;
        // An engine may end itself before its output is read.
        let deadline = self.transport.now() + LAST_WORDS_TIME;
        while self.transport.now() < deadline
            && let ReadOutcome::Line { text, .. } = self.transport.receive(LAST_WORDS_TIME)
        {
            self.parse(&text);
        }
        let report = self.transport.exit_report();
        Fault::Crashed(match &self.last_words {
            Some(words) => format!("{report}; its last words: {}", quote(words)),
            None => report,
        })
    }
}

#[cfg(test)]
mod tests;
