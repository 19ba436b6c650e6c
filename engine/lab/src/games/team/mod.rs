//! A team of players in one network that learns by playing among themselves (AZ_db, paper 003): who plays whom, what each player is paid besides the result,
//! and what the team's choices are good for.
//!
//! | file | about |
//! |---|---|
//! | `occupancy` | ψ, the distance between players, the intrinsic reward |
//! | `matchmaker` | the six distributions of opponents |
//! | `world` | the search of a player with rewards |
//! | `table` | what the players of a generation are given: opponents and rewards |
//! | `picture` | the players' mean boards |
//! | `labels` | targets of the intrinsic values |
//! | `measure` | the team's choices against exact results and against the first player |

pub mod labels;
pub mod matchmaker;
pub mod measure;
mod occupancy;
mod picture;
pub mod table;
#[cfg(test)]
mod tests;
pub mod world;
