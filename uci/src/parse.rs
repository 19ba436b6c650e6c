//! The fence around `vampirc_uci`, and the only file that names it.
//!
//! The crate reads the commands that carry no data, and reads them right. With the others it panics
//! (`go depth 300`), drops words (`go ponder wtime 1000` forgets to ponder) or shortens lists without a word
//! (`moves e2e4 e7e9 g1f3`), so `go`, `position` and `setoption` are read by parsers of our own, one file each.
//! No text of a GUI ever reaches the crate: it is asked about constants only. The tests below keep its faults
//! on record, and hold our parsers against it where it can be trusted.

#[cfg(test)]
mod fuzz;
mod go;
mod position;
mod setoption;
mod words;

use crate::command::{Command, ENGINE_WORDS};
use vampirc_uci::UciMessage;
use words::{Skipped, Words, clean};

/// The commands of the protocol.
const COMMANDS: [&str; 11] = [
    "uci",
    "debug",
    "isready",
    "setoption",
    "register",
    "ucinewgame",
    "position",
    "go",
    "stop",
    "ponderhit",
    "quit",
];

/// A line of nothing but faults must not answer with a flood.
const MOST_NOTES: usize = 16;

/// Reads one line, with or without its end. None for a blank line.
///
/// Never fails: unknown tokens are skipped, damaged numbers dropped; `notes` tells what was wrong, one
/// sentence each, fit for `info string`. Unknown words before a command are skipped as the protocol asks
/// (`joho debug on` is `debug on`). A line without any command, a line that begins with one of
/// [`ENGINE_WORDS`], and a command too damaged to obey are [`Command::Other`]; only the last has notes.
///
/// ```
/// use uci::{Command, parse};
///
/// assert_eq!(parse("isready\r\n"), Some((Command::IsReady, vec![])));
/// assert_eq!(parse("bench 5"), Some((Command::Other("bench 5".to_owned()), vec![])));
/// assert_eq!(parse("  \n"), None);
/// ```
pub fn parse(line: &str) -> Option<(Command, Vec<String>)> {
    let text = clean(line);
    let whole = text.trim();
    let mut words = Words::new(whole);
    let first = words.peek()?;
    let other = || Command::Other(whole.to_owned());
    let mut notes = Vec::new();
    if ENGINE_WORDS.iter().any(|own| own.eq_ignore_ascii_case(first)) {
        return Some((other(), notes));
    }
    let mut skipped = Skipped::default();
    let Some(name) = words.find_map(|word| {
        let name = COMMANDS.iter().find(|name| name.eq_ignore_ascii_case(word));
        if name.is_none() {
            skipped.push(word);
        }
        name.copied()
    }) else {
        return Some((other(), notes));
    };
    skipped.note(&format!("before `{name}`"), &mut notes);

    let command = match name {
        "go" => Some(Command::Go(go::read(words, &mut notes))),
        "position" => position::read(words, &mut notes),
        "setoption" => setoption::read(words, &mut notes).map(Command::SetOption),
        "register" => Some(Command::Register),
        "debug" => debug(words, &mut notes),
        bare => {
            let mut skipped = Skipped::default();
            words.for_each(|word| skipped.push(word));
            skipped.note(name, &mut notes);
            ask(bare)
        }
    };
    if notes.len() > MOST_NOTES {
        let more = notes.len() - MOST_NOTES;
        notes.truncate(MOST_NOTES);
        notes.push(format!("{name}: {more} more faults in this line"));
    }
    Some((command.unwrap_or_else(other), notes))
}

/// `debug`: the first `on` or `off` counts. None, and a note, if there is neither.
fn debug(words: Words, notes: &mut Vec<String>) -> Option<Command> {
    let mut switch = None;
    let mut skipped = Skipped::default();
    for word in words {
        if switch.is_none() && word.eq_ignore_ascii_case("on") {
            switch = Some("debug on");
        } else if switch.is_none() && word.eq_ignore_ascii_case("off") {
            switch = Some("debug off");
        } else {
            skipped.push(word);
        }
    }
    skipped.note("debug", notes);
    if switch.is_none() {
        notes.push("debug: expected `on` or `off`".to_owned());
    }
    switch.and_then(ask)
}

/// What the crate makes of a text of ours. `'static` is the fence: no line of a GUI has that lifetime.
fn ask(text: &'static str) -> Option<Command> {
    match vampirc_uci::parse_one(text) {
        UciMessage::Uci => Some(Command::Uci),
        UciMessage::Debug(on) => Some(Command::Debug(on)),
        UciMessage::IsReady => Some(Command::IsReady),
        UciMessage::UciNewGame => Some(Command::UciNewGame),
        UciMessage::Stop => Some(Command::Stop),
        UciMessage::PonderHit => Some(Command::PonderHit),
        UciMessage::Quit => Some(Command::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::fuzz::{Random, render};
    use super::*;
    use crate::command::{Go, SetOption, StartPosition};
    use crate::format::{BestMove, Info, OptionKind, OptionSpec, Score};
    use std::panic::catch_unwind;
    use vampirc_uci::{UciSearchControl, UciTimeControl, parse_one};

    #[track_caller]
    fn clear(line: &str) -> Command {
        let (command, notes) = parse(line).unwrap();
        assert!(notes.is_empty(), "{line:?}: {notes:?}");
        command
    }

    fn other(line: &str) -> Command {
        Command::Other(line.to_owned())
    }

    #[test]
    fn commands_without_data_are_read() {
        assert_eq!(clear("uci"), Command::Uci);
        assert_eq!(clear("debug on"), Command::Debug(true));
        assert_eq!(clear("debug off"), Command::Debug(false));
        assert_eq!(clear("isready"), Command::IsReady);
        assert_eq!(clear("ucinewgame"), Command::UciNewGame);
        assert_eq!(clear("stop"), Command::Stop);
        assert_eq!(clear("ponderhit"), Command::PonderHit);
        assert_eq!(clear("quit"), Command::Quit);
        for line in ["register", "register later", "register name A B code 4359"] {
            assert_eq!(clear(line), Command::Register);
        }
    }

    #[test]
    fn every_command_is_read_in_any_case() {
        assert_eq!(clear("UCI"), Command::Uci);
        assert_eq!(clear("Debug ON"), Command::Debug(true));
        assert_eq!(clear("UciNewGame"), Command::UciNewGame);
    }

    #[test]
    fn commands_with_data_reach_their_parsers() {
        assert_eq!(clear("go perft 5"), Command::Go(Go { perft: Some(5), ..Go::default() }));
        let (name, value) = ("Move Overhead".to_owned(), Some("30".to_owned()));
        assert_eq!(
            clear("setoption name Move Overhead value 30"),
            Command::SetOption(SetOption { name, value })
        );
        let moves = vec!["e2e4".to_owned()];
        assert_eq!(
            clear("position startpos moves e2e4"),
            Command::Position { start: StartPosition::Startpos, moves }
        );
    }

    #[test]
    fn line_ends_tabs_nul_and_byte_order_marks_are_blanks() {
        for line in [
            "isready\r\n",
            "\tisready\t",
            "isready\0",
            "\u{feff}isready",
            "\r\nisready\n\n",
            " isready ",
        ] {
            assert_eq!(clear(line), Command::IsReady, "{line:?}");
        }
        assert_eq!(clear("go\tdepth\t3\r"), Command::Go(Go { depth: Some(3), ..Go::default() }));
    }

    #[test]
    fn blank_lines_are_nothing() {
        for line in ["", " ", "\r\n", "\t\t", "\0", "\u{feff}\n"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn unknown_words_before_a_command_are_skipped_and_noted() {
        let (command, notes) = parse("joho debug on").unwrap();
        assert_eq!(command, Command::Debug(true));
        assert_eq!(notes, ["before `debug`: skipped `joho`"]);
    }

    #[test]
    fn unknown_words_behind_a_command_are_skipped_and_noted() {
        let (command, notes) = parse("stop it quit").unwrap();
        assert_eq!(command, Command::Stop);
        assert_eq!(notes, ["stop: skipped `it`, `quit`"]);
        assert_eq!(parse("debug joho on").unwrap().0, Command::Debug(true));
    }

    #[test]
    fn lines_without_a_command_are_other_and_whole() {
        for line in [
            "bench",
            "d",
            "eval",
            "perft 5",
            "isreadynow",
            "ucinew game",
            "e2e4",
            "выход",
            "\u{fffd}",
        ] {
            assert_eq!(clear(line), other(line));
        }
        assert_eq!(clear("  bench  a  b \r\n"), other("bench  a  b"));
    }

    #[test]
    fn the_engines_own_words_come_whole_even_before_a_command() {
        for line in ["help go", "bench go depth 5", "Eval position startpos", "d stop"] {
            assert_eq!(clear(line), other(line));
        }
    }

    #[test]
    fn commands_too_damaged_to_obey_are_other_and_noted() {
        for line in [
            "debug",
            "debug maybe",
            "position",
            "position joho",
            "setoption",
            "setoption name value 3",
        ] {
            let (command, notes) = parse(line).unwrap();
            assert_eq!(command, other(line));
            assert!(notes.last().unwrap().contains("expected"), "{line}: {notes:?}");
        }
    }

    #[test]
    fn very_long_lines_are_read_to_the_end_and_answered_briefly() {
        let junk = "x".repeat(1_000_000);
        let (command, notes) =
            parse(&format!("{junk} go {junk} depth {junk} {} nodes 5", "depth ".repeat(100_000)))
                .unwrap();
        assert_eq!(command, Command::Go(Go { nodes: Some(5), ..Go::default() }));
        assert_eq!(notes.len(), MOST_NOTES + 1);
        assert!(notes.iter().all(|note| note.len() < 400));
    }

    #[test]
    fn the_crate_still_panics_on_numbers_beyond_255() {
        for line in ["go depth 300", "go wtime 1 movestogo 300", "go mate 300"] {
            assert!(catch_unwind(|| parse_one(line)).is_err(), "{line}");
            assert!(matches!(clear(line), Command::Go(_)));
        }
    }

    #[test]
    fn the_crate_still_drops_what_we_keep() {
        let limits = |line| match parse_one(line) {
            UciMessage::Go { time_control, .. } => time_control,
            other => panic!("{other:?}"),
        };
        assert!(matches!(limits("go ponder wtime 1000"), Some(UciTimeControl::TimeLeft { .. })));
        assert!(matches!(
            limits("go wtime 1000 movetime 50"),
            Some(UciTimeControl::TimeLeft { .. })
        ));
        assert!(
            matches!(parse_one("position startpos moves e2e4 e7e9 g1f3"), UciMessage::Position { moves, .. } if moves.len() == 1)
        );
        assert!(matches!(
            parse_one("setoption name Book value"),
            UciMessage::SetOption { value: None, .. }
        ));
        assert!(matches!(
            parse_one("position fen 8/8/8/8/8/8/8/K1k5 w - -"),
            UciMessage::Unknown(..)
        ));
    }

    #[test]
    fn where_the_crate_can_be_trusted_we_agree_with_it() {
        let mut random = Random(7);
        for _ in 0..2_000 {
            let moves: Vec<String> = (0..random.below(60))
                .map(|_| random.square_pair() + random.pick(&["", "", "", "q", "n"]))
                .collect();
            let line =
                render(&Command::Position { start: StartPosition::Startpos, moves: moves.clone() });
            let UciMessage::Position { startpos: true, moves: theirs, .. } = parse_one(&line)
            else {
                panic!("{line}");
            };
            assert_eq!(theirs.iter().map(ToString::to_string).collect::<Vec<_>>(), moves, "{line}");
            assert_eq!(
                clear(&line),
                Command::Position { start: StartPosition::Startpos, moves },
                "{line}"
            );

            let [white, black] = [0, 0].map(|_| random.below(1_000_000) as i64 - 1000);
            let [movestogo, depth, mate] = [0, 0, 0].map(|_| random.below(256) as u8);
            let nodes = random.below(1_000_000_000_000) as u64;
            let line = format!(
                "go wtime {white} btime {black} winc 1 binc 2 movestogo {movestogo} depth {depth} mate {mate} nodes {nodes}"
            );
            let UciMessage::Go {
                time_control:
                    Some(UciTimeControl::TimeLeft { white_time, black_time, moves_to_go, .. }),
                search_control:
                    Some(UciSearchControl { depth: depth2, mate: mate2, nodes: nodes2, .. }),
            } = parse_one(&line)
            else {
                panic!("{line}");
            };
            let theirs = Go {
                wtime: white_time.map(|time| time.num_milliseconds()),
                btime: black_time.map(|time| time.num_milliseconds()),
                winc: Some(1),
                binc: Some(2),
                movestogo: moves_to_go.map(u32::from),
                depth: depth2.map(u32::from),
                mate: mate2.map(u32::from),
                nodes: nodes2,
                ..Go::default()
            };
            assert_eq!(clear(&line), Command::Go(theirs), "{line}");
        }
    }

    #[test]
    fn what_we_print_is_read_by_the_crate() {
        let info = Info {
            depth: Some(9),
            score: Some(Score::Mate(-2)),
            nodes: Some(1234),
            time_ms: Some(5),
            pv: vec!["e2e4".to_owned(), "e7e5".to_owned()],
            ..Info::default()
        };
        assert!(
            matches!(parse_one(&info.to_string()), UciMessage::Info(facts) if facts.len() == 5)
        );
        let best = BestMove { best: Some("e7e8q".to_owned()), ponder: Some("a7a6".to_owned()) };
        assert!(matches!(
            parse_one(&best.to_string()),
            UciMessage::BestMove { ponder: Some(_), .. }
        ));
        let kind = OptionKind::Text { default: String::new() };
        let option = OptionSpec { name: "Book File".to_owned(), kind };
        assert!(matches!(
            parse_one(&option.to_string()),
            UciMessage::Option(vampirc_uci::UciOptionConfig::String { default: Some(text), .. }) if text.is_empty()
        ));
    }
}
