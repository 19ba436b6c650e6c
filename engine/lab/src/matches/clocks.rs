//! Use of time: clock readings after each move, over the games of a match.

use super::rules::{PlayedGame, Seat};
use crate::uci_client::limit::{Clock, Limit};
use shakmaty::{ByColor, Color};

/// Minimum share of the games that reached a move: fewer are not representative.
const MIN_SHARE: f64 = 0.2;

/// Seconds left, by seat and own move number.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    left: [Vec<Vec<f64>>; 2],
}

/// Clock readings after a move, over the games that reached it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remaining {
    /// Own moves played, from 1.
    pub moves: usize,
    /// Median.
    pub median: f64,
    /// Tenth percentile.
    pub tenth_percentile: f64,
}

impl Clocks {
    /// Adds a game. Players without a clock are ignored.
    pub fn add(&mut self, played: &PlayedGame, limits: ByColor<Limit>, white: Seat) {
        for color in Color::ALL {
            if !matches!(limits[color], Limit::Clock { .. }) {
                continue;
            }
            let of_white = usize::from(white == Seat::Second);
            let seat = &mut self.left[color.fold_wb(of_white, 1 - of_white)];
            let mut clock = Clock::new(limits[color]);
            let own = played.plies.iter().filter(|ply| ply.color == color);
            for (index, ply) in own.enumerate() {
                // The referee has judged already: with this margin no flag falls.
                clock.spend(ply.elapsed, ply.elapsed);
                if seat.len() <= index {
                    seat.push(Vec::new());
                }
                seat[index].extend(clock.budget().map(|left| left.as_secs_f64()));
            }
        }
    }

    /// Clock readings of `seat` by move.
    #[must_use]
    pub fn of(&self, seat: Seat) -> Vec<Remaining> {
        let moves = &self.left[usize::from(seat == Seat::Second)];
        let games = moves.first().map_or(0, Vec::len) as f64;
        let reached =
            moves.iter().enumerate().filter(|(_, left)| left.len() as f64 >= games * MIN_SHARE);
        let summary = |(index, left): (usize, &Vec<f64>)| {
            let mut sorted = left.clone();
            sorted.sort_by(f64::total_cmp);
            let quantile =
                |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
            Remaining { moves: index + 1, median: quantile(0.5), tenth_percentile: quantile(0.1) }
        };
        reached.map(summary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::{Ending, Ply, Warnings};
    use super::*;
    use shakmaty::{Chess, Position};
    use std::time::Duration;

    fn played(milliseconds: &[u64]) -> PlayedGame {
        let action = Chess::default().legal_moves()[0];
        let ply = |(index, time): (usize, &u64)| Ply {
            color: if index % 2 == 0 { Color::White } else { Color::Black },
            action,
            score: None,
            depth: None,
            nodes: None,
            elapsed: Duration::from_millis(*time),
        };
        PlayedGame {
            plies: milliseconds.iter().enumerate().map(ply).collect(),
            winner: None,
            ending: Ending::MaxPlies,
            warnings: ByColor::<Warnings>::default(),
        }
    }

    #[test]
    fn a_clock_runs_down_and_gains_its_increment() {
        let clock: Limit = "1+0.1".parse().unwrap();
        let limits = ByColor { white: clock, black: Limit::Nodes(5) };
        let mut clocks = Clocks::default();
        clocks.add(&played(&[300, 9, 200]), limits, Seat::Second);
        assert_eq!(clocks.of(Seat::First), []);
        let left: Vec<(usize, f64)> = clocks
            .of(Seat::Second)
            .iter()
            .map(|left| (left.moves, (left.median * 1e3).round()))
            .collect();
        // A second and the first increment, minus the move, plus the next increment.
        assert_eq!(left, [(1, 900.0), (2, 800.0)]);
    }

    #[test]
    fn quantiles_are_of_the_games_that_came_so_far() {
        let clock: Limit = "2+0".parse().unwrap();
        let mut clocks = Clocks::default();
        for game in 0..11 {
            let moves = [100 * game, 0, 100];
            let moves = if game < 2 { &moves[..] } else { &moves[..1] };
            clocks.add(&played(moves), ByColor { white: clock, black: clock }, Seat::First);
        }
        let left = clocks.of(Seat::First);
        assert_eq!(left.len(), 1, "two of eleven games are too few");
        let rounded = [left[0].tenth_percentile, left[0].median].map(|left| (left * 10.0).round());
        assert_eq!(rounded, [11.0, 15.0]);
    }
}
