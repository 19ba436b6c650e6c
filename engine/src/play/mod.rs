//! From a position to a move: the engine behind the protocol, one search from `go` to `bestmove`, its
//! time, its reports and the players without a search.
//!
//! What may follow a move is [`crate::world`]'s.

pub mod analyst;
pub(crate) mod blunder_check;
pub(crate) mod classic;
pub mod clock;
pub(crate) mod conclusion;
pub(crate) mod current_move;
pub mod engine;
pub(crate) mod fallback_move;
pub mod head_player;
pub mod host;
pub(crate) mod job;
pub mod kept_tree;
pub(crate) mod lag;
pub(crate) mod limits;
pub mod lineup;
pub(crate) mod loader;
pub(crate) mod mate_question;
mod memory_limit;
pub(crate) mod move_stats;
pub mod network;
pub mod params;
pub mod player;
pub mod report;
pub(crate) mod search;
pub mod session;
pub(crate) mod signal;
mod steadiness;
pub(crate) mod stopper;
pub(crate) mod strength;
pub(crate) mod team_search;
pub(crate) mod temperature;
pub(crate) mod thinker;
pub(crate) mod timekeeper;
pub(crate) mod tree_search;
pub mod warm_up;
