//! The limits of one `go`, in the engine's own terms.

use super::{Budget, ClockState, TimeSettings};
use chess::action::Action;
use chess::game::Game;
use shakmaty::{Color, Position};
use uci::Go;

/// Time of a move, in milliseconds, where both clocks stand at zero: a GUI sends that when no clock runs (Knights).
const NO_CLOCK_MS: i64 = 1_000;

/// The limits of one search. With none set it runs until `stop`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Legal root moves to consider; empty = all.
    pub searchmoves: Vec<Action>,
    /// The clock stands still until `ponderhit`.
    pub ponder: bool,
    /// The answer is held back until `stop`.
    pub infinite: bool,
    /// Playouts, exactly.
    pub nodes: Option<u64>,
    /// Plies that the best line has to reach.
    pub depth: Option<u32>,
    /// Stop at a mate in this number of moves, not plies.
    pub mate: Option<u32>,
    /// The mover's clock, unless the search is endless.
    pub clock: Option<ClockState>,
    /// Time for this move.
    pub budget: Option<Budget>,
}

impl Limits {
    /// Reads a `go` for the side to move of `game`. The second part tells what was ignored, one
    /// sentence each.
    #[must_use]
    pub fn new(go: &Go, game: &Game, settings: TimeSettings) -> (Limits, Vec<String>) {
        let mut notes = Vec::new();
        let mut searchmoves = Vec::new();
        for text in &go.searchmoves {
            match Action::from_uci(text, game.position()) {
                Some(action) if searchmoves.contains(&action) => {}
                Some(action) => searchmoves.push(action),
                None => {
                    notes.push(format!("searchmoves: `{text}` is not legal here and is ignored"))
                }
            }
        }
        if searchmoves.is_empty() && !go.searchmoves.is_empty() {
            notes.push("searchmoves: no legal move among them, searching all moves".to_owned());
        }
        let clock = if go.infinite { None } else { mover_clock(go, game) };
        let limits = Limits {
            searchmoves,
            ponder: go.ponder,
            infinite: go.infinite,
            // Zero asks for as little as possible, not for nothing: a move is owed.
            nodes: if go.mate == Some(0) { Some(1) } else { go.nodes.map(|nodes| nodes.max(1)) },
            depth: go.depth.map(|depth| depth.max(1)),
            // No mate is that short: there is nothing to look for.
            mate: go.mate.filter(|moves| *moves > 0),
            clock,
            budget: if go.infinite { None } else { budget(go, clock, settings) },
        };
        (limits, notes)
    }

    /// The same with a share of the time.
    #[must_use]
    pub fn with_share(&self, share: f64) -> Limits {
        let budget = self.budget.map(|budget| Budget {
            soft: budget.soft.mul_f64(share),
            hard: budget.hard.mul_f64(share),
            ..budget
        });
        Limits { budget, ..self.clone() }
    }

    /// Whether a search under these limits ends by itself and its answer is printed then.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        let counted = self.nodes.is_some() || self.depth.is_some() || self.mate.is_some();
        (counted || self.budget.is_some()) && !self.infinite && !self.ponder
    }
}

/// The clock of the side to move in `game`, if the GUI sent one.
#[must_use]
pub fn mover_clock(go: &Go, game: &Game) -> Option<ClockState> {
    let (own, own_increment, other) = match game.position().turn() {
        Color::White => (go.wtime, go.winc, go.btime),
        Color::Black => (go.btime, go.binc, go.wtime),
    };
    if runs_no_clock(go) {
        return None;
    }
    let increment = own_increment.unwrap_or(0);
    // A GUI that sends one clock means both; one that sends only an increment means at least that much.
    let remaining = own.or(other).or(own_increment)?;
    Some(ClockState { remaining, increment, moves_to_go: go.movestogo })
}

/// With a clock at zero the game is over.
fn runs_no_clock(go: &Go) -> bool {
    go.wtime == Some(0) && go.btime == Some(0)
}

fn budget(go: &Go, clock: Option<ClockState>, settings: TimeSettings) -> Option<Budget> {
    let clock = clock.map(|clock| Budget::from_clock(clock, settings));
    let counted = go.nodes.is_some() || go.depth.is_some() || go.mate.is_some();
    let owed = (runs_no_clock(go) && !counted).then_some(NO_CLOCK_MS);
    let movetime = go.movetime.or(owed);
    let fixed = movetime.map(|movetime| Budget::fixed(movetime, settings));
    match (fixed, clock) {
        // Both: the clock is real, so it limits `movetime`.
        (Some(fixed), Some(clock)) if clock.hard < fixed.hard => {
            Some(Budget { soft: clock.hard, hard: clock.hard, flag: clock.flag, flexible: false })
        }
        (fixed, clock) => fixed.or(clock),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn settings() -> TimeSettings {
        TimeSettings { overhead: 50, ..TimeSettings::default() }
    }

    fn limits(go: Go) -> Limits {
        Limits::new(&go, &Game::default(), settings()).0
    }

    #[test]
    fn zero_limits_mean_one() {
        let limits = limits(Go {
            nodes: Some(0),
            depth: Some(0),
            mate: Some(0),
            movetime: Some(0),
            ..Go::default()
        });
        assert_eq!((limits.nodes, limits.depth, limits.mate), (Some(1), Some(1), None));
        assert_eq!(limits.budget.unwrap().hard, Duration::from_millis(1));
    }

    #[test]
    fn a_mate_in_no_moves_is_not_looked_for() {
        let limits = limits(Go { mate: Some(0), ..Go::default() });
        assert_eq!((limits.nodes, limits.mate), (Some(1), None));
    }

    #[test]
    fn the_other_sides_clock_stands_in_for_a_missing_one() {
        let borrowed = limits(Go { btime: Some(60_000), ..Go::default() });
        let own = limits(Go { wtime: Some(60_000), ..Go::default() });
        assert_eq!(borrowed.budget, own.budget);
        assert!(limits(Go { winc: Some(1_000), ..Go::default() }).budget.is_some());
        let open = limits(Go::default());
        assert_eq!((open.nodes, open.depth, open.mate, open.budget), (None, None, None, None));
    }

    #[test]
    fn two_clocks_at_zero_do_not_run() {
        let go = Go { wtime: Some(0), btime: Some(0), movestogo: Some(1), ..Go::default() };
        let found = limits(go.clone());
        assert_eq!((found.clock, found.budget.unwrap().hard), (None, Duration::from_millis(950)));
        let own = limits(Go { btime: Some(5_000), ..go.clone() });
        assert_eq!(own.budget.unwrap().hard, Duration::from_millis(1), "the flag is falling");
        let own = limits(Go { btime: Some(5_000), winc: Some(1_000), ..go.clone() });
        assert!(own.budget.unwrap().hard > Duration::from_millis(100), "an increment is granted");
        let fixed = limits(Go { movetime: Some(100), ..go.clone() });
        assert_eq!(fixed.budget.unwrap().hard, Duration::from_millis(95));
        let deep = limits(Go { depth: Some(20), ..go });
        assert_eq!((deep.budget, deep.depth), (None, Some(20)), "the depth is what was asked for");
    }

    #[test]
    fn movetime_and_clock_take_the_smaller() {
        let go = Go { movetime: Some(60_000), wtime: Some(1_000), ..Go::default() };
        assert!(limits(go).budget.unwrap().hard < Duration::from_secs(1));
        let go = Go { movetime: Some(100), wtime: Some(60_000), ..Go::default() };
        assert_eq!(limits(go).budget.unwrap().hard, Duration::from_millis(95));
    }

    #[test]
    fn infinite_forgets_the_clock() {
        let go = Go { infinite: true, wtime: Some(1_000), ..Go::default() };
        assert_eq!(limits(go).budget, None);
    }

    #[test]
    fn illegal_searchmoves_are_named_and_dropped() {
        let texts = ["e2e4", "e2e5", "e2e4"].map(str::to_owned).to_vec();
        let go = Go { searchmoves: texts, ..Go::default() };
        let (limits, notes) = Limits::new(&go, &Game::default(), settings());
        assert_eq!(limits.searchmoves.len(), 1);
        assert_eq!(notes.len(), 1);
        let go = Go { searchmoves: vec!["e2e5".to_owned()], ..Go::default() };
        assert!(Limits::new(&go, &Game::default(), settings()).0.searchmoves.is_empty());
    }
}
