//! Sizes and parameters of the decoder, in one flat vector; and the embedding rows of a word.

use super::Trace;
use super::word::{BUCKETS, ITEMS, Kind, NAMES, Shape, Word};
use crate::net::params::{Builder, Init, Linear, Norm, Param, fan_in, initial_values};
use std::ops::Range;

/// Channels of a word's vector.
pub const WIDTH: usize = 128;
/// Attention heads.
pub const HEADS: usize = 4;
/// Blocks.
pub const LAYERS: usize = 3;
/// Channels of the FFN.
pub const FFN: usize = 256;
/// Channels of a node's name, before the projection to the width.
pub const NAME: usize = 32;
/// Channels of pointer queries and keys.
pub const POINTER: usize = 64;
/// Rows of the embedding: facts, moves, and the flag of a pruned tree.
pub const ROWS: usize = PRUNED + 1;

const LEVEL: usize = Kind::ALL.len();
const SLOT: usize = LEVEL + Shape::MOST_DEPTH as usize + 2;
const BUCKET: usize = SLOT + ITEMS + 1;
const RAMP: usize = BUCKET + BUCKETS as usize;
const BREADTH: usize = RAMP + 1;
const DEPTH: usize = BREADTH + Shape::MOST_BREADTH as usize + 1;
const FACTS: usize = DEPTH + Shape::MOST_DEPTH as usize + 1;
const MOVES: usize = 64 + 64 + 5;
const PRUNED: usize = FACTS + MOVES;

/// The embedding rows of the word of `trace` at `place`, each with its factor. Names are added separately.
pub fn rows(trace: &Trace, place: usize, mut each: impl FnMut(usize, f32)) {
    let (word, shape) = (&trace.words()[place], trace.shape());
    each(word.kind.index(), 1.0);
    each(LEVEL + usize::from(word.level.min(Shape::MOST_DEPTH + 1)), 1.0);
    each(SLOT + word.slot.map_or(ITEMS, |slot| usize::from(slot).min(ITEMS - 1)), 1.0);
    each(BREADTH + usize::from(shape.breadth.min(Shape::MOST_BREADTH)), 1.0);
    each(DEPTH + usize::from(shape.depth.min(Shape::MOST_DEPTH)), 1.0);
    if let Some(bucket) = word.bucket {
        let bucket = bucket.min(BUCKETS - 1);
        each(BUCKET + usize::from(bucket), 1.0);
        each(RAMP, f32::from(bucket) / f32::from(BUCKETS / 2) - 1.0);
    }
    if let Some(action) = word.action {
        each(FACTS + usize::from(action.from & 63), 1.0);
        each(FACTS + 64 + usize::from(action.to & 63), 1.0);
        each(FACTS + 128 + usize::from(action.promotion.min(4)), 1.0);
    }
    if trace.backup().prunes() {
        each(PRUNED, 1.0);
    }
}

/// The number by which pointers compare words: the bucket of a score. 0 for other words.
pub fn number(word: &Word) -> f32 {
    let bucket = word.bucket.filter(|_| word.kind == Kind::Score);
    bucket.map_or(0.0, f32::from)
}

/// The position from which each of `words` is masked: a list until the next evaluation, the scores of a
/// decision until its selection, everything else never. Depends only on kinds.
pub fn seen_until(words: &[Word]) -> Vec<usize> {
    let mut until = vec![usize::MAX; words.len()];
    let (mut items, mut scores) = (Vec::new(), Vec::new());
    for (place, word) in words.iter().enumerate() {
        match word.kind {
            Kind::Item => items.push(place),
            Kind::Score => scores.push(place),
            Kind::Eval => items.drain(..).for_each(|item| until[item] = place),
            Kind::Select => scores.drain(..).for_each(|score| until[score] = place),
            _ => {}
        }
    }
    until
}

/// Offsets of one block's parameters.
#[derive(Clone, Debug)]
pub struct WriterBlockLayout {
    /// Before attention.
    pub norm1: Norm,
    /// `[WIDTH, 3 * WIDTH]`: queries of all heads, then keys, then values.
    pub qkv: Linear,
    /// `[WIDTH, WIDTH]`.
    pub out: Linear,
    /// Before the FFN.
    pub norm2: Norm,
    /// `[WIDTH, FFN]`.
    pub up: Linear,
    /// `[FFN, WIDTH]`.
    pub down: Linear,
}

/// Offsets of all parameters.
#[derive(Clone, Debug)]
pub struct WriterLayout {
    /// In the order of the flat vector.
    pub params: Vec<Param>,
    /// `[FACTS, WIDTH]`.
    pub facts: Range<usize>,
    /// `[MOVES, WIDTH]`, behind the facts.
    pub moves: Range<usize>,
    /// `[1, WIDTH]`, behind the moves: all three are contiguous, `[ROWS, WIDTH]`.
    pub pruned: Range<usize>,
    /// `[NAMES, NAME]`.
    pub names: Range<usize>,
    /// `[NAME, WIDTH]`: projection of a name as the word's node.
    pub own: Range<usize>,
    /// `[NAME, WIDTH]`: projection of a name as its parent.
    pub parent: Range<usize>,
    /// In order.
    pub blocks: Vec<WriterBlockLayout>,
    /// After the last block.
    pub norm: Norm,
    /// `[WIDTH, Kind::WRITTEN]`.
    pub kind: Linear,
    /// `[WIDTH, 64]`.
    pub bucket: Linear,
    /// `[WIDTH, POINTER]`: pointer query.
    pub query: Linear,
    /// `[WIDTH, POINTER]`: pointer key.
    pub key: Linear,
    /// `[WIDTH, 1]`: factor of a pointed word's number.
    pub gain: Linear,
    /// Length of the flat vector.
    pub len: usize,
}

/// Normal values with standard deviation `size` times the variance-preserving one.
fn scaled(size: f32, inputs: usize) -> Init {
    Init::Normal(size / (inputs as f32).sqrt())
}

impl WriterLayout {
    /// The only one there is.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a layout is computed")]
    pub fn new() -> WriterLayout {
        let mut b = Builder::default();
        WriterLayout {
            facts: b.param("embed.facts", &[FACTS, WIDTH], Init::Normal(0.5)),
            // Minimax does not need them: small, so that they add little noise at first.
            moves: b.param("embed.moves", &[MOVES, WIDTH], Init::Normal(0.02)),
            pruned: b.param("embed.pruned", &[1, WIDTH], Init::Normal(0.1)),
            names: b.param("embed.names", &[NAMES, NAME], Init::Normal(1.0)),
            own: b.param("embed.own", &[NAME, WIDTH], fan_in(NAME)),
            parent: b.param("embed.parent", &[NAME, WIDTH], fan_in(NAME)),
            blocks: (0..LAYERS)
                .map(|i| WriterBlockLayout {
                    norm1: b.norm(&format!("block{i}.norm1"), WIDTH),
                    qkv: b.linear(&format!("block{i}.qkv"), WIDTH, 3 * WIDTH, fan_in(WIDTH)),
                    out: b.linear(&format!("block{i}.out"), WIDTH, WIDTH, scaled(0.5, WIDTH)),
                    norm2: b.norm(&format!("block{i}.norm2"), WIDTH),
                    up: b.linear(&format!("block{i}.up"), WIDTH, FFN, fan_in(WIDTH)),
                    down: b.linear(&format!("block{i}.down"), FFN, WIDTH, scaled(0.5, FFN)),
                })
                .collect(),
            norm: b.norm("norm", WIDTH),
            kind: b.linear("kind", WIDTH, Kind::WRITTEN, scaled(0.5, WIDTH)),
            bucket: b.linear("bucket", WIDTH, usize::from(BUCKETS), scaled(0.5, WIDTH)),
            query: b.linear("query", WIDTH, POINTER, fan_in(WIDTH)),
            key: b.linear("key", WIDTH, POINTER, fan_in(WIDTH)),
            gain: b.linear("gain", WIDTH, 1, scaled(0.1, WIDTH)),
            len: b.len,
            params: b.params,
        }
    }

    /// Initial values, deterministic for a seed.
    pub fn init(&self, seed: u64) -> Vec<f32> {
        initial_values(&self.params, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backup;
    use super::*;
    use crate::encode::MoveCode;

    #[test]
    fn rows_of_different_facts_are_different() {
        let action = MoveCode { from: 63, to: 63, promotion: 4 };
        let mut trace = Trace::new(Shape { breadth: 5, depth: 3 }, Backup::Minimax);
        trace.give_list(&[(action, 63)]);
        let of = |place: usize| {
            let mut found = Vec::new();
            rows(&trace, place, |row, _| found.push(row));
            found
        };
        let (prompt, item) = (of(0), of(2));
        let mut sorted = item.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), item.len());
        // Each is the last row of its kind: the next one is the first of the next.
        for next in [RAMP, FACTS, FACTS + 64, FACTS + 128, PRUNED] {
            assert!(item.contains(&(next - 1)), "{next}");
        }
        assert!(prompt.contains(&(BUCKET - 1)) && prompt.contains(&(FACTS - 1)));
    }

    #[test]
    fn alpha_beta_has_the_last_row() {
        let trace = Trace::new(Shape { breadth: 5, depth: 3 }, Backup::AlphaBeta);
        let mut last = None;
        rows(&trace, 0, |row, _| last = last.max(Some(row)));
        assert_eq!(last, Some(ROWS - 1));
    }

    #[test]
    fn a_decoder_is_small() {
        let layout = WriterLayout::new();
        assert_eq!(layout.params.last().map(|param| param.range.end), Some(layout.len));
        assert!(layout.len < 550_000, "{}", layout.len);
        assert_eq!(layout.init(1), layout.init(1));
    }
}
