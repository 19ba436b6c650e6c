//! Opens networks, measures them and gives them a cache: one way for the engine that plays and for searches without it.

use super::timing::EvalTiming;
use super::warm_up::warm_up;
use crate::options::settings::{Backend, Settings};
use crate::play::network::{self, Network, NetworkError, Networks};
use crate::process::host::{self, CacheShortage};
use crate::process::time::Clock;
use nn::evaluator::cached::Cached;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The choice of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Empty: the built-in network.
    pub file: String,
    /// On this device.
    pub backend: Backend,
}

/// The best network that there was for a source, without a cache.
pub struct Opened {
    /// The request.
    pub source: Source,
    /// The evaluator with its name.
    pub network: Network,
    /// How fast it does.
    pub timing: EvalTiming,
    /// Its file; None for the built-in one.
    pub file: Option<PathBuf>,
    /// Why it is not the one that was asked for.
    pub troubles: Vec<NetworkError>,
    /// It is a network at all.
    pub is_network: bool,
    /// The same network on the CPU where the card was chosen by [`Backend::Auto`]: it plays unless the card is much faster.
    pub on_cpu: Option<(Network, EvalTiming)>,
}

impl Opened {
    /// The one that plays with this number of threads.
    #[must_use]
    pub fn for_threads(mut self, threads: usize) -> Opened {
        if let Some((network, timing)) = self.on_cpu.take()
            && let Some(note) = outrun(&self.network, &self.timing, &timing, threads)
        {
            self.troubles.push(note);
            (self.network, self.timing) = (network, timing);
        }
        self
    }
}

/// Why `threads` threads of the CPU play and not `card`, if they do.
fn outrun(
    card: &Network,
    timing: &EvalTiming,
    cpu: &EvalTiming,
    threads: usize,
) -> Option<NetworkError> {
    timing.is_outrun_by(cpu, threads).then(|| {
        let speeds = (timing.speed(), cpu.speed() * threads as f64);
        NetworkError::Backend(format!(
            "{} evaluates {:.0} positions a second, the CPU {:.0} and knows each before it selects the next; using the CPU (`Backend` `gpu` takes the card)",
            card.card().unwrap_or("the card"),
            speeds.0,
            speeds.1
        ))
    })
}

/// The network of `choice` on the CPU, if the card that computes it was chosen by [`Backend::Auto`].
fn on_cpu(
    networks: &dyn Networks,
    clock: &dyn Clock,
    choice: (Option<&Path>, Backend),
    timing: &EvalTiming,
) -> Option<(Network, EvalTiming)> {
    if choice.1 != Backend::Auto || timing.lanes == 0 {
        return None;
    }
    let (found, _) = open_first(networks, clock, &[(choice.0, Backend::Cpu)]);
    found.map(|(_, network, timing)| (network, timing))
}

impl Source {
    /// The one that the options name.
    pub fn of(settings: &Settings) -> Source {
        let backend = match (settings.backend, settings.adapter) {
            (Backend::Auto | Backend::Gpu, number @ 1..) => Backend::Adapter(number),
            (backend, _) => backend,
        };
        Source { file: settings.weights_file.clone(), backend }
    }

    fn path(&self) -> Option<&Path> {
        (!self.file.is_empty()).then(|| Path::new(&self.file))
    }
}

/// Opens the network of `source`, or the next best one. Blocks.
pub fn open_best(networks: &dyn Networks, clock: &dyn Clock, source: Source) -> Opened {
    let (file, backend, cpu) = (source.path(), source.backend, Backend::Cpu);
    // From what was asked for to what always works.
    let choices = [(file, backend), (file, cpu), (None, backend), (None, cpu)];
    open_among(networks, clock, &source, &choices)
}

/// Opens the network of `source` for a search with `threads` threads, on the CPU where its device cannot be used, which the
/// log says. Blocks.
///
/// # Errors
/// The network cannot be used.
pub fn open_named(
    networks: &dyn Networks,
    clock: &dyn Clock,
    source: &Source,
    threads: usize,
) -> Result<(Network, EvalTiming), NetworkError> {
    let choices = [(source.path(), source.backend), (source.path(), Backend::Cpu)];
    let opened = open_among(networks, clock, source, &choices).for_threads(threads);
    for trouble in opened.troubles {
        match trouble.is_of_device() {
            true => log::warn!("{trouble}"),
            false => return Err(trouble),
        }
    }
    match opened.is_network {
        true => Ok((opened.network, opened.timing)),
        false => Err(NetworkError::Failed("no device computes the network".to_owned())),
    }
}

/// Opens the first of `choices` that can be used.
fn open_among(
    networks: &dyn Networks,
    clock: &dyn Clock,
    source: &Source,
    choices: &[(Option<&Path>, Backend)],
) -> Opened {
    let (found, troubles) = open_first(networks, clock, choices);
    let (index, network, timing) = match found {
        Some((index, network, timing)) => (Some(index), network, timing),
        None => (None, network::uniform(), EvalTiming::default()),
    };
    let choice = index.map(|index| choices[index]);
    let on_cpu = choice.and_then(|choice| on_cpu(networks, clock, choice, &timing));
    let file = choice.and_then(|choice| choice.0).map(Path::to_owned);
    let (source, is_network) = (source.clone(), index.is_some());
    Opened { source, network, timing, file, troubles, is_network, on_cpu }
}

/// A network with its place among the choices.
type OpenedNetwork = (usize, Network, EvalTiming);

/// Opens and measures the first of different `choices` that can be used; the errors are of those before it.
fn open_first(
    networks: &dyn Networks,
    clock: &dyn Clock,
    choices: &[(Option<&Path>, Backend)],
) -> (Option<OpenedNetwork>, Vec<NetworkError>) {
    let mut troubles = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        if choices[..index].contains(choice) {
            continue;
        }
        let open = || {
            let network = networks.open(choice.0, choice.1)?;
            let timing = warm_up(&network, clock)?;
            Ok((network, timing))
        };
        let opened = catch_unwind(AssertUnwindSafe(open))
            .unwrap_or_else(|_| Err(NetworkError::Failed("the network failed inside".to_owned())));
        match opened {
            Ok((network, timing)) => return (Some((index, network, timing)), troubles),
            Err(error) => troubles.push(error),
        }
    }
    (None, troubles)
}

/// The cache around `network` that `settings` ask for, if any, and the shortage where the machine has less.
pub fn cache(
    network: &Network,
    settings: &Settings,
) -> (Option<Arc<Cached>>, Option<CacheShortage>) {
    let (cache_mb, shortage) = host::cache_mb(settings.nn_cache_mb, settings.hash_mb);
    let cached = || Arc::new(Cached::new(network.evaluator.clone(), cache_mb << 20));
    ((cache_mb > 0).then(cached), shortage)
}
