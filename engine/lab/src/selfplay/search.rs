//! Self-play's demands on every game's search: the end of a search whose result is proven, and a move drawn by visits.

use mcts::{Control, Line, View, World};
use nn::rng::Rng;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a search when its result is proven, or the run is to end.
pub struct UntilProven<'a> {
    proven: AtomicBool,
    stop: &'a AtomicBool,
}

impl<'a> UntilProven<'a> {
    /// `stop` ends the run.
    #[must_use]
    pub fn new(stop: &'a AtomicBool) -> UntilProven<'a> {
        UntilProven { proven: AtomicBool::new(false), stop }
    }

    /// Whether the search ended because its result was proven.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        // Relaxed: written by the same thread.
        self.proven.load(Ordering::Relaxed)
    }
}

impl<W: World> Control<W> for UntilProven<'_> {
    fn tick(&self, view: &View<'_, W>) -> ControlFlow<()> {
        if !view.proven() {
            return ControlFlow::Continue(());
        }
        // Relaxed: read by the same thread.
        self.proven.store(true, Ordering::Relaxed);
        ControlFlow::Break(())
    }

    fn stopped(&self) -> bool {
        // Relaxed: the flag publishes nothing else.
        self.stop.load(Ordering::Relaxed)
    }
}

/// A line in proportion to the visits of its first move; the first line if there are none. None without lines.
pub fn draw_by_visits<'a, A>(lines: &'a [Line<A>], random: &mut Rng) -> Option<&'a Line<A>> {
    let total: u64 = lines.iter().map(|line| line.visits).sum();
    let mut left = match usize::try_from(total).unwrap_or(usize::MAX) {
        0 => return lines.first(),
        total => random.below(total) as u64,
    };
    for line in lines {
        if left < line.visits {
            return Some(line);
        }
        left -= line.visits;
    }
    lines.first()
}
