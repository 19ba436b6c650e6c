//! Games of self-play as lines of JSON, one game a line. Positions are not stored: the moves lead to them, and every one is checked.

use super::sample::Sample;
use engine::process::files::whole_lines;
use games::game::Game;
use games::world::INTRINSIC;
use mcts::Wdl;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A finished game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameRecord {
    /// Its number in the generation.
    pub game: usize,
    /// Random moves before the first search.
    pub start: Vec<u16>,
    /// The searched moves.
    pub turns: Vec<Turn>,
    /// The players, in a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<TeamPairing>,
}

impl GameRecord {
    /// The side of the searched move `at`: 0 for the one that moved first in the game.
    #[must_use]
    pub fn side(&self, at: usize) -> usize {
        (self.start.len() + at) % 2
    }

    /// The player of a side's moves.
    #[must_use]
    pub fn player(&self, side: usize) -> usize {
        self.pairing.map_or(0, |pairing| pairing.players[side])
    }

    /// Whether the searches of a side teach.
    #[must_use]
    pub fn teaches(&self, side: usize) -> bool {
        self.pairing.is_none_or(|pairing| pairing.teach[side])
    }

    /// Points of the side that moved first; None if the game is not over.
    pub fn points<G: Game>(&self, game: &G) -> Option<f64> {
        let mut state = game.start();
        let moves = self.start.iter().copied().chain(self.turns.iter().map(|turn| turn.action));
        moves.for_each(|action| game.play(&mut state, action));
        let result = game.end(&state)?;
        let movers = self.side(self.turns.len()) == 0;
        Some(f64::from(if movers { result } else { result.flip() }.q()))
    }
}

/// Players of a team's game, and the one that learns from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamPairing {
    /// The player that moves first, and the other.
    pub players: [usize; 2],
    /// Sides whose searches teach: one, or both of the same player.
    pub teach: [bool; 2],
}

/// A searched move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The move played.
    pub action: u16,
    /// Visits of each legal move, in the order of [`Game::moves`]; empty after a quick search.
    pub visits: Vec<u32>,
    /// Win probability of each legal move in permille; -1 if unknown.
    pub values: Vec<i16>,
    /// The proven score of the position, in halves of a point.
    pub proven: Option<u8>,
}

/// A fault of a file of games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// A line is none of a finished game.
    Line {
        /// From 1.
        line: usize,
        /// Its fault.
        what: String,
    },
    /// Games are missing.
    Count {
        /// Games that are there.
        found: usize,
        /// Games of a generation.
        expected: usize,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Line { line, what } => write!(f, "line {line}: {what}"),
            RecordError::Count { found, expected } => {
                write!(f, "{found} games, expected {expected}")
            }
        }
    }
}

impl std::error::Error for RecordError {}

/// The games of a file, by number. Leaves out a last line that was cut short.
///
/// # Errors
/// Names the first line that is none of a finished game.
pub fn read_games<G: Game>(game: &G, bytes: &[u8]) -> Result<Vec<GameRecord>, RecordError> {
    let mut records = Vec::new();
    for (at, line) in whole_lines(bytes).enumerate() {
        let fault = |what: String| RecordError::Line { line: at + 1, what };
        let record: GameRecord =
            serde_json::from_slice(line).map_err(|why| fault(format!("not a game ({why})")))?;
        samples(game, &record).map_err(fault)?;
        records.push(record);
    }
    records.sort_by_key(|record| record.game);
    records.dedup_by_key(|record| record.game);
    Ok(records)
}

/// The searched positions of a game with their labels. In a game of a team all of them are positions of the player that learns; those in
/// which its opponent moved have no policy and no action values, which are the opponent's.
///
/// # Errors
/// An illegal move, labels of other moves, or no end.
pub fn samples<G: Game>(game: &G, record: &GameRecord) -> Result<Vec<Sample<G::State>>, String> {
    let mut state = game.start();
    let play = |state: &mut G::State, action: u16| {
        if !game.moves(state).contains(&action) {
            return Err(format!("illegal move {action}"));
        }
        game.play(state, action);
        Ok(())
    };
    record.start.iter().try_for_each(|action| play(&mut state, *action))?;
    let mut positions = Vec::with_capacity(record.turns.len());
    for turn in &record.turns {
        positions.push(state.clone());
        let legal = game.moves(&state).len();
        let quick = turn.visits.is_empty();
        if (turn.visits.len() != legal && !quick) || turn.values.len() != legal {
            let found = if quick { turn.values.len() } else { turn.visits.len() };
            return Err(format!("labels of {found} moves, expected {legal}"));
        }
        play(&mut state, turn.action)?;
    }
    let mut result = game.end(&state).ok_or("the game is not over")?;
    let mut samples: Vec<Sample<G::State>> = Vec::with_capacity(positions.len());
    for (at, (state, turn)) in positions.into_iter().zip(&record.turns).enumerate().rev() {
        result = result.flip();
        let side = record.side(at);
        let own = record.teaches(side);
        let all: u32 = turn.visits.iter().sum();
        let policy = turn.visits.iter().map(|n| *n as f32 / all.max(1) as f32);
        let value = |permille: &i16| {
            if *permille < 0 || !own { f32::NAN } else { f32::from(*permille) / 1000.0 }
        };
        samples.push(Sample {
            state,
            policy: if own { policy.collect() } else { Vec::new() },
            values: turn.values.iter().map(value).collect(),
            score: turn
                .proven
                .map_or_else(|| score(result), |halves| f32::from(halves.min(2)) / 2.0),
            player: record.player(if own { side } else { 1 - side }),
            intrinsic: [f32::NAN; INTRINSIC],
        });
    }
    samples.reverse();
    Ok(samples)
}

/// 0, ½ or 1.
fn score(result: Wdl) -> f32 {
    result.q()
}
