//! How players of a team differ (paper 003, section 2): ψ, the mean board after a player's moves; distances between players, less what
//! chance makes of equal ones; and what a distance is paid.

/// ψ, from games.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Means.
    pub mean: Vec<f64>,
    /// Variance of the means, summed over them, from game to game.
    pub variance: f64,
}

/// The nearest other player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Which.
    pub player: usize,
    /// Its distance.
    pub distance: f64,
}

impl Occupancy {
    /// From the sum of its boards in each game, and their number. None without boards.
    pub fn of(games: &[(Vec<f64>, f64)]) -> Option<Occupancy> {
        let all: f64 = games.iter().map(|(_, count)| count).sum();
        let len = games.first().filter(|_| all > 0.0)?.0.len();
        let total = |at: usize| games.iter().map(|(sum, _)| sum[at]).sum::<f64>() / all;
        let mean: Vec<f64> = (0..len).map(total).collect();
        // The games, not their positions, are independent.
        let spread = |(sum, count): &(Vec<f64>, f64)| -> f64 {
            sum.iter().zip(&mean).map(|(sum, mean)| (sum - count * mean).powi(2)).sum()
        };
        let variance = games.iter().map(spread).sum::<f64>() / (all * all);
        Some(Occupancy { mean, variance })
    }

    /// ‖ψ_i - ψ_j‖₂², without what chance adds.
    pub fn squared_distance(&self, other: &Occupancy) -> f64 {
        let squares = self.mean.iter().zip(&other.mean).map(|(a, b)| (a - b) * (a - b));
        (squares.sum::<f64>() - self.variance - other.variance).max(0.0)
    }

    /// The nearest of the others. None if there are none.
    pub fn nearest(all: &[Occupancy], player: usize) -> Option<Neighbour> {
        let squared = |other: &usize| all[player].squared_distance(&all[*other]);
        let others = (0..all.len()).filter(|other| *other != player);
        let nearest = others.min_by(|a, b| squared(a).total_cmp(&squared(b)))?;
        Some(Neighbour { player: nearest, distance: squared(&nearest).sqrt() })
    }
}

/// The factor of Eq. 8: 1 for equal players, 0 at the `wanted` distance ℓ₀, negative beyond it.
pub fn payment(distance: f64, wanted: f64) -> f64 {
    (1.0 - (distance / wanted).powi(3)).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each game has a board or two on one of two squares.
    fn player(first: usize, second: usize) -> Occupancy {
        let game = |at: usize| (if at < first { vec![2.0, 0.0] } else { vec![0.0, 1.0] }, 1.0);
        Occupancy::of(&(0..first + second).map(game).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_distance_is_that_of_the_means_without_the_noise_of_few_games() {
        let (many, few) = (player(300, 100), player(3, 1));
        assert_eq!(many.mean, [1.5, 0.25]);
        assert_eq!(few.mean, many.mean);
        // Each game is one of two sums, sqrt(5) apart: 5 · ¾ · ¼ per game.
        assert!((few.variance - 5.0 * 0.75 * 0.25 / 4.0).abs() < 1e-12);
        assert!((many.variance * 100.0 - few.variance).abs() < 1e-12);
        assert_eq!(many.squared_distance(&few), 0.0);
        let other = player(100, 300);
        let expected = 1.0 + 0.25 - many.variance - other.variance;
        assert!((many.squared_distance(&other) - expected).abs() < 1e-12);
        let all = [many, other, few];
        assert_eq!(Occupancy::nearest(&all, 0).unwrap(), Neighbour { player: 2, distance: 0.0 });
        assert_eq!(Occupancy::nearest(&all, 1).unwrap().player, 2, "few games hide a distance");
        assert_eq!(Occupancy::nearest(&all[..1], 0), None);
        assert_eq!(Occupancy::of(&[]), None);
    }

    #[test]
    fn equal_players_are_paid_in_full_and_distant_ones_for_coming_nearer() {
        assert_eq!([0.0, 0.4, 4.0].map(|distance| payment(distance, 0.4)), [1.0, 0.0, -1.0]);
    }
}
