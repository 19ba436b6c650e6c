//! How the players of a chess network differ, by ψ of paper 003 (section 2): how often a piece of each class stands on each square after a
//! player's moves, in its own view; and the reward by which it will differ more (Eq. 8). Castling rights are left out (the paper has them).

use super::games::PolicyGame;
use super::occupancy::{Neighbour, Occupancy, payment};
use nn::encode::{Features, MoveCode, NextBoard, canonical_moves};
use nn::net::TOKENS;
use nn::rng::Rng;
use shakmaty::{Chess, Color, Position};
use train::network::{BOARD, Rewards, of_move, place};

/// Positions in which a reward's unit is measured.
const SCALED: usize = 2000;
/// Classes of the side that moves.
const OWN: usize = 6;

/// A player among the others.
#[derive(Clone, Debug, PartialEq)]
pub struct DiversityStanding {
    /// The nearest other player, and its distance ‖ψ_i - ψ_j‖₂, less what chance makes of equal ones.
    pub neighbour: Neighbour,
    /// Games in which it moved.
    pub games: usize,
    /// ψ, `[12, 64]`.
    pub occupancy: Vec<f64>,
}

/// All players, and what they are paid: per unit a standard deviation of what the moves of a position differ by.
pub struct DiversityStandings {
    /// By player.
    pub players: Vec<DiversityStanding>,
    /// The file of the training.
    pub rewards: Rewards,
}

/// From games of `players` players; `wanted` is the distance ℓ₀ at which nothing is paid. None if one of them has not moved.
#[must_use]
pub fn standings(games: &[PolicyGame], players: usize, wanted: f64) -> Option<DiversityStandings> {
    let sums: Vec<Vec<(Vec<f64>, f64)>> = (0..players)
        .map(|player| games.iter().filter_map(|game| sum(game, player)).collect())
        .collect();
    let found: Option<Vec<Occupancy>> = sums.iter().map(|sums| Occupancy::of(sums)).collect();
    let found = found?;
    let mut standings = DiversityStandings { players: Vec::new(), rewards: Rewards::default() };
    for (player, own) in found.iter().enumerate() {
        let neighbour = Occupancy::nearest(&found, player)?;
        let difference = own.mean.iter().zip(&found[neighbour.player].mean).map(|(a, b)| a - b);
        let mut weights: Vec<f32> = difference.map(|number| number as f32).collect();
        let unit = deviation(games, &weights);
        let share = payment(neighbour.distance, wanted) as f32;
        let scale = if unit > 0.0 { share / unit } else { 0.0 };
        weights.iter_mut().for_each(|weight| *weight *= scale);
        standings.rewards.players.push(weights);
        let occupancy = own.mean.clone();
        standings.players.push(DiversityStanding {
            neighbour,
            games: sums[player].len(),
            occupancy,
        });
    }
    Some(standings)
}

/// The boards of a player in a game, and their number; None if it has not moved.
fn sum(game: &PolicyGame, player: usize) -> Option<(Vec<f64>, f64)> {
    let (mut sum, mut count) = (vec![0.0; BOARD], 0.0);
    let after = game.moves.iter().skip(1).map(|(position, _)| position).chain([&game.end]);
    for (ply, next) in after.enumerate().take(game.moves.len()) {
        if game.players[ply % 2] == player {
            let board = NextBoard::of(next);
            for (token, class) in board.pieces.iter().enumerate() {
                if let Some(class) = usize::from(*class).checked_sub(1) {
                    sum[place(class, token)] += 1.0;
                }
            }
            count += 1.0;
        }
    }
    (count > 0.0).then_some((sum, count))
}

/// Standard deviation within a position of what its legal moves add.
fn deviation(games: &[PolicyGame], weights: &[f32]) -> f32 {
    let mut random = Rng::new(1);
    let with_moves: Vec<&PolicyGame> = games.iter().filter(|game| !game.moves.is_empty()).collect();
    let (mut squares, mut count) = (0.0, 0.0f64);
    for _ in 0..SCALED.min(SCALED * with_moves.len()) {
        let game = with_moves[random.below(with_moves.len())];
        let position = &game.moves[random.below(game.moves.len())].0;
        let paid = paid(position, weights);
        let mean = paid.iter().sum::<f64>() / paid.len().max(1) as f64;
        squares += paid.iter().map(|paid| (paid - mean).powi(2)).sum::<f64>();
        count += paid.len() as f64;
    }
    (squares / count.max(1.0)).sqrt() as f32
}

/// The addition of each legal move.
fn paid(position: &Chess, weights: &[f32]) -> Vec<f64> {
    let (features, flip) = (Features::of(position), position.turn() == Color::Black);
    let codes = canonical_moves(position).into_iter().filter_map(|m| MoveCode::new(m, flip));
    codes.map(|code| f64::from(of_move(weights, &features, code))).collect()
}

/// How often a piece of the player stands on each square, row by row from its opponent's side.
#[must_use]
pub fn own_pieces(occupancy: &[f64]) -> Vec<f64> {
    let square = |token: usize| (0..OWN).map(|class| occupancy[place(class, token)]).sum();
    (0..TOKENS).map(|cell| square(cell ^ 56)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::games::{Plan, play};
    use super::*;
    use nn::evaluator::fake::{Hashed, Uniform};
    use nn::{EvalError, Evaluation, Evaluator, Query};
    use std::sync::Arc;

    /// Moves a knight whenever it can.
    struct Knights;

    impl Evaluator for Knights {
        fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
            let mut answers = Uniform.evaluate(batch)?;
            for (answer, query) in answers.iter_mut().zip(batch) {
                for (share, action) in answer.policy.iter_mut().zip(query.legal) {
                    *share *= if action.role() == shakmaty::Role::Knight { 1e4 } else { 1.0 };
                }
            }
            Ok(answers)
        }
    }

    fn games(team: &[Arc<dyn Evaluator>]) -> Vec<PolicyGame> {
        let numbers: Vec<u64> = (0..200).collect();
        play(team, Plan { drawn_plies: 30, plies: 30, seed: 5 }, &numbers).unwrap()
    }

    #[test]
    fn equal_players_have_no_distance_and_one_with_a_habit_has() {
        let equal: Vec<Arc<dyn Evaluator>> = vec![Arc::new(Uniform), Arc::new(Uniform)];
        let near = standings(&games(&equal), 2, 0.4).unwrap();
        let team: Vec<Arc<dyn Evaluator>> =
            vec![Arc::new(Uniform), Arc::new(Uniform), Arc::new(Knights)];
        let far = standings(&games(&team), 3, 0.4).unwrap();
        let distance = |standing: &DiversityStanding| standing.neighbour.distance;
        assert!(distance(&near.players[0]) < 0.2, "{}", distance(&near.players[0]));
        assert!(distance(&far.players[2]) > 0.6, "{}", distance(&far.players[2]));
        assert_eq!(far.players[0].neighbour.player, 1);
        // A knight that has left its square.
        let at_home = |standing: &DiversityStanding| standing.occupancy[place(1, 1)];
        assert!(at_home(&far.players[2]) + 0.2 < at_home(&far.players[0]));
        assert_eq!(own_pieces(&far.players[0].occupancy).len(), TOKENS);
        // Beyond the wanted distance it is paid for coming back: home pays.
        let weights = &far.rewards.players[2];
        assert_eq!(weights.len(), BOARD);
        assert!(weights[place(1, 1)] > 0.0);
        assert!(near.rewards.players[0].iter().any(|weight| *weight != 0.0), "chance begins");
    }

    #[test]
    fn a_unit_of_reward_is_what_moves_of_a_position_differ_by() {
        let team: Vec<Arc<dyn Evaluator>> = vec![Arc::new(Hashed::default()), Arc::new(Knights)];
        let games = games(&team);
        let found = standings(&games, 2, 1e6).unwrap();
        assert!((deviation(&games, &found.rewards.players[1]) - 1.0).abs() < 1e-3);
        assert!(standings(&games, 3, 0.4).is_none(), "the third has not moved");
    }
}
