//! Judges without a network: random games, and a cache around another judge.

use crate::game::Game;
use crate::world::{Judge, Opinion};
use nn::rng::{Rng, split_mix};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Values a position by one random game; policy and action values are flat. With it the search is the plain Monte-Carlo tree search
/// of paper 000, table 1.
#[derive(Clone, Copy, Debug)]
pub struct RandomGames {
    /// The same seed and position give the same game, in any batch and on any thread.
    pub seed: u64,
}

impl<G: Game> Judge<G> for RandomGames {
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion> {
        let opinion = |&state: &&G::State| {
            let mut random = Rng::from_state(self.seed ^ split_mix(game.key(state)));
            let moves = game.moves(state).len();
            Opinion {
                wdl: game.random_game(state, &mut random),
                values: vec![0.5; moves],
                policy: vec![1.0 / moves as f32; moves],
            }
        };
        states.iter().map(opinion).collect()
    }
}

/// Opinions of another judge, kept by the position's key. Threads share one lock, which is not held during an evaluation.
pub struct Cached<J> {
    judge: J,
    entries: usize,
    known: Mutex<HashMap<u64, Opinion>>,
}

impl<J> Cached<J> {
    /// Keeps at most `entries` opinions; when they are full, all are dropped.
    #[must_use]
    pub fn new(judge: J, entries: usize) -> Cached<J> {
        Cached { judge, entries, known: Mutex::default() }
    }
}

impl<G: Game, J: Judge<G>> Judge<G> for Cached<J> {
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion> {
        let keys: Vec<u64> = states.iter().map(|state| game.key(state)).collect();
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known: Vec<Option<Opinion>> = {
            let known = lock();
            keys.iter().map(|key| known.get(key).cloned()).collect()
        };
        let new = states.iter().zip(&known).filter(|(_, known)| known.is_none());
        let new: Vec<&G::State> = new.map(|(&state, _)| state).collect();
        let mut answers = Vec::new().into_iter();
        if !new.is_empty() {
            answers = self.judge.judge(game, &new).into_iter();
        }
        let mut cache = lock();
        let opinions = keys.into_iter().zip(known).filter_map(|(key, known)| {
            known.or_else(|| {
                let answer = answers.next()?;
                if cache.len() >= self.entries {
                    cache.clear();
                }
                cache.insert(key, answer.clone());
                Some(answer)
            })
        });
        opinions.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect4::ConnectFour;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counting(AtomicUsize);

    impl Judge<ConnectFour> for Counting {
        fn judge(&self, game: &ConnectFour, states: &[&crate::connect4::Discs]) -> Vec<Opinion> {
            self.0.fetch_add(states.len(), Ordering::Relaxed);
            RandomGames { seed: 1 }.judge(game, states)
        }
    }

    #[test]
    fn a_cache_answers_as_its_judge_and_asks_it_once() {
        let game = ConnectFour::default();
        let states: Vec<_> = ["", "4", "44", "4", "1", "44"]
            .iter()
            .map(|digits| {
                let mut state = game.start();
                let moves = game.read(digits).unwrap();
                moves.into_iter().for_each(|action| game.play(&mut state, action));
                state
            })
            .collect();
        let cached = Cached::new(Counting(AtomicUsize::new(0)), 3);
        let asked = || cached.judge.0.load(Ordering::Relaxed);
        let all: Vec<_> = states.iter().collect();
        let expected = RandomGames { seed: 1 }.judge(&game, &all);
        assert_eq!(cached.judge(&game, &all[..3]), expected[..3]);
        assert_eq!((cached.judge(&game, &all[1..4]), asked()), (expected[1..4].to_vec(), 3));
        assert_eq!(cached.judge(&game, &all), expected);
    }
}
