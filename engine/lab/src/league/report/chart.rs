//! Plot of Elo over a quantity on a logarithmic axis, as HTML that scales with the page while dots and text keep their
//! size.

use engine::markup::escape;
use std::fmt::Write as _;

/// An agent.
pub(super) struct AgentPoint {
    /// Positive.
    pub x: f64,
    /// Elo.
    pub y: f64,
    /// Half-width of its interval.
    pub error: f64,
    /// Label beside the dot.
    pub label: String,
    /// Tooltip.
    pub title: String,
}

/// Points of one colour.
pub(super) struct ChartSeries {
    pub name: String,
    pub points: Vec<AgentPoint>,
}

/// A plot.
pub(super) struct Chart {
    /// Title of the horizontal axis.
    pub x: &'static str,
    pub lines: Vec<ChartSeries>,
    /// Connect points by lines.
    pub joined: bool,
}

/// Maximum length of a whisker in Elo.
const MAX_WHISKER: f64 = 200.0;

impl Chart {
    pub(super) fn draw(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let least =
            |of: &dyn Fn(&AgentPoint) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
        let most =
            |of: &dyn Fn(&AgentPoint) -> f64| points().map(of).fold(f64::NEG_INFINITY, f64::max);
        let reach = |point: &AgentPoint| point.error.min(MAX_WHISKER);
        let (left, right) = (least(&|p| p.x.ln()), most(&|p| p.x.ln()));
        let (low, high) = (least(&|p| p.y - reach(p)), most(&|p| p.y + reach(p)));
        // Margin; minimum range for a single point.
        let margin = ((right - left) * 0.06).max(0.2);
        let (left, right) = (left - margin, right + margin);
        let step = step(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let across = |x: f64| 100.0 * (x.ln() - left) / (right - left);
        let up = |y: f64| 100.0 * (high - y) / (high - low).max(1.0);

        let mut lines = String::new();
        let mut marks = String::new();
        let mut at = low;
        while at <= high + 0.5 {
            let y = up(at);
            let _ = write!(lines, "<path class='grid' d='M0 {y:.2}H100'/>");
            let _ = write!(marks, "<span class='y' style='top:{y:.2}%'>{at:.0}</span>");
            at += step;
        }
        let marked = if self.joined { self.values() } else { ticks(left.exp(), right.exp()) };
        for x in marked {
            let _ = write!(
                marks,
                "<span class='x' style='left:{:.2}%'>{}</span>",
                across(x),
                number(x)
            );
        }
        for (index, line) in self.lines.iter().enumerate() {
            let colour = index % 6;
            if self.joined {
                let path: Vec<String> = line
                    .points
                    .iter()
                    .map(|p| format!("{:.2} {:.2}", across(p.x), up(p.y)))
                    .collect();
                let _ = write!(lines, "<path class='c{colour}' d='M{}'/>", path.join("L"));
            }
            for point in &line.points {
                let (x, y) = (across(point.x), up(point.y));
                let (top, bottom) = (up(point.y + reach(point)), up(point.y - reach(point)));
                let _ = write!(
                    lines,
                    "<path class='c{colour} whisker' d='M{x:.2} {top:.2}V{bottom:.2}'/>"
                );
                let _ = write!(
                    marks,
                    "<span class='point c{colour}' style='left:{x:.2}%;top:{y:.2}%' title='{}'>{}</span>",
                    escape(&point.title),
                    escape(&point.label)
                );
            }
        }
        let keys: Vec<String> = self
            .lines
            .iter()
            .enumerate()
            .map(|(index, line)| {
                format!("<span class='c{}'>●</span> {}", index % 6, escape(&line.name))
            })
            .collect();
        format!(
            "<figure class='chart'><div class='area'><svg viewBox='0 0 100 100' preserveAspectRatio='none' \
             aria-hidden='true'>{lines}</svg>{marks}</div><figcaption>{} · {}, logarithmic; whiskers are 95 % intervals</figcaption></figure>\n",
            keys.join(" "),
            self.x
        )
    }
}

impl Chart {
    /// All vertical values.
    fn values(&self) -> Vec<f64> {
        let mut all: Vec<f64> =
            self.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }
}

/// Round grid distance for five to ten lines.
fn step(range: f64) -> f64 {
    [10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        .into_iter()
        .find(|step| range / step <= 8.0)
        .unwrap_or(1000.0)
}

/// Ticks 1, 2, 5, 10 … in the range; only powers of ten if there are too many.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    let all = |digits: &[f64]| -> Vec<f64> {
        (-3..9)
            .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)))
            .filter(|x| (from..=to).contains(x))
            .collect()
    };
    let fine = all(&[1.0, 2.0, 5.0]);
    if fine.len() <= 8 { fine } else { all(&[1.0]) }
}

fn number(x: f64) -> String {
    if x >= 1_000_000.0 {
        format!("{}M", x / 1_000_000.0)
    } else if x >= 10_000.0 {
        format!("{}k", x / 1000.0)
    } else if x >= 1.0 {
        format!("{x:.0}")
    } else {
        format!("{x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(80.0, 2500.0), [100.0, 200.0, 500.0, 1000.0, 2000.0]);
        assert_eq!(ticks(0.2, 50_000.0), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(number(20_000.0), "20k");
        assert_eq!(step(1700.0), 500.0);
    }

    #[test]
    fn a_plot_holds_all_points_inside() {
        let point = |x: f64, y: f64| AgentPoint {
            x,
            y,
            error: 3000.0,
            label: "<1>".to_owned(),
            title: "it's".to_owned(),
        };
        let line = ChartSeries {
            name: "a".to_owned(),
            points: vec![point(100.0, -50.0), point(1000.0, 900.0)],
        };
        let html = Chart { x: "nodes", lines: vec![line], joined: true }.draw();
        assert_eq!(html.matches("class='point").count(), 2);
        assert!(
            !html.contains("<1>") && !html.contains("NaN") && !html.contains("'it's"),
            "{html}"
        );
        for part in html.split("left:").skip(1) {
            let share: f64 = part.split('%').next().unwrap().parse().unwrap();
            assert!((0.0..=100.0).contains(&share), "{share}");
        }
    }
}
