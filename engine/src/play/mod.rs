//! From a position to a move: the engine behind the protocol, one search from `go` to `bestmove`, its
//! time, its reports and the players without a search.
//!
//! What the GUI writes is read in [`crate::uci`]; what may follow a move is [`crate::world`]'s.

pub mod analyst;
pub mod classic;
pub mod clock;
pub mod engine;
pub mod fallback_move;
pub mod head_player;
pub mod host;
pub mod limits;
pub mod loader;
pub mod move_stats;
pub mod network;
pub mod params;
pub mod report;
pub mod rollout;
pub mod search;
pub mod session;
pub mod settings;
pub mod signal;
pub mod stopper;
pub mod strength;
pub mod temperature;
pub mod thinker;
pub mod warm_up;
