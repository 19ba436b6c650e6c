//! The rules of a game of two players, without values and without search.

use mcts::Wdl;
use nn::rng::Rng;

/// The rules of a game. Moves are numbers below [`Game::actions`]; values belong to the side to move.
pub trait Game: Send + Sync {
    /// A position.
    type State: Clone + Send + Sync;

    /// The position before the first move.
    fn start(&self) -> Self::State;
    /// One more than the largest move of any position.
    fn actions(&self) -> usize;
    /// The legal moves in ascending order; empty if the game is over.
    fn moves(&self, state: &Self::State) -> Vec<u16>;
    /// Plays a legal move.
    fn play(&self, state: &mut Self::State, action: u16);
    /// The result for the side to move; None while the game is ongoing.
    fn end(&self, state: &Self::State) -> Option<Wdl>;
    /// A hash of the position, or a number of its own.
    fn key(&self, state: &Self::State) -> u64;

    /// The result of uniformly random moves from `state` to the end, for the side to move in `state`.
    fn random_game(&self, state: &Self::State, random: &mut Rng) -> Wdl {
        let mut state = state.clone();
        let mut flipped = false;
        loop {
            if let Some(result) = self.end(&state) {
                return if flipped { result.flip() } else { result };
            }
            let moves = self.moves(&state);
            self.play(&mut state, moves[random.below(moves.len())]);
            flipped = !flipped;
        }
    }
}
