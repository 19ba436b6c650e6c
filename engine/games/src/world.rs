//! A game as the tree search sees it: the rules, with values and policy from a [`Judge`].

use crate::game::Game;
use mcts::{Edge, Leaf, Wdl, World};
use std::convert::Infallible;

/// Evaluates positions of a game.
pub trait Judge<G: Game>: Send + Sync {
    /// One opinion per position, in order. The game is not over in any of them.
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion>;
}

impl<G: Game, J: Judge<G> + ?Sized> Judge<G> for Box<J> {
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion> {
        (**self).judge(game, states)
    }
}

impl<G: Game, J: Judge<G> + ?Sized> Judge<G> for &J {
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion> {
        (**self).judge(game, states)
    }
}

/// Intrinsic values of a network of several players (paper 003, section 2): what the player expects of its own rewards from here on,
/// with itself to move, and with its opponent to move.
pub const INTRINSIC: usize = 2;

/// Evaluation of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// Result for the side to move.
    pub wdl: Wdl,
    /// Win probability of each legal move, in the order of [`Game::moves`].
    pub values: Vec<f32>,
    /// Probability of each legal move, in the same order; sums to 1.
    pub policy: Vec<f32>,
    /// 0 in a network of one player. The search by the rules leaves them out.
    pub intrinsic: [f32; INTRINSIC],
}

/// Rules and judge as one world of the search.
pub struct GameWorld<G, J> {
    /// The rules.
    pub game: G,
    /// The source of values and policy.
    pub judge: J,
}

impl<G: Game, J: Judge<G>> World for GameWorld<G, J> {
    type State = G::State;
    type Action = u16;
    type Error = Infallible;

    /// Ends depend on the position alone, so that [`World::evaluate`] reports them: only there they are proofs.
    fn step(&self, state: &mut G::State, action: u16) -> Option<Wdl> {
        self.game.play(state, action);
        None
    }

    fn evaluate(&self, leaves: &[&G::State]) -> Result<Vec<Leaf<u16>>, Infallible> {
        let ends: Vec<Option<Wdl>> = leaves.iter().map(|state| self.game.end(state)).collect();
        let open = leaves.iter().zip(&ends).filter(|(_, end)| end.is_none());
        let open: Vec<&G::State> = open.map(|(&state, _)| state).collect();
        let mut opinions = if open.is_empty() {
            Vec::new().into_iter()
        } else {
            self.judge.judge(&self.game, &open).into_iter()
        };
        let leaf = |(state, end): (&&G::State, Option<Wdl>)| match end {
            Some(result) => Leaf::Over(result),
            None => opinions.next().map_or(Leaf::Refused, |opinion| {
                let moves = self.game.moves(state).into_iter();
                let edges = moves.zip(opinion.policy).zip(opinion.values);
                let edge = |((action, policy), q)| Edge { action, policy, q };
                Leaf::Open { value: opinion.wdl, edges: edges.map(edge).collect() }
            }),
        };
        Ok(leaves.iter().zip(ends).map(leaf).collect())
    }
}
