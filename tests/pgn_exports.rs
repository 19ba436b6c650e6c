//! Files as lichess, chess.com, ChessBase, SCID, broadcasts and tournament managers export them (`pgn/exports`, with invented
//! persons): every game is read whole, `mavka analyse` writes it, and what it wrote is read as the same game.
//! `pgn/check.py` compares the same files with what python-chess reads.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::pgn::{PgnEntry, PgnGame, open_games};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// White, number of plies and result of each game of each file.
const GAMES: [(&str, &str); 10] = [
    ("chessbase.pgn", "Müller, Jörg 14 1/2-1/2; Weiß, Käthe 1 1-0"),
    ("chesscom_events.pgn", "Müller, Jörg 10 *; ? 4 *"),
    ("chesscom_month.pgn", "test_white 4 0-1; test_black 4 1/2-1/2"),
    ("lichess_broadcast.pgn", "Müller, Jörg 16 1/2-1/2; Ångström, Åsa 6 *; Forfeit, Franz 0 1-0"),
    ("lichess_chess960.pgn", "TestPlayerOne 8 *; Müller, Jörg 2 *"),
    ("lichess_db.pgn.zst", "Player1 12 1-0; Player2 10 0-1; Player3 14 1/2-1/2"),
    ("lichess_games.pgn", "TestPlayerOne 7 1-0; lichess AI level 3 4 0-1"),
    ("lichess_study.pgn", "- 12 *; - 3 *"),
    ("scid.pgn", "Núñez, Íñigo 16 0-1; Rossi, Libertà 1 *"),
    ("twic.pgn", "Tester,A 20 1-0; Novak,C 3 1/2-1/2; Novak,C 0 *"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pgn/exports")
}

fn games(path: &Path) -> Vec<PgnGame> {
    open_games(path, 1)
        .unwrap()
        .map(|entry| match entry.unwrap() {
            PgnEntry::Game(game) => *game,
            PgnEntry::Unreadable { number, why, .. } => panic!("game {number}: {why}"),
        })
        .collect()
}

fn moves(game: &PgnGame) -> Vec<&str> {
    game.line.moves.iter().map(|made| made.san.as_str()).collect()
}

fn shown(game: &PgnGame) -> String {
    let white = game.tag("White").unwrap_or("-");
    format!("{white} {} {}", game.line.moves.len(), game.result)
}

#[test]
fn every_game_is_read_whole() {
    for (file, expected) in GAMES {
        let found = games(&folder().join(file));
        let lost: Vec<&String> = found.iter().flat_map(|game| &game.lost).collect();
        assert_eq!(lost.len(), usize::from(file == "scid.pgn"), "{file}: {lost:?}");
        assert!(
            lost.iter().all(|lost| lost.ends_with("`[]` is no tag and is skipped")),
            "{lost:?}"
        );
        let shown: Vec<String> = found.iter().map(shown).collect();
        assert_eq!(shown.join("; "), expected, "{file}");
    }
}

#[test]
fn what_a_program_adds_is_kept() {
    let all = |file: &str| games(&folder().join(file));
    let lichess = all("lichess_games.pgn");
    assert_eq!(lichess[0].tag("Opening"), Some("Bishop's Opening"));
    assert_eq!(lichess[0].line.moves[0].comments, ["[%eval 0.18] [%clk 0:03:00]"]);
    assert_eq!(lichess[0].line.moves[5].nags, [4]);
    let study = &all("lichess_study.pgn")[0];
    assert!(
        study.line.comments[0].contains("Läufer") && study.line.comments[0].contains("[%csl Gf7]")
    );
    let base = &all("chessbase.pgn")[0];
    assert_eq!(base.tag("SourceTitle"), Some("CBM 999 „Extra“"));
    assert!(base.line.comments[0].contains("– der Vorteil"), "{:?}", base.line.comments);
    // `$142` stands in front of the variation's first move.
    let castles = &base.line.moves[9];
    assert_eq!(
        (castles.nags.as_slice(), castles.variations[0].moves[0].nags.as_slice()),
        (&[146][..], &[142][..])
    );
    let odd = &all("scid.pgn")[1];
    let tags: Vec<_> = odd.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
    for tag in [
        "Event=Rivista 3rd \"Old Mill Open 2021\\",
        "White_Elo=2000",
        "White_s_team=A",
        "1st_Tag=x",
    ] {
        assert!(tags.iter().any(|found| found == tag), "{tag}: {tags:?}");
    }
    assert_eq!(tags.iter().filter(|tag| tag.starts_with("White=")).count(), 1);
    let forfeit = &all("twic.pgn")[2];
    assert_eq!(forfeit.tag("Result"), Some("0-0"));
}

#[test]
fn an_annotated_copy_has_the_same_games() {
    let out = std::env::temp_dir().join(format!("mavka-exports-{}.pgn", std::process::id()));
    let files = GAMES.map(|(file, _)| folder().join(file));
    let done = Command::new(env!("CARGO_BIN_EXE_mavka-executables"))
        .args(["analyse", "--nodes", "1", "--threads", "1", "--out"])
        .arg(&out)
        .args(&files)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let before: Vec<PgnGame> = files.iter().flat_map(|file| games(file)).collect();
    let after = games(&out);
    fs::remove_file(&out).unwrap();
    assert_eq!(before.len(), after.len());
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((shown(old), moves(old)), (shown(new), moves(new)));
        // The copy has no line that other readers skip.
        assert_eq!(new.lost, [""; 0]);
        let kept =
            |(name, value): &&(String, String)| new.tag(name) == Some(value.trim_end_matches('\\'));
        let lost: Vec<_> = old.tags.iter().filter(|tag| !kept(tag)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
}

/// The exit status of `analyse` for a file of these bytes, and all that it says.
fn analyse(bytes: &[u8]) -> (bool, String) {
    let path = std::env::temp_dir().join(format!("mavka-said-{}.pgn", std::process::id()));
    let out = path.with_extension("out");
    fs::write(&path, bytes).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_mavka-executables"))
        .args(["analyse", "--nodes", "1", "--threads", "1"])
        .arg(&path)
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    fs::remove_file(&path).unwrap();
    let _ = fs::remove_file(&out);
    (done.status.success(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
}

#[test]
fn nothing_of_a_file_reaches_the_terminal_raw() {
    let bytes = b"[Variant \"\x1b[31mAtomic\"]\n\n1. e4 *\n\n[White \"\x1b]0;x\x07\"] \x9b2J note\n[Black \"B\"]\n\n\
        1. e4 e5 2. N\x1b[31mf9 \x1b[2Jword *\n\n[FEN \"8/8/\x1b[31m8 w\"]\n\n1. e4 *\n";
    let (done, said) = analyse(bytes);
    assert!(done, "{said}");
    for part in ["`\\u{1b}[31mAtomic`", "N\\u{1b}[31mf9", "8/8/\\u{1b}[31m8 w"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let raw: Vec<char> = said.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(raw.is_empty(), "{raw:?}: {said}");
}

#[test]
fn what_holds_no_games_is_refused_by_name() {
    for (bytes, name) in [
        (&b"<!DOCTYPE html><html><body>1. e4 e5</body></html>"[..], "HTML"),
        (b"PK\x03\x04\x14\x00\x08\x00 1. e4 e5 *", "a zip archive"),
        (b"BZh91AY&SY 1. e4 e5 *", "bzip2"),
        (b"\x00\x01\x02\x03\x04\x05\x06\x07\x08 e4 e5", "a binary file"),
    ] {
        let (done, said) = analyse(bytes);
        assert!(!done && said.contains(name) && said.contains("expected a text"), "{said}");
    }
}
