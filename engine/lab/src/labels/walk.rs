//! Random walk from a game's position into its search tree: moves are sampled from the policy, and competing moves are
//! sampled at its end. A search evaluates such positions, and games do not contain them.

use super::annotate::MIN_UNDECIDED;
use chess::action::Action;
use chess::game::Game;
use nn::encode::canonical_moves;
use nn::rng::Rng;
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::{Chess, MoveList, Position};

/// Parameters of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Maximum length in plies; the length is uniform from 0.
    pub plies: usize,
    /// Maximum number of moves at the end.
    pub breadth: usize,
    /// Moves are sampled in proportion to policy^(1 / temperature).
    pub temperature: f32,
}

/// End of a walk.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The position, without history.
    pub game: Game,
    /// Distinct legal moves.
    pub moves: Vec<Action>,
}

impl Walk {
    /// Walks from the last position of `root`. None if the game ends, or the network considers the final position
    /// decided.
    ///
    /// # Errors
    /// The evaluator fails.
    pub fn fork(
        &self,
        root: &Game,
        evaluator: &dyn Evaluator,
        rng: &mut Rng,
    ) -> Result<Option<Fork>, EvalError> {
        let mut position = root.position().clone();
        for _ in 0..rng.below(self.plies + 1) {
            let Some((legal, answer)) = evaluate(&position, evaluator)? else { return Ok(None) };
            let Some(&chosen) = self.draw(&answer.policy, 1, rng).first() else { return Ok(None) };
            position.play_unchecked(legal[chosen]);
        }
        let Some((legal, answer)) = evaluate(&position, evaluator)? else { return Ok(None) };
        if !(MIN_UNDECIDED..=1.0 - MIN_UNDECIDED).contains(&answer.value) {
            return Ok(None);
        }
        let chosen = self.draw(&answer.policy, self.breadth, rng);
        let moves = chosen.into_iter().map(|index| Action::new(legal[index])).collect();
        Ok(Some(Fork { game: Game::new(position, root.mode()), moves }))
    }

    /// `count` distinct moves, sampled without replacement in proportion to the tempered policy (Gumbel-top-k: Vieira,
    /// "Gumbel-max trick and weighted reservoir sampling", 2014).
    fn draw(&self, policy: &[f32], count: usize, rng: &mut Rng) -> Vec<usize> {
        let mut keyed: Vec<(f64, usize)> = policy
            .iter()
            .enumerate()
            .map(|(index, share)| {
                let weight = f64::from(share.max(f32::MIN_POSITIVE).ln() / self.temperature);
                // In (0, 1], so that the logarithm is finite.
                let noise = -(-(1.0 - rng.unit()).ln()).max(f64::MIN_POSITIVE).ln();
                (weight + noise, index)
            })
            .collect();
        keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
        keyed.into_iter().take(count).map(|(_, index)| index).collect()
    }
}

/// Legal moves with the network's evaluation; None if the game is over.
fn evaluate(
    position: &Chess,
    evaluator: &dyn Evaluator,
) -> Result<Option<(MoveList, Evaluation)>, EvalError> {
    let legal = canonical_moves(position);
    if legal.is_empty() || position.is_insufficient_material() {
        return Ok(None);
    }
    let answers = evaluator.evaluate(&[Query { position, legal: &legal }])?;
    Ok(answers.into_iter().next().map(|answer| (legal, answer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::evaluator::fake::{Hashed, Uniform};
    use std::collections::HashSet;

    const WALK: Walk = Walk { plies: 4, breadth: 3, temperature: 1.6 };

    #[test]
    fn a_walk_ends_at_distinct_moves_of_an_unfinished_position() {
        let mut rng = Rng::new(1);
        let root = Game::from_fen("8/8/8/3k4/8/3K2Q1/8/8 w - - 0 1", false).unwrap();
        let (mut seen, mut sides) = (0, HashSet::new());
        for _ in 0..200 {
            let Some(fork) = WALK.fork(&root, &Hashed::default(), &mut rng).unwrap() else {
                continue;
            };
            let legal = fork.game.legal_actions();
            let different: HashSet<Action> = fork.moves.iter().copied().collect();
            assert!(fork.game.ending().is_none());
            assert_eq!(fork.moves.len(), legal.len().min(3));
            assert_eq!(different.len(), fork.moves.len());
            assert!(fork.moves.iter().all(|action| legal.contains(action)));
            sides.insert(fork.game.position().turn());
            seen += 1;
        }
        assert!(seen > 50 && sides.len() == 2, "{seen}");
        let mated = Game::from_fen("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", false).unwrap();
        assert!(WALK.fork(&mated, &Uniform, &mut rng).unwrap().is_none());
    }

    #[test]
    fn likely_moves_are_drawn_more_often_and_the_more_the_colder() {
        let policy = [0.6, 0.3, 0.1, 0.0];
        let mut rng = Rng::new(2);
        let mut firsts = |temperature: f32| {
            let walk = Walk { temperature, ..WALK };
            let mut counts = [0; 4];
            for _ in 0..10_000 {
                let drawn = walk.draw(&policy, 2, &mut rng);
                assert!(drawn.len() == 2 && drawn[0] != drawn[1]);
                counts[drawn[0]] += 1;
            }
            counts
        };
        let [first, second, third, never] = firsts(1.0);
        assert!((first - 6_000i32).abs() < 200 && (second - 3_000i32).abs() < 200);
        assert!((third - 1_000i32).abs() < 150 && never == 0);
        assert!(firsts(0.3)[0] > 8_500 && firsts(3.0)[0] < 5_000);
    }
}
