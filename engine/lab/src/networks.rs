//! The networks of the laboratory: the engine's own, and the regressors of paper 002 in files of their own.

use crate::conventional::regress::average::Average;
use crate::conventional::regress::model::{MAGIC, MAX_BYTES, Regressor};
use crate::conventional::regress::successors::Successors;
use engine::play::network::{Installed, Network, NetworkError, Networks, load};
use nn::Evaluator;
use nn::device::Backend;
use nn::files::{open_regular, read_regular};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Opens regressors, and what [`Installed`] does.
#[derive(Clone, Copy, Debug, Default)]
pub struct LabNetworks {
    /// The engine's own.
    pub installed: Installed,
}

impl Networks for LabNetworks {
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        match file.map_or(Ok(None), regressor)? {
            Some((evaluator, name)) => Ok(Network { evaluator, name, on_gpu: false, players: 1 }),
            None => self.installed.open(file, backend),
        }
    }
}

/// An evaluator and its name.
type NamedEvaluator = (Arc<dyn Evaluator>, String);

/// The regressor in `file`, or those that it lists; None if the file is something else, or not there.
fn regressor(file: &Path) -> Result<Option<NamedEvaluator>, NetworkError> {
    if file.extension().is_some_and(|extension| extension == "toml") {
        let average = Average::open(file)
            .map_err(|why| NetworkError::Other { path: file.to_owned(), why: Box::new(why) })?;
        let name = format!("{} (average of regressors)", file.display());
        return Ok(Some((Arc::new(Successors(average)), name)));
    }
    let Some(bytes) = regressor_bytes(file).ok().flatten() else { return Ok(None) };
    let failed = |why| NetworkError::Other { path: file.to_owned(), why: Box::new(why) };
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
