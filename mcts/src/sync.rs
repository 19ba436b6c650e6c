//! The atomics shared by workers: the standard library's, or with `--cfg loom` those of loom, a model checker
//! that runs every interleaving of small models (`loom_models`, started by `.ci/loom`). No other file names
//! atomic types. Mutex and condition variable of `stats` stay the standard library's: no model sleeps.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};

pub use std::sync::atomic::Ordering;
