//! Elo of a run's networks: each plays a match against the latest reference, an earlier network of the run.

use super::error::{LearnError, read_own_text};
use super::exam::Solved;
use super::measure::contest;
use super::settings::Settings;
use engine::process::errors::FileError;
use engine::process::files::write_whole;

use games::net::{BoardNet, NetworkFile};
use std::path::Path;

/// Score from which the next matches are played against the newer network.
const NEW_REFERENCE: f64 = 0.75;

/// Elo of the network `after` a generation against the first of the run; the one `before` it is the first reference.
///
/// # Errors
/// A file of the folder is damaged or cannot be written.
pub fn elo<G: Solved>(
    game: &G,
    settings: &Settings,
    folder: &Path,
    [before, after]: [&NetworkFile; 2],
) -> Result<f64, LearnError> {
    let path = folder.join("reference.safetensors");
    let base = folder.join("reference.json");
    let (reference, elo) = if path.exists() && base.exists() {
        let reference = NetworkFile::load(&path).map_err(LearnError::parameters(&path))?;
        let text = read_own_text(&base)?;
        let elo: f64 = text.trim().parse().map_err(|why| {
            LearnError::Damaged(base.clone(), format!("not an Elo rating ({why})"))
        })?;
        (reference, elo)
    } else {
        (before.clone(), 0.0)
    };
    let net = |network| {
        BoardNet::new(network, game).map_err(|why| LearnError::Unfit(folder.to_owned(), why))
    };
    let [new, old] = [after, &reference].map(net);
    let games = settings.contest;
    let playouts = settings.play.short;
    let score = contest(game, [&new?, &old?], playouts, games, settings.seed);
    // One game more, drawn: a won match of a few games has no end otherwise.
    let score = (score * games as f64 + 0.5) / (games as f64 + 1.0);
    let newest = elo + 400.0 * (score / (1.0 - score)).log10();
    if !path.exists() {
        reference.save(&path).map_err(LearnError::parameters(&path))?;
        write_whole(&base, "0").map_err(FileError::of(&base))?;
    }
    if score >= NEW_REFERENCE {
        after.save(&path).map_err(LearnError::parameters(&path))?;
        write_whole(&base, newest.to_string()).map_err(FileError::of(&base))?;
    }
    Ok(newest)
}
