//! Which network answers: the file the user named, or the one built in. The only file that knows how a
//! network is opened; everything else sees `Arc<dyn Evaluator>`.

use crate::conventional::regress::average::{Average, BadList};
use crate::conventional::regress::model::{BadModel, MAGIC, MAX_BYTES, Regressor};
use crate::conventional::regress::successors::Successors;
use crate::errors::quote_path;
use nn::checkpoint::{self, CheckpointError};
use nn::device::{Backend, is_cpu, pick};
use nn::evaluator::burn::BurnEvaluator;
use nn::evaluator::cpu::CpuEvaluator;
use nn::files::{open_regular, read_regular};
use nn::writer::DecoderWeights;
use nn::{EvalError, Evaluator};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The bundled networks: recipes and results in `assets/networks.md`, the fifth and the fifteenth.
static SMALL_BYTES: &[u8] = include_bytes!("../../../assets/mavka.safetensors");
static LARGE_BYTES: &[u8] = include_bytes!("../../../assets/mavka-large.safetensors");

/// What names the smaller bundled network in place of a file: it computes more positions in a second.
pub const SMALL: &str = "<small>";
/// What names the larger one: it judges them better.
pub const LARGE: &str = "<large>";

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

/// Why a network could not be used.
#[derive(Debug)]
pub enum NetworkError {
    /// The file is no network: missing, cut short, of another kind.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: CheckpointError,
    },
    /// The file begins as a regressor's and goes on otherwise.
    Regressor {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: BadModel,
    },
    /// The file's name ends in .toml, and it lists no regressors that could be averaged.
    Average {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: BadList,
    },
    /// A built-in network is damaged.
    Bundled(CheckpointError),
    /// The device that was asked for is not there or does not compute; what computes instead.
    Backend(String),
    /// The device is there, but the network does not run on it: too little memory, say.
    Device(EvalError),
    /// It answers nothing that can be used, or broke down.
    Failed(String),
}

impl NetworkError {
    /// Nothing is wrong with the network itself: on the CPU it will do.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        matches!(self, NetworkError::Backend(_) | NetworkError::Device(_))
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::File { path, why } => {
                write!(f, "cannot use network {}: {why}", quote_path(path))
            }
            NetworkError::Regressor { path, why } => {
                write!(f, "cannot use network {}: {why}", quote_path(path))
            }
            NetworkError::Average { path, why } => {
                write!(f, "cannot use network {}: {why}", quote_path(path))
            }
            NetworkError::Bundled(why) => write!(f, "cannot use the built-in network: {why}"),
            NetworkError::Backend(note) | NetworkError::Failed(note) => f.write_str(note),
            NetworkError::Device(why) => {
                write!(f, "the network does not run on the GPU ({why}); using the CPU")
            }
        }
    }
}

impl std::error::Error for NetworkError {}

/// Where networks come from. Called at the first need, never at start-up; may block for a second.
pub trait Networks: Send + Sync {
    /// Opens `file`, which may be [`SMALL`] or [`LARGE`]; without one the smaller built-in network.
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
        let network = load(file)?;
        let (device, note) = pick(backend);
        let source = match source(file) {
            Source::BuiltIn(_) => "built-in network".to_owned(),
            Source::File(path) => path.display().to_string(),
        };
        let c = &network.layout.config;
        let name = format!("{source} ({}x{}, {})", c.width, c.layers, network.hash);
        if !is_cpu(&device) {
            let evaluator = BurnEvaluator::new(&network, device).map_err(NetworkError::Device)?;
            let name = format!("{name}, GPU, {}", evaluator.arithmetic());
            return Ok(Network { evaluator: Arc::new(evaluator), name, on_gpu: true });
        }
        // The CPU replaces the GPU only where the caller knows of it: the caller says so and asks again.
        if let Some(note) = note {
            return Err(NetworkError::Backend(note));
        }
        let evaluator = Arc::new(CpuEvaluator::fastest(&network));
        let name = format!("{name}, CPU, {}", evaluator.arithmetic());
        Ok(Network { evaluator, name, on_gpu: false })
    }
}

/// The parameters in `file`, which may be [`SMALL`] or [`LARGE`]; without one those of the smaller built-in network.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn load(file: Option<&Path>) -> Result<checkpoint::Network, NetworkError> {
    match source(file) {
        Source::File(path) => checkpoint::Network::load(path)
            .map_err(|why| NetworkError::File { path: path.to_owned(), why }),
        Source::BuiltIn(bytes) => {
            checkpoint::Network::from_bytes(bytes).map_err(NetworkError::Bundled)
        }
    }
}

/// Where a network comes from.
enum Source<'a> {
    BuiltIn(&'static [u8]),
    File(&'a Path),
}

fn source(file: Option<&Path>) -> Source<'_> {
    match file {
        None => Source::BuiltIn(SMALL_BYTES),
        Some(path) if path == Path::new(SMALL) => Source::BuiltIn(SMALL_BYTES),
        Some(path) if path == Path::new(LARGE) => Source::BuiltIn(LARGE_BYTES),
        Some(path) => Source::File(path),
    }
}

/// An evaluator and its name.
type NamedEvaluator = (Arc<dyn Evaluator>, String);

/// The regressor in `file`, or those that it lists; None if the file is something else, or not there.
fn regressor(file: &Path) -> Result<Option<NamedEvaluator>, NetworkError> {
    if file.extension().is_some_and(|extension| extension == "toml") {
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
    let mut beginning = vec![0; MAGIC.len()];
    // Opening a pipe would wait for its writer.
    open_regular(file)?.read_exact(&mut beginning)?;
    if beginning != MAGIC {
        return Ok(None);
    }
    read_regular(file, MAX_BYTES).map(Some)
}

/// Which network `file` holds, or is built in: a hash and little more.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn fingerprint(file: Option<&Path>) -> Result<String, NetworkError> {
    match file.map_or(Ok(None), regressor)? {
        Some((_, name)) => Ok(name),
        None => Ok(load(file)?.hash),
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_pipe_is_no_network_and_is_not_waited_for() {
        let folder = std::env::temp_dir().join(format!("mavka-pipe-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["network", "list.toml"] {
            let pipe = folder.join(name);
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let why = Installed.open(Some(&pipe), Backend::Cpu).err().unwrap().to_string();
            assert!(why.contains(name) && why.contains("expected a regular file"), "{why}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
