//! How well a network judges, by deep labels of held-out positions: what its policy's move gives away, how far its
//! value is off, and how well it tells the moves of a position apart ("siblings": the moves that have a deep value,
//! each against the mean of its position).

use super::table::csv_line;
use crate::labels::label_file::{self, LabelledPosition};
use crate::measure::MeasureError;
use chess::action::Action;
use engine::process::progress::progress;
use engine::process::workers::{WorkerLimits, deal};
use nn::rng::Rng;
use nn::{EvalError, Evaluator, Query};
use shakmaty::{Chess, MoveList, Position};
use std::fmt;
use std::path::Path;

/// Resamples of the positions, for intervals.
const RESAMPLES: usize = 2_000;
/// Nearest distance of a win probability to 0 and 1 whose logit counts.
const NEAREST: f64 = 1e-4;

/// Figures of a network, in the order of [`figures`].
const FIGURES: [(&str, FigureUnit); 6] = [
    ("policy regret", FigureUnit::Percent),
    ("value error", FigureUnit::Percent),
    ("value error, root mean square", FigureUnit::Percent),
    ("siblings by value", FigureUnit::Correlation),
    ("siblings by action value", FigureUnit::Correlation),
    ("best moves by policy", FigureUnit::Percent),
];

#[derive(Clone, Copy)]
enum FigureUnit {
    Percent,
    Correlation,
}

/// Deviations of label and judge from their means over a position's moves, squared and summed.
#[derive(Clone, Copy, Default)]
struct Deviations {
    label: f64,
    judge: f64,
    both: f64,
}

impl Deviations {
    /// From pairs of a label and the prediction for it.
    fn of(pairs: &[(f64, f64)]) -> Deviations {
        let count = pairs.len().max(1) as f64;
        let label = pairs.iter().map(|pair| pair.0).sum::<f64>() / count;
        let judge = pairs.iter().map(|pair| pair.1).sum::<f64>() / count;
        pairs.iter().fold(Deviations::default(), |sum, pair| {
            let (label, judge) = (pair.0 - label, pair.1 - judge);
            sum.plus(&Deviations {
                label: label * label,
                judge: judge * judge,
                both: label * judge,
            })
        })
    }

    fn plus(&self, other: &Deviations) -> Deviations {
        Deviations {
            label: self.label + other.label,
            judge: self.judge + other.judge,
            both: self.both + other.both,
        }
    }

    fn correlation(&self) -> f64 {
        self.both / (self.label * self.judge).sqrt().max(f64::MIN_POSITIVE)
    }
}

/// A position, judged.
struct JudgedPosition {
    /// Win probability that the policy's move gives away, 0 to 1.
    regret: f64,
    /// The policy's move is the label's.
    best: bool,
    /// Label of the position, and the network's value, 0 to 1.
    value: (f64, f64),
    moves: usize,
    /// By the value after the move, and by its action value.
    siblings: [Deviations; 2],
}

/// A network's rows and the factor of its logits.
struct Judged {
    rows: Vec<JudgedPosition>,
    factor: f64,
}

/// Measurements on a file of labels.
pub(super) struct LabelAgreement {
    title: String,
    positions: usize,
    moves: usize,
    factors: Vec<f64>,
    /// Figure with its 95 % interval: of the network; then of the one it is compared with, and of the difference.
    columns: Vec<(&'static str, [FigureEstimate; FIGURES.len()])>,
}

#[derive(Clone, Copy, Default)]
struct FigureEstimate {
    value: f64,
    low: f64,
    high: f64,
}

/// Has the network, and the one it is compared with, judge every position of the file.
///
/// # Errors
/// The file cannot be read, or a network fails.
pub(super) fn measure(
    evaluators: &[&dyn Evaluator],
    path: &Path,
    crew: WorkerLimits<'_>,
) -> Result<LabelAgreement, MeasureError> {
    let read = label_file::read(path).map_err(|why| MeasureError::Refused(why.to_string()));
    let (recipe, positions) = read?;
    let networks = evaluators
        .iter()
        .map(|evaluator| Judged::new(*evaluator, &positions, crew))
        .collect::<Result<Vec<_>, EvalError>>()?;
    // After Ctrl-C the networks may have judged fewer positions than there are.
    let count = networks.iter().map(|network| network.rows.len()).min().unwrap_or_default();
    let moves = networks
        .first()
        .map_or(0, |first| first.rows.iter().take(count).map(|row| row.moves).sum::<usize>());
    Ok(LabelAgreement {
        title: format!(
            "{}: {}, {} nodes a position, {} a move",
            path.display(),
            recipe.engine,
            recipe.best_nodes,
            recipe.move_nodes
        ),
        positions: count,
        moves,
        factors: networks.iter().map(|network| network.factor).collect(),
        columns: estimates(&networks, count),
    })
}

impl Judged {
    fn new(
        evaluator: &dyn Evaluator,
        positions: &[LabelledPosition],
        crew: WorkerLimits<'_>,
    ) -> Result<Judged, EvalError> {
        let bar = progress(positions.len());
        let numbered: Vec<_> = positions.iter().enumerate().collect();
        let mut rows: Vec<(usize, JudgedPosition)> = Vec::new();
        let start =
            || Ok(|&(at, one): &(usize, &LabelledPosition)| Ok((at, judge(evaluator, one)?)));
        deal(&numbered, crew, start, |_, (at, row): (usize, Option<JudgedPosition>)| {
            bar.inc(1);
            rows.extend(row.map(|row| (at, row)));
            Ok::<(), EvalError>(())
        })?;
        bar.finish_and_clear();
        // Two networks are compared position by position.
        rows.sort_by_key(|(at, _)| *at);
        let rows: Vec<JudgedPosition> = rows.into_iter().map(|(_, row)| row).collect();
        let factor = logit_factor(&rows);
        Ok(Judged { rows, factor })
    }
}

/// None without a legal move.
fn judge(
    evaluator: &dyn Evaluator,
    labelled: &LabelledPosition,
) -> Result<Option<JudgedPosition>, EvalError> {
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
    let Some((root, children)) = answers.split_first() else { return Ok(None) };
    let chosen = (0..legal.len()).max_by(|a, b| root.policy[*a].total_cmp(&root.policy[*b]));
    let Some(chosen) = chosen.map(|at| Action::new(legal[at])) else { return Ok(None) };
    let label = labelled.deep.iter().find(|(deep, _)| *deep == labelled.best);
    let by_value: Vec<(f64, f64)> = after
        .iter()
        .zip(children)
        .map(|((_, label, ..), child)| (f64::from(*label), 1.0 - f64::from(child.value)))
        .collect();
    let by_action_value: Vec<(f64, f64)> = after
        .iter()
        .map(|(at, label, ..)| (f64::from(*label), f64::from(root.action_values[*at])))
        .collect();
    Ok(Some(JudgedPosition {
        regret: f64::from(labelled.regret(chosen)),
        best: chosen == labelled.best,
        value: (f64::from(label.map_or(0.0, |(_, value)| *value)), f64::from(root.value)),
        moves: after.len(),
        siblings: [Deviations::of(&by_value), Deviations::of(&by_action_value)],
    }))
}

/// A win probability whose logit is multiplied.
fn scaled(value: f64, factor: f64) -> f64 {
    let value = value.clamp(NEAREST, 1.0 - NEAREST);
    1.0 / (1.0 + ((1.0 - value) / value).powf(factor))
}

/// The factor of the values' logits with the smallest squared error: engines and networks differ in scale.
fn logit_factor(rows: &[JudgedPosition]) -> f64 {
    let error = |logarithm: f64| {
        let squared =
            |row: &JudgedPosition| (scaled(row.value.1, logarithm.exp()) - row.value.0).powi(2);
        rows.iter().map(squared).sum::<f64>()
    };
    // The error has one minimum; 60 thirds of the interval are more exact than the labels.
    let (mut low, mut high) = (-2.0, 2.0);
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        if error(low + third) < error(high - third) {
            high -= third;
        } else {
            low += third;
        }
    }
    f64::midpoint(low, high).exp()
}

/// Figures of the rows with these numbers.
fn figures(network: &Judged, numbers: &[usize]) -> [f64; FIGURES.len()] {
    let count = numbers.len().max(1) as f64;
    let (mut regret, mut error, mut squared, mut best) = (0.0, 0.0, 0.0, 0.0);
    let mut siblings = [Deviations::default(); 2];
    for row in numbers.iter().filter_map(|number| network.rows.get(*number)) {
        let off = scaled(row.value.1, network.factor) - row.value.0;
        regret += row.regret;
        error += off.abs();
        squared += off * off;
        best += f64::from(u8::from(row.best));
        siblings = [siblings[0].plus(&row.siblings[0]), siblings[1].plus(&row.siblings[1])];
    }
    [
        regret / count,
        error / count,
        (squared / count).sqrt(),
        siblings[0].correlation(),
        siblings[1].correlation(),
        best / count,
    ]
}

/// Each network's figures, and their differences position by position, with bootstrap intervals over positions.
fn estimates(
    networks: &[Judged],
    count: usize,
) -> Vec<(&'static str, [FigureEstimate; FIGURES.len()])> {
    let columns = |numbers: &[usize]| {
        let mut columns: Vec<[f64; FIGURES.len()]> =
            networks.iter().map(|network| figures(network, numbers)).collect();
        if let [first, second] = columns[..] {
            columns.push(std::array::from_fn(|at| first[at] - second[at]));
        }
        columns
    };
    let all: Vec<usize> = (0..count).collect();
    let values = columns(&all);
    let mut random = Rng::new(0);
    let mut samples = Vec::with_capacity(RESAMPLES);
    let mut numbers = all.clone();
    for _ in 0..RESAMPLES {
        numbers.fill_with(|| random.below(count));
        samples.push(columns(&numbers));
    }
    let names = ["network", "against", "difference"];
    let estimate = |column: usize, figure: usize| {
        let mut sorted: Vec<f64> = samples.iter().map(|sample| sample[column][figure]).collect();
        sorted.sort_by(f64::total_cmp);
        let bound = |share: f64| sorted[((RESAMPLES - 1) as f64 * share).round() as usize];
        FigureEstimate { value: values[column][figure], low: bound(0.025), high: bound(0.975) }
    };
    let column = |at| (names[at], std::array::from_fn(|figure| estimate(at, figure)));
    (0..values.len()).map(column).collect()
}

impl LabelAgreement {
    /// The lines of the CSV.
    pub fn csv(&self) -> String {
        let mut lines = String::new();
        for (column, estimates) in &self.columns {
            let set = format!("{}, {column}", self.title);
            for ((name, _), FigureEstimate { value, low, high }) in FIGURES.iter().zip(estimates) {
                let interval = Some((*low, *high));
                lines += &csv_line(&set, name, *value, interval, self.positions as u64);
            }
        }
        lines
    }
}

impl fmt::Display for LabelAgreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        write!(f, "{} positions, {} moves with deep values", self.positions, self.moves)?;
        write!(f, "\n{:<32}", "")?;
        for (column, _) in &self.columns {
            write!(f, "{column:>10} {:<16}", "")?;
        }
        for (at, (name, unit)) in FIGURES.iter().enumerate() {
            let name = match unit {
                FigureUnit::Percent => format!("{name}, %"),
                FigureUnit::Correlation => (*name).to_owned(),
            };
            write!(f, "\n{name:<32}")?;
            for (_, estimates) in &self.columns {
                let FigureEstimate { value, low, high } = estimates[at];
                let (scale, digits) = match unit {
                    FigureUnit::Percent => (100.0, 2),
                    FigureUnit::Correlation => (1.0, 3),
                };
                let [value, low, high] = [value, low, high].map(|number| number * scale);
                let interval = format!("{low:.digits$} to {high:.digits$}");
                write!(f, "{value:>10.digits$} {interval:<16}")?;
            }
        }
        let factors: Vec<String> =
            self.factors.iter().map(|factor| format!("{factor:.3}")).collect();
        write!(
            f,
            "\nvalue errors after the best factor of the logits: {}; 95 % intervals by bootstrap over positions",
            factors.join(", ")
        )
    }
}

#[cfg(test)]
mod tests;
