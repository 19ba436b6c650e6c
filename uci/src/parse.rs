//! Parses one line of a GUI.
//!
//! `vampirc_uci` parses what it parses correctly: [`fence`] accepts its result only where, printed again, it
//! equals the line. A damaged line, or one that the crate shortens, goes to our own parsers, one file per
//! command with arguments: they keep what can be understood and note the rest. [`answer`] parses lines of an
//! engine.

pub(crate) mod answer;
mod fence;
#[cfg(test)]
mod fuzz;
mod go;
mod option;
pub(crate) mod position;
#[cfg(test)]
mod round_trip;
mod setoption;
mod words;

use crate::command::{Command, ENGINE_WORDS};
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

/// Limits the notes for one line.
const MOST_NOTES: usize = 16;

/// Parses one line, with or without its end. None for a blank line.
///
/// Never fails: unknown tokens are skipped, damaged numbers dropped; `notes` describes the faults, one sentence
/// each, suitable for `info string`. Unknown words before a command are skipped as the protocol requires (`joho
/// debug on` is `debug on`). A line without any command, a line that begins with one of [`ENGINE_WORDS`], and a
/// command too damaged to obey are [`Command::Other`]; only the last has notes.
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
    if let Some(command) = fence::command(whole) {
        return Some((command, notes));
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
            fence::command(bare)
        }
    };
    if notes.len() > MOST_NOTES {
        let more = notes.len() - MOST_NOTES;
        notes.truncate(MOST_NOTES);
        notes.push(format!("{name}: {more} more faults in this line"));
    }
    Some((command.unwrap_or_else(other), notes))
}

/// `debug`: the first `on` or `off` counts. None, with a note, if there is neither.
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
    switch.and_then(fence::command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Go, SetOption, StartPosition};

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
}
