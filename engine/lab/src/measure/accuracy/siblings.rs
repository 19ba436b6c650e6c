//! Discrimination of good moves: deeply searched moves of a position relative to its mean. What is common to all moves
//! of a position does not affect a search; differences do.

use super::table::csv_line;
use crate::measure::MeasureError;
use crate::measure::tune::labels::{LabelledPosition, LabelsError};
use crate::measure::tune::positions;
use engine::chess::action::Action;
use engine::progress::progress;
use engine::workers::{Crew, deal};
use nn::{EvalError, Evaluator, Query};
use shakmaty::{Chess, MoveList, Position};
use std::fmt;
use std::path::Path;

/// Predictors of the better move.
const PREDICTORS: [&str; 3] = ["state value after", "action value", "policy, logarithm"];
/// Number of predictors that are win probabilities.
const VALUES: usize = 2;

/// Sums over the moves of a position: deviations of label and predictor from their means.
#[derive(Clone, Copy, Default)]
struct Sums {
    label: f64,
    predictor: f64,
    both: f64,
}

impl Sums {
    fn correlation(&self) -> f64 {
        self.both / (self.label * self.predictor).sqrt().max(f64::MIN_POSITIVE)
    }

    fn plus(&self, other: &Sums, sign: f64) -> Sums {
        Sums {
            label: self.label + sign * other.label,
            predictor: self.predictor + sign * other.predictor,
            both: self.both + sign * other.both,
        }
    }
}

/// Result for a file of labels.
pub(super) struct Siblings {
    title: String,
    moves: usize,
    /// Per position and predictor.
    positions: Vec<[Sums; PREDICTORS.len()]>,
}

/// Evaluates the deeply searched moves of all positions of a file.
pub(super) fn measure(
    evaluator: &dyn Evaluator,
    path: &Path,
    crew: Crew<'_>,
) -> Result<Siblings, MeasureError> {
    let refused = |why: LabelsError| MeasureError::Refused(why.to_string());
    let (_, positions) = positions::open(path, usize::MAX).map_err(refused)?;
    let bar = progress(positions.len());
    let mut found = Siblings { title: path.display().to_string(), moves: 0, positions: Vec::new() };
    let start = || Ok(|position: &LabelledPosition| predictor(evaluator, position));
    deal(&positions, crew, start, |_, rows: Vec<[f32; 4]>| {
        bar.inc(1);
        // A single move has no deviation.
        if rows.len() > 1 {
            found.moves += rows.len();
            found.positions.push(sums(&rows));
        }
        Ok::<(), EvalError>(())
    })?;
    bar.finish_and_clear();
    Ok(found)
}

/// Label and predictions of each deeply searched move that does not end the game.
fn predictor(
    evaluator: &dyn Evaluator,
    labelled: &LabelledPosition,
) -> Result<Vec<[f32; 4]>, EvalError> {
    let position = labelled.game.position();
    let legal = position.legal_moves();
    let mut after: Vec<(usize, f32, Chess, MoveList)> = Vec::new();
    for (at, m) in legal.iter().enumerate() {
        let action = Action::new(*m);
        let Some((_, value)) = labelled.deep.iter().find(|(deep, _)| *deep == action) else {
            continue;
        };
        let mut next = position.clone();
        next.play_unchecked(*m);
        let replies = next.legal_moves();
        if !replies.is_empty() {
            after.push((at, *value, next, replies));
        }
    }
    let mut queries = vec![Query { position, legal: &legal }];
    queries.extend(after.iter().map(|(_, _, position, legal)| Query { position, legal }));
    let answers = evaluator.evaluate(&queries)?;
    let Some((root, children)) = answers.split_first() else { return Ok(Vec::new()) };
    let rows = after.iter().zip(children).map(|((at, label, ..), child)| {
        let policy = root.policy[*at].max(1e-6).ln();
        [*label, 1.0 - child.value, root.action_values[*at], policy]
    });
    Ok(rows.collect())
}

/// Sums of deviations from the position's means.
fn sums(rows: &[[f32; 4]]) -> [Sums; PREDICTORS.len()] {
    let mean = |column: usize| {
        rows.iter().map(|row| f64::from(row[column])).sum::<f64>() / rows.len() as f64
    };
    let label = mean(0);
    std::array::from_fn(|predictor| {
        let own = mean(predictor + 1);
        rows.iter().fold(Sums::default(), |sums, row| {
            let (label, predictor) =
                (f64::from(row[0]) - label, f64::from(row[predictor + 1]) - own);
            sums.plus(
                &Sums {
                    label: label * label,
                    predictor: predictor * predictor,
                    both: label * predictor,
                },
                1.0,
            )
        })
    })
}

impl Siblings {
    /// Correlation, half-width of its 95 % interval (jackknife over positions), and root mean squared error.
    fn figures(&self, predictor: usize) -> [f64; 3] {
        let all =
            self.positions.iter().fold(Sums::default(), |all, one| all.plus(&one[predictor], 1.0));
        let value = all.correlation();
        let count = self.positions.len() as f64;
        let left_out =
            self.positions.iter().map(|one| all.plus(&one[predictor], -1.0).correlation());
        let scatter: f64 = left_out.map(|without| (without - value).powi(2)).sum();
        let squared = (all.label + all.predictor - 2.0 * all.both) / self.moves as f64;
        [value, 1.96 * (scatter * (count - 1.0) / count).sqrt(), squared.max(0.0).sqrt()]
    }

    /// Root mean squared error of predicting the position's mean.
    fn spread(&self) -> f64 {
        (self.positions.iter().map(|one| one[0].label).sum::<f64>() / self.moves as f64).sqrt()
    }

    /// Rows of the CSV.
    pub fn csv(&self) -> String {
        let mut lines = String::new();
        for (number, predictor) in PREDICTORS.iter().enumerate() {
            let [value, half, error] = self.figures(number);
            let interval = Some((value - half, value + half));
            let count = self.moves as u64;
            let metric = format!("correlation of {predictor}");
            lines += &csv_line(&self.title, &metric, value, interval, count);
            if number < VALUES {
                lines +=
                    &csv_line(&self.title, &format!("error of {predictor}"), error, None, count);
            }
        }
        lines
    }
}

impl fmt::Display for Siblings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} deeply searched moves of {} positions, each against its position's mean",
            self.title,
            self.moves,
            self.positions.len()
        )?;
        write!(f, "{:<18} {:>15} {:>9}", "", "correlation", "error, %")?;
        for (number, predictor) in PREDICTORS.iter().enumerate() {
            let [value, half, error] = self.figures(number);
            write!(f, "\n{predictor:<18} {value:>7.3} ± {half:.3}")?;
            if number < VALUES {
                write!(f, " {:>9.2}", 100.0 * error)?;
            }
        }
        write!(f, "\n{:<18} {:>15} {:>9.2}", "all alike", "", 100.0 * self.spread())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_differences_within_a_position_count() {
        // The first predictor knows all differences but no level, the second only levels.
        let rows = |level: f32| {
            vec![
                [level, 0.5, level, 0.0],
                [level + 0.1, 0.6, level, -1.0],
                [level - 0.1, 0.4, level, 1.0],
            ]
        };
        let positions = vec![sums(&rows(0.2)), sums(&rows(0.7)), sums(&rows(0.4))];
        let found = Siblings { title: "x".to_owned(), moves: 9, positions };
        let [same, half, error] = found.figures(0);
        assert!((same - 1.0).abs() < 1e-6 && half < 1e-6 && error < 1e-6, "{same} {half} {error}");
        assert!(found.figures(1)[0].abs() < 1e-3);
        assert!((found.figures(2)[0] + 1.0).abs() < 1e-6);
        assert!((found.figures(1)[2] - found.spread()).abs() < 1e-6 && found.spread() > 0.08);
    }
}
