//! The alpha-beta search's built-in network: `docs/src/networks-log.md`.

use crate::nnue::{Nnue, Parameters};
use nn::checkpoint::CheckpointError;
use std::sync::{Arc, OnceLock};

static BYTES: &[u8] = include_bytes!("../../../assets/mavka-nnue.safetensors");

/// The built-in small network, read once.
///
/// # Errors
/// The file is damaged.
pub fn nnue() -> Result<Arc<Nnue>, &'static CheckpointError> {
    static NNUE: OnceLock<Result<Arc<Nnue>, CheckpointError>> = OnceLock::new();
    let read = || Ok(Arc::new(Nnue::new(&Parameters::from_bytes(BYTES)?)));
    NNUE.get_or_init(read).as_ref().map(Clone::clone)
}
