//! The root move that a search looks at most at present: `currmove`. A tree search has no first, second and third
//! move that it takes in turn; what comes nearest is the move that most of the last second's visits went to.

use chess::action::Action;
use mcts::Line;
use std::time::Duration;

/// Shorter searches do not tell it (Stockfish's three seconds).
const FROM: Duration = Duration::from_secs(3);
/// Between two looks.
const GAP: Duration = Duration::from_secs(1);

/// Remembers the visits of the last look.
#[derive(Default)]
pub struct CurrentMove {
    last: Duration,
    visits: Vec<(Action, u64)>,
}

impl CurrentMove {
    /// It is time to look again, at all moves.
    #[must_use]
    pub fn is_due(&self, elapsed: Duration) -> bool {
        elapsed >= FROM && elapsed.saturating_sub(self.last) >= GAP
    }

    /// The move with the most new visits, and its rank from 1. None at the first look, and without new visits.
    pub fn look(&mut self, lines: &[Line<Action>], elapsed: Duration) -> Option<(Action, u32)> {
        let visits: Vec<(Action, u64)> =
            lines.iter().filter_map(|line| Some((*line.moves.first()?, line.visits))).collect();
        let before = std::mem::replace(&mut self.visits, visits);
        self.last = elapsed;
        let new = |(action, visits): (Action, u64)| {
            let (_, old) = before.iter().find(|(known, _)| *known == action)?;
            visits.checked_sub(*old).filter(|new| *new > 0)
        };
        let ranked = (1..).zip(&self.visits);
        let grown = ranked.filter_map(|(rank, line)| Some((new(*line)?, line.0, rank)));
        // The first of equals is the best.
        grown
            .reduce(|most, next| if next.0 > most.0 { next } else { most })
            .map(|(_, action, rank)| (action, rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::game::Game;
    use mcts::Wdl;
    use shakmaty::Position;

    #[test]
    fn the_move_that_grew_most_is_reported_once_a_second() {
        let game = Game::from_fen("7k/8/8/8/8/8/6PP/7K w - - 0 1", false).unwrap();
        let actions: Vec<Action> =
            game.position().legal_moves().into_iter().map(Action::new).collect();
        let lines = |visits: [u64; 3]| -> Vec<Line<Action>> {
            let moves = actions.iter().zip(visits);
            moves
                .map(|(action, visits)| Line {
                    moves: vec![*action],
                    visits,
                    value: Wdl::from_score_and_draw(0.5, 0.0),
                    mate_plies: None,
                    prior: 0.0,
                    q: 0.5,
                })
                .collect()
        };
        let second = Duration::from_secs;
        let mut current = CurrentMove::default();
        assert!(!current.is_due(second(2)) && current.is_due(second(3)));
        assert_eq!(current.look(&lines([9, 5, 1]), second(3)), None);
        assert!(!current.is_due(Duration::from_millis(3_500)) && current.is_due(second(4)));
        assert_eq!(current.look(&lines([10, 9, 2]), second(4)), Some((actions[1], 2)));
        assert_eq!(current.look(&lines([12, 11, 2]), second(5)), Some((actions[0], 1)));
        assert_eq!(current.look(&lines([12, 11, 2]), second(6)), None);
        // A tree that was cut has fewer visits than before.
        assert_eq!(current.look(&lines([1, 0, 3]), second(7)), Some((actions[2], 3)));
    }
}
