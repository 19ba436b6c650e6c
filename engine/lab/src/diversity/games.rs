//! Games of policies against each other, without search: many at a time, so that the network answers in batches.

use nn::numeric::argmax;
use nn::rng::{Rng, split_mix};
use nn::{EvalError, Evaluator, Query};
use shakmaty::{Chess, Move, Position};
use std::sync::Arc;

/// Games of one batch.
const BATCH: usize = 32;

/// How games are played.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Plies whose moves are drawn from the policy; the likeliest move later.
    pub drawn_plies: usize,
    /// Plies after which a game ends.
    pub plies: usize,
    /// Seed of all games.
    pub seed: u64,
}

/// A finished game.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyGame {
    /// White's player and Black's.
    pub players: [usize; 2],
    /// The position before each move, and the move.
    pub moves: Vec<(Chess, Move)>,
    /// The position at the end.
    pub end: Chess,
}

/// Plays games `numbers` of a team with these evaluators. A game depends on its number and the seed alone; its players are drawn uniformly.
///
/// # Errors
/// An evaluator failed.
pub fn play(
    team: &[Arc<dyn Evaluator>],
    plan: Plan,
    numbers: &[u64],
) -> Result<Vec<PolicyGame>, EvalError> {
    let batches: Result<Vec<_>, _> =
        numbers.chunks(BATCH).map(|numbers| play_batch(team, plan, numbers)).collect();
    Ok(batches?.into_iter().flatten().collect())
}

fn play_batch(
    team: &[Arc<dyn Evaluator>],
    plan: Plan,
    numbers: &[u64],
) -> Result<Vec<PolicyGame>, EvalError> {
    let begin = |number: &u64| {
        let mut random = Rng::new(split_mix(plan.seed ^ split_mix(*number)));
        let players = [random.below(team.len()), random.below(team.len())];
        (PolicyGame { players, moves: Vec::new(), end: Chess::default() }, random)
    };
    let mut games: Vec<(PolicyGame, Rng)> = numbers.iter().map(begin).collect();
    for ply in 0..plan.plies {
        let mut over = true;
        for (player, evaluator) in team.iter().enumerate() {
            let turn = |game: &PolicyGame| {
                game.moves.len() == ply
                    && game.players[ply % 2] == player
                    && !game.end.is_game_over()
            };
            let mut own: Vec<&mut (PolicyGame, Rng)> =
                games.iter_mut().filter(|(game, _)| turn(game)).collect();
            if own.is_empty() {
                continue;
            }
            over = false;
            let legal: Vec<_> = own.iter().map(|(game, _)| game.end.legal_moves()).collect();
            let queries: Vec<Query<'_>> = own
                .iter()
                .zip(&legal)
                .map(|((game, _), legal)| Query { position: &game.end, legal })
                .collect();
            let answers = evaluator.evaluate(&queries)?;
            for (((game, random), legal), answer) in own.iter_mut().zip(&legal).zip(answers) {
                let drawn = ply < plan.drawn_plies;
                let at = if drawn { draw(&answer.policy, random) } else { argmax(&answer.policy) };
                let Some(chosen) = at.and_then(|at| legal.get(at)) else { continue };
                game.moves.push((game.end.clone(), *chosen));
                game.end.play_unchecked(*chosen);
            }
        }
        if over {
            break;
        }
    }
    Ok(games.into_iter().map(|(game, _)| game).collect())
}

/// A place, with the probability that stands there.
fn draw(shares: &[f32], random: &mut Rng) -> Option<usize> {
    random.draw(&shares.iter().copied().map(f64::from).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::evaluator::fake::Hashed;

    #[test]
    fn games_depend_on_their_number_alone_and_every_player_plays() {
        let team: Vec<Arc<dyn Evaluator>> =
            vec![Arc::new(Hashed::default()), Arc::new(Hashed::default())];
        let plan = Plan { drawn_plies: 6, plies: 20, seed: 3 };
        let all: Vec<u64> = (0..40).collect();
        let games = play(&team, plan, &all).unwrap();
        assert_eq!(games[35], play(&team, plan, &[35]).unwrap()[0]);
        assert_ne!(games[0].moves, games[1].moves);
        for players in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            assert!(games.iter().any(|game| game.players == players), "{players:?}");
        }
        for game in &games {
            let mut board = Chess::default();
            for (position, action) in &game.moves {
                assert_eq!(*position, board);
                board.play_unchecked(*action);
            }
            assert_eq!(board, game.end);
            assert!(game.moves.len() == 20 || game.end.is_game_over());
        }
    }

    #[test]
    fn draws_follow_the_shares() {
        let mut random = Rng::new(1);
        let mut counts = [0; 3];
        (0..3000).for_each(|_| counts[draw(&[0.1, 0.0, 0.9], &mut random).unwrap()] += 1);
        assert_eq!(counts[1], 0);
        assert!((200..400).contains(&counts[0]), "{counts:?}");
        assert_eq!(draw(&[], &mut random), None);
    }
}
