//! Draws the losses of a run over its examples, as SVG.

use super::labels::ticks;
use crate::plots::style;
use crate::plots::svg;
use crate::plots::{FiguresError, PlotError};
use engine::process::errors::FileError;
use plotters::prelude::*;
use std::path::Path;
use train::network::Loss;

/// Points of a drawn curve; each is the mean of the rows it stands for.
const POINTS: usize = 80;

/// Reads the run's `losses.csv` and writes the picture beside it, one curve a loss, each as a multiple of
/// where it stood last (they are of different sizes; what matters is whether they still fall).
///
/// # Errors
/// The CSV has fewer than two rows or is none of ours, or the picture cannot be written.
pub fn draw(csv: &Path, picture: &Path) -> Result<(), PlotError> {
    let text = std::fs::read_to_string(csv).map_err(FiguresError::Io);
    let rows = text
        .and_then(|text| rows(&text))
        .map_err(|why| PlotError::Figures(FileError::of(csv)(why)))?;
    let curves = curves(&rows);
    let last = rows.last().map_or(0.0, |row| row.examples);

    svg::write(picture, (800, 500), |canvas| {
        let mut chart = style::chart(canvas, "losses, relative to the last", 60)
            .build_cartesian_2d(0.0..last, 0.9..1.6)?;
        let mut mesh = chart.configure_mesh();
        style::mesh(&mut mesh);
        mesh.x_desc("million examples")
            .x_label_formatter(&|examples| ticks(examples / 1e6, last / 1e6))
            .y_desc("loss / last loss")
            .draw()?;
        for (number, (name, points)) in curves.into_iter().enumerate() {
            let color = style::series(number);
            chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?.label(name).legend(
                move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)),
            );
        }
        style::legend(&mut chart, SeriesLabelPosition::UpperRight)
    })
}

struct LossRow {
    examples: f64,
    /// In the order of [`DRAWN`].
    losses: Vec<f64>,
}

/// Curves of interest: their names and places among the losses. The transition's is so near zero that it
/// would show its noise alone.
const DRAWN: [(&str, Loss); 4] = [
    ("policy", Loss::Policy),
    ("action values", Loss::Actions),
    ("value", Loss::Value),
    ("legality", Loss::Legality),
];

fn rows(text: &str) -> Result<Vec<LossRow>, FiguresError> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let column = |name| {
        let missing = || FiguresError::NoColumn { name, head: head.to_owned() };
        head.split(',').position(|other| other == name).ok_or_else(missing)
    };
    let examples = column("examples")?;
    let drawn = DRAWN.iter().map(|(_, loss)| column(Loss::NAMES[*loss as usize]));
    let losses = drawn.collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |place: usize| -> Option<f64> { fields.get(place)?.parse().ok() };
        let all: Option<Vec<f64>> = losses.iter().map(|place| number(*place)).collect();
        // A killed run may have left half a line.
        if let (Some(examples), Some(losses)) = (number(examples), all) {
            rows.push(LossRow { examples, losses });
        }
    }
    if rows.len() < 2 { Err(FiguresError::Rows(rows.len())) } else { Ok(rows) }
}

fn curves(rows: &[LossRow]) -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let chunk = rows.len().div_ceil(POINTS);
    let curve = |place: usize| -> Vec<(f64, f64)> {
        let mean = |rows: &[LossRow], of: &dyn Fn(&LossRow) -> f64| {
            rows.iter().map(of).sum::<f64>() / rows.len() as f64
        };
        let of = |row: &LossRow| row.losses[place];
        let last = mean(&rows[rows.len() - chunk..], &of).max(f64::MIN_POSITIVE);
        let point = |rows: &[LossRow]| (mean(rows, &|row| row.examples), mean(rows, &of) / last);
        rows.chunks(chunk).map(point).collect()
    };
    DRAWN.iter().enumerate().map(|(place, (name, _))| (*name, curve(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(rows: usize) -> String {
        let mut text = format!("step,examples,{}\n", Loss::NAMES.join(","));
        for i in 0..rows {
            let losses: Vec<String> =
                (0..Loss::NAMES.len()).map(|l| format!("{}", l + 1 + rows - i)).collect();
            text += &format!("{i},{},{}\n", i * 256, losses.join(","));
        }
        text + "7,17"
    }

    #[test]
    fn curves_end_at_one_and_follow_their_columns() {
        let rows = rows(&csv(3)).unwrap();
        assert_eq!(rows.len(), 3);
        let curves = curves(&rows);
        assert_eq!(curves[0], ("policy", vec![(0.0, 2.0), (256.0, 1.5), (512.0, 1.0)]));
        assert_eq!(curves[3].1[0], (0.0, 10.0 / 8.0));
    }

    #[test]
    fn long_runs_are_averaged() {
        let rows = rows(&csv(1000)).unwrap();
        let curves = curves(&rows);
        assert_eq!(curves[1].1.len(), 77);
        assert_eq!(curves[1].1[0].0, 6.0 * 256.0);
    }

    #[test]
    fn what_is_no_loss_file_is_named() {
        let fault = |text: &str| rows(text).map(drop).unwrap_err().to_string();
        assert!(fault("a,b\n1,2\n").contains("\"examples\""));
        assert!(fault(&csv(1)).contains("at least 2"));
    }

    #[test]
    fn a_picture_is_drawn() {
        let folder = std::env::temp_dir().join(format!("mavka-curve-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("losses.csv"), folder.join("losses.svg"));
        std::fs::write(&from, csv(50)).unwrap();
        draw(&from, &to).unwrap();
        let text = std::fs::read_to_string(&to).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        assert!(text.contains("<svg") && text.contains("legality"));
    }
}
