//! Tables of measured sets: text of at most 100 columns, and CSV.

use engine::process::files::csv_field;
use std::fmt;
use std::fmt::Write as _;
use train::metrics::{Metrics, Row, Unit};

/// Width of row names.
const NAME: usize = 22;
/// Width of a column with its leading space: six fit.
const COLUMN: usize = 13;

/// A set of positions with its metrics.
pub(super) struct Column {
    /// Two header lines.
    pub head: [String; 2],
    pub metrics: Metrics,
}

/// Related sets.
pub(super) struct AccuracyTable {
    pub title: String,
    pub columns: Vec<Column>,
}

impl Column {
    pub fn new(top: &str, bottom: &str, metrics: Metrics) -> Column {
        Column { head: [top.to_owned(), bottom.to_owned()], metrics }
    }

    /// Both header lines as one.
    pub fn name(&self) -> String {
        self.head.join(" ")
    }
}

/// Footnote of the tables.
pub(super) const NOTE: &str =
    "±: half of the 95 % interval (of shares, Wilson's); n: positions counted in the rows below it";

impl fmt::Display for AccuracyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)?;
        for line in 0..2 {
            let heads = self.columns.iter().map(|column| column.head[line].as_str());
            write_line(f, "", heads)?;
        }
        let columns: Vec<Vec<Row>> =
            self.columns.iter().map(|column| column.metrics.rows()).collect();
        let mut last = Vec::new();
        for (number, Row { name, unit, .. }) in columns.first().into_iter().flatten().enumerate() {
            let cells = || columns.iter().filter_map(|rows| rows.get(number));
            let counts: Vec<u64> = cells().map(|row| row.count).collect();
            if counts.iter().all(|&count| count == 0) {
                continue;
            }
            // Rows over the same positions share one line with their number.
            if counts != last {
                let texts: Vec<String> =
                    counts.iter().map(|count| format!("{count}      ")).collect();
                write_line(f, "n", texts.iter().map(String::as_str))?;
                last = counts;
            }
            let name = match unit {
                Unit::Share | Unit::Probability => format!("{name}, %"),
                Unit::Correlation => (*name).to_owned(),
            };
            let texts: Vec<String> = cells().map(cell).collect();
            write_line(f, &name, texts.iter().map(String::as_str))?;
        }
        Ok(())
    }
}

fn write_line<'a>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    cells: impl Iterator<Item = &'a str>,
) -> fmt::Result {
    let mut line = format!("{name:<NAME$}");
    for cell in cells {
        let _ = write!(line, "{cell:>COLUMN$}");
    }
    write!(f, "\n{}", line.trim_end())
}

/// Twelve characters: aligns decimal points.
fn cell(row: &Row) -> String {
    let Some(value) = row.value else { return "–      ".to_owned() };
    let margin = row.interval.map(|(low, high)| (high - low) / 2.0);
    let (value, margin) = match row.unit {
        Unit::Share | Unit::Probability => {
            let percent = |margin: f64| match 100.0 * margin {
                wide if wide >= 9.995 => format!("{wide:.1}"),
                narrow => format!("{narrow:.2}"),
            };
            (format!("{:.2}", 100.0 * value), margin.map(percent))
        }
        Unit::Correlation => {
            let short = |margin: f64| format!("{margin:.3}").trim_start_matches('0').to_owned();
            (format!("{value:.3}"), margin.map(short))
        }
    };
    let margin = margin.map_or_else(String::new, |margin| format!("±{margin}"));
    format!("{value:>6} {margin:<5}")
}

/// Header of the CSV.
pub(super) const CSV_HEAD: &str = "set,metric,value,low,high,n\n";

/// A row of the CSV.
pub(super) fn csv_line(
    set: &str,
    metric: &str,
    value: f64,
    interval: Option<(f64, f64)>,
    count: u64,
) -> String {
    let set = csv_field(set);
    let (low, high) = interval
        .map_or_else(Default::default, |(low, high)| (format!("{low:.6}"), format!("{high:.6}")));
    format!("{set},{metric},{value:.6},{low},{high},{count}\n")
}

impl AccuracyTable {
    /// All figures as CSV rows; percentages as fractions.
    pub fn csv(&self) -> String {
        let mut lines = String::new();
        for column in &self.columns {
            let set = format!("{} {}", self.title, column.name());
            for Row { name, value, interval, count, .. } in column.metrics.rows() {
                if let Some(value) = value {
                    lines += &csv_line(&set, name, value, interval, count);
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(right: u32, of: u32) -> Metrics {
        let mut metrics = Metrics::default();
        for number in 0..of {
            metrics.next_exact.add(f64::from(u8::from(number < right)));
        }
        metrics
    }

    #[test]
    fn every_row_stands_below_its_count() {
        let mut one = metrics(8, 10);
        one.action_tau.add(0.5);
        one.action_tau.add(0.7);
        one.value_error.add(0.125);
        let columns =
            vec![Column::new("MAV(s)", "standard", one), Column::new("MAV(s)", "x", metrics(2, 2))];
        let table = AccuracyTable { title: "games".to_owned(), columns };
        let expected = [
            "games",
            "                             MAV(s)       MAV(s)",
            "                           standard            x",
            "n                           2            0",
            "action value tau-b      0.600 ±.196      –",
            "n                          10            2",
            "next state exact, %     80.00 ±22.7 100.00 ±32.9",
            "n                           1            0",
            "value error, %          12.50            –",
        ];
        assert_eq!(table.to_string().lines().collect::<Vec<_>>(), expected);
        let csv = table.csv();
        assert!(csv.contains("\"games MAV(s) standard\",next state exact,0.800000,0.490"), "{csv}");
        assert!(csv.contains("\"games MAV(s) standard\",value error,0.125000,,,1\n"), "{csv}");
        assert_eq!(csv.lines().count(), 4);
        assert!(csv.lines().all(|line| line.split(',').count() == CSV_HEAD.split(',').count()));
    }

    #[test]
    fn six_sets_fit_into_a_hundred_columns() {
        let mut metrics = metrics(80_000, 100_000);
        for _ in 0..3 {
            metrics.policy_tau.add(-0.5);
            metrics.policy_tau.add(0.5);
            metrics.precision.add(1.0);
            metrics.action_regret.add(0.9);
        }
        let column = || Column::new("variations", "Chess960", metrics);
        let table =
            AccuracyTable { title: String::new(), columns: (0..6).map(|_| column()).collect() };
        let text = table.to_string();
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{text}");
        assert!(NOTE.chars().count() <= 100);
        // Names do not touch neighbouring columns.
        assert!(metrics.rows().iter().all(|row| row.name.len() + ", %".len() <= NAME));
    }
}
