//! The one writer to the GUI. Every line of every thread passes its lock, so blocks stay whole; every
//! block is flushed, because a GUI charges our clock until it has read `bestmove`.
//!
//! The log has a lock of its own, so that the reader never waits for a GUI that does not read.

use crate::process::files::open_to_append;
use crate::process::time::Clock;
use chess::quote::shorten;
use crossbeam::channel::Sender;
use std::collections::VecDeque;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Longest text of an `info string`, in characters.
const LONGEST_NOTE: usize = 1000;

/// The writer, shared by all threads.
#[derive(Clone)]
pub struct Output {
    sink: Arc<Mutex<Sink>>,
    log: Arc<Mutex<Log>>,
    closed: Arc<AtomicBool>,
    /// The search that this writes for has answered. Changes under the sink's lock.
    answered: Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    /// Notified once when the reader has closed the pipe.
    hangup: Sender<()>,
}

/// The log's record of all input and output. Locked after the sink where both are.
#[derive(Default)]
struct Log {
    file: Option<BufWriter<File>>,
    /// Why it ended, until that is said.
    failed: Option<io::Error>,
    /// Lines received but not obeyed yet, with their times: a log that a line opens begins with those after it.
    pending: VecDeque<(Duration, String)>,
}

/// The reader's end of the log. Keeps neither the log nor the output open.
pub struct InputLog {
    log: Weak<Mutex<Log>>,
    clock: Arc<dyn Clock>,
}

impl InputLog {
    /// Records a line of the GUI at once and answers the time; None when the output is gone.
    #[must_use]
    pub fn record(&self, line: &str) -> Option<Duration> {
        let log = self.log.upgrade()?;
        let mut log = lock(&log);
        // Under the lock, so that times never decrease in the log.
        let received = self.clock.now();
        log.pending.push_back((received, line.to_owned()));
        log.write(received, '>', line);
        Some(received)
    }
}

impl Output {
    /// Lines go to `writer`, with the time of `clock` to the log; `hangup` hears once of a reader that is gone.
    #[must_use]
    pub fn new(writer: Box<dyn Write + Send>, clock: Arc<dyn Clock>, hangup: Sender<()>) -> Output {
        let sink = Arc::new(Mutex::new(Sink { writer, hangup }));
        let (log, closed, answered) = Default::default();
        Output { sink, log, closed, answered, clock }
    }

    /// The recorder of the GUI's lines.
    #[must_use]
    pub fn input_log(&self) -> InputLog {
        InputLog { log: Arc::downgrade(&self.log), clock: self.clock.clone() }
    }

    /// The same writer for one search: it says nothing after its answer.
    #[must_use]
    pub fn of_search(&self) -> Output {
        Output { answered: Arc::default(), ..self.clone() }
    }

    /// Sends one line.
    pub fn line(&self, line: impl Display) {
        self.block(&[line]);
    }

    /// Sends `info string …`; line ends inside the text become blanks. A name in it may be of any length: the text is cut.
    pub fn note(&self, text: impl Display) {
        self.line(note(text));
    }

    /// Sends several lines with nothing between them.
    pub fn block<T: Display>(&self, lines: &[T]) {
        self.send(lines, false);
    }

    /// Sends a search's last lines, if no other thread has done so before. False if one has.
    pub fn answer<T: Display>(&self, lines: &[T]) -> bool {
        self.send(lines, true)
    }

    /// False if the search that this writes for had answered before.
    fn send<T: Display>(&self, lines: &[T], is_answer: bool) -> bool {
        // Relaxed: a late look only costs a write that fails or is not read.
        if lines.is_empty() || self.closed.load(Ordering::Relaxed) {
            return true;
        }
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        let mut sink = lock(&self.sink);
        // Relaxed: the lock orders it.
        if self.answered.load(Ordering::Relaxed) {
            return false;
        }
        self.answered.store(is_answer, Ordering::Relaxed);
        if let Some(why) = self.record(&text) {
            let note = format!("the log file ends here: {why}");
            text.insert_str(0, &format!("{}\n", uci::Info::text(note)));
        }
        let sent = sink.writer.write_all(text.as_bytes()).and_then(|()| sink.writer.flush());
        if sent.is_err() {
            self.closed.store(true, Ordering::Relaxed);
            let _ = sink.hangup.try_send(());
        }
        true
    }

    /// Why the log ended, once.
    fn record(&self, text: &str) -> Option<io::Error> {
        let mut log = lock(&self.log);
        log.write(self.clock.now(), '<', text);
        log.failed.take()
    }

    /// The oldest recorded line of the GUI is being obeyed.
    pub fn obeying(&self) {
        lock(&self.log).pending.pop_front();
    }

    /// Starts the log file, or ends it when `path` is empty.
    ///
    /// # Errors
    /// The file cannot be written; there is no log then.
    pub fn log_to(&self, path: &str) -> io::Result<()> {
        let mut log = lock(&self.log);
        log.file = None;
        if !path.is_empty() {
            log.file = Some(BufWriter::new(open_to_append(Path::new(path))?));
            let pending = std::mem::take(&mut log.pending);
            pending.iter().for_each(|(received, line)| log.write(*received, '>', line));
            log.pending = pending;
        }
        Ok(())
    }
}

/// `info string …` as [`Output::note`] sends it.
#[must_use]
pub fn note(text: impl Display) -> uci::Info {
    uci::Info::text(shorten(&text.to_string(), LONGEST_NOTE))
}

/// A panic elsewhere while writing leaves at worst half a line: better than silence.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    fn write(&mut self, time: Duration, direction: char, text: &str) {
        let Some(file) = &mut self.file else { return };
        let seconds = time.as_secs_f64();
        let mut written = Ok(());
        for line in text.lines() {
            written = written.and_then(|()| writeln!(file, "{seconds:10.3} {direction} {line}"));
        }
        if let Err(why) = written.and_then(|()| file.flush()) {
            // A full disk must not cost the game.
            self.file = None;
            self.failed = Some(why);
        }
    }
}
