//! Counts attempts by group: rating bands where puzzles are rated, themes where their names tell them.

use super::{Attempt, Puzzle, Task};
use std::collections::BTreeMap;
use std::fmt;

/// Width of a rating band.
pub const BAND: u32 = 200;

/// The count of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub tried: u64,
    pub solved: u64,
    pub first: u64,
    /// Of `tried`.
    pub points: f64,
}

impl Count {
    fn add(&mut self, attempt: &Attempt) {
        self.tried += 1;
        self.solved += u64::from(attempt.solved);
        self.first += u64::from(attempt.first);
        self.points += f64::from(attempt.points);
    }
}

/// A group of puzzles; the order is that of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Its lowest rating.
    Band(u32),
    Theme(String),
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Group::Band(low) => write!(f, "{low}-{}", low + BAND - 1),
            Group::Theme(name) if name.is_empty() => f.write_str("unnamed"),
            Group::Theme(name) => f.write_str(name),
        }
    }
}

/// The count of a collection.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub all: Count,
    pub groups: BTreeMap<Group, Count>,
    /// Some puzzle had grades: points say more than solved ones.
    graded: bool,
}

impl Score {
    pub fn add(&mut self, puzzle: &Puzzle, attempt: &Attempt) {
        self.all.add(attempt);
        self.groups.entry(group(puzzle)).or_default().add(attempt);
        self.graded |= matches!(puzzle.task, Task::Graded(_));
    }
}

fn group(puzzle: &Puzzle) -> Group {
    match puzzle.rating {
        Some(rating) => Group::Band(rating / BAND * BAND),
        // Suites number their positions: "WAC.001", "STS(v1.0) Undermine.001".
        None => {
            let name = puzzle.id.trim_end_matches(|letter: char| letter.is_ascii_digit());
            Group::Theme(name.trim_end_matches(['.', ' ', '-', '_']).to_owned())
        }
    }
}

/// Wilson's 95 % interval of a share (Wilson, "Probable inference, the law of succession, and
/// statistical inference", 1927).
#[must_use]
pub fn wilson(successes: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let z2 = 1.959_964_f64.powi(2);
    let n = trials as f64;
    let share = successes as f64 / n;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = (z2 * (share * (1.0 - share) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.groups.keys().map(ToString::to_string);
        let width = names.clone().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
        write!(
            f,
            "{:<width$}  {:>6}  {:>6}  {:>13}  {:>6}",
            "group", "tried", "solved", "95 %", "first"
        )?;
        if self.graded {
            write!(f, "  {:>6}", "points")?;
        }
        let rows = names.zip(self.groups.values()).chain([("all".to_owned(), &self.all)]);
        for (name, count) in rows {
            let tried = count.tried.max(1) as f64;
            let percent = |value: f64| 100.0 * value / tried;
            let (low, high) = wilson(count.solved, count.tried);
            write!(
                f,
                "\n{name:<width$}  {:>6}  {:>5.1}%  {:>5.1}% {:>5.1}%  {:>5.1}%",
                count.tried,
                percent(count.solved as f64),
                100.0 * low,
                100.0 * high,
                percent(count.first as f64)
            )?;
            if self.graded {
                write!(f, "  {:>5.1}%", percent(count.points))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Game;

    fn puzzle(id: &str, rating: Option<u32>) -> Puzzle {
        let task = Task::Best { best: vec![], avoid: vec![] };
        Puzzle { id: id.to_owned(), game: Game::default(), task, rating }
    }

    fn attempt(first: bool, solved: bool) -> Attempt {
        Attempt { first, solved, points: f32::from(u8::from(solved)), played: vec![] }
    }

    #[test]
    fn wilson_of_known_cases() {
        // 8 of 10: centre (0.8 + 0.192) / 1.3841 = 0.7167, half 0.2268: the textbook 0.490 to 0.943.
        let (low, high) = wilson(8, 10);
        assert!((low - 0.4902).abs() < 1e-3 && (high - 0.9433).abs() < 1e-3, "{low} {high}");
        let (low, high) = wilson(0, 10);
        assert!(low == 0.0 && (high - 0.2775).abs() < 1e-3, "{high}");
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn rated_puzzles_fall_into_bands() {
        let mut score = Score::default();
        score.add(&puzzle("1", Some(1399)), &attempt(true, true));
        score.add(&puzzle("2", Some(1200)), &attempt(true, false));
        score.add(&puzzle("3", Some(1400)), &attempt(false, false));
        let groups: Vec<String> = score.groups.keys().map(ToString::to_string).collect();
        assert_eq!(groups, ["1200-1399", "1400-1599"]);
        let band = score.groups[&Group::Band(1200)];
        assert_eq!((band.tried, band.solved, band.first), (2, 1, 2));
        assert_eq!(score.all.tried, 3);
        let table = score.to_string();
        assert!(table.contains("1200-1399       2   50.0%"), "{table}");
        assert!(!table.contains("points"));
    }

    #[test]
    fn suites_fall_into_themes() {
        let theme = |id| group(&puzzle(id, None)).to_string();
        assert_eq!(theme("STS(v1.0) Undermine.001"), "STS(v1.0) Undermine");
        assert_eq!(theme("WAC.300"), "WAC");
        assert_eq!(theme("arasan2023.50"), "arasan2023");
        assert_eq!(theme(""), "unnamed");
    }
}
