//! How players differ (paper 003, section 2): ψ, the mean board after a player's moves; the player whose ψ is nearest; and the intrinsic
//! reward for boards that this neighbour reaches less (Eq. 8).
//!
//! Not in the paper: boards count with their symmetric images, or a mirrored player would pass for a different one; the reward is centred
//! between both players, or longer games would pay; its sum over a game is divided by its standard deviation, so that λ has a unit; and
//! distances are less the variance of their sampling.

use crate::diversity::occupancy::{Neighbour, Occupancy, payment};
use crate::games::record::GameRecord;
use games::game::{EMPTY, Game, Grid, MINE, THEIRS};
use serde::{Deserialize, Serialize};

/// Plies over which rewards are summed: N of paper 003, without the value behind them.
pub const HORIZON: usize = 20;

/// Intrinsic reward of a move, by the board after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// For a disc of the player on each cell, then for one of its opponent.
    weights: Vec<f32>,
    /// Added to their sum.
    offset: f32,
}

/// A player among the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OccupancyStanding {
    /// The nearest other player.
    pub nearest: usize,
    /// Distance to it, in discs a cell (‖ψ_i - ψ_j‖₂), less what chance makes of equal players.
    pub distance: f64,
    /// Reward of its moves.
    pub reward: Reward,
    /// ψ: how often a cell has a disc of the player, then one of its opponent, after the player's moves; `[2 * cells]`.
    pub occupancy: Vec<f64>,
}

/// Adds φ of the position after a move: the mover's discs, then the other side's.
fn add_board<G: Game>(game: &G, next: &G::State, sum: &mut [f64]) {
    let cells = game.encode(&game.passed(next));
    for (cell, class) in cells.iter().enumerate() {
        match *class {
            MINE => sum[cell] += 1.0,
            THEIRS => sum[cells.len() + cell] += 1.0,
            _ => {}
        }
    }
}

/// The mean over the symmetries of the board.
fn symmetric(grid: &Grid, sum: &[f64]) -> Vec<f64> {
    let (cells, share) = (grid.cells(), 1.0 / grid.images.len() as f64);
    let mut mean = vec![0.0; sum.len()];
    for image in &grid.images {
        for (from, to) in image.cells.iter().enumerate() {
            for side in [0, cells] {
                mean[side + usize::from(*to)] += share * sum[side + from];
            }
        }
    }
    mean
}

/// Calls `board` with each position after a searched move of `player` that teaches, and 0-based number of the move.
pub fn boards<G: Game>(
    game: &G,
    record: &GameRecord,
    player: usize,
    mut board: impl FnMut(usize, &G::State),
) {
    let mut state = game.start();
    record.start.iter().for_each(|action| game.play(&mut state, *action));
    for (at, turn) in record.turns.iter().enumerate() {
        game.play(&mut state, turn.action);
        let side = record.side(at);
        if record.teaches(side) && record.player(side) == player {
            board(at, &state);
        }
    }
}

/// ψ of a player; None if it has not moved.
fn occupancy<G: Game>(
    game: &G,
    grid: &Grid,
    records: &[&GameRecord],
    player: usize,
) -> Option<Occupancy> {
    let mut games: Vec<(Vec<f64>, f64)> = Vec::new();
    for record in records {
        let (mut sum, mut count) = (vec![0.0; 2 * grid.cells()], 0.0);
        boards(game, record, player, |_, next| {
            add_board(game, next, &mut sum);
            count += 1.0;
        });
        if count > 0.0 {
            games.push((symmetric(grid, &sum), count));
        }
    }
    Occupancy::of(&games)
}

/// Every player's neighbour, distance and reward, from games of the team; `wanted` is the distance ℓ₀ at which the reward is zero. Empty
/// as long as one of the players has not moved.
pub fn standings<G: Game>(
    game: &G,
    records: &[&GameRecord],
    players: usize,
    wanted: f64,
) -> Vec<OccupancyStanding> {
    let grid = game.grid();
    let found: Option<Vec<Occupancy>> =
        (0..players).map(|player| occupancy(game, &grid, records, player)).collect();
    let Some(found) = found else { return Vec::new() };
    let standing = |player: usize| {
        let own = &found[player];
        let Neighbour { player: nearest, distance } = Occupancy::nearest(&found, player)?;
        let unit = Reward::unit(own, &found[nearest]);
        let deviation = unit.deviation(game, records, player);
        let share = payment(distance, wanted);
        let scale = if deviation > 0.0 { share / deviation } else { 0.0 };
        let reward = unit.times(scale as f32);
        Some(OccupancyStanding { nearest, distance, reward, occupancy: own.mean.clone() })
    };
    (0..players).filter_map(standing).collect()
}

/// The rewards of the mover from move `at` on, every other one, over [`HORIZON`] plies.
pub fn ahead(rewards: &[f32], at: usize) -> f32 {
    rewards.iter().skip(at).take(HORIZON).step_by(2).sum()
}

impl Reward {
    /// φ · (ψ_i - ψ_j), centred between both.
    fn unit(own: &Occupancy, other: &Occupancy) -> Reward {
        let both = || own.mean.iter().zip(&other.mean);
        let middle: f64 = both().map(|(a, b)| (a + b) / 2.0 * (a - b)).sum();
        Reward { weights: both().map(|(a, b)| (a - b) as f32).collect(), offset: -middle as f32 }
    }

    /// Standard deviation of the sums of a player's rewards over [`HORIZON`] plies.
    fn deviation<G: Game>(&self, game: &G, records: &[&GameRecord], player: usize) -> f64 {
        let mut sums = Vec::new();
        for record in records {
            let (mut paid, mut moved) = (vec![0.0; record.turns.len()], Vec::new());
            boards(game, record, player, |at, next| {
                paid[at] = self.of(game, next);
                moved.push(at);
            });
            sums.extend(moved.into_iter().map(|at| f64::from(ahead(&paid, at))));
        }
        let count = sums.len().max(1) as f64;
        let mean = sums.iter().sum::<f64>() / count;
        (sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / count).sqrt()
    }

    fn times(mut self, scale: f32) -> Reward {
        self.weights.iter_mut().for_each(|weight| *weight *= scale);
        self.offset *= scale;
        self
    }

    /// Whether it is one of a board of `cells` cells.
    #[must_use]
    pub fn fits(&self, cells: usize) -> bool {
        self.weights.len() == 2 * cells
    }

    /// The reward of the move which led to `next`.
    pub fn of<G: Game>(&self, game: &G, next: &G::State) -> f32 {
        self.of_cells(&game.encode(&game.passed(next)))
    }

    /// Payment of a position's discs alone for the player's moves of the next [`HORIZON`] plies, for they stay where they are.
    /// `own`: the player is to move.
    pub fn kept<G: Game>(&self, game: &G, state: &G::State, own: bool) -> f32 {
        let cells = if own { game.encode(state) } else { game.encode(&game.passed(state)) };
        let free = cells.iter().filter(|class| **class == EMPTY).count();
        let moves = (free + usize::from(own)) / 2;
        moves.min(HORIZON / 2) as f32 * self.of_cells(&cells)
    }

    /// The reward of a board in the player's view.
    fn of_cells(&self, cells: &[u8]) -> f32 {
        let paid = |(cell, class): (usize, &u8)| match *class {
            MINE => self.weights[cell],
            THEIRS => self.weights[cells.len() + cell],
            _ => 0.0,
        };
        self.offset + cells.iter().enumerate().map(paid).sum::<f32>()
    }
}
