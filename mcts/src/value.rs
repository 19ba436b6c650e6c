//! Values and their perspective. Every value belongs to the **side to move of its own state**;
//! [`Wdl::flip`] is the only change of sign.

/// Probabilities of win, draw and loss for the side to move; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    /// Probability that the side to move wins.
    pub win: f32,
    /// Probability of a draw.
    pub draw: f32,
    /// Probability that the side to move loses.
    pub loss: f32,
}

impl Wdl {
    /// The side to move has won.
    pub const WIN: Wdl = Wdl { win: 1.0, draw: 0.0, loss: 0.0 };
    /// A draw.
    pub const DRAW: Wdl = Wdl { win: 0.0, draw: 1.0, loss: 0.0 };
    /// The side to move has lost.
    pub const LOSS: Wdl = Wdl { win: 0.0, draw: 0.0, loss: 1.0 };

    /// The outcome from the opponent's side.
    #[inline]
    #[must_use]
    pub fn flip(self) -> Wdl {
        Wdl { win: self.loss, draw: self.draw, loss: self.win }
    }

    /// Expected score in [0, 1]: win + draw / 2.
    #[inline]
    #[must_use]
    pub fn q(self) -> f32 {
        self.win + 0.5 * self.draw
    }

    /// The expected score, with a draw counted as `draw_cost` less than half a point.
    #[inline]
    #[must_use]
    pub fn utility(self, draw_cost: f32) -> f32 {
        self.q() - draw_cost * self.draw
    }

    /// Combines a win probability (expected score, [0, 1]) with a draw estimate: keeps the score and clamps the
    /// draw share to what the score allows.
    #[must_use]
    pub fn from_score_and_draw(score: f32, draw: f32) -> Wdl {
        let score = score.clamp(0.0, 1.0);
        let draw = draw.clamp(0.0, 2.0 * score.min(1.0 - score));
        Wdl { win: score - draw / 2.0, draw, loss: 1.0 - score - draw / 2.0 }
    }
}
