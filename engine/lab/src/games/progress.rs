//! The curve of a run: one row a generation, kept in a journal, shown as CSV and as a picture.

use super::error::LearnError;
use super::losses::LOSSES;
use crate::plots::{Curve, Picture};
use engine::process::errors::FileError;
use engine::process::files::{JournalFile, write_whole};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A finished generation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GenerationRow {
    /// Its number, from 1.
    pub generation: usize,
    /// Hours of work so far.
    pub hours: f64,
    /// Games so far.
    pub games: usize,
    /// Searched positions so far.
    pub positions: usize,
    /// Mean losses of its steps, in the order of [`LOSSES`].
    pub losses: Vec<f64>,
    /// Share of value-keeping moves where it matters, of the policy alone and of a long search; None without a solver.
    pub optimal: Option<[f64; 2]>,
    /// Elo against the untrained network, by a chain of matches.
    pub elo: f64,
    /// Seconds of self-play, training and measurement.
    pub seconds: [f64; 3],
    /// Mean distance of a team's players to their nearest ones, of those paid for it.
    #[serde(default)]
    pub distance: Option<f64>,
}

/// The rows of a journal that count: a generation that was repeated has its last one.
pub fn latest(all: Vec<GenerationRow>) -> Vec<GenerationRow> {
    let mut rows: Vec<GenerationRow> = Vec::new();
    for row in all {
        rows.retain(|earlier| earlier.generation < row.generation);
        rows.push(row);
    }
    rows
}

/// Adds a row, and writes `progress.csv` and `progress.svg` anew.
///
/// # Errors
/// A file cannot be written.
pub fn add(
    journal: &mut JournalFile,
    rows: &mut Vec<GenerationRow>,
    row: GenerationRow,
    folder: &Path,
) -> Result<(), LearnError> {
    journal.append(&row)?;
    rows.push(row);
    let path = folder.join("progress.csv");
    write_whole(&path, csv(rows)).map_err(FileError::of(&path))?;
    Ok(picture(rows).draw(&folder.join("progress.svg"))?)
}

fn csv(rows: &[GenerationRow]) -> String {
    let losses = LOSSES.map(|loss| format!(",{loss}")).concat();
    let mut text = format!(
        "generation,hours,games,positions{losses},optimal_policy,optimal_search,elo,play_s,train_s,measure_s,distance\n"
    );
    for row in rows {
        let losses: String = row.losses.iter().map(|loss| format!(",{loss:.5}")).collect();
        let optimal = row
            .optimal
            .map_or(",".to_owned(), |[policy, search]| format!("{policy:.4},{search:.4}"));
        let [play, train, measure] = row.seconds;
        let distance = row.distance.map_or(String::new(), |distance| format!("{distance:.4}"));
        text += &format!(
            "{},{:.4},{},{}{losses},{optimal},{:.1},{play:.1},{train:.1},{measure:.1},{distance}\n",
            row.generation, row.hours, row.games, row.positions, row.elo
        );
    }
    text
}

/// All curves over time on one axis: shares as they are, the loss as a multiple of the first one, Elo in thousands.
fn picture(rows: &[GenerationRow]) -> Picture {
    let loss = |row: &GenerationRow| row.losses.iter().sum::<f64>();
    let first = rows.first().map_or(1.0, loss);
    let curve = |name: &str, value: &dyn Fn(&GenerationRow) -> Option<f64>| Curve {
        name: name.to_owned(),
        points: rows.iter().filter_map(|row| Some((row.hours, value(row)?))).collect(),
    };
    let curves = [
        curve("optimal moves, search", &|row| row.optimal.map(|optimal| optimal[1])),
        curve("optimal moves, policy", &|row| row.optimal.map(|optimal| optimal[0])),
        curve("loss / first loss", &|row| Some(loss(row) / first)),
        curve("Elo / 1000", &|row| Some(row.elo / 1000.0)),
        curve("distance of players", &|row| row.distance),
    ];
    Picture {
        title: "learning from nothing".to_owned(),
        x: "hours".to_owned(),
        y: "share, multiple, thousands of Elo".to_owned(),
        curves: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
    }
}
