//! Playing at a rating (`UCI_LimitStrength`, `UCI_Elo`): fewer nodes, and a move drawn among those that the network
//! finds natural, the less often the more it gives away. So errors are what a player of that rating may fall for,
//! and no random moves.

use crate::options::settings::Settings;
use mcts::Line;

/// The settings of a rating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strength {
    /// Playouts of a move.
    pub nodes: u64,
    /// Win probability that a move may give away to become `e` times rarer.
    pub generosity: f32,
    /// How much the network's own idea of a natural move counts: the exponent of the prior.
    pub taste: f32,
    /// Share of moves that follow the endgame tables where a lone king is mated with a queen or a rook.
    pub technique: f64,
}

/// Rating and technique; straight lines between. Errors stay below 1200, and the rule is kept from 1320 on. Guesses that games confirm.
const TECHNIQUE: [(f64, f64); 5] =
    [(1200.0, 0.0), (1320.0, 0.75), (1800.0, 0.92), (2400.0, 1.0), (2800.0, 1.0)];

/// Playouts that any clock has time for: the highest ratings differ by their generosity alone.
const MOST_NODES: f32 = 1500.0;

/// Rating and level; levels in between are interpolated. On the scale of Stockfish's own `UCI_Elo` since version 16. Those of
/// 1320 to 2700 are fitted to games, the others estimated: `docs/src/strength.md`.
const CALIBRATION: [(f32, f32); 7] = [
    (1000.0, 0.41),
    (1320.0, 0.49),
    (1500.0, 0.53),
    (1900.0, 0.64),
    (2300.0, 0.69),
    (2700.0, 0.9),
    (2800.0, 1.0),
];

impl Strength {
    /// The level of `settings`; None: full strength.
    #[must_use]
    pub fn of(settings: &Settings) -> Option<Strength> {
        let limited = settings.limit_strength && !settings.analyse_mode;
        limited.then(|| Strength {
            technique: technique(f64::from(settings.elo)),
            ..Strength::at(level(settings.elo as f32))
        })
    }

    /// At a level: from 0, the least there is, over 1, where hardly anything is given away, upwards.
    fn at(level: f32) -> Strength {
        Strength {
            technique: 0.0,
            nodes: (2.0 * 2f32.powf(8.0 * level)).min(MOST_NODES).round() as u64,
            generosity: 1.5 * 2f32.powf(-8.5 * level),
            taste: (0.3 + 1.4 * level).min(1.0),
        }
    }

    /// How likely the move of `line` is drawn, as a logit.
    #[must_use]
    pub fn logit<A>(self, line: &Line<A>) -> f32 {
        self.taste * line.prior.max(f32::MIN_POSITIVE).ln() + line.value.q() / self.generosity
    }
}

fn technique(elo: f64) -> f64 {
    let above = TECHNIQUE.iter().position(|(rating, _)| *rating > elo);
    let right = above.unwrap_or(TECHNIQUE.len() - 1).max(1);
    let ((low, from), (high, to)) = (TECHNIQUE[right - 1], TECHNIQUE[right]);
    from + ((elo - low) / (high - low)).clamp(0.0, 1.0) * (to - from)
}

fn level(elo: f32) -> f32 {
    let above = CALIBRATION.iter().position(|(rating, _)| *rating >= elo);
    let last = CALIBRATION.len() - 1;
    let right = above.unwrap_or(last).max(1);
    let ((low, from), (high, to)) = (CALIBRATION[right - 1], CALIBRATION[right]);
    let share = ((elo - low) / (high - low)).clamp(0.0, 1.0);
    from + share * (to - from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Kind;

    #[test]
    fn higher_ratings_see_more_and_give_away_less() {
        let at = |elo| {
            let settings = Settings { limit_strength: true, elo, ..Settings::default() };
            Strength::of(&settings).unwrap()
        };
        let option = crate::options::find("UCI_Elo").unwrap();
        let Kind::Spin { min, max, .. } = option.kind else { panic!("a rating is a number") };
        let (min, max) = (min as u32, max as u32);
        for elo in (min..max).step_by(100) {
            let (weak, strong) = (at(elo), at(elo + 100));
            assert!(weak.nodes <= strong.nodes && weak.generosity > strong.generosity, "{elo}");
            assert!(weak.technique <= strong.technique, "{elo}");
        }
        assert_eq!((at(1199).technique, at(1320).technique, at(max).technique), (0.0, 0.75, 1.0));
        assert!(at(min).nodes >= 1 && at(max).nodes > 100);
    }

    #[test]
    fn analysis_and_full_strength_are_not_limited() {
        assert_eq!(Strength::of(&Settings::default()), None);
        let analysis = Settings { limit_strength: true, analyse_mode: true, ..Settings::default() };
        assert_eq!(Strength::of(&analysis), None);
    }

    #[test]
    fn worse_moves_and_moves_of_low_policy_are_rarer() {
        let line = |q, prior| Line::<u16> {
            moves: vec![0],
            visits: 1,
            value: mcts::Wdl::from_score_and_draw(q, 0.0),
            mate_plies: None,
            prior,
            q,
        };
        let strength = Strength { nodes: 2, generosity: 0.1, taste: 1.0, technique: 0.0 };
        let logit = |q, prior| strength.logit(&line(q, prior));
        assert!((logit(0.6, 0.2) - logit(0.5, 0.2) - 1.0).abs() < 1e-5);
        assert!(logit(0.6, 0.2) > logit(0.6, 0.1));
        assert!(logit(0.6, 0.0).is_finite());
    }
}
