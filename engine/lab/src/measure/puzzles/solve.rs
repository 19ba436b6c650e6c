//! Runs many puzzles in parallel, one solver per worker.

use super::{Attempt, Puzzle, Solver, attempt};
use engine::process::workers::{WorkerLimits, deal};

/// Runs all puzzles with several solvers; `listen` is called for each attempt on the calling thread, in order of
/// completion. Stops at the first error.
///
/// # Errors
/// A solver could not be started, or failed.
pub fn solve_all<S: Solver<Error: Send>>(
    puzzles: &[Puzzle],
    crew: WorkerLimits<'_>,
    start: impl Fn() -> Result<S, S::Error> + Sync,
    mut listen: impl FnMut(&Puzzle, Attempt),
) -> Result<(), S::Error> {
    let start = || {
        let mut solver = start()?;
        Ok(move |puzzle: &Puzzle| attempt(puzzle, &mut solver))
    };
    deal(puzzles, crew, start, |puzzle, tried| {
        listen(puzzle, tried);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::puzzles::Solution;
    use chess::action::Action;
    use chess::game::Game;
    use engine::process::workers::NEVER;

    fn puzzles(count: usize) -> Vec<Puzzle> {
        let game = Game::default();
        let best = vec![Action::from_uci("e2e4", game.position()).unwrap()];
        let puzzle = |index: usize| Puzzle {
            id: index.to_string(),
            game: game.clone(),
            task: Solution::Best { best: best.clone(), avoid: vec![] },
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
        solve_all(&all, WorkerLimits { count: 3, stop: &NEVER }, start, |puzzle, tried| {
            assert!(tried.solved);
            ids.push(puzzle.id.parse::<usize>().unwrap());
        })
        .unwrap();
        ids.sort_unstable();
        assert_eq!(ids, (0..50).collect::<Vec<_>>());
    }
}
