//! The two passes of an analysis: every position gets a short search; positions that a glyph rests on get a longer one,
//! until no glyph rests on a short one.
//!
//! Segments of neighbouring positions are dealt to threads, each with a tree of its own, and with one network and one
//! evaluation cache for all. The order in which the cache is filled can change a value slightly; one thread repeats
//! itself exactly.

use super::cost::{Cost, Estimate};
use super::error::AnalyseError;
use super::found::{PositionResult, SearchLimits, identity, over};
use super::journal::{Journal, SearchPass};
use super::review::{Review, Rules};
use crate::pgn::{PgnGame, Positions};
use crate::play::analyst::{Analyst, Effort};
use crate::process::progress::weighted;
use crate::process::workers::{NEVER, WorkerLimits, deal};
use indicatif::ProgressBar;
use std::collections::HashSet;

/// Effort of the second search as a multiple of the first.
pub const SECOND_EFFORT: u32 = 4;
/// Maximum number of positions of a segment: the tree and the table of one search help the next. More leave threads
/// idle at the end of a single game. Guess.
const SEGMENT: usize = 24;

/// The searcher, its effort, and the signal to stop.
pub struct PassRunner<'a> {
    /// Its siblings search.
    pub analyst: &'a Analyst,
    /// Limits of a first search.
    pub effort: Effort,
    /// How moves are judged.
    pub rules: Rules,
    /// Threads, at least one.
    pub workers: usize,
    /// Polled; true stops all searches.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalysisProgress {
    /// Finished searches.
    pub searched: usize,
    /// All searches, as far as known: the second ones only after the first pass.
    pub positions: usize,
}

impl AnalysisProgress {
    /// Whether all positions are searched.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.searched == self.positions
    }
}

impl PassRunner<'_> {
    /// Both passes. `announce` is called with the cost before the first search.
    ///
    /// # Errors
    /// The journal cannot be written, or the network failed.
    pub fn run(
        &self,
        games: &[PgnGame],
        announce: &dyn Fn(Cost),
        journal: &mut Journal,
    ) -> Result<AnalysisProgress, AnalyseError> {
        let all = games.iter().enumerate().flat_map(|(game, read)| {
            let positions = Positions::of(read);
            let places =
                (0..positions.count()).filter(|place| over(positions.board(*place)).is_none());
            places.map(|place| (game, place, identity(&positions.game(place)))).collect::<Vec<_>>()
        });
        let mut seen = HashSet::new();
        let first = Queue::new(
            all.filter(|(.., identity)| seen.insert(*identity)),
            SearchPass::First,
            journal,
        );
        let efforts = [self.effort, self.effort.times(SECOND_EFFORT)];
        let mut estimate = Estimate::new(efforts, first.all);
        // Open positions of each game: one that has none left is judged, which improves the estimate.
        let mut left = vec![0; games.len()];
        first.open.iter().for_each(|open| left[open.game] += open.places.len());
        let judge = |estimate: &mut Estimate, game: &PgnGame, journal: &Journal| {
            let unsure = self.review(game, journal, &HashSet::new()).unsure().len();
            estimate.learn(game.line.moves.len() + 1, unsure);
        };
        for (game, _) in games.iter().zip(&left).filter(|(_, left)| **left == 0) {
            judge(&mut estimate, game, journal);
        }
        let second_done = journal.count(SearchPass::Second) as f64;
        announce(Cost {
            games: games.len(),
            more: false,
            positions: first.all,
            searches: [
                (first.all - first.done()) as f64,
                (estimate.second_searches() - second_done).max(0.0),
            ],
            efforts,
            workers: self.workers,
            evaluation: self.analyst.evaluation_time(),
        });
        let bar = weighted(estimate.total());
        bar.set_position(estimate.first_units(first.done()));
        // Excludes results of earlier runs from the speed.
        bar.reset_eta();
        let searched = self.search(games, &first, efforts[0], journal, &mut |open, journal| {
            let (game, count) = (&games[open.game], open.places.len());
            bar.set_message(format!("game {}", game.number));
            bar.inc(estimate.first_units(count));
            left[open.game] -= count;
            if left[open.game] == 0 {
                judge(&mut estimate, game, journal);
                bar.set_length(estimate.total());
            }
        })?;
        let mut done = AnalysisProgress { searched: first.done() + searched, positions: first.all };
        if done.is_complete() {
            self.search_again(games, (&mut estimate, &bar), journal, &mut done)?;
        }
        bar.finish_and_clear();
        Ok(done)
    }

    /// The second pass, in rounds: a longer search may move a glyph to a neighbour.
    fn search_again(
        &self,
        games: &[PgnGame],
        (estimate, bar): (&mut Estimate, &ProgressBar),
        journal: &mut Journal,
        done: &mut AnalysisProgress,
    ) -> Result<(), AnalyseError> {
        // Only rounds before count, not what an interrupted run has of later ones: a resumed run repeats them.
        let mut longer = HashSet::new();
        let mut second = 0;
        loop {
            let unsure: Vec<(usize, usize, u64)> = games
                .iter()
                .enumerate()
                .flat_map(|(game, read)| {
                    let review = self.review(read, journal, &longer);
                    let places = review.unsure().into_iter();
                    places
                        .map(|place| (game, place, identity(&review.positions.game(place))))
                        .collect::<Vec<_>>()
                })
                .collect();
            let new = unsure.into_iter().filter(|(.., identity)| longer.insert(*identity));
            let round = Queue::new(new.collect::<Vec<_>>(), SearchPass::Second, journal);
            if round.all == 0 {
                return Ok(());
            }
            second += round.all;
            done.positions += round.all;
            estimate.settle(second);
            bar.set_length(estimate.total());
            bar.inc(estimate.second_units(round.done()));
            let effort = self.effort.times(SECOND_EFFORT);
            let searched = self.search(games, &round, effort, journal, &mut |open, _| {
                bar.set_message(format!("second searches, game {}", games[open.game].number));
                bar.inc(estimate.second_units(open.places.len()));
            })?;
            done.searched += round.done() + searched;
            if !done.is_complete() {
                return Ok(());
            }
        }
    }

    /// The game by its first searches, and the second ones of these positions.
    fn review<'a>(
        &self,
        game: &'a PgnGame,
        journal: &'a Journal,
        longer: &HashSet<u64>,
    ) -> Review<'a> {
        let lookup = |identity| {
            let second =
                journal.get(identity, SearchPass::Second).filter(|_| longer.contains(&identity));
            let first = || Some((journal.get(identity, SearchPass::First)?, false));
            second.map(|found| (found, true)).or_else(first)
        };
        Review::new(game, &lookup, self.rules)
    }

    /// Searches the open segments; `listen` is called after each, whose results are in the journal. Returns the number
    /// of finished searches.
    fn search(
        &self,
        games: &[PgnGame],
        queue: &Queue,
        effort: Effort,
        journal: &mut Journal,
        listen: &mut dyn FnMut(&Segment, &Journal),
    ) -> Result<usize, AnalyseError> {
        let mut searched = 0;
        let limits = SearchLimits { effort, lines: self.rules.lines };
        let start = || {
            let mut analyst = self.analyst.sibling();
            // The game of the last segment, whose next one is often the next task.
            let mut last: Option<(usize, Positions)> = None;
            Ok(move |open: &Segment| {
                if (self.stop)() {
                    return Ok(None);
                }
                let (game, positions) = match last.take() {
                    Some((game, positions)) if game == open.game => (game, positions),
                    _ => (open.game, Positions::of(&games[open.game])),
                };
                let segment = positions.games(&open.places);
                last = Some((game, positions));
                Ok(PositionResult::search(&mut analyst, &segment, limits, self.stop)?)
            })
        };
        let crew = WorkerLimits { count: self.workers, stop: &NEVER };
        deal(&queue.open, crew, start, |open, found: Option<Vec<PositionResult>>| {
            if let Some(found) = found {
                searched += found.len();
                for (identity, found) in open.identities.iter().zip(found) {
                    journal.add(*identity, queue.pass, found)?;
                }
                listen(open, journal);
            }
            Ok::<(), AnalyseError>(())
        })?;
        Ok(searched)
    }
}

/// Positions of one pass.
struct Queue {
    pass: SearchPass,
    /// Different positions.
    all: usize,
    /// Segments that the journal lacks, or has in part.
    open: Vec<Segment>,
}

impl Queue {
    /// `positions` are games, places and identities, in order. The segments do not depend on what the journal has.
    fn new(
        positions: impl IntoIterator<Item = (usize, usize, u64)>,
        pass: SearchPass,
        journal: &Journal,
    ) -> Queue {
        let mut all = 0;
        let mut open: Vec<Segment> = Vec::new();
        for (game, place, identity) in positions {
            all += 1;
            match open.last_mut().filter(|last| last.game == game && last.places.len() < SEGMENT) {
                Some(last) => {
                    last.places.push(place);
                    last.identities.push(identity);
                }
                None => {
                    let (places, identities) = (vec![place], vec![identity]);
                    open.push(Segment { game, places, identities });
                }
            }
        }
        open.retain(|segment| {
            segment.identities.iter().any(|identity| journal.get(*identity, pass).is_none())
        });
        Queue { pass, all, open }
    }

    fn done(&self) -> usize {
        self.all - self.open.iter().map(|open| open.places.len()).sum::<usize>()
    }
}

/// Positions of one game to search, in order.
struct Segment {
    /// Index of the first game that has them.
    game: usize,
    places: Vec<usize>,
    /// One per position.
    identities: Vec<u64>,
}
