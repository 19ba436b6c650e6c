//! Which network answers: the file the user named, or the one built in. The only file that knows how a
//! network is opened; everything else sees `Arc<dyn Evaluator>`.

use super::network_error::NetworkError;
use super::parameters::{is_built_in, lists_experts, load_experts};
use crate::conventional::regress::average::Average;
use crate::conventional::regress::model::{MAGIC, Regressor};
use crate::conventional::regress::successors::Successors;
use nn::Evaluator;
use nn::checkpoint::{self, CheckpointError};
use nn::device::{Backend, is_cpu, pick};
use nn::evaluator::burn::BurnEvaluator;
use nn::evaluator::cpu::CpuEvaluator;
use nn::evaluator::experts::Experts;
use nn::writer::DecoderWeights;
use std::convert::Infallible;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The bundled decoder of the internal search: `assets/internal.md`.
static BUNDLED_WRITER: &[u8] = include_bytes!("../../../assets/writer.safetensors");

/// The bundled decoder, read once.
///
/// # Errors
/// It is damaged.
pub fn writer() -> Result<Arc<DecoderWeights>, &'static CheckpointError> {
    static WRITER: OnceLock<Result<Arc<DecoderWeights>, CheckpointError>> = OnceLock::new();
    let read = || DecoderWeights::from_bytes(BUNDLED_WRITER).map(Arc::new);
    WRITER.get_or_init(read).as_ref().map(Clone::clone)
}

/// A network ready to answer.
#[derive(Clone)]
pub struct Network {
    /// What answers; shared by all threads of a search.
    pub evaluator: Arc<dyn Evaluator>,
    /// For humans: name, size, device.
    pub name: String,
    /// It computes on a GPU, which the CPU can take over from.
    pub on_gpu: bool,
}

/// Where networks come from. Called at the first need, never at start-up; may block for a second.
pub trait Networks: Send + Sync {
    /// Opens what [`load_experts`] reads, or a regressor; without a file the smaller built-in network.
    ///
    /// # Errors
    /// Names the file or device and what is wrong with it.
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError>;

    /// Opens it on the best device that computes.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    fn open_anywhere(&self, file: Option<&Path>) -> Result<Network, NetworkError> {
        match self.open(file, Backend::Auto) {
            Err(error) if error.is_of_device() => {
                log::warn!("{error}");
                self.open(file, Backend::Cpu)
            }
            opened => opened,
        }
    }
}

/// The networks of this executable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Installed;

impl Networks for Installed {
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        if let Some((evaluator, name)) = file.map_or(Ok(None), regressor)? {
            return Ok(Network { evaluator, name, on_gpu: false });
        }
        let experts = load_experts(file)?;
        let (device, note) = pick(backend);
        let source = match file.filter(|file| !is_built_in(file)) {
            None => "built-in network".to_owned(),
            Some(path) => path.display().to_string(),
        };
        let name = format!("{source} ({})", described(&experts));
        if !is_cpu(&device) {
            let put = |network: &_| BurnEvaluator::new(network, device.clone());
            let experts = experts.try_map(put).map_err(NetworkError::Device)?;
            let name = format!("{name}, GPU, {}", each(&experts, BurnEvaluator::arithmetic));
            return Ok(Network { evaluator: whole(experts), name, on_gpu: true });
        }
        // The CPU replaces the GPU only where the caller knows of it: the caller says so and asks again.
        if let Some(note) = note {
            return Err(NetworkError::Backend(note));
        }
        let pack = |network: &_| Ok::<_, Infallible>(CpuEvaluator::fastest(network));
        let Ok(experts) = experts.try_map(pack);
        let name = format!("{name}, CPU, {}", each(&experts, CpuEvaluator::arithmetic));
        Ok(Network { evaluator: whole(experts), name, on_gpu: false })
    }
}

/// Sizes and hash of every network.
fn described(experts: &Experts<checkpoint::Network>) -> String {
    each(experts, |network| {
        let c = &network.layout.config;
        format!("{}x{}, {}", c.width, c.layers, network.hash)
    })
}

/// What `say` says of the members, said once where they are alike.
fn each<T, S: ToString>(experts: &Experts<T>, say: impl Fn(&T) -> S) -> String {
    let mut words: Vec<String> = experts.members().map(|member| say(member).to_string()).collect();
    words.dedup();
    words.join("; ")
}

/// One evaluator of all.
fn whole<T: Evaluator + 'static>(experts: Experts<T>) -> Arc<dyn Evaluator> {
    match experts.into_one() {
        Ok(only) => Arc::new(only),
        Err(several) => Arc::new(several),
    }
}

/// An evaluator and its name.
type NamedEvaluator = (Arc<dyn Evaluator>, String);

/// The regressor in `file`, or those that it lists; None if the file is something else, or not there.
fn regressor(file: &Path) -> Result<Option<NamedEvaluator>, NetworkError> {
    if file.extension().is_some_and(|extension| extension == "toml") && !lists_experts(file) {
        let average = Average::open(file)
            .map_err(|why| NetworkError::Average { path: file.to_owned(), why })?;
        let name = format!("{} (average of regressors)", file.display());
        return Ok(Some((Arc::new(Successors(average)), name)));
    }
    let Some(bytes) = regressor_bytes(file).ok().flatten() else { return Ok(None) };
    let failed = |why| NetworkError::Regressor { path: file.to_owned(), why };
    let Some(regressor) = Regressor::from_bytes(&bytes).transpose().map_err(failed)? else {
        return Ok(None);
    };
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let (features, hash) = (regressor.features.name(), hasher.finish());
    let name = format!("{} ({features} regressor, {hash:016x})", file.display());
    Ok(Some((Arc::new(Successors(regressor)), name)))
}

/// The whole file if it begins as a regressor does.
fn regressor_bytes(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut opened = File::open(file)?;
    let mut bytes = vec![0; MAGIC.len()];
    opened.read_exact(&mut bytes)?;
    if bytes != MAGIC {
        return Ok(None);
    }
    opened.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Which network `file` holds, or is built in: its hash and little more.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn fingerprint(file: Option<&Path>) -> Result<String, NetworkError> {
    match file.map_or(Ok(None), regressor)? {
        Some((_, name)) => Ok(name),
        None => Ok(each(&load_experts(file)?, |network| network.hash.clone())),
    }
}

/// The same fake network whatever is asked for; asked for on the CPU, it is not on a GPU.
#[derive(Clone)]
pub struct Only(pub Network);

impl Networks for Only {
    fn open(&self, _file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        let network = self.0.clone();
        Ok(Network { on_gpu: network.on_gpu && backend != Backend::Cpu, ..network })
    }
}

/// Arbitrary but repeatable opinions, for `bench` and tests.
#[must_use]
pub fn hashed() -> Network {
    Network {
        evaluator: Arc::new(nn::evaluator::fake::Hashed::default()),
        name: "hashed (no network)".to_owned(),
        on_gpu: false,
    }
}

/// No opinions at all: what plays when nothing else can.
#[must_use]
pub fn uniform() -> Network {
    Network {
        evaluator: Arc::new(nn::evaluator::fake::Uniform),
        name: "uniform (no network)".to_owned(),
        on_gpu: false,
    }
}
