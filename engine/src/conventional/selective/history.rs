//! Which moves refuted others so far: what the order of moves and the depth of late ones go by.

use crate::chess::action::Action;
use nn::cpu::large_pages;
use shakmaty::{Color, Move};

/// Kinds of pieces, of both colours, times squares they go to.
const ARRIVALS: usize = 2 * 6 * 64;
/// No count goes beyond these.
const MOST: i32 = 7_183;
const MOST_CAPTURES: i32 = 10_692;
const MOST_ANSWERS: i32 = 29_952;
/// An answer's count before it was ever tried.
const UNTRIED: i16 = -71;
/// Plies back to moves that a quiet move is counted as an answer to.
pub(super) const ANSWERED: [usize; 4] = [1, 2, 4, 6];

/// A piece of one colour and the square it went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival(u16);

impl Arrival {
    pub fn new(turn: Color, m: Move) -> Arrival {
        let piece = usize::from(turn.is_black()) * 6 + m.role() as usize - 1;
        Arrival((piece * 64 + usize::from(m.to())) as u16)
    }
}

/// A move that others answer: its arrival, whether it took something and whether it came out of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prompt(u16);

impl Prompt {
    pub fn new(turn: Color, m: Move, check: bool) -> Prompt {
        let kind = 2 * u16::from(check) + u16::from(m.is_capture());
        Prompt(kind * ARRIVALS as u16 + Arrival::new(turn, m).0)
    }

    /// One for each.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}

/// The moves so many plies back, as [`ANSWERED`] has them; none where a side passed.
pub(super) type Past = [Option<Prompt>; ANSWERED.len()];

/// What answers a pass counts for.
static UNASKED: [i16; ARRIVALS] = [0; ARRIVALS];

/// Counts of quiet moves as answers to some moves, as [`Past`] has these.
pub(super) struct Answers<'a>([&'a [i16; ARRIVALS]; ANSWERED.len()]);

impl Answers<'_> {
    /// The counts of one.
    #[inline]
    pub fn of(&self, turn: Color, m: Move) -> [i32; ANSWERED.len()] {
        let arrival = usize::from(Arrival::new(turn, m).0);
        self.0.map(|counts| i32::from(counts[arrival]))
    }
}

/// Counts of moves: up when one refuted another, down when it was tried before the one that did.
pub(super) struct History {
    /// Of quiet moves by colour, origin and target.
    quiet: Vec<i16>,
    /// Of captures by arrival and what they take.
    captures: Vec<i16>,
    /// Of quiet moves as answers to others, by prompt and arrival.
    answers: Vec<[i16; ARRIVALS]>,
    /// The last move that refuted another, by its arrival.
    counters: Vec<Option<Action>>,
}

impl History {
    pub fn new() -> History {
        let mut answers = large_pages::with_capacity(4 * ARRIVALS);
        answers.resize(4 * ARRIVALS, [UNTRIED; ARRIVALS]);
        History {
            quiet: vec![0; 2 * 64 * 64],
            captures: vec![0; ARRIVALS * 6],
            answers,
            counters: vec![None; ARRIVALS],
        }
    }

    /// How well a quiet move has done.
    pub fn of_quiet(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.quiet[quiet_place(turn, m)])
    }

    /// How well quiet moves have done as answers to each of the moves before.
    #[inline]
    pub fn answers(&self, past: &Past) -> Answers<'_> {
        Answers(past.map(|to| to.map_or(&UNASKED, |to| &self.answers[to.number()])))
    }

    /// How well a quiet move has done as an answer to each of the moves before it.
    #[inline]
    pub fn of_answer(&self, turn: Color, m: Move, past: &Past) -> [i32; ANSWERED.len()] {
        self.answers(past).of(turn, m)
    }

    /// How well a capture has done.
    pub fn of_capture(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.captures[capture_place(turn, m)])
    }

    /// The move that refuted the last one of `past` before.
    pub fn counter(&self, past: &Past) -> Option<Action> {
        self.counters[past[0]?.number() % ARRIVALS]
    }

    pub fn refutes(&mut self, past: &Past, m: Move) {
        if let Some(to) = past[0] {
            self.counters[to.number() % ARRIVALS] = Some(Action::new(m));
        }
    }

    pub fn count_quiet(&mut self, turn: Color, m: Move, bonus: i32) {
        draw_near(&mut self.quiet[quiet_place(turn, m)], bonus, MOST);
    }

    pub fn count_capture(&mut self, turn: Color, m: Move, bonus: i32) {
        draw_near(&mut self.captures[capture_place(turn, m)], bonus, MOST_CAPTURES);
    }

    /// As an answer to the moves before it; in check to the last two of them alone.
    pub fn count_answer(&mut self, turn: Color, m: Move, past: &Past, check: bool, bonus: i32) {
        let arrival = usize::from(Arrival::new(turn, m).0);
        for to in past[..if check { 2 } else { past.len() }].iter().flatten() {
            draw_near(&mut self.answers[to.number()][arrival], bonus, MOST_ANSWERS);
        }
    }
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
    // No king is taken: its place is that of what takes nothing.
    usize::from(Arrival::new(turn, m).0) * 6 + m.capture().map_or(5, |role| role as usize - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;
    use shakmaty::Position;

    #[test]
    fn counts_rise_and_fall_and_stay_within_bounds() {
        let game = Game::default();
        let legal = game.position().legal_moves();
        let (good, bad, other) = (legal[3], legal[7], legal[9]);
        let mut history = History::new();
        let answered = Some(Prompt::new(Color::Black, legal[0], false));
        let past = [answered, None, answered, None];
        for _ in 0..1_000 {
            history.count_quiet(Color::White, good, 1_594);
            history.count_quiet(Color::White, bad, -1_594);
            history.count_answer(Color::White, good, &past, false, 1_594);
            history.count_capture(Color::White, bad, -1_594);
        }
        let quiet = |m| history.of_quiet(Color::White, m);
        assert!((7_000..=MOST).contains(&quiet(good)) && (-MOST..=-7_000).contains(&quiet(bad)));
        assert_eq!(quiet(other), 0);
        let answers = history.of_answer(Color::White, good, &past);
        assert!((29_000..=MOST_ANSWERS).contains(&answers[0]), "{answers:?}");
        assert_eq!(answers, [answers[0], 0, answers[0], 0]);
        assert_eq!(history.of_answer(Color::White, other, &past)[0], i32::from(UNTRIED));
        assert!((-MOST_CAPTURES..-10_000).contains(&history.of_capture(Color::White, bad)));
    }

    #[test]
    fn in_check_the_last_two_moves_are_answered_alone() {
        let game = Game::default();
        let legal = game.position().legal_moves();
        let mut history = History::new();
        let prompt = |at: usize| Some(Prompt::new(Color::Black, legal[at], false));
        let past = [prompt(0), prompt(1), prompt(2), prompt(3)];
        history.count_answer(Color::White, legal[5], &past, true, 500);
        let untried = i32::from(UNTRIED);
        let [one, two, four, six] = history.of_answer(Color::White, legal[5], &past);
        assert!(one > 0 && two > 0);
        assert_eq!([four, six], [untried; 2]);
        let checked = Some(Prompt::new(Color::Black, legal[0], true));
        let other = history.of_answer(Color::White, legal[5], &[checked, None, None, None]);
        assert_eq!(other[0], untried, "out of check is another matter");
    }

    #[test]
    fn what_refuted_a_move_is_remembered_by_where_that_went() {
        let game = Game::default();
        let legal = game.position().legal_moves();
        let mut history = History::new();
        let past = |check| [Some(Prompt::new(Color::Black, legal[0], check)), None, None, None];
        assert_eq!(history.counter(&past(false)), None);
        history.refutes(&past(false), legal[4]);
        assert_eq!(history.counter(&past(true)), Some(Action::new(legal[4])));
        assert_eq!(history.counter(&[None; 4]), None);
    }
}
