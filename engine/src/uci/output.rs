//! The one writer to the GUI. Every line of every thread passes its lock, so blocks stay whole; every
//! block is flushed, because a GUI charges our clock until it has read `bestmove`.

use crate::play::clock::Clock;
use crossbeam::channel::Sender;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The writer, shared by all threads.
#[derive(Clone)]
pub struct Output {
    sink: Arc<Mutex<Sink>>,
    closed: Arc<AtomicBool>,
    clock: Arc<dyn Clock>,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    log: Option<BufWriter<File>>,
    /// Told once when the reader at the other end is gone.
    hangup: Sender<()>,
}

impl Output {
    /// Lines go to `writer`, with the time of `clock` to the log; `hangup` hears once of a reader that is gone.
    #[must_use]
    pub fn new(writer: Box<dyn Write + Send>, clock: Arc<dyn Clock>, hangup: Sender<()>) -> Output {
        let sink = Sink { writer, log: None, hangup };
        Output { sink: Arc::new(Mutex::new(sink)), closed: Arc::new(AtomicBool::new(false)), clock }
    }

    /// Sends one line.
    pub fn line(&self, line: impl Display) {
        self.block(&[line]);
    }

    /// Sends `info string …`; line ends inside the text become blanks.
    pub fn note(&self, text: impl Display) {
        self.line(uci::Info::text(text.to_string()));
    }

    /// Sends several lines with nothing between them.
    pub fn block<T: Display>(&self, lines: &[T]) {
        // Relaxed: a late look only costs a write that fails or is not read.
        if lines.is_empty() || self.closed.load(Ordering::Relaxed) {
            return;
        }
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        let mut sink = self.lock();
        sink.log('<', &text, self.clock.as_ref());
        let sent = sink.writer.write_all(text.as_bytes()).and_then(|()| sink.writer.flush());
        if sent.is_err() {
            self.closed.store(true, Ordering::Relaxed);
            let _ = sink.hangup.try_send(());
        }
    }

    /// Records a line of the GUI.
    pub fn heard(&self, line: &str) {
        self.lock().log('>', line, self.clock.as_ref());
    }

    /// Starts the log file, or ends it when `path` is empty.
    ///
    /// # Errors
    /// The file cannot be written; there is no log then.
    pub fn log_to(&self, path: &str) -> std::io::Result<()> {
        let mut sink = self.lock();
        sink.log = None;
        if !path.is_empty() {
            let file = File::options().create(true).append(true).open(path)?;
            sink.log = Some(BufWriter::new(file));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        // A panic elsewhere while writing leaves at worst half a line: better than silence.
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink {
    fn log(&mut self, direction: char, text: &str, clock: &dyn Clock) {
        let Some(log) = &mut self.log else { return };
        let seconds = clock.now().as_secs_f64();
        let mut written = Ok(());
        for line in text.lines() {
            written = written.and_then(|()| writeln!(log, "{seconds:10.3} {direction} {line}"));
        }
        if written.and_then(|()| log.flush()).is_err() {
            // A full disk must not cost the game.
            self.log = None;
        }
    }
}
