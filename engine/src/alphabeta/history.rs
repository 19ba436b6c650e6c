//! Which moves refuted others so far: what the order of moves and the depth of late ones go by.

use crate::chess::action::Action;
use nn::cpu::large_pages;
use shakmaty::{Color, Move};

/// Kinds of pieces, of both colours, times squares they go to.
pub(super) const ARRIVALS: usize = 2 * 6 * 64;
/// Shapes of pawns that are told apart: a power of two.
const SHAPES: usize = 1 << 10;
/// Plies from the root on that have counts of their own.
const EARLY: usize = 5;
/// No count goes beyond these.
const MOST: i32 = 7_183;
const MOST_CAPTURES: i32 = 10_692;
const MOST_ANSWERS: i32 = 30_000;
const MOST_SHAPED: i32 = 8_192;
/// Counts before they ever changed.
const UNTRIED: i16 = -5;
const UNTRIED_CAPTURE: i16 = -742;
const UNTRIED_ANSWER: i16 = -586;
const UNTRIED_SHAPED: i16 = -1_338;
const UNTRIED_EARLY: i16 = 102;
/// Plies back to moves that a quiet move is counted as an answer to.
pub(super) const ANSWERED: usize = 6;
/// How much of a bonus it gets as an answer to each of these, and the more by how many of them it has answered well, in 131,072ths.
const SHARES: [i32; ANSWERED] = [1_040, 780, 290, 502, 132, 418];
const CONSISTENT: [i32; ANSWERED + 1] = [94, 103, 110, 106, 119, 126, 121];
/// What it gets as an answer to the last move beside that.
const LAST: i32 = 73;

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
    fn number(self) -> usize {
        usize::from(self.0)
    }

    /// Its arrival's.
    pub fn arrival(self) -> usize {
        self.number() % ARRIVALS
    }
}

/// The last moves, the latest first; none where a side passed, or before the root.
pub(super) type Past = [Option<Prompt>; ANSWERED];
#[cfg(test)]
pub(super) const NO_PAST: Past = [None; ANSWERED];

/// What answers a pass counts for.
static UNASKED: [i16; ARRIVALS] = [UNTRIED_ANSWER; ARRIVALS];

/// Counts of quiet moves as answers to some moves, as [`Past`] has these.
pub(super) struct Answers<'a>([&'a [i16; ARRIVALS]; ANSWERED]);

impl Answers<'_> {
    /// The counts of one as an answer to the last move and to the one before.
    #[inline]
    pub fn of_last(&self, turn: Color, m: Move) -> [i32; 2] {
        let arrival = usize::from(Arrival::new(turn, m).0);
        [0, 1].map(|at| i32::from(self.0[at][arrival]))
    }

    /// What the order of moves goes by.
    #[inline]
    pub fn sum(&self, turn: Color, m: Move) -> i32 {
        let arrival = usize::from(Arrival::new(turn, m).0);
        [0, 1, 2, 3, 5].into_iter().map(|at: usize| i32::from(self.0[at][arrival])).sum()
    }
}

/// Counts of moves: up when one refuted another, down when it was tried before the one that did.
pub(super) struct History {
    /// Of quiet moves by colour, origin and target.
    quiet: Vec<i16>,
    /// The same near the root, by ply.
    early: Vec<i16>,
    /// Of captures by arrival and what they take.
    captures: Vec<i16>,
    /// Of quiet moves as answers to others, by prompt and arrival.
    answers: Vec<[i16; ARRIVALS]>,
    /// Of quiet moves by the shape of the pawns and arrival.
    shaped: Vec<[i16; ARRIVALS]>,
    /// How often the table's move is the best.
    trust: i16,
}

/// Where a quiet move is played: what it counts for there.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub turn: Color,
    pub past: Past,
    pub check: bool,
    pub ply: usize,
    /// A number for the shape of the pawns.
    pub pawns: usize,
}

impl History {
    pub fn new() -> History {
        let mut answers = large_pages::with_capacity(4 * ARRIVALS);
        answers.resize(4 * ARRIVALS, [UNTRIED_ANSWER; ARRIVALS]);
        let mut shaped = large_pages::with_capacity(SHAPES);
        shaped.resize(SHAPES, [UNTRIED_SHAPED; ARRIVALS]);
        History {
            quiet: vec![UNTRIED; 2 * 64 * 64],
            early: vec![UNTRIED_EARLY; EARLY * 64 * 64],
            captures: vec![UNTRIED_CAPTURE; ARRIVALS * 6],
            answers,
            shaped,
            trust: 0,
        }
    }

    /// Another root is searched.
    pub fn begin(&mut self) {
        self.early.fill(UNTRIED_EARLY);
        self.quiet.iter_mut().for_each(|count| *count = (i32::from(*count) * 729 / 1_024) as i16);
    }

    /// How well a quiet move has done.
    pub fn of_quiet(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.quiet[quiet_place(turn, m)])
    }

    /// How well quiet moves have done near the root, so many plies from it.
    pub fn of_early(&self, m: Move, ply: usize) -> i32 {
        if ply < EARLY { i32::from(self.early[early_place(ply, m)]) } else { 0 }
    }

    /// How well quiet moves have done with such pawns.
    pub fn of_shaped(&self, turn: Color, m: Move, pawns: usize) -> i32 {
        i32::from(self.shaped[pawns % SHAPES][usize::from(Arrival::new(turn, m).0)])
    }

    /// How well quiet moves have done as answers to each of the moves before.
    #[inline]
    pub fn answers(&self, past: &Past) -> Answers<'_> {
        Answers(past.map(|to| to.map_or(&UNASKED, |to| &self.answers[to.number()])))
    }

    /// How well a capture has done.
    pub fn of_capture(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.captures[capture_place(turn, m)])
    }

    /// How well the table's moves have done.
    pub fn of_tables(&self) -> i32 {
        i32::from(self.trust)
    }

    pub fn count_tables(&mut self, bonus: i32) {
        draw_near(&mut self.trust, bonus, 8_192);
    }

    /// By itself alone.
    pub fn count_quiet(&mut self, turn: Color, m: Move, bonus: i32) {
        draw_near(&mut self.quiet[quiet_place(turn, m)], bonus, MOST);
    }

    pub fn count_shaped(&mut self, turn: Color, m: Move, pawns: usize, bonus: i32) {
        let arrival = usize::from(Arrival::new(turn, m).0);
        draw_near(&mut self.shaped[pawns % SHAPES][arrival], bonus, MOST_SHAPED);
    }

    pub fn count_capture(&mut self, turn: Color, m: Move, bonus: i32) {
        draw_near(&mut self.captures[capture_place(turn, m)], bonus, MOST_CAPTURES);
    }

    /// As an answer to the moves before it; in check to the last two of them alone.
    pub fn count_answer(&mut self, turn: Color, m: Move, past: &Past, check: bool, bonus: i32) {
        let arrival = usize::from(Arrival::new(turn, m).0);
        let mut good = 0;
        for (at, to) in past[..if check { 2 } else { past.len() }].iter().enumerate() {
            let Some(to) = to else { continue };
            let count = &mut self.answers[to.number()][arrival];
            good += usize::from(*count > 0);
            let share = i64::from(bonus) * i64::from(SHARES[at] * CONSISTENT[good]) / 131_072;
            draw_near(count, share as i32 + if at == 0 { LAST } else { 0 }, MOST_ANSWERS);
        }
    }

    /// In all that quiet moves are counted by.
    pub fn count(&mut self, setting: &Setting, m: Move, bonus: i32) {
        let Setting { turn, past, check, ply, pawns } = setting;
        self.count_quiet(*turn, m, bonus);
        if *ply < EARLY {
            draw_near(&mut self.early[early_place(*ply, m)], bonus * 712 / 1_024, MOST);
        }
        self.count_answer(*turn, m, past, *check, bonus * 750 / 1_024);
        let share = if bonus > -4 { 1_104 } else { 459 };
        self.count_shaped(*turn, m, *pawns, bonus * share / 1_024);
    }
}

/// Adds `bonus`, the less of it the nearer the count is to its end, which is `most`.
pub(super) fn draw_near(count: &mut i16, bonus: i32, most: i32) {
    let (now, bonus) = (i32::from(*count), bonus.clamp(-most, most));
    *count = (now + bonus - now * bonus.abs() / most) as i16;
}

fn quiet_place(turn: Color, m: Move) -> usize {
    let action = Action::new(m);
    let (from, to) = (usize::from(action.origin()), usize::from(action.target()));
    (usize::from(turn.is_white()) * 64 + from) * 64 + to
}

fn early_place(ply: usize, m: Move) -> usize {
    let action = Action::new(m);
    (ply * 64 + usize::from(action.origin())) * 64 + usize::from(action.target())
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
        let past = [answered, None, None, answered, None, None];
        let setting = Setting { turn: Color::White, past, check: false, ply: 1, pawns: 5 };
        for _ in 0..1_000 {
            history.count(&setting, good, 1_594);
            history.count(&setting, bad, -1_594);
            history.count_capture(Color::White, bad, -1_594);
        }
        let quiet = |m| history.of_quiet(Color::White, m);
        assert!((7_000..=MOST).contains(&quiet(good)) && (-MOST..=-7_000).contains(&quiet(bad)));
        assert_eq!(quiet(other), i32::from(UNTRIED));
        let early = |ply| history.of_early(good, ply);
        assert!(early(1) > 6_500 && early(2) == i32::from(UNTRIED_EARLY) && early(5) == 0);
        let shaped = |pawns| history.of_shaped(Color::White, good, pawns);
        assert!((7_500..=MOST_SHAPED).contains(&shaped(5)));
        assert_eq!(shaped(6), i32::from(UNTRIED_SHAPED));
        let answers = history.answers(&past);
        let [last, before] = answers.of_last(Color::White, good);
        assert!((28_000..=MOST_ANSWERS).contains(&last), "{last}");
        let untried = i32::from(UNTRIED_ANSWER);
        assert_eq!(before, untried, "no move");
        assert_eq!(answers.of_last(Color::White, other), [untried; 2]);
        // Two of the same move, three of none.
        assert_eq!(answers.sum(Color::White, good), 2 * last + 3 * untried);
        assert!((-MOST_CAPTURES..-10_000).contains(&history.of_capture(Color::White, bad)));
        history.begin();
        assert!((4_900..5_200).contains(&history.of_quiet(Color::White, good)));
        assert_eq!(history.of_early(good, 1), i32::from(UNTRIED_EARLY));
    }

    #[test]
    fn in_check_the_last_two_moves_are_answered_alone() {
        let game = Game::default();
        let legal = game.position().legal_moves();
        let mut history = History::new();
        let past: Past =
            std::array::from_fn(|at| Some(Prompt::new(Color::Black, legal[at], false)));
        history.count_answer(Color::White, legal[9], &past, true, 500);
        let untried = i32::from(UNTRIED_ANSWER);
        let changed = |history: &History, at: usize| {
            let mut one = NO_PAST;
            one[0] = past[at];
            history.answers(&one).of_last(Color::White, legal[9])[0] > untried
        };
        assert!(changed(&history, 0) && changed(&history, 1));
        assert!(!(2..ANSWERED).any(|at| changed(&history, at)));
        history.count_answer(Color::White, legal[9], &past, false, 500);
        assert!((0..ANSWERED).all(|at| changed(&history, at)));
        let mut checked = NO_PAST;
        checked[0] = Some(Prompt::new(Color::Black, legal[0], true));
        let other = history.answers(&checked).of_last(Color::White, legal[9]);
        assert_eq!(other[0], untried, "out of check is another matter");
    }
}
