//! Ctrl-C as a flag, so that a long command can end with what it has. A second Ctrl-C ends the process at
//! once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a shell reports of a process that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// A flag that is raised by Ctrl-C, or where the system asks the process to end.
///
/// # Errors
/// The system refuses.
pub fn raised_by_ctrl_c() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order, the first signal finds the flag down and the second finds it up.
        flag::register_conditional_shutdown(signal, INTERRUPTED, raised.clone())?;
        flag::register(signal, raised.clone())?;
    }
    Ok(raised)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_request_to_end_raises_the_flag() {
        let raised = raised_by_ctrl_c().unwrap();
        assert!(!raised.load(Relaxed));
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert!(raised.load(Relaxed));
    }
}
