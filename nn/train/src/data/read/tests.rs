//! Samples whole, cut at every byte, and damaged at every byte.

use super::*;
use crate::data::GameWriter;
use crate::data::testing::{mavg_bytes, mavg_game, pvgr_bytes, self_play_bytes, unpack};

fn games(bytes: &[u8]) -> (Vec<Game>, Option<DataError>, bool) {
    let mut reader = GameReader::new(bytes, "sample").expect("magic");
    let mut games = Vec::new();
    for game in &mut reader {
        match game {
            Ok(game) => games.push(game),
            Err(error) => return (games, Some(error), reader.cut()),
        }
    }
    (games, None, reader.cut())
}

#[test]
fn any_cut_gives_the_whole_games_before_it_and_no_error() {
    for bytes in [mavg_bytes(1, 3), pvgr_bytes(1, 3), self_play_bytes(1, 3)] {
        let (whole, error, cut) = games(&bytes);
        assert_eq!((whole.len(), error.is_none(), cut), (3, true, false));
        let mut ends = 0;
        for length in 6..bytes.len() {
            let (some, error, cut) = games(&bytes[..length]);
            assert!(error.is_none(), "cut at {length}: {error:?}");
            assert!(some.len() < 3);
            ends += usize::from(!cut);
        }
        assert_eq!(ends, 3, "only the ends of the magic and of the first two games are no cuts");
    }
}

#[test]
fn an_unfinished_zstd_frame_is_a_cut() {
    // Long enough for several zstd blocks: the last one is lost.
    let bytes = mavg_bytes(2, 400);
    let packed = zstd::encode_all(bytes.as_slice(), 1).expect("pack");
    let half = &packed[..packed.len() - 3];
    let mut reader =
        GameReader::new(zstd::Decoder::new(half).expect("decoder"), "sample").expect("magic");
    let whole = reader.by_ref().filter(|game| game.is_ok()).count() as u64;
    assert!((100..400).contains(&whole), "{whole}");
    assert_eq!((reader.games(), reader.cut()), (whole, true));
}

#[test]
fn damaged_zstd_is_an_error_that_names_the_file() {
    let mut packed = zstd::encode_all(mavg_bytes(3, 40).as_slice(), 1).expect("pack");
    let middle = packed.len() / 2;
    packed[4..middle].fill(0xa5);
    let text =
        match GameReader::new(zstd::Decoder::new(packed.as_slice()).expect("decoder"), "sample") {
            Err(error) => error.to_string(),
            Ok(reader) => reader.filter_map(Result::err).next().expect("an error").to_string(),
        };
    assert!(text.starts_with("sample: "), "{text}");
}

#[test]
fn messages_name_the_byte_and_what_was_expected() {
    let bytes = mavg_bytes(4, 2);
    let (whole, ..) = games(&bytes);
    let Game::Mavg(game) = &whole[1] else { panic!("format") };
    let at = game.positions[3].offset as usize;
    let damage = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        games(&bytes).1.expect("an error").to_string()
    };
    let say = |at: usize, what: &str| {
        format!("sample: byte {at} of the decompressed stream: expected {what}")
    };
    assert!(damage(at + 1, 230).starts_with(&say(at + 1, "the index of a legal move")));
    assert!(damage(at + 2, 230).starts_with(&say(at + 2, "the index of a legal move")));
    assert!(damage(at + 5, 128).starts_with(&say(at + 5, "a win probability of 0..=127, or 255")));
    assert!(damage(8, b'x').starts_with(&say(8, "the FEN of a legal position")));
    let result = 8 + usize::from(bytes[7]);
    assert!(damage(result, 4).starts_with(&say(result, "a result of 0..=3")));
    let error = GameReader::new(&b"MAVG2\n"[..], "sample").err().expect("an error").to_string();
    assert_eq!(error, say(0, "the magic MAVG1, PVGR1 or SELF1, found \"MAVG2\\n\""));
}

#[test]
fn games_may_begin_with_more_material_than_a_game_can_give() {
    let fen: Fen =
        "2b1rr2/1p1p1r1k/1PpPp2r/2P1Pp1r/5Pp1/3K2Pp/7P/8 w - - 0 1".parse().expect("a FEN");
    let start: Chess =
        fen.into_position(CastlingMode::Chess960).or_else(composed).expect("composed");
    let mut game = mavg_game(1);
    (game.header.start, game.positions) = (start.clone(), Vec::new());
    let mut writer = GameWriter::new(Vec::new(), Format::Mavg, "sample").expect("magic");
    writer.write(&Game::Mavg(game)).expect("write");
    let (read, error, _) = games(&writer.into_inner());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(read[0].header().start, start);
}

#[test]
fn any_changed_byte_is_read_or_refused_without_panic() {
    for bytes in [mavg_bytes(5, 2), pvgr_bytes(5, 2), self_play_bytes(5, 2)] {
        for at in 6..bytes.len() {
            for change in [1, 0x40, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                let _ = games(&bytes);
            }
        }
    }
}

#[test]
fn packed_files_are_read() {
    let path = std::env::temp_dir().join(format!("mavka-read-{}.zst", std::process::id()));
    std::fs::write(&path, zstd::encode_all(pvgr_bytes(6, 5).as_slice(), 1).expect("pack"))
        .expect("write");
    assert_eq!(unpack(&path).len(), 5);
    std::fs::remove_file(&path).expect("remove");
    let error = FileReader::open(&path).err().expect("an error").to_string();
    assert!(error.contains("mavka-read-"), "{error}");
}
