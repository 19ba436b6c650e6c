//! How firmly a search that deepens holds on to its best move: what it needs of its time goes by that.

use crate::chess::action::Action;
use std::time::Duration;

/// Share of the soft limit after which no further depth is begun, by the number of depths in a row that the best move has stood.
/// Guess.
const STEADY: [f64; 5] = [1.2, 0.9, 0.7, 0.6, 0.5];
/// A win probability that falls by so much from one depth to the next asks for half as much time again. Guess.
const FELL: f32 = 0.025;
/// A depth that was begun is given up after so many times that share. Guess.
const PATIENCE: f64 = 2.5;

/// What the depths so far came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steadiness {
    last: Option<(Action, f32, u32)>,
    /// Depths in a row with the same best move, after the first.
    same: usize,
    fell: bool,
    /// A depth has ended since it was last asked.
    ended: bool,
}

impl Steadiness {
    /// A depth has ended with this best move, and its win probability. The same depth again is no news.
    pub fn hear(&mut self, best: Action, worth: f32, depth: u32) {
        if let Some((move_before, worth_before, depth_before)) = self.last {
            if depth == depth_before && best == move_before {
                return;
            }
            self.same = if best == move_before { self.same + 1 } else { 0 };
            self.fell = worth < worth_before - FELL;
        }
        self.last = Some((best, worth, depth));
        self.ended = true;
    }

    /// Another depth would hardly be finished, or would hardly find another move. False before the first.
    pub fn is_enough(&mut self, used: Duration, soft: Duration) -> bool {
        let ended = std::mem::take(&mut self.ended);
        let share = STEADY[self.same.min(STEADY.len() - 1)] * if self.fell { 1.5 } else { 1.0 };
        let patience = if ended { 1.0 } else { PATIENCE };
        self.last.is_some() && used >= soft.mul_f64(share * patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_that_stands_needs_less_time_and_a_depth_under_way_is_let_finish() {
        let [first, second] = [1u16, 2].map(Action::from);
        let soft = Duration::from_millis(100);
        let after = |steadiness: &Steadiness, ms| {
            let mut asked = *steadiness;
            asked.is_enough(Duration::from_millis(ms), soft)
        };
        let mut steadiness = Steadiness::default();
        assert!(!after(&steadiness, 1_000), "nothing is known");
        steadiness.hear(first, 0.5, 1);
        assert!(!after(&steadiness, 110) && after(&steadiness, 130));
        (2..9).for_each(|depth| steadiness.hear(first, 0.5, depth));
        assert!(!after(&steadiness, 40) && after(&steadiness, 60));
        let mut begun = steadiness;
        assert!(begun.is_enough(Duration::from_millis(60), soft));
        begun.hear(first, 0.5, 8);
        assert!(!after(&begun, 110) && after(&begun, 130), "no news");
        steadiness.hear(first, 0.4, 9);
        assert!(!after(&steadiness, 60) && after(&steadiness, 80), "worse than it seemed");
        steadiness.hear(second, 0.4, 10);
        assert!(!after(&steadiness, 110), "another move");
    }
}
