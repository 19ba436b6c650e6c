//! Which of the two built-in networks plays. The larger one judges a position better and computes three quarters as
//! many in a second. With hundreds of playouts a move that costs as much as it brings, with thousands it does not
//! (`assets/networks.md`).

use super::limits::Limits;
use super::loader::Ready;
use super::settings::{Search, Settings};
use super::strength::Strength;

/// Playouts of a move for which the larger network is taken up.
const ENOUGH: f64 = 1000.0;
/// Fewer than these are too few to keep it: changing costs the tree.
const TOO_FEW: f64 = 400.0;

/// Whether the larger network may play at all: in the tree search by the rules at full strength. What else there is, is
/// measured with the smaller one.
#[must_use]
pub fn may_be_large(settings: &Settings) -> bool {
    settings.weights_file.is_empty()
        && settings.search == Search::Mcts
        && !settings.imagines()
        && Strength::of(settings).is_none()
}

/// Whether `large`, the larger network, has time for enough playouts by `threads` threads. `in_use`: it played the last
/// move. It always has without a clock, and on a GPU, which computes many positions at once.
#[must_use]
pub fn pays(large: &Ready, limits: &Limits, threads: usize, in_use: bool) -> bool {
    let Some(budget) = limits.budget.filter(|_| !large.network.on_gpu) else { return true };
    let single = large.timing.single.as_secs_f64().max(1e-9);
    let playouts = budget.soft.as_secs_f64() / single * threads as f64;
    playouts >= if in_use { TOO_FEW } else { ENOUGH }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::clock::Budget;
    use crate::play::network::{Network, hashed};
    use crate::play::settings::WorldModel;
    use crate::play::warm_up::EvalTiming;
    use std::time::Duration;

    #[test]
    fn the_clock_decides_and_what_plays_goes_on() {
        let timing = EvalTiming { single: Duration::from_micros(200), batch: 1 };
        let cpu = Ready { network: hashed(), timing };
        let soft = |ms| {
            let soft = Duration::from_millis(ms);
            let budget = Some(Budget { soft, hard: soft, flexible: true });
            Limits { budget, ..Limits::default() }
        };
        assert!(pays(&cpu, &Limits::default(), 1, false));
        assert!(!pays(&cpu, &soft(190), 1, false) && pays(&cpu, &soft(210), 1, false));
        assert!(pays(&cpu, &soft(110), 2, false), "two threads do twice as much");
        assert!(pays(&cpu, &soft(90), 1, true) && !pays(&cpu, &soft(70), 1, true));
        let gpu = Ready { network: Network { on_gpu: true, ..hashed() }, timing };
        assert!(pays(&gpu, &soft(10), 1, false));
    }

    #[test]
    fn only_the_full_search_by_the_rules_may_have_it() {
        let plain = Settings::default();
        assert!(may_be_large(&plain));
        for other in [
            Settings { weights_file: "mine".to_owned(), ..plain.clone() },
            Settings { search: Search::Policy, ..plain.clone() },
            Settings { world_model: WorldModel::Learned, ..plain.clone() },
            Settings { limit_strength: true, ..plain.clone() },
        ] {
            assert!(!may_be_large(&other));
        }
        let analysis = Settings { limit_strength: true, analyse_mode: true, ..plain };
        assert!(may_be_large(&analysis));
    }
}
