//! The network's shape: sizes, parameter layout, and the burn module built from them.

pub mod action_value;
pub mod config;
pub(crate) mod grow;
pub mod inputs;
pub mod layout;
pub mod legality;
pub mod module;
pub mod policy;
mod product;
pub mod transition;
pub mod trunk;
pub mod value;

pub use config::{BUCKETS, DynamicBiasConfig, NetConfig, TOKENS};
pub use inputs::Inputs;
pub use layout::Layout;
pub use module::Net;
