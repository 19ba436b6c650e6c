//! Comparison of settings: regret of each, and difference from the first one on the same positions. Pairing cancels
//! the difficulty of positions, so that differences have smaller errors than the figures themselves.

use super::trial::Choice;
use std::fmt::{self, Write as _};
use train::metrics::Z95;

/// A mean with the half-width of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Half-width of its interval; 0 for fewer than two numbers.
    pub margin: f64,
}

impl Mean {
    /// Mean of independent numbers, with normal approximation of the margin.
    pub fn of(numbers: impl Iterator<Item = f64>) -> Mean {
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        // Welford's algorithm.
        for number in numbers {
            count += 1.0;
            let off = number - mean;
            mean += off / count;
            squares += off * (number - mean);
        }
        if count < 2.0 {
            return Mean { mean, margin: 0.0 };
        }
        Mean { mean, margin: Z95 * (squares / (count - 1.0) / count).sqrt() }
    }

    /// In percent.
    #[must_use]
    pub fn percent(self) -> Mean {
        Mean { mean: 100.0 * self.mean, margin: 100.0 * self.margin }
    }
}

/// A figure of a setting, and its difference from the first setting's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The figure.
    pub own: Mean,
    /// Difference from the first setting, paired by position.
    pub difference: Mean,
}

impl Figure {
    /// Compares the number `of` in column `setting` of `rows` with that in the first column.
    fn new<T>(rows: &[Vec<T>], setting: usize, of: impl Fn(&T) -> f64) -> Figure {
        let at = |row: &Vec<T>, column: usize| row.get(column).map_or(f64::NAN, &of);
        Figure {
            own: Mean::of(rows.iter().map(|row| at(row, setting))),
            difference: Mean::of(rows.iter().map(|row| at(row, setting) - at(row, 0))),
        }
    }
}

/// Results of one setting at one number of nodes.
#[derive(Clone, Debug)]
pub struct SettingResult {
    /// Name of the setting.
    pub setting: String,
    /// Nodes per search.
    pub nodes: u64,
    /// Regret: win probability given away by the moves played.
    pub regret: Figure,
    /// Share of positions with the best move played.
    pub best: Figure,
    /// Share of puzzles solved, if any.
    pub puzzles: Option<Figure>,
}

/// One row per setting, from its choices in all positions and puzzles.
#[must_use]
pub fn rows(
    names: &[String],
    nodes: u64,
    choices: &[Vec<Choice>],
    solved: &[Vec<bool>],
) -> Vec<SettingResult> {
    let row = |(setting, name): (usize, &String)| SettingResult {
        setting: name.clone(),
        nodes,
        regret: Figure::new(choices, setting, |choice| f64::from(choice.regret)),
        best: Figure::new(choices, setting, |choice| f64::from(u8::from(choice.best))),
        puzzles: (!solved.is_empty())
            .then(|| Figure::new(solved, setting, |solved| f64::from(u8::from(*solved)))),
    };
    names.iter().enumerate().map(row).collect()
}

/// Header of the table.
pub const HEAD: [&str; 8] = [
    "setting",
    "nodes",
    "regret, %",
    "difference",
    "best move, %",
    "difference",
    "puzzles, %",
    "difference",
];

impl SettingResult {
    fn cells(&self) -> [String; 8] {
        let digits = |mean: Mean, digits: usize, sign: bool| {
            let Mean { mean, margin } = mean.percent();
            match sign {
                true => format!("{mean:+.digits$} ± {margin:.digits$}"),
                false => format!("{mean:.digits$} ± {margin:.digits$}"),
            }
        };
        let pair = |figure: &Figure, places| {
            [digits(figure.own, places, false), digits(figure.difference, places, true)]
        };
        let [regret, more_regret] = pair(&self.regret, 3);
        let [best, more_best] = pair(&self.best, 1);
        let [puzzles, more_puzzles] =
            self.puzzles.as_ref().map_or_else(Default::default, |figure| pair(figure, 1));
        let (setting, nodes) = (self.setting.clone(), self.nodes.to_string());
        [setting, nodes, regret, more_regret, best, more_best, puzzles, more_puzzles]
    }
}

/// Text table.
pub struct SettingTable<'a>(pub &'a [SettingResult]);

impl fmt::Display for SettingTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells: Vec<[String; 8]> = self.0.iter().map(SettingResult::cells).collect();
        let all = || std::iter::once(HEAD.map(str::to_owned)).chain(cells.iter().cloned());
        let columns = if self.0.iter().any(|row| row.puzzles.is_some()) { 8 } else { 6 };
        let width =
            |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (number, row) in all().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match column {
                    0 => write!(line, "{cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            f.write_str(if number == 0 { "" } else { "\n" })?;
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(regret: f32) -> Choice {
        Choice { regret, best: regret == 0.0 }
    }

    #[test]
    fn intervals_are_those_of_the_mean() {
        let mean = Mean::of([1.0, 2.0, 3.0, 4.0].into_iter());
        assert_eq!(mean.mean, 2.5);
        // Variance 5/3, standard error sqrt(5/12).
        assert!((mean.margin - 1.96 * (5.0f64 / 12.0).sqrt()).abs() < 1e-4);
        assert_eq!(Mean::of([7.0].into_iter()), Mean { mean: 7.0, margin: 0.0 });
    }

    #[test]
    fn differences_are_taken_in_pairs() {
        // The second setting is always better by 0.01.
        let choices: Vec<Vec<Choice>> =
            [0.5, 0.1, 0.3].map(|regret| vec![choice(regret), choice(regret - 0.01)]).into();
        let names = ["a".to_owned(), "c".to_owned()];
        let rows = rows(&names, 400, &choices, &[]);
        assert!(rows[0].regret.own.margin > 0.1);
        assert_eq!(rows[0].regret.difference, Mean::default());
        let difference = rows[1].regret.difference;
        assert!((difference.mean + 0.01).abs() < 1e-6 && difference.margin < 1e-6);
        let text = SettingTable(&rows).to_string();
        assert!(text.contains("-1.000 ± 0.000") && !text.contains("puzzles"), "{text}");
    }

    #[test]
    fn best_moves_and_puzzles_are_shares() {
        let choices = vec![vec![choice(0.0), choice(0.2)], vec![choice(0.0), choice(0.0)]];
        let solved = vec![vec![false, true]; 4];
        let names = ["a".to_owned(), "b".to_owned()];
        let rows = rows(&names, 1, &choices, &solved);
        assert_eq!((rows[0].best.own.mean, rows[1].best.own.mean), (1.0, 0.5));
        assert_eq!(rows[1].puzzles.unwrap().difference, Mean { mean: 1.0, margin: 0.0 });
        assert!(SettingTable(&rows).to_string().contains("+100.0 ± 0.0"));
    }
}
