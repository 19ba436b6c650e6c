//! Counts attempts by group: rating bands of rated puzzles, themes by name of others.

use super::{Attempt, Puzzle, Solution};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;
use train::metrics::wilson;

/// Width of a rating band.
pub const BAND: u32 = 200;

/// Count of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub tried: u64,
    pub solved: u64,
    pub first: u64,
    /// Points won, at most `tried`.
    pub points: f64,
}

impl Count {
    fn add(&mut self, attempt: &Attempt) {
        self.tried += 1;
        self.solved += u64::from(attempt.solved);
        self.first += u64::from(attempt.first);
        self.points += f64::from(attempt.points);
    }

    /// Share solved; 0 without attempts.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.solved as f64 / self.tried.max(1) as f64
    }

    /// 95 % interval of [`Count::share`].
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.share(), self.tried as f64)
    }
}

/// A group of puzzles, in table order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Minimum rating of the band.
    Band(u32),
    /// Moves to mate, of either side.
    Mate(u32),
    Theme(String),
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Group::Band(low) => write!(f, "{low}-{}", low + BAND - 1),
            Group::Mate(moves) => write!(f, "mate in {moves}"),
            Group::Theme(name) if name.is_empty() => f.write_str("unnamed"),
            Group::Theme(name) => f.write_str(name),
        }
    }
}

/// Counts of a collection.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub all: Count,
    pub groups: BTreeMap<Group, Count>,
    /// Some puzzles have grades: print points.
    graded: bool,
}

impl Score {
    pub fn add(&mut self, puzzle: &Puzzle, attempt: &Attempt) {
        self.all.add(attempt);
        self.groups.entry(group(puzzle)).or_default().add(attempt);
        self.graded |=
            matches!(puzzle.task, Solution::Graded(_) | Solution::Mate(_) | Solution::Value(_));
    }
}

fn group(puzzle: &Puzzle) -> Group {
    match (puzzle.rating, &puzzle.task) {
        (Some(rating), _) => Group::Band(rating / BAND * BAND),
        (None, Solution::Mate(moves)) => Group::Mate(moves.unsigned_abs()),
        // Suites number their positions: "WAC.001", "STS(v1.0) Undermine.001".
        (None, _) => {
            let name = puzzle.id.trim_end_matches(|letter: char| letter.is_ascii_digit());
            Group::Theme(name.trim_end_matches(['.', ' ', '-', '_']).to_owned())
        }
    }
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
            let (low, high) = count.interval();
            write!(
                f,
                "\n{name:<width$}  {:>6}  {:>5.1}%  {:>5.1}% {:>5.1}%  {:>5.1}%",
                count.tried,
                100.0 * count.share(),
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

/// Comparison of several solvers on the same puzzles: share solved per group with its 95 % interval.
pub struct SolverComparison<'a>(pub &'a [(&'a str, Score)]);

impl SolverComparison<'_> {
    /// Name and counts of each group, one count per solver; all puzzles last.
    #[must_use]
    pub fn rows(&self) -> Vec<(String, Vec<Count>)> {
        let scores = || self.0.iter().map(|(_, score)| score);
        let groups: BTreeSet<&Group> = scores().flat_map(|score| score.groups.keys()).collect();
        let row = |group: &Group| {
            let of = |score: &Score| score.groups.get(group).copied().unwrap_or_default();
            (group.to_string(), scores().map(of).collect())
        };
        let all = ("all".to_owned(), scores().map(|score| score.all).collect());
        groups.into_iter().map(row).chain([all]).collect()
    }
}

impl fmt::Display for SolverComparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(5);
        let mut head = format!("{:<width$}  {:>6}", "group", "n");
        for (name, _) in self.0 {
            let _ = write!(head, "  {:<21}", format!("{name}, %"));
        }
        f.write_str(head.trim_end())?;
        for (name, counts) in rows {
            let tried = counts.iter().map(|count| count.tried).max().unwrap_or(0);
            let mut line = format!("{name:<width$}  {tried:>6}");
            for count in counts {
                let (low, high) = count.interval();
                let interval = format!("({:.1} to {:.1})", 100.0 * low, 100.0 * high);
                let _ = write!(line, "  {:>5.1} {interval:<15}", 100.0 * count.share());
            }
            write!(f, "\n{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::game::Game;

    fn puzzle(id: &str, rating: Option<u32>) -> Puzzle {
        let task = Solution::Best { best: vec![], avoid: vec![] };
        Puzzle { id: id.to_owned(), game: Game::default(), task, rating }
    }

    fn attempt(first: bool, solved: bool) -> Attempt {
        Attempt { first, solved, points: f32::from(u8::from(solved)), played: vec![] }
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
    fn solvers_stand_side_by_side() {
        let (mut one, mut two) = (Score::default(), Score::default());
        for number in 0..10 {
            one.add(&puzzle("1", Some(1200)), &attempt(true, number < 8));
            two.add(&puzzle("1", Some(1200)), &attempt(true, number < 4));
        }
        two.add(&puzzle("2", Some(400)), &attempt(true, true));
        let scores = [("policy", one), ("state value", two)];
        let table = SolverComparison(&scores).to_string();
        assert_eq!(
            table.lines().collect::<Vec<_>>(),
            [
                "group           n  policy, %              state value, %",
                "400-599         1    0.0 (0.0 to 100.0)   100.0 (20.7 to 100.0)",
                "1200-1399      10   80.0 (49.0 to 94.3)    40.0 (16.8 to 68.7)",
                "all            11   80.0 (49.0 to 94.3)    45.5 (21.3 to 72.0)",
            ]
        );
    }

    #[test]
    fn mates_fall_into_lengths_and_the_shortest_get_the_points() {
        let mut score = Score::default();
        for (moves, points) in [(10, 0.0), (-2, 1.0), (2, 0.0)] {
            let puzzle = Puzzle { task: Solution::Mate(moves), ..puzzle("", None) };
            score.add(&puzzle, &Attempt { points, ..attempt(true, true) });
        }
        let groups: Vec<String> = score.groups.keys().map(ToString::to_string).collect();
        assert_eq!(groups, ["mate in 2", "mate in 10"]);
        assert!(score.to_string().contains("points"));
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
