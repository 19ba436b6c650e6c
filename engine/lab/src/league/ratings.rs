//! Ratings of many players from their games: maximum likelihood of the logistic model, with covariance.
//!
//! The expected score of `i` against `j` is `1 / (1 + 10^((r_j - r_i) / 400))`, a draw counts as half a
//! win (Bradley and Terry 1952; Ordo and `choix` use the same likelihood). The covariance is that of a
//! pseudo-maximum likelihood, `H⁻¹ V H⁻¹` (White 1982): `H` is the curvature, `V` the scatter of the scores
//! of *pairs* of games about their expectation, for the two games of a pair share an opening.

use crate::matches::elo::{Z95, normal_cdf};
use crate::matches::tally::Tally;
use std::f64::consts::LN_10;

/// Natural units per Elo.
const UNIT: f64 = LN_10 / 400.0;
/// Standard deviation of the prior about 0, in Elo, used where the maximum likelihood is infinite: a player that lost
/// all games gets a finite rating.
const PRIOR: f64 = 3000.0;
/// Pseudo-count of pairs with the model's own variance: three equal pairs do not mean variance 0.
const PSEUDO_PAIRS: f64 = 1.0;
/// Maximum number of Newton steps; six are usual.
const STEPS: usize = 200;
/// Maximum step in natural units: far from the optimum Newton's method overshoots.
const MAX_STEP: f64 = 2.0;

/// Constraint that removes the likelihood's translation invariance.
#[derive(Clone, Copy, Debug)]
enum Constraint {
    /// Sum of strengths = 0: differences stay unaffected.
    Sum,
    /// Gaussian prior on each strength, with this precision.
    Each(f64),
}

impl Constraint {
    /// Its Hessian.
    fn matrix(self, size: usize) -> Vec<Vec<f64>> {
        match self {
            Constraint::Sum => vec![vec![1.0; size]; size],
            Constraint::Each(precision) => diagonal(size, precision),
        }
    }

    /// Its gradient.
    fn slope(self, strength: &[f64]) -> Vec<f64> {
        match self {
            Constraint::Sum => vec![-strength.iter().sum::<f64>(); strength.len()],
            Constraint::Each(precision) => strength.iter().map(|at| -at * precision).collect(),
        }
    }
}

/// Games between two players, `first < second`.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<'a> {
    /// Index of the first.
    pub first: usize,
    /// Index of the second.
    pub second: usize,
    /// From the first player's point of view.
    pub tally: &'a Tally,
}

/// Ratings with their covariance.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratings {
    /// Elo; the average is 0, or one rating is fixed.
    pub elo: Vec<f64>,
    /// Covariance of the ratings relative to their average, in square Elo.
    covariance: Vec<Vec<f64>>,
}

impl Ratings {
    /// Half-width of the 95 % interval of a rating relative to the average, in Elo.
    #[must_use]
    pub fn error(&self, player: usize) -> f64 {
        Z95 * self.covariance[player][player].max(0.0).sqrt()
    }

    /// Variance of the difference of two ratings, in square Elo.
    #[must_use]
    pub fn variance_of_difference(&self, a: usize, b: usize) -> f64 {
        let c = &self.covariance;
        (c[a][a] + c[b][b] - 2.0 * c[a][b]).max(0.0)
    }

    /// Variance of a linear function of the ratings with these `slopes`, one per player, in square Elo. The slopes
    /// must sum to 0: translation invariance.
    #[must_use]
    pub fn variance_of(&self, slopes: &[f64]) -> f64 {
        let row = |row: &Vec<f64>| -> f64 { row.iter().zip(slopes).map(|(c, s)| c * s).sum() };
        let sum: f64 = self.covariance.iter().zip(slopes).map(|(c, slope)| slope * row(c)).sum();
        sum.max(0.0)
    }

    /// Likelihood of superiority of `a` over `b`.
    #[must_use]
    pub fn superiority(&self, a: usize, b: usize) -> f64 {
        let deviation = self.variance_of_difference(a, b).sqrt();
        if a == b || deviation == 0.0 {
            return 0.5;
        }
        normal_cdf((self.elo[a] - self.elo[b]) / deviation)
    }
}

/// Ratings of `players`. `fixed` is a player with its rating.
#[must_use]
pub fn rate(players: usize, meetings: &[Meeting<'_>], fixed: Option<(usize, f64)>) -> Ratings {
    let constraint =
        if is_finite(players, meetings) { Constraint::Sum } else { Constraint::Each(prior()) };
    let strength = maximum_posterior(players, meetings, constraint);
    let curvature = information(&strength, meetings, &[], constraint);
    let inverse = inverse(&curvature);
    let scatter = scatter(&strength, meetings, constraint);
    let spread = product(&product(&inverse, &scatter), &inverse);
    let mean = strength.iter().sum::<f64>() / players.max(1) as f64;
    let shift = match fixed {
        Some((player, elo)) => elo - strength[player] / UNIT,
        None => -mean / UNIT,
    };
    let elo = strength.iter().map(|strength| strength / UNIT + shift).collect();
    Ratings { elo, covariance: about_the_mean(&spread, UNIT * UNIT) }
}

/// Model covariance of natural strengths after `coming` additional games between pairs of players; it does not depend
/// on their results.
#[must_use]
pub fn outlook(
    players: usize,
    meetings: &[Meeting<'_>],
    coming: &[(usize, usize)],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let constraint = Constraint::Each(prior());
    let strength = maximum_posterior(players, meetings, constraint);
    let inverse = inverse(&information(&strength, meetings, coming, constraint));
    (strength, inverse)
}

/// Whether the likelihood has a maximum: the graph of points taken is strongly connected (Ford 1957).
fn is_finite(players: usize, meetings: &[Meeting<'_>]) -> bool {
    let reaches_all = |back: bool| {
        let mut reached = vec![false; players];
        let mut waiting = vec![0];
        while let Some(from) = waiting.pop() {
            if from >= players || std::mem::replace(&mut reached[from], true) {
                continue;
            }
            for Meeting { first, second, tally } in meetings {
                let (of_first, of_second) =
                    (tally.wins + tally.draws > 0, tally.losses + tally.draws > 0);
                let (up, down) = if back { (of_second, of_first) } else { (of_first, of_second) };
                if *first == from && up {
                    waiting.push(*second);
                } else if *second == from && down {
                    waiting.push(*first);
                }
            }
        }
        reached.into_iter().all(|there| there)
    };
    reaches_all(false) && reaches_all(true)
}

/// Expected score of a difference in natural units.
#[must_use]
pub fn expected(difference: f64) -> f64 {
    1.0 / (1.0 + (-difference).exp())
}

/// Natural strengths of maximum posterior, by Newton's method.
fn maximum_posterior(players: usize, meetings: &[Meeting<'_>], constraint: Constraint) -> Vec<f64> {
    let mut strength = vec![0.0; players];
    for _ in 0..STEPS {
        let mut slope = constraint.slope(&strength);
        for meeting in meetings {
            let Meeting { first, second, tally } = *meeting;
            let points = tally.wins as f64 + tally.draws as f64 / 2.0;
            let surplus =
                points - tally.games() as f64 * expected(strength[first] - strength[second]);
            slope[first] += surplus;
            slope[second] -= surplus;
        }
        let inverse = inverse(&information(&strength, meetings, &[], constraint));
        let step: Vec<f64> =
            inverse.iter().map(|row| row.iter().zip(&slope).map(|(a, b)| a * b).sum()).collect();
        let longest = step.iter().fold(0.0, |most: f64, part| most.max(part.abs()));
        let scale = (MAX_STEP / longest).min(1.0);
        for (at, part) in strength.iter_mut().zip(&step) {
            *at += scale * part;
        }
        if longest < 1e-10 {
            break;
        }
    }
    strength
}

/// Precision of the prior in natural units.
fn prior() -> f64 {
    (PRIOR * UNIT).powi(-2)
}

/// Hessian of negative log-likelihood and prior.
fn information(
    strength: &[f64],
    meetings: &[Meeting<'_>],
    coming: &[(usize, usize)],
    constraint: Constraint,
) -> Vec<Vec<f64>> {
    let mut matrix = constraint.matrix(strength.len());
    let played = meetings.iter().map(|m| (m.first, m.second, m.tally.games() as f64));
    for (a, b, games) in played.chain(coming.iter().map(|&(a, b)| (a, b, 1.0))) {
        let score = expected(strength[a] - strength[b]);
        add_difference(&mut matrix, a, b, games * score * (1.0 - score));
    }
    matrix
}

/// Variance of the gradient: scatter of pair scores about their expectation.
fn scatter(strength: &[f64], meetings: &[Meeting<'_>], constraint: Constraint) -> Vec<Vec<f64>> {
    let mut matrix = constraint.matrix(strength.len());
    for meeting in meetings {
        let Meeting { first, second, tally } = *meeting;
        let score = expected(strength[first] - strength[second]);
        let of_model = score * (1.0 - score);
        let pairs: f64 = tally.pairs.iter().sum::<u64>() as f64;
        let seen: f64 = tally
            .pairs
            .iter()
            .enumerate()
            .map(|(half_points, &times)| {
                times as f64 * (half_points as f64 / 2.0 - 2.0 * score).powi(2)
            })
            .sum();
        let each = (seen + PSEUDO_PAIRS * 2.0 * of_model) / (pairs + PSEUDO_PAIRS);
        let single = tally.games() as f64 - 2.0 * pairs;
        add_difference(&mut matrix, first, second, pairs * each + single * of_model);
    }
    matrix
}

fn diagonal(size: usize, value: f64) -> Vec<Vec<f64>> {
    (0..size)
        .map(|row| (0..size).map(|column| if row == column { value } else { 0.0 }).collect())
        .collect()
}

/// Adds `weight (e_a - e_b)(e_a - e_b)ᵀ`.
fn add_difference(matrix: &mut [Vec<f64>], a: usize, b: usize, weight: f64) {
    matrix[a][a] += weight;
    matrix[b][b] += weight;
    matrix[a][b] -= weight;
    matrix[b][a] -= weight;
}

/// Inverse of a positive definite matrix (Gauss-Jordan); needs no pivoting.
fn inverse(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let size = matrix.len();
    let mut left = matrix.to_vec();
    let mut right = diagonal(size, 1.0);
    for pivot in 0..size {
        let scale = left[pivot][pivot].recip();
        for column in 0..size {
            left[pivot][column] *= scale;
            right[pivot][column] *= scale;
        }
        let (from_left, from_right) = (left[pivot].clone(), right[pivot].clone());
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = left[row][pivot];
            for column in 0..size {
                left[row][column] -= factor * from_left[column];
                right[row][column] -= factor * from_right[column];
            }
        }
    }
    right
}

fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let cell = |row: &Vec<f64>, column: usize| -> f64 {
        row.iter().zip(b).map(|(factor, other)| factor * other[column]).sum()
    };
    a.iter().map(|row| (0..b.len()).map(|column| cell(row, column)).collect()).collect()
}

/// Covariance of the deviations from the average, in units of `unit`: the zero is a convention without uncertainty.
fn about_the_mean(covariance: &[Vec<f64>], unit: f64) -> Vec<Vec<f64>> {
    let size = covariance.len() as f64;
    let rows: Vec<f64> = covariance.iter().map(|row| row.iter().sum::<f64>() / size).collect();
    let all = rows.iter().sum::<f64>() / size;
    covariance
        .iter()
        .zip(&rows)
        .map(|(row, mean)| {
            row.iter().zip(&rows).map(|(cell, other)| (cell - mean - other + all) / unit).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::elo::{self, expected_score, judge};

    fn tally(wins: u64, draws: u64, losses: u64, pairs: [u64; 5]) -> Tally {
        let mut tally = Tally::default();
        (tally.wins, tally.draws, tally.losses, tally.pairs) = (wins, draws, losses, pairs);
        tally
    }

    fn meetings(all: &[(usize, usize, Tally)]) -> Vec<Meeting<'_>> {
        all.iter()
            .map(|(first, second, tally)| Meeting { first: *first, second: *second, tally })
            .collect()
    }

    fn close(a: f64, b: f64, by: f64) -> bool {
        (a - b).abs() < by
    }

    #[test]
    fn two_players_are_rated_as_in_a_match() {
        let all = [(0, 1, tally(400, 1400, 200, [0, 100, 600, 300, 0]))];
        let ratings = rate(2, &meetings(&all), Some((1, 0.0)));
        let judged = judge(400, 1400, 200, &[0, 100, 600, 300, 0]).unwrap();
        assert!(close(ratings.elo[0], judged.elo, 0.01), "{ratings:?} {judged:?}");
        assert_eq!(ratings.elo[1], 0.0);
        let error = Z95 * ratings.variance_of_difference(0, 1).sqrt();
        assert!(close(error, judged.error, 0.01 * judged.error), "{error} {judged:?}");
        // Each is half the difference from the average.
        assert!(close(ratings.error(0), error / 2.0, 1e-6));
        assert!(close(ratings.superiority(0, 1), judged.los, 1e-3));
        assert!(close(ratings.superiority(1, 0), 1.0 - judged.los, 1e-3));
    }

    #[test]
    fn ratings_are_those_of_an_independent_program() {
        let all = [
            (0, 1, 41, 30, 9),
            (0, 2, 12, 5, 3),
            (1, 2, 20, 44, 16),
            (1, 3, 33, 20, 7),
            (2, 3, 25, 10, 25),
            (3, 4, 30, 8, 2),
            (2, 4, 18, 1, 1),
            (4, 5, 10, 11, 9),
            (3, 5, 37, 2, 1),
            (0, 5, 20, 0, 0),
            (1, 4, 9, 1, 0),
        ]
        .map(|(first, second, wins, draws, losses)| {
            (first, second, tally(wins, draws, losses, [0; 5]))
        });
        // choix 0.4.1, `opt_pairwise` and `mm_pairwise` without regularisation: two comparisons for a win, one each
        // way for a draw; times 400 / ln 10, about their mean.
        let choix = [315.172, 170.307, 118.217, 63.81, -308.847, -358.658];
        let ratings = rate(6, &meetings(&all), None);
        for (ours, theirs) in ratings.elo.iter().zip(choix) {
            assert!(close(*ours, theirs, 0.001), "{ratings:?}");
        }
    }

    #[test]
    fn at_the_maximum_all_players_score_as_expected() {
        let all = [
            (0, 1, tally(30, 20, 10, [2, 5, 10, 10, 3])),
            (1, 2, tally(12, 40, 8, [1, 6, 13, 8, 2])),
            (0, 2, tally(5, 1, 4, [0, 1, 2, 1, 1])),
            (2, 3, tally(9, 0, 1, [0, 0, 1, 0, 4])),
        ];
        let ratings = rate(4, &meetings(&all), None);
        assert!(close(ratings.elo.iter().sum::<f64>(), 0.0, 1e-6));
        for player in 0..4 {
            let mut surplus = 0.0;
            for (first, second, tally) in &all {
                let score = expected_score(ratings.elo[*first] - ratings.elo[*second]);
                let points = tally.wins as f64 + tally.draws as f64 / 2.0;
                let of_first = points - tally.games() as f64 * score;
                surplus += if player == *first {
                    of_first
                } else if player == *second {
                    -of_first
                } else {
                    0.0
                };
            }
            // Only the prior's gradient is left.
            assert!(surplus.abs() < 1e-4, "{player} {surplus}");
        }
    }

    #[test]
    fn the_likelihood_has_a_maximum_if_points_form_a_cycle() {
        let ring = [
            (0, 1, tally(2, 0, 0, [0, 0, 0, 0, 1])),
            (1, 2, tally(2, 0, 0, [0, 0, 0, 0, 1])),
            (0, 2, tally(0, 0, 2, [1, 0, 0, 0, 0])),
        ];
        assert!(is_finite(3, &meetings(&ring)));
        assert!(!is_finite(3, &meetings(&ring[..2])), "nobody has beaten the first");
        assert!(!is_finite(4, &meetings(&ring)), "the fourth has not played");
        let ratings = rate(3, &meetings(&ring), None);
        assert!(ratings.elo.iter().all(|elo| elo.abs() < 1e-6), "{ratings:?}");
    }

    #[test]
    fn a_player_without_a_point_is_weak_and_uncertain() {
        let all =
            [(0, 1, tally(0, 0, 40, [20, 0, 0, 0, 0])), (1, 2, tally(20, 0, 20, [5, 0, 10, 0, 5]))];
        let ratings = rate(3, &meetings(&all), None);
        assert!(ratings.elo[0] < ratings.elo[1] - 700.0 && ratings.elo[0] > -4000.0, "{ratings:?}");
        assert!(
            ratings.error(0) > 1.5 * ratings.error(1),
            "{} {}",
            ratings.error(0),
            ratings.error(1)
        );
        assert!(ratings.superiority(1, 0) > 0.9);
        let unplayed = rate(3, &[], None);
        assert!(unplayed.elo.iter().all(|elo| *elo == 0.0) && unplayed.error(1) > 2000.0);
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        // A league of four with known strengths, repeated: 95 % of the intervals should contain them.
        let truth = [150.0, 40.0, -30.0, -160.0];
        let mut random = nn::rng::Rng::new(5);
        let (mut held, mut all) = (0, 0);
        for _ in 0..150 {
            let mut games = Vec::new();
            for a in 0..4 {
                for b in a + 1..4 {
                    let score = expected_score(truth[a] - truth[b]);
                    let mut tally = Tally::default();
                    for _ in 0..60 {
                        let mut half_points = 0;
                        for _ in 0..2 {
                            let draw = 0.8 * (1.0 - (2.0 * score - 1.0).abs());
                            let at = random.below(1_000_000) as f64 / 1e6;
                            if at < draw {
                                tally.draws += 1;
                                half_points += 1;
                            } else if at < draw + score - draw / 2.0 {
                                tally.wins += 1;
                                half_points += 2;
                            } else {
                                tally.losses += 1;
                            }
                        }
                        tally.pairs[half_points] += 1;
                    }
                    games.push((a, b, tally));
                }
            }
            let ratings = rate(4, &meetings(&games), None);
            for (player, elo) in truth.into_iter().enumerate() {
                all += 1;
                held += usize::from((ratings.elo[player] - elo).abs() < ratings.error(player));
            }
        }
        let share = f64::from(held as u32) / f64::from(all);
        assert!((0.93..0.98).contains(&share), "{share}");
    }

    #[test]
    fn coming_games_count_as_information() {
        let all =
            [(0, 1, tally(5, 0, 5, [0, 0, 5, 0, 0])), (1, 2, tally(5, 0, 5, [0, 0, 5, 0, 0]))];
        let of = |matrix: &[Vec<f64>]| matrix[0][0] + matrix[2][2] - 2.0 * matrix[0][2];
        let (strength, now) = outlook(3, &meetings(&all), &[]);
        let (_, soon) = outlook(3, &meetings(&all), &[(0, 2); 10]);
        assert!(strength.iter().all(|at| at.abs() < 1e-9));
        // Two resistors in series, and a third in parallel: 4/10 + 4/10, parallel to 4/10.
        assert!(close(of(&now), 0.8, 0.01), "{}", of(&now));
        assert!(close(of(&soon), 0.8 * 0.4 / 1.2, 0.01), "{}", of(&soon));
        assert!(elo::elo(0.5) == 0.0);
    }
}
