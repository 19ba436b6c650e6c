//! Labelled positions and their file format: a JSON line with the recipe, then one line per position. Written line by
//! line, so that an interrupted run can resume; zstd-compressed files are read-only.

use chess::action::Action;
use chess::game::{Game, GameError};
use chess::quote::quote;
use engine::process::errors::FileError;
use nn::files::read_unpacked;
use serde_json::{Map, Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// Version of the format, in the first line.
const VERSION: u64 = 1;
/// Prefix of every file: JSON keys are sorted.
pub const BEGINNING: &str = "{\"best_nodes\":";
/// Maximum file size, about a million positions. Files are read whole.
const MAX_BYTES: u64 = 1 << 30;
/// Precision of win probabilities: four digits.
const ROUNDING: f64 = 1e4;

/// Origin of labels.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelRecipe {
    /// The engine's name.
    pub engine: String,
    /// Nodes for the best move.
    pub best_nodes: u64,
    /// Nodes for each other close move.
    pub move_nodes: u64,
    /// Maximum distance of a close move from the best one by shallow values, in win probability.
    pub margin: f32,
}

/// A position with values of all legal moves for the mover, in [0, 1].
#[derive(Clone, Debug)]
pub struct LabelledPosition {
    /// Without history.
    pub game: Game,
    /// By a deep search of all moves.
    pub best: Action,
    /// Deeply searched moves, including the best.
    pub deep: Vec<(Action, f32)>,
    /// Shallow values of the other moves.
    pub shallow: Vec<(Action, f32)>,
}

/// Error of a label file.
#[derive(Debug)]
pub enum LabelsError {
    /// The file cannot be read.
    File(FileError),
    /// An invalid line.
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Its error.
        why: LabelLineError,
    },
}

/// Error of a line.
#[derive(Debug)]
pub enum LabelLineError {
    /// Empty file.
    Empty,
    /// Invalid JSON.
    Json(serde_json::Error),
    /// Another version, or another format.
    Version,
    /// The first line has no recipe.
    Recipe,
    /// A field is missing.
    Missing(&'static str),
    /// Invalid position.
    Game(GameError),
    /// Illegal move.
    Move(String),
    /// A move without a win probability.
    Value(String),
    /// The best move has no deep value.
    ShallowBest,
}

impl fmt::Display for LabelLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabelLineError::Empty => f.write_str("the file is empty"),
            LabelLineError::Json(why) => why.fmt(f),
            LabelLineError::Version => write!(f, "expected `\"mavka-labels\":{VERSION}`"),
            LabelLineError::Recipe => {
                f.write_str("expected engine, best_nodes, move_nodes and margin")
            }
            LabelLineError::Missing(field) => write!(f, "expected `{field}`"),
            LabelLineError::Game(why) => why.fmt(f),
            LabelLineError::Move(word) => write!(f, "{} is not legal", quote(word)),
            LabelLineError::Value(word) => write!(f, "{} needs a win probability", quote(word)),
            LabelLineError::ShallowBest => f.write_str("the best move has no deep value"),
        }
    }
}

impl std::error::Error for LabelLineError {}

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

impl LabelRecipe {
    /// First line of a file.
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

    fn from_line(line: &[u8]) -> Result<LabelRecipe, LabelLineError> {
        let value: Value = serde_json::from_slice(line).map_err(LabelLineError::Json)?;
        let version = value.get("mavka-labels").and_then(Value::as_u64);
        if version != Some(VERSION) {
            return Err(LabelLineError::Version);
        }
        let count = |name: &str| value.get(name).and_then(Value::as_u64);
        let recipe = || {
            Some(LabelRecipe {
                engine: value.get("engine")?.as_str()?.to_owned(),
                best_nodes: count("best_nodes")?,
                move_nodes: count("move_nodes")?,
                margin: value.get("margin")?.as_f64()? as f32,
            })
        };
        recipe().ok_or(LabelLineError::Recipe)
    }
}

impl LabelledPosition {
    /// Win probability given away by a move against the best one; 0 if the move's own search rates it higher.
    #[must_use]
    pub fn regret(&self, action: Action) -> f32 {
        let of = |action| {
            let all = self.deep.iter().chain(&self.shallow);
            all.into_iter().find(|(other, _)| *other == action).map_or(0.0, |(_, value)| *value)
        };
        (of(self.best) - of(action)).max(0.0)
    }

    /// Line of a file.
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

    fn from_line(line: &[u8]) -> Result<LabelledPosition, LabelLineError> {
        let value: Value = serde_json::from_slice(line).map_err(LabelLineError::Json)?;
        let text =
            |name| value.get(name).and_then(Value::as_str).ok_or(LabelLineError::Missing(name));
        let chess960 = value.get("chess960").and_then(Value::as_bool).unwrap_or(false);
        let game = Game::from_fen(text("fen")?, chess960).map_err(LabelLineError::Game)?;
        let read = |word: &str| {
            let action = Action::from_uci(word, game.position());
            action.ok_or_else(|| LabelLineError::Move(word.to_owned()))
        };
        let values = |name| -> Result<Vec<(Action, f32)>, LabelLineError> {
            let moves = value.get(name).and_then(Value::as_object);
            let moves = moves.ok_or(LabelLineError::Missing(name))?;
            let pair = |(word, value): (&String, &Value)| {
                let value = value.as_f64().filter(|value| (0.0..=1.0).contains(value));
                let value = value.ok_or_else(|| LabelLineError::Value(word.clone()))?;
                Ok((read(word)?, value as f32))
            };
            moves.iter().map(pair).collect()
        };
        let best = read(text("best")?)?;
        let (deep, shallow) = (values("deep")?, values("shallow")?);
        if deep.iter().all(|(action, _)| *action != best) {
            return Err(LabelLineError::ShallowBest);
        }
        Ok(LabelledPosition { game, best, deep, shallow })
    }
}

/// Rounds to four digits, without noise of single precision.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * ROUNDING).round() / ROUNDING
}

/// Reads a label file, plain or zstd-compressed. A truncated last line is ignored.
///
/// # Errors
/// The file and the invalid line.
pub fn read(path: &Path) -> Result<(LabelRecipe, Vec<LabelledPosition>), LabelsError> {
    let bytes = read_unpacked(path, MAX_BYTES);
    parse(path, &bytes.map_err(|why| LabelsError::File(FileError::of(path)(why)))?)
}

/// Parses `bytes`, the content of the file at `path`, or of several files of one recipe. A truncated last line is ignored.
///
/// # Errors
/// The file and the invalid line.
pub fn parse(
    path: &Path,
    bytes: &[u8],
) -> Result<(LabelRecipe, Vec<LabelledPosition>), LabelsError> {
    let wrong = |line: usize, why| LabelsError::Line { path: path.to_owned(), line, why };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().ok_or_else(|| wrong(1, LabelLineError::Empty))?;
    let recipe = LabelRecipe::from_line(first).map_err(|why| wrong(1, why))?;
    let mut positions = Vec::new();
    for (line, number) in lines.zip(2..) {
        if line == first {
            // Files of one recipe may be put behind one another.
            continue;
        }
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
        let recipe = LabelRecipe {
            engine: "Fake \"1\"".to_owned(),
            best_nodes: 300_000,
            move_nodes: 60_000,
            margin: 0.15,
        };
        assert_eq!(LabelRecipe::from_line(recipe.to_line().as_bytes()).unwrap(), recipe);
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
        let (recipe, judge) = read(&path.with_file_name("judge.jsonl.zst")).unwrap();
        assert!(recipe.engine.starts_with("Stockfish 19") && recipe.best_nodes == 200_000);
        assert!(judge.len() > 200, "{}", judge.len());
        for labelled in positions.iter().chain(&judge) {
            let all = labelled.deep.len() + labelled.shallow.len();
            assert_eq!(all, labelled.game.legal_actions().len());
        }
    }

    #[test]
    fn odd_lines_are_refused_with_their_number() {
        assert!(LabelRecipe::from_line(b"{\"mavka-labels\":2}").is_err());
        let line = sample().to_line();
        for (from, to) in [("a1a8\",\"chess", "b1a8\",\"chess"), ("0.75", "7.5"), ("KQkq", "XX")] {
            let broken = line.replacen(from, to, 1);
            assert_ne!(broken, line, "{from}");
            assert!(LabelledPosition::from_line(broken.as_bytes()).is_err(), "{broken}");
        }
        let path = std::env::temp_dir().join(format!("mavka-labels-{}", std::process::id()));
        let recipe =
            LabelRecipe { engine: "x".to_owned(), best_nodes: 1, move_nodes: 1, margin: 0.25 };
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
