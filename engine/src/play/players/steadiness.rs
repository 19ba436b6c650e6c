//! Stability of the best move over the depths of iterative deepening: scales the soft time limit.

use chess::action::Action;
use std::time::Duration;

/// Share of the soft limit after which no further depth is started, by the number of consecutive depths with the same
/// best move. Guess.
const STEADY: [f64; 5] = [1.2, 0.9, 0.7, 0.6, 0.5];
/// A drop of the win probability from one depth to the next that extends the time by half. Guess.
const FELL: f32 = 0.025;
/// Abort a running depth at 2.5 times its share. Guess.
const ABORT_FACTOR: f64 = 2.5;

/// State over the depths so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steadiness {
    last: Option<(Action, f32, u32)>,
    /// Depths in a row with the same best move, after the first.
    same: usize,
    fell: bool,
    /// A depth has ended since the last `is_enough`.
    ended: bool,
}

impl Steadiness {
    /// Records a completed depth with its best move and win probability. A repeated depth is ignored.
    pub fn on_depth(&mut self, best: Action, win: f32, depth: u32) {
        if let Some((move_before, win_before, depth_before)) = self.last {
            if depth == depth_before && best == move_before {
                return;
            }
            self.same = if best == move_before { self.same + 1 } else { 0 };
            self.fell = win < win_before - FELL;
        }
        self.last = Some((best, win, depth));
        self.ended = true;
    }

    /// Whether another depth would probably not finish, or not change the move. False before the first.
    pub fn is_enough(&mut self, used: Duration, soft: Duration) -> bool {
        let ended = std::mem::take(&mut self.ended);
        let share = STEADY[self.same.min(STEADY.len() - 1)] * if self.fell { 1.5 } else { 1.0 };
        let factor = if ended { 1.0 } else { ABORT_FACTOR };
        self.last.is_some() && used >= soft.mul_f64(share * factor)
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
        steadiness.on_depth(first, 0.5, 1);
        assert!(!after(&steadiness, 110) && after(&steadiness, 130));
        (2..9).for_each(|depth| steadiness.on_depth(first, 0.5, depth));
        assert!(!after(&steadiness, 40) && after(&steadiness, 60));
        let mut begun = steadiness;
        assert!(begun.is_enough(Duration::from_millis(60), soft));
        begun.on_depth(first, 0.5, 8);
        assert!(!after(&begun, 110) && after(&begun, 130), "no news");
        steadiness.on_depth(first, 0.4, 9);
        assert!(!after(&steadiness, 60) && after(&steadiness, 80), "worse than it seemed");
        steadiness.on_depth(second, 0.4, 10);
        assert!(!after(&steadiness, 110), "another move");
    }
}
