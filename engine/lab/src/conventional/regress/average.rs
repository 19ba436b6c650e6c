//! Several regressors as one (paper 002, "most promising engine"): the mean of what they guess, weighted by the
//! phase of the game. The paper weighs by colour too; ours see every board from the mover's side, and have none.

use super::board::Board;
use super::model::{MAX_BYTES, OpenError, Regressor};
use super::successors::BoardValue;
use crate::conventional::evaluation::phase;
use engine::errors::quote_path;
use nn::files::read_regular;
use serde::{Deserialize, Serialize};
use shakmaty::Role;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// One of the models, as the file names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Where the regressor is, seen from the list's own folder.
    pub file: PathBuf,
    /// Its weight with all pieces on the board.
    #[serde(default = "one")]
    pub opening: f32,
    /// Its weight with kings and pawns alone. In between the weight is too.
    #[serde(default = "one")]
    pub endgame: f32,
}

fn one() -> f32 {
    1.0
}

/// The file: a list of models, as TOML.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Each `[[model]]`.
    #[serde(default)]
    pub model: Vec<Named>,
}

/// Why a list is of no use.
#[derive(Debug)]
pub enum BadList {
    /// It does not read.
    Toml(toml::de::Error),
    /// It is empty, or at some phase its weights are not above zero together.
    Weights,
    /// The list itself cannot be read.
    File(PathBuf, io::Error),
    /// A model's file cannot be used.
    Model(OpenError),
}

impl fmt::Display for BadList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadList::Toml(why) => write!(f, "no list of regressors: {why}"),
            BadList::Weights => f.write_str(
                "no list of regressors: expected [[model]] with weights `opening` and `endgame`, none \
                 negative and in both phases one above zero",
            ),
            BadList::File(file, why) => write!(f, "{}: {why}", quote_path(file)),
            BadList::Model(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for BadList {}

/// The models and their weights.
pub struct Average {
    members: Vec<(Regressor, [f32; 2])>,
}

impl Average {
    /// Averages models, each with its weights in the opening and in the endgame. None as [`BadList::Weights`] says.
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

    /// The models that `file` lists.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn open(file: &Path) -> Result<Average, BadList> {
        let text = read_regular(file, MAX_BYTES);
        let text = text.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        let text = text.map_err(|why| BadList::File(file.to_owned(), why))?;
        let list: List = toml::from_str(&text).map_err(BadList::Toml)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let member = |named: Named| {
            let model = Regressor::open(&folder.join(&named.file)).map_err(BadList::Model)?;
            Ok((model, [named.opening, named.endgame]))
        };
        let members = list.model.into_iter().map(member).collect::<Result<_, _>>()?;
        Average::new(members).ok_or(BadList::Weights)
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

/// How much of an opening a board is: 1 with all pieces there, 0 with kings and pawns alone.
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
    fn guesses_are_weighted_by_phase() {
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
