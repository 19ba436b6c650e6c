//! Imagined boards that are right by depth and by phase of the game: counted along games
//! and inside searches.

use chess::action::Action;
use mcts::Wdl;
use nn::encode::terminal;
use shakmaty::{Chess, Position};
use std::fmt;
use train::data::Terminal;
use train::metrics::wilson;

/// Phases by the number of pieces on the board, kings and pawns included.
const PHASES: [(&str, usize); 3] =
    [("opening, 26 pieces or more", 26), ("middlegame, 14 to 25", 14), ("endgame, 13 or fewer", 0)];

/// One imagined state, held against the truth.
#[derive(Debug, Clone)]
pub(super) struct StateComparison<'a> {
    pub truth: Option<&'a Chess>,
    /// The state it was imagined from was right.
    pub from_truth: bool,
    pub refused: bool,
    pub state: bool,
    pub legal: bool,
    pub end: bool,
    /// An end was imagined.
    pub imagined_end: bool,
    /// The game is over in truth.
    pub true_end: bool,
}

impl<'a> StateComparison<'a> {
    /// Nothing right. `truth` is None of a move that is not legal.
    pub fn all_wrong(truth: impl Into<Option<&'a Chess>>) -> StateComparison<'a> {
        let truth = truth.into();
        let over = |truth: &Chess| terminal(truth, truth.legal_moves().len()) != Terminal::Ongoing;
        StateComparison {
            truth,
            from_truth: false,
            refused: false,
            state: false,
            legal: false,
            end: false,
            imagined_end: false,
            true_end: truth.is_some_and(over),
        }
    }

    pub fn compare_moves(&mut self, mut legal: Vec<Action>, truth: &Chess) {
        let mut true_moves: Vec<Action> =
            truth.legal_moves().into_iter().map(Action::new).collect();
        legal.sort_unstable();
        true_moves.sort_unstable();
        self.legal = legal == true_moves;
    }

    pub fn compare_end(&mut self, imagined: Option<Wdl>, truth: Terminal) {
        self.imagined_end = imagined.is_some();
        self.end = match (imagined, truth) {
            (None, Terminal::Ongoing) => true,
            (Some(end), Terminal::Lost) => end.loss > 0.5,
            (Some(end), Terminal::Drawn) => end.draw >= 0.5,
            _ => false,
        };
    }
}

/// Right ones of some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RightShare {
    pub right: u64,
    pub of: u64,
}

impl RightShare {
    pub fn add(&mut self, right: bool) {
        self.right += u64::from(right);
        self.of += 1;
    }

    fn merge(&mut self, other: RightShare) {
        self.right += other.right;
        self.of += other.of;
    }

    /// None of nothing.
    pub fn get(self) -> Option<f64> {
        (self.of > 0).then(|| self.right as f64 / self.of as f64)
    }
}

impl fmt::Display for RightShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(share) = self.get() else { return f.pad("–") };
        let (low, high) = wilson(share, self.of as f64);
        f.pad(&format!("{:.2} ±{:.2}", 100.0 * share, 50.0 * (high - low)))
    }
}

/// The counts of one depth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Depth {
    pub state: RightShare,
    pub legal: RightShare,
    pub end: RightShare,
    /// Right states among those imagined from a right one.
    pub transition: RightShare,
    pub refused: RightShare,
}

/// The counts of a set of games or searches, by depth. Depth 1, the root's children, is number 0.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    pub depths: Vec<Depth>,
    /// Transitions from right states, by phase: those that went wrong.
    phases: [RightShare; 3],
    /// Reached by moves that are not legal.
    invented: RightShare,
    /// True ends that were seen; imagined ends that are true.
    ends_seen: RightShare,
    ends_true: RightShare,
    /// Refused states that are true ends.
    ends_refused: RightShare,
}

impl Counts {
    pub fn new(depth: usize) -> Counts {
        Counts {
            depths: vec![Depth::default(); depth],
            phases: [RightShare::default(); 3],
            invented: RightShare::default(),
            ends_seen: RightShare::default(),
            ends_true: RightShare::default(),
            ends_refused: RightShare::default(),
        }
    }

    pub fn depth(&self) -> usize {
        self.depths.len()
    }

    /// Adds one state of a depth; the last depth has all that are deeper, too.
    pub fn add(&mut self, depth: usize, one: &StateComparison<'_>) {
        let last = self.depths.len().saturating_sub(1);
        let Some(row) = self.depths.get_mut(depth.min(last)) else { return };
        self.invented.add(one.truth.is_none());
        row.refused.add(one.refused);
        // Boards after an illegal move have no truth to be held against.
        let Some(truth) = one.truth else { return };
        row.state.add(one.state);
        row.legal.add(one.legal);
        row.end.add(one.end);
        if one.from_truth {
            row.transition.add(one.state);
            let pieces = truth.board().occupied().count();
            let phase = PHASES.iter().position(|(_, least)| pieces >= *least).unwrap_or(2);
            self.phases[phase].add(!one.state);
            if one.true_end {
                self.ends_seen.add(one.imagined_end);
            }
            if one.refused {
                self.ends_refused.add(one.true_end);
            }
            if one.imagined_end {
                self.ends_true.add(one.true_end);
            }
        }
    }

    /// Over the first `depths` depths.
    fn sum(&self, depths: usize, of: impl Fn(&Depth) -> RightShare) -> RightShare {
        let mut sum = RightShare::default();
        self.depths.iter().take(depths).for_each(|depth| sum.merge(of(depth)));
        sum
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["state", "legal moves", "end of game", "from a right one", "refused"];
        write!(f, "{:<8}{:>8}", "depth", "n")?;
        head.iter().try_for_each(|name| write!(f, "{name:>18}"))?;
        for (index, depth) in self.depths.iter().enumerate() {
            let rest = if index + 1 == self.depths.len() { "+" } else { "" };
            write!(f, "\n{:<8}{:>8}", format!("{}{rest}", index + 1), depth.state.of)?;
            for share in [depth.state, depth.legal, depth.end, depth.transition, depth.refused] {
                write!(f, "{:>18}", share.to_string())?;
            }
        }
        let shallow = |of: fn(&Depth) -> RightShare| self.sum(4, of);
        write!(f, "\n1 to 4, state right: {}", shallow(|depth| depth.state))?;
        write!(f, "; from a right one: {}", shallow(|depth| depth.transition))?;
        write!(f, "\nrefused: {}", self.sum(usize::MAX, |depth| depth.refused))?;
        write!(f, "; after a move that is not legal: {}", self.invented)?;
        write!(f, "\nends seen: {} of {}", self.ends_seen, self.ends_seen.of)?;
        write!(f, "; ends imagined that are true: {} of {}", self.ends_true, self.ends_true.of)?;
        let (ends, of) = (self.ends_refused.right, self.ends_refused.of);
        write!(f, "; of {of} states refused after a right one {ends} are ends")?;
        for ((name, _), wrong) in PHASES.iter().zip(&self.phases) {
            write!(f, "\nwrong after a right one, {name}: {wrong}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_counted_where_they_belong() {
        let truth = Chess::default();
        let mut counts = Counts::new(2);
        let right = StateComparison {
            from_truth: true,
            state: true,
            legal: true,
            end: true,
            ..StateComparison::all_wrong(&truth)
        };
        counts.add(0, &right);
        counts.add(0, &StateComparison { state: false, ..right.clone() });
        // Deeper than there are rows; from a wrong state; by an illegal move.
        counts.add(7, &StateComparison { refused: true, ..StateComparison::all_wrong(&truth) });
        counts.add(1, &StateComparison::all_wrong(None));
        assert_eq!(counts.depths[0].state, RightShare { right: 1, of: 2 });
        assert_eq!(counts.depths[1].state, RightShare { right: 0, of: 1 });
        assert_eq!(counts.depths[1].refused, RightShare { right: 1, of: 2 });
        assert_eq!(counts.depths[1].transition.of, 0);
        assert_eq!(counts.phases[0], RightShare { right: 1, of: 2 });
        assert_eq!(counts.invented, RightShare { right: 1, of: 4 });
        assert!(counts.to_string().contains("50.00 ±"), "{counts}");
    }

    #[test]
    fn ends_must_be_the_right_ones() {
        let truth = Chess::default();
        let judged = |imagined, terminal| {
            let mut one = StateComparison::all_wrong(&truth);
            one.compare_end(imagined, terminal);
            one.end
        };
        assert!(judged(None, Terminal::Ongoing) && judged(Some(Wdl::LOSS), Terminal::Lost));
        assert!(judged(Some(Wdl::DRAW), Terminal::Drawn));
        assert!(!judged(Some(Wdl::DRAW), Terminal::Lost) && !judged(None, Terminal::Drawn));
        assert!(!judged(Some(Wdl::LOSS), Terminal::Ongoing));
    }
}
