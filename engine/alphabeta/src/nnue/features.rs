//! Input features: the first-layer row of a piece on a square.

use super::ZONES;

/// A side's view of the board, determined by its king's square (king bucket).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The king is on files e to h.
    mirrored: bool,
    /// King bucket, below [`ZONES`].
    zone: u8,
}

/// King bucket by square of the files a to d, from its own edge up: most kings are on the first two ranks.
const ZONE: [[u8; 4]; 8] = [
    [0, 1, 2, 3],
    [4, 4, 5, 5],
    [6, 6, 6, 6],
    [6, 6, 6, 6],
    [7, 7, 7, 7],
    [7, 7, 7, 7],
    [7, 7, 7, 7],
    [7, 7, 7, 7],
];

impl View {
    /// Number of views.
    pub const COUNT: usize = 2 * ZONES;

    /// Index of the view.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        2 * usize::from(self.zone) + usize::from(self.mirrored)
    }

    /// King bucket, below 8.
    #[inline]
    #[must_use]
    pub fn zone(self) -> u8 {
        self.zone
    }

    /// View of a side with its king on `king`, from its own edge.
    #[inline]
    #[must_use]
    pub fn of(king: usize) -> View {
        let mirrored = king % 8 >= 4;
        let square = if mirrored { king ^ 7 } else { king };
        View { mirrored, zone: ZONE[square / 8][square % 8] }
    }

    /// Row of a piece: `theirs` if it is the other side's, `role` from 0 for pawns to 5 for kings, `square`
    /// from the side's own edge.
    #[inline]
    #[must_use]
    pub fn row(self, theirs: bool, role: usize, square: usize) -> usize {
        let square = if self.mirrored { square ^ 7 } else { square };
        (usize::from(self.zone) * 12 + usize::from(theirs) * 6 + role) * 64 + square
    }
}
