//! Judges a played move: win probability lost against the best alternative, and the glyph for it.
//!
//! The thresholds of `?!` and `?` are those of lichess (`lila`, `modules/tree/src/main/Advice.scala`,
//! `winningChanceJudgements`: 0.1 and 0.2 of winning chances in [-1, 1], which are 5 and 10 points of win
//! probability). `??` starts at 25 points, 15 in lichess: a network's values are less certain than a deep search's,
//! and a wrong `??` is worse than a missing one. Lichess has a table for mates; here a mate is win probability 0 or 1.
//! Lichess has no `!`; here it marks an only move that is not the policy's first.

use super::found::{Choice, PositionResult};
use crate::chess::action::Action;

/// Loss of win probability for `?!`.
pub const INACCURACY: f32 = 0.05;
/// Loss for `?`.
pub const MISTAKE: f32 = 0.10;
/// Loss for `??`.
pub const BLUNDER: f32 = 0.25;
/// Loss from which a better line is shown. Guess: about the noise between two searches of the same move.
pub const BETTER: f32 = 0.01;

/// Glyph of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyph {
    /// `!`
    Good,
    /// `?!`
    Inaccuracy,
    /// `?`
    Mistake,
    /// `??`
    Blunder,
}

impl Glyph {
    /// The glyph of a loss of win probability.
    #[must_use]
    pub fn of_loss(loss: f32) -> Option<Glyph> {
        let steps =
            [(BLUNDER, Glyph::Blunder), (MISTAKE, Glyph::Mistake), (INACCURACY, Glyph::Inaccuracy)];
        steps.into_iter().find(|(threshold, _)| loss >= *threshold).map(|(_, glyph)| glyph)
    }

    /// The numeric annotation glyph of the PGN standard (section 10).
    #[must_use]
    pub fn nag(self) -> u8 {
        match self {
            Glyph::Good => 1,
            Glyph::Mistake => 2,
            Glyph::Blunder => 4,
            Glyph::Inaccuracy => 6,
        }
    }

    /// Text after a move.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Glyph::Good => "!",
            Glyph::Inaccuracy => "?!",
            Glyph::Mistake => "?",
            Glyph::Blunder => "??",
        }
    }

    /// As a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Glyph::Good => "Only move",
            Glyph::Inaccuracy => "Inaccuracy",
            Glyph::Mistake => "Mistake",
            Glyph::Blunder => "Blunder",
        }
    }
}

/// Judgement of a played move.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Win probability of the mover with best play.
    pub best: f32,
    /// Win probability of the mover after the move.
    pub after: f32,
    /// None for an ordinary move.
    pub glyph: Option<Glyph>,
    /// Indices of better moves among the search's choices, in its order.
    pub better: Vec<usize>,
}

impl Judgement {
    /// Judges `played`, after which the mover's win probability is `after`. `lines` is the maximum number of better
    /// moves.
    #[must_use]
    pub fn new(before: &PositionResult, played: Action, after: f32, lines: usize) -> Judgement {
        let others = || {
            let places = before.choices.iter().enumerate();
            places.filter(|(_, choice)| choice.action() != Some(played))
        };
        // The best move of the search needs no minimum of visits; others do.
        let known: Vec<(usize, &Choice)> =
            others().filter(|(place, choice)| *place == 0 || before.knows(choice)).collect();
        // In the search's order: the maximum over values would select noise of rarely visited moves.
        let best = known.first().map_or(after, |(_, choice)| choice.win().max(after));
        let loss = best - after;
        let best_played = before.best().and_then(Choice::action) == Some(played);
        let is_only_move = others().all(|(_, choice)| after - choice.win() >= MISTAKE);
        let expected = before.policy.first().is_some_and(|(action, _)| *action == played);
        let glyph = if best_played && is_only_move && !expected && before.choices.len() > 1 {
            Some(Glyph::Good)
        } else {
            Glyph::of_loss(loss)
        };
        let better = known.iter().filter(|(_, choice)| choice.win() - after >= BETTER);
        let better = better.take(lines).map(|(place, _)| *place).collect();
        Judgement { best, after, glyph, better }
    }

    /// Limits the glyph to that of `before` for the same move: the milder one wins.
    #[must_use]
    pub fn limited_by(self, before: Option<&Judgement>) -> Judgement {
        match before {
            Some(before) if before.loss() < self.loss() => {
                Judgement { glyph: Glyph::of_loss(before.loss()), ..self }
            }
            _ => self,
        }
    }

    /// Win probability lost.
    #[must_use]
    pub fn loss(&self) -> f32 {
        self.best - self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thresholds_are_five_ten_and_twenty_five_points() {
        let cases = [
            (0.0, None),
            (0.0499, None),
            (0.05, Some(Glyph::Inaccuracy)),
            (0.0999, Some(Glyph::Inaccuracy)),
            (0.10, Some(Glyph::Mistake)),
            (0.2499, Some(Glyph::Mistake)),
            (0.25, Some(Glyph::Blunder)),
            (1.0, Some(Glyph::Blunder)),
        ];
        for (loss, glyph) in cases {
            assert_eq!(Glyph::of_loss(loss), glyph, "{loss}");
        }
    }

    fn action(code: u16) -> Action {
        Action::from(code)
    }

    /// Moves 1, 2, … with these visits and values; the policy's first move is `favourite`.
    fn found(choices: &[(u64, f32)], favourite: u16) -> PositionResult {
        let choice = |(place, &(visits, value)): (usize, &(u64, f32))| Choice {
            line: vec![action(place as u16 + 1)],
            visits,
            value,
            mate: None,
        };
        PositionResult {
            choices: choices.iter().enumerate().map(choice).collect(),
            policy: vec![(action(favourite), 0.6)],
            playouts: choices.iter().map(|(visits, _)| visits).sum(),
        }
    }

    #[test]
    fn a_worse_move_loses_against_the_best_one() {
        let before = found(&[(80, 0.6), (20, 0.4)], 1);
        let judged = Judgement::new(&before, action(2), 0.34, 1);
        assert_eq!((judged.glyph, judged.better.as_slice()), (Some(Glyph::Blunder), &[0][..]));
        assert!((judged.loss() - 0.26).abs() < 1e-6);
        // A move that is better than the search expected loses nothing.
        let judged = Judgement::new(&before, action(2), 0.7, 1);
        assert_eq!((judged.glyph, judged.loss(), judged.better.len()), (None, 0.0, 0));
    }

    #[test]
    fn the_searchs_own_move_is_held_against_the_alternatives() {
        let before = found(&[(80, 0.6), (18, 0.5), (2, 0.9)], 1);
        // The played move failed, the second one was better; the third has too few visits.
        let judged = Judgement::new(&before, action(1), 0.2, 3);
        assert_eq!((judged.glyph, judged.better.as_slice()), (Some(Glyph::Blunder), &[1][..]));
        assert_eq!(Judgement::new(&before, action(1), 0.55, 3).glyph, None);
    }

    #[test]
    fn a_glyph_needs_both_searches() {
        let judged = |loss: f32| {
            Judgement::new(&found(&[(80, 0.6), (20, 0.4)], 1), action(2), 0.6 - loss, 1)
        };
        let glyph = |second: f32, first: f32| judged(second).limited_by(Some(&judged(first))).glyph;
        assert_eq!(glyph(0.3, 0.12), Some(Glyph::Mistake));
        assert_eq!(glyph(0.06, 0.3), Some(Glyph::Inaccuracy));
        assert_eq!(glyph(0.3, 0.26), Some(Glyph::Blunder));
        assert_eq!(glyph(0.3, 0.01), None);
        assert_eq!(judged(0.3).limited_by(None), judged(0.3));
    }

    #[test]
    fn only_an_unexpected_only_move_is_praised() {
        let choices = [(80, 0.6), (20, 0.4)];
        let praised = |choices: &[(u64, f32)], favourite, played, after| {
            Judgement::new(&found(choices, favourite), action(played), after, 1).glyph
                == Some(Glyph::Good)
        };
        assert!(praised(&choices, 2, 1, 0.6));
        assert!(!praised(&choices, 1, 1, 0.6), "anybody sees it");
        assert!(!praised(&[(80, 0.6), (20, 0.55)], 2, 1, 0.6), "there was another");
        assert!(!praised(&choices, 2, 1, 0.45), "it did not hold");
        assert!(!praised(&choices[..1], 2, 1, 0.6), "it was forced");
    }
}
