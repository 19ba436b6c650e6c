//! Counts of a team's measurement: each contestant's results by puzzle, and the players' moves by position.

use super::task::ContestantResult;
use engine::team::{Opinion, TeamRule, gap};
use mcts::Snapshot;
use nn::rng::Rng;

/// Budgets: the players' playouts come to those of player 0 alone, or every player has as many as that.
pub const BUDGETS: usize = 2;
/// Resamples of a bootstrap.
const RESAMPLES: usize = 2_000;
/// Moves within this of the best are near it, in win probability.
const NEAR: f32 = 0.02;

/// The players compared. The first is player 0 alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contestant {
    /// The budget; None for player 0 alone.
    pub budget: Option<usize>,
    pub name: String,
}

/// All contestants: player 0 alone; at each budget the players, the best of them, and each rule's choice.
#[must_use]
pub fn contestants(players: usize) -> Vec<Contestant> {
    let names: Vec<String> = (0..players)
        .map(|at| format!("player {at}"))
        .chain(["max".to_owned()])
        .chain(TeamRule::ALL.map(|rule| rule.name().to_owned()))
        .collect();
    let alone = Contestant { budget: None, name: "player 0 alone".to_owned() };
    let of = |budget| {
        names.iter().map(move |name| Contestant { budget: Some(budget), name: name.clone() })
    };
    [alone].into_iter().chain((0..BUDGETS).flat_map(of)).collect()
}

/// The players' moves in one position at one budget.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Each player's move and its value in player 0's search.
    pub moves: Vec<(u16, f32)>,
    /// The best value in player 0's search.
    pub best: f32,
    /// Widths of the rules `gap` and `gap-best`.
    pub gaps: [f32; 2],
}

impl View {
    /// From the players' searches.
    pub fn of<A: Copy + PartialEq + Into<u16>>(players: &[Snapshot<A>]) -> View {
        let opinions: Vec<Option<Opinion>> = players.iter().map(Opinion::of).collect();
        let first = players.first().map(|found| found.lines.as_slice()).unwrap_or_default();
        let value = |action: A| {
            let line = first.iter().find(|line| line.moves.first() == Some(&action));
            line.map_or(0.0, |line| line.value.q())
        };
        let moves = players.iter().filter_map(|found| found.lines.first()?.moves.first().copied());
        View {
            moves: moves.map(|action| (action.into(), value(action))).collect(),
            best: first
                .iter()
                .filter(|line| line.visits > 0)
                .map(|line| line.value.q())
                .fold(0.0, f32::max),
            gaps: [TeamRule::Gap, TeamRule::GapBest].map(|rule| gap(rule, &opinions)),
        }
    }
}

/// One item's end.
pub struct ItemResult {
    /// By contestant.
    pub verdicts: Vec<ContestantResult>,
    /// Views of its first position, by budget.
    pub views: Vec<View>,
    pub has_task: bool,
}

/// All items so far.
#[derive(Clone, Debug)]
pub struct TeamTally {
    pub players: usize,
    /// By puzzle, then contestant.
    pub puzzles: Vec<Vec<ContestantResult>>,
    /// By budget, then position.
    pub views: Vec<Vec<View>>,
}

/// A share, or a difference of shares, with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// How far players differ in their moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Behaviour {
    /// Different moves a position.
    pub distinct: f64,
    /// Share of the positions in which two players differ, mean over the pairs.
    pub disagreement: f64,
    /// The same counting only moves near the best.
    pub near: f64,
    /// The same, pair by pair: (0, 1), (0, 2), …
    pub pairs: Vec<((usize, usize), f64)>,
    /// Medians of the two rules' gaps.
    pub gaps: [f64; 2],
}

impl TeamTally {
    /// Nothing is counted.
    #[must_use]
    pub fn new(players: usize) -> TeamTally {
        TeamTally { players, puzzles: Vec::new(), views: vec![Vec::new(); BUDGETS] }
    }

    pub fn add(&mut self, tried: ItemResult) {
        if tried.has_task {
            self.puzzles.push(tried.verdicts);
        }
        for (views, view) in self.views.iter_mut().zip(tried.views) {
            views.push(view);
        }
    }

    /// Mean of `of` over the puzzles for a contestant.
    #[must_use]
    pub fn share(&self, contestant: usize, of: fn(ContestantResult) -> f64) -> f64 {
        let sum: f64 = self.puzzles.iter().map(|row| of(row[contestant])).sum();
        sum / self.puzzles.len().max(1) as f64
    }

    /// The contestant's share less that of player 0 alone, with a bootstrap interval of the same puzzles.
    #[must_use]
    pub fn difference(&self, contestant: usize, of: fn(ContestantResult) -> f64) -> Estimate {
        bootstrap(
            &self.puzzles.iter().map(|row| of(row[contestant]) - of(row[0])).collect::<Vec<_>>(),
        )
    }

    /// How far the players differ at one budget.
    #[must_use]
    pub fn behaviour(&self, budget: usize) -> Behaviour {
        let views = &self.views[budget];
        let mean = |of: &dyn Fn(&View) -> f64| {
            views.iter().map(of).sum::<f64>() / views.len().max(1) as f64
        };
        let pairs: Vec<(usize, usize)> =
            (0..self.players).flat_map(|i| (i + 1..self.players).map(move |j| (i, j))).collect();
        let differ = |view: &View, (i, j): (usize, usize), least: f32| match (
            view.moves.get(i),
            view.moves.get(j),
        ) {
            (Some(a), Some(b)) => f64::from(u8::from(a.0 != b.0 && a.1.min(b.1) >= least)),
            _ => 0.0,
        };
        let by_pair: Vec<_> =
            pairs.iter().map(|pair| (*pair, mean(&|view| differ(view, *pair, f32::MIN)))).collect();
        let near = |pair: &(usize, usize)| mean(&|view| differ(view, *pair, view.best - NEAR));
        let count = pairs.len().max(1) as f64;
        let median = |rule: usize| {
            let mut gaps: Vec<f32> = views.iter().map(|view| view.gaps[rule]).collect();
            gaps.sort_by(f32::total_cmp);
            gaps.get(gaps.len() / 2).copied().map_or(0.0, f64::from)
        };
        Behaviour {
            distinct: mean(&distinct),
            disagreement: by_pair.iter().map(|(_, share)| share).sum::<f64>() / count,
            near: pairs.iter().map(near).sum::<f64>() / count,
            pairs: by_pair,
            gaps: [median(0), median(1)],
        }
    }
}

fn distinct(view: &View) -> f64 {
    let mut moves: Vec<u16> = view.moves.iter().map(|(action, _)| *action).collect();
    moves.sort_unstable();
    moves.dedup();
    moves.len() as f64
}

/// Mean and percentile interval. Repeats itself.
fn bootstrap(numbers: &[f64]) -> Estimate {
    let count = numbers.len().max(1) as f64;
    let mut rng = Rng::new(0);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| numbers.iter().map(|_| numbers[rng.below(numbers.len())]).sum::<f64>() / count)
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[(share * RESAMPLES as f64) as usize];
    Estimate { mean: numbers.iter().sum::<f64>() / count, low: at(0.025), high: at(0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paired_interval_contains_the_difference_and_shrinks_with_the_number() {
        let numbers = |count: usize| {
            (0..count).map(|at| if at % 10 == 0 { 1.0 } else { 0.0 }).collect::<Vec<_>>()
        };
        let width = |count: usize| {
            let Estimate { mean, low, high } = bootstrap(&numbers(count));
            assert!((mean - 0.1).abs() < 1e-9 && low < mean && mean < high, "{low} {high}");
            high - low
        };
        // Four times the puzzles, half the width; normal approximation: 2 x 1.96 sqrt(0.09 / 100).
        let (few, many) = (width(100), width(1600));
        assert!((few - 0.118).abs() < 0.015, "{few}");
        assert!((few / many - 4.0).abs() < 0.6, "{few} {many}");
        assert_eq!(bootstrap(&[]), Estimate::default());
    }

    #[test]
    fn players_differ_by_their_moves_and_near_the_best_only_by_good_ones() {
        let view =
            |moves: [(u16, f32); 3], best| View { moves: moves.to_vec(), best, gaps: [0.3, 0.1] };
        let mut tally = TeamTally::new(3);
        tally.views[0] = vec![
            view([(0, 0.5), (1, 0.49), (0, 0.5)], 0.5),
            view([(0, 0.5), (0, 0.5), (2, 0.1)], 0.5),
        ];
        let found = tally.behaviour(0);
        assert_eq!(found.distinct, 2.0);
        let pairs: Vec<f64> = found.pairs.iter().map(|(_, share)| *share).collect();
        assert_eq!(pairs, [0.5, 0.5, 1.0]);
        assert!((found.disagreement - 2.0 / 3.0).abs() < 1e-9);
        // (0, 1) and (1, 2) of the first position; the second one's third player blundered.
        assert!((found.near - 1.0 / 3.0).abs() < 1e-9);
        assert!((found.gaps[0] - 0.3).abs() < 1e-6);
    }

    #[test]
    fn contestants_are_in_the_order_of_the_verdicts() {
        let names: Vec<_> = contestants(2).into_iter().map(|c| (c.budget, c.name)).collect();
        assert_eq!(names.len(), 1 + 2 * 8);
        assert_eq!(names[0], (None, "player 0 alone".to_owned()));
        assert_eq!(names[9], (Some(1), "player 0".to_owned()));
        assert_eq!(names[3].1, "max");
    }
}
