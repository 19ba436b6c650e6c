//! Shares and weights of the kinds of examples; part of a run's configuration.

use super::error::DataError;
use serde::{Deserialize, Serialize};

/// Kinds of examples: shares are probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kinds {
    /// Share of `MAV(s, a)` among all examples.
    pub action_share: f64,
    /// The same where the mover is known to have mate in one, if that is more: ends of games are rare (one in a
    /// thousand without this), and a search on predicted states must not miss them.
    pub mate_share: f64,
    /// Share of positions that no file holds, from a random walk, labelled by the rules only.
    pub rules_share: f64,
    /// Share of the positions on principal variations among those from PVGR1.
    pub variation_share: f64,
    /// Weight of a position on a variation per ply of distance from the game; 1 = all distances alike. Against
    /// searches of the same positions the value is wrong by 0.027 next to the game and by 0.062 after 24 plies;
    /// the default weighs them roughly by the inverse squares.
    pub distance_decay: f64,
    /// Share of the moves played among the actions from MAVG1; the others are drawn from all legal moves.
    pub played_share: f64,
    /// Share of the drawn actions that prefer a rare move if there is one: first one that ends the game, then a
    /// promotion, castling or en passant capture.
    pub special_share: f64,
    /// Share of the files' positions replaced by the position after a random checking move, if there is one;
    /// only the rules label it. A network errs most in evasions, and a search meets more of them than games do.
    pub check_share: f64,
    /// PVGR1 scores of a smaller known depth are unused. 8 % of TCEC's are below 10 (forced replies, premoves),
    /// 0.03 % unknown.
    pub min_depth: u8,
    /// Weight of the opponent's next evaluation in a PVGR1 value; the mover's own has the rest. The engines'
    /// errors are independent: against Stockfish 15.1 on 8,085 shared positions the mean squared error is
    /// 0.00113 at 0, 0.00105 at 0.25, 0.00106 at 0.5.
    pub reply_share: f64,
    /// Weight of the game's result in a PVGR1 or SELF1 value; 1 = AlphaZero's target. The result head has it anyway, and strong engines win from
    /// scores that are only promising: 0.1 doubles the error above. A network that knows nothing has no better teacher.
    pub result_share: f64,
    /// Weight of an MAVG1 position whose second move is as good as the best; one whose second move is 0.04
    /// worse has weight 1. In 45 % of the self-played positions the two are equal, and the search's choice
    /// between them teaches little.
    pub quiet_weight: f64,
    /// Weight of a Chess960 game's positions relative to a standard game's; 0 = none of them.
    pub chess960_weight: f64,
    /// Share replaced by their mirror images among the examples that have one: where no side may castle.
    pub mirror_share: f64,
}

/// Gap in win probability between the best and the second move from which a position counts as sharp.
pub const SHARP: f64 = 0.04;

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds {
            action_share: 0.2,
            mate_share: 0.5,
            rules_share: 0.08,
            variation_share: 0.4,
            distance_decay: 0.95,
            played_share: 0.5,
            special_share: 0.5,
            check_share: 0.0,
            min_depth: 10,
            reply_share: 0.25,
            result_share: 0.0,
            quiet_weight: 0.5,
            chess960_weight: 1.0,
            mirror_share: 0.5,
        }
    }
}

impl Kinds {
    /// Labels as the files have them, all positions equally likely: for measuring, so that a figure does not
    /// depend on the recipe.
    #[must_use]
    pub fn plain() -> Kinds {
        Kinds {
            distance_decay: 1.0,
            reply_share: 0.0,
            result_share: 0.0,
            quiet_weight: 1.0,
            rules_share: 0.0,
            check_share: 0.0,
            chess960_weight: 1.0,
            mirror_share: 0.0,
            ..Kinds::default()
        }
    }

    /// Checks shares and weights.
    ///
    /// # Errors
    /// The setting's name and its valid range.
    pub fn check(&self) -> Result<(), DataError> {
        let shares = [
            ("action_share", self.action_share),
            ("mate_share", self.mate_share),
            ("rules_share", self.rules_share),
            ("variation_share", self.variation_share),
            ("distance_decay", self.distance_decay),
            ("played_share", self.played_share),
            ("special_share", self.special_share),
            ("check_share", self.check_share),
            ("reply_share", self.reply_share),
            ("result_share", self.result_share),
            ("quiet_weight", self.quiet_weight),
            ("mirror_share", self.mirror_share),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(DataError::Config(format!("{name} {share} is not within 0 and 1")));
            }
        }
        let weight = self.chess960_weight;
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(DataError::Config(format!("chess960_weight {weight} is no weight")));
        }
        Ok(())
    }
}
