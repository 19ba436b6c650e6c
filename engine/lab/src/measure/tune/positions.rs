//! Labelled positions of a file of either kind: lines of JSON by `mavka-lab label`, or the forks of a data file.

use super::forks;
use super::labels::{LabelledPosition, LabelsError, Recipe, read};
use std::path::Path;

/// The positions of `path`, `limit` at most, and what they are. Names that end in `.mavg` or `.mavg.zst` are data files.
///
/// # Errors
/// Names the file, and what is wrong with it.
pub fn open(path: &Path, limit: usize) -> Result<(String, Vec<LabelledPosition>), LabelsError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".mavg") || name.ends_with(".mavg.zst") {
        let forks = forks::read(path, limit).map_err(LabelsError::Data)?;
        return Ok((format!("{} forks of {}", forks.len(), path.display()), forks));
    }
    let (Recipe { engine, best_nodes, move_nodes, .. }, mut positions) = read(path)?;
    positions.truncate(limit);
    let count = positions.len();
    let how = format!("labelled by {engine} with {best_nodes} and {move_nodes} nodes");
    Ok((format!("{count} positions {how}"), positions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_own_labels_are_told_apart_from_data_files() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/tuning.jsonl.zst");
        let (what, positions) = open(&own, 7).unwrap();
        assert_eq!(positions.len(), 7);
        assert_eq!(what, "7 positions labelled by Stockfish 15.1 with 100000 and 20000 nodes");
        let error = open(Path::new("none.mavg.zst"), 7).unwrap_err();
        assert!(matches!(error, LabelsError::Data(_)) && error.to_string().contains("none.mavg"));
    }
}
