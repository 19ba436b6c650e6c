//! Training batches of the decoder: inputs and targets of a few traces, padded to the longest.

use nn::rng::Rng;
use nn::writer::Trace;
use nn::writer::layout::{ROWS, number, rows, seen_until};
use nn::writer::word::{BUCKETS, Kind, NAMES};
use std::ops::Range;

/// Added to a masked score.
const NEVER: f32 = -1e9;

/// Words per attention window. Most earlier words are masked for them, and are skipped.
const SPAN: usize = 128;

/// Attention window of consecutive words.
pub(super) struct Window {
    /// The words (queries).
    pub queries: Range<usize>,
    /// Positions visible to at least one of them in one of the traces, ascending.
    pub keys: Vec<usize>,
    /// `[n, queries, keys]`: extract of the batch's mask.
    pub mask: Vec<f32>,
}

/// `n` traces of at most `l` words. All vectors are row-major.
pub(super) struct Batch {
    pub n: usize,
    pub l: usize,
    /// `[n, l, ROWS]`.
    pub rows: Vec<f32>,
    /// `[n, l, NAMES]`: one-hot names of nodes and of their parents.
    pub own: Vec<f32>,
    pub parent: Vec<f32>,
    /// `[n, l (query), l (key)]`: 0 where the key is visible, else a large negative number.
    pub mask: Vec<f32>,
    /// The mask, window by window.
    pub windows: Vec<Window>,
    /// `[n, l]`.
    pub numbers: Vec<f32>,
    /// `[n, l, Kind::WRITTEN]`, `[n, l, l]`, `[n, l, 64]`: targets of the next word, one-hot; zero if it is
    /// given or has no bucket.
    pub kinds: Vec<f32>,
    pub sources: Vec<f32>,
    pub buckets: Vec<f32>,
    /// Words to write, and those of them with a bucket.
    pub written: usize,
    pub valued: usize,
}

impl Batch {
    /// Names are permuted in each trace: the network must not depend on them.
    pub fn new(traces: &[Trace], rng: &mut Rng) -> Batch {
        Batch::named(traces, || deal(rng))
    }

    /// With names from `deal` for each trace.
    pub fn named(traces: &[Trace], mut deal: impl FnMut() -> Vec<usize>) -> Batch {
        let n = traces.len();
        let l = traces.iter().map(|trace| trace.words().len()).max().unwrap_or(0);
        let mut batch = Batch {
            n,
            l,
            rows: vec![0.0; n * l * ROWS],
            own: vec![0.0; n * l * NAMES],
            parent: vec![0.0; n * l * NAMES],
            mask: vec![NEVER; n * l * l],
            windows: Vec::new(),
            numbers: vec![0.0; n * l],
            kinds: vec![0.0; n * l * Kind::WRITTEN],
            sources: vec![0.0; n * l * l],
            buckets: vec![0.0; n * l * usize::from(BUCKETS)],
            written: 0,
            valued: 0,
        };
        for (p, trace) in traces.iter().enumerate() {
            batch.add(p, trace, &deal());
        }
        let spans = (0..l).step_by(SPAN).map(|from| from..l.min(from + SPAN));
        batch.windows = spans.map(|span| batch.window(span)).collect();
        batch
    }

    /// Attention window of `queries`.
    fn window(&self, queries: Range<usize>) -> Window {
        let (n, l) = (self.n, self.l);
        let rows = || (0..n).flat_map(|p| queries.clone().map(move |i| (p * l + i) * l));
        let mut seen = vec![false; l];
        for row in rows() {
            let sight = &self.mask[row..][..l];
            seen.iter_mut().zip(sight).for_each(|(seen, score)| *seen |= *score == 0.0);
        }
        let keys: Vec<usize> = (0..l).filter(|j| seen[*j]).collect();
        let mask = rows().flat_map(|row| keys.iter().map(move |j| self.mask[row + j])).collect();
        Window { queries, keys, mask }
    }

    fn add(&mut self, p: usize, trace: &Trace, names: &[usize]) {
        let (l, words) = (self.l, trace.words());
        let until = seen_until(words);
        for (i, word) in words.iter().enumerate() {
            let at = p * l + i;
            rows(trace, i, |row, factor| self.rows[at * ROWS + row] = factor);
            for (name, place) in [(word.node, &mut self.own), (word.parent, &mut self.parent)] {
                if let Some(name) = name.and_then(|name| names.get(usize::from(name))) {
                    place[at * NAMES + name] = 1.0;
                }
            }
            for j in (0..=i).filter(|j| i < until[*j]) {
                self.mask[at * l + j] = 0.0;
            }
            self.numbers[at] = number(word);
            let Some(next) = words.get(i + 1).filter(|next| next.kind.is_written()) else {
                continue;
            };
            self.kinds[at * Kind::WRITTEN + next.kind.index()] = 1.0;
            self.written += 1;
            if let Some(source) = next.source {
                self.sources[at * l + source] = 1.0;
            }
            if let Some(bucket) = next.bucket.filter(|_| trace.has_bucket(next.kind)) {
                self.buckets[at * usize::from(BUCKETS) + usize::from(bucket)] = 1.0;
                self.valued += 1;
            }
        }
        for i in words.len()..l {
            // A fully masked row would be no distribution.
            self.mask[(p * l + i) * l + i] = 0.0;
        }
    }
}

/// All names in random order.
fn deal(rng: &mut Rng) -> Vec<usize> {
    let mut names: Vec<usize> = (0..NAMES).collect();
    rng.shuffle(&mut names);
    names
}
