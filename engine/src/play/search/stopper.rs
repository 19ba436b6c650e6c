//! When to stop searching, and when to speak meanwhile.
//!
//! A chain of reasons, each of which may end the search: the GUI, the hard limit, a mate within the
//! limit, the depth, a proven result, no alternative, a lead that no move can catch, the soft limit. The
//! number of playouts is the search's own business (exact). Called by worker 0 only.

use crate::output::Output;
use crate::play::clock::Budget;
use crate::play::clock::limits::Limits;
use crate::play::clock::signal::Signal;
use crate::play::clock::timekeeper::Timekeeper;
use crate::play::network::timing::EvalTiming;
use crate::play::report::Reporter;
use crate::play::report::current_move::CurrentMove;
use crate::world::AnyWorld;
use chess::action::Action;
use mcts::{Control, Race, Snapshot, View};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Share of the playouts to come that the second move would have to win, or the lead counts as safe. lc0 has
/// 1 / 1.33 (`SmartPruningFactor`). On 600 positions with 800 playouts each, this saves 32 % of them and changes
/// one move in 600; 1.33 saved 17 % (`docs/src/search.md`).
const CATCH_UP: f64 = 0.5;
/// Playouts it takes to know the rate of more. Guess.
const LEAST_SAMPLE: u64 = 32;
/// Least time between two reports. Guess: fast enough for a GUI, slow enough for a pipe.
const REPORT_GAP: Duration = Duration::from_millis(40);
/// Longest silence.
const REPORT_DUE: Duration = Duration::from_secs(1);
/// A depth limit counts as reached once the playouts are this many times those at the last new depth: the line of a
/// won or a blocked endgame may never grow longer. Guess: a new ply takes two to three times as many.
const DEPTH_STALLS: u64 = 4;
/// Playouts before that is asked. Guess.
const DEPTH_SAMPLE: u64 = 1_000;

/// A stopper's view of a running search: of one tree, or of a team's.
pub trait SearchView {
    /// Playouts of this search.
    fn playouts(&self) -> u64;
    /// Distribution of the visits over the root's moves.
    fn race(&self) -> Race;
    /// The root's result is proven.
    fn proven(&self) -> bool;
    /// The counters and at least the best `lines`.
    fn snapshot(&self, lines: usize) -> Snapshot<Action>;
}

impl SearchView for View<'_, AnyWorld> {
    fn playouts(&self) -> u64 {
        View::playouts(self)
    }

    fn race(&self) -> Race {
        self.root_race()
    }

    fn proven(&self) -> bool {
        View::proven(self)
    }

    fn snapshot(&self, lines: usize) -> Snapshot<Action> {
        View::snapshot(self, lines)
    }
}

/// Watches one running search.
pub struct Stopper<'a> {
    search: Watched<'a>,
    /// When the search began, by the engine's clock.
    begun: Duration,
    memory: Mutex<Memory>,
}

/// A [`Stopper`]'s knowledge of its search.
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    /// The limits of the `go`.
    pub limits: &'a Limits,
    /// Stop, ponderhit, the clock.
    pub signal: &'a Signal,
    /// Writes `info` lines.
    pub reporter: &'a Reporter,
    /// To the GUI.
    pub output: &'a Output,
    /// Has the answer if the search ends late.
    pub timekeeper: &'a Timekeeper<'a>,
    /// How long the leaves in flight take, on a device.
    pub timing: EvalTiming,
    /// The move with most visits is played, so a lead in visits decides.
    pub robust: bool,
}

#[derive(Default)]
struct Memory {
    last_tick: Duration,
    /// Longest of the recent minibatches.
    longest: Duration,
    /// Longest of all pauses between two ticks.
    pause: Duration,
    looks: Looks,
    last_report: Option<Duration>,
    /// Something not yet reported.
    has_changes: bool,
    depth: u32,
    growth: Growth,
    best: Option<Action>,
    /// When the best move last changed.
    changed: Duration,
    mate_plies: Option<i32>,
    current: CurrentMove,
}

/// When to walk the lines, which costs microseconds: geometric in playouts, and at least once in a
/// [`REPORT_GAP`].
#[derive(Default)]
struct Looks {
    /// Playouts at which the next one is due.
    next: u64,
    last: Duration,
}

impl Looks {
    /// Says whether to look now; if so, counts that as a look.
    fn is_due(&mut self, playouts: u64, elapsed: Duration) -> bool {
        if playouts < self.next && elapsed.saturating_sub(self.last) < REPORT_GAP {
            return false;
        }
        self.next = playouts + 16 + playouts / 8;
        self.last = elapsed;
        true
    }
}

/// When the tree's best line last grew longer.
#[derive(Default)]
struct Growth {
    greatest: u32,
    /// Playouts at the first sight of that depth.
    playouts: u64,
}

impl Growth {
    fn see(&mut self, depth: u32, playouts: u64) {
        if depth > self.greatest {
            *self = Growth { greatest: depth, playouts };
        }
    }

    /// `depth` was reached, or will not be soon.
    fn is_over(&self, depth: u32, playouts: u64) -> bool {
        let stalled = playouts >= DEPTH_SAMPLE.max(DEPTH_STALLS * self.playouts);
        self.greatest >= depth || stalled
    }
}

impl<'a> Stopper<'a> {
    /// Nothing has been seen yet.
    #[must_use]
    pub fn new(search: Watched<'a>) -> Self {
        let begun = search.signal.since_go();
        Stopper { search, begun, memory: Mutex::new(Memory::default()) }
    }

    /// The longest pause between two looks at the clock.
    #[must_use]
    pub fn pause(&self) -> Duration {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).pause
    }

    /// Looks at the clock and the search; `Break` ends it. Called after each minibatch.
    pub fn step(&self, view: &dyn SearchView) -> ControlFlow<()> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.elapsed();
        let batch = now.saturating_sub(memory.last_tick);
        memory.last_tick = now;
        // Forgets slowly: one late minibatch warns for about ten more.
        memory.longest = memory.longest.mul_f64(0.9).max(batch);
        memory.pause = memory.pause.max(batch);
        if self.search.signal.is_over() {
            return ControlFlow::Break(());
        }
        self.look(view, &mut memory);
        if self.is_done(view, &mut memory) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Time since the search began.
    fn elapsed(&self) -> Duration {
        self.search.signal.since_go().saturating_sub(self.begun)
    }

    /// Looks at the lines now and then, reports what is new.
    fn look(&self, view: &dyn SearchView, memory: &mut Memory) {
        let (playouts, elapsed) = (view.playouts(), self.elapsed());
        let silent = elapsed.saturating_sub(memory.last_report.unwrap_or_default());
        if !memory.looks.is_due(playouts, elapsed) {
            return;
        }
        let all = memory.current.is_due(elapsed);
        let lines = if all { usize::MAX } else { self.search.reporter.lines() };
        let snapshot = view.snapshot(lines);
        let Some(first) = snapshot.lines.first() else { return };
        let best = first.moves.first().copied();
        // Changes soon after a report wait for the minimum gap.
        memory.has_changes |= best != memory.best
            || snapshot.depth > memory.depth
            || first.mate_plies != memory.mate_plies;
        if best != memory.best {
            memory.best = best;
            memory.changed = elapsed;
        }
        memory.mate_plies = first.mate_plies;
        memory.depth = snapshot.depth;
        // The mean depth of the playouts is that of the whole tree, which grows more slowly: five plies from the initial
        // position took 1,818 playouts, and a line of as many 127.
        let plies = u32::try_from(first.moves.len()).unwrap_or(u32::MAX);
        memory.growth.see(plies.max(snapshot.depth), playouts);
        let due = memory.last_report.is_none()
            || silent >= REPORT_DUE
            || memory.has_changes && silent >= REPORT_GAP;
        let Watched { reporter, output, signal, timekeeper, .. } = self.search;
        if due {
            memory.last_report = Some(elapsed);
            memory.has_changes = false;
            output.block(&reporter.live(&snapshot, signal.since_go()));
        }
        if all && let Some((action, number)) = memory.current.look(&snapshot.lines, elapsed) {
            output.line(reporter.current(snapshot.depth, action, number));
        }
        timekeeper.on_found(snapshot);
    }

    fn is_done(&self, view: &dyn SearchView, memory: &mut Memory) -> bool {
        if self.search.limits.infinite {
            return false;
        }
        let playouts = view.playouts();
        if let (Some(moves), Some(plies)) = (self.search.limits.mate, memory.mate_plies)
            && plies > 0
            && plies.unsigned_abs().div_ceil(2) <= moves
        {
            return true;
        }
        // Nothing is left to find but shorter mates, which could be sought for ever.
        if (self.search.limits.depth.is_some() || self.search.limits.mate.is_some())
            && view.proven()
        {
            return true;
        }
        if let Some(depth) = self.search.limits.depth
            && memory.growth.is_over(depth, playouts)
        {
            return true;
        }
        match (self.search.limits.budget, self.search.signal.used()) {
            (Some(budget), Some(used)) => {
                used + memory.longest.max(self.last_batch()) >= budget.hard
                    || budget.flexible && self.is_enough(view, memory, budget, used)
            }
            _ => false,
        }
    }

    /// Time of the leaves in flight to a device at the end of the budget.
    fn last_batch(&self) -> Duration {
        let timing = &self.search.timing;
        if timing.lanes == 0 {
            Duration::ZERO
        } else {
            timing.of(timing.most_in_flight(Duration::ZERO))
        }
    }

    /// Reasons that apply to clock games only: a fixed time per move is used completely.
    fn is_enough(
        &self,
        view: &dyn SearchView,
        memory: &mut Memory,
        budget: Budget,
        used: Duration,
    ) -> bool {
        let race = view.race();
        if race.moves <= 1 || view.proven() {
            return true;
        }
        let elapsed = self.elapsed().max(Duration::from_micros(1));
        let aim = budget.soft.mul_f64(stretch(race, memory.changed, elapsed)).min(budget.hard);
        if used >= aim {
            return true;
        }
        // A rate measured on the first minibatch of a kept tree would be close to none, and end every
        // search at once.
        if elapsed < aim / 10 || view.playouts() < LEAST_SAMPLE {
            return false;
        }
        let rate = view.playouts() as f64 / elapsed.as_secs_f64();
        let to_come = rate * (aim - used).as_secs_f64();
        self.search.robust
            && !race.contested
            && to_come * CATCH_UP < race.first.saturating_sub(race.second) as f64
    }
}

/// How far the soft limit gives: less when the best move towers, more when it is hardly ahead, when another
/// one has a higher value, or when it is new. At 320 of 800 playouts, 2 % of the first kind
/// still changed their move, a third of each of the others, and 8 % of the rest (`docs/src/search.md`). The
/// factors themselves are guesses.
fn stretch(race: Race, changed: Duration, elapsed: Duration) -> f64 {
    let mut factor = if race.contested || race.second * 4 > race.first * 3 {
        1.3
    } else if race.second * 5 < race.first {
        0.6
    } else {
        1.0
    };
    if changed > elapsed.mul_f64(2.0 / 3.0) {
        factor *= 1.4;
    }
    factor
}

impl Control<AnyWorld> for Stopper<'_> {
    fn tick(&self, view: &View<'_, AnyWorld>) -> ControlFlow<()> {
        self.step(view)
    }

    fn stopped(&self) -> bool {
        self.search.signal.is_over()
    }

    /// All until the hard limit comes near.
    fn most_in_flight(&self) -> usize {
        let Watched { limits, signal, timing, .. } = &self.search;
        match (limits.budget, signal.used()) {
            (Some(budget), Some(used)) => timing.most_in_flight(budget.hard.saturating_sub(used)),
            _ => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_search_is_looked_at_once_in_a_gap() {
        // A tick each millisecond for ten seconds, a hundred playouts in each.
        let mut looks = Looks::default();
        let due = |tick: &u64| looks.is_due(tick * 100, Duration::from_millis(*tick));
        let count = (1..=10_000).filter(due).count();
        let (gaps, geometric) = (250, 120);
        assert!((gaps..gaps + geometric).contains(&count), "{count}");
    }

    #[test]
    fn a_depth_that_stays_out_of_reach_takes_little_longer_than_the_last() {
        // The line grows by a ply with each half more playouts, up to 49.
        let playouts_for = |depth| {
            let mut growth = Growth::default();
            let mut playouts = 1;
            while !growth.is_over(depth, playouts) {
                growth.see(((playouts as f64).ln() / 1.5f64.ln()).min(49.0) as u32, playouts);
                playouts += 1 + playouts / 8;
            }
            playouts
        };
        assert!(playouts_for(5) < 100, "reached");
        let (last, next) = (playouts_for(49), playouts_for(50));
        assert!(last < next && next < 5 * last, "{last}, {next}");
        assert_eq!(next, playouts_for(500));
        let flat = |depth: u32| {
            let mut growth = Growth::default();
            growth.see(1, 1);
            (1..).find(|playouts| growth.is_over(depth, *playouts))
        };
        assert_eq!(flat(30), Some(DEPTH_SAMPLE), "never deeper than one ply");
    }

    #[test]
    fn doubt_takes_longer_than_certainty() {
        let moment = Duration::from_secs(1);
        let race = |second| Race { first: 100, second, moves: 30, contested: false };
        let calm = stretch(race(5), Duration::ZERO, moment);
        let usual = stretch(race(50), Duration::ZERO, moment);
        let close = stretch(race(90), Duration::ZERO, moment);
        let wavering = stretch(race(90), moment, moment);
        assert!(calm < usual && usual < close && close < wavering);
        // A leader whose value has fallen below another's makes the search longer, not shorter.
        let contested = stretch(Race { contested: true, ..race(35) }, Duration::ZERO, moment);
        assert!(contested > usual);
    }
}
