//! The settings of a run, and their file in its folder, by which the folder is recognised.

use super::error::{LearnError, read_own_text};
use super::selfplay::{Play, noise_alpha};
use super::team::table::TeamSettings;
use super::trainer::Training;
use engine::process::errors::FileError;
use engine::process::files::write_whole;
use games::game::Game;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Its name.
pub const CONFIG: &str = "config.json";

/// Settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of the game, and of the board's size.
    pub game: String,
    /// As above.
    pub size: String,
    /// Seed of everything.
    pub seed: u64,
    /// Self-play.
    pub play: Play,
    /// Training.
    pub training: Training,
    /// Solved positions for the curve.
    pub exam: usize,
    /// Games of a generation's match against an earlier network.
    pub contest: usize,
    /// The network to begin with; random weights without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<PathBuf>,
    /// Solved positions in which half of the games begin; their results are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<PathBuf>,
    /// Several players in one network, which learn to differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamSettings>,
    /// The games are the solver's, with exact labels, not the network's own.
    #[serde(default)]
    pub taught: bool,
}

impl Settings {
    /// The settings for a board.
    #[must_use]
    pub fn new<G: Game>(game: &G, seed: u64) -> Settings {
        Settings {
            game: game.name().to_owned(),
            size: game.size(),
            seed,
            play: Play {
                games: 500,
                long: 200,
                short: 40,
                long_share: 0.25,
                noise: 0.25,
                exploration: 2.5,
                alpha: noise_alpha(game),
                drawn_plies: 16,
                random_share: 0.5,
                // Fewer where moves are many, or each first move would hardly be played.
                random_plies: if game.grid().moves.len() > 10 { 2 } else { 8 },
            },
            training: Training {
                channels: 32,
                blocks: 6,
                batch: 256,
                uses: 4.0,
                rate: 2e-3,
                warmup: 200,
                average: 0.995,
                window: [20_000, 500_000],
            },
            exam: 200,
            contest: 20,
            init: None,
            starts: None,
            team: None,
            taught: false,
        }
    }

    /// The same with games of the solver, whose labels are exact and take long.
    #[must_use]
    pub fn taught(self) -> Settings {
        let training = Training { uses: 16.0, ..self.training };
        Settings { taught: true, training, ..self }
    }
}

/// Writes the settings of a new folder, or compares them with those of a begun one. The learning rate may change: it falls in the course
/// of a run (paper 004).
///
/// # Errors
/// The file cannot be read or written, is none of a run, or differs.
pub fn check_settings(settings: &Settings, path: &Path) -> Result<(), LearnError> {
    let save = || {
        let text = serde_json::to_string_pretty(settings).unwrap_or_default();
        write_whole(path, text + "\n").map_err(FileError::of(path))
    };
    if !path.exists() {
        return Ok(save()?);
    }
    let other = |what: String| LearnError::Settings { path: path.to_owned(), what };
    let mut found: Settings = serde_json::from_str(&read_own_text(path)?)
        .map_err(|why| other(format!("no settings of a run ({why})")))?;
    found.training.rate = settings.training.rate;
    if found == *settings {
        return Ok(save()?);
    }
    let of = |settings: &Settings| {
        let text = serde_json::to_string_pretty(settings).unwrap_or_default();
        text.lines().map(|line| line.trim().trim_end_matches(',').to_owned()).collect::<Vec<_>>()
    };
    let (found, expected) = (of(&found), of(settings));
    let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    let (found, expected) = differs.map_or(("", ""), |(found, expected)| (&**found, &**expected));
    Err(other(format!("the run has {found}, not {expected}")))
}
