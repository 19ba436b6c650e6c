//! The decoder by hand: reads a trace's words and predicts the next. A small causal transformer with a KV
//! cache, so that a word costs one pass over the weights.
//!
//! `train::writer` computes the same with burn; a test there compares both.

use super::layout::{HEADS, POINTER, ROWS, WIDTH, WriterLayout, number, rows, seen_until};
use super::word::{BUCKETS, Kind, NAMES, WordChoice};
use super::{Allowed, Trace, Writer};
use crate::evaluator::EvalError;
use crate::kernels::Isa;
use crate::kernels::gemm::{Accumulate, Mat, Method, Packed, matmul_packed};
use crate::kernels::ops::{add_scaled, dot, layer_norm};
use crate::net::params::{Linear, Norm};
use crate::numeric::softmax;
use crate::precision::Arithmetic;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Channels of one head.
const DIM: usize = WIDTH / HEADS;

/// The decoder's parameters.
#[derive(Clone, Debug)]
pub struct DecoderWeights {
    pub(super) layout: WriterLayout,
    pub(super) values: Vec<f32>,
    /// `[NAMES, WIDTH]`: embedding of every name, as a word's node and as its parent.
    own: Vec<f32>,
    parent: Vec<f32>,
    /// Packed at the first read: training reads none.
    maps: OnceLock<Arc<Maps>>,
}

/// Packed weights of the linear maps by their offset in the flat vector, ascending.
struct Maps(Vec<(usize, Packed)>);

impl fmt::Debug for Maps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Maps").field(&self.0.len()).finish()
    }
}

impl Maps {
    fn new(weights: &DecoderWeights) -> Maps {
        let layout = &weights.layout;
        let of_blocks = layout.blocks.iter().flat_map(|b| [&b.qkv, &b.out, &b.up, &b.down]);
        let heads = [&layout.kind, &layout.bucket, &layout.query, &layout.key, &layout.gain];
        let pack = |map: &Linear| {
            let (values, outputs) = (&weights.values[map.weight.clone()], map.bias.len());
            let mat = Mat::new(values, values.len() / outputs, outputs, outputs);
            (map.weight.start, Packed::new(mat, Method::widest(Arithmetic::Single)))
        };
        let mut maps: Vec<_> = of_blocks.chain(heads).map(pack).collect();
        maps.sort_by_key(|(start, _)| *start);
        Maps(maps)
    }
}

impl DecoderWeights {
    /// None if `values` does not have the layout's length.
    #[must_use]
    pub fn new(values: Vec<f32>) -> Option<DecoderWeights> {
        let layout = WriterLayout::new();
        (values.len() == layout.len).then(|| DecoderWeights::with_layout(layout, values))
    }

    fn with_layout(layout: WriterLayout, values: Vec<f32>) -> DecoderWeights {
        let named = |map: &std::ops::Range<usize>| {
            let mut out = vec![0.0; NAMES * WIDTH];
            let names = values[layout.names.clone()].chunks_exact(layout.names.len() / NAMES);
            for (name, out) in names.zip(out.chunks_exact_mut(WIDTH)) {
                for (x, row) in name.iter().zip(values[map.clone()].chunks_exact(WIDTH)) {
                    add_scaled(Isa::found(), out, *x, row);
                }
            }
            out
        };
        let (own, parent) = (named(&layout.own), named(&layout.parent));
        DecoderWeights { layout, values, own, parent, maps: OnceLock::new() }
    }

    /// Random initial values, for tests and the start of a training.
    #[must_use]
    pub fn untrained(seed: u64) -> DecoderWeights {
        let layout = WriterLayout::new();
        let values = layout.init(seed);
        DecoderWeights::with_layout(layout, values)
    }

    /// Offsets of the parameters in the flat vector.
    #[must_use]
    pub fn layout(&self) -> &WriterLayout {
        &self.layout
    }

    /// The flat vector.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// `x * weight + bias` for each row of `x`.
    fn linear(&self, map: &Linear, x: &[f32]) -> Vec<f32> {
        let maps = &self.maps.get_or_init(|| Arc::new(Maps::new(self))).0;
        let at = maps.partition_point(|(start, _)| *start < map.weight.start);
        let (_, packed) = &maps[at];
        let (inputs, outputs) = packed.sizes();
        let rows = x.len() / inputs;
        let mut out = vec![0.0; rows * outputs];
        let (bias, x) =
            (Accumulate::Bias(&self.values[map.bias.clone()]), Mat::new(x, rows, inputs, inputs));
        matmul_packed(&mut out, outputs, bias, x, packed, outputs);
        out
    }

    fn norm(&self, norm: &Norm, x: &[f32]) -> Vec<f32> {
        let (mut unit, mut out) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let mut scale = vec![0.0; x.len() / WIDTH];
        let (gamma, beta) = (&self.values[norm.gamma.clone()], &self.values[norm.beta.clone()]);
        layer_norm(Isa::found(), x, gamma, beta, &mut unit, &mut scale, &mut out);
        out
    }
}

/// KV cache of one block.
#[derive(Clone, Debug, Default)]
struct KvCache {
    /// `[words, WIDTH]`.
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// A decoder and the trace it has read.
#[derive(Clone, Debug)]
pub struct Decoder {
    weights: Arc<DecoderWeights>,
    read: Option<Trace>,
    /// First position from which each word is masked.
    until: Vec<usize>,
    memory: Vec<KvCache>,
    /// `[words, POINTER]`: pointer key of each word.
    pointed: Vec<f32>,
    /// `[WIDTH]`: hidden state after the last word.
    last: Vec<f32>,
}

impl Decoder {
    /// A decoder without a trace.
    #[must_use]
    pub fn new(weights: Arc<DecoderWeights>) -> Decoder {
        let memory = vec![KvCache::default(); weights.layout.blocks.len()];
        let (until, pointed, last) = (Vec::new(), Vec::new(), Vec::new());
        Decoder { weights, read: None, until, memory, pointed, last }
    }

    fn forget(&mut self) {
        self.read = None;
        self.pointed.clear();
        self.memory.iter_mut().for_each(|memory| *memory = KvCache::default());
    }

    /// Reads the unread words of `trace`.
    fn read(&mut self, trace: &Trace) {
        let words = trace.words();
        if self.read.as_ref().is_some_and(|read| !trace.begins_with(read)) {
            self.forget();
        }
        let first = self.read.as_ref().map_or(0, |read| read.words().len());
        if first == words.len() {
            return;
        }
        let w = self.weights.clone();
        self.until = seen_until(words);
        let sees =
            |place: usize| (0..=place).filter(|at| place < self.until[*at]).collect::<Vec<usize>>();
        let sight: Vec<Vec<usize>> = (first..words.len()).map(sees).collect();
        let mut x = embed(&w, trace, first);
        for (block, memory) in w.layout.blocks.iter().zip(&mut self.memory) {
            let qkv = w.linear(&block.qkv, &w.norm(&block.norm1, &x));
            for row in qkv.chunks_exact(3 * WIDTH) {
                memory.keys.extend_from_slice(&row[WIDTH..2 * WIDTH]);
                memory.values.extend_from_slice(&row[2 * WIDTH..]);
            }
            let mut attended = Vec::with_capacity(x.len());
            for (seen, row) in sight.iter().zip(qkv.chunks_exact(3 * WIDTH)) {
                attended.extend(attend(&row[..WIDTH], memory, seen));
            }
            add_scaled(Isa::found(), &mut x, 1.0, &w.linear(&block.out, &attended));
            let mut hidden = w.linear(&block.up, &w.norm(&block.norm2, &x));
            hidden.iter_mut().for_each(|x| *x = x.max(0.0) * x.max(0.0));
            add_scaled(Isa::found(), &mut x, 1.0, &w.linear(&block.down, &hidden));
        }
        let x = w.norm(&w.layout.norm, &x);
        self.pointed.extend(w.linear(&w.layout.key, &x));
        self.last = x[x.len() - WIDTH..].to_vec();
        self.read = Some(trace.clone());
    }

    /// Logits of the word after the last one of `trace`: its kind, its source among all words (minus infinity
    /// for masked ones), its bucket.
    #[must_use]
    pub fn logits(&mut self, trace: &Trace) -> WordLogits {
        self.read(trace);
        let (w, last) = (&self.weights, &self.last);
        let query = w.linear(&w.layout.query, last);
        let gain = w.linear(&w.layout.gain, last).first().copied().unwrap_or(0.0);
        let scale = (POINTER as f32).sqrt().recip();
        let words = trace.words();
        let pointed = words.iter().zip(self.pointed.chunks_exact(POINTER));
        let source = pointed
            .zip(&self.until)
            .map(|((word, key), until)| match words.len() <= *until {
                true => dot(Isa::found(), &query, key) * scale + gain * number(word),
                false => f32::NEG_INFINITY,
            })
            .collect();
        WordLogits {
            kind: w.linear(&w.layout.kind, last),
            source,
            bucket: w.linear(&w.layout.bucket, last),
        }
    }
}

/// Logits of the next word.
#[derive(Clone, Debug)]
pub struct WordLogits {
    /// `[Kind::WRITTEN]`.
    pub kind: Vec<f32>,
    /// `[words]`.
    pub source: Vec<f32>,
    /// `[64]`.
    pub bucket: Vec<f32>,
}

impl Writer for Decoder {
    fn next(&mut self, trace: &Trace, allowed: &[Allowed]) -> Result<WordChoice, EvalError> {
        if let Some(forced) = forced(trace, allowed) {
            return Ok(forced);
        }
        let logits = self.logits(trace);
        let usable = |row: &[f32]| row.iter().all(|x| !x.is_nan() && *x < f32::INFINITY);
        if ![&logits.kind, &logits.source, &logits.bucket].into_iter().all(|row| usable(row)) {
            return Err(EvalError::NotANumber("writer"));
        }
        let (kind, source) = likeliest(&logits, trace, allowed);
        let bucket = if trace.has_bucket(kind) { expected(&logits.bucket) } else { 0 };
        Ok(WordChoice { kind, source, bucket })
    }
}

/// The next word if there is no choice: it needs no pass, and is read in one pass with the words after it.
fn forced(trace: &Trace, allowed: &[Allowed]) -> Option<WordChoice> {
    let [Allowed { kind, sources }] = allowed else { return None };
    let [source] = sources[..] else { return None };
    (!trace.has_bucket(*kind)).then_some(WordChoice { kind: *kind, source, bucket: 0 })
}

/// The likeliest pair of kind and source, of the words allowed or else of all whose source suits their kind.
/// Independent argmaxes could combine halves of two near words.
fn likeliest(logits: &WordLogits, trace: &Trace, allowed: &[Allowed]) -> (Kind, usize) {
    let fits = |kind: Kind, source: usize| match allowed {
        [] => kind.sources().contains(&trace.words()[source].kind),
        allowed => allowed.iter().any(|allowed| allowed.has(kind, Some(source))),
    };
    let first = allowed.first().and_then(|one| Some((one.kind, *one.sources.first()?)));
    let mut best = (f32::NEG_INFINITY, first.unwrap_or((Kind::Play, 0)));
    for (source, by_source) in logits.source.iter().enumerate() {
        for (kind, by_kind) in Kind::ALL.into_iter().zip(&logits.kind) {
            let likely = by_kind + by_source;
            if likely > best.0 && fits(kind, source) {
                best = (likely, (kind, source));
            }
        }
    }
    best.1
}

/// The bucket nearest to the mean of a distribution. If the decoder is certain, it is the mode; otherwise the
/// best move has the best mean, not the best mode.
fn expected(logits: &[f32]) -> u8 {
    let shares = softmax(logits);
    let mean: f32 = (0u8..).zip(&shares).map(|(bucket, share)| f32::from(bucket) * share).sum();
    (mean.round() as u8).min(BUCKETS - 1)
}

/// The embeddings of the words from `first` on, `[words, WIDTH]`.
fn embed(w: &DecoderWeights, trace: &Trace, first: usize) -> Vec<f32> {
    let table = &w.values[w.layout.facts.start..w.layout.pruned.end];
    debug_assert_eq!(table.len(), ROWS * WIDTH);
    let mut out = vec![0.0; (trace.words().len() - first) * WIDTH];
    for (place, out) in (first..).zip(out.chunks_exact_mut(WIDTH)) {
        rows(trace, place, |row, factor| {
            add_scaled(Isa::found(), out, factor, &table[row * WIDTH..][..WIDTH]);
        });
        let word = &trace.words()[place];
        for (name, names) in [(word.node, &w.own), (word.parent, &w.parent)] {
            if let Some(row) = name.and_then(|name| names.chunks_exact(WIDTH).nth(name.into())) {
                add_scaled(Isa::found(), out, 1.0, row);
            }
        }
    }
    out
}

/// One word's attention over the words at `seen`, `[WIDTH]`.
fn attend(query: &[f32], memory: &KvCache, seen: &[usize]) -> Vec<f32> {
    let mut out = vec![0.0; WIDTH];
    let scale = (DIM as f32).sqrt().recip();
    for (head, out) in out.chunks_exact_mut(DIM).enumerate() {
        let part = |at: usize| at * WIDTH + head * DIM..at * WIDTH + (head + 1) * DIM;
        let query = &query[head * DIM..][..DIM];
        let scores: Vec<f32> = seen
            .iter()
            .map(|at| scale * dot(Isa::found(), query, &memory.keys[part(*at)]))
            .collect();
        for (at, weight) in seen.iter().zip(softmax(&scores)) {
            add_scaled(Isa::found(), out, weight, &memory.values[part(*at)]);
        }
    }
    out
}
