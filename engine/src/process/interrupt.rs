//! Signals. Ctrl-C is a flag, so that a long command can end with what it has; a second Ctrl-C ends the process at
//! once. A limit of the size of files ends none.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Exit status that a shell reports of a process which Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// A flag that is raised by Ctrl-C, or where the system asks the process to end.
///
/// # Errors
/// The system refuses.
pub fn raised_by_ctrl_c() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, reading().clone())?;
        // In this order, the first signal finds the flag down and the second finds it up.
        flag::register_conditional_shutdown(signal, INTERRUPTED, raised.clone())?;
        flag::register(signal, raised.clone())?;
    }
    Ok(raised)
}

/// Has a write beyond the limit of a file's size (`ulimit -f`) fail as on a full disk, where the system would end the process.
pub fn survive_file_limit() {
    #[cfg(unix)]
    // Without it, the process only ends as before.
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Between two looks at a flag: an answer within a tenth of a second seems immediate.
const LOOK: Duration = Duration::from_millis(50);

/// Calls `answer` on a thread of its own as soon as the flag is raised, whatever the others wait for.
pub fn answer_when(raised: &Arc<AtomicBool>, answer: impl FnOnce() + Send + 'static) {
    let raised = raised.clone();
    let watch = move || {
        // Relaxed: the flag is all there is to know.
        while !raised.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        answer();
    };
    // Without a thread there is no answer; the flag is raised all the same.
    let _ = thread::Builder::new().name("interrupt".to_owned()).spawn(watch);
}

/// Up while [`while_reading`] runs.
fn reading() -> &'static Arc<AtomicBool> {
    static READING: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    READING.get_or_init(Arc::default)
}

/// Runs `read`, before which and during which there is nothing to save: a signal meanwhile ends the process at once. Files may
/// be large, and a flag is looked at between pieces of work alone.
pub fn while_reading<T>(read: impl FnOnce() -> T) -> T {
    // Relaxed: the flag is all there is to know.
    reading().store(true, Ordering::Relaxed);
    let found = read();
    reading().store(false, Ordering::Relaxed);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, exit};
    use std::sync::atomic::Ordering::Relaxed;

    /// Set in a child process.
    const CHILD: &str = "MAVKA_TEST_SIGNAL";
    const DONE: i32 = 7;

    /// The exit status of the test `name` in a process of its own, which alone does `work`: a signal is everybody's in a process.
    fn status(name: &str, work: impl FnOnce()) -> Option<i32> {
        if std::env::var_os(CHILD).is_some() {
            work();
            exit(DONE);
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", &format!("process::interrupt::tests::{name}")]).env(CHILD, "1");
        child.output().unwrap().status.code()
    }

    fn terminate() {
        signal_hook::low_level::raise(SIGTERM).unwrap();
    }

    #[test]
    fn a_request_to_end_raises_the_flag() {
        let status = status("a_request_to_end_raises_the_flag", || {
            let raised = raised_by_ctrl_c().unwrap();
            assert!(!raised.load(Relaxed));
            while_reading(|| ());
            terminate();
            assert!(raised.load(Relaxed));
        });
        assert_eq!(status, Some(DONE));
    }

    #[test]
    fn a_raised_flag_is_answered_while_this_thread_waits() {
        let raised = Arc::new(AtomicBool::new(false));
        let (answered, answers) = std::sync::mpsc::channel();
        answer_when(&raised, move || answered.send(()).unwrap());
        assert!(answers.try_recv().is_err());
        raised.store(true, Relaxed);
        answers.recv().unwrap();
    }

    #[test]
    fn a_request_to_end_ends_a_long_read() {
        let status = status("a_request_to_end_ends_a_long_read", || {
            let _raised = raised_by_ctrl_c().unwrap();
            while_reading(terminate);
        });
        assert_eq!(status, Some(INTERRUPTED));
    }
}
