//! The game interface of the search. No chess, no tensors: a world may be the true rules, a learned model of
//! them, or a toy with three states.

use crate::value::Wdl;
use std::error::Error;

/// A game with an evaluator, shared by all workers of a search.
///
/// # Examples
/// Take one or two stones from a heap; who takes the last one wins.
///
/// ```
/// use mcts::{Edge, Leaf, Params, Patient, Searcher, Wdl, World};
/// use std::convert::Infallible;
///
/// struct Heap;
///
/// impl World for Heap {
///     type State = u32;
///     type Action = u16;
///     type Error = Infallible;
///
///     fn step(&self, stones: &mut u32, taken: u16) -> Option<Wdl> {
///         *stones -= u32::from(taken);
///         None
///     }
///
///     fn evaluate(&self, leaves: &[&u32]) -> Result<Vec<Leaf<u16>>, Infallible> {
///         let leaf = |&&stones: &&u32| {
///             if stones == 0 {
///                 return Leaf::Over(Wdl::LOSS);
///             }
///             let moves = stones.min(2);
///             let policy = 1.0 / moves as f32;
///             let edges = (1..=moves as u16).map(|action| Edge { action, policy, q: 0.5 });
///             Leaf::Open { value: Wdl::DRAW, edges: edges.collect() }
///         };
///         Ok(leaves.iter().map(leaf).collect())
///     }
/// }
///
/// let mut searcher = Searcher::new(Params::default(), 1 << 20);
/// searcher.set_root(7);
/// let outcome = searcher.run(&Heap, 1, Some(500), &Patient);
/// assert_eq!(outcome.best, Some(1), "with six stones the opponent is lost");
/// ```
pub trait World: Send + Sync {
    /// A position, a predicted board or a latent; opaque to the search. The tree does not store states; each
    /// descent clones the root's and steps it along the path.
    type State: Clone + Send + Sync;
    /// One edge's label, packed into 16 bits: the tree stores one per legal move of every expanded position, so
    /// `From<u16>` must be the inverse of `Into<u16>`.
    type Action: Copy + Eq + std::fmt::Debug + Send + Sync + Into<u16> + From<u16>;
    /// Why an evaluation failed (device lost, NaN, …). Ends the search, never the process.
    type Error: Error + Send + 'static;

    /// Follows one edge in place. Cheap; never blocks.
    ///
    /// `Some` means the game is over *on this path* (repetition, fifty moves): the value for the side to move
    /// in the new state. Such an end is queried on every visit and never stored. While the root stays, the same
    /// path must give the same answer.
    fn step(&self, state: &mut Self::State, action: Self::Action) -> Option<Wdl>;

    /// Evaluates one minibatch, in order. Blocks. The answer has one leaf per state.
    ///
    /// An answer that is not finite, has no edges, or has the wrong length counts as [`Leaf::Refused`]. The
    /// search checks this itself for every world: one number that is not finite would spoil every value above
    /// it.
    ///
    /// # Errors
    /// The device failed; the search drains, reports what it has, and ends.
    fn evaluate(&self, leaves: &[&Self::State]) -> Result<Vec<Leaf<Self::Action>>, Self::Error>;
}

/// Evaluation of one state.
#[derive(Clone, Debug)]
pub enum Leaf<A> {
    /// The game is ongoing: value for the side to move, and its edges.
    Open {
        /// For the side to move.
        value: Wdl,
        /// One per legal move, at least one.
        edges: Vec<Edge<A>>,
    },
    /// The game is over in this state regardless of the path (mate, stalemate): stored as terminal.
    Over(Wdl),
    /// The game is ongoing, but its result is certain regardless of the path (an endgame table has it): stored
    /// as terminal. A win or a loss, here or further up the tree, is proven, but no mate is counted.
    Known(Wdl),
    /// The model's prediction was no state: value minus infinity, never chosen again (paper 000, section 3.1).
    Refused,
}

/// One legal move of an evaluated state.
#[derive(Clone, Copy, Debug)]
pub struct Edge<A> {
    /// Its label.
    pub action: A,
    /// The model's own policy, sums to 1 over the edges.
    pub policy: f32,
    /// The model's action value: win probability for the mover, in [0, 1].
    pub q: f32,
}
