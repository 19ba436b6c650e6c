//! One search from `go` to `bestmove`: what it was asked, the tree search of one player or a team, when it stops, the checks
//! of its move, and its answer.

pub(crate) mod blunder_check;
pub(crate) mod conclusion;
pub(crate) mod fallback_move;
pub(crate) mod job;
pub(crate) mod mate_question;
pub(crate) mod run;
pub(crate) mod stopper;
pub(crate) mod team_search;
pub(crate) mod thread;
pub(crate) mod tree_search;
