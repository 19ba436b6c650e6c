//! How a device fails: as an error, never as a panic.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A device failed: what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}

/// Why there is no GPU to compute on.
pub(super) enum Absent {
    /// Nothing to use: worth a word to who asked for it or built the program for it.
    Missing(&'static str),
    /// There, but it does not compute: always worth a word.
    #[cfg(feature = "cuda")]
    Broken(String),
}

/// Runs `work`, catching a panic: burn has no other way to say that a device failed.
///
/// # Errors
/// The panic's message. It has also gone to the panic hook, stderr by default.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, DeviceError> {
    // What `work` borrows is scratch that the next call overwrites.
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
