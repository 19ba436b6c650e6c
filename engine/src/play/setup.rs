//! The engine's surroundings, given by an executable or a test.

use super::network::{Installed, Networks};
use super::players::player::Players;
use crate::options::Shown;
use crate::process::time::{Clock, SystemClock};
use std::sync::Arc;

/// The engine's needs from outside: its time and its networks.
#[derive(Clone)]
pub struct Setup {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Opens networks.
    pub networks: Arc<dyn Networks>,
    /// Players beside the engine's own.
    pub players: Players,
    /// Options announced to the GUI.
    pub shown_options: Shown,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            clock: Arc::new(SystemClock::default()),
            networks: Arc::new(Installed::default()),
            players: &[],
            shown_options: Shown::Everyday,
        }
    }
}
