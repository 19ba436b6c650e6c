//! Tries many puzzles at once, each worker with a solver of its own.

use super::{Attempt, Puzzle, Solver, attempt};
use crossbeam::channel::{bounded, unbounded};
use std::thread;

/// At most `limit` of them at equal distances: files are often sorted by theme or rating.
#[must_use]
pub fn spread<T>(things: Vec<T>, limit: usize) -> Vec<T> {
    let count = things.len();
    let wanted = |index: usize| index * limit / count != (index + 1) * limit / count;
    let chosen = things.into_iter().enumerate();
    chosen.filter(|&(index, _)| limit >= count || wanted(index)).map(|(_, thing)| thing).collect()
}

/// Tries all puzzles with `workers` solvers; `listen` hears of each attempt on the calling thread, in the
/// order of completion. The first error ends it.
///
/// # Errors
/// A solver could not be started, or failed.
pub fn solve_all<S: Solver<Error: Send>>(
    puzzles: &[Puzzle],
    workers: usize,
    start: impl Fn() -> Result<S, S::Error> + Sync,
    mut listen: impl FnMut(&Puzzle, Attempt),
) -> Result<(), S::Error> {
    let (jobs, queue) = unbounded();
    for puzzle in puzzles {
        // The queue is held below, so this cannot fail.
        let _ = jobs.send(puzzle);
    }
    drop(jobs);
    let (results, finished) = bounded(0);
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, puzzles.len().max(1)) {
            let (queue, results, start) = (queue.clone(), results.clone(), &start);
            scope.spawn(move || {
                let mut solver = match start() {
                    Ok(solver) => solver,
                    Err(error) => {
                        let _ = results.send(Err(error));
                        return;
                    }
                };
                for puzzle in queue {
                    let tried = attempt(puzzle, &mut solver).map(|tried| (puzzle, tried));
                    let broken = tried.is_err();
                    // Nobody listens any more after an error elsewhere.
                    if results.send(tried).is_err() || broken {
                        return;
                    }
                }
            });
        }
        drop(results);
        for result in finished {
            let (puzzle, tried) = result?;
            listen(puzzle, tried);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::action::Action;
    use crate::chess::game::Game;
    use crate::measure::puzzles::Task;

    fn puzzles(count: usize) -> Vec<Puzzle> {
        let game = Game::default();
        let best = vec![Action::from_uci("e2e4", game.position()).unwrap()];
        let puzzle = |index: usize| Puzzle {
            id: index.to_string(),
            game: game.clone(),
            task: Task::Best { best: best.clone(), avoid: vec![] },
            rating: Some(1000),
        };
        (0..count).map(puzzle).collect()
    }

    fn answer(word: &'static str) -> impl FnMut(&Game) -> Result<Action, String> {
        move |game| Action::from_uci(word, game.position()).ok_or_else(|| "no move".to_owned())
    }

    #[test]
    fn every_puzzle_is_tried_once() {
        let all = puzzles(50);
        let mut ids = Vec::new();
        let start = || Ok::<_, String>(answer("e2e4"));
        solve_all(&all, 3, start, |puzzle, tried| {
            assert!(tried.solved);
            ids.push(puzzle.id.parse::<usize>().unwrap());
        })
        .unwrap();
        ids.sort_unstable();
        assert_eq!(ids, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn broken_solvers_end_it() {
        let all = puzzles(50);
        let broken = || Ok::<_, String>(answer("e2e5"));
        assert_eq!(solve_all(&all, 2, broken, |_, _| ()), Err("no move".to_owned()));
        let absent = || {
            if all.is_empty() { Ok(answer("e2e4")) } else { Err("absent".to_owned()) }
        };
        assert_eq!(solve_all(&all, 2, absent, |_, _| ()), Err("absent".to_owned()));
    }

    #[test]
    fn samples_are_spread_evenly() {
        let ids = |limit| {
            spread(puzzles(10), limit).iter().map(|p| p.id.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ids(2), "4 9");
        assert_eq!(ids(5), "1 3 5 7 9");
        assert_eq!(spread(puzzles(10), 10).len(), 10);
        assert_eq!(spread(puzzles(10), 99).len(), 10);
        assert_eq!(spread(puzzles(10), 0).len(), 0);
    }
}
