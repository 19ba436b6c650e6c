//! `mavka-lab treebench`: playouts per second of the search alone, on real chess positions, with an evaluator
//! that costs next to nothing: what the tree, the rules and the threads can do, whatever the network.

use crate::measure::MeasureError;
use crate::plots::{Curve, Picture};
use chess::game::Game;
use engine::options::settings::Settings;
use engine::play::tree::params::{rules_world, search_params};
use engine::process::host;
use engine::world::RulesWorld;
use engine::world::rules::RulesState;
use mcts::Audit;
use mcts::{Patient, Searcher};
use nn::Evaluator;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Middle games of `assets/bench.epd`, with some 40 moves each.
const POSITIONS: [&str; 3] = [
    "4rrk1/pp1n3p/3q2pQ/2p1pb2/2PP4/2P3N1/P2B2PP/4RRK1 b - - 7 19",
    "rq3rk1/ppp2ppp/1bnpb3/3N2B1/3NP3/7P/PPPQ1PP1/2KR3R w - - 7 14",
    "r4rk1/1b2ppbp/pq4pn/2pp1PB1/1p2P3/1P1P1NN1/1PP3PP/R2Q1RK1 w - - 0 13",
];
/// Tree memory for each playout, garbage included: ample, so that no tree is ever full.
const BYTES_PER_PLAYOUT: u64 = 640;
/// Stretches of the search that are timed apart; the last one tells the speed at full size.
const STRETCHES: u64 = 10;

/// The positions to search, and how.
#[derive(Clone, Debug)]
pub struct TreeBench {
    /// Playouts from each position: how large its tree becomes.
    pub nodes: u64,
    /// Numbers of search threads to try; empty for one, two, four and so on up to all cores.
    pub threads: Vec<usize>,
    /// Leaves that a thread gathers at once.
    pub batch: usize,
    /// The evaluator of the leaves.
    pub evaluator: EvaluatorKind,
    /// Positions to search; empty for three middle games.
    pub fens: Vec<String>,
    /// Draw speed over tree size into this SVG.
    pub plot: Option<PathBuf>,
}

/// The evaluator of the leaves; each costs next to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluatorKind {
    /// No opinion.
    Uniform,
    /// Quick ones.
    Quick,
    /// The ones of `mavka bench`.
    Hashed,
}

impl EvaluatorKind {
    fn make(self) -> Arc<dyn Evaluator> {
        match self {
            EvaluatorKind::Uniform => Arc::new(nn::evaluator::fake::Uniform),
            EvaluatorKind::Quick => Arc::new(nn::evaluator::fake::Quick),
            EvaluatorKind::Hashed => Arc::new(nn::evaluator::fake::Hashed::default()),
        }
    }
}

/// All searches with one number of threads, added up.
#[derive(Default)]
struct ThreadsRow {
    threads: usize,
    playouts: u64,
    /// By stretch.
    times: [Duration; STRETCHES as usize],
    /// Playouts times their depth.
    plies: u64,
    collisions: u64,
    expanded: u64,
    bytes: u64,
}

impl ThreadsRow {
    fn add(&mut self, audit: &Audit) {
        self.expanded += audit.expanded;
        self.bytes += audit.bytes;
    }

    fn per_second(&self) -> f64 {
        self.playouts as f64 / self.times.iter().sum::<Duration>().as_secs_f64()
    }

    /// Playouts a second in one stretch.
    fn speed(&self, stretch: usize) -> f64 {
        self.playouts as f64 / STRETCHES as f64 / self.times[stretch].as_secs_f64()
    }

    fn at_full_size(&self) -> f64 {
        self.speed(STRETCHES as usize - 1)
    }
}

impl TreeBench {
    /// Searches, and says a line for each number of threads.
    ///
    /// # Errors
    /// A position cannot be read, the memory is not there, or the picture cannot be written.
    pub fn run(&self, say: &mut dyn FnMut(String)) -> Result<(), MeasureError> {
        let fens: Vec<&str> = match self.fens.is_empty() {
            true => POSITIONS.to_vec(),
            false => self.fens.iter().map(String::as_str).collect(),
        };
        let games: Vec<Game> =
            fens.iter().map(|fen| Game::from_fen(fen, false)).collect::<Result<_, _>>()?;
        let tree = self.nodes.saturating_mul(BYTES_PER_PLAYOUT);
        let mb = usize::try_from(tree >> 20).unwrap_or(usize::MAX).max(1);
        if host::hash_mb(mb, 0) < mb {
            return Err(MeasureError::Refused(format!(
                "a tree of {} nodes takes {mb} MB, and they are not free",
                self.nodes
            )));
        }
        say(format!(
            "{} positions, {} playouts each, {} leaves at once, evaluator {:?}",
            games.len(),
            self.nodes,
            self.batch,
            self.evaluator
        ));
        say(format!(
            "{:>7} {:>12} {:>12} {:>7} {:>6} {:>11} {:>11}",
            "threads", "playouts/s", "at the end", "times", "depth", "collisions", "bytes/pos."
        ));
        let settings = Settings::default();
        let world = rules_world(self.evaluator.make(), &settings);
        let params = search_params(&settings, self.batch);
        let mut searcher = Searcher::new(params, mb << 20);
        // Not counted: the first touch of the tree's memory is the system's work, not the search's.
        if let Some(game) = games.first() {
            self.search(
                &mut searcher,
                &world,
                game,
                &mut ThreadsRow { threads: host::threads(usize::MAX), ..ThreadsRow::default() },
            )?;
        }
        let mut rows: Vec<ThreadsRow> = Vec::new();
        for threads in self.threads() {
            let mut row = ThreadsRow { threads, ..ThreadsRow::default() };
            for game in &games {
                self.search(&mut searcher, &world, game, &mut row)?;
            }
            let first = rows.first().map_or(row.at_full_size(), ThreadsRow::at_full_size);
            say(format!(
                "{threads:>7} {:>12.0} {:>12.0} {:>7.2} {:>6.1} {:>9.1} % {:>11.0}",
                row.per_second(),
                row.at_full_size(),
                row.at_full_size() / first,
                row.plies as f64 / row.playouts.max(1) as f64,
                100.0 * row.collisions as f64 / row.playouts.max(1) as f64,
                row.bytes as f64 / row.expanded.max(1) as f64
            ));
            rows.push(row);
        }
        self.plot.as_ref().map_or(Ok(()), |path| Ok(self.picture(&rows).draw(path)?))
    }

    fn threads(&self) -> Vec<usize> {
        if !self.threads.is_empty() {
            return self.threads.iter().map(|&wanted| host::threads(wanted)).collect();
        }
        let most = host::threads(usize::MAX);
        let mut all: Vec<usize> = (0..).map(|n| 1 << n).take_while(|&n| n < most).collect();
        all.push(most);
        all
    }

    fn search(
        &self,
        searcher: &mut Searcher<RulesWorld>,
        world: &RulesWorld,
        game: &Game,
        row: &mut ThreadsRow,
    ) -> Result<(), MeasureError> {
        searcher.clear();
        searcher.set_root(RulesState::root(game));
        for time in &mut row.times {
            let started = Instant::now();
            let some = Some(self.nodes / STRETCHES);
            let outcome = searcher.run(world, row.threads, some, &Patient);
            *time += started.elapsed();
            if let Some(error) = outcome.error {
                return Err(error.into());
            }
            let snapshot = outcome.snapshot;
            row.playouts += snapshot.playouts;
            row.plies += snapshot.playouts * u64::from(snapshot.depth);
            row.collisions += snapshot.collisions;
        }
        row.add(&searcher.audit());
        Ok(())
    }

    fn picture(&self, rows: &[ThreadsRow]) -> Picture {
        let thousand = self.nodes as f64 / 1000.0;
        let curve = |row: &ThreadsRow| Curve {
            name: match row.threads {
                1 => "1 thread".to_owned(),
                n => format!("{n} threads"),
            },
            points: (0..STRETCHES as usize)
                .map(|i| ((i as f64 + 0.5) / STRETCHES as f64 * thousand, row.speed(i) / 1000.0))
                .collect(),
        };
        Picture {
            title: "Playouts per second".to_owned(),
            x: "playouts done, in thousands".to_owned(),
            y: "thousand playouts/s".to_owned(),
            curves: rows.iter().map(curve).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_playout_is_counted_and_the_picture_shows_each_number_of_threads() {
        let bench = TreeBench {
            nodes: 2000,
            threads: vec![1, 2],
            batch: 4,
            evaluator: EvaluatorKind::Quick,
            fens: Vec::new(),
            plot: None,
        };
        let world = rules_world(bench.evaluator.make(), &Settings::default());
        let mut searcher = Searcher::new(search_params(&Settings::default(), 4), 4 << 20);
        let rows: Vec<ThreadsRow> = [1, 2]
            .into_iter()
            .map(|threads| {
                let mut row = ThreadsRow { threads, ..ThreadsRow::default() };
                let game = Game::from_fen(POSITIONS[0], false).unwrap();
                bench.search(&mut searcher, &world, &game, &mut row).unwrap();
                row
            })
            .collect();
        for row in &rows {
            assert_eq!(row.playouts, 2000);
            assert!(row.expanded > 1000 && row.bytes / row.expanded < 640, "{}", row.bytes);
        }
        let picture = bench.picture(&rows);
        assert_eq!(picture.curves[1].name, "2 threads");
        assert_eq!(picture.curves[0].points.len(), STRETCHES as usize);
    }
}
