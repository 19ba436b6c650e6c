//! Profile of a forward or backward pass by stage: a stopwatch that the pass drives.
//!
//! When it is off, as in play, each stage costs one comparison.

use std::time::{Duration, Instant};

/// Stages of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Between passes.
    Outside,
    /// Sum of embedding rows.
    Embedding,
    /// Layer normalisation and, for int8, the quantization of its result.
    Norm,
    /// Queries, keys and values.
    Qkv,
    /// The position-dependent attention bias.
    Bias,
    /// Scores, softmax and the mean of the values.
    Attention,
    /// The projection after attention.
    Output,
    /// The first product of the FFN.
    Up,
    /// Squared ReLU and, for int8, the quantization of its result.
    Activation,
    /// The second product of the FFN.
    Down,
    /// The projection of each token for the heads.
    Tokens,
    /// Value, policy, action values and the rest, from the projection.
    Heads,
}

impl Stage {
    /// All, in the order of a pass.
    pub const ALL: [Stage; 12] = [
        Stage::Outside,
        Stage::Embedding,
        Stage::Norm,
        Stage::Qkv,
        Stage::Bias,
        Stage::Attention,
        Stage::Output,
        Stage::Up,
        Stage::Activation,
        Stage::Down,
        Stage::Tokens,
        Stage::Heads,
    ];

    /// Display name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Outside => "decoding",
            Stage::Embedding => "embedding",
            Stage::Norm => "norm",
            Stage::Qkv => "QKV",
            Stage::Bias => "dynamic bias",
            Stage::Attention => "attention",
            Stage::Output => "output",
            Stage::Up => "FFN up",
            Stage::Activation => "activation",
            Stage::Down => "FFN down",
            Stage::Tokens => "projection",
            Stage::Heads => "heads",
        }
    }
}

/// A stopwatch for each [`Stage`].
#[derive(Clone, Debug, Default)]
pub struct Stages {
    /// The running stage and its start; None: off.
    running: Option<(Stage, Instant)>,
    spent: [Duration; Stage::ALL.len()],
}

impl Stages {
    /// Starts measuring.
    #[must_use]
    pub fn started() -> Stages {
        Stages { running: Some((Stage::Outside, Instant::now())), ..Stages::default() }
    }

    /// Ends the running stage and begins `stage`.
    #[inline]
    pub fn begin(&mut self, stage: Stage) {
        if let Some((last, since)) = self.running {
            let now = Instant::now();
            self.spent[last as usize] += now - since;
            self.running = Some((stage, now));
        }
    }

    /// Adds another profile.
    pub fn add(&mut self, other: &Stages) {
        for (spent, other) in self.spent.iter_mut().zip(other.spent) {
            *spent += other;
        }
    }

    /// Time spent in `stage`.
    #[must_use]
    pub fn spent(&self, stage: Stage) -> Duration {
        self.spent[stage as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_to_the_stage_under_way_and_nowhere_if_off() {
        let start = Instant::now();
        let (mut on, mut off) = (Stages::started(), Stages::default());
        for stage in [Stage::Norm, Stage::Up, Stage::Norm, Stage::Outside] {
            on.begin(stage);
            off.begin(stage);
            std::hint::black_box((0..10_000).map(|i: u64| i * i).sum::<u64>());
        }
        on.begin(Stage::Outside);
        assert!(Stage::ALL.iter().all(|stage| off.spent(*stage).is_zero()));
        assert!(!on.spent(Stage::Norm).is_zero() && on.spent(Stage::Down).is_zero());
        let total: Duration = Stage::ALL.iter().map(|stage| on.spent(*stage)).sum();
        assert!(total <= start.elapsed(), "no time is counted twice");
        for (i, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, i);
        }
    }
}
