//! Progress reports of a run.

use super::loss::LossSums;
use nn::checkpoint::Network;

/// Report after each step.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Steps so far, of all sessions.
    pub step: u64,
    /// Examples so far, of all sessions.
    pub seen: u64,
    /// Examples of the whole run.
    pub examples: u64,
    /// Losses since the last report.
    pub sums: LossSums,
    /// Learning rate of the step.
    pub rate: f32,
    /// Examples per second of this session.
    pub speed: f64,
}

/// Observer of a run.
pub trait Watcher {
    /// After each step; false ends the run like a kill, with its state saved.
    fn step(&mut self, progress: &Progress) -> bool;
    /// Every few minutes and at the end, with the averaged network.
    fn checkpoint(&mut self, progress: &Progress, network: &Network);
}
