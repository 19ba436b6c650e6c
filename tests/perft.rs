//! Reference counts of the move tree, through the game's FEN reader and the packed moves of the search.
//! The counts in `data/perft` are capped at 400,000 leaves each.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use chess::perft::count;
use engine::Game;
use std::fs;
use std::path::Path;

fn check(file: &str, chess960: bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/perft").join(file);
    let mut counted = 0;
    for line in fs::read_to_string(path).unwrap().lines() {
        let mut parts = line.split(';');
        let fen = parts.next().unwrap().trim();
        let game = Game::from_fen(fen, chess960).unwrap();
        for part in parts {
            let (depth, leaves) = part.trim().trim_start_matches('D').split_once(' ').unwrap();
            let found = count(game.position(), depth.parse().unwrap(), &|| false);
            assert_eq!(found, Some(leaves.trim().parse().unwrap()), "{fen} depth {depth}");
            counted += 1;
        }
    }
    assert!(counted > 20);
}

#[test]
fn standard_positions_count_as_published() {
    check("standard.epd", false);
}

#[test]
fn chess960_positions_count_as_published() {
    check("chess960.epd", true);
}

#[test]
fn a_cancelled_count_gives_up() {
    assert_eq!(count(Game::default().position(), 9, &|| true), None);
}
