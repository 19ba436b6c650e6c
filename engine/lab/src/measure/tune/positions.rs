//! Labelled positions from either kind of file: JSON lines by `mavka-lab label`, or forks of a data file.

use super::forks;
use super::labels::{LabelledPosition, LabelsError, Recipe, read};
use std::path::Path;

/// At most `limit` positions of `path`, with their description. Files named `.mavg` or `.mavg.zst` are data files.
///
/// # Errors
/// The file and its error.
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
    fn label_files_and_data_files_are_distinguished() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/tuning.jsonl.zst");
        let (what, positions) = open(&own, 7).unwrap();
        assert_eq!(positions.len(), 7);
        assert_eq!(what, "7 positions labelled by Stockfish 15.1 with 100000 and 20000 nodes");
        let error = open(Path::new("none.mavg.zst"), 7).unwrap_err();
        assert!(matches!(error, LabelsError::Data(_)) && error.to_string().contains("none.mavg"));
    }
}
