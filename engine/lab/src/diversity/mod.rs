//! How the players of a team differ (paper 003): [`occupancy`] has the measure, which Connect Four and Hex use, too.
//!
//! For the players of one chess network [`games`] plays without search, for thousands of games show how they differ, and
//! [`standing`] tells what each is paid; training is `mavka-lab train`'s. [`team`] measures what they find together.

pub mod games;
pub mod occupancy;
pub mod standing;
pub mod team;
