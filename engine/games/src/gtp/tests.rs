//! Conversations over GTP.

use super::*;
use crate::net::NetworkFile;

fn session(swap: bool, commands: &str) -> Vec<String> {
    obeyed(&mut Gtp::new(Source::RandomGames, Some(200), swap).unwrap(), commands)
}

/// The answers to commands, up to `quit`.
fn obeyed(gtp: &mut Gtp, commands: &str) -> Vec<String> {
    let mut out = Vec::new();
    let _ = commands.split('\n').take_while(|line| gtp.obey(line, &mut out).unwrap()).count();
    let text = String::from_utf8(out).unwrap();
    text.split_terminator("\n\n").map(str::to_owned).collect()
}

#[test]
fn a_network_plays_its_sizes_alone() {
    let network = NetworkFile::random(&Hex::new(3).unwrap(), 16, 1, 1);
    let mut gtp = Gtp::new(Source::Named(network.into()), Some(20), true).unwrap();
    let commands = "boardsize 4\nplay b b2\ngenmove w\nundo\nall_legal_moves\n";
    let answers = obeyed(&mut gtp, commands);
    assert_eq!(answers[0], "? the network plays hex 3x3, not hex 4x4");
    assert!(answers[2].starts_with("= ") && answers[4].ends_with("c3 swap-pieces"), "{answers:?}");
    let other = NetworkFile::random(&crate::connect4::ConnectFour::default(), 16, 1, 1);
    let refused = Gtp::new(Source::Named(other.into()), Some(20), true).err();
    assert_eq!(refused.unwrap(), "the network plays connect4 7x6, not hex 11x11");
}

#[test]
fn a_bundled_network_plays_its_sizes_and_random_games_the_others() {
    let network = NetworkFile::random(&Hex::new(3).unwrap(), 16, 1, 1);
    let mut gtp = Gtp::new(Source::Bundled(vec![network]), None, false).unwrap();
    let playouts = [gtp.player.playouts, {
        gtp.resize(&["3"]).unwrap();
        gtp.player.playouts
    }];
    assert_eq!((playouts, gtp.game().size()), ([20_000, 800], 3));
}

#[test]
fn hexguis_greeting_is_answered() {
    let answers = session(
        false,
        "name\nversion\nhexgui-analyze_commands\nboardsize 3 3\n# comment\n\n7 play black b2\nshowboard\nquit\nname\n",
    );
    let version = concat!("= ", env!("CARGO_PKG_VERSION"));
    assert_eq!(answers[..2], ["= Mavka", version]);
    assert!(answers[2].contains("\npspairs/Values/values\n"), "{answers:?}");
    let board = "= \n   a b c\n 1 . . .\n  2 . B .\n   3 . . .";
    assert_eq!(answers[3..], ["= ", "=7 ", board, "= "]);
}

#[test]
fn a_game_is_played_scored_and_taken_back() {
    let answers = session(
        false,
        "boardsize 2\nplay b a1\nplay w b1\nall_legal_moves\nfinal_score\nplay b a2\nfinal_score\nplay w b2\ngenmove w\nall_legal_moves\nundo\ngenmove black\nfinal_score\n",
    );
    let over = "? the game is over";
    let expected = ["= ", "= ", "= ", "= a2 b2", "? the game is not over", "= ", "= B+", over];
    assert_eq!(answers[..8], expected);
    assert_eq!(answers[8..], [over, "= ", "= ", "= a2", "= B+"]);
}

#[test]
fn pieces_are_swapped() {
    let play = "boardsize 3\nplay b c1\nplay w swap-pieces\nshowboard\nplay b swap-pieces\nundo\nall_legal_moves\nundo\n";
    let answers = session(true, play);
    assert!(answers[3].contains("3 W . ."), "{answers:?}");
    assert!(answers[4].contains("only White's first move"), "{answers:?}");
    assert!(answers[6].ends_with("c3 swap-pieces"), "{answers:?}");
    let generate = "boardsize 3\nplay b b2\ngenmove w\n";
    assert_eq!(session(true, generate)[2], "= swap-pieces");
    assert_ne!(session(false, generate)[2], "= swap-pieces");
}

#[test]
fn bad_input_is_refused_with_what_was_expected() {
    for (command, answer) in [
        ("boardsize 20 20", "? size 20 is not supported, expected 2 to 19"),
        ("boardsize 1", "? size 1 is not supported, expected 2 to 19"),
        ("boardsize 5 6", "? size 5 6 is not supported, width and height must be equal"),
        ("boardsize x", "? \"x\" is not a size"),
        ("boardsize", "? \"\" is not a size"),
        ("play b z9", "? \"z9\" is not a cell, expected a1 to k11 or swap-pieces"),
        ("play b", "? play needs a colour and a cell"),
        ("play red a1", "? \"red\" is not a colour, expected black or white"),
        ("param_game allow_swap yes", "? \"yes\" is not a value of allow_swap, expected 0 or 1"),
        ("param_game game_time 9", "? game_time is no parameter, expected allow_swap"),
        ("param_game allow_swap", "? param_game needs a name and a value"),
        ("undo", "? nothing to undo"),
        ("time_left b soon 0", "? \"soon\" is not a number of seconds"),
        ("dance", "? unknown command dance"),
    ] {
        assert_eq!(session(false, command), [answer], "{command}");
    }
    assert_eq!(
        session(false, "play b a1\n3 play w A1")[1],
        "?3 illegal move A1: the cell is occupied"
    );
}

#[test]
fn every_listed_command_is_known_and_analyses_answer() {
    for command in COMMANDS {
        let answers =
            session(false, &format!("boardsize 3\n{command} b a1\nknown_command {command}"));
        assert!(!answers[1].contains("unknown"), "{answers:?}");
        assert!(answers.get(2).is_none_or(|answer| answer == "= true"), "{answers:?}");
    }
    let answers =
        session(false, "boardsize 3\ntime_left b 60 0\nvalues\nvisits\nbest_line\nknown_command x");
    assert!(answers[2].contains("b2 0.") || answers[2].contains("b2 1."), "{answers:?}");
    let visits: u64 =
        answers[3].split_whitespace().skip(2).step_by(2).map(|n| n.parse::<u64>().unwrap()).sum();
    assert!((100..=200).contains(&visits), "{answers:?}");
    assert!(answers[4].starts_with("= b "), "{answers:?}");
    assert_eq!(answers[5], "= false");
}

#[test]
fn one_setting_decides_whether_the_swap_rule_holds() {
    let mut gtp = Gtp::new(Source::RandomGames, Some(2_000), false).unwrap();
    let off = obeyed(
        &mut gtp,
        "boardsize 3\nparam_game\nplay b b2\nplay w swap-pieces\nall_legal_moves\nundo\ngenmove b\nundo",
    );
    assert_eq!(off[1], "= \n[bool] allow_swap 0");
    assert!(off[3].starts_with("? illegal move swap-pieces: the swap rule is off"), "{off:?}");
    assert!(!off[4].contains("swap"), "{off:?}");
    assert_eq!(off[6], "= b2", "the middle, which a swap would take");
    // The parameter changes what the player thinks, and keeps the position. First moves that lose are these four.
    let on = obeyed(
        &mut gtp,
        "param_game allow_swap 1\nparam_game\ngenmove b\nundo\nplay b b2\ngenmove w\nundo\nparam_game allow_swap 0\nall_legal_moves",
    );
    assert_eq!(on[1], "= \n[bool] allow_swap 1");
    assert!(["= a1", "= b1", "= b3", "= c3"].contains(&on[2].as_str()), "{on:?}");
    assert_eq!(on[5], "= swap-pieces");
    assert!(on[8].starts_with("= a1 ") && !on[8].contains("b2"), "{on:?}");
}

#[test]
fn a_board_is_set_up_by_stones_out_of_turn() {
    let commands = "boardsize 3\nplay b a1\nplay b a2\nplay w c1\nplay w c2\nplay w c3\nshowboard\ngenmove b\nfinal_score\nplay w b2\nundo\ngenmove w";
    let answers = session(false, commands);
    assert_eq!(answers[1..6], ["= "; 5]);
    assert_eq!(answers[6], "= \n   a b c\n 1 B . W\n  2 B . W\n   3 . . W");
    assert_eq!(answers[7..10], ["= a3", "= B+", "? the game is over"]);
    assert!(answers[11].starts_with("= "), "{answers:?}");
    // White has joined its edges: the game is over for either side.
    let commands =
        "boardsize 2\nplay w a1\nplay w b1\nfinal_score\ngenmove w\ngenmove b\nplay b a2";
    let over = "? the game is over";
    assert_eq!(session(false, commands)[3..], ["= W+", over, over, over]);
}

#[test]
fn a_resignation_ends_the_game_until_it_is_undone() {
    let commands = "boardsize 3\nplay b b2\nplay white resign\nfinal_score\ngenmove w\nplay b a1\nall_legal_moves\nbest_line\nundo\nfinal_score\nplay w a1\nplay black RESIGN\nfinal_score";
    let over = "? the game is over";
    let answers = session(false, commands);
    assert_eq!(answers[2..9], ["= ", "= B+", over, over, "= ", "= ", "= "]);
    assert_eq!(answers[9..], ["? the game is not over", "= ", "= ", "= W+"]);
}

#[test]
fn control_characters_and_long_lines_are_no_trouble() {
    let answers = session(false, "na\u{7}me\r\n\u{feff}\u{1b}version\n1\tname # tab\n\u{1}\n");
    let version = "? unknown command \u{feff}version";
    assert_eq!(answers, ["= Mavka", version, "=1 Mavka"]);
    let long = "x".repeat(1 << 16);
    for command in [long.clone(), format!("play {long} a1"), format!("play b {long}")] {
        let answers = session(false, &format!("{command}\nname"));
        assert!(answers[0].starts_with("? ") && answers[0].len() < 300, "{}", answers[0]);
        assert_eq!(answers[1], "= Mavka");
    }
}
