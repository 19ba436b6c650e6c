//! What alpha-beta searches remember: positions by their keys, the quiet moves that refuted others, and best lines.

use super::evaluation::value;
use crate::chess::action::Action;
use shakmaty::{Color, Move};

/// Beyond every evaluation; a mate in so many plies is that much less.
pub const MATE: i32 = 30_000;
/// Scores from here on are mates.
pub const MATES: i32 = 29_000;
/// Beyond every score.
pub const INFINITE: i32 = 31_000;

/// What a score says of the true one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// It is that.
    #[default]
    Exact,
    /// It is no less.
    Lower,
    /// It is no more.
    Upper,
}

impl Bound {
    /// Of the best score that was found inside a window.
    #[must_use]
    pub fn of(best: i32, alpha: i32, beta: i32) -> Bound {
        match best {
            _ if best >= beta => Bound::Lower,
            _ if best <= alpha => Bound::Upper,
            _ => Bound::Exact,
        }
    }
}

/// What is known of a position.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// The best move, if any stood out.
    pub action: Option<Action>,
    /// Mates are counted from the search's root.
    pub score: i32,
    /// Plies searched.
    pub depth: i32,
    /// What the score says.
    pub bound: Bound,
    /// What the evaluation says of the position as it stands, if it was asked.
    pub still: Option<i32>,
}

impl Known {
    /// Whether the score is all that a search between `alpha` and `beta` needs to know.
    #[must_use]
    pub fn decides(&self, alpha: i32, beta: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score >= beta,
            Bound::Upper => self.score <= alpha,
        }
    }

    /// Whether the score is nearer to the true one than `still` is.
    #[must_use]
    pub fn corrects(&self, still: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score > still,
            Bound::Upper => self.score < still,
        }
    }
}

/// The transposition table: what was last known of each position.
pub struct Table(Vec<Slot>);

/// 16 bytes.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The upper half of the position's key; the place in the table tells of the lower one.
    key: u32,
    action: Option<Action>,
    /// Mates are counted from the position.
    score: i16,
    /// [`NOT_ASKED`] if the evaluation was not asked.
    still: i16,
    /// One more than the plies searched; 0 = empty.
    depth: i8,
    bound: Bound,
}

/// In place of an evaluation.
const NOT_ASKED: i16 = i16::MIN;

impl Table {
    /// Room for so many positions: a power of two, or 0.
    #[must_use]
    pub fn new(positions: usize) -> Table {
        Table(vec![Slot::default(); positions])
    }

    /// What is known of the position with this key, so many plies below the root.
    #[must_use]
    pub fn get(&self, key: u64, ply: usize) -> Option<Known> {
        let found = self.0.get(self.at(key)?)?;
        let Slot { action, score, still, depth, bound, .. } =
            *Some(found).filter(|slot| slot.key == upper(key) && slot.depth > 0)?;
        let score = match i32::from(score) {
            score if score >= MATES => score - ply as i32,
            score if score <= -MATES => score + ply as i32,
            score => score,
        };
        let still = (still != NOT_ASKED).then_some(i32::from(still));
        Some(Known { action, score, depth: i32::from(depth) - 1, bound, still })
    }

    /// Remembers what was found there. A move that was known there stays if none is known now.
    pub fn put(&mut self, key: u64, ply: usize, known: Known) {
        let Known { action, score, depth, bound, still } = known;
        let score = match score {
            _ if score >= MATES => score + ply as i32,
            _ if score <= -MATES => score - ply as i32,
            _ => score,
        };
        if let Some(slot) = self.at(key).and_then(|at| self.0.get_mut(at)) {
            let same = slot.key == upper(key) && slot.depth > 0;
            let action = action.or(slot.action.filter(|_| same));
            let score = i16::try_from(score).unwrap_or(0);
            let still = still.and_then(|still| i16::try_from(still).ok()).unwrap_or(NOT_ASKED);
            let depth = i8::try_from(depth + 1).unwrap_or(i8::MAX);
            *slot = Slot { key: upper(key), action, score, still, depth, bound };
        }
    }

    fn at(&self, key: u64) -> Option<usize> {
        Some(key as usize & self.0.len().checked_sub(1)?)
    }
}

fn upper(key: u64) -> u32 {
    (key >> 32) as u32
}

/// Quiet moves that refuted others: two killers for each ply, and a count for each origin and target of either side.
pub struct Refutations {
    killers: Vec<[Option<Action>; 2]>,
    history: Vec<i32>,
}

impl Refutations {
    /// None yet, and room for lines of so many plies.
    #[must_use]
    pub fn new(plies: usize) -> Refutations {
        Refutations { killers: vec![[None; 2]; plies], history: vec![0; 2 * 64 * 64] }
    }

    /// A move has refuted another.
    pub fn count(&mut self, turn: Color, m: Move, depth: i32, ply: usize) {
        if m.is_capture() || m.is_promotion() {
            return;
        }
        let action = Action::new(m);
        if let Some([first, second]) = self.killers.get_mut(ply)
            && *first != Some(action)
        {
            *second = first.replace(action);
        }
        let count = &mut self.history[place(turn, action)];
        *count = (*count + depth * depth).min(1_000_000);
    }

    /// Likely refutations have high numbers: captures by most valuable victim and least valuable attacker, promotions,
    /// killers, then quiet moves by history.
    #[must_use]
    pub fn rank(&self, turn: Color, m: Move, ply: usize) -> i32 {
        if let Some(victim) = m.capture() {
            return 2_000_000 + 10 * value(victim) - value(m.role());
        }
        if let Some(role) = m.promotion() {
            return 1_900_000 + value(role);
        }
        let action = Action::new(m);
        if self.killers.get(ply).is_some_and(|killers| killers.contains(&Some(action))) {
            return 1_800_000;
        }
        self.history[place(turn, action)]
    }
}

fn place(turn: Color, action: Action) -> usize {
    (usize::from(turn.is_white()) * 64 + usize::from(action.origin())) * 64
        + usize::from(action.target())
}

/// The best line from each ply of the line being looked at.
pub struct Lines(Vec<Vec<Action>>);

impl Lines {
    /// Room for lines of so many plies.
    #[must_use]
    pub fn new(plies: usize) -> Lines {
        Lines(vec![Vec::new(); plies + 2])
    }

    /// No best move is known at `ply`.
    pub fn clear(&mut self, ply: usize) {
        self.0[ply].clear();
    }

    /// The best line at `ply` is this move and the best line after it.
    pub fn keep(&mut self, ply: usize, m: Move) {
        let tail = std::mem::take(&mut self.0[ply + 1]);
        let line = &mut self.0[ply];
        line.clear();
        line.push(Action::new(m));
        line.extend_from_slice(&tail);
        self.0[ply + 1] = tail;
    }

    /// The best line from the root.
    #[must_use]
    pub fn best(&self) -> &[Action] {
        &self.0[0]
    }
}
