//! Games of self-play as lines of JSON, one game a line. Positions are not stored: the moves lead to them, and every one is checked.

use super::sample::Sample;
use engine::files::whole_lines;
use games::game::Game;
use mcts::Wdl;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A finished game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its number in the generation.
    pub game: usize,
    /// Random moves before the first search.
    pub start: Vec<u16>,
    /// The searched moves.
    pub turns: Vec<Turn>,
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

/// What is wrong with a file of games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    line: usize,
    what: String,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for RecordError {}

/// The games of a file, by number. Leaves out a last line that was cut short.
///
/// # Errors
/// Names the first line that is none of a finished game.
pub fn read_games<G: Game>(game: &G, bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let mut records = Vec::new();
    for (at, line) in whole_lines(bytes).enumerate() {
        let fault = |what: String| RecordError { line: at + 1, what };
        let record: Record =
            serde_json::from_slice(line).map_err(|why| fault(format!("not a game ({why})")))?;
        samples(game, &record).map_err(fault)?;
        records.push(record);
    }
    records.sort_by_key(|record| record.game);
    records.dedup_by_key(|record| record.game);
    Ok(records)
}

/// The searched positions of a game with their labels.
///
/// # Errors
/// An illegal move, labels of other moves, or no end.
pub fn samples<G: Game>(game: &G, record: &Record) -> Result<Vec<Sample<G::State>>, String> {
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
    for (state, turn) in positions.into_iter().zip(&record.turns).rev() {
        result = result.flip();
        let all: u32 = turn.visits.iter().sum();
        let value = |permille: &i16| {
            if *permille < 0 { f32::NAN } else { f32::from(*permille) / 1000.0 }
        };
        samples.push(Sample {
            state,
            policy: turn.visits.iter().map(|n| *n as f32 / all.max(1) as f32).collect(),
            values: turn.values.iter().map(value).collect(),
            score: turn
                .proven
                .map_or_else(|| score(result), |halves| f32::from(halves.min(2)) / 2.0),
        });
    }
    samples.reverse();
    Ok(samples)
}

/// 0, ½ or 1.
fn score(result: Wdl) -> f32 {
    result.q()
}
