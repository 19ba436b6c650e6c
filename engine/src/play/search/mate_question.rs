//! Whether a mate can be forced: everything is tried for the first moves, which is surer than a tree search, and
//! rules mates out.

use crate::output::Output;
use crate::play::clock::limits::Limits;
use crate::play::clock::signal::Signal;
use chess::action::Action;
use chess::game::Game;
use chess::mate::MateSearch;
use mcts::{Line, Snapshot, Wdl};
use std::cell::Cell;

/// Moves to mate for which everything is tried where no clock runs: four are ruled out in a quarter of a second.
/// Guess.
const MATES_TRIED: u32 = 5;
/// The same with a clock, which as a rule ends it sooner: each move takes some of the thread's stack.
const MATES_TRIED_BY_CLOCK: u32 = 20;
/// The same in a game that endgame tables call won.
const MATES_TRIED_WHEN_WON: u32 = 3;
/// Looks at the clock until that is given up, a thousand positions each. Guess.
const LOOKS_WHEN_WON: u32 = 50;

/// The result of the search for a mate.
pub enum MateAnswer {
    /// The shortest mate, as the only line.
    Mate(Snapshot<Action>),
    /// There is none in the moves that were asked for.
    NoMate,
    /// Nothing was asked, or not everything was tried.
    Open,
}

/// `go mate`, or a game that endgame tables call won.
pub struct MateQuestion<'a> {
    /// Its last position is searched.
    pub game: &'a Game,
    /// The root's moves to try.
    pub allowed: &'a [Action],
    /// The limits of the `go`.
    pub limits: &'a Limits,
    /// Endgame tables call the game won, and no more than a move is asked for.
    pub won: bool,
    /// Ends the search.
    pub signal: &'a Signal,
    /// Says which mates are ruled out.
    pub output: &'a Output,
}

impl MateQuestion<'_> {
    /// Tries everything within the limits; blocks.
    #[must_use]
    pub fn answer(&self) -> MateAnswer {
        let Limits { mate, budget, infinite, .. } = *self.limits;
        let moves = match (mate, budget) {
            (Some(mate), Some(_)) => mate.min(MATES_TRIED_BY_CLOCK),
            (Some(mate), None) => mate.min(MATES_TRIED),
            (None, _) if self.won => MATES_TRIED_WHEN_WON,
            (None, _) => return MateAnswer::Open,
        };
        let half = budget.map(|budget| budget.hard / 2);
        let looks = Cell::new(0);
        let stop = || {
            looks.set(looks.get() + 1);
            let used = self.signal.used();
            self.signal.is_over()
                || half.is_some_and(|half| used.is_some_and(|used| used >= half))
                || mate.is_none() && looks.get() >= LOOKS_WHEN_WON
        };
        let mut search = MateSearch::new(self.game, &stop);
        let Some(mate_line) = search.run(self.game.position(), self.allowed, moves) else {
            if mate.is_none() || search.is_stopped() {
                return MateAnswer::Open;
            }
            self.output.note(format_args!("no mate in {moves} or fewer moves"));
            let answered = mate == Some(moves) && !infinite;
            return if answered { MateAnswer::NoMate } else { MateAnswer::Open };
        };
        let value = if mate_line.plies > 0 { Wdl::WIN } else { Wdl::LOSS };
        let (nodes, plies) = (search.nodes(), mate_line.plies.unsigned_abs());
        let line = Line {
            moves: mate_line.line,
            visits: nodes,
            value,
            mate_plies: Some(mate_line.plies),
            prior: 1.0,
            q: value.q(),
        };
        MateAnswer::Mate(Snapshot {
            nodes,
            playouts: nodes,
            depth: plies,
            seldepth: plies,
            lines: vec![line],
            ..Snapshot::default()
        })
    }
}
