//! A batch of positions and their moves as tensors on a device.
//!
//! Squares and moves are uploaded as small integers and expanded to one-hot rows, so that gathering a move's
//! token is a matrix product: its gradient is one too, and deterministic, unlike a scatter's.

use super::config::TOKENS;
use crate::encode::Item;
use crate::encode::board::{EMBEDDING_ROWS, MARKS};
use crate::encode::relations::ATTACKS;
use burn::tensor::{Device, Int, Tensor, TensorData};

/// Move counts are padded to a multiple of this, to limit the number of shapes.
const MOVE_STEP: usize = 32;
/// An index without a one-hot row.
const NOWHERE: i32 = -1;

/// Input of [`super::module::Net`]: `n` positions with `k` moves each, the last of them padding.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `[n, 64, EMBEDDING_ROWS]`: factor of each embedding row per token.
    pub squares: Tensor<3>,
    /// `[n, 64, 1]`: 1 where a square is occupied or flagged, else 0. Only if the network uses it.
    pub(super) occupied: Option<Tensor<3>>,
    /// `[n, 4096, 1]`: kind of attack of a pair of squares (attacker, attacked), or none. Only if the network
    /// uses it.
    attacks: Option<Tensor<3, Int>>,
    /// `[n, 64, 1]`: mark of each square, or none. Only if the network uses it.
    marks: Option<Tensor<3, Int>>,
    /// `[n, k, 64]`: one-hot token a move starts from; zero for padding.
    pub from: Tensor<3>,
    /// `[n, k, 64]`: one-hot token it goes to; zero for padding.
    pub to: Tensor<3>,
    /// `[n, k, 5]`: one-hot promotion class; zero for padding.
    pub promotion: Tensor<3>,
    /// Positions, padding included.
    pub positions: usize,
    /// Moves per position, padding included: at least 32.
    pub moves: usize,
}

impl Inputs {
    /// Uploads `items` to `device`, padded to at least `positions` positions with at least `moves` moves each;
    /// without occupied squares, attacks and marks.
    pub(super) fn new(
        items: &[Item<'_>],
        positions: usize,
        moves: usize,
        device: &Device,
    ) -> Inputs {
        let n = positions.max(items.len());
        let most = items.iter().map(|item| item.moves.len()).max().unwrap_or(0);
        let k = most.max(moves).max(1).next_multiple_of(MOVE_STEP);
        let mut squares = vec![0.0f32; n * TOKENS * EMBEDDING_ROWS];
        let mut moves = [(); 3].map(|()| vec![NOWHERE; n * k]);
        for (p, item) in items.iter().enumerate() {
            for t in 0..TOKENS {
                let token = (p * TOKENS + t) * EMBEDDING_ROWS;
                item.features.embedding_rows(t, |row, factor| squares[token + row] = factor);
            }
            for (i, m) in item.moves.iter().enumerate() {
                for (place, index) in moves.iter_mut().zip([m.from, m.to, m.promotion]) {
                    place[p * k + i] = i32::from(index);
                }
            }
        }
        let [from, to, promotion] = moves;
        let squares = TensorData::new(squares, [n, TOKENS, EMBEDDING_ROWS]);
        Inputs {
            squares: Tensor::from_data(squares, device),
            occupied: None,
            attacks: None,
            marks: None,
            from: one_hot(indices(from, [n, k], device), TOKENS),
            to: one_hot(indices(to, [n, k], device), TOKENS),
            promotion: one_hot(indices(promotion, [n, k], device), 5),
            positions: n,
            moves: k,
        }
    }

    /// Adds which squares of the same `items` are occupied or flagged.
    pub(super) fn with_occupied(self, items: &[Item<'_>], device: &Device) -> Inputs {
        let mut occupied = vec![0.0f32; self.positions * TOKENS];
        for (item, occupied) in items.iter().zip(occupied.chunks_exact_mut(TOKENS)) {
            for (t, place) in occupied.iter_mut().enumerate() {
                *place = f32::from(u8::from(item.features.is_occupied_or_flagged(t)));
            }
        }
        let occupied = TensorData::new(occupied, [self.positions, TOKENS, 1]);
        Inputs { occupied: Some(Tensor::from_data(occupied, device)), ..self }
    }

    /// Adds the attacks on the boards of the same `items`.
    pub(super) fn with_attacks(self, items: &[Item<'_>], device: &Device) -> Inputs {
        const SQUARE: usize = TOKENS * TOKENS;
        let mut attacks = vec![NOWHERE; self.positions * SQUARE];
        for (item, attacks) in items.iter().zip(attacks.chunks_exact_mut(SQUARE)) {
            item.features.attacks(|attack| {
                let pair = usize::from(attack.from) * TOKENS + usize::from(attack.to);
                attacks[pair] = i32::from(attack.kind);
            });
        }
        let attacks = indices(attacks, [self.positions, SQUARE], device);
        Inputs { attacks: Some(attacks), ..self }
    }

    /// Adds the marks of the squares of the same `items`.
    pub(super) fn with_marks(self, items: &[Item<'_>], device: &Device) -> Inputs {
        let mut marks = vec![NOWHERE; self.positions * TOKENS];
        for (item, marks) in items.iter().zip(marks.chunks_exact_mut(TOKENS)) {
            for (t, place) in marks.iter_mut().enumerate() {
                *place = item.features.mark(t).map_or(NOWHERE, |mark| mark as i32);
            }
        }
        Inputs { marks: Some(indices(marks, [self.positions, TOKENS], device)), ..self }
    }

    /// `[n, 64, MARKS]`: one-hot marks.
    pub(super) fn marks(&self) -> Option<Tensor<3>> {
        self.marks.clone().map(|marks| one_hot(marks, MARKS))
    }

    /// `[n, 4096, ATTACKS]`: one-hot kind of attack of a pair of squares (attacker, attacked).
    pub(super) fn attacks(&self) -> Option<Tensor<3>> {
        self.attacks.clone().map(|attacks| one_hot(attacks, ATTACKS))
    }
}

/// `[n, k]` indices as a device tensor `[n, k, 1]`.
fn indices(indices: Vec<i32>, [n, k]: [usize; 2], device: &Device) -> Tensor<3, Int> {
    Tensor::from_data(TensorData::new(indices, [n, k, 1]), device)
}

/// `[n, k, 1]` indices as one-hot rows `[n, k, classes]`.
fn one_hot(indices: Tensor<3, Int>, classes: usize) -> Tensor<3> {
    let classes = Tensor::<1, Int>::arange(0..classes as i64, &indices.device());
    indices.equal(classes.reshape([1, 1, -1])).float()
}
