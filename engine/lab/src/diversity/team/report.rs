//! A team's measurement as text.

use super::tally::{Behaviour, Estimate, TeamTally, contestants};
use super::task::ContestantResult;
use std::fmt;

/// The table of a tally, of searches with `nodes` by player 0 alone.
pub struct TeamReport<'a> {
    pub tally: &'a TeamTally,
    pub nodes: u64,
    /// Puzzles have points beside their solutions.
    pub graded: bool,
    /// Name of the items tried, in the plural.
    pub items: &'static str,
}

impl TeamReport<'_> {
    /// Playouts of a player at a budget.
    fn playouts(&self, budget: usize) -> u64 {
        if budget == 0 { self.nodes / self.tally.players.max(1) as u64 } else { self.nodes }
    }

    fn puzzles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.tally.puzzles.len();
        let width = 22usize.saturating_sub(self.items.len());
        write!(f, "{count} {}{:>width$}", self.items, "solved")?;
        write!(f, "  {:>24}", "less player 0 alone")?;
        if self.graded {
            write!(f, "  {:>6}  {:>24}", "points", "less player 0 alone")?;
        }
        let mut budget = None;
        for (at, contestant) in contestants(self.tally.players).iter().enumerate() {
            if contestant.budget != budget {
                budget = contestant.budget;
                let playouts = self.playouts(contestant.budget.unwrap_or_default());
                write!(f, "\n{playouts} playouts each")?;
            }
            write!(f, "\n{:<16}", contestant.name)?;
            self.figures(f, at, ContestantResult::solved)?;
            if self.graded {
                self.figures(f, at, ContestantResult::points)?;
            }
        }
        Ok(())
    }

    fn figures(
        &self,
        f: &mut fmt::Formatter<'_>,
        at: usize,
        of: fn(ContestantResult) -> f64,
    ) -> fmt::Result {
        write!(f, "  {:>6.1}", 100.0 * self.tally.share(at, of))?;
        if at == 0 {
            return write!(f, "  {:>24}", "");
        }
        let Estimate { mean, low, high } = self.tally.difference(at, of);
        let interval = format!("({:+.1} to {:+.1})", 100.0 * low, 100.0 * high);
        write!(f, "  {:>+6.1} {interval:<17}", 100.0 * mean)
    }

    fn behaviour(&self, f: &mut fmt::Formatter<'_>, budget: usize) -> fmt::Result {
        let Behaviour { distinct, disagreement, near, pairs, gaps } = self.tally.behaviour(budget);
        let positions = self.tally.views[budget].len();
        let playouts = self.playouts(budget);
        write!(
            f,
            "{positions} positions, {playouts} playouts each: {distinct:.2} different moves; two players disagree in {:.1} %, \
             {:.1} % by moves near the best; median gap {:.3}, gap-best {:.3}\n  pairs:",
            100.0 * disagreement,
            100.0 * near,
            gaps[0],
            gaps[1]
        )?;
        pairs.iter().try_for_each(|((i, j), share)| write!(f, " {i}-{j} {:.1} %", 100.0 * share))
    }
}

impl fmt::Display for TeamReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.tally.puzzles.is_empty() {
            self.puzzles(f)?;
            f.write_str("\n")?;
        }
        self.behaviour(f, 0)?;
        f.write_str("\n")?;
        self.behaviour(f, 1)
    }
}
