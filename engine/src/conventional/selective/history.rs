//! Which moves refuted others so far: what the order of moves and the depth of late ones go by.

use crate::chess::action::Action;
use shakmaty::{Color, Move};

/// Kinds of pieces, of both colours, times squares they go to.
const ARRIVALS: usize = 2 * 6 * 64;
/// No count goes beyond this.
const MOST: i32 = 16_384;
/// Plies back to moves that a quiet move is counted as an answer to: the opponent's last and the mover's own before it.
const ANSWERED: [usize; 2] = [1, 2];

/// A piece of one colour and the square it went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival(u16);

impl Arrival {
    pub fn new(turn: Color, m: Move) -> Arrival {
        let piece = usize::from(turn.is_black()) * 6 + m.role() as usize - 1;
        Arrival((piece * 64 + usize::from(m.to())) as u16)
    }

    /// One for each piece and square.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}

/// The last moves of a line, the latest first; none where a side passed.
pub(super) type Past = [Option<Arrival>; 2];

/// Counts of moves: up when one refuted another, down when it was tried before the one that did.
pub(super) struct History {
    /// Of quiet moves by colour, origin and target.
    quiet: Vec<i16>,
    /// Of captures by arrival and what they take.
    captures: Vec<i16>,
    /// Of quiet moves as answers to others, by both arrivals.
    answers: Vec<i16>,
}

impl History {
    pub fn new() -> History {
        History {
            quiet: vec![0; 2 * 64 * 64],
            captures: vec![0; ARRIVALS * 6],
            answers: vec![0; ARRIVALS * ARRIVALS],
        }
    }

    /// Before another position: half of what is known counts on.
    pub fn fade(&mut self) {
        self.quiet.iter_mut().for_each(|count| *count /= 2);
    }

    /// How well a quiet move has done.
    pub fn of_quiet(&self, turn: Color, m: Move, past: Past) -> i32 {
        let own = i32::from(self.quiet[quiet_place(turn, m)]);
        let answers = past.iter().flatten().map(|to| self.answers[answer_place(*to, turn, m)]);
        own + answers.map(i32::from).sum::<i32>()
    }

    /// How well a capture has done.
    pub fn of_capture(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.captures[capture_place(turn, m)])
    }

    /// `best` refuted the move before, and `tried` did not.
    pub fn refuted(&mut self, turn: Color, best: Move, tried: &[Move], past: Past, depth: i32) {
        let bonus = (160 * depth - 60).min(1_800);
        let quiet = is_quiet(best);
        self.count(turn, best, past, bonus);
        // A capture that refutes says nothing against quiet moves, which come after it.
        for m in tried.iter().filter(|m| quiet || !is_quiet(**m)) {
            self.count(turn, *m, past, -bonus);
        }
    }

    fn count(&mut self, turn: Color, m: Move, past: Past, bonus: i32) {
        if !is_quiet(m) {
            return draw_near(&mut self.captures[capture_place(turn, m)], bonus, MOST);
        }
        draw_near(&mut self.quiet[quiet_place(turn, m)], bonus, MOST);
        for to in past.iter().flatten() {
            draw_near(&mut self.answers[answer_place(*to, turn, m)], bonus, MOST);
        }
    }
}

/// Neither captures nor becomes a queen.
pub(super) fn is_quiet(m: Move) -> bool {
    !m.is_capture() && m.promotion() != Some(shakmaty::Role::Queen)
}

/// The last moves before this ply of a line.
pub(super) fn past(moved: &[Option<Arrival>], ply: usize) -> Past {
    ANSWERED.map(|back| ply.checked_sub(back).and_then(|at| moved.get(at).copied().flatten()))
}

/// Adds `bonus`, the less of it the nearer the count is to its end, which is `most`.
pub(super) fn draw_near(count: &mut i16, bonus: i32, most: i32) {
    let now = i32::from(*count);
    *count = (now + bonus - now * bonus.abs() / most) as i16;
}

fn quiet_place(turn: Color, m: Move) -> usize {
    let action = Action::new(m);
    let (from, to) = (usize::from(action.origin()), usize::from(action.target()));
    (usize::from(turn.is_white()) * 64 + from) * 64 + to
}

fn capture_place(turn: Color, m: Move) -> usize {
    usize::from(Arrival::new(turn, m).0) * 6 + m.capture().map_or(0, |role| role as usize - 1)
}

fn answer_place(to: Arrival, turn: Color, m: Move) -> usize {
    usize::from(to.0) * ARRIVALS + usize::from(Arrival::new(turn, m).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    #[test]
    fn refutations_rise_and_what_was_tried_before_them_falls() {
        let game = Game::default();
        let moves = game.position().clone();
        let legal = shakmaty::Position::legal_moves(&moves);
        let (best, tried, other) = (legal[3], legal[7], legal[9]);
        let mut history = History::new();
        let answered = Some(Arrival::new(Color::Black, legal[0]));
        for _ in 0..1_000 {
            history.refuted(Color::White, best, &[tried], [answered, None], 9);
        }
        let of = |m, past| history.of_quiet(Color::White, m, past);
        assert_eq!(of(other, [None, None]), 0);
        let alone = of(best, [None, None]);
        assert!(alone > 10_000 && alone <= MOST && of(tried, [None, None]) < -10_000);
        assert!(of(best, [answered, None]) > alone, "as an answer, too");
        history.fade();
        assert_eq!(history.of_quiet(Color::White, best, [None, None]), alone / 2);
    }
}
