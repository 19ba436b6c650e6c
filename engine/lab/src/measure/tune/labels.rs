//! Positions with deep labels, and the file that holds them: a line of JSON that says how they were made,
//! then one for each position. A file is written line by line, so that a run that was killed can go on;
//! compressed with zstd it is only read.

use engine::chess::action::Action;
use engine::chess::game::{Game, GameError};
use engine::errors::{FileError, quote};
use nn::files::read_unpacked;
use serde_json::{Map, Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// Version of the file format; the first line has it.
const VERSION: u64 = 1;
/// What every file begins with: JSON's keys are sorted.
pub const BEGINNING: &str = "{\"best_nodes\":";
/// Most bytes of a file, about a million positions. A file is read whole.
const MAX_BYTES: u64 = 1 << 30;
/// Digits kept of a win probability.
const UNIT: f64 = 1e4;

/// How labels were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Who made them, by its own name.
    pub engine: String,
    /// Nodes for the best move.
    pub best_nodes: u64,
    /// Nodes for each other move that matters.
    pub move_nodes: u64,
    /// A move matters if a shallow look finds it this close to the best one, in win probability.
    pub margin: f32,
}

/// A position with the value of every legal move, for its mover, in [0, 1].
#[derive(Clone, Debug)]
pub struct LabelledPosition {
    /// Without its past.
    pub game: Game,
    /// By a deep search of all moves.
    pub best: Action,
    /// Searched deeply, the best move included.
    pub deep: Vec<(Action, f32)>,
    /// The others, as the shallow look has them.
    pub shallow: Vec<(Action, f32)>,
}

/// Why labels cannot be read.
#[derive(Debug)]
pub enum LabelsError {
    /// The file cannot be read.
    File(FileError),
    /// A line that is no label.
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: LabelFault,
    },
}

/// What is wrong with a line.
#[derive(Debug)]
pub enum LabelFault {
    /// There is no first line.
    Empty,
    /// No JSON.
    Json(serde_json::Error),
    /// Another version of the format, or another format.
    Version,
    /// The first line does not say how the labels were made.
    Recipe,
    /// A field is missing.
    Missing(&'static str),
    /// The position is refused.
    Game(GameError),
    /// A move is not legal in the position.
    Move(String),
    /// This move has no win probability.
    Value(String),
    /// The best move was not searched deeply.
    ShallowBest,
}

impl fmt::Display for LabelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabelFault::Empty => f.write_str("the file is empty"),
            LabelFault::Json(why) => why.fmt(f),
            LabelFault::Version => write!(f, "expected `\"mavka-labels\":{VERSION}`"),
            LabelFault::Recipe => f.write_str("expected engine, best_nodes, move_nodes and margin"),
            LabelFault::Missing(field) => write!(f, "expected `{field}`"),
            LabelFault::Game(why) => why.fmt(f),
            LabelFault::Move(word) => write!(f, "{} is not legal", quote(word)),
            LabelFault::Value(word) => write!(f, "{} needs a win probability", quote(word)),
            LabelFault::ShallowBest => f.write_str("the best move has no deep value"),
        }
    }
}

impl std::error::Error for LabelFault {}

impl fmt::Display for LabelsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabelsError::File(why) => why.fmt(f),
            LabelsError::Line { path, line, why } => {
                write!(f, "{}, line {line}: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for LabelsError {}

impl Recipe {
    /// The first line of a file.
    #[must_use]
    pub fn to_line(&self) -> String {
        json!({
            "mavka-labels": VERSION,
            "engine": self.engine,
            "best_nodes": self.best_nodes,
            "move_nodes": self.move_nodes,
            "margin": rounded(self.margin),
        })
        .to_string()
    }

    fn from_line(line: &[u8]) -> Result<Recipe, LabelFault> {
        let value: Value = serde_json::from_slice(line).map_err(LabelFault::Json)?;
        let version = value.get("mavka-labels").and_then(Value::as_u64);
        if version != Some(VERSION) {
            return Err(LabelFault::Version);
        }
        let count = |name: &str| value.get(name).and_then(Value::as_u64);
        let recipe = || {
            Some(Recipe {
                engine: value.get("engine")?.as_str()?.to_owned(),
                best_nodes: count("best_nodes")?,
                move_nodes: count("move_nodes")?,
                margin: value.get("margin")?.as_f64()? as f32,
            })
        };
        recipe().ok_or(LabelFault::Recipe)
    }
}

impl LabelledPosition {
    /// How much win probability a move gives away, against the best one. A move whose own search thinks
    /// better of it than the best move's gives nothing away.
    #[must_use]
    pub fn regret(&self, action: Action) -> f32 {
        let of = |action| {
            let all = self.deep.iter().chain(&self.shallow);
            all.into_iter().find(|(other, _)| *other == action).map_or(0.0, |(_, value)| *value)
        };
        (of(self.best) - of(action)).max(0.0)
    }

    /// The line of a file.
    #[must_use]
    pub fn to_line(&self) -> String {
        let values = |of: &[(Action, f32)]| {
            let pair = |(action, value): &(Action, f32)| {
                (self.game.uci(*action), Value::from(rounded(*value)))
            };
            Value::Object(of.iter().map(pair).collect::<Map<_, _>>())
        };
        json!({
            "fen": self.game.fen(),
            "chess960": self.game.mode() == shakmaty::CastlingMode::Chess960,
            "best": self.game.uci(self.best),
            "deep": values(&self.deep),
            "shallow": values(&self.shallow),
        })
        .to_string()
    }

    fn from_line(line: &[u8]) -> Result<LabelledPosition, LabelFault> {
        let value: Value = serde_json::from_slice(line).map_err(LabelFault::Json)?;
        let text = |name| value.get(name).and_then(Value::as_str).ok_or(LabelFault::Missing(name));
        let chess960 = value.get("chess960").and_then(Value::as_bool).unwrap_or(false);
        let game = Game::from_fen(text("fen")?, chess960).map_err(LabelFault::Game)?;
        let read = |word: &str| {
            let action = Action::from_uci(word, game.position());
            action.ok_or_else(|| LabelFault::Move(word.to_owned()))
        };
        let values = |name| -> Result<Vec<(Action, f32)>, LabelFault> {
            let moves = value.get(name).and_then(Value::as_object);
            let moves = moves.ok_or(LabelFault::Missing(name))?;
            let pair = |(word, value): (&String, &Value)| {
                let value = value.as_f64().filter(|value| (0.0..=1.0).contains(value));
                let value = value.ok_or_else(|| LabelFault::Value(word.clone()))?;
                Ok((read(word)?, value as f32))
            };
            moves.iter().map(pair).collect()
        };
        let best = read(text("best")?)?;
        let (deep, shallow) = (values("deep")?, values("shallow")?);
        if deep.iter().all(|(action, _)| *action != best) {
            return Err(LabelFault::ShallowBest);
        }
        Ok(LabelledPosition { game, best, deep, shallow })
    }
}

/// With four digits, and without the noise of single precision.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * UNIT).round() / UNIT
}

/// Reads a file of labels, plain or compressed (zstd). A last line that was cut short is left out.
///
/// # Errors
/// Names the file, and the line that is no label.
pub fn read(path: &Path) -> Result<(Recipe, Vec<LabelledPosition>), LabelsError> {
    let bytes = read_unpacked(path, MAX_BYTES);
    parse(path, &bytes.map_err(|why| LabelsError::File(FileError::of(path)(why)))?)
}

/// The labels in `bytes`, the content of the file at `path`. A last line that was cut short is left out.
///
/// # Errors
/// Names the file, and the line that is no label.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<(Recipe, Vec<LabelledPosition>), LabelsError> {
    let wrong = |line: usize, why| LabelsError::Line { path: path.to_owned(), line, why };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().ok_or_else(|| wrong(1, LabelFault::Empty))?;
    let recipe = Recipe::from_line(first).map_err(|why| wrong(1, why))?;
    let mut positions = Vec::new();
    for (line, number) in lines.zip(2..) {
        match LabelledPosition::from_line(line) {
            Ok(position) => positions.push(position),
            Err(_) if !line.ends_with(b"}") && !line.ends_with(b"\n") => {}
            Err(why) => return Err(wrong(number, why)),
        }
    }
    Ok((recipe, positions))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEN: &str = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";

    fn sample() -> LabelledPosition {
        let game = Game::from_fen(FEN, false).unwrap();
        let action = |word: &str| Action::from_uci(word, game.position()).unwrap();
        let deep = vec![(action("e1g1"), 0.51234), (action("a1a8"), 0.75), (action("h1h8"), 0.8)];
        let shallow = vec![(action("a1a2"), 0.1)];
        LabelledPosition { best: action("a1a8"), deep, shallow, game }
    }

    #[test]
    fn regret_is_what_a_move_gives_away() {
        let labelled = sample();
        let regret =
            |word: &str| labelled.regret(Action::from_uci(word, labelled.game.position()).unwrap());
        assert_eq!((regret("a1a8"), regret("h1h8")), (0.0, 0.0));
        assert!((regret("e1g1") - 0.23766).abs() < 1e-6);
        assert!((regret("a1a2") - 0.65).abs() < 1e-6);
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let recipe = Recipe {
            engine: "Fake \"1\"".to_owned(),
            best_nodes: 300_000,
            move_nodes: 60_000,
            margin: 0.15,
        };
        assert_eq!(Recipe::from_line(recipe.to_line().as_bytes()).unwrap(), recipe);
        assert!(recipe.to_line().starts_with(BEGINNING));
        let line = sample().to_line();
        assert_eq!(LabelledPosition::from_line(line.as_bytes()).unwrap().to_line(), line);
        assert!(line.contains("\"e1g1\":0.5123"), "{line}");
        let chess960 = Game::from_fen(FEN, true).unwrap();
        let best = Action::from_uci("e1h1", chess960.position()).unwrap();
        let line =
            LabelledPosition { best, deep: vec![(best, 0.5)], shallow: Vec::new(), game: chess960 }
                .to_line();
        assert_eq!(LabelledPosition::from_line(line.as_bytes()).unwrap().best, best, "{line}");
    }

    #[test]
    fn the_projects_own_labels_can_be_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/tuning.jsonl.zst");
        let (recipe, positions) = read(&path).unwrap();
        assert_eq!((recipe.engine.as_str(), recipe.best_nodes), ("Stockfish 15.1", 100_000));
        assert!(positions.len() > 1000, "{}", positions.len());
        for labelled in &positions {
            let all = labelled.deep.len() + labelled.shallow.len();
            assert_eq!(all, labelled.game.legal_actions().len());
        }
    }

    #[test]
    fn odd_lines_are_refused_with_their_number() {
        assert!(Recipe::from_line(b"{\"mavka-labels\":2}").is_err());
        let line = sample().to_line();
        for (from, to) in [("a1a8\",\"chess", "b1a8\",\"chess"), ("0.75", "7.5"), ("KQkq", "XX")] {
            let broken = line.replacen(from, to, 1);
            assert_ne!(broken, line, "{from}");
            assert!(LabelledPosition::from_line(broken.as_bytes()).is_err(), "{broken}");
        }
        let path = std::env::temp_dir().join(format!("mavka-labels-{}", std::process::id()));
        let recipe = Recipe { engine: "x".to_owned(), best_nodes: 1, move_nodes: 1, margin: 0.25 };
        let cut = format!("{}\n{line}\n{}", recipe.to_line(), &line[..line.len() / 2]);
        std::fs::write(&path, &cut).unwrap();
        let (read_back, positions) = read(&path).unwrap();
        assert_eq!((read_back, positions.len()), (recipe, 1), "the last line was cut short");
        std::fs::write(&path, format!("{cut}\n{line}\n")).unwrap();
        let error = read(&path).unwrap_err().to_string();
        let _ = std::fs::remove_file(&path);
        assert!(error.contains("line 3"), "{error}");
    }
}
