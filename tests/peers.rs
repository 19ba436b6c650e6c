//! The page of other programs' behaviour, `docs/src/guide/peers.md`: where they differ, Mavka keeps to the rules, and
//! each row names the test or the transcript that holds it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use chess::ending::Ending;
use chess::game::Game;
use std::fs;
use std::path::{Path, PathBuf};

/// Black's pawn d4 is pinned to its king, so that no double push beside it can be taken en passant.
const PINNED: &str = "3k4/8/8/8/3p4/8/4P3/3RK3 w - - 0 1";
/// The same without the pin.
const FREE: &str = "4k3/8/8/8/3p4/8/4P3/3RK3 w - - 0 1";

/// The game's ending after a double push and after each of eight king and rook moves back and forth.
fn endings(fen: &str, moves: &str) -> Vec<Option<Ending>> {
    let mut game = Game::from_fen(fen, false).unwrap();
    let played = moves.split(' ').map(|text| {
        game.play_uci(text).unwrap();
        game.ending()
    });
    played.collect()
}

#[test]
fn a_double_push_beside_a_pinned_pawn_repeats() {
    let pinned = endings(PINNED, "e2e4 d8d7 d1d2 d7d8 d2d1 d8d7 d1d2 d7d8 d2d1");
    assert_eq!(pinned.last(), Some(&Some(Ending::Threefold)));
    assert!(pinned[..8].iter().all(Option::is_none), "{pinned:?}");
    // With the capture on the board, the first of the three is another position.
    let free = endings(FREE, "e2e4 e8e7 d1d2 e7e8 d2d1 e8e7 d1d2 e7e8 d2d1 e8e7");
    assert!(free[..9].iter().all(Option::is_none), "{free:?}");
    assert_eq!(
        free.last(),
        Some(&Some(Ending::Threefold)),
        "Black's king on e7, for the third time"
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of every Rust file below `folder`, without what cargo builds.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_row_names_a_test() {
    let page = fs::read_to_string(root().join("docs/src/guide/peers.md")).unwrap();
    let mut text = String::new();
    for folder in ["engine", "tests", "uci"] {
        sources(&root().join(folder), &mut text);
    }
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    let mut held = 0;
    for row in rows {
        let last = row.trim_end_matches('|').rsplit(" | ").next().unwrap();
        let names = last.split('`').skip(1).step_by(2);
        // Other words of the protocol are no names.
        for name in names.filter(|name| name.contains('_')) {
            held += 1;
            let exists = match name.ends_with(".txt") {
                true => root().join("tests/transcripts").join(name).exists(),
                false => text.contains(&format!("fn {name}(")),
            };
            assert!(exists, "no test or transcript `{name}`: {row}");
        }
    }
    assert!(held >= 10, "only {held} rows are held by tests");
}
