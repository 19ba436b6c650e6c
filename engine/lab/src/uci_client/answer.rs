//! An engine's answers to one search.

use std::time::Duration;
use uci::{Info, Score};

/// Answer to one `go`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchAnswer {
    /// The word after `bestmove`, possibly not a move, as `(none)`.
    pub best: String,
    pub ponder: Option<String>,
    /// From the end of `go` to the arrival of `bestmove`.
    pub elapsed: Duration,
    /// Last `info` with a score of the first variation; exact scores take precedence over bounds.
    pub last: Option<Info>,
    /// First move of the last first variation, bounds included.
    pub head: Option<String>,
    /// All variations in order.
    pub variations: Vec<Vec<String>>,
    /// First moves of these with their scores, in order.
    pub scores: Vec<(String, Score)>,
}

impl SearchAnswer {
    /// Takes an `info` of the search.
    pub fn take(&mut self, mut info: Info) {
        let pv = std::mem::take(&mut info.pv);
        let is_main = info.multipv.is_none_or(|number| number == 1);
        if is_main && info.score.is_some() {
            let better = match &self.last {
                Some(last) => last.bound.is_some() || info.bound.is_none(),
                None => true,
            };
            if better {
                self.last = Some(info.clone());
            }
        }
        if !pv.is_empty() {
            if is_main {
                self.head = pv.first().cloned();
            }
            self.scores.extend(pv.first().cloned().zip(info.score));
            self.variations.push(pv);
        }
    }
}
