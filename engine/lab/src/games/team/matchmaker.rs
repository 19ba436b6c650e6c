//! Pairings (paper 003, section 3, Eq. 10): a player that learns is drawn uniformly, its opponent from one of six distributions.

use serde::{Deserialize, Serialize};

/// Steps of regret matching.
const STEPS: usize = 2_000;

/// How the opponent of a learning player is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Matchmaker {
    /// The player itself.
    SelfPlay,
    /// Uniformly, itself included.
    Uniform,
    /// Uniformly among the players up to itself (PSRO-uniform).
    Fictitious,
    /// The next player of a cycle of all but the last one, which answers the Nash mixture of all.
    Cycle,
    /// The Nash mixture of the players up to itself (PSRO-Nash).
    Nash,
    /// Those of it that the player beats or ties, by their shares (rectified PSRO).
    Rectified,
}

/// Scores of the players against each other in the games so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Payoffs {
    /// `[first to move][second]`: points of the first, and games.
    scores: Vec<Vec<[f64; 2]>>,
}

impl Payoffs {
    /// No game, counted as one draw for each pair.
    #[must_use]
    pub fn new(players: usize) -> Payoffs {
        Payoffs { scores: vec![vec![[0.5, 1.0]; players]; players] }
    }

    /// Counts a game by the points of the player that moved first.
    pub fn add(&mut self, [first, second]: [usize; 2], points: f64) {
        if let Some([sum, games]) = self.scores.get_mut(first).and_then(|row| row.get_mut(second)) {
            (*sum, *games) = (*sum + points, *games + 1.0);
        }
    }

    /// Mean score of `player` against `other`.
    #[must_use]
    pub fn score(&self, player: usize, other: usize, moves_first: bool) -> f64 {
        let [first, second] = if moves_first { [player, other] } else { [other, player] };
        let [sum, games] = self.scores[first][second];
        if moves_first { sum / games } else { 1.0 - sum / games }
    }

    /// The mixture of the first `count` players, that the others, moving first or second, score least against.
    fn nash(&self, count: usize, moves_first: bool) -> Vec<f64> {
        let (mut regrets, mut sums) = ([(); 2].map(|()| vec![0.0; count]), vec![0.0; count]);
        let mixture = |regrets: &[f64]| -> Vec<f64> {
            let sum: f64 = regrets.iter().sum();
            let share = |regret: &f64| if sum > 0.0 { regret / sum } else { 1.0 / count as f64 };
            regrets.iter().map(share).collect()
        };
        for step in 0..STEPS {
            let [rows, columns] = [mixture(&regrets[0]), mixture(&regrets[1])];
            let score = |row: usize, column: usize| self.score(row, column, moves_first);
            let of_row = |row: usize| (0..count).map(|c| columns[c] * score(row, c)).sum::<f64>();
            let of_column =
                |column: usize| (0..count).map(|r| -rows[r] * score(r, column)).sum::<f64>();
            for (side, gain, mixed) in [
                (0, (0..count).map(of_row).collect::<Vec<_>>(), &rows),
                (1, (0..count).map(of_column).collect(), &columns),
            ] {
                let mean: f64 = gain.iter().zip(mixed).map(|(gain, share)| gain * share).sum();
                for (regret, gain) in regrets[side].iter_mut().zip(gain) {
                    *regret = (*regret + gain - mean).max(0.0);
                }
            }
            // Later mixtures are better: their weight grows.
            sums.iter_mut().zip(&columns).for_each(|(sum, share)| *sum += step as f64 * share);
        }
        let total: f64 = sums.iter().sum();
        sums.into_iter().map(|sum| sum / total).collect()
    }
}

impl Matchmaker {
    /// The probability of each opponent of `player`.
    #[must_use]
    pub fn opponents(self, player: usize, payoffs: &Payoffs, moves_first: bool) -> Vec<f64> {
        let players = payoffs.scores.len();
        let uniform = |count: usize| vec![1.0 / count as f64; count];
        let only = |other: usize| {
            let mut shares = vec![0.0; players];
            shares[other] = 1.0;
            shares
        };
        let mut shares = match self {
            Matchmaker::SelfPlay => only(player),
            Matchmaker::Uniform => uniform(players),
            Matchmaker::Fictitious => uniform(player + 1),
            Matchmaker::Cycle if player + 1 < players => only((player + 1) % (players - 1)),
            Matchmaker::Cycle => payoffs.nash(players, moves_first),
            Matchmaker::Nash => payoffs.nash(player + 1, moves_first),
            Matchmaker::Rectified => {
                let nash = payoffs.nash(player + 1, moves_first);
                let beaten = |(other, share): (usize, &f64)| {
                    if payoffs.score(player, other, moves_first) >= 0.5 { *share } else { 0.0 }
                };
                let kept: Vec<f64> = nash.iter().enumerate().map(beaten).collect();
                let sum: f64 = kept.iter().sum();
                if sum > 0.0 { kept.into_iter().map(|share| share / sum).collect() } else { nash }
            }
        };
        shares.resize(players, 0.0);
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of the first to move, counted often enough for the draw of the beginning to vanish.
    fn payoffs(scores: &[&[f64]]) -> Payoffs {
        let mut payoffs = Payoffs::new(scores.len());
        for (first, row) in scores.iter().enumerate() {
            for (second, score) in row.iter().enumerate() {
                (0..100_000).for_each(|_| payoffs.add([first, second], *score));
            }
        }
        payoffs
    }

    fn near(found: &[f64], expected: &[f64]) {
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01);
        assert!(found.len() == expected.len() && close, "{found:?}, expected {expected:?}");
    }

    #[test]
    fn nash_of_rock_paper_scissors_is_uniform_and_of_a_dominant_player_that_player() {
        let cyclic = payoffs(&[&[0.5, 0.0, 1.0], &[1.0, 0.5, 0.0], &[0.0, 1.0, 0.5]]);
        near(&cyclic.nash(3, true), &[1.0 / 3.0; 3]);
        near(&cyclic.nash(3, false), &[1.0 / 3.0; 3]);
        let dominant = payoffs(&[&[0.5, 0.4, 0.9], &[0.7, 0.5, 0.8], &[0.2, 0.1, 0.5]]);
        near(&dominant.nash(3, true), &[0.0, 1.0, 0.0]);
        // Matching pennies with unequal prizes: 3x - (1 - x) = -x + 2 (1 - x).
        let prizes = payoffs(&[&[0.8, 0.4], &[0.4, 0.7]]);
        near(&prizes.nash(2, true), &[3.0 / 7.0, 4.0 / 7.0]);
    }

    #[test]
    fn each_matchmaker_has_its_opponents() {
        // The second player beats the first one as either side, the third loses to both.
        let scores = payoffs(&[&[0.5, 0.2, 0.9], &[0.8, 0.5, 0.9], &[0.1, 0.1, 0.5]]);
        let of = |matchmaker: Matchmaker, player| matchmaker.opponents(player, &scores, true);
        near(&of(Matchmaker::SelfPlay, 2), &[0.0, 0.0, 1.0]);
        near(&of(Matchmaker::Uniform, 0), &[1.0 / 3.0; 3]);
        near(&of(Matchmaker::Fictitious, 1), &[0.5, 0.5, 0.0]);
        near(&of(Matchmaker::Cycle, 0), &[0.0, 1.0, 0.0]);
        near(&of(Matchmaker::Cycle, 1), &[1.0, 0.0, 0.0]);
        near(&of(Matchmaker::Cycle, 2), &[0.0, 1.0, 0.0]);
        near(&of(Matchmaker::Nash, 0), &[1.0, 0.0, 0.0]);
        near(&of(Matchmaker::Nash, 2), &[0.0, 1.0, 0.0]);
        // The mixture has one player, which the third does not beat.
        near(&of(Matchmaker::Rectified, 1), &[0.0, 1.0, 0.0]);
        near(&of(Matchmaker::Rectified, 2), &[0.0, 1.0, 0.0]);
    }
}
