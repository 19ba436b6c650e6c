//! Where the time of a pass goes, forward or backward: a stopwatch that the pass tells what it begins.
//!
//! Off, which is how play has it, it costs a comparison for each stage.

use std::time::{Duration, Instant};

/// What a pass over the network consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Between passes.
    Outside,
    /// Rows of the embedding, added up.
    Embedding,
    /// Layer normalisation and, for 8 bits, the rounding of its result.
    Norm,
    /// Queries, keys and values.
    Qkv,
    /// The attention bias that depends on the position.
    Bias,
    /// Scores, softmax and the mean of the values.
    Attention,
    /// The product after attention.
    Output,
    /// The first product of the feed-forward part.
    Up,
    /// Squared ReLU and, for 8 bits, the rounding of its result.
    Activation,
    /// The second product of the feed-forward part.
    Down,
    /// The projection of every token for the heads.
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

    /// In one or two words.
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
    /// The stage under way and since when; None: nothing is measured.
    running: Option<(Stage, Instant)>,
    spent: [Duration; Stage::ALL.len()],
}

impl Stages {
    /// One that measures from now on.
    #[must_use]
    pub fn started() -> Stages {
        Stages { running: Some((Stage::Outside, Instant::now())), ..Stages::default() }
    }

    /// Ends what is under way and begins `stage`.
    #[inline]
    pub fn begin(&mut self, stage: Stage) {
        if let Some((last, since)) = self.running {
            let now = Instant::now();
            self.spent[last as usize] += now - since;
            self.running = Some((stage, now));
        }
    }

    /// Adds what another has measured.
    pub fn add(&mut self, other: &Stages) {
        for (spent, other) in self.spent.iter_mut().zip(other.spent) {
            *spent += other;
        }
    }

    /// What `stage` has taken.
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
