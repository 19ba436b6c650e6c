//! The thread of at most one search, and what it has of the engine while it runs.

use crate::play::clock::signal::Signal;
use crate::play::tree::session::SearchSession;
use crossbeam::channel::{self, Receiver, Sender};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// As long as a search runs here, exactly one `bestmove` is owed or printed.
pub struct SearchThread {
    running: Option<Running>,
    /// Searches started.
    searches: u64,
    /// Receives the number of each search after its answer.
    ended: (Sender<u64>, Receiver<u64>),
}

struct Running {
    signal: Arc<Signal>,
    thread: JoinHandle<SearchSession>,
    number: u64,
    /// A limit ends it: neither `infinite` nor `ponder`.
    is_limited: bool,
}

impl Default for SearchThread {
    fn default() -> SearchThread {
        SearchThread { running: None, searches: 0, ended: channel::unbounded() }
    }
}

impl SearchThread {
    /// Starts a search that `signal` reaches.
    ///
    /// # Errors
    /// The system gives no thread; the work is lost.
    pub fn start(
        &mut self,
        signal: Arc<Signal>,
        is_limited: bool,
        work: impl FnOnce() -> SearchSession + Send + 'static,
    ) -> io::Result<()> {
        self.searches += 1;
        let (number, ended) = (self.searches, self.ended.0.clone());
        let work = move || {
            let session = work();
            // The engine may be gone.
            let _ = ended.send(number);
            session
        };
        let thread = Builder::new().name("search".to_owned()).spawn(work)?;
        self.running = Some(Running { signal, thread, number, is_limited });
        Ok(())
    }

    /// Reaches the search that was started last, until it is joined.
    pub fn signal(&self) -> Option<&Signal> {
        self.running.as_ref().map(|running| &*running.signal)
    }

    /// True while a search runs or holds its answer.
    pub fn is_searching(&self) -> bool {
        let over =
            |running: &Running| running.signal.has_answered() || running.thread.is_finished();
        self.running.as_ref().is_some_and(|running| !over(running))
    }

    /// True while a search runs that a limit will end.
    pub fn is_in_limited_search(&self) -> bool {
        self.is_searching() && self.running.as_ref().is_some_and(|running| running.is_limited)
    }

    /// The session is here.
    pub fn has_session(&self) -> bool {
        self.running.is_some()
    }

    /// Receives a number after each search's answer.
    pub fn ended(&self) -> Receiver<u64> {
        self.ended.1.clone()
    }

    /// The search that was started last has this number and is not joined.
    pub fn has_number(&self, number: u64) -> bool {
        self.running.as_ref().is_some_and(|running| running.number == number)
    }

    /// Waits for the search, if any, and takes its session.
    pub fn join(&mut self) -> Option<SearchSession> {
        // A panic past the search's own net has printed no answer and lost the tree; the next search
        // begins with a new one.
        self.running.take().map(|running| running.thread.join().unwrap_or_default())
    }
}
