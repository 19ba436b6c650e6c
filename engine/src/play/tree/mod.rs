//! State kept from one search to the next: trees, their parameters, and what was learnt of the clock and the machine.

pub mod kept_tree;
pub mod params;
pub mod session;
