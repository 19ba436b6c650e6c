//! The engine as an opponent: the same [`Engine`] that a GUI talks to, asked for moves and hints.

use crate::output::Output;
use crate::play::engine::Engine;
use crate::play::setup::Setup;
use chess::action::Action;
use chess::epd;
use chess::game::{Game, GameError};
use crossbeam::channel::{self, Receiver, Sender, select};
use std::io::{self, Write};
use uci::{Answer, Go, Score, SetOption, StartPosition};

/// The end of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineMove {
    /// The move.
    pub best: Action,
    /// Its score for the mover, if the search has one.
    pub score: Option<Score>,
}

/// The engine, and the lines that it answers.
pub struct Opponent {
    engine: Engine,
    answers: Receiver<String>,
    /// Plays at a rating: a search at full strength leaves nothing for it.
    level: Option<u32>,
}

impl Opponent {
    /// An engine with these options, name and value, at a rating or at full strength.
    #[must_use]
    pub fn new(setup: Setup, options: &[(String, String)], level: Option<u32>) -> Opponent {
        let (sender, answers) = channel::unbounded();
        // Its reader is this process: it never hangs up.
        let (hangup, _) = channel::bounded(1);
        let output = Output::new(Box::new(AnswerSender(sender)), setup.clock.clone(), hangup);
        let mut opponent = Opponent { engine: Engine::new(setup, output), answers, level };
        options.iter().for_each(|(name, value)| opponent.set(name, value));
        if let Some(elo) = level {
            opponent.set("UCI_Elo", &elo.to_string());
        }
        opponent.limit(level.is_some());
        opponent
    }

    /// Its rating; None at full strength.
    #[must_use]
    pub fn level(&self) -> Option<u32> {
        self.level
    }

    fn set(&mut self, name: &str, value: &str) {
        self.engine.set_option(&SetOption { name: name.to_owned(), value: Some(value.to_owned()) });
    }

    fn limit(&mut self, limited: bool) {
        self.set("UCI_LimitStrength", if limited { "true" } else { "false" });
    }

    /// Loads the network, for a game in this notation of castling.
    pub fn prepare(&mut self, game: &Game) {
        self.set("UCI_Chess960", if game.mode().is_chess960() { "true" } else { "false" });
        self.engine.prepare();
    }

    /// The move of the engine in `game`, which is not over. None if `interrupt` has a message or the engine has no answer.
    ///
    /// # Errors
    /// The position is refused, which no position of a [`Game`] is.
    pub fn think(
        &mut self,
        game: &Game,
        go: &Go,
        interrupt: &Receiver<()>,
    ) -> Result<Option<EngineMove>, GameError> {
        let mut replayed = Game::new(game.start().clone(), game.mode());
        let mut moves = Vec::new();
        for action in game.actions() {
            moves.push(replayed.uci(*action));
            replayed.play(*action)?;
        }
        let start = StartPosition::Fen(epd::fen(game.start()));
        self.engine.set_position(&start, &moves)?;
        // Notes of an earlier search.
        self.answers.try_iter().for_each(|text| text.lines().for_each(note));
        let now = self.engine.now();
        self.engine.go(go, now);
        let mut score = None;
        loop {
            let text = select! {
                recv(self.answers) -> text => text,
                recv(interrupt) -> _ => {
                    self.engine.stop_and_wait();
                    return Ok(None);
                }
            };
            let Ok(text) = text else { return Ok(None) };
            for line in text.lines() {
                match uci::parse_answer(line) {
                    Some(Answer::Info(info)) if info.string.is_none() => {
                        let first = info.multipv.is_none_or(|rank| rank == 1);
                        score = info.score.filter(|_| first).or(score);
                    }
                    Some(Answer::BestMove(answer)) => {
                        self.engine.wait();
                        let best = answer.best.as_deref();
                        let best = best.and_then(|best| Action::from_uci(best, game.position()));
                        return Ok(best.map(|best| EngineMove { best, score }));
                    }
                    _ => note(line),
                }
            }
        }
    }

    /// The same at full strength, for the other side.
    ///
    /// # Errors
    /// As [`Opponent::think`].
    pub fn advise(
        &mut self,
        game: &Game,
        go: &Go,
        interrupt: &Receiver<()>,
    ) -> Result<Option<EngineMove>, GameError> {
        self.limit(false);
        let thought = self.think(game, go, interrupt);
        if self.level.is_some() {
            // A level does not see what the advice has found.
            self.engine.new_game();
            self.limit(true);
        }
        thought
    }
}

/// A line that says neither a score nor a move: `MAVKA_LOG=info` shows it.
fn note(line: &str) {
    log::info!("{line}");
}

/// The engine's output: each write holds whole lines.
struct AnswerSender(Sender<String>);

impl Write for AnswerSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A reader that is gone needs no answers.
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
