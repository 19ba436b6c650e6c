//! The search tree between searches: kept for the next move, whose position it mostly knows already.

use crate::chess::game::Game;
use crate::play::host;
use crate::uci::options::Settings;
use crate::world::AnyWorld;
use crate::world::memory::Memory;
use mcts::{Params, Searcher};

use std::sync::Arc;
use std::time::Duration;

/// The search tree between searches.
#[derive(Default)]
pub struct Tree {
    pub(crate) searcher: Option<Searcher<AnyWorld>>,
    /// What its memory was asked to be, in MB.
    mb: usize,
    /// States that the network imagined; made at the first need.
    imagined: Option<Arc<Memory>>,
    /// The game whose last position is its root.
    pub(crate) root: Option<Game>,
    /// Values from another network or another scoring do not mix.
    pub(crate) origin: Option<(usize, Settings)>,
    /// Time of one evaluation in recent searches: on a busy machine more than when the network was loaded.
    pub(crate) pace: Duration,
}

impl Tree {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.root = None;
        self.imagined = None;
        if let Some(searcher) = &mut self.searcher {
            searcher.clear();
        }
    }

    /// Has the tree's memory ready. The note tells of memory that could not be had.
    pub fn reserve(&mut self, wanted_mb: usize) -> Option<String> {
        if self.searcher.is_some() && self.mb == wanted_mb {
            return None;
        }
        let held = self.searcher.as_ref().map_or(0, |_| self.mb);
        let mb = host::hash_mb(wanted_mb, held);
        self.root = None;
        self.imagined = None;
        self.mb = wanted_mb;
        match &mut self.searcher {
            Some(searcher) => searcher.resize(mb << 20),
            None => self.searcher = Some(Searcher::new(Params::default(), mb << 20)),
        }
        let got = self.searcher.as_ref().map_or(0, Searcher::bytes) >> 20;
        (mb < wanted_mb).then(|| {
            format!("Hash {wanted_mb} MB is more than this machine has free; using {got} MB")
        })
    }

    /// The states imagined so far by the search that `origin` describes, as many as fit into the tree's
    /// memory once more; none yet, if the last search was another.
    pub fn imagined(&mut self, origin: &(usize, Settings)) -> Arc<Memory> {
        if self.origin.as_ref() != Some(origin) {
            self.imagined = None;
        }
        let bytes = self.mb << 20;
        self.imagined.get_or_insert_with(|| Arc::new(Memory::new(bytes))).clone()
    }
}
