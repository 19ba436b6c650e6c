//! Labelled positions, and batches of them as the network's inputs and targets.

use games::game::{Game, Grid, Image};
use games::net::{CELLS, ENDS, PLANES, RESULTS, planes};
use games::world::INTRINSIC;
use nn::net::config::BUCKETS;
use std::borrow::Cow;
use train::network::Buckets;

/// Added to the logit of an illegal move.
pub(super) const NEVER: f32 = -1e9;

/// A labelled position.
#[derive(Clone, Debug)]
pub struct Sample<S> {
    /// The position.
    pub state: S,
    /// Share of the visits of each legal move, in the order of [`Game::moves`]; empty if unknown.
    pub policy: Vec<f32>,
    /// Win probability of each legal move; NaN if unknown.
    pub values: Vec<f32>,
    /// The game's result for the side to move: 0, ½ or 1.
    pub score: f32,
    /// The player whose position it is.
    pub player: usize,
    /// Its rewards from here on as the side to move, and as the other side; NaN if unknown.
    pub intrinsic: [f32; INTRINSIC],
}

impl<S> Sample<S> {
    /// A position of which only the rules are known.
    pub(super) fn unlabelled(state: S) -> Sample<S> {
        let intrinsic = [f32::NAN; INTRINSIC];
        Sample { state, policy: Vec::new(), values: Vec::new(), score: 0.5, player: 0, intrinsic }
    }
}

/// How a sample is used in one batch.
pub(super) struct SampleUse<'a, S: Clone> {
    pub sample: Cow<'a, Sample<S>>,
    /// Index of the symmetry.
    pub image: usize,
    /// A legal move to mark: then the next state is the only target.
    pub marked: Option<u16>,
}

/// Inputs and targets of `n` samples; a target without a label is zero. `a` moves, `t` tokens of a padded board.
pub(super) struct Batch {
    pub n: usize,
    /// `[margin + n * t + margin, PLANES]`.
    pub planes: Vec<f32>,
    /// `[n, a]`: 0, or [`NEVER`] for an illegal move.
    pub padding: Vec<f32>,
    /// `[n, a]`.
    pub policy: Vec<f32>,
    /// `[n, a, 64]`; the rows of a sample sum to 1.
    pub actions: Vec<f32>,
    /// `[n, 64]`.
    pub value: Vec<f32>,
    /// `[n, RESULTS]`.
    pub result: Vec<f32>,
    /// `[n, a]`, and `[n, 1]` which samples count.
    pub legal: Vec<f32>,
    pub unmarked: Vec<f32>,
    /// `[n, cells, CELLS]`; the rows of a sample sum to 1.
    pub cells: Vec<f32>,
    /// `[n, ENDS]`.
    pub end: Vec<f32>,
    /// `[n]`.
    pub players: Vec<usize>,
    /// `[n, INTRINSIC]`; NaN without a target.
    pub intrinsic: Vec<f32>,
}

/// Rows of a batch of padded boards: one empty token behind each row, one empty row behind each board, so that a neighbour is a fixed
/// number of tokens away.
#[derive(Clone, Copy)]
pub(super) struct Padding {
    /// Tokens of a row.
    pub width: usize,
    /// Rows of a board.
    pub rows: usize,
}

impl Padding {
    pub fn of(grid: &Grid) -> Padding {
        Padding { width: grid.columns + 1, rows: grid.rows + 1 }
    }

    pub fn tokens(&self) -> usize {
        self.width * self.rows
    }

    /// Empty tokens before the first board, and behind the last.
    pub fn margin(&self) -> usize {
        self.width + 1
    }
}

impl Batch {
    pub fn new<G: Game>(
        game: &G,
        grid: &Grid,
        uses: &[SampleUse<'_, G::State>],
        buckets: &Buckets,
    ) -> Batch {
        let (n, a, cells) = (uses.len(), grid.moves.len(), grid.cells());
        let padding = Padding::of(grid);
        let zeros = |len: usize| vec![0.0; len];
        let mut batch = Batch {
            n,
            planes: zeros((n * padding.tokens() + 2 * padding.margin()) * PLANES),
            padding: vec![NEVER; n * a],
            policy: zeros(n * a),
            actions: zeros(n * a * BUCKETS),
            value: zeros(n * BUCKETS),
            result: zeros(n * RESULTS),
            legal: zeros(n * a),
            unmarked: zeros(n),
            cells: zeros(n * cells * CELLS),
            end: zeros(n * ENDS),
            players: uses.iter().map(|used| used.sample.player).collect(),
            intrinsic: vec![f32::NAN; n * INTRINSIC],
        };
        for (i, used) in uses.iter().enumerate() {
            let SampleUse { sample, marked, .. } = used;
            let image = &grid.images[used.image];
            let number =
                |action: u16| image.moves[usize::from(game.in_view(&sample.state, action))];
            let seen = mapped(&game.encode(&sample.state), image);
            let first = padding.margin() + i * padding.tokens();
            let token =
                |cell: usize| first + cell / grid.columns * padding.width + cell % grid.columns;
            planes(grid, &seen, marked.map(number), &mut batch.planes, token);
            // The loss of a sample without legal moves there is zero, but it must be finite.
            batch.padding[i * a] = 0.0;
            match marked {
                Some(action) => batch.add_next(game, image, i, &sample.state, *action),
                None => batch.add(game, i, sample, buckets, number),
            }
        }
        batch
    }

    /// The labels of a position.
    fn add<G: Game>(
        &mut self,
        game: &G,
        i: usize,
        sample: &Sample<G::State>,
        buckets: &Buckets,
        number: impl Fn(u16) -> u16,
    ) {
        let a = self.padding.len() / self.n;
        let known = sample.values.iter().filter(|value| value.is_finite()).count().max(1);
        self.padding[i * a] = NEVER;
        for (at, action) in game.moves(&sample.state).into_iter().enumerate() {
            let place = i * a + usize::from(number(action));
            self.padding[place] = 0.0;
            self.legal[place] = 1.0;
            self.policy[place] = sample.policy.get(at).copied().unwrap_or(0.0);
            if let Some(value) = sample.values.get(at).filter(|value| value.is_finite()) {
                let row = &mut self.actions[place * BUCKETS..][..BUCKETS];
                let target = buckets.target(*value).iter();
                row.iter_mut().zip(target).for_each(|(row, p)| *row = p / known as f32);
            }
        }
        self.value[i * BUCKETS..][..BUCKETS].copy_from_slice(buckets.target(sample.score));
        self.result[i * RESULTS + (2.0 * sample.score).round() as usize] = 1.0;
        self.unmarked[i] = 1.0;
        self.intrinsic[i * INTRINSIC..][..INTRINSIC].copy_from_slice(&sample.intrinsic);
    }

    /// The state after a move, in the view of the side that plays it.
    fn add_next<G: Game>(
        &mut self,
        game: &G,
        image: &Image,
        i: usize,
        state: &G::State,
        action: u16,
    ) {
        let mut next = state.clone();
        game.play(&mut next, action);
        self.end[i * ENDS + end_class(game, &next)] = 1.0;
        let seen = mapped(&game.encode(&game.passed(&next)), image);
        let targets = &mut self.cells[i * seen.len() * CELLS..][..seen.len() * CELLS];
        for (target, class) in targets.chunks_mut(CELLS).zip(&seen) {
            target[usize::from(*class)] = 1.0 / seen.len() as f32;
        }
    }
}

/// The class of a state among the network's ends: ongoing, lost for its mover, drawn.
pub(super) fn end_class<G: Game>(game: &G, state: &G::State) -> usize {
    game.end(state).map_or(0, |result| if result.loss > 0.5 { 1 } else { 2 })
}

fn mapped(cells: &[u8], image: &Image) -> Vec<u8> {
    let mut moved = vec![0; cells.len()];
    image.cells.iter().zip(cells).for_each(|(to, class)| moved[usize::from(*to)] = *class);
    moved
}
