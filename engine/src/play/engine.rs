//! The engine behind the protocol: a position, options, a network, and at most one search.
//!
//! Idle, searching, pondering and holding an answer are states of the search's own signal, so nothing
//! here can disagree with it: as long as `running` is set, exactly one `bestmove` is owed or printed,
//! and whatever changes the engine ends that search first. Called by one thread; nothing here blocks
//! longer than the end of a minibatch, except loading the network.

use crate::chess::game::{Game, GameError};
use crate::measure::perft;
use crate::play::clock::Clock;
use crate::play::host;
use crate::play::limits::{Limits, TimeSettings};
use crate::play::network::{self, Network, NetworkError, Networks};
use crate::play::search::{self, Job};
use crate::play::session::SearchSession;
use crate::play::settings::{Backend, Settings};
use crate::play::signal::Signal;
use crate::play::warm_up::{EvalTiming, warm_up};
use crate::random::SplitMix64;
use crate::uci::options::{self, Effect, Shown};
use crate::uci::output::Output;
use nn::EvalError;
use nn::evaluator::cached::Cached;
use nn::evaluator::fallback::Fallback;
use shakmaty::Chess;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use uci::{Go, SetOption, StartPosition};

/// What the engine needs from outside: its time and its networks.
#[derive(Clone)]
pub struct Setup {
    pub clock: Arc<dyn Clock>,
    pub networks: Arc<dyn Networks>,
    /// Which options the GUI is told.
    pub shown_options: Shown,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            clock: Arc::new(crate::play::clock::SystemClock::default()),
            networks: Arc::new(network::Installed),
            shown_options: Shown::Everyday,
        }
    }
}

/// See the module.
pub struct Engine {
    setup: Setup,
    output: Output,
    settings: Settings,
    debug: bool,
    /// What the last `position` made; why, if that was refused.
    game: Result<Game, GameError>,
    loaded: Option<Loaded>,
    /// Home when no search runs.
    session: SearchSession,
    running: Option<Running>,
    /// A number for each search; see the option `Seed`.
    dice: SplitMix64,
}

struct Running {
    signal: Arc<Signal>,
    thread: JoinHandle<SearchSession>,
}

struct Loaded {
    network: Network,
    /// What it remembers its answers in; the network itself where the option says none.
    cache: Option<Arc<Cached>>,
    /// Knows whether the CPU had to take over from the GPU; none where the CPU computes anyway.
    fallback: Option<Arc<Fallback>>,
    /// What it was asked to be.
    wish: (String, Backend, usize),
    timing: EvalTiming,
}

/// A network as it comes from where networks come from.
struct Opened {
    network: Network,
    timing: EvalTiming,
    fallback: Option<Arc<Fallback>>,
}

impl Engine {
    #[must_use]
    pub fn new(setup: Setup, output: Output) -> Engine {
        Engine {
            setup,
            output,
            settings: Settings::default(),
            debug: false,
            game: Ok(Game::default()),
            loaded: None,
            session: SearchSession::default(),
            running: None,
            dice: dice(0),
        }
    }

    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The current game; None after a refused position.
    #[must_use]
    pub fn game(&self) -> Option<&Game> {
        self.game.as_ref().ok()
    }

    /// Which options the GUI is told.
    #[must_use]
    pub fn shown_options(&self) -> Shown {
        self.setup.shown_options
    }

    pub fn set_debug(&mut self, on: bool) {
        self.debug = on;
    }

    #[must_use]
    pub fn debug(&self) -> bool {
        self.debug
    }

    /// Sets an option. A running search is ended first, since options shape it.
    pub fn set_option(&mut self, option: &SetOption) {
        self.stop_and_wait();
        let before = self.settings.clone();
        let effect = match options::apply(&mut self.settings, option) {
            Ok((effect, note)) => {
                note.iter().for_each(|note| self.output.note(note));
                effect
            }
            Err(why) => return self.output.note(why),
        };
        let settings = &self.settings;
        match effect {
            Effect::None => {}
            Effect::NewTree if *settings == before => {}
            Effect::NewTree => self.session.clear(),
            Effect::Forget => self.forget(),
            Effect::Reseed => self.dice = dice(settings.seed),
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
        self.game = Ok(Game::default());
    }

    /// Forgets what was searched, and what was evaluated for it.
    fn forget(&mut self) {
        self.session.clear();
        if let Some(cache) = self.loaded.as_ref().and_then(|loaded| loaded.cache.as_ref()) {
            cache.clear();
        }
    }

    /// Sets the position. A refused one leaves the engine without a position, so that the next `go`
    /// cannot answer for the wrong one.
    ///
    /// # Errors
    /// Names the FEN or the move.
    pub fn set_position(
        &mut self,
        start: &StartPosition,
        moves: &[String],
    ) -> Result<(), GameError> {
        self.stop_and_wait();
        self.game = self.read_position(start, moves);
        self.game.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn read_position(&self, start: &StartPosition, moves: &[String]) -> Result<Game, GameError> {
        let mut game = match start {
            StartPosition::Startpos => {
                let mode = shakmaty::CastlingMode::from_chess960(self.settings.chess960);
                Game::new(Chess::default(), mode)
            }
            StartPosition::Fen(fen) => Game::from_fen(fen, self.settings.chess960)?,
        };
        for text in moves {
            game.play_uci(text)?;
        }
        Ok(game)
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
        // A refused position is answered at once: nothing is loaded for it.
        let network = if self.game.is_ok() { self.network() } else { network::uniform() };
        let timing = self.loaded.as_ref().map_or_else(EvalTiming::default, |loaded| loaded.timing);
        let time =
            TimeSettings { overhead: self.settings.move_overhead, ponder: self.settings.ponder };
        let fallback = Game::default();
        let (limits, notes) = Limits::new(go, self.game().unwrap_or(&fallback), time);
        for note in notes {
            self.output.note(note);
        }
        let hard = limits.budget.map(|budget| budget.hard);
        let signal = Arc::new(Signal::new(
            self.setup.clock.clone(),
            heard,
            hard,
            limits.ponder,
            limits.infinite,
        ));
        let job = Job {
            game: self.game.clone(),
            limits,
            settings: self.settings.clone(),
            network,
            timing,
            session: std::mem::take(&mut self.session),
            signal: signal.clone(),
            output: self.output.clone(),
            debug: self.debug,
            seed: self.dice.bits(),
        };
        self.start(signal, move || search::run(job));
    }

    fn start_perft(&mut self, game: Game, depth: u32, heard: Duration) {
        let signal = Arc::new(Signal::new(self.setup.clock.clone(), heard, None, false, false));
        let session = std::mem::take(&mut self.session);
        let (ear, output) = (signal.clone(), self.output.clone());
        self.start(signal, move || {
            perft::divide(&game, depth, &|| ear.is_stopped(), &mut |line| output.line(line));
            session
        });
    }

    fn start(
        &mut self,
        signal: Arc<Signal>,
        work: impl FnOnce() -> SearchSession + Send + 'static,
    ) {
        match thread::Builder::new().name("search".to_owned()).spawn(work) {
            Ok(thread) => self.running = Some(Running { signal, thread }),
            Err(why) => {
                // The work, and the tree in it, is lost with the thread; a move is owed all the same.
                self.output.note(format_args!("the system gives no thread: {why}"));
                let best = self
                    .game()
                    .and_then(|game| game.legal_actions().first().map(|action| game.uci(*action)));
                self.output.line(uci::BestMove { best, ponder: None });
            }
        }
    }

    /// Ends the search. Its answer comes from its own thread.
    pub fn stop(&self) {
        if let Some(running) = &self.running {
            running.signal.stop();
        }
    }

    /// The pondered move was played.
    pub fn ponderhit(&self) {
        if let Some(running) = &self.running {
            running.signal.ponderhit();
        }
    }

    /// True while a search runs or holds its answer.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !running.thread.is_finished())
    }

    /// Ends the search, if any, and waits for its answer.
    pub fn stop_and_wait(&mut self) {
        self.stop();
        self.wait();
    }

    /// Waits for the search to end by itself. An open-ended one never does.
    pub fn wait(&mut self) {
        if let Some(running) = self.running.take() {
            // A panic past the search's own net has printed no answer and lost the tree; the next search
            // begins with a new one.
            self.session = running.thread.join().unwrap_or_default();
        }
    }

    /// Has network and tree memory ready: the slow part of a start. Does nothing during a search.
    pub fn prepare(&mut self) {
        if self.is_searching() {
            return;
        }
        self.wait();
        self.network();
        if let Some(note) = self.session.reserve(self.settings.hash_mb) {
            self.output.note(note);
        }
    }

    /// The network that the options ask for, or the best there is instead.
    pub fn network(&mut self) -> Network {
        let settings = &self.settings;
        let wish = (settings.weights_file.clone(), settings.backend, settings.nn_cache_mb);
        let mut backend = wish.1;
        if let Some(loaded) = self.loaded.as_ref().filter(|loaded| loaded.wish == wish) {
            if !loaded.fallback.as_ref().is_some_and(|fallback| fallback.has_failed()) {
                return loaded.network.clone();
            }
            // Opened for itself, it gets the batches and the timing of a CPU.
            backend = Backend::Cpu;
        }
        let Opened { mut network, timing, fallback } = self.load(&wish.0, backend);
        if let Some(fallback) = &fallback {
            network.evaluator = fallback.clone();
        }
        let cache =
            (wish.2 > 0).then(|| Arc::new(Cached::new(network.evaluator.clone(), wish.2 << 20)));
        if let Some(cache) = &cache {
            network.evaluator = cache.clone();
        }
        self.loaded = Some(Loaded { network: network.clone(), cache, fallback, wish, timing });
        network
    }

    fn load(&self, file: &str, backend: Backend) -> Opened {
        // From what was asked for to what always works.
        let named = (!file.is_empty()).then(|| Path::new(file));
        let cpu = Backend::Cpu;
        let tries = [(named, backend), (named, cpu), (None, backend), (None, cpu)];
        let mut told = String::new();
        // Another device is told of with its reason; another network by its name, too.
        let mut named_anew = self.debug;
        for (index, (file, backend)) in tries.iter().enumerate() {
            if tries[..index].contains(&(*file, *backend)) {
                continue;
            }
            let opened = self.setup.networks.open(*file, *backend).and_then(|network| {
                let timing = warm_up(&network, &*self.setup.clock)?;
                Ok((network, timing))
            });
            let error = match opened {
                Ok((network, timing)) => {
                    if named_anew {
                        self.output.note(format_args!("playing with {}", network.name));
                    }
                    let fallback = network.on_gpu.then(|| self.fallback(*file, &network));
                    return Opened { network, timing, fallback };
                }
                Err(error) => error,
            };
            named_anew |= !error.is_of_device();
            let why = error.to_string();
            // A missing file is missing on every device: said once.
            if why != told {
                self.output.note(&why);
                told = why;
            }
        }
        self.output.note("no network can be used; the engine plays on without one");
        Opened { network: network::uniform(), timing: EvalTiming::default(), fallback: None }
    }

    /// `network` with the CPU to stand in for it, and a line for the user when it does.
    fn fallback(&self, file: Option<&Path>, network: &Network) -> Arc<Fallback> {
        let (networks, output) = (self.setup.networks.clone(), self.output.clone());
        let file = file.map(Path::to_owned);
        let open = move |why: &EvalError| {
            output.note(NetworkError::Device(why.clone()));
            let spare = networks.open(file.as_deref(), Backend::Cpu);
            spare.map(|network| network.evaluator).map_err(|why| output.note(why)).ok()
        };
        Arc::new(Fallback::new(network.evaluator.clone(), open))
    }
}

/// Dice that repeat for a seed; for 0 others each time, by what the standard library gets from the system.
fn dice(seed: u64) -> SplitMix64 {
    SplitMix64::new(if seed == 0 { RandomState::new().hash_one(seed) } else { seed })
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop_and_wait();
    }
}
