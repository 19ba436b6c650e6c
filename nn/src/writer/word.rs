//! One word of a trace, and what may be its source.

use crate::encode::MoveCode;

/// Moves of a list that become words, best first. Breadth is at most [`Shape::MOST_BREADTH`]: one word more
/// shows that the writer chooses where to stop.
pub const ITEMS: usize = 6;
/// Nodes that a trace may name, the root included: those of breadth 5 and depth 3.
pub const NAMES: usize = 156;
/// Win probabilities are written in so many buckets (paper 000, section 2).
pub const BUCKETS: u8 = 64;

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A node's board is evaluated next.
    Eval,
    /// A node is to have children.
    Expand,
    /// A node's value and move are decided next.
    Decide,
    /// A new node: a move of the list of the node expanded.
    Child,
    /// What a child is worth to its parent.
    Score,
    /// The move and value of a node.
    Select,
    /// The move to play: the end.
    Play,
    /// Breadth and depth asked for; given.
    Prompt,
    /// A move of a node's list; given.
    Item,
    /// A node's best move and its value, after the list; given.
    Best,
    /// The game is over at a node; given in place of the list.
    Over,
}

impl Kind {
    /// Every kind, those that are written first.
    pub const ALL: [Kind; 11] = [
        Kind::Eval,
        Kind::Expand,
        Kind::Decide,
        Kind::Child,
        Kind::Score,
        Kind::Select,
        Kind::Play,
        Kind::Prompt,
        Kind::Item,
        Kind::Best,
        Kind::Over,
    ];
    /// How many kinds are written.
    pub const WRITTEN: usize = 7;

    /// The place in [`Kind::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Somebody writes it; the others are given.
    #[must_use]
    pub fn is_written(self) -> bool {
        self.index() < Kind::WRITTEN
    }

    /// A bucket is written with it, whatever the prompt asks for; see [`super::Trace::has_bucket`].
    #[must_use]
    pub fn has_bucket(self) -> bool {
        matches!(self, Kind::Score | Kind::Select)
    }

    /// The kinds of word that it can be written from.
    #[must_use]
    pub fn sources(self) -> &'static [Kind] {
        match self {
            Kind::Eval | Kind::Score => &[Kind::Child],
            Kind::Expand => &[Kind::Best, Kind::Over],
            Kind::Decide => &[Kind::Best, Kind::Over, Kind::Expand],
            Kind::Child => &[Kind::Item],
            Kind::Select => &[Kind::Best, Kind::Over, Kind::Score],
            Kind::Play => &[Kind::Select],
            Kind::Prompt | Kind::Item | Kind::Best | Kind::Over => &[],
        }
    }

    /// For messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Eval => "eval",
            Kind::Expand => "expand",
            Kind::Decide => "decide",
            Kind::Child => "child",
            Kind::Score => "score",
            Kind::Select => "select",
            Kind::Play => "play",
            Kind::Prompt => "prompt",
            Kind::Item => "item",
            Kind::Best => "best",
            Kind::Over => "over",
        }
    }
}

/// The tree that a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Moves expanded at each inner node.
    pub breadth: u8,
    /// Plies below the root; 0 decides at the root's list.
    pub depth: u8,
}

impl Shape {
    /// More the decoder was not taught (paper 000, section 4: 2 to 5).
    pub const MOST_BREADTH: u8 = 5;
    /// Deeper it was not taught.
    pub const MOST_DEPTH: u8 = 3;

    /// Nodes of the whole tree, the root included, where every list is long enough.
    #[must_use]
    pub fn nodes(self) -> usize {
        let breadth = usize::from(self.breadth);
        (0..=u32::from(self.depth)).map(|level| breadth.pow(level)).sum()
    }
}

/// How a prompt wants values backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backup {
    /// Exact minimax over the buckets.
    Minimax,
    /// The same decision at the root, with what cannot change it left out. An expansion is written with the bound that its
    /// node stands against, what the best of the siblings before it is worth to their parent (0 without any); once a
    /// child's own value is no more, the node's other children are not evaluated.
    AlphaBeta,
    /// The tree of alpha-beta; scores and choice of the root's moves as the decoder has learnt to weigh all that the
    /// network says of what was looked at.
    Weigh,
}

impl Backup {
    /// Every one.
    pub const ALL: [Backup; 3] = [Backup::Minimax, Backup::AlphaBeta, Backup::Weigh];

    /// What cannot change minimax's choice is left out.
    #[must_use]
    pub fn prunes(self) -> bool {
        self != Backup::Minimax
    }

    /// As the text has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Backup::Minimax => "Minimax",
            Backup::AlphaBeta => "AlphaBeta",
            Backup::Weigh => "Weigh",
        }
    }
}

/// What the network's heads say of a move or a node beside its bucket, each number of order one: first the move's
/// action value and the logarithm of its policy, then the node's state value, best and expected action value, and
/// draw. Zero where a number is not given. A decoder that weighs reads it; no text shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary([f32; Summary::LEN]);

impl Summary {
    /// How many numbers.
    pub const LEN: usize = 6;
    /// Numbers of a move.
    const MOVE: usize = 2;

    /// A move in a list: win probability after it and its share of the policy, both in [0, 1].
    #[must_use]
    pub fn of_move(action_value: f32, policy: f32) -> Summary {
        let logarithm = 0.5 * policy.max(1e-4).ln() + 1.0;
        Summary([centred(action_value), logarithm, 0.0, 0.0, 0.0, 0.0])
    }

    /// A node: win probabilities by the state's own head, of the best move and as the policy expects, and how
    /// likely a draw is; all in [0, 1].
    #[must_use]
    pub fn of_node(value: f32, best: f32, expected: f32, draw: f32) -> Summary {
        Summary([0.0, 0.0, centred(value), centred(best), centred(expected), centred(draw)])
    }

    /// The numbers.
    #[must_use]
    pub fn numbers(&self) -> &[f32; Summary::LEN] {
        &self.0
    }

    /// A node's numbers beside those of the move that leads to it.
    pub(super) fn after(self, the_move: Summary) -> Summary {
        let mut both = self.0;
        both[..Summary::MOVE].copy_from_slice(&the_move.0[..Summary::MOVE]);
        Summary(both)
    }
}

/// From [0, 1] to [-2, 2]: good moves of a position lie close together.
fn centred(share: f32) -> f32 {
    4.0 * share - 2.0
}

/// What a writer decides: everything else about a word follows from its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the word says.
    pub kind: Kind,
    /// The place of its source in the trace.
    pub source: usize,
    /// For kinds with a bucket; else 0.
    pub bucket: u8,
}

/// A word with all that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// What it says.
    pub kind: Kind,
    /// The place of the word it was written from; None if it is given.
    pub source: Option<usize>,
    /// The node it is about; a move of a list is none yet.
    pub node: Option<u8>,
    /// The parent of that node, or the node whose list it is.
    pub parent: Option<u8>,
    /// Plies from the root to the node.
    pub level: u8,
    /// The node's place in its parent's list; None of the root.
    pub slot: Option<u8>,
    /// The move, by squares of the board (White's frame); castling is king takes rook.
    pub action: Option<MoveCode>,
    /// Win probability of the side that chooses the move, in [`BUCKETS`].
    pub bucket: Option<u8>,
    /// The shape; the prompt alone has one.
    pub shape: Option<Shape>,
}

/// The bucket of a win probability.
///
/// ```
/// use nn::writer::word::bucket_of;
/// assert_eq!([0.0, 0.5, 0.999, 1.0].map(bucket_of), [0, 32, 63, 63]);
/// ```
#[must_use]
pub fn bucket_of(value: f32) -> u8 {
    // NaN becomes 0.
    (value * f32::from(BUCKETS)).clamp(0.0, f32::from(BUCKETS - 1)) as u8
}

/// The same win probability as the other side sees it.
#[must_use]
pub fn complement(bucket: u8) -> u8 {
    (BUCKETS - 1).saturating_sub(bucket)
}
