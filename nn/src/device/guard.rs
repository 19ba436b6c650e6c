//! Device failures: errors, never panics.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A device failure with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl DeviceError {
    /// The message `why`, on one line.
    pub(crate) fn of(why: impl fmt::Display) -> DeviceError {
        DeviceError(why.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}

/// Why no card computes; written, one line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(feature = "gpu", feature = "cuda")),
    expect(dead_code, reason = "no card is looked for")
)]
pub(super) enum Absent {
    /// This executable was built without the feature.
    NotBuilt(&'static str),
    /// There is none.
    Missing {
        /// The name of the kind.
        what: &'static str,
        /// The driver's word, or what is missing.
        why: String,
    },
    /// One that does not compute.
    Broken(String),
}

impl Absent {
    #[cfg(any(feature = "gpu", feature = "cuda"))]
    pub(super) fn missing(what: &'static str, why: impl Into<String>) -> Absent {
        Absent::Missing { what, why: why.into() }
    }

    /// The user of `Backend` `auto` is to know: a card that fails, or no CUDA in a build for it. Most machines have no card.
    pub(super) fn is_for_auto(&self) -> bool {
        match self {
            Absent::NotBuilt(_) => false,
            Absent::Missing { what, .. } => *what == "CUDA",
            Absent::Broken(_) => true,
        }
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absent::NotBuilt(feature) => {
                write!(f, "this executable was built without the feature `{feature}`")?;
            }
            Absent::Missing { what, why } => write!(f, "{what} is not available ({why})")?,
            Absent::Broken(why) => write!(f, "the GPU does not compute ({why})")?,
        }
        f.write_str("; using the CPU")
    }
}

/// [`guarded`] without a word of the panic hook, for the whole process.
#[cfg(any(feature = "gpu", feature = "cuda"))]
pub(super) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, DeviceError> {
    use std::sync::{Mutex, PoisonError};
    /// The panic hook is global: two concurrent probes would restore each other's silence.
    static PROBE: Mutex<()> = Mutex::new(());
    let _alone = PROBE.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = guarded(work);
    std::panic::set_hook(hook);
    done
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
        DeviceError::of(text.unwrap_or("panic without a message"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(guarded(|| 3), Ok(3));
        let caught = guarded(|| panic!("device {}\n  is gone", 7));
        assert_eq!(caught, Err::<(), _>(DeviceError("device 7 is gone".to_owned())));
    }
}
