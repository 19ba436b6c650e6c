//! Worlds to search in: the rules of chess, or the network's predictions.

pub mod learned;
pub mod memory;
pub mod rollout;
pub mod rules;

use chess::action::Action;
use chess::game::Game;
use chess::syzygy::Tables;
pub use learned::LearnedWorld;
use mcts::{Leaf, Wdl, World};
use nn::EvalError;
pub use rules::RulesWorld;

/// Source of the state after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldModel {
    /// Rules of chess.
    Rules,
    /// Predictions of the network (paper 000, section 3.1).
    Learned,
    /// The same, with each predicted position evaluated by itself.
    LearnedTwice,
}

/// The world that the options select.
pub enum AnyWorld {
    /// The rules of chess.
    Rules(RulesWorld),
    /// The network's predictions.
    Learned(LearnedWorld),
}

/// A state of it.
#[derive(Debug)]
pub enum AnyState {
    /// A state of a [`RulesWorld`].
    Rules(rules::RulesState),
    /// A state of a [`LearnedWorld`].
    Learned(learned::LearnedState),
}

impl Clone for AnyState {
    fn clone(&self) -> AnyState {
        match self {
            AnyState::Rules(state) => AnyState::Rules(state.clone()),
            AnyState::Learned(state) => AnyState::Learned(state.clone()),
        }
    }

    /// See [`rules::RulesState`]'s.
    fn clone_from(&mut self, other: &AnyState) {
        match (self, other) {
            (AnyState::Rules(state), AnyState::Rules(other)) => state.clone_from(other),
            (state, other) => *state = other.clone(),
        }
    }
}

impl AnyState {
    fn by_rules(&self) -> Option<&rules::RulesState> {
        match self {
            AnyState::Rules(state) => Some(state),
            AnyState::Learned(_) => None,
        }
    }

    fn imagined(&self) -> Option<&learned::LearnedState> {
        match self {
            AnyState::Rules(_) => None,
            AnyState::Learned(state) => Some(state),
        }
    }
}

impl AnyWorld {
    /// The state at the root of a search.
    #[must_use]
    pub fn root(&self, game: &Game) -> AnyState {
        match self {
            AnyWorld::Rules(_) => AnyState::Rules(rules::RulesState::root(game)),
            AnyWorld::Learned(_) => AnyState::Learned(learned::LearnedState::root(game)),
        }
    }

    /// The rules world with the same evaluator, which evaluates the root.
    #[must_use]
    pub fn rules(&self) -> &RulesWorld {
        match self {
            AnyWorld::Rules(world) => world,
            AnyWorld::Learned(world) => world.rules(),
        }
    }

    /// Adds endgame tables below the root; they are not used for predicted states.
    #[must_use]
    pub fn with_tables(self, tables: Option<Tables>) -> AnyWorld {
        match self {
            AnyWorld::Rules(world) => AnyWorld::Rules(world.with_tables(tables)),
            AnyWorld::Learned(_) => self,
        }
    }

    /// The learned world, if it is one.
    #[must_use]
    pub fn learned(&self) -> Option<&LearnedWorld> {
        match self {
            AnyWorld::Rules(_) => None,
            AnyWorld::Learned(world) => Some(world),
        }
    }
}

impl World for AnyWorld {
    type State = AnyState;
    type Action = Action;
    type Error = EvalError;

    fn step(&self, state: &mut AnyState, action: Action) -> Option<Wdl> {
        match (self, state) {
            (AnyWorld::Rules(world), AnyState::Rules(state)) => world.step(state, action),
            (AnyWorld::Learned(world), AnyState::Learned(state)) => world.step(state, action),
            _ => {
                log::error!("a state met another world than its own");
                Some(Wdl::DRAW)
            }
        }
    }

    fn evaluate(&self, leaves: &[&AnyState]) -> Result<Vec<Leaf<Action>>, EvalError> {
        match self {
            AnyWorld::Rules(world) => {
                let states: Vec<_> = leaves.iter().filter_map(|state| state.by_rules()).collect();
                world.evaluate(&states)
            }
            AnyWorld::Learned(world) => {
                let states: Vec<_> = leaves.iter().filter_map(|state| state.imagined()).collect();
                world.evaluate(&states)
            }
        }
    }
}
