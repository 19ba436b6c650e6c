//! What a regressor called the boards of each bin of win probability, as a picture (paper 002, figure 4): labelled
//! from left to right, guessed from below; a good one has a dark diagonal.

use crate::conventional::regress::samples::{BINS, bin};
use crate::plots::PlotError;
use crate::plots::svg;
use plotters::prelude::*;
use std::path::Path;

/// Boards by labelled and guessed bin.
pub(crate) struct Confusion([[u32; BINS]; BINS]);

impl Confusion {
    /// Counts guesses and labels, both in [0, 1].
    pub fn of(guesses: &[f32], labels: &[f32]) -> Confusion {
        let mut counts = [[0; BINS]; BINS];
        for (guess, label) in guesses.iter().zip(labels) {
            counts[bin(*label)][bin(*guess)] += 1;
        }
        Confusion(counts)
    }

    /// Share of the boards whose guess is in the labelled bin or next to it.
    pub fn near(&self) -> f64 {
        let (mut near, mut all) = (0, 0);
        for (label, guesses) in self.0.iter().enumerate() {
            for (guess, count) in guesses.iter().enumerate() {
                all += count;
                near += if label.abs_diff(guess) < 2 { *count } else { 0 };
            }
        }
        f64::from(near) / f64::from(all.max(1))
    }

    /// Writes the picture; each label's column is shaded by the shares of its own boards.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn draw(&self, title: &str, path: &Path) -> Result<(), PlotError> {
        let cell = |at: usize| at as f64 / BINS as f64;
        svg::write(path, (560, 560), |canvas| {
            let mut chart = ChartBuilder::on(canvas)
                .caption(title, ("sans-serif", 18))
                .margin(15)
                .x_label_area_size(40)
                .y_label_area_size(50)
                .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
            chart
                .configure_mesh()
                .disable_mesh()
                .x_desc("labelled win probability")
                .y_desc("guessed")
                .draw()?;
            let columns = self.0.iter().enumerate().map(|(label, guesses)| {
                let all = f64::from(guesses.iter().sum::<u32>().max(1));
                guesses.iter().enumerate().map(move |(guess, count)| {
                    // The root keeps the few far misses visible.
                    let shade = BLUE.mix((f64::from(*count) / all).sqrt()).filled();
                    Rectangle::new(
                        [(cell(label), cell(guess)), (cell(label + 1), cell(guess + 1))],
                        shade,
                    )
                })
            });
            chart.draw_series(columns.flatten())?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn guesses_are_counted_by_bin_and_drawn() {
        let confusion = Confusion::of(&[0.01, 0.06, 0.5, 1.0], &[0.0, 0.0, 0.9, 1.0]);
        assert_eq!((confusion.0[0][0], confusion.0[0][1], confusion.0[18][10]), (1, 1, 1));
        assert!((confusion.near() - 0.75).abs() < 1e-9);
        let path = std::env::temp_dir().join(format!("mavka-confusion-{}.svg", std::process::id()));
        confusion.draw("one-hot MLP", &path).unwrap();
        let picture = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(picture.contains("one-hot MLP") && picture.contains("labelled win probability"));
    }
}
