//! The network's shape: sizes, parameter layout, and the burn module built from them.

pub mod config;
pub mod layout;

pub use config::{BUCKETS, NetConfig, TOKENS};
pub use layout::Layout;
