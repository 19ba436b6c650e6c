//! An endless, shuffled stream of examples from several files. Every source loops over its file; the stream is
//! deterministic for a configuration. Held-out games never enter it.

use super::error::DataError;
use super::example::Example;
use super::filter::{KeySet, Recent};
use super::kinds::Kinds;
use super::mirror::{has_mirror, mirror};
use super::random_positions::RandomPositions;
use super::read::FileReader;
use super::record::Game;
use super::sample::{Pass, Sampler, SamplerCounts, candidates, kept};
use crossbeam::channel::{Receiver, bounded};
use nn::rng::{Rng, scramble};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// A file and its share of the examples.
#[derive(Clone, Debug)]
pub struct MixSource {
    /// The data file.
    pub path: PathBuf,
    /// Relative to the other sources' weights.
    pub weight: f64,
}

/// Configuration of a [`Mixer`]. [`MixConfig::new`] gives defaults.
#[derive(Clone, Debug)]
pub struct MixConfig {
    /// The files, at least one.
    pub sources: Vec<MixSource>,
    /// Which examples are drawn from them.
    pub kinds: Kinds,
    /// Shuffle buffer, in examples of about 600 bytes.
    pub buffer: usize,
    /// Seed of every draw.
    pub seed: u64,
    /// Every n-th game of each file is held out for [`super::HeldOut`]; 0 = none.
    pub validation_every: u64,
    /// A pass over a file takes one position in `stride` of each game.
    pub stride: u64,
    /// Examples that an earlier run has drawn: the sources skip about as far, so that a resumed training
    /// continues in the data (though not with the same examples).
    pub skip: u64,
    /// Keys of positions that must not be used, from [`super::exclude_from_files`].
    pub excluded: Arc<KeySet>,
}

impl MixConfig {
    /// Defaults for `sources`.
    #[must_use]
    pub fn new(sources: Vec<MixSource>) -> MixConfig {
        MixConfig {
            sources,
            kinds: Kinds::default(),
            buffer: 200_000,
            seed: 0,
            validation_every: 50,
            stride: 4,
            skip: 0,
            excluded: Arc::default(),
        }
    }

    /// True if game number `index` of a file is held out.
    #[must_use]
    pub fn holds_out(&self, index: u64) -> bool {
        self.validation_every > 0 && index.is_multiple_of(self.validation_every)
    }
}

/// Positions that a source has read and yielded so far; the buffer counts as yielded.
#[derive(Clone, Debug)]
pub struct SourceReport {
    /// The data file.
    pub path: PathBuf,
    /// Whole passes over the file.
    pub passes: u64,
    /// Whole games read, of all passes.
    pub games: u64,
    /// Games dropped because the stream ended inside them, of all passes.
    pub cut: u64,
    /// Fate of the positions drawn.
    pub counts: SamplerCounts,
}

/// Share of `MAV(s, a)` among the rules-only examples, unless the others have more.
const RULES_ACTIONS: f64 = 0.4;

/// The stream. Not shared between threads; see [`spawn`].
pub struct Mixer {
    config: MixConfig,
    sources: Vec<Stream>,
    random_positions: RandomPositions,
    rng: Rng,
    buffer: Vec<Example>,
}

/// One file, read in a loop.
struct Stream {
    share: f64,
    seed: u64,
    reader: Option<FileReader>,
    recent: Recent,
    pending: VecDeque<Example>,
    /// Consecutive passes without an example.
    empty_passes: u64,
    gave: bool,
    rng: Rng,
    /// Separate from `rng`, so that the share of mirror images does not change which examples are drawn.
    mirror_rng: Rng,
    report: SourceReport,
}

impl Mixer {
    /// Opens the files. The buffer is filled by the first call of [`Mixer::next_batch`].
    ///
    /// # Errors
    /// If there is no source, a weight is not positive, a share is invalid, or a file cannot be read.
    pub fn new(config: MixConfig) -> Result<Mixer, DataError> {
        let total: f64 = config.sources.iter().map(|source| source.weight).sum();
        if config.sources.is_empty()
            || config.sources.iter().any(|source| source.weight.is_nan() || source.weight <= 0.0)
        {
            return Err(DataError::Config(
                "at least one source, each of a positive weight".to_string(),
            ));
        }
        config.kinds.check()?;
        if config.stride == 0 {
            return Err(DataError::Config("a stride of at least 1".to_string()));
        }
        let mut sources = Vec::new();
        for (number, source) in config.sources.iter().enumerate() {
            let seed = scramble(config.seed ^ scramble(number as u64 + 1));
            let mut stream = Stream {
                share: source.weight / total,
                seed,
                reader: None,
                recent: Recent::new(config.buffer.saturating_mul(2)),
                pending: VecDeque::new(),
                empty_passes: 0,
                gave: false,
                rng: Rng::new(seed ^ config.skip),
                mirror_rng: Rng::new(!seed ^ config.skip),
                report: SourceReport {
                    path: source.path.clone(),
                    passes: 0,
                    games: 0,
                    cut: 0,
                    counts: SamplerCounts::default(),
                },
            };
            stream.reader = Some(FileReader::open(&source.path)?);
            stream.skip_ahead(&config)?;
            sources.push(stream);
        }
        let seed = config.seed ^ scramble(config.skip);
        let rng = Rng::new(seed);
        let random_positions = RandomPositions::new(!seed);
        Ok(Mixer { config, sources, random_positions, rng, buffer: Vec::new() })
    }

    /// The next `n` examples.
    ///
    /// # Errors
    /// If a file is damaged or yields no example in several passes.
    pub fn next_batch(&mut self, n: usize) -> Result<Vec<Example>, DataError> {
        while self.buffer.len() < self.config.buffer.max(1) {
            let example = self.draw()?;
            self.buffer.push(example);
        }
        let mut batch = Vec::with_capacity(n);
        for _ in 0..n {
            let mut example = self.draw()?;
            let slot = self.rng.below(self.buffer.len());
            std::mem::swap(&mut self.buffer[slot], &mut example);
            batch.push(example);
        }
        Ok(batch)
    }

    /// Positions that each source has yielded so far.
    #[must_use]
    pub fn report(&self) -> Vec<SourceReport> {
        self.sources.iter().map(|source| source.report.clone()).collect()
    }

    /// One example from a source drawn by weight.
    fn draw(&mut self) -> Result<Example, DataError> {
        if self.rng.chance(self.config.kinds.rules_share) {
            let actions = RULES_ACTIONS.max(self.config.kinds.action_share);
            return Ok(self.random_positions.next(actions));
        }
        let mut rest = self.rng.unit();
        let mut chosen = 0;
        for (number, source) in self.sources.iter().enumerate() {
            chosen = number;
            rest -= source.share;
            if rest < 0.0 {
                break;
            }
        }
        self.sources[chosen].draw(&self.config)
    }
}

impl Stream {
    fn draw(&mut self, config: &MixConfig) -> Result<Example, DataError> {
        loop {
            if let Some(example) = self.pending.pop_front() {
                return Ok(example);
            }
            let Some(game) = self.next_game()? else {
                self.end_pass(config)?;
                continue;
            };
            let plies = self.chosen(&game, config);
            let mut sampler = Sampler {
                kinds: config.kinds,
                excluded: &config.excluded,
                recent: &mut self.recent,
                rng: &mut self.rng,
                counts: &mut self.report.counts,
            };
            sampler.sample(&game, &plies, &mut self.pending)?;
            self.gave |= !self.pending.is_empty();
            if game.header().chess960 {
                self.report.counts.chess960 += self.pending.len() as u64;
            }
            self.mirror_some(config.kinds.mirror_share);
        }
    }

    fn mirror_some(&mut self, share: f64) {
        for example in &mut self.pending {
            if has_mirror(example) && self.mirror_rng.chance(share) {
                mirror(example);
                self.report.counts.mirrored += 1;
            }
        }
    }

    /// The plies of `game` in this pass; none if it is held out.
    fn chosen(&self, game: &Game, config: &MixConfig) -> Vec<usize> {
        let index = game.header().index;
        if config.holds_out(index) {
            return Vec::new();
        }
        let pass = Pass { seed: self.seed, number: self.report.passes, stride: config.stride };
        let mut plies = candidates(game, &config.kinds);
        plies.retain(|&ply| {
            pass.takes(index, ply) && pass.keeps(index, ply, kept(&config.kinds, game, ply))
        });
        plies
    }

    fn next_game(&mut self) -> Result<Option<Game>, DataError> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(FileReader::open(&self.report.path)?),
        };
        match reader.next() {
            Some(game) => {
                self.report.games += 1;
                game.map(Some)
            }
            None => {
                self.report.cut += u64::from(reader.cut());
                self.reader = None;
                Ok(None)
            }
        }
    }

    /// A file smaller than the window yields only duplicates: the window is then cleared; a file that still
    /// yields nothing is an error.
    fn end_pass(&mut self, config: &MixConfig) -> Result<(), DataError> {
        self.report.passes += 1;
        self.empty_passes = if self.gave { 0 } else { self.empty_passes + 1 };
        self.gave = false;
        if self.empty_passes == config.stride {
            self.recent.clear();
        }
        if self.empty_passes > config.stride * 4 {
            let path = self.report.path.display();
            return Err(DataError::Config(format!(
                "{path} gave no example in {} passes",
                self.empty_passes
            )));
        }
        Ok(())
    }

    /// Skips about as many candidates as an earlier run took from this source.
    fn skip_ahead(&mut self, config: &MixConfig) -> Result<(), DataError> {
        let mut rest = (config.skip as f64 * self.share) as u64;
        let mut in_pass = 0;
        while rest > 0 {
            match self.next_game()? {
                Some(game) => {
                    let taken = self.chosen(&game, config).len() as u64;
                    in_pass += taken;
                    rest = rest.saturating_sub(taken);
                }
                None if in_pass == 0 => return Ok(()),
                None => {
                    // Passes are about equally long: whole ones need not be read.
                    self.report.passes += 1 + rest / in_pass;
                    rest %= in_pass;
                    in_pass = 0;
                }
            }
        }
        Ok(())
    }
}

/// Mixes on its own thread: batches of `batch` examples, at most `queue` waiting. The thread ends when the
/// receiver is dropped or after it has sent an error.
pub fn spawn(
    config: MixConfig,
    batch: usize,
    queue: usize,
) -> Receiver<Result<Vec<Example>, DataError>> {
    let (sender, receiver) = bounded(queue);
    std::thread::spawn(move || {
        let mut mixer = match Mixer::new(config) {
            Ok(mixer) => mixer,
            // A dropped receiver is no error.
            Err(error) => return drop(sender.send(Err(error))),
        };
        loop {
            let next = mixer.next_batch(batch);
            let failed = next.is_err();
            if sender.send(next).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests;
