//! Opinions of one network, each asked for once: games of a generation meet in the same openings.

use games::game::Game;
use games::world::{Judge, Opinion};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Memory of all opinions. Later positions are evaluated anew.
const MAX_BYTES: usize = 256 << 20;
/// Memory of an opinion besides its numbers: its place in the table and two allocations.
const OPINION_BYTES: usize = 120;

/// A judge that remembers.
pub struct Cached<J> {
    judge: J,
    known: Mutex<HashMap<u64, Opinion>>,
    capacity: usize,
}

impl<J> Cached<J> {
    /// Remembers the opinions of `judge` about positions of `game`.
    pub fn new<G: Game>(game: &G, judge: J) -> Cached<J> {
        let capacity = MAX_BYTES / (OPINION_BYTES + 8 * game.actions());
        Cached { judge, known: Mutex::default(), capacity }
    }
}

impl<G: Game, J: Judge<G>> Judge<G> for Cached<J> {
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let keys: Vec<u64> = states.iter().map(|state| game.key(state)).collect();
        let found: Vec<Option<Opinion>> = {
            let known = lock();
            keys.iter().map(|key| known.get(key).cloned()).collect()
        };
        let missing: Vec<&G::State> = states
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|(s, _)| *s)
            .collect();
        if missing.is_empty() {
            return found.into_iter().flatten().collect();
        }
        let mut new = self.judge.judge(game, &missing).into_iter();
        let mut known = lock();
        let opinion = |(key, found): (u64, Option<Opinion>)| {
            found.or_else(|| {
                let opinion = new.next()?;
                if known.len() < self.capacity {
                    known.insert(key, opinion.clone());
                }
                Some(opinion)
            })
        };
        keys.into_iter().zip(found).filter_map(opinion).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use games::connect4::ConnectFour;
    use games::net::{BoardNet, NetworkFile};
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counted(BoardNet, AtomicUsize);

    impl Judge<ConnectFour> for Counted {
        fn judge(
            &self,
            game: &ConnectFour,
            states: &[&<ConnectFour as Game>::State],
        ) -> Vec<Opinion> {
            self.1.fetch_add(states.len(), Ordering::Relaxed);
            self.0.judge(game, states)
        }
    }

    #[test]
    fn a_position_is_evaluated_once_and_answers_keep_their_order() {
        let game = ConnectFour::new(4, 4);
        let net = BoardNet::new(&NetworkFile::random(&game, 8, 1, 1), &game).unwrap();
        let states: Vec<_> = ["", "1", "12", "123"]
            .iter()
            .map(|digits| {
                let mut state = game.start();
                let moves = game.read(digits).unwrap();
                moves.into_iter().for_each(|action| game.play(&mut state, action));
                state
            })
            .collect();
        let all: Vec<_> = states.iter().collect();
        let expected = net.judge(&game, &all);
        let cached = Cached::new(&game, Counted(net, AtomicUsize::new(0)));
        assert_eq!(cached.judge(&game, &all[1..3]), expected[1..3]);
        assert_eq!(cached.judge(&game, &all), expected);
        assert_eq!(cached.judge(&game, &all), expected);
        assert_eq!(cached.judge.1.load(Ordering::Relaxed), 4);
    }
}
