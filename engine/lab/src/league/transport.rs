//! How lines travel between the league and an engine: a child process in real matches, a script in
//! tests. The transport also owns the clock, so that tests can lose on time without waiting.

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use engine::streams::for_each_line;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{self, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What came, or did not come, from the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// One line without its end, and when it was read on this transport's clock.
    Line { text: String, at: Duration },
    /// Nothing within the patience given.
    Silence,
    /// The engine closed its output: it has quit or crashed.
    Closed,
}

/// A line-wise connection to one engine.
pub trait Transport: Send {
    /// Sends one line and flushes it.
    ///
    /// # Errors
    /// The engine no longer reads.
    fn send(&mut self, line: &str) -> io::Result<()>;

    /// The next line. Blocks for at most `patience`.
    fn receive(&mut self, patience: Duration) -> Heard;

    /// Time on this transport's clock; never runs backwards.
    fn now(&self) -> Duration;

    /// What is known of a sudden end: exit status, last lines of the error output.
    fn last_words(&mut self) -> String {
        String::new()
    }
}

/// Lines of the engine's error output kept for the report of a crash.
const LAST_WORDS: usize = 5;
/// How long a process may take to leave after `quit` before it is killed.
const FAREWELL: Duration = Duration::from_secs(2);

/// An engine in a process of its own.
pub struct Process {
    child: Child,
    /// None once the farewell has begun: the closed pipe is the second way to say `quit`.
    stdin: Option<ChildStdin>,
    lines: Receiver<(String, Instant)>,
    errors: Arc<Mutex<VecDeque<String>>>,
    born: Instant,
}

impl Process {
    /// Starts the program.
    ///
    /// # Errors
    /// The program is not there or may not be run.
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
        thread::spawn(move || keep_last(stderr, &kept));
        Ok(Process { child, stdin: Some(stdin), lines, errors, born: Instant::now() })
    }
}

/// Hands on each line as soon as it is read, until the stream ends or `each` says stop (false).
fn for_each_text(stream: impl io::Read, mut each: impl FnMut(String) -> bool) {
    for_each_line(BufReader::new(stream), |line| {
        each(String::from_utf8_lossy(line).trim_end().to_owned())
    });
}

/// Stamps each line as soon as it is read, so that a busy league is not charged to the engine.
fn read_lines(stdout: impl io::Read, sender: &Sender<(String, Instant)>) {
    for_each_text(stdout, |line| sender.send((line, Instant::now())).is_ok());
}

fn keep_last(stderr: impl io::Read, kept: &Mutex<VecDeque<String>>) {
    for_each_text(stderr, |line| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LAST_WORDS {
            kept.pop_front();
        }
        kept.push_back(line);
        true
    });
}

/// A terminal sends Ctrl-C to all processes of its group. Ours decides what becomes of the engines: games under way
/// are ended, not lost by a crash.
fn keep_from_ctrl_c(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        /// `CREATE_NEW_PROCESS_GROUP` of the Windows API.
        const NEW_GROUP: u32 = 0x200;
        std::os::windows::process::CommandExt::creation_flags(command, NEW_GROUP);
    }
}

impl Transport for Process {
    fn send(&mut self, line: &str) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // One write: a line cut in two by the scheduler would cost the engine time.
        stdin.write_all(format!("{line}\n").as_bytes())?;
        stdin.flush()
    }

    fn receive(&mut self, patience: Duration) -> Heard {
        match self.lines.recv_timeout(patience) {
            Ok((text, at)) => Heard::Line { text, at: at.duration_since(self.born) },
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::Closed,
        }
    }

    fn now(&self) -> Duration {
        self.born.elapsed()
    }

    fn last_words(&mut self) -> String {
        let status = match wait_a_little(&mut self.child, Duration::from_millis(500)) {
            Some(status) => status.to_string(),
            None => "still running".to_owned(),
        };
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
        if errors.is_empty() { status } else { format!("{status}; {}", errors.join(" | ")) }
    }
}

/// The standard library has no wait with a limit; a few short naps do it.
fn wait_a_little(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
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
        if wait_a_little(&mut self.child, FAREWELL).is_none() {
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
        // Field 5 is the group, which the process leads itself.
        let asked = "cut -d' ' -f5 /proc/$$/stat; echo $$";
        let mut process = Process::spawn("sh", ["-c", asked]).unwrap();
        let mut heard = || match process.receive(Duration::from_secs(60)) {
            Heard::Line { text, .. } => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(heard(), heard());
    }
}
