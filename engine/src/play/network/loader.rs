//! The networks in use: opened on threads of their own as soon as the options name them, measured, given a cache, and replaced
//! when the options ask for others or their device has failed.
//!
//! Something always answers: a network that cannot be used is named to the user, and the next best one
//! plays. A move on a clock does not wait for a network while another one is ready.

use super::open::{self, Opened, Source, open_best};
use super::timing::EvalTiming;
use crate::options::settings::{Backend, Settings};
use crate::output::Output;
use crate::play::network::{Network, NetworkError, Networks};
use crate::process::host;
use crate::process::time::Clock;
use nn::EvalError;
use nn::evaluator::cached::Cached;
use nn::evaluator::fallback::Fallback;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Opens networks and keeps the last two, so that a change may be taken back, or as many as a team has players.
pub struct NetworkLoader {
    networks: Arc<dyn Networks>,
    clock: Arc<dyn Clock>,
    output: Output,
    /// The one used last at the end.
    loaded: Vec<Loaded>,
    /// Networks that threads are opening.
    opening: Vec<Source>,
    /// Opened networks that no search has used.
    opened: Vec<Opened>,
    /// From those threads.
    results: (Sender<Opened>, Receiver<Opened>),
    /// Why the last one could not be opened as asked for: what keeps two from a device is said once.
    last_trouble: String,
    /// The size of a cache whose shortage was said last, in MB.
    short_cache_mb: usize,
}

/// Interval of progress reports.
const PROGRESS: Duration = Duration::from_secs(4);
/// Most networks that are kept without a team.
const KEPT: usize = 2;

/// A network ready for a search.
#[derive(Clone)]
pub struct Ready {
    /// With cache and fallback around it.
    pub network: Network,
    /// How fast it answers.
    pub timing: EvalTiming,
}

struct Loaded {
    source: Source,
    /// Without a cache.
    network: Network,
    timing: EvalTiming,
    /// Knows whether the CPU had to replace the GPU; none where the CPU computes anyway.
    fallback: Option<Arc<Fallback>>,
    /// The cache's size that was asked for.
    cache_mb: usize,
    /// None if the option says none.
    cache: Option<Arc<Cached>>,
}

impl Loaded {
    fn ready(&self) -> Ready {
        let mut network = self.network.clone();
        if let Some(cache) = &self.cache {
            network.evaluator = cache.clone();
        }
        Ready { network, timing: self.timing }
    }

    /// Its device has failed: opened again, it gets the batches and the timing of a CPU.
    fn has_failed(&self) -> bool {
        self.fallback.as_ref().is_some_and(|fallback| fallback.has_failed())
    }
}

impl NetworkLoader {
    /// Nothing is opened yet. `output` gets notes about networks that cannot be used.
    #[must_use]
    pub fn new(
        networks: Arc<dyn Networks>,
        clock: Arc<dyn Clock>,
        output: Output,
    ) -> NetworkLoader {
        NetworkLoader {
            networks,
            clock,
            output,
            loaded: Vec::new(),
            opening: Vec::new(),
            opened: Vec::new(),
            results: channel(),
            last_trouble: String::new(),
            short_cache_mb: 0,
        }
    }

    /// Begins to open the network that `settings` name on another thread. Reports nothing: the search that uses it does.
    pub fn preload(&mut self, settings: &Settings) {
        let source = Source::of(settings);
        if !self.loaded.iter().any(|loaded| loaded.source == source) {
            self.begin(&source);
        }
    }

    /// The networks of the team's players after the first, whose file has `own` players, as [`Self::network`] has them. On
    /// a clock only those that are ready.
    pub fn others(
        &mut self,
        settings: &Settings,
        own: usize,
        is_on_clock: bool,
        debug: bool,
    ) -> Vec<Ready> {
        let with = |file: String| Settings { weights_file: file, ..settings.clone() };
        let players: Vec<Settings> = match settings.players() {
            1 => Vec::new(),
            _ => settings.other_players(own).map(with).collect(),
        };
        players.iter().for_each(|player| self.preload(player));
        let mut others = Vec::new();
        for player in &players {
            if !is_on_clock || self.is_ready(player) {
                others.push(self.network(player, debug));
            }
        }
        others
    }

    /// The network that `settings` name, on the device that they ask for, or the best there is instead; blocks while it
    /// is loaded. `debug` names it to the user.
    pub fn network(&mut self, settings: &Settings, debug: bool) -> Ready {
        let (source, wanted) = (Source::of(settings), self.wanted(settings));
        if let Some(at) = self.loaded.iter().position(|loaded| loaded.source == source) {
            let loaded = self.loaded.remove(at);
            if !loaded.has_failed() {
                return self.keep(loaded, settings);
            }
        }
        self.begin(&wanted);
        loop {
            if let Some(at) = self.opened.iter().position(|opened| opened.source == wanted) {
                let opened = self.opened.remove(at);
                return self.install(source, opened, settings, debug);
            }
            self.receive();
        }
    }

    /// The same for a move on a clock: until that network is loaded, the one used last, or the first that is loaded, plays.
    pub fn network_on_clock(&mut self, settings: &Settings, debug: bool) -> Ready {
        let wanted = self.wanted(settings);
        if !self.is_ready(settings) {
            self.begin(&wanted);
            if let Some(last) = self.loaded.last() {
                self.note_wait(&wanted, &last.network.name);
                return last.ready();
            }
            while self.opened.is_empty() {
                self.receive();
            }
        }
        if self.is_ready(settings) {
            return self.network(settings, debug);
        }
        let first = self.opened.remove(0);
        self.note_wait(&wanted, &first.network.name);
        self.install(first.source.clone(), first, settings, debug)
    }

    /// Forgets what the networks have answered.
    pub fn clear_caches(&self) {
        self.loaded
            .iter()
            .filter_map(|loaded| loaded.cache.as_ref())
            .for_each(|cache| cache.clear());
    }

    /// The network to open for `settings`: on the CPU if the device has failed.
    fn wanted(&self, settings: &Settings) -> Source {
        let source = Source::of(settings);
        let loaded = self.loaded.iter().find(|loaded| loaded.source == source);
        match loaded.is_some_and(Loaded::has_failed) {
            true => Source { backend: Backend::Cpu, ..source },
            false => source,
        }
    }

    /// The network that `settings` name is used without waiting.
    fn is_ready(&mut self, settings: &Settings) -> bool {
        while let Ok(opened) = self.results.1.try_recv() {
            self.take(opened);
        }
        let (source, wanted) = (Source::of(settings), self.wanted(settings));
        let is_loaded = |loaded: &Loaded| loaded.source == source && !loaded.has_failed();
        self.loaded.iter().any(is_loaded)
            || self.opened.iter().any(|opened| opened.source == wanted)
    }

    fn note_wait(&self, wanted: &Source, name: &str) {
        let file = match wanted.file.as_str() {
            "" => "the built-in network",
            file => file,
        };
        self.output.note(format_args!("{file} is still being loaded; playing with {name}"));
    }

    /// Begins to open the network of `source` on another thread, unless that is done or under way.
    fn begin(&mut self, source: &Source) {
        let is_opened = self.opened.iter().any(|opened| opened.source == *source);
        if is_opened || self.opening.contains(source) {
            return;
        }
        let (networks, clock) = (self.networks.clone(), self.clock.clone());
        let (results, own) = (self.results.0.clone(), source.clone());
        let work = move || {
            // The engine may be gone.
            let _ = results.send(open_best(&*networks, &*clock, own));
        };
        match thread::Builder::new().name("network".to_owned()).spawn(work) {
            Ok(_) => self.opening.push(source.clone()),
            Err(_) => {
                self.opened.push(open_best(&*self.networks, &*self.clock, source.clone()));
            }
        }
    }

    /// Waits for a network under way; reports progress if it takes long on a GPU.
    fn receive(&mut self) {
        let on_gpu = self.opening.iter().any(|source| source.backend != Backend::Cpu);
        let mut seconds = 0;
        loop {
            match self.results.1.recv_timeout(PROGRESS) {
                Ok(opened) => return self.take(opened),
                Err(RecvTimeoutError::Timeout) => seconds += PROGRESS.as_secs(),
                // Cannot happen: this end keeps a sender.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if cfg!(any(feature = "gpu", feature = "cuda")) && on_gpu {
                self.output.note(format_args!(
                    "opening the network, {seconds} s so far; a GPU compiles its kernels at the first start"
                ));
            }
        }
    }

    fn take(&mut self, opened: Opened) {
        self.opening.retain(|source| *source != opened.source);
        self.opened.push(opened);
    }

    /// Makes `opened` the network of `source` and reports what was wrong with others.
    fn install(
        &mut self,
        source: Source,
        opened: Opened,
        settings: &Settings,
        debug: bool,
    ) -> Ready {
        let opened = opened.for_threads(host::threads(settings.threads));
        self.report(&opened, debug);
        let Opened { mut network, timing, file, .. } = opened;
        let fallback = network.on_gpu.then(|| self.fallback(file.as_deref(), &network));
        if let Some(fallback) = &fallback {
            network.evaluator = fallback.clone();
        }
        self.keep(Loaded { source, network, timing, fallback, cache_mb: 0, cache: None }, settings)
    }

    /// Keeps `loaded` as the network used last, with the cache that `settings` ask for.
    fn keep(&mut self, mut loaded: Loaded, settings: &Settings) -> Ready {
        let wanted_mb = settings.nn_cache_mb;
        if loaded.cache_mb != wanted_mb {
            loaded.cache_mb = wanted_mb;
            // The old one first: both might not fit.
            loaded.cache = None;
            let (cache, shortage) = open::cache(&loaded.network, settings);
            loaded.cache = cache;
            if let Some(shortage) = shortage
                && self.short_cache_mb != wanted_mb
            {
                self.short_cache_mb = wanted_mb;
                self.output.note(shortage);
            }
        }
        let ready = loaded.ready();
        let most = KEPT.max(settings.players());
        let surplus = (self.loaded.len() + 1).saturating_sub(most);
        self.loaded.drain(..surplus);
        self.loaded.push(loaded);
        self.opened.drain(..self.opened.len().saturating_sub(most));
        ready
    }

    /// Reports why `opened` is not what was asked for. Another device is reported with its reason; another network by its
    /// name, too.
    fn report(&mut self, opened: &Opened, debug: bool) {
        let before = std::mem::take(&mut self.last_trouble);
        let mut name_it = debug || opened.network.names_card();
        for error in &opened.troubles {
            name_it |= !error.is_of_device();
            let why = error.to_string();
            // A missing file is missing on every device: said once.
            if why != before && why != self.last_trouble {
                self.output.note(&why);
            }
            self.last_trouble = why;
        }
        if !opened.is_network {
            self.output.note("no network can be used; the engine plays on without one");
        } else if name_it {
            self.output.note(format_args!("playing with {}", opened.network.name));
        }
    }

    /// `network`, replaced by the CPU if its device fails, which is reported to the user.
    fn fallback(&self, file: Option<&Path>, network: &Network) -> Arc<Fallback> {
        let (networks, output) = (self.networks.clone(), self.output.clone());
        let file = file.map(Path::to_owned);
        let open = move |why: &EvalError| {
            output.note(NetworkError::Device(why.clone()));
            let spare = networks.open(file.as_deref(), Backend::Cpu);
            spare.map(|network| network.evaluator).map_err(|why| output.note(why)).ok()
        };
        Arc::new(Fallback::new(network.evaluator.clone(), open))
    }
}
