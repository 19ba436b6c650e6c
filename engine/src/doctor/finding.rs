//! What one check of the doctor has found.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Fine,
    /// The engine plays, but not as was asked for.
    Warning,
    /// The engine does not play as it should.
    Fault,
}

/// What one check has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in one or two words.
    pub subject: &'static str,
    /// How bad it is.
    pub verdict: Verdict,
    /// In plain words.
    pub text: String,
}

impl Finding {
    pub(super) fn new(subject: &'static str, verdict: Verdict, text: impl Into<String>) -> Finding {
        Finding { subject, verdict, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.verdict {
            Verdict::Fine => "ok     ",
            Verdict::Warning => "WARNING",
            Verdict::Fault => "FAULT  ",
        };
        write!(f, "{mark}  {:<12}  {}", self.subject, self.text)
    }
}
