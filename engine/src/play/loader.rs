//! The networks in use: opened at the first need or on another thread before it, measured, given a cache, and replaced when the
//! options ask for others or their device has failed.
//!
//! Something always answers: a network that cannot be used is named to the user, and the next best one
//! plays.

use super::host;
use super::network::{self, Network, NetworkError, Networks};
use super::warm_up::{EvalTiming, warm_up};
use crate::options::settings::{Backend, Settings};
use crate::output::Output;
use crate::time::Clock;
use nn::EvalError;
use nn::evaluator::cached::Cached;
use nn::evaluator::fallback::Fallback;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Opens networks and keeps the last two, so that a change may be taken back, or as many as a team has players.
pub struct NetworkLoader {
    networks: Arc<dyn Networks>,
    clock: Arc<dyn Clock>,
    output: Output,
    /// The one used last at the end.
    loaded: Vec<Loaded>,
    preload: Option<Preload>,
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

/// What chooses a network.
#[derive(PartialEq)]
struct Request {
    file: String,
    backend: Backend,
    cache_mb: usize,
}

struct Loaded {
    request: Request,
    ready: Ready,
    /// None if the option says none.
    cache: Option<Arc<Cached>>,
    /// Knows whether the CPU had to replace the GPU; none where the CPU computes anyway.
    fallback: Option<Arc<Fallback>>,
}

/// A network that another thread opens before it is needed.
struct Preload {
    file: String,
    backend: Backend,
    thread: JoinHandle<Result<(Network, EvalTiming), NetworkError>>,
}

/// A network that answers, without a cache.
struct Opened {
    network: Network,
    timing: EvalTiming,
    fallback: Option<Arc<Fallback>>,
}

impl NetworkLoader {
    /// Nothing is opened yet. `output` hears of networks that cannot be used.
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
            preload: None,
            last_trouble: String::new(),
            short_cache_mb: 0,
        }
    }

    /// Begins to open the first network on another thread, so that a `go` without `isready` waits for less of it. Reports
    /// nothing: [`NetworkLoader::network`] does, and opens another one if the options have changed by then.
    pub fn preload(&mut self, settings: &Settings) {
        if !self.loaded.is_empty() || self.preload.is_some() {
            return;
        }
        let (file, backend) = (settings.weights_file.clone(), settings.backend);
        let (networks, clock, name) = (self.networks.clone(), self.clock.clone(), file.clone());
        let work = move || open(&*networks, &*clock, named(&name), backend);
        // Without a thread, the network is opened when it is needed.
        let thread = thread::Builder::new().name("preload".to_owned()).spawn(work).ok();
        self.preload = thread.map(|thread| Preload { file, backend, thread });
    }

    /// The networks of the team's players after the first, as [`Self::network`] has them.
    pub fn others(&mut self, settings: &Settings, debug: bool) -> Vec<Ready> {
        if settings.players() == 1 {
            return Vec::new();
        }
        let own = self.network(settings, debug).network.players;
        let with = |file: String| Settings { weights_file: file, ..settings.clone() };
        settings.other_players(own).map(with).map(|own| self.network(&own, debug)).collect()
    }

    /// The network that `settings` name, on the device that they ask for, or the best there is instead; blocks while it
    /// is loaded. `debug` names it to the user.
    pub fn network(&mut self, settings: &Settings, debug: bool) -> Ready {
        let request = Request {
            file: settings.weights_file.clone(),
            backend: settings.backend,
            cache_mb: settings.nn_cache_mb,
        };
        let mut backend = request.backend;
        if let Some(at) = self.loaded.iter().position(|loaded| loaded.request == request) {
            let loaded = self.loaded.remove(at);
            if !loaded.fallback.as_ref().is_some_and(|fallback| fallback.has_failed()) {
                let ready = loaded.ready.clone();
                self.loaded.push(loaded);
                return ready;
            }
            // Opened for itself, it gets the batches and the timing of a CPU.
            backend = Backend::Cpu;
        }
        let output = self.output.clone();
        let mut open = || self.open(&request.file, backend, debug);
        let gpu = cfg!(feature = "cuda") && backend != Backend::Cpu;
        let opened = if gpu { with_progress(&output, open) } else { open() };
        let Opened { mut network, timing, fallback } = opened;
        self.preload = None;
        if let Some(fallback) = &fallback {
            network.evaluator = fallback.clone();
        }
        let (cache_mb, shortage) = host::cache_mb(request.cache_mb, settings.hash_mb);
        if let Some(shortage) = shortage
            && self.short_cache_mb != request.cache_mb
        {
            self.short_cache_mb = request.cache_mb;
            self.output.note(shortage);
        }
        let bytes = cache_mb << 20;
        let cache = (bytes > 0).then(|| Arc::new(Cached::new(network.evaluator.clone(), bytes)));
        if let Some(cache) = &cache {
            network.evaluator = cache.clone();
        }
        let ready = Ready { network, timing };
        let surplus = (self.loaded.len() + 1).saturating_sub(KEPT.max(settings.players()));
        self.loaded.drain(..surplus);
        self.loaded.push(Loaded { request, ready: ready.clone(), cache, fallback });
        ready
    }

    /// Forgets what the networks have answered.
    pub fn clear_caches(&self) {
        self.loaded
            .iter()
            .filter_map(|loaded| loaded.cache.as_ref())
            .for_each(|cache| cache.clear());
    }

    fn open(&mut self, file: &str, backend: Backend, debug: bool) -> Opened {
        // From what was asked for to what always works.
        let file = named(file);
        let cpu = Backend::Cpu;
        let choices = [(file, backend), (file, cpu), (None, backend), (None, cpu)];
        let before = std::mem::take(&mut self.last_trouble);
        // Another device is reported with its reason; another network by its name, too.
        let mut name_it = debug;
        for (index, (file, backend)) in choices.iter().enumerate() {
            if choices[..index].contains(&(*file, *backend)) {
                continue;
            }
            let is_wanted = |preload: &mut Preload| {
                (named(&preload.file), preload.backend) == (*file, *backend)
            };
            let opened = match self.preload.take_if(is_wanted) {
                Some(preload) => preload.thread.join().unwrap_or_else(|_| {
                    Err(NetworkError::Failed("the network failed inside".to_owned()))
                }),
                None => open(&*self.networks, &*self.clock, *file, *backend),
            };
            let error = match opened {
                Ok((network, timing)) => {
                    if name_it {
                        self.output.note(format_args!("playing with {}", network.name));
                    }
                    let fallback = network.on_gpu.then(|| self.fallback(*file, &network));
                    return Opened { network, timing, fallback };
                }
                Err(error) => error,
            };
            name_it |= !error.is_of_device();
            let why = error.to_string();
            // A missing file is missing on every device: said once.
            if why != before && why != self.last_trouble {
                self.output.note(&why);
            }
            self.last_trouble = why;
        }
        self.output.note("no network can be used; the engine plays on without one");
        Opened { network: network::uniform(), timing: EvalTiming::default(), fallback: None }
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

/// Runs `work`; reports progress if it takes long.
fn with_progress<T>(output: &Output, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut seconds = 0;
            while waiting.recv_timeout(PROGRESS) == Err(RecvTimeoutError::Timeout) {
                seconds += PROGRESS.as_secs();
                output.note(format_args!(
                    "opening the network, {seconds} s so far; a GPU compiles its kernels at the first start"
                ));
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// The file that an option names, if any.
pub fn named(file: &str) -> Option<&Path> {
    (!file.is_empty()).then(|| Path::new(file))
}

/// Opens and measures a network. Blocks.
///
/// # Errors
/// The network cannot be used.
pub fn open(
    networks: &dyn Networks,
    clock: &dyn Clock,
    file: Option<&Path>,
    backend: Backend,
) -> Result<(Network, EvalTiming), NetworkError> {
    let network = networks.open(file, backend)?;
    let timing = warm_up(&network, clock)?;
    Ok((network, timing))
}
