//! Shape of the network: sizes (`config`), named parameters in one flat vector (`params`), the network's
//! (`layout`), and the burn module built from them (`module`, its parts in `trunk` and `heads`). `grow` widens
//! a trained network.

pub mod config;
pub(crate) mod grow;
pub(crate) mod heads;
pub(crate) mod inputs;
pub mod layout;
mod loader;
pub mod module;
pub mod params;
pub(crate) mod trunk;

pub use config::{BUCKETS, CENTRES, NetConfig, TOKENS};
pub use inputs::Inputs;
pub use layout::Layout;
pub use module::Net;
