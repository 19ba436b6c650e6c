//! The engine behind the protocol: a position, options, a network, and at most one search.
//!
//! Idle, searching, pondering and holding an answer are states of the search's own signal, so nothing
//! here can disagree with it: as long as `running` is set, exactly one `bestmove` is owed or printed.
//! A search has its own copy of position and options: those that come while it runs are for the next one.
//! Called by one thread; nothing here blocks longer than the end of a minibatch, except loading the network.

use super::choices::Choices;
use super::clock::limits::{Limits, mover_clock};
use super::clock::signal::Signal;
use super::network::loader::{NetworkLoader, Ready};
use super::network::timing::EvalTiming;
use super::network::{self, Network};
use super::search::job::Job;
use super::search::run;
use super::search::thread::SearchThread;
use super::setup::Setup;
use super::tree::session::SearchSession;
use crate::options::settings::Settings;
use crate::options::{Effect, Shown};
use crate::output::Output;
use crate::process::host;
use crate::process::time::Clock;
use chess::game::{Game, GameError};
use chess::perft;
use crossbeam::channel::Receiver;
use nn::rng::Rng;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
use uci::{Go, SetOption, StartPosition};

/// The engine that a GUI, or a program, talks to.
///
/// ```
/// use engine::play::network::{Only, hashed};
/// use engine::output::Output;
/// use engine::{Engine, Setup};
/// use std::{io::Read, sync::Arc, time::Duration};
///
/// // Made-up values, so that the example needs no network; `Setup::default()` plays for real.
/// let setup = Setup { networks: Arc::new(Only(hashed())), ..Setup::default() };
/// let (mut reader, writer) = std::io::pipe()?;
/// let (hangup, _) = crossbeam::channel::bounded(1);
/// let output = Output::new(Box::new(writer), setup.clock.clone(), hangup);
///
/// let mut engine = Engine::new(setup, output);
/// engine.set_position(&uci::StartPosition::Startpos, &["e2e4".to_owned()])?;
/// engine.go(&uci::Go { nodes: Some(100), ..uci::Go::default() }, Duration::ZERO);
/// engine.wait();
/// drop(engine);
///
/// let mut said = String::new();
/// reader.read_to_string(&mut said)?;
/// assert!(said.lines().last().is_some_and(|line| line.starts_with("bestmove ")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    clock: Arc<dyn Clock>,
    shown_options: Shown,
    output: Output,
    choices: Choices,
    debug: bool,
    /// The game of the last `position`; the reason, if that was refused.
    game: Result<Game, GameError>,
    networks: NetworkLoader,
    /// Empty while a search runs: its thread has it.
    session: SearchSession,
    running: SearchThread,
    /// The session is cleared when the search returns it: an option has changed meanwhile.
    clears_session: bool,
    /// Seeds each search; see the option `Seed`.
    random: Rng,
}

impl Engine {
    /// An engine with default options in the initial position. It answers through `output`; nothing is
    /// loaded yet.
    #[must_use]
    pub fn new(setup: Setup, output: Output) -> Engine {
        let networks = NetworkLoader::new(setup.networks, setup.clock.clone(), output.clone());
        Engine {
            clock: setup.clock,
            shown_options: setup.shown_options,
            output,
            choices: Choices::new(setup.players),
            debug: false,
            game: Ok(Game::default()),
            networks,
            session: SearchSession::default(),
            running: SearchThread::default(),
            clears_session: false,
            random: seeded(0),
        }
    }

    /// The options' present values.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.choices.settings
    }

    /// The current game; None after a refused position.
    #[must_use]
    pub fn game(&self) -> Option<&Game> {
        self.game.as_ref().ok()
    }

    /// Options announced to the GUI.
    #[must_use]
    pub fn shown_options(&self) -> Shown {
        self.shown_options
    }

    /// The time on the engine's clock.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// `debug on`: more `info string`.
    pub fn set_debug(&mut self, on: bool) {
        self.debug = on;
    }

    /// Sets an option. A running search goes on with the options it began with; threads, log and caches change at once.
    pub fn set_option(&mut self, option: &SetOption) {
        let before = self.settings().clone();
        let effect = match self.choices.set(option) {
            Ok((effect, note)) => {
                note.iter().for_each(|note| self.output.note(note));
                effect
            }
            Err(why) => return self.output.note(why),
        };
        if *self.settings() != before && self.is_searching() && effect.is_of_search() {
            let name = option.name.trim();
            self.output.note(format_args!("option {name} takes effect with the next search"));
        }
        // Before `position`, the game is the initial one, in the notation that the option says.
        if self.choices.settings.chess960 != before.chess960
            && self.game.as_ref().is_ok_and(Game::is_new)
        {
            self.game = self.choices.game(&StartPosition::Startpos, &[]);
        }
        if (&self.choices.settings.weights_file, self.choices.settings.backend)
            != (&before.weights_file, before.backend)
        {
            self.preload();
        }
        let settings = &self.choices.settings;
        match effect {
            Effect::None => {}
            Effect::NewTree if *settings == before => {}
            Effect::NewTree => self.clear_session(),
            Effect::Forget => self.forget(),
            Effect::Reseed => self.random = seeded(settings.seed),
            Effect::FindTables => {
                self.clear_session();
                self.choices.find_tables().iter().for_each(|found| self.output.note(found));
            }
            Effect::OpenLog => {
                if let Err(why) = self.output.log_to(&settings.log_file) {
                    let file = &settings.log_file;
                    self.output.note(format_args!("cannot write the log `{file}`: {why}"));
                }
            }
            Effect::CheckThreads => {
                let (wanted, used) = (settings.threads, host::threads(settings.threads));
                if used < wanted {
                    self.output.note(format_args!(
                        "Threads {wanted} is more than this machine's cores can use; using {used}"
                    ));
                }
            }
        }
    }

    /// Forgets the game and what was searched.
    pub fn new_game(&mut self) {
        self.stop_and_wait();
        self.forget();
        self.game = self.choices.game(&StartPosition::Startpos, &[]);
    }

    /// Forgets what was searched, and what was evaluated for it.
    fn forget(&mut self) {
        self.clear_session();
        self.networks.clear_caches();
    }

    /// Forgets what was searched; what a running search finds is forgotten at its end.
    fn clear_session(&mut self) {
        self.session.clear();
        self.clears_session = self.running.has_session();
    }

    /// Sets the position of the next search. A refused one leaves the engine without a position, so that the next `go`
    /// cannot answer for the wrong one.
    ///
    /// # Errors
    /// Names the FEN or the move.
    pub fn set_position(
        &mut self,
        start: &StartPosition,
        moves: &[String],
    ) -> Result<(), GameError> {
        self.game = self.choices.game(start, moves);
        self.game.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Starts a search; `heard` is when the GUI asked for it. A search still running is ended first and
    /// its answer printed.
    pub fn go(&mut self, go: &Go, heard: Duration) {
        self.stop_and_wait();
        if let Some(depth) = go.perft {
            // Counting is no search: no answer is owed.
            return match self.game.clone() {
                Ok(game) => self.start_perft(game, depth, heard),
                Err(why) => self.output.note(format_args!("no position to count from: {why}")),
            };
        }
        if let Ok(game) = &self.game
            && let Some(clock) = mover_clock(go, game)
        {
            self.session.lag().on_go(game, clock);
        }
        let time = self.session.time_settings(&self.choices.settings);
        let fallback = Game::default();
        let (limits, notes) = Limits::new(go, self.game().unwrap_or(&fallback), time);
        for note in notes {
            self.output.note(note);
        }
        // A refused position is answered at once: nothing is loaded for it.
        let (ready, others) = match self.game {
            Ok(_) => self.ready(limits.budget.is_some()),
            Err(_) => {
                let timing = EvalTiming::default();
                (Ready { network: network::uniform(), timing }, Vec::new())
            }
        };
        let signal = Arc::new(Signal::new(self.clock.clone(), heard, &limits));
        let is_limited = limits.is_limited();
        let job = Job {
            game: self.game.clone(),
            limits,
            settings: self.choices.settings.clone(),
            network: ready.network,
            timing: ready.timing,
            others,
            player: self.choices.registered(),
            tables: self.choices.tables(),
            technique: self.choices.technique(),
            session: std::mem::take(&mut self.session),
            signal: signal.clone(),
            output: self.output.of_search(),
            debug: self.debug,
            seed: self.random.bits(),
        };
        self.start(signal, is_limited, move || run::run(job));
    }

    fn start_perft(&mut self, game: Game, depth: u32, heard: Duration) {
        let signal = Arc::new(Signal::new(self.clock.clone(), heard, &Limits::default()));
        let session = std::mem::take(&mut self.session);
        let (stop, output) = (signal.clone(), self.output.clone());
        self.start(signal, false, move || {
            if !perft::divide(&game, depth, &|| stop.is_stopped(), &mut |line| output.line(line)) {
                output.note("perft was stopped");
            }
            session
        });
    }

    fn start(
        &mut self,
        signal: Arc<Signal>,
        is_limited: bool,
        work: impl FnOnce() -> SearchSession + Send + 'static,
    ) {
        if let Err(why) = self.running.start(signal, is_limited, work) {
            // The work, and the tree in it, is lost with the thread; a move is owed all the same.
            self.output.note(format_args!("the system gives no thread: {why}"));
            let best = self
                .game()
                .and_then(|game| game.legal_actions().first().map(|action| game.uci(*action)));
            self.output.line(uci::BestMove { best, ponder: None });
        }
    }

    /// Ends the search. Its answer comes from its own thread.
    pub fn stop(&self) {
        self.running.signal().into_iter().for_each(Signal::stop);
    }

    /// The pondered move was played.
    pub fn ponderhit(&self) {
        self.running.signal().into_iter().for_each(Signal::ponderhit);
    }

    /// True while a search runs or holds its answer.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.running.is_searching()
    }

    /// True while a search runs that a limit will end.
    #[must_use]
    pub fn is_in_limited_search(&self) -> bool {
        self.running.is_in_limited_search()
    }

    /// Receives a number after each search's answer, for [`Engine::take_back`].
    #[must_use]
    pub fn ended(&self) -> Receiver<u64> {
        self.running.ended()
    }

    /// Takes the session back from the search with this number, which has answered.
    pub fn take_back(&mut self, number: u64) {
        if self.running.has_number(number) {
            self.wait();
        }
    }

    /// Ends the search, if any, and waits for its answer.
    pub fn stop_and_wait(&mut self) {
        self.stop();
        self.wait();
    }

    /// Waits for the search to end by itself. An open-ended one never does.
    pub fn wait(&mut self) {
        if let Some(session) = self.running.join() {
            self.session = session;
            if std::mem::take(&mut self.clears_session) {
                self.session.clear();
            }
        }
    }

    /// Begins to open the network in the background.
    pub fn preload(&mut self) {
        self.networks.preload(&self.choices.settings);
    }

    /// Has networks and tree memory ready: the slow part of a start. Does nothing during a search.
    pub fn prepare(&mut self) {
        if !self.is_searching() {
            self.begin();
            self.ready(false);
        }
    }

    /// The same without waiting for the networks: a `go` may follow, whose clock runs.
    pub fn begin(&mut self) {
        if self.is_searching() {
            return;
        }
        self.wait();
        self.preload();
        if let Some(note) = self.session.reserve(&self.choices.settings) {
            self.output.note(note);
        }
    }

    /// The network that the options name, or the best there is instead; blocks while it is loaded.
    pub fn network(&mut self) -> Network {
        self.networks.network(&self.choices.settings, self.debug).network
    }

    /// The networks of a search, on a clock those that are loaded.
    fn ready(&mut self, is_on_clock: bool) -> (Ready, Vec<Ready>) {
        // A network that has no say in the moves is not named as the one that plays.
        let debug = self.debug && self.choices.settings.search.asks_network();
        let settings = &self.choices.settings;
        let ready = match is_on_clock {
            true => self.networks.network_on_clock(settings, debug),
            false => self.networks.network(settings, debug),
        };
        let own = ready.network.players;
        let others = self.networks.others(settings, own, is_on_clock, debug);
        (ready, others)
    }
}

/// Random numbers that repeat for a seed; for 0 others each time, seeded by what the standard library gets
/// from the system.
fn seeded(seed: u64) -> Rng {
    Rng::from_state(if seed == 0 { RandomState::new().hash_one(seed) } else { seed })
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop_and_wait();
    }
}
