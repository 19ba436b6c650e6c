//! The subcommands of the binary, one file each.

pub mod play_match;
