//! One word of a trace, and its possible sources.

use crate::encode::MoveCode;

/// Moves of a list that become words, best first. Breadth is at most [`Shape::MOST_BREADTH`]: one word more
/// shows that the writer chooses where to stop.
pub const ITEMS: usize = 6;
/// Nodes that a trace may name, the root included: those of breadth 5 and depth 3.
pub const NAMES: usize = 156;
/// Number of win-probability buckets (paper 000, section 2).
pub const BUCKETS: u8 = 64;

/// Kind of a word.
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
    /// A child's value for its parent.
    Score,
    /// The move and value of a node.
    Select,
    /// The move to play: the end.
    Play,
    /// Requested breadth and depth; given.
    Prompt,
    /// A move of a node's list; given.
    Item,
    /// A node's best move and its value, after the list; given.
    Best,
    /// The game is over at a node; given in place of the list.
    Over,
}

impl Kind {
    /// Every kind, the written ones first.
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
    /// Number of written kinds.
    pub const WRITTEN: usize = 7;

    /// Index in [`Kind::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the writer writes it; the others are given.
    #[must_use]
    pub fn is_written(self) -> bool {
        self.index() < Kind::WRITTEN
    }

    /// Whether it always has a bucket; see [`super::Trace::has_bucket`].
    #[must_use]
    pub fn has_bucket(self) -> bool {
        matches!(self, Kind::Score | Kind::Select)
    }

    /// Kinds of its possible sources.
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

    /// Name in messages.
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

/// Shape of the requested tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Moves expanded at each inner node.
    pub breadth: u8,
    /// Plies below the root; 0 decides at the root's list.
    pub depth: u8,
}

impl Shape {
    /// Largest breadth in training (paper 000, section 4: 2 to 5).
    pub const MOST_BREADTH: u8 = 5;
    /// Largest depth in training.
    pub const MOST_DEPTH: u8 = 3;

    /// Nodes of the whole tree, the root included, if every list is long enough.
    #[must_use]
    pub fn nodes(self) -> usize {
        let breadth = usize::from(self.breadth);
        (0..=u32::from(self.depth)).map(|level| breadth.pow(level)).sum()
    }
}

/// Backup rule of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backup {
    /// Exact minimax over the buckets.
    Minimax,
    /// The same decision at the root, without what cannot change it. An expansion carries its node's bound, the
    /// value of the best earlier sibling for the parent (0 without any); once a child's own value is no more
    /// than it, the node's other children are not evaluated.
    AlphaBeta,
}

impl Backup {
    /// Every rule.
    pub const ALL: [Backup; 2] = [Backup::Minimax, Backup::AlphaBeta];

    /// Whether branches that cannot change minimax's choice are pruned.
    #[must_use]
    pub fn prunes(self) -> bool {
        self != Backup::Minimax
    }

    /// Name in the text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Backup::Minimax => "Minimax",
            Backup::AlphaBeta => "AlphaBeta",
        }
    }
}

/// A writer's decision: everything else about a word follows from its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordChoice {
    /// Kind of the word.
    pub kind: Kind,
    /// Index of its source in the trace.
    pub source: usize,
    /// For kinds with a bucket; else 0.
    pub bucket: u8,
}

/// A word with its derived fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its kind.
    pub kind: Kind,
    /// Index of its source; None if it is given.
    pub source: Option<usize>,
    /// Its node; a move of a list has none yet.
    pub node: Option<u8>,
    /// The parent of that node, or the node whose list it is.
    pub parent: Option<u8>,
    /// Plies from the root to the node.
    pub level: u8,
    /// Index of the node in its parent's list; None for the root.
    pub slot: Option<u8>,
    /// The move, by squares of the board (White's frame); castling is king takes rook.
    pub action: Option<MoveCode>,
    /// Win probability of the side that chooses the move, in [`BUCKETS`].
    pub bucket: Option<u8>,
    /// The tree shape; only in the prompt.
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

/// The win probability from the other side.
#[must_use]
pub fn complement(bucket: u8) -> u8 {
    (BUCKETS - 1).saturating_sub(bucket)
}
