//! The process and its machine: files that outlive a kill, standard input and output, threads, memory, time, Ctrl-C, the log,
//! and errors that name their file. Nothing here knows of chess or networks.

pub mod errors;
pub mod files;
pub mod host;
pub mod interrupt;
mod memory_limit;
pub mod progress;
pub mod shard;
pub mod stderr_log;
pub mod streams;
pub mod time;
pub mod workers;
