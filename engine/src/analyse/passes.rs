//! The two passes of an analysis: every position gets a short search; suspected mistakes get a longer one, before and
//! after the move.
//!
//! Positions are dealt to threads, each with a tree of its own, and with one network and one evaluation cache for all.
//! The order in which the cache is filled can change a value slightly; one thread repeats itself exactly.

use super::cost::{Cost, Estimate};
use super::error::AnalyseError;
use super::found::{PositionResult, SearchRequest, identity, over};
use super::journal::{Journal, Pass};
use super::judge::{Glyph, Judgement, MISTAKE};
use super::review::Review;
use crate::chess::game::Game;
use crate::pgn::PgnGame;
use crate::play::analyst::{Analyst, Effort};
use crate::progress::weighted;
use crate::workers::{Crew, NEVER, deal};
use std::collections::HashSet;

/// Effort of the second search as a multiple of the first.
pub const SECOND_EFFORT: u32 = 5;

/// Who searches, how long, and until when.
pub struct Passes<'a> {
    /// Its siblings search.
    pub analyst: &'a Analyst,
    /// Limits of a first search.
    pub effort: Effort,
    /// Maximum number of better lines per move.
    pub lines: usize,
    /// Threads, at least one.
    pub workers: usize,
    /// Polled; true stops all searches.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Passes<'_> {
    /// Both passes. `announce` is called with the cost before the first search.
    ///
    /// # Errors
    /// The journal cannot be written, or the network failed.
    pub fn run(
        &self,
        games: &[PgnGame],
        announce: &dyn Fn(&Cost),
        journal: &mut Journal,
    ) -> Result<AnalysisProgress, AnalyseError> {
        let positions = games.iter().enumerate();
        let positions = positions.flat_map(|(game, read)| {
            read.positions().into_iter().map(move |position| (game, position))
        });
        let first = Queue::new(positions, Pass::First, journal);
        let efforts = [self.effort, self.effort.times(SECOND_EFFORT)];
        let mut estimate = Estimate::new(efforts, first.all);
        // Open positions of each game: one that has none left is judged, which improves the estimate.
        let mut left = vec![0; games.len()];
        first.open.iter().for_each(|open| left[open.game] += 1);
        let judge = |estimate: &mut Estimate, game: &PgnGame, journal: &Journal| {
            estimate.learn(game.line.moves.len() + 1, suspects(game, journal, self.lines).len());
        };
        for (game, _) in games.iter().zip(&left).filter(|(_, left)| **left == 0) {
            judge(&mut estimate, game, journal);
        }
        let second_done = journal.count(Pass::Second) as f64;
        announce(&Cost {
            games: games.len(),
            positions: first.all,
            searches: [
                first.open.len() as f64,
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

        let searched = self.search(&first, self.effort, journal, &mut |open, journal| {
            let game = &games[open.game];
            bar.set_message(format!("game {}", game.number));
            bar.inc(estimate.first_units(1));
            left[open.game] -= 1;
            if left[open.game] == 0 {
                judge(&mut estimate, game, journal);
                bar.set_length(estimate.total());
            }
        })?;
        let first_done =
            AnalysisProgress { searched: first.done() + searched, positions: first.all };
        if !first_done.is_complete() {
            bar.finish_and_clear();
            return Ok(first_done);
        }

        let suspected = games.iter().enumerate().flat_map(|(game, read)| {
            suspects(read, journal, self.lines).into_iter().map(move |position| (game, position))
        });
        let second = Queue::new(suspected, Pass::Second, journal);
        estimate.settle(second.all);
        bar.set_length(estimate.total());
        bar.inc(estimate.second_units(second.done()));
        let searched = self.search(&second, efforts[1], journal, &mut |open, _| {
            bar.set_message(format!("second searches, game {}", games[open.game].number));
            bar.inc(estimate.second_units(1));
        })?;
        bar.finish_and_clear();
        Ok(AnalysisProgress {
            searched: first.all + second.done() + searched,
            positions: first.all + second.all,
        })
    }

    /// Searches the open positions; `listen` is called after each, whose result is in the journal. Returns the number
    /// of finished searches.
    fn search(
        &self,
        queue: &Queue,
        effort: Effort,
        journal: &mut Journal,
        listen: &mut dyn FnMut(&Open, &Journal),
    ) -> Result<usize, AnalyseError> {
        let mut searched = 0;
        let start = || {
            let mut analyst = self.analyst.sibling();
            Ok(move |open: &Open| {
                if (self.stop)() {
                    return Ok(None);
                }
                let request = SearchRequest { game: &open.position, effort, lines: self.lines };
                Ok(PositionResult::search(&mut analyst, &request, self.stop)?)
            })
        };
        let crew = Crew { count: self.workers, stop: &NEVER };
        deal(&queue.open, crew, start, |open, found: Option<PositionResult>| {
            if let Some(found) = found {
                journal.add(open.identity, queue.pass, found)?;
                searched += 1;
                listen(open, journal);
            }
            Ok::<(), AnalyseError>(())
        })?;
        Ok(searched)
    }
}

/// Positions for a second search: before and after suspected mistakes and only moves.
fn suspects(game: &PgnGame, journal: &Journal, lines: usize) -> Vec<Game> {
    let Review { positions, judgements, .. } = Review::at_first(game, journal, lines);
    let is_suspect = |place: usize| {
        let judged = judgements.get(place).and_then(Option::as_ref);
        judged.is_some_and(|judged: &Judgement| {
            judged.loss() >= MISTAKE || judged.glyph == Some(Glyph::Good)
        })
    };
    let is_wanted = |place: usize| is_suspect(place) || place > 0 && is_suspect(place - 1);
    let places = positions.into_iter().enumerate().filter(|(place, _)| is_wanted(*place));
    places.map(|(_, position)| position).collect()
}

/// Positions of one pass.
struct Queue {
    pass: Pass,
    /// Different positions.
    all: usize,
    /// Those that the journal lacks.
    open: Vec<Open>,
}

impl Queue {
    fn new(
        positions: impl IntoIterator<Item = (usize, Game)>,
        pass: Pass,
        journal: &Journal,
    ) -> Queue {
        let mut seen = HashSet::new();
        let mut open = Vec::new();
        for (game, position) in positions {
            let identity = identity(&position);
            if over(&position).is_none()
                && seen.insert(identity)
                && journal.get(identity, pass).is_none()
            {
                open.push(Open { game, identity, position });
            }
        }
        Queue { pass, all: seen.len(), open }
    }

    fn done(&self) -> usize {
        self.all - self.open.len()
    }
}

/// A position to search.
struct Open {
    /// Index of the first game that has it.
    game: usize,
    identity: u64,
    position: Game,
}
