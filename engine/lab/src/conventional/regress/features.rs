//! The paper's four board encodings, each with its layers.

use super::board::{Board, KINDS, PIECES};
use super::giraffe;
use super::layers::Shape;

/// Encoding and layers of a regressor. Widths are ours: the paper's figures A2 to A4 are not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// One-hot by piece kind and square, to dense layers.
    OneHot,
    /// The same as planes, to two convolutions without pooling and a dense layer.
    Planes,
    /// Giraffe's features of board, pieces and squares, each with its own dense layers first.
    Giraffe,
    /// File and rank in [0, 1] and presence of each of 32 pieces, to dense layers.
    Positional,
}

impl Features {
    /// All encodings.
    pub const ALL: [Features; 4] =
        [Features::OneHot, Features::Planes, Features::Giraffe, Features::Positional];

    /// Name in files and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Features::OneHot => "one-hot",
            Features::Planes => "cnn",
            Features::Giraffe => "giraffe",
            Features::Positional => "positional",
        }
    }

    /// File name in a folder of models.
    #[must_use]
    pub fn file_name(self) -> String {
        format!("{}.regressor", self.name())
    }

    /// The encoding with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Features> {
        Features::ALL.into_iter().find(|features| features.name() == name)
    }

    /// Number of inputs.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Features::OneHot | Features::Planes => KINDS * 64,
            Features::Giraffe => giraffe::GLOBAL + giraffe::PIECEWISE + giraffe::SQUAREWISE,
            Features::Positional => 3 * PIECES,
        }
    }

    /// The layers, input first.
    #[must_use]
    pub fn layers(self) -> Vec<Shape> {
        let dense = |widths: &[usize]| -> Vec<Shape> {
            widths.windows(2).map(|pair| Shape::dense(pair[0], pair[1])).collect()
        };
        match self {
            Features::OneHot => dense(&[self.width(), 512, 256, 64, 1]),
            Features::Planes => {
                let filters = [Shape::Convolution((KINDS, 64)), Shape::Convolution((64, 64))];
                filters.into_iter().chain(dense(&[64 * 64, 128, 1])).collect()
            }
            Features::Giraffe => {
                let (pieces, squares) = (giraffe::PIECEWISE, giraffe::SQUAREWISE);
                let parts = vec![(giraffe::GLOBAL, 64), (pieces, 128), (squares, 128)];
                std::iter::once(Shape::Dense(parts)).chain(dense(&[320, 128, 1])).collect()
            }
            Features::Positional => dense(&[self.width(), 256, 256, 128, 1]),
        }
    }

    /// Writes a board to a zeroed row of length `width`.
    pub fn write(self, board: &Board, row: &mut [f32]) {
        match self {
            Features::OneHot => {
                board.pieces().for_each(|(kind, square)| row[64 * kind + square] = 1.0);
            }
            Features::Planes => {
                board.pieces().for_each(|(kind, square)| row[KINDS * square + kind] = 1.0);
            }
            Features::Giraffe => giraffe::write(board, row),
            Features::Positional => {
                for (place, _, square) in board.placed() {
                    let at = &mut row[3 * place..3 * place + 3];
                    at.copy_from_slice(&[
                        (square % 8) as f32 / 7.0,
                        (square / 8) as f32 / 7.0,
                        1.0,
                    ]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::board::board;
    use super::*;

    fn row(features: Features, fen: &str) -> Vec<f32> {
        let mut row = vec![0.0; features.width()];
        features.write(&board(fen), &mut row);
        row
    }

    #[test]
    fn numbers_fit_the_layers_and_both_colours_see_the_same() {
        let (white, black) =
            ("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1", "4k2r/4p3/8/8/8/8/8/4K3 b k - 0 1");
        for features in Features::ALL {
            assert_eq!(row(features, white), row(features, black), "{features:?}");
            assert_eq!(Features::named(features.name()), Some(features));
            let layers = features.layers();
            assert_eq!(layers[0].inputs(), features.width(), "{features:?}");
            assert!(layers.windows(2).all(|pair| pair[0].outputs() == pair[1].inputs()));
        }
    }

    #[test]
    fn one_hot_and_planes_are_the_same_numbers() {
        let fen = "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1";
        let (flat, planes) = (row(Features::OneHot, fen), row(Features::Planes, fen));
        assert_eq!(flat.iter().sum::<f32>(), 4.0);
        // The mover's rook on h1.
        assert_eq!((flat[64 * 3 + 7], planes[KINDS * 7 + 3]), (1.0, 1.0));
        for (place, number) in flat.iter().enumerate() {
            assert_eq!(*number, planes[KINDS * (place % 64) + place / 64]);
        }
    }

    #[test]
    fn positional_features_use_slots() {
        let row = row(Features::Positional, "4k3/8/8/8/8/8/PPPPPP2/QQ2K3 w - - 0 1");
        assert_eq!(row.iter().skip(2).step_by(3).sum::<f32>(), 10.0);
        // Six pawns, then the second queen on b1.
        assert_eq!(row[3 * 6..3 * 7], [1.0 / 7.0, 0.0, 1.0]);
        assert_eq!(row[3 * 7 + 2], 0.0);
    }
}
