//! The training stream as flat records on standard output, for trainers in other frameworks: `cargo run
//! --release -p mavka-train --example records -- CONFIG.json [SEED [EXAMPLES]]`.
//!
//! `CONFIG.json` is that of `mavka-lab train` (`data`, `kinds`, `buffer` and `exclude` are read). A record is
//! [`RECORD`] bytes, integers little-endian, fields in the order of [`write`]; unknown values are 255, or
//! 65,535 in 16 bits. Examples of more than [`MOVES`] moves are skipped: one in some thousands.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use train::data::{Example, MixConfig, MixSource, Mixer, Terminal, exclude_from_files, label};
use train::network::RunConfig;

/// Move slots of a record.
const MOVES: usize = 80;
/// Bytes of a record.
const RECORD: usize = 64 + 128 + 16 + 4 * MOVES + 128;
/// Examples per write.
const BATCH: usize = 512;
const UNKNOWN: u8 = 255;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: records CONFIG.json [SEED [EXAMPLES]]";
    let path = arguments.next().ok_or(usage)?;
    let config: RunConfig = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let seed = arguments.next().map_or(Ok(config.seed), |text| text.parse())?;
    let mut left = arguments.next().map_or(Ok(u64::MAX), |text| text.parse())?;
    let sources = config.data.into_iter().map(|(path, weight)| MixSource { path, weight });
    let mut mix = MixConfig::new(sources.collect());
    (mix.kinds, mix.buffer, mix.seed) = (config.kinds, config.buffer, seed);
    mix.excluded = Arc::new(exclude_from_files(&config.exclude)?);
    let mut mixer = Mixer::new(mix)?;
    let mut out = std::io::stdout().lock();
    let mut bytes = Vec::with_capacity(BATCH * RECORD);
    while left > 0 {
        bytes.clear();
        for example in mixer.next_batch(BATCH.min(left as usize))? {
            left -= 1;
            if example.moves.len() <= MOVES {
                write(&example, &mut bytes);
            }
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Appends one record.
fn write(example: &Example, bytes: &mut Vec<u8>) {
    let end = bytes.len() + RECORD;
    let features = &example.features;
    bytes.extend(features.pieces);
    features.flags.iter().for_each(|bits| bytes.extend(bits.to_le_bytes()));
    let value = if example.value.is_finite() {
        (example.value.clamp(0.0, 1.0) * 1024.0).round() as u16
    } else {
        u16::MAX
    };
    bytes.extend(value.to_le_bytes());
    bytes.extend([
        features.halfmoves,
        u8::from(features.has_action),
        features.kind.unwrap_or(UNKNOWN),
        match example.terminal {
            Terminal::Ongoing => 0,
            Terminal::Lost => 1,
            Terminal::Drawn => 2,
        },
        example.result.map_or(UNKNOWN, |result| result.class() as u8),
        example.best.map_or(UNKNOWN, |best| best as u8),
        example.moves.len() as u8,
        0,
    ]);
    bytes.extend([0; 6]);
    let mut list = |of: &mut dyn Iterator<Item = u8>| {
        let end = bytes.len() + MOVES;
        bytes.extend(of);
        bytes.resize(end, UNKNOWN);
    };
    list(&mut example.moves.iter().map(|m| m.from));
    list(&mut example.moves.iter().map(|m| m.to));
    list(&mut example.moves.iter().map(|m| m.promotion));
    let stored =
        |value: &f32| if value.is_finite() { label::stored_value(*value) } else { UNKNOWN };
    list(&mut example.action_values.iter().map(stored));
    if let Some(next) = &example.next {
        bytes.extend(next.pieces);
        bytes.extend(next.flags);
    }
    bytes.resize(end, UNKNOWN);
}
