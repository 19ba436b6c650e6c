//! Result of one check of the doctor.

use std::fmt;

/// Severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No problem.
    Fine,
    /// The engine plays, but not as configured.
    Warning,
    /// The engine does not work correctly.
    Fault,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Subject in one or two words.
    pub subject: &'static str,
    /// Severity.
    pub verdict: Verdict,
    /// Explanation for players.
    pub text: String,
    /// Lines for those who report a fault.
    pub details: Vec<String>,
}

impl Finding {
    pub(super) fn new(subject: &'static str, verdict: Verdict, text: impl Into<String>) -> Finding {
        Finding { subject, verdict, text: text.into(), details: Vec::new() }
    }

    pub(super) fn with_details(self, details: impl IntoIterator<Item = String>) -> Finding {
        Finding { details: details.into_iter().collect(), ..self }
    }
}

impl fmt::Display for Finding {
    /// Without its details.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.verdict {
            Verdict::Fine => "ok     ",
            Verdict::Warning => "WARNING",
            Verdict::Fault => "FAULT  ",
        };
        write!(f, "{mark}  {:<9}  {}", self.subject, self.text)
    }
}
