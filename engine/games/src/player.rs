//! Chooses moves by tree search, within a number of playouts and a time.

use crate::game::Game;
use crate::judges::RandomGames;
use crate::net::{BoardNet, NetworkFile, UnfitNetwork};
use crate::world::{GameWorld, Judge};
use mcts::{Control, FinalMove, Line, Params, Searcher, View, World};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Largest memory of a tree.
const MAX_TREE_BYTES: u64 = 64 << 20;
/// Memory of a playout: a position of Hex has up to 361 moves. A full tree is compacted.
const PLAYOUT_BYTES: u64 = 4 << 10;

/// A player of any game.
pub struct Player<G: Game, J: Judge<G>> {
    world: GameWorld<G, J>,
    searcher: Searcher<GameWorld<G, J>>,
    /// Playouts of a move.
    pub playouts: u64,
}

/// Exploration of a search with a network. Chess's 0.65 with a policy that it flattens is too little here. In 468 Connect Four positions
/// 400 playouts kept the value in 88.9, 88.2, 88.2 and 86.5 % with 0.7, 1, 1.5 and 2.5, by a network that learned from games with 2.5.
const EXPLORATION: f32 = 1.0;

/// Parameters of a search with a network: PUCT by its policy alone (paper 004).
#[must_use]
pub fn network_params(seed: u64) -> Params {
    Params {
        batch: 1,
        c_puct: EXPLORATION,
        policy_share: 1.0,
        policy_temperature: 1.0,
        root_policy_temperature: 1.0,
        final_move: FinalMove::Robust,
        seed,
        ..Params::default()
    }
}

/// The evaluator of positions.
#[derive(Clone, Debug)]
pub enum Source {
    /// The first of these networks that plays the board; random games if there is none.
    Bundled(Vec<NetworkFile>),
    /// This network. Boards that it does not play are refused.
    Named(Box<NetworkFile>),
    /// Random games.
    RandomGames,
}

/// Playouts of a move by random games, and by a network, unless a number is asked for.
const PLAYOUTS: [u64; 2] = [20_000, 800];

impl Source {
    /// A player on the board of `game`.
    ///
    /// # Errors
    /// The named network plays another game, or not on this board.
    pub fn player<G: Game>(
        &self,
        game: G,
        playouts: Option<u64>,
    ) -> Result<AnyPlayer<G>, UnfitNetwork> {
        let network = match self {
            Source::Bundled(networks) => {
                networks.iter().find(|network| network.check(&game).is_ok())
            }
            Source::Named(network) => Some(&**network),
            Source::RandomGames => None,
        };
        let Some(network) = network else {
            return Ok(AnyPlayer::plain(game, playouts.unwrap_or(PLAYOUTS[0]), 0));
        };
        let network = BoardNet::new(network, &game)?;
        Ok(AnyPlayer::with_network(game, network, playouts.unwrap_or(PLAYOUTS[1])))
    }
}

/// A player with a network or without.
pub type AnyPlayer<G> = Player<G, Box<dyn Judge<G>>>;

impl<G: Game> AnyPlayer<G> {
    /// Plain Monte-Carlo tree search with random games.
    #[must_use]
    pub fn plain(game: G, playouts: u64, seed: u64) -> AnyPlayer<G> {
        // Eq. 1 would choose a few among moves of equal value: a flat prior over all moves. The exploration constant is UCT's
        // usual one for values in [0, 1].
        let params = Params { c_puct: 1.4, ..network_params(seed) };
        Player::new(game, Box::new(RandomGames { seed }), params, playouts)
    }

    /// Tree search with a network on this game's board.
    #[must_use]
    pub fn with_network(game: G, network: BoardNet, playouts: u64) -> AnyPlayer<G> {
        Player::new(game, Box::new(network), network_params(0), playouts)
    }
}

impl<G: Game, J: Judge<G>> Player<G, J> {
    /// A player that searches with these parameters.
    #[must_use]
    pub fn new(game: G, judge: J, params: Params, playouts: u64) -> Player<G, J> {
        let bytes = playouts.saturating_mul(PLAYOUT_BYTES).clamp(1 << 20, MAX_TREE_BYTES);
        let searcher = Searcher::new(params, usize::try_from(bytes).unwrap_or(1 << 20));
        Player { world: GameWorld { game, judge }, searcher, playouts }
    }

    /// The rules.
    pub fn game(&self) -> &G {
        &self.world.game
    }

    /// Searches a position and returns its moves, best first; none if the game is over. A nonempty `only` restricts the moves.
    pub fn search(
        &mut self,
        state: &G::State,
        only: &[u16],
        time: Option<Duration>,
    ) -> Vec<Line<u16>> {
        self.searcher.set_root(state.clone());
        self.searcher.restrict_root(only);
        let until = SearchEnd(time.and_then(|time| Instant::now().checked_add(time)));
        self.searcher.run(&self.world, 1, Some(self.playouts), &until).snapshot.lines
    }
}

/// Ends a search when its result is proven or its time is over.
struct SearchEnd(Option<Instant>);

impl<W: World> Control<W> for SearchEnd {
    fn tick(&self, view: &View<'_, W>) -> ControlFlow<()> {
        if view.proven() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn stopped(&self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect4::ConnectFour;

    fn best(digits: &str, only: &[u16]) -> Option<u16> {
        let mut player = Player::plain(ConnectFour::default(), 2000, 1);
        let mut state = player.game().start();
        for action in player.game().read(digits).unwrap() {
            player.game().play(&mut state, action);
        }
        player.search(&state, only, None).first().map(|line| line.moves[0])
    }

    #[test]
    fn a_win_is_taken_a_threat_is_met_and_one_seed_repeats() {
        assert_eq!(best("112233", &[]), Some(3));
        assert_eq!(best("1223355", &[]), Some(3));
        assert_eq!(
            best("112233", &[5, 6]).filter(|action| [5, 6].contains(action)),
            best("112233", &[5, 6])
        );
        assert_eq!(best("1122334", &[]), None);
        assert_eq!(best("44", &[]), best("44", &[]));
    }
}
