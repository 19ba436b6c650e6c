//! Examples as flat records on standard output, for trainers in other frameworks: `cargo run --release -p
//! mavka-train --example records -- CONFIG.json [SEED [EXAMPLES]]` writes the training stream, `held-out FILE LIMIT`
//! positions of a data file's held-out games, `puzzles CSV` every position of each puzzle's solution.
//!
//! `CONFIG.json` is that of `mavka-lab train` (`data`, `kinds`, `buffer` and `exclude` are read). A record is
//! [`RECORD`] bytes, integers little-endian, fields in the order of [`write`]; unknown values are 255, or
//! 65,535 in 16 bits. The positions of a puzzle carry its line number. Examples of more than [`MOVES`] moves are skipped: one in some thousands.

use nn::encode::{Encoded, canonical_moves};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Position};
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use train::data::{
    Example, HeldOut, MixConfig, MixSource, Mixer, Source, Terminal, ValidationSet, Variant,
    exclude_from_files, label,
};
use train::network::RunConfig;

/// Move slots of a record.
const MOVES: usize = 80;
/// Bytes of a record.
const RECORD: usize = 64 + 128 + 16 + 4 * MOVES + 128;
/// Examples per write.
const BATCH: usize = 512;
const UNKNOWN: u8 = 255;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["held-out", file, limit] => held_out(file.as_ref(), limit.parse()?),
        ["puzzles", file] => puzzles(file.as_ref()),
        [config, ref rest @ ..] => stream(config.as_ref(), rest),
        [] => {
            Err("usage: records CONFIG.json [SEED [EXAMPLES]] | held-out FILE LIMIT | puzzles CSV"
                .into())
        }
    }
}

/// Writes the training stream; without a number of examples, until its reader ends.
fn stream(path: &Path, rest: &[&str]) -> Result<(), Box<dyn Error>> {
    let config: RunConfig = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let seed = rest.first().map_or(Ok(config.seed), |text| text.parse())?;
    let mut left = rest.get(1).map_or(Ok(u64::MAX), |text| text.parse())?;
    let sources = config.data.into_iter().map(|(path, weight)| MixSource { path, weight });
    let mut mix = MixConfig::new(sources.collect());
    (mix.kinds, mix.buffer, mix.seed) = (config.kinds, config.buffer, seed);
    mix.excluded = Arc::new(exclude_from_files(&config.exclude)?);
    let mut mixer = Mixer::new(mix)?;
    while left > 0 {
        let examples = mixer.next_batch(BATCH.min(left as usize))?;
        left -= examples.len() as u64;
        print(examples.iter().map(|example| (example, 0)))?;
    }
    Ok(())
}

/// Writes at most `limit` positions of the file's held-out games.
fn held_out(path: &Path, limit: usize) -> Result<(), Box<dyn Error>> {
    let games = HeldOut::read(path, &MixConfig::new(Vec::new()))?;
    let examples = games.examples(limit, ValidationSet::Position, Variant::Any)?;
    print(examples.iter().map(|example| (example, 0)))
}

/// Writes every position in which a puzzle's solver moves, the solution as its best move.
fn puzzles(path: &Path) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    for (line, number) in text.lines().zip(0u32..).skip(1) {
        let bad = || format!("line {}: \"{line}\", expected \"fen,moves,…\"", number + 1);
        let mut fields = line.split(',');
        let (fen, moves) = fields.next().zip(fields.next()).ok_or_else(bad)?;
        let mut position: Chess = fen.parse::<Fen>()?.into_position(CastlingMode::Standard)?;
        for (word, ply) in moves.split(' ').zip(0..) {
            let played = word.parse::<UciMove>()?.to_move(&position)?;
            if ply % 2 == 0 {
                let legal = canonical_moves(&position);
                let best = legal.iter().position(|&one| one == played).ok_or_else(bad)?;
                let encoded = Encoded::new(&position, &legal);
                let example = Example {
                    features: encoded.features,
                    source: Source::Rules,
                    moves: encoded.moves,
                    best: Some(best as u16),
                    visits: Vec::new(),
                    action_values: Vec::new(),
                    value: f32::NAN,
                    result: None,
                    terminal: Terminal::Ongoing,
                    next: None,
                    teacher: None,
                };
                print([(&example, number)].into_iter())?;
            }
            position.play_unchecked(played);
        }
    }
    Ok(())
}

/// Writes examples, each with its group.
fn print<'a>(examples: impl Iterator<Item = (&'a Example, u32)>) -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::with_capacity(BATCH * RECORD);
    for (example, group) in examples {
        if example.moves.len() <= MOVES {
            write(example, group, &mut bytes);
        }
    }
    Ok(std::io::stdout().lock().write_all(&bytes)?)
}

/// Appends one record.
fn write(example: &Example, group: u32, bytes: &mut Vec<u8>) {
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
        0,
        0,
    ]);
    bytes.extend(group.to_le_bytes());
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
