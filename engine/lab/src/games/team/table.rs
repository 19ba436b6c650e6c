//! The start of a generation's games: each player's reward and distribution of opponents, from the team's latest games.

use super::matchmaker::{Matchmaker, Payoffs};
use super::occupancy::{OccupancyStanding, standings};
use super::picture;
use super::world::Shaping;
use crate::games::error::LearnError;
use crate::games::record::{GameRecord, TeamPairing};
use engine::process::errors::FileError;
use engine::process::files::{read_whole_text, write_whole};
use games::game::Game;
use nn::rng::Rng;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Settings of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamSettings {
    /// Players of the network; the first one is paid by results alone (λ₀ = 1).
    pub players: usize,
    /// λ of the others: the share of the result in what they play for.
    pub extrinsic: f32,
    /// ℓ₀: the distance between players at which nothing is paid for another one.
    pub distance: f64,
    /// The pairing of players.
    pub matchmaker: Matchmaker,
}

/// Name of its file in a run's folder.
pub const STANDINGS: &str = "standings.json";
/// Name of the picture of the players' boards.
pub const PLAYERS: &str = "players.svg";

/// The state of the team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamState {
    settings: TeamSettings,
    /// By player; empty before the first games.
    pub standings: Vec<OccupancyStanding>,
    /// `[learner moves first][learner][opponent]`: probabilities.
    opponents: [Vec<Vec<f64>>; 2],
}

impl TeamState {
    /// From the latest games.
    pub fn new<G: Game>(game: &G, settings: &TeamSettings, records: &[&GameRecord]) -> TeamState {
        let TeamSettings { players, distance, matchmaker, .. } = *settings;
        let mut payoffs = Payoffs::new(players);
        for record in records {
            if let (Some(pairing), Some(points)) = (record.pairing, record.points(game)) {
                payoffs.add(pairing.players, points);
            }
        }
        let row = |moves_first: bool| {
            (0..players).map(|player| matchmaker.opponents(player, &payoffs, moves_first)).collect()
        };
        TeamState {
            settings: settings.clone(),
            standings: standings(game, records, players, distance),
            opponents: [row(false), row(true)],
        }
    }

    /// Draws who plays: the learning player and its colour uniformly, its opponent from the matchmaker's row.
    pub fn pair(&self, random: &mut Rng) -> TeamPairing {
        let learner = random.below(self.settings.players);
        let moves_first = random.chance(0.5);
        let row = &self.opponents[usize::from(moves_first)][learner];
        let opponent = random.draw(row).unwrap_or(learner);
        let same = opponent == learner;
        if moves_first {
            TeamPairing { players: [learner, opponent], teach: [true, same] }
        } else {
            TeamPairing { players: [opponent, learner], teach: [same, true] }
        }
    }

    /// A player's reward besides the result; None for the first one.
    #[must_use]
    pub fn shaping(&self, player: usize) -> Option<Shaping<'_>> {
        let standing = self.standings.get(player).filter(|_| player > 0)?;
        Some(Shaping { reward: &standing.reward, extrinsic: self.settings.extrinsic })
    }

    /// Writes the table and the picture of its players into a run's folder.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save<G: Game>(&self, game: &G, folder: &Path) -> Result<(), LearnError> {
        let path = folder.join(STANDINGS);
        let text = serde_json::to_string(self).unwrap_or_default();
        write_whole(&path, text + "\n").map_err(FileError::of(&path))?;
        if self.standings.is_empty() {
            return Ok(());
        }
        let grid = game.grid();
        Ok(picture::draw(&self.standings, grid.columns, &folder.join(PLAYERS))?)
    }

    /// Reads the table of a team on the board of `game`.
    ///
    /// # Errors
    /// The file cannot be read, or is none of this board.
    pub fn load<G: Game>(game: &G, path: &Path) -> Result<TeamState, LearnError> {
        let other = |what: String| LearnError::Settings { path: path.to_owned(), what };
        let table: TeamState = serde_json::from_str(&read_whole_text(path)?)
            .map_err(|why| other(format!("no standings of a team ({why})")))?;
        let cells = game.grid().cells();
        if table.standings.iter().all(|standing| standing.reward.fits(cells)) {
            return Ok(table);
        }
        Err(other(format!("the standings are none of a board of {cells} cells")))
    }

    /// Mean distance of the players after the first to their nearest ones; None before the first games.
    #[must_use]
    pub fn distance(&self) -> Option<f64> {
        let others = self.standings.get(1..).filter(|others| !others.is_empty())?;
        Some(others.iter().map(|standing| standing.distance).sum::<f64>() / others.len() as f64)
    }
}
