//! Any bytes as a file of games.

#![no_main]

#[path = "../../pgn/property.rs"]
mod property;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(why) = property::round_trip(bytes) {
        panic!("{why}");
    }
});
