//! Puzzles without search: solutions by each head of the network, and legality.

use crate::measure::puzzles::score::SolverComparison;
use crate::measure::puzzles::{Puzzle, Score, Solution, solve_all};
use chess::action::Action;
use chess::game::Game;
use engine::options::settings::Settings;
use engine::play::players::head_player::{Head, Question};
use engine::process::progress::progress;
use engine::process::workers::WorkerLimits;
use engine::world::rules::RulesState;
use nn::{EvalError, Evaluator};
use shakmaty::Position;
use std::sync::Arc;
use train::data::Example;
use train::data::boards::{unlabelled, unlabelled_action};

/// The predictors of paper 001.
const HEADS: [(&str, Head); 3] = [
    ("policy", Head::Policy),
    ("action value", Head::ActionValue),
    ("state value", Head::StateValue),
];

/// Number of puzzles that each head solves completely.
pub(super) fn solve(
    puzzles: &[Puzzle],
    evaluator: &Arc<dyn Evaluator>,
    crew: WorkerLimits<'_>,
) -> Result<Vec<(&'static str, Score)>, EvalError> {
    let bar = progress(puzzles.len() * HEADS.len());
    let mut scores = Vec::new();
    for (name, head) in HEADS {
        bar.set_message(name);
        let start = || Ok(solver(head, evaluator.clone()));
        let mut score = Score::default();
        solve_all(puzzles, crew, start, |puzzle, tried| {
            score.add(puzzle, &tried);
            bar.inc(1);
        })?;
        scores.push((name, score));
    }
    bar.finish_and_clear();
    Ok(scores)
}

fn solver(
    head: Head,
    evaluator: Arc<dyn Evaluator>,
) -> impl FnMut(&Game) -> Result<Action, EvalError> {
    let settings = Settings::default();
    let world = head.world(evaluator, &settings);
    move |game: &Game| {
        let legal: Vec<Action> =
            game.position().legal_moves().iter().map(|m| Action::new(*m)).collect();
        let root = RulesState::root(game);
        let question = Question {
            head,
            world: &world,
            root: &root,
            allowed: &legal,
            settings: &settings,
            seed: 0,
        };
        let ranked = question.answer()?;
        let best = ranked.lines.first().and_then(|line| line.moves.first());
        best.copied().ok_or(EvalError::NoMoves)
    }
}

/// Rows of the CSV.
pub(super) fn csv(file: &str, scores: &[(&str, Score)]) -> String {
    let mut lines = String::new();
    for (group, counts) in SolverComparison(scores).rows() {
        for ((name, _), count) in scores.iter().zip(counts) {
            let (set, metric) = (format!("{file} {group}"), format!("solved by {name}"));
            let interval = Some(count.interval());
            lines += &super::table::csv_line(&set, &metric, count.share(), interval, count.tried);
        }
    }
    lines
}

/// `MAV(s)` of each puzzle with the first solution move as best move, and `MAV(s, a)` with it as action.
pub(super) fn examples(puzzles: &[Puzzle]) -> [Vec<Example>; 2] {
    let mut sets = [Vec::new(), Vec::new()];
    for puzzle in puzzles {
        let position = puzzle.game.position();
        let best = match &puzzle.task {
            Solution::Line(line) => line.first(),
            // Several solutions: no best move is labelled.
            Solution::Best { best, .. } => best.first().filter(|_| best.len() == 1),
            Solution::Graded(grades) => grades.first().map(|(action, _)| action),
            Solution::Mate(_) | Solution::Value(_) => None,
        };
        let best = best.and_then(|action| action.to_move(position));
        sets[0].push(unlabelled(position, best));
        sets[1].extend(best.and_then(|best| unlabelled_action(position, best)));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::process::workers::NEVER;
    use nn::evaluator::fake::{Breakdown, Failing};

    /// White can capture or block.
    fn puzzle() -> Puzzle {
        let game = Game::from_fen("k7/8/1Q6/8/8/8/7r/K5r1 w - - 0 1", false).unwrap();
        let mut board = game.clone();
        let action = board.play_uci("b6g1").unwrap();
        Puzzle { id: String::new(), game, task: Solution::Line(vec![action]), rating: Some(900) }
    }

    #[test]
    fn every_head_tries_every_puzzle() {
        let puzzles: Vec<Puzzle> = (0..5).map(|_| puzzle()).collect();
        let evaluator: Arc<dyn Evaluator> = Arc::new(nn::evaluator::fake::Uniform);
        let scores = solve(&puzzles, &evaluator, WorkerLimits { count: 2, stop: &NEVER }).unwrap();
        assert_eq!(scores.len(), HEADS.len());
        for (name, score) in &scores {
            assert_eq!(score.all.tried, 5, "{name}");
        }
        let lines = csv("p.csv", &scores);
        assert_eq!(lines.lines().count(), 2 * HEADS.len());
        assert!(lines.starts_with("\"p.csv 800-999\",solved by policy,"), "{lines}");
    }

    #[test]
    fn a_broken_network_is_an_error() {
        let evaluator: Arc<dyn Evaluator> = Arc::new(Failing::after(0, Breakdown::Error));
        assert!(solve(&[puzzle()], &evaluator, WorkerLimits { count: 1, stop: &NEVER }).is_err());
    }

    #[test]
    fn positions_carry_the_first_move_of_the_solution() {
        let mut puzzle = puzzle();
        let [states, actions] = examples(std::slice::from_ref(&puzzle));
        assert_eq!((states.len(), actions.len()), (1, 1));
        let best = states[0].best.map(usize::from).unwrap();
        assert_eq!((states[0].moves[best].from, states[0].moves[best].to), (41, 6));
        assert!(actions[0].next.is_some() && actions[0].best.is_none());
        puzzle.task = Solution::Best { best: vec![], avoid: vec![] };
        let [states, actions] = examples(&[puzzle]);
        assert_eq!((states[0].best, actions.len()), (None, 0));
    }
}
