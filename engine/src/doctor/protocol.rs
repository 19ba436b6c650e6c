//! A short UCI session in this process, as a GUI would start it.

use super::finding::{Finding, Verdict};
use crate::options::settings::Settings;
use crate::uci::run::run;
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex, PoisonError};
use uci::Answer;

/// Input of the session.
const INPUT: &str =
    "uci\nisready\nucinewgame\nposition startpos moves e2e4 e7e5\ngo nodes 20\nisready\nquit\n";

/// A required answer: its first word and its test.
struct ExpectedAnswer {
    word: &'static str,
    is: fn(&Answer) -> bool,
}

const EXPECTED: [ExpectedAnswer; 3] = [
    ExpectedAnswer { word: uci::UCIOK, is: |answer| matches!(answer, Answer::UciOk) },
    ExpectedAnswer { word: uci::READYOK, is: |answer| matches!(answer, Answer::ReadyOk) },
    ExpectedAnswer { word: "bestmove", is: |answer| matches!(answer, Answer::BestMove(_)) },
];

/// Output of the engine.
#[derive(Clone, Default)]
struct Transcript(Arc<Mutex<Vec<u8>>>);

impl Write for Transcript {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Uses default options: configured ones have their own checks.
pub(super) fn check(_: &Settings) -> Vec<Finding> {
    let transcript = Transcript::default();
    run(Cursor::new(INPUT), transcript.clone());
    let bytes = transcript.0.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&bytes);
    let answers: Vec<Answer> = text.lines().filter_map(uci::parse_answer).collect();
    let missing: Vec<&str> = EXPECTED
        .iter()
        .filter(|expected| !answers.iter().any(expected.is))
        .map(|expected| expected.word)
        .collect();
    let finding = if missing.is_empty() {
        Finding::new("UCI", Verdict::Fine, "the engine introduces itself, is ready and moves")
    } else {
        let text = format!("no `{}` came", missing.join("`, no `"));
        Finding::new("UCI", Verdict::Fault, text)
    };
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_answers_as_a_gui_expects() {
        let findings = check(&Settings::default());
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::Fine), "{findings:?}");
    }
}
