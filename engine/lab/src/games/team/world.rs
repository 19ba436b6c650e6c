//! The rules as a player of a team sees them (paper 003, section 2): a leaf is λ of its value and 1 - λ of the player's own rewards, those
//! of its moves from the root and those that it expects behind the leaf. Proven ends stay what they are.

use super::occupancy::Reward;
use crate::games::cached::Cached;
use games::game::Game;
use games::net::BoardNet;
use games::world::{GameWorld, Judge};
use mcts::{Leaf, Wdl, World};
use std::convert::Infallible;

/// Standard deviations of the rewards' sum that are as good as a won game.
const WON: f32 = 2.0;

/// A position, and what the player at the root was paid on the way to it.
#[derive(Clone)]
pub struct Placed<S> {
    /// The position.
    pub state: S,
    /// Moves from the root.
    plies: u32,
    paid: f32,
}

impl<S> Placed<S> {
    /// A root.
    pub fn root(state: S) -> Placed<S> {
        Placed { state, plies: 0, paid: 0.0 }
    }

    fn is_own(&self) -> bool {
        self.plies.is_multiple_of(2)
    }
}

/// A player's reward, and the share λ of the game's own value.
#[derive(Clone, Copy)]
pub struct Shaping<'a> {
    /// For its moves.
    pub reward: &'a Reward,
    /// λ.
    pub extrinsic: f32,
}

/// The world of a search. Without shaping it is that of [`GameWorld`].
pub struct PlayerWorld<'a, G: Game> {
    /// The rules, with the player's network.
    pub rules: GameWorld<G, &'a Cached<BoardNet>>,
    /// None for a player that is paid by results alone.
    pub shaping: Option<Shaping<'a>>,
}

impl<G: Game> PlayerWorld<'_, G> {
    /// Adds the player's rewards to an opinion.
    fn shape(&self, shaping: Shaping<'_>, leaf: &Placed<G::State>, found: &mut Leaf<u16>) {
        let Leaf::Open { value, edges } = found else { return };
        // Cached: the search has just asked for the same position.
        let opinions = self.rules.judge.judge(&self.rules.game, &[&leaf.state]);
        let expected = opinions.first().map_or([0.0; 2], |opinion| opinion.intrinsic);
        let kept = shaping.reward.kept(&self.rules.game, &leaf.state, leaf.is_own());
        let sum = leaf.paid + kept + expected[usize::from(!leaf.is_own())];
        let own = 0.5 + 0.5 * (sum / WON).clamp(-1.0, 1.0);
        let movers = if leaf.is_own() { own } else { 1.0 - own };
        let mixed = |q: f32| shaping.extrinsic * q + (1.0 - shaping.extrinsic) * movers;
        *value = Wdl::from_score_and_draw(mixed(value.q()), value.draw);
        edges.iter_mut().for_each(|edge| edge.q = mixed(edge.q));
    }
}

impl<G: Game> World for PlayerWorld<'_, G> {
    type State = Placed<G::State>;
    type Action = u16;
    type Error = Infallible;

    fn step(&self, state: &mut Placed<G::State>, action: u16) -> Option<Wdl> {
        let pays = state.is_own();
        let end = self.rules.step(&mut state.state, action);
        if let Some(Shaping { reward, .. }) = self.shaping.filter(|_| pays) {
            state.paid += reward.of(&self.rules.game, &state.state);
        }
        state.plies += 1;
        end
    }

    fn evaluate(&self, leaves: &[&Placed<G::State>]) -> Result<Vec<Leaf<u16>>, Infallible> {
        let states: Vec<&G::State> = leaves.iter().map(|leaf| &leaf.state).collect();
        let mut found = self.rules.evaluate(&states)?;
        if let Some(shaping) = self.shaping {
            leaves
                .iter()
                .zip(&mut found)
                .for_each(|(leaf, found)| self.shape(shaping, leaf, found));
        }
        Ok(found)
    }
}
