//! The players of one chess network (paper 003): games of their policies, how they differ in them, and what each is paid for it.
//!
//! [`games`] plays without search, for thousands of games show how players differ; [`standing`] measures. Training is `mavka-lab train`'s.

pub mod games;
pub mod standing;
