//! Cost of an analysis: announced before it begins, and refined as games are finished.
//!
//! The number of second searches depends on the games; before the first of them is finished it is a share of all
//! positions, measured on amateur games.

use crate::markup::counted;
use crate::play::analyst::Effort;
use std::fmt;
use std::time::Duration;

/// Second searches for each position: 586 of 1339 in 20 amateur games at 25 nodes.
const SECOND_SHARE: f64 = 0.4;
/// Positions that the share above counts for, beside those of finished games. Guess.
const PRIOR_POSITIONS: f64 = 100.0;
/// Time for each playout, alpha-beta search included, in evaluations of a single position: 2 on a busy Intel Xeon.
const EVALUATIONS: f64 = 2.0;

/// Time and nodes of an analysis.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Games.
    pub games: usize,
    /// More games follow.
    pub more: bool,
    /// Different positions in them.
    pub positions: usize,
    /// First and second searches that remain.
    pub searches: [f64; 2],
    /// Limits of the two.
    pub efforts: [Effort; 2],
    /// Threads.
    pub workers: usize,
    /// Time of one evaluation by the network.
    pub evaluation: Duration,
}

impl Cost {
    /// Playouts that remain; None where time limits the searches.
    #[must_use]
    pub fn nodes(&self) -> Option<f64> {
        let each = |(searches, effort): (&f64, &Effort)| match effort {
            Effort::Nodes(nodes) => Some(searches * *nodes as f64),
            Effort::Time(_) => None,
        };
        self.searches.iter().zip(&self.efforts).map(each).sum()
    }

    /// Time that remains.
    #[must_use]
    pub fn time(&self) -> Duration {
        let each = |(searches, effort): (&f64, &Effort)| match effort {
            Effort::Nodes(nodes) => {
                searches * *nodes as f64 * EVALUATIONS * self.evaluation.as_secs_f64()
            }
            Effort::Time(time) => searches * time.as_secs_f64(),
        };
        let seconds: f64 = self.searches.iter().zip(&self.efforts).map(each).sum();
        Duration::try_from_secs_f64(seconds / self.workers.max(1) as f64).unwrap_or(Duration::MAX)
    }
}

/// `33 games, 2100 positions: about 0.5 million nodes, 4 minutes with 2 threads`; where more follow, of the next ones.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { games, positions, workers, .. } = self;
        let (games, positions) = (counted(*games, "game"), counted(*positions, "position"));
        let next = if self.more { "the next " } else { "" };
        write!(f, "{next}{games}, {positions}: about ")?;
        match self.nodes() {
            Some(nodes) if nodes >= 950_000.0 => write!(f, "{:.1} million nodes, ", nodes / 1e6)?,
            Some(nodes) => write!(f, "{:.0} thousand nodes, ", (nodes / 1e3).ceil())?,
            None => {}
        }
        let seconds = self.time().as_secs_f64().ceil();
        let (amount, unit) = match seconds {
            ..90.0 => (seconds, "second"),
            ..5400.0 => ((seconds / 60.0).round(), "minute"),
            _ => ((seconds / 3600.0).round(), "hour"),
        };
        let (amount, workers) = (counted(amount as usize, unit), counted(*workers, "thread"));
        write!(f, "{amount} with {workers}{}", if self.more { "; more follow" } else { "" })
    }
}

/// Work of both passes, in nodes or milliseconds: the units of the progress bar.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Units of a first and of a second search.
    units: [u64; 2],
    /// First searches.
    positions: usize,
    /// Positions of finished games.
    judged: usize,
    /// Those of them that need a second search.
    suspects: usize,
    /// Number of second searches, once known.
    settled: Option<usize>,
}

impl Estimate {
    /// Estimate before the first search.
    #[must_use]
    pub fn new(efforts: [Effort; 2], positions: usize) -> Estimate {
        let units = efforts.map(|effort| match effort {
            Effort::Nodes(nodes) => nodes,
            Effort::Time(time) => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        });
        Estimate { units, positions, judged: 0, suspects: 0, settled: None }
    }

    /// A game of as many positions is finished; `suspects` of them need a second search.
    pub fn learn(&mut self, positions: usize, suspects: usize) {
        self.judged += positions;
        self.suspects += suspects;
    }

    /// The number of second searches is known.
    pub fn settle(&mut self, second: usize) {
        self.settled = Some(second);
    }

    /// Expected number of second searches.
    #[must_use]
    pub fn second_searches(&self) -> f64 {
        let share = (SECOND_SHARE * PRIOR_POSITIONS + self.suspects as f64)
            / (PRIOR_POSITIONS + self.judged as f64);
        self.settled.map_or(share * self.positions as f64, |settled| settled as f64)
    }

    /// Units of as many first searches.
    #[must_use]
    pub fn first_units(&self, searches: usize) -> u64 {
        self.units[0].saturating_mul(searches as u64)
    }

    /// Units of as many second searches.
    #[must_use]
    pub fn second_units(&self, searches: usize) -> u64 {
        self.units[1].saturating_mul(searches as u64)
    }

    /// Units of all searches.
    #[must_use]
    pub fn total(&self) -> u64 {
        let second = self.second_searches().round() as usize;
        self.first_units(self.positions).saturating_add(self.second_units(second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(searches: [f64; 2], effort: Effort) -> Cost {
        Cost {
            games: 1,
            more: false,
            positions: 81,
            searches,
            efforts: [effort, effort.times(5)],
            workers: 2,
            evaluation: Duration::from_millis(1),
        }
    }

    #[test]
    fn both_passes_are_in_the_cost() {
        let short = cost([80.0, 20.0], Effort::Nodes(100));
        assert_eq!(short.nodes(), Some(18_000.0));
        let seconds = 18.0 * EVALUATIONS / 2.0;
        assert!((short.time().as_secs_f64() - seconds).abs() < 1e-3);
        let words =
            format!("1 game, 81 positions: about 18 thousand nodes, {:.0} seconds", seconds.ceil());
        assert!(short.to_string().starts_with(&words), "{short}");
        let more = Cost { more: true, ..short }.to_string();
        assert!(more.starts_with("the next 1 game, ") && more.ends_with("; more follow"), "{more}");
        let long = cost([8000.0, 2000.0], Effort::Nodes(100));
        assert!(long.to_string().contains("1.8 million nodes"), "{long}");
        let timed = cost([80.0, 20.0], Effort::Time(Duration::from_secs(1)));
        assert_eq!(timed.nodes(), None);
        assert!(timed.to_string().ends_with("about 2 minutes with 2 threads"), "{timed}");
    }

    #[test]
    fn finished_games_replace_the_measured_share() {
        let effort = Effort::Nodes(100);
        let mut estimate = Estimate::new([effort, effort.times(5)], 1000);
        let at_first = (1000.0 * SECOND_SHARE * 500.0) as u64;
        assert_eq!(estimate.total(), 100_000 + at_first);
        estimate.learn(100_000, 50_000);
        assert!((estimate.second_searches() - 500.0).abs() < 2.0);
        estimate.settle(7);
        assert_eq!(estimate.total(), 100_000 + 7 * 500);
        assert_eq!(estimate.first_units(3) + estimate.second_units(1), 800);
    }
}
