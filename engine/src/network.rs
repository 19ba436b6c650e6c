//! Which network answers: the file the user named, or the one built in. The only file that knows how a
//! network is opened; everything else sees `Arc<dyn Evaluator>`.

use crate::options::Backend;
use nn::Evaluator;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A network ready to answer.
#[derive(Clone)]
pub struct Network {
    pub evaluator: Arc<dyn Evaluator>,
    /// For humans: name, size, device.
    pub name: String,
}

/// Why a network could not be used.
#[derive(Debug)]
pub enum NetworkError {
    /// The file could not be read.
    File { path: PathBuf, why: std::io::Error },
    /// The file, or the built-in network, is not what it should be.
    Content { source: String, why: String },
    /// This executable cannot compute on that device.
    Backend(Backend),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::File { path, why } => write!(f, "cannot read `{}`: {why}", path.display()),
            NetworkError::Content { source, why } => write!(f, "cannot use {source}: {why}"),
            NetworkError::Backend(backend) => write!(f, "this build has no {backend:?} backend"),
        }
    }
}

impl std::error::Error for NetworkError {}

/// Where networks come from. Called at the first need, never at start-up; may block for a second.
pub trait Networks: Send + Sync {
    /// Opens `file`, or the built-in network.
    ///
    /// # Errors
    /// Names the file or device and what is wrong with it.
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError>;
}

/// The networks of this executable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Installed;

/// The network built into the executable, as a file would hold it.
const BUILT_IN: Option<&[u8]> = None;

impl Networks for Installed {
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        if backend == Backend::Cuda {
            return Err(NetworkError::Backend(backend));
        }
        let (network, source) = match (file, BUILT_IN) {
            (Some(path), _) => {
                let bytes = std::fs::read(path).map_err(|why| NetworkError::File { path: path.to_owned(), why })?;
                (nn::checkpoint::Network::from_bytes(&bytes), format!("`{}`", path.display()))
            }
            (None, Some(bytes)) => (nn::checkpoint::Network::from_bytes(bytes), "the built-in network".to_owned()),
            (None, None) => {
                let why = "this build has none".to_owned();
                return Err(NetworkError::Content { source: "the built-in network".to_owned(), why });
            }
        };
        let network =
            network.map_err(|why| NetworkError::Content { source: source.clone(), why: why.to_string() })?;
        Ok(Network { evaluator: Arc::new(nn::infer::CpuEvaluator::new(network)), name: source })
    }
}

/// The same fake network whatever is asked for.
#[derive(Clone)]
pub struct Only(pub Network);

impl Networks for Only {
    fn open(&self, _file: Option<&Path>, _backend: Backend) -> Result<Network, NetworkError> {
        Ok(self.0.clone())
    }
}

/// Arbitrary but repeatable opinions, for `bench` and tests.
#[must_use]
pub fn hashed() -> Network {
    Network { evaluator: Arc::new(nn::fake::Hashed::default()), name: "hashed (no network)".to_owned() }
}

/// No opinions at all: what plays when nothing else can.
#[must_use]
pub fn uniform() -> Network {
    Network { evaluator: Arc::new(nn::fake::Uniform), name: "uniform (no network)".to_owned() }
}
