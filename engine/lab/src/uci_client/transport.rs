//! Line-based connection to an engine: a child process in matches, a script in tests. The transport owns the clock, so
//! that tests can lose on time without waiting.

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use engine::process::streams::for_each_line;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{self, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// A line without its end, and the time of its arrival on this transport's clock.
    Line { text: String, at: Duration },
    /// Timeout.
    Silence,
    /// End of output: the engine quit or crashed.
    Closed,
}

/// A connection to one engine.
pub trait Transport: Send {
    /// Sends one line and flushes it.
    ///
    /// # Errors
    /// The engine no longer reads.
    fn send(&mut self, line: &str) -> io::Result<()>;

    /// Reads the next line. Blocks for at most `timeout`.
    fn receive(&mut self, timeout: Duration) -> ReadOutcome;

    /// Monotonic time of this transport's clock.
    fn now(&self) -> Duration;

    /// Exit report: exit status, last lines of standard error.
    fn exit_report(&mut self) -> String {
        String::new()
    }
}

/// Number of lines of standard error in the exit report.
const MAX_STDERR_LINES: usize = 5;
/// Time to exit after `quit` before the process is killed.
pub(super) const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// An engine as a child process.
pub struct Process {
    child: Child,
    /// None during shutdown: closing the pipe is the second way to say `quit`.
    stdin: Option<ChildStdin>,
    lines: Receiver<(String, Instant)>,
    errors: Arc<Mutex<VecDeque<String>>>,
    started: Instant,
}

impl Process {
    /// Starts the program.
    ///
    /// # Errors
    /// The program does not exist or is not executable.
    pub fn spawn<P, A>(program: P, args: impl IntoIterator<Item = A>) -> io::Result<Process>
    where
        P: AsRef<OsStr>,
        A: AsRef<OsStr>,
    {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        keep_from_ctrl_c(&mut command);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the engine's pipes were not opened");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;

        let (sender, lines) = unbounded();
        thread::spawn(move || read_lines(stdout, &sender));
        let errors = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&errors);
        thread::spawn(move || keep_last_lines(stderr, &kept));
        Ok(Process { child, stdin: Some(stdin), lines, errors, started: Instant::now() })
    }
}

/// Passes on each line immediately, until the stream ends or `each` returns false.
fn for_each_text(stream: impl io::Read, mut each: impl FnMut(String) -> bool) {
    for_each_line(BufReader::new(stream), |line| {
        each(String::from_utf8_lossy(line).trim_end().to_owned())
    });
}

/// Timestamps lines on arrival, so that delays of the league are not charged to the engine.
fn read_lines(stdout: impl io::Read, sender: &Sender<(String, Instant)>) {
    for_each_text(stdout, |line| sender.send((line, Instant::now())).is_ok());
}

fn keep_last_lines(stderr: impl io::Read, kept: &Mutex<VecDeque<String>>) {
    for_each_text(stderr, |line| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MAX_STDERR_LINES {
            kept.pop_front();
        }
        kept.push_back(line);
        true
    });
}

/// A terminal sends Ctrl-C to its whole process group. This process ends its engines itself: games in progress are
/// aborted, not lost by a crash.
fn keep_from_ctrl_c(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        /// Constant `CREATE_NEW_PROCESS_GROUP` of the Windows API.
        const NEW_GROUP: u32 = 0x200;
        std::os::windows::process::CommandExt::creation_flags(command, NEW_GROUP);
    }
}

impl Transport for Process {
    fn send(&mut self, line: &str) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // One write: a split line could cost the engine time.
        stdin.write_all(format!("{line}\n").as_bytes())?;
        stdin.flush()
    }

    fn receive(&mut self, timeout: Duration) -> ReadOutcome {
        match self.lines.recv_timeout(timeout) {
            Ok((text, at)) => ReadOutcome::Line { text, at: at.duration_since(self.started) },
            Err(RecvTimeoutError::Timeout) => ReadOutcome::Silence,
            Err(RecvTimeoutError::Disconnected) => ReadOutcome::Closed,
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn exit_report(&mut self) -> String {
        let status = match wait_with_timeout(&mut self.child, Duration::from_millis(500)) {
            Some(status) => status.to_string(),
            None => "still running".to_owned(),
        };
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        if errors.is_empty() { status } else { format!("{status}; {}", errors.join(" | ")) }
    }
}

/// The standard library lacks a wait with timeout: poll.
fn wait_with_timeout(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.send("quit");
        self.stdin = None;
        if wait_with_timeout(&mut self.child, QUIT_TIMEOUT).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_out_of_the_terminals_reach() {
        // Field 5 is the process group, which the process leads.
        let script = "cut -d' ' -f5 /proc/$$/stat; echo $$";
        let mut process = Process::spawn("sh", ["-c", script]).unwrap();
        let mut read_line = || match process.receive(Duration::from_secs(60)) {
            ReadOutcome::Line { text, .. } => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(read_line(), read_line());
    }
}
