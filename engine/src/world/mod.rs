//! The worlds a search can play in: what the rules say happens next, or what a network imagines.

pub mod rules;

pub use rules::RulesWorld;
