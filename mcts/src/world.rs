//! The only thing search asks of a game. No chess, no tensors: a world may be the true rules, a
//! learned model of them, or a toy with three states.

use crate::value::Wdl;
use std::error::Error;

/// A game with an evaluator. All workers of a search share it.
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
    /// [`Leaf::Refused`]. The search checks this itself, whatever a world has checked before: a world may be
    /// anybody's, and one number that is not finite would spoil every value above it.
    ///
    /// # Errors
    /// The device failed; the search drains, reports what it has, and ends.
    fn evaluate(&self, leaves: &[&Self::State]) -> Result<Vec<Leaf<Self::Action>>, Self::Error>;

    /// Searches the root by other means beside the tree search, which has its share of the time through `tree`, and tells
    /// it of what is found. Each worker calls it, with its number as `lane`. Returns when `tree` says so, or when nothing is left to
    /// find.
    fn scout(&self, _root: &Self::State, _lane: usize, _tree: &mut dyn Scouted<Self::Action>) {}
}

/// A tree search whose root is searched by other means, too ([`World::scout`]).
pub trait Scouted<A> {
    /// So many positions more were looked at: goes on with the tree as far as its share allows. False ends both. To be called every
    /// fraction of a millisecond.
    fn goes_on(&mut self, positions: u64) -> bool;
    /// The action that it prefers at present, if that is worth telling apart from the best one on this lane.
    fn favourite(&self) -> Option<A>;
    /// The actions to choose from; none = all.
    fn allowed(&self) -> Vec<A>;
    /// How many of the best actions are to have lines of their own.
    fn lines(&self) -> usize;
    /// Tells it of an opinion.
    fn hear(&mut self, opinion: Opinion<A>);
}

/// What a scout thinks of the root.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion<A> {
    /// Best play.
    pub best: Variation<A>,
    /// The next best actions, as many as were to have lines of their own, the best one first.
    pub others: Vec<Variation<A>>,
    /// Plies searched.
    pub depth: u32,
    /// Plies of the furthest line that it looked at.
    pub seldepth: u32,
    /// The action that the tree preferred, if it is another. It is worth as much as the best one if it is as good, else less than it has.
    pub favourite: Option<Variation<A>>,
}

/// What a scout thinks of one of the root's actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation<A> {
    /// It, and best play after it as far as it was searched.
    pub line: Vec<A>,
    /// Its expected score for the side to move, in [0, 1].
    pub worth: f32,
    /// Plies to a mate that was seen to the end: positive = the side to move mates, negative = it is mated.
    pub mate_plies: Option<i32>,
}

impl<A> Variation<A> {
    fn map<B>(self, name: impl Fn(A) -> B) -> Variation<B> {
        let Variation { line, worth, mate_plies } = self;
        Variation { line: line.into_iter().map(name).collect(), worth, mate_plies }
    }
}

impl<A> Opinion<A> {
    /// All of them, the best one first.
    pub fn variations(&self) -> impl Iterator<Item = &Variation<A>> {
        std::iter::once(&self.best).chain(&self.others)
    }

    /// What is told of an action: of the tree's favourite only where it is as good as the best one.
    pub(crate) fn of(&self, action: &A) -> Option<&Variation<A>>
    where
        A: PartialEq,
    {
        // How long a mate by another action takes is not known.
        let is_equal = |favourite: &&Variation<A>| {
            favourite.worth >= self.best.worth && self.best.mate_plies.is_none()
        };
        let favourite = self.favourite.as_ref().filter(is_equal);
        self.variations().chain(favourite).find(|told| told.line.first() == Some(action))
    }

    /// The same of actions under other names.
    pub(crate) fn map<B>(self, name: impl Fn(A) -> B) -> Opinion<B> {
        let Opinion { best, others, depth, seldepth, favourite } = self;
        let favourite = favourite.map(|favourite| favourite.map(&name));
        let others = others.into_iter().map(|other| other.map(&name)).collect();
        Opinion { best: best.map(&name), others, depth, seldepth, favourite }
    }
}

/// What a world says about one state.
#[derive(Clone, Debug)]
pub enum Leaf<A> {
    /// The game goes on: value for the side to move, and its edges.
    Open {
        /// For the side to move.
        value: Wdl,
        /// One per legal move, at least one.
        edges: Vec<Edge<A>>,
    },
    /// The game is over in this state whatever the path (mate, stalemate): kept as terminal.
    Over(Wdl),
    /// The game goes on, but its result is certain whatever the path (an endgame table has it): kept as
    /// terminal. A win or a loss, here or further up the tree, is proven, but no mate is counted.
    Known(Wdl),
    /// The model's answer was no state at all: value minus infinity, never chosen again
    /// (paper 000, section 3.1).
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
