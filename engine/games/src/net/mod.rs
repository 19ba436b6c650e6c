//! The network of small board games, a MAV (paper 000, section 2): policy and 64 value buckets for every move and for the state,
//! legality, and with a marked action the cells and the end of the next state. One token per cell; weights depend on the game's
//! neighbourhood, not on the size of the board.
//!
//! The laboratory trains it and holds its forward pass against the same network in burn.

mod file;
mod forward;
mod layout;

pub use file::{NetworkFile, UnfitNetwork};
pub use forward::{BoardNet, Outputs};
pub use layout::{
    Block, CELLS, Config, ENDS, Layout, MAX_PLAYERS, MOVE_COLUMNS, PLANES, RESULTS, STATE_COLUMNS,
    Team, planes,
};
