//! The only thing search asks of a game. No chess, no tensors: a world may be the true rules, a
//! learned model of them, or a toy with three states.

use crate::value::Wdl;
use std::error::Error;

/// A game with an evaluator. Shared by all workers of a search.
pub trait World: Send + Sync {
    /// A position, a predicted board or a latent: search never looks inside. The tree does not keep
    /// states; each descent clones the root's and steps it along the path.
    type State: Clone + Send + Sync;
    /// One edge's label, packed into 16 bits: the tree keeps one per legal move of every expanded
    /// position, so `From<u16>` must undo `Into<u16>`.
    type Action: Copy + Eq + std::fmt::Debug + Send + Sync + Into<u16> + From<u16>;
    /// Why an evaluation failed (device lost, NaN, …). Ends the search, never the process.
    type Error: Error + Send + 'static;

    /// Follows one edge in place. Cheap; never blocks.
    ///
    /// `Some` means the game is over *on this path* (repetition, fifty moves): the value for the side
    /// to move in the new state. Such an end is asked anew on every visit and never stored.
    fn step(&self, state: &mut Self::State, action: Self::Action) -> Option<Wdl>;

    /// Evaluates one minibatch, in order. Blocks. The answer has one leaf per state.
    ///
    /// An answer that is not finite, has no edges, or has the wrong length is taken as
    /// [`Leaf::Refused`].
    ///
    /// # Errors
    /// The device failed; the search drains, reports what it has, and ends.
    fn evaluate(&self, leaves: &[&Self::State]) -> Result<Vec<Leaf<Self::Action>>, Self::Error>;
}

/// What a world says about one state.
#[derive(Clone, Debug)]
pub enum Leaf<A> {
    /// The game goes on: value for the side to move, and its edges.
    Open { value: Wdl, edges: Vec<Edge<A>> },
    /// The game is over in this state whatever the path (mate, stalemate): kept as terminal.
    Over(Wdl),
    /// The model's answer was no state at all: value minus infinity, never chosen again
    /// (paper 000, section 3.1).
    Refused,
}

/// One legal move of an evaluated state.
#[derive(Clone, Copy, Debug)]
pub struct Edge<A> {
    pub action: A,
    /// The model's own policy, sums to 1 over the edges.
    pub policy: f32,
    /// The model's action value: win probability for the mover, in [0, 1].
    pub q: f32,
}
