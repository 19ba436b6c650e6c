//! Damaged files of games, seeded: what `pgn/property.rs` says holds for every one of them, and damage takes no earlier move
//! and no other game. The fuzz target in `fuzz` looks for others from the same seeds.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "pgn/property.rs"]
mod property;

use engine::pgn::text::decode;
use engine::pgn::{PgnEntry, read_games};
use nn::rng::Rng;
use property::{moves, round_trip};
use std::fs;
use std::path::Path;

/// Files made of each seed.
const ROUNDS: usize = 400;

/// The seeds: files that other programs and people write.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pgn/corpus");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    assert!(files.len() > 5, "only {} seeds", files.len());
    files
}

/// Characters that mean something in PGN.
const LETTERS: &[u8] = b"{}();%[]\"\\$!?*.-=+#/0O1x \n\r\tQaNe8\0\xef\xe4";

/// Changes one to four bytes, or puts a piece of another seed in between.
fn mutate(rng: &mut Rng, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(out.len() + 1);
        let letter = LETTERS[rng.below(LETTERS.len())];
        match rng.below(5) {
            0 => out.insert(at, letter),
            1 if at < out.len() => out[at] = letter,
            2 if at < out.len() => drop(out.remove(at)),
            3 => out.truncate(at.max(1)),
            _ => {
                let from = rng.below(other.len());
                let length = rng.below(40).min(other.len() - from);
                out.splice(at..at, other[from..from + length].iter().copied());
            }
        }
    }
    out
}

#[test]
fn what_is_read_is_written_and_read_again() {
    let corpus = corpus();
    for (number, (name, seed)) in corpus.iter().enumerate() {
        round_trip(seed).unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut rng = Rng::from_state(number as u64 + 1);
        for round in 0..ROUNDS {
            let other = &corpus[rng.below(corpus.len())].1;
            let bytes = mutate(&mut rng, seed, other);
            let read = std::panic::catch_unwind(|| round_trip(&bytes));
            let shown = String::from_utf8_lossy(&bytes);
            match read {
                Ok(Ok(())) => {}
                Ok(Err(why)) => panic!("{name}, round {round}: {why}\nof\n{shown}\n{bytes:?}"),
                Err(_) => panic!("{name}, round {round}: a panic\nof\n{shown}\n{bytes:?}"),
            }
        }
    }
}

#[test]
fn damage_takes_no_earlier_move() {
    let game = "[White \"A\"]\n[Black \"B\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6\n5. O-O Be7 6. Re1 b5 \
                {quiet} 7. Bb3 d6 8. c3 O-O 1/2-1/2\n";
    let whole = read_games(game, 1);
    let [PgnEntry::Game(whole)] = &whole[..] else { panic!("one game") };
    let whole = moves(whole);
    let begin = game.find("1. e4").unwrap();
    let mut rng = Rng::from_state(7);
    for _ in 0..5_000 {
        let at = begin + rng.below(game.len() - begin);
        let mut bytes = game.as_bytes().to_vec();
        bytes[at] = LETTERS[rng.below(LETTERS.len())];
        // The moves that end before the word with the damage.
        let before = game[..at].rfind(char::is_whitespace).unwrap_or(begin).max(begin);
        let sound = read_games(&game[..before], 1);
        let [PgnEntry::Game(sound)] = &sound[..] else { panic!("one game") };
        let sound = moves(sound);
        assert!(whole.starts_with(&sound), "{sound:?}");
        let text = decode(&bytes);
        let found = read_games(&text, 1);
        let Some(PgnEntry::Game(found)) = found.first() else { panic!("no game in {text}") };
        assert!(moves(found).starts_with(&sound), "{:?} of\n{text}", moves(found));
        assert_eq!((found.tag("White"), found.tag("Black")), (Some("A"), Some("B")), "{text}");
    }
}
