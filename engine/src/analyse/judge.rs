//! Judges a played move: win probability lost against the best alternative, and the glyph for it.
//!
//! The numbers of [`Glyphs::Lichess`] are those of `lila`, `modules/tree/src/main/Advice.scala`: 0.1, 0.2 and 0.3 of
//! winning chances in [-1, 1], which are 5, 10 and 15 points of win probability, and a table for mates. In
//! [`Glyphs::Mavka`] a mate is win probability 0 or 1, and `??` starts at 25 points: a network's values are less certain
//! than a deep search's, and a wrong `??` is worse than a missing one. Lichess has no `!`; here it marks an only move that
//! is not the policy's first.

use super::found::{PositionResult, RootMove};
use chess::action::Action;
use clap::ValueEnum;
use uci::Score;

/// Loss of win probability for `?!`.
pub const INACCURACY: f32 = 0.05;
/// Loss for `?`.
pub const MISTAKE: f32 = 0.10;
/// Loss for `??`.
pub const BLUNDER: f32 = 0.25;
/// Loss for `??` of lichess.
const LICHESS_BLUNDER: f32 = 0.15;
/// Scores beyond which lichess calls a mate that came or went a mistake, or an inaccuracy, in centipawns.
const LICHESS_DECIDED: [i32; 2] = [700, 999];

/// The thresholds of the glyphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Glyphs {
    /// `?!`, `?` and `??` from 5, 10 and 25 points of win probability.
    #[default]
    Mavka,
    /// From 5, 10 and 15 points; a forced mate that came or went by its table.
    Lichess,
}

impl Glyphs {
    /// The glyph of a move that changed the mover's score from `best` to `after`, of these win probabilities.
    #[must_use]
    pub fn of(self, [best, after]: [f32; 2], scores: [Score; 2]) -> Option<Glyph> {
        let loss = best - after;
        match self {
            Glyphs::Mavka => of_loss(loss, BLUNDER),
            Glyphs::Lichess => match scores {
                [Score::Centipawns(_), Score::Centipawns(_)] => of_loss(loss, LICHESS_BLUNDER),
                [Score::Mate(best), Score::Mate(after)] => {
                    (best > 0 && after <= 0).then_some(Glyph::Blunder)
                }
                [Score::Centipawns(best), Score::Mate(after)] if after <= 0 => decided(-best),
                [Score::Mate(best), Score::Centipawns(after)] if best > 0 => decided(after),
                _ => None,
            },
        }
    }

    /// As a word of the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Glyphs::Mavka => "mavka",
            Glyphs::Lichess => "lichess",
        }
    }
}

fn of_loss(loss: f32, blunder: f32) -> Option<Glyph> {
    let steps =
        [(blunder, Glyph::Blunder), (MISTAKE, Glyph::Mistake), (INACCURACY, Glyph::Inaccuracy)];
    steps.into_iter().find(|(threshold, _)| loss >= *threshold).map(|(_, glyph)| glyph)
}

/// A mate came or went where the score beside it is this much for the side that profits least, in centipawns.
fn decided(score: i32) -> Option<Glyph> {
    let [mistake, inaccuracy] = LICHESS_DECIDED;
    Some(match score {
        _ if score > inaccuracy => Glyph::Inaccuracy,
        _ if score > mistake => Glyph::Mistake,
        _ => Glyph::Blunder,
    })
}

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
    /// Indices of better moves among the search's choices, the one of [`Judgement::best`] first; empty without a glyph for an
    /// error.
    pub better: Vec<usize>,
}

impl Judgement {
    /// Judges `played`, before and after which the mover has these win probabilities. `glyph` is the one of its loss;
    /// `lines` is the maximum number of better moves.
    #[must_use]
    pub fn new(
        before: &PositionResult,
        played: Action,
        [best, after]: [f32; 2],
        glyph: Option<Glyph>,
        lines: usize,
    ) -> Judgement {
        let others = || {
            let places = before.choices.iter().enumerate();
            places.filter(|(_, choice)| choice.action() != Some(played))
        };
        let best_played = before.best().and_then(RootMove::action) == Some(played);
        let is_only_move = others().all(|(_, choice)| after - choice.win() >= MISTAKE);
        let expected = before.policy.first().is_some_and(|(action, _)| *action == played);
        let is_good = best_played && is_only_move && !expected && before.choices.len() > 1;
        let glyph = glyph.or(is_good.then_some(Glyph::Good));
        let mut better: Vec<(usize, &RootMove)> = match glyph {
            None | Some(Glyph::Good) => Vec::new(),
            // The best move of the search needs no minimum of visits; others do.
            Some(_) => others()
                .filter(|(place, choice)| *place == 0 || before.knows(choice))
                .filter(|(_, choice)| choice.win() > after)
                .collect(),
        };
        // The search prefers visits to values, which the loss is made of.
        better.sort_by(|(_, a), (_, b)| b.win().total_cmp(&a.win()));
        let better = better.into_iter().map(|(place, _)| place).take(lines).collect();
        Judgement { best, after, glyph, better }
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

    fn glyph(glyphs: Glyphs, best: Score, after: Score) -> Option<Glyph> {
        let win = |score| match score {
            Score::Mate(moves) => f32::from(u8::from(moves > 0)),
            Score::Centipawns(score) => 1.0 / (1.0 + (-0.003_682_08 * score as f32).exp()),
        };
        glyphs.of([win(best), win(after)], [best, after])
    }

    #[test]
    fn the_thresholds_are_five_ten_and_twenty_five_points() {
        let even = [Score::Centipawns(0); 2];
        let cases = [
            (0.0, None),
            (0.0499, None),
            (0.0501, Some(Glyph::Inaccuracy)),
            (0.0999, Some(Glyph::Inaccuracy)),
            (0.1001, Some(Glyph::Mistake)),
            (0.1499, Some(Glyph::Mistake)),
            (0.2499, Some(Glyph::Mistake)),
            (0.25, Some(Glyph::Blunder)),
            (1.0, Some(Glyph::Blunder)),
        ];
        for (loss, glyph) in cases {
            assert_eq!(Glyphs::Mavka.of([loss, 0.0], even), glyph, "{loss}");
            let lichess = if loss > 0.15 { Some(Glyph::Blunder) } else { glyph };
            assert_eq!(Glyphs::Lichess.of([loss, 0.0], even), lichess, "{loss}");
        }
    }

    #[test]
    fn lichess_judges_mates_by_the_score_beside_them() {
        use Score::{Centipawns, Mate};
        let cases = [
            (Mate(3), Centipawns(1200), Some(Glyph::Inaccuracy)),
            (Mate(3), Centipawns(800), Some(Glyph::Mistake)),
            (Mate(3), Centipawns(650), Some(Glyph::Blunder)),
            (Mate(3), Mate(-2), Some(Glyph::Blunder)),
            (Mate(3), Mate(9), None),
            (Centipawns(-1200), Mate(-4), Some(Glyph::Inaccuracy)),
            (Centipawns(-800), Mate(-4), Some(Glyph::Mistake)),
            (Centipawns(-100), Mate(-4), Some(Glyph::Blunder)),
            (Centipawns(300), Mate(5), None),
            (Mate(-3), Centipawns(-500), None),
        ];
        for (best, after, expected) in cases {
            assert_eq!(glyph(Glyphs::Lichess, best, after), expected, "{best:?} {after:?}");
        }
        assert_eq!(glyph(Glyphs::Mavka, Mate(3), Centipawns(1200)), None);
    }

    fn action(code: u16) -> Action {
        Action::from(code)
    }

    /// Moves 1, 2, … with these visits and values; the policy's first move is `favourite`.
    fn found(choices: &[(u64, f32)], favourite: u16) -> PositionResult {
        let choice = |(place, &(visits, value)): (usize, &(u64, f32))| RootMove {
            line: vec![action(place as u16 + 1)],
            visits,
            value,
            mate: None,
        };
        PositionResult {
            choices: choices.iter().enumerate().map(choice).collect(),
            policy: vec![(action(favourite), 0.6)],
            playouts: choices.iter().map(|(visits, _)| visits).sum(),
            exact: false,
        }
    }

    fn judged(before: &PositionResult, played: u16, values: [f32; 2], lines: usize) -> Judgement {
        let glyph = Glyphs::Mavka.of(values, [Score::Centipawns(0); 2]);
        Judgement::new(before, action(played), values, glyph, lines)
    }

    #[test]
    fn a_glyph_comes_with_the_better_move_and_nothing_else_does() {
        let before = found(&[(80, 0.6), (20, 0.4)], 1);
        let blunder = judged(&before, 2, [0.6, 0.34], 1);
        assert_eq!((blunder.glyph, blunder.better.as_slice()), (Some(Glyph::Blunder), &[0][..]));
        assert!((blunder.loss() - 0.26).abs() < 1e-6);
        let small = judged(&before, 2, [0.6, 0.57], 1);
        assert_eq!((small.glyph, small.better.len()), (None, 0));
        let none = judged(&before, 2, [0.7, 0.7], 1);
        assert_eq!((none.glyph, none.loss(), none.better.len()), (None, 0.0, 0));
    }

    #[test]
    fn the_searchs_own_move_is_held_against_the_alternatives() {
        let before = found(&[(80, 0.6), (18, 0.5), (2, 0.9)], 1);
        // The played move failed, the second one was better; the third has too few visits.
        let failed = judged(&before, 1, [0.5, 0.2], 3);
        assert_eq!((failed.glyph, failed.better.as_slice()), (Some(Glyph::Blunder), &[1][..]));
        assert_eq!(judged(&before, 1, [0.55, 0.55], 3).glyph, None);
        // The loss is the distance from the best value; the search's first move has more visits.
        let before = found(&[(60, 0.5), (20, 0.6), (20, 0.2)], 1);
        assert_eq!(judged(&before, 3, [0.6, 0.2], 1).better, [1]);
        assert_eq!(judged(&before, 3, [0.6, 0.2], 2).better, [1, 0]);
    }

    #[test]
    fn only_an_unexpected_only_move_is_praised() {
        let choices = [(80, 0.6), (20, 0.4)];
        let praised = |choices: &[(u64, f32)], favourite, played, after: f32| {
            let best = after.max(choices.get(1).map_or(0.0, |(_, value)| *value));
            judged(&found(choices, favourite), played, [best, after], 1).glyph == Some(Glyph::Good)
        };
        assert!(praised(&choices, 2, 1, 0.6));
        assert!(!praised(&choices, 1, 1, 0.6), "anybody sees it");
        assert!(!praised(&[(80, 0.6), (20, 0.55)], 2, 1, 0.6), "there was another");
        assert!(!praised(&choices, 2, 1, 0.45), "it did not hold");
        assert!(!praised(&choices[..1], 2, 1, 0.6), "it was forced");
    }
}
