//! Device failures: errors, never panics.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A device failure with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}

/// Why no GPU is available.
pub(super) enum Absent {
    /// Nothing to use: reported if CUDA was requested or built in.
    Missing(&'static str),
    /// A GPU that does not compute: always reported.
    #[cfg(feature = "cuda")]
    Broken(String),
}

/// Runs `work` and catches a panic: burn reports device failures only by panicking.
///
/// # Errors
/// The panic's message. It has also gone to the panic hook, stderr by default.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, DeviceError> {
    // `work` borrows only scratch that the next call overwrites.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied());
        DeviceError(text.unwrap_or("panic without a message").to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(guarded(|| 3), Ok(3));
        let caught = guarded(|| panic!("device {} is gone", 7));
        assert_eq!(caught, Err::<(), _>(DeviceError("device 7 is gone".to_owned())));
    }
}
