//! The network's shape: sizes (`config`), the place of every parameter in one flat vector (`layout`), and the
//! burn module built from them (`module`, its parts in `trunk` and `heads`). `grow` widens a trained network.

pub mod config;
pub(crate) mod grow;
pub mod heads;
pub mod inputs;
pub mod layout;
mod loader;
pub mod module;
pub mod trunk;

pub use config::{BUCKETS, DynamicBiasConfig, NetConfig, TOKENS};
pub use inputs::Inputs;
pub use layout::Layout;
pub use module::Net;
