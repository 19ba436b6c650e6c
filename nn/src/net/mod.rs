//! Shape of the network: sizes (`config`), named parameters in one flat vector (`params`), the network's
//! (`layout`), and the burn module built from them (`module`, its parts in `trunk` and `heads`). `grow` widens
//! a trained network.

pub(crate) mod config;
pub(crate) mod grow;
pub(crate) mod heads;
pub(crate) mod inputs;
pub(crate) mod layout;
mod loader;
pub(crate) mod module;
pub(crate) mod params;
pub(crate) mod trunk;

pub use config::{BUCKETS, CENTRES, NetConfig, TOKENS};
pub(crate) use inputs::Inputs;
pub use layout::Layout;
pub(crate) use module::Net;
