//! Ensemble of regressors (paper 002, "most promising engine"): mean of their outputs, weighted by game phase. The
//! paper's weights also depend on colour; here boards are always from the mover's side.

use super::board::Board;
use super::model::{MAX_BYTES, OpenError, Regressor};
use super::successors::BoardValue;
use crate::conventional::evaluation::phase;
use engine::process::errors::quote_path;
use nn::files::read_regular;
use serde::{Deserialize, Serialize};
use shakmaty::Role;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// A model of the list file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// File of the regressor, relative to the list's folder.
    pub file: PathBuf,
    /// Weight at phase 1, all pieces on the board.
    #[serde(default = "one")]
    pub opening: f32,
    /// Weight at phase 0, kings and pawns only; interpolated in between.
    #[serde(default = "one")]
    pub endgame: f32,
}

fn one() -> f32 {
    1.0
}

/// The list file in TOML.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The `[[model]]` tables.
    #[serde(default)]
    pub model: Vec<Named>,
}

/// Error of a list.
#[derive(Debug)]
pub enum ListError {
    /// Invalid TOML.
    Toml(toml::de::Error),
    /// An empty list, or weights that are not positive at some phase.
    Weights,
    /// The list cannot be read.
    File(PathBuf, io::Error),
    /// A model's file cannot be used.
    Model(OpenError),
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListError::Toml(why) => write!(f, "no list of regressors: {why}"),
            ListError::Weights => f.write_str(
                "no list of regressors: expected [[model]] with weights `opening` and `endgame`, none \
                 negative and in both phases one above zero",
            ),
            ListError::File(file, why) => write!(f, "{}: {why}", quote_path(file)),
            ListError::Model(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for ListError {}

/// Ensemble members with their weights.
pub struct Average {
    members: Vec<(Regressor, [f32; 2])>,
}

impl Average {
    /// An ensemble with weights in the opening and in the endgame. None in the case of [`ListError::Weights`].
    #[must_use]
    pub fn new(members: Vec<(Regressor, [f32; 2])>) -> Option<Average> {
        let sound = |side: usize| {
            let weights = || members.iter().map(|(_, weights)| weights[side]);
            weights().all(|weight| weight >= 0.0)
                && (weights().sum::<f32>() > 0.0)
                && weights().sum::<f32>().is_finite()
        };
        (sound(0) && sound(1)).then_some(Average { members })
    }

    /// Opens the models of a list file.
    ///
    /// # Errors
    /// The file and its error.
    pub fn open(file: &Path) -> Result<Average, ListError> {
        let text = read_regular(file, MAX_BYTES);
        let text = text.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        let text = text.map_err(|why| ListError::File(file.to_owned(), why))?;
        let list: List = toml::from_str(&text).map_err(ListError::Toml)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let member = |named: Named| {
            let model = Regressor::open(&folder.join(&named.file)).map_err(ListError::Model)?;
            Ok((model, [named.opening, named.endgame]))
        };
        let members = list.model.into_iter().map(member).collect::<Result<_, _>>()?;
        Average::new(members).ok_or(ListError::Weights)
    }
}

impl BoardValue for Average {
    fn win_probabilities(&self, boards: &[Board]) -> Vec<f32> {
        let early: Vec<f32> = boards.iter().map(opening).collect();
        let (mut sums, mut weights) = (vec![0.0; boards.len()], vec![0.0; boards.len()]);
        for (model, [opening, endgame]) in &self.members {
            for (at, guess) in model.win_probabilities(boards).into_iter().enumerate() {
                let weight = early[at] * opening + (1.0 - early[at]) * endgame;
                sums[at] += weight * guess;
                weights[at] += weight;
            }
        }
        sums.iter().zip(weights).map(|(sum, weight)| sum / weight).collect()
    }
}

/// Game phase of a board: 1 with all pieces, 0 with kings and pawns only.
#[must_use]
pub fn opening(board: &Board) -> f32 {
    phase(board.pieces().map(|(kind, _)| Role::ALL[kind % Role::ALL.len()]))
}

#[cfg(test)]
mod tests {
    use super::super::board::board;
    use super::super::features::Features;
    use super::*;
    use std::fs;

    #[test]
    fn predictions_are_weighted_by_phase() {
        let (one, other) =
            (Regressor::new(Features::Positional, 1), Regressor::new(Features::Giraffe, 2));
        let boards = [
            board("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
            board("4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1"),
            board("r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1"),
        ];
        assert_eq!([1.0, 0.0, 1.0 / 3.0], [0, 1, 2].map(|at| opening(&boards[at])));
        let (a, b) = (one.win_probabilities(&boards), other.win_probabilities(&boards));
        let average = Average::new(vec![(one, [2.0, 0.0]), (other, [0.0, 1.0])]).unwrap();
        let found = average.win_probabilities(&boards);
        let expected = [a[0], b[1], (2.0 * a[2] + 2.0 * b[2]) / 4.0];
        assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn bad_lists_are_refused_by_name() {
        let model = || Regressor::new(Features::Positional, 1);
        for weights in [[0.0, 1.0], [1.0, -1.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            assert!(Average::new(vec![(model(), weights)]).is_none(), "{weights:?}");
        }
        assert!(Average::new(vec![]).is_none());
        let folder = std::env::temp_dir().join(format!("mavka-average-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.regressor"), model().to_bytes().unwrap()).unwrap();
        fs::write(folder.join("b.regressor"), "nothing").unwrap();
        let list = folder.join("list.toml");
        for (text, said) in [
            ("[[model]]\nfile = \"a.regressor\"", None),
            ("", Some("above zero")),
            ("[[model]]\nfile = \"b.regressor\"", Some("b.regressor")),
            ("[[model]]\nfile = \"c.regressor\"", Some("c.regressor")),
            ("[[model]]\nfile = \"a.regressor\"\ncolour = 1", Some("colour")),
        ] {
            fs::write(&list, text).unwrap();
            let error = Average::open(&list).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), said.is_some(), "{text}: {error:?}");
            assert!(said.is_none_or(|said| error.unwrap_or_default().contains(said)), "{text}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
