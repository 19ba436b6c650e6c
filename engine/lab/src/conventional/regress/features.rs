//! The paper's four ways to write a board as numbers, each with the layers it is for.

use super::board::{Board, KINDS, PIECES};
use super::giraffe;
use super::layers::Shape;

/// A regressor's inputs and layers. Widths are ours: the paper's are lost with its figures A2 to A4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Features {
    /// One number for each kind of piece on each square, 1 where it stands, to dense layers.
    OneHot,
    /// The same numbers as planes, to two convolutions without pooling and a dense layer.
    Planes,
    /// The whole board, its pieces and its squares as Giraffe sees them, each to dense layers of their own first.
    Giraffe,
    /// For each of 32 pieces its file and rank in [0, 1] and whether it is there, to dense layers.
    Positional,
}

impl Features {
    /// All of them.
    pub const ALL: [Features; 4] =
        [Features::OneHot, Features::Planes, Features::Giraffe, Features::Positional];

    /// As files and command lines name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Features::OneHot => "one-hot",
            Features::Planes => "cnn",
            Features::Giraffe => "giraffe",
            Features::Positional => "positional",
        }
    }

    /// Its model's file in a folder of models.
    #[must_use]
    pub fn file_name(self) -> String {
        format!("{}.regressor", self.name())
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Features> {
        Features::ALL.into_iter().find(|features| features.name() == name)
    }

    /// Numbers of a board.
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

    /// Writes a board into a row of zeros, `width` long.
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
    fn positions_are_told_by_place() {
        let row = row(Features::Positional, "4k3/8/8/8/8/8/PPPPPP2/QQ2K3 w - - 0 1");
        assert_eq!(row.iter().skip(2).step_by(3).sum::<f32>(), 10.0);
        // Six pawns, then the second queen, on b1.
        assert_eq!(row[3 * 6..3 * 7], [1.0 / 7.0, 0.0, 1.0]);
        assert_eq!(row[3 * 7 + 2], 0.0);
    }
}
