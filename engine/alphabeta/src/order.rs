//! Move picker: staged move ordering.

use super::attack::{Checks, Threats};
use super::history::{History, HistoryContext};
use super::margins::CHECK_SEE_MARGIN;
use super::moves::{add_quiet, is_noisy};
use super::scale::{piece_value, wins};
use arrayvec::ArrayVec;
use chess::action::Action;
use shakmaty::{Chess, Move, MoveList, Position};

/// Maximum number of legal moves.
const MOVES: usize = 256;
/// Rank of the table's move.
const TT_MOVE_RANK: i32 = 5_000_000;
/// Base rank of captures among evasions.
const CAPTURE_RANK: i32 = 4_000_000;
/// Ordering bonus of a quiet check that loses little by SEE.
const CHECK_BONUS: i32 = 16_384;
/// Quiet moves up to this rank come after losing captures.
const GOOD_QUIET_RANK: i32 = -14_000;

/// Moves picked by selection sort before the rest is sorted: cutoffs come early.
const SELECTION_SORTED: usize = 3;

/// Ranked moves.
struct RankedMoves {
    /// Rank in the upper bits, inverted move index in the lower 8. Sorted up to `next`; all sorted from
    /// [`SELECTION_SORTED`] on.
    keys: ArrayVec<i32, MOVES>,
    next: usize,
}

impl RankedMoves {
    fn new() -> RankedMoves {
        RankedMoves { keys: ArrayVec::new(), next: 0 }
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.next = 0;
    }

    /// Ranks stay below 2^23.
    fn push(&mut self, rank: i32, at: usize) {
        self.keys.push(rank << 8 | (MOVES - 1 - at) as i32);
    }

    /// The highest remaining rank above `min_rank`, with its move's index.
    fn take(&mut self, min_rank: i32) -> Option<(i32, usize)> {
        let left = self.keys.get_mut(self.next..)?;
        if self.next < SELECTION_SORTED {
            let (mut best, mut highest) = (0, i32::MIN);
            for (at, key) in left.iter().enumerate() {
                if *key > highest {
                    (best, highest) = (at, *key);
                }
            }
            left.get(best)?;
            left.swap(0, best);
        } else if self.next == SELECTION_SORTED {
            left.sort_unstable_by(|a, b| b.cmp(a));
        }
        let key = *left.first()?;
        let rank = key >> 8;
        if rank <= min_rank {
            return None;
        }
        self.next += 1;
        Some((rank, MOVES - 1 - (key & 0xFF) as usize))
    }
}

/// Kind of node that moves are picked for.
pub(super) enum Purpose<'a> {
    /// All moves, not in check.
    Main(&'a Checks, &'a Threats),
    /// All evasions.
    Evasions,
    /// Captures and promotions to queens.
    Captures,
}

/// The picker's input beside the history.
#[derive(Clone, Copy)]
pub(super) struct Hints {
    /// The table's move; ignored in [`Purpose::Main`], whose caller has searched it.
    pub tt_move: Option<Action>,
    pub history_context: HistoryContext,
}

/// Stage of the picker.
#[derive(Clone, Copy)]
enum Stage {
    /// Captures and promotions to queens that pass SEE.
    Noisy,
    /// Quiet moves ranked above [`GOOD_QUIET_RANK`].
    Quiet,
    /// Captures that fail SEE.
    BadCapture,
    /// The remaining quiet moves.
    BadQuiet,
}

/// Scratch buffer of [`MovePicker`], borrowed because it is large.
pub(super) struct Rankings {
    /// Moves of the current stage.
    current: RankedMoves,
    bad_captures: RankedMoves,
}

impl Rankings {
    #[inline(always)]
    pub fn new() -> Rankings {
        Rankings { current: RankedMoves::new(), bad_captures: RankedMoves::new() }
    }
}

/// Yields moves by rank. Each stage is ranked when it begins.
pub(super) struct MovePicker<'a> {
    position: &'a Chess,
    /// In [`Purpose::Main`] at first only noisy moves.
    moves: &'a mut MoveList,
    purpose: &'a Purpose<'a>,
    hints: Hints,
    stage: Stage,
    rankings: &'a mut Rankings,
}

impl<'a> MovePicker<'a> {
    /// `moves` are legal: all, or in [`Purpose::Main`] the noisy ones, to which quiet moves are added later.
    /// `rankings` are empty.
    pub fn new(
        position: &'a Chess,
        moves: &'a mut MoveList,
        purpose: &'a Purpose<'a>,
        hints: Hints,
        history: &History,
        rankings: &'a mut Rankings,
    ) -> MovePicker<'a> {
        let mut picker =
            MovePicker { position, moves, purpose, hints, stage: Stage::Noisy, rankings };
        picker.rank_first_stage(history);
        picker
    }

    /// Ranks the first stage.
    fn rank_first_stage(&mut self, history: &History) {
        let turn = self.position.turn();
        let continuation = history.continuation(&self.hints.history_context.recent);
        for (at, m) in self.moves.iter().enumerate() {
            let victim = m.capture().map_or(0, piece_value);
            let rank = match self.purpose {
                Purpose::Evasions | Purpose::Captures
                    if self.hints.tt_move == Some(Action::new(*m)) =>
                {
                    TT_MOVE_RANK
                }
                Purpose::Evasions if is_noisy(*m) => CAPTURE_RANK + victim,
                Purpose::Evasions => {
                    history.quiet_score(turn, *m) + continuation.last_two(turn, *m)[0]
                }
                Purpose::Main(..) | Purpose::Captures => {
                    7 * victim + history.capture_score(turn, *m)
                }
            };
            self.rankings.current.push(rank, at);
        }
    }

    fn rank_quiet(&mut self, checks: &Checks, threats: &Threats, history: &History) {
        let turn = self.position.turn();
        let HistoryContext { recent, ply, pawns, .. } = &self.hints.history_context;
        let continuation = history.continuation(recent);
        self.rankings.current.clear();
        for (at, m) in self.moves.iter().enumerate() {
            if is_noisy(*m) {
                continue;
            }
            let checks = checks.is_direct_check(*m) && wins(self.position, *m, CHECK_SEE_MARGIN);
            let rank = 2 * (history.quiet_score(turn, *m) + history.pawn_score(turn, *m, *pawns))
                + continuation.sum(turn, *m)
                + if checks { CHECK_BONUS } else { 0 }
                + threats.escape_bonus(*m)
                + 8 * history.low_ply_score(*m, *ply) / (1 + *ply as i32);
            self.rankings.current.push(rank, at);
        }
    }

    /// The next move; `history` may have changed. `skip_quiets` ends the quiet stages.
    pub fn next(&mut self, history: &History, skip_quiets: bool) -> Option<Move> {
        loop {
            match (self.stage, self.purpose) {
                (Stage::Noisy, Purpose::Main(checks, threats)) => {
                    match self.rankings.current.take(i32::MIN) {
                        Some((rank, at)) => {
                            let m = self.moves[at];
                            if wins(self.position, m, -rank / 18) {
                                return Some(m);
                            }
                            self.rankings.bad_captures.push(rank, at);
                        }
                        None => {
                            if !skip_quiets {
                                add_quiet(self.position, self.moves);
                                self.rank_quiet(checks, threats, history);
                            }
                            self.stage = Stage::Quiet;
                        }
                    }
                }
                (Stage::Noisy, _) => {
                    let (_, at) = self.rankings.current.take(i32::MIN)?;
                    return Some(self.moves[at]);
                }
                (Stage::Quiet, _) => {
                    match self.rankings.current.take(GOOD_QUIET_RANK).filter(|_| !skip_quiets) {
                        Some((_, at)) => return Some(self.moves[at]),
                        None => self.stage = Stage::BadCapture,
                    }
                }
                (Stage::BadCapture, _) => match self.rankings.bad_captures.take(i32::MIN) {
                    Some((_, at)) => return Some(self.moves[at]),
                    None => self.stage = Stage::BadQuiet,
                },
                (Stage::BadQuiet, _) => {
                    let (_, at) = self.rankings.current.take(i32::MIN).filter(|_| !skip_quiets)?;
                    return Some(self.moves[at]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::NO_RECENT_MOVES;
    use super::super::moves::add_noisy;
    use super::*;
    use chess::game::Game;

    /// Far from the root, without recent moves.
    fn history_context(position: &Chess) -> HistoryContext {
        let (turn, check) = (position.turn(), position.is_check());
        HistoryContext { turn, recent: NO_RECENT_MOVES, check, ply: 9, pawns: 0 }
    }

    /// All moves; quiets are skipped after `skip_after` moves.
    fn picker(
        position: &Chess,
        moves: &mut MoveList,
        purpose: &Purpose<'_>,
        hints: &Hints,
        skip_quiets: usize,
    ) -> Vec<Move> {
        let history = History::new();
        let mut rankings = Rankings::new();
        let mut picker = MovePicker::new(position, moves, purpose, *hints, &history, &mut rankings);
        let mut found = Vec::new();
        while let Some(m) = picker.next(&history, found.len() >= skip_quiets) {
            found.push(m);
        }
        found
    }

    #[test]
    fn moves_come_by_rank_and_each_once() {
        // A pawn takes a pawn; the queen would be lost for that pawn, or on an attacked square.
        let game = Game::from_fen("4k3/8/2p5/3p4/3QPP2/8/8/4K3 w - - 0 1", false).unwrap();
        let (position, legal) = (game.position(), game.legal_actions());
        let hints = Hints { tt_move: None, history_context: history_context(position) };
        let mut moves = MoveList::new();
        add_noisy(position, &mut moves);
        let (checks, threats) = (Checks::new(position), Threats::new(position));
        let all = Purpose::Main(&checks, &threats);
        let names = |moves: Vec<Move>| -> Vec<String> {
            moves.into_iter().map(|m| game.uci(Action::new(m))).collect()
        };
        let order = names(picker(position, &mut moves, &all, &hints, usize::MAX));
        assert_eq!(order[0], "e4d5", "{order:?}");
        let place = |name: &str| order.iter().position(|other| other == name).unwrap();
        assert!(place("d4g7") > place("d4e3"), "by index where nothing is known");
        assert!(place("d4a4") < place("e1e2"), "a check that loses nothing first");
        assert!(place("d4d5") < place("d4c4"), "a queen lost for a pawn, and for nothing");
        let mut every: Vec<String> = legal.iter().map(|action| game.uci(*action)).collect();
        let mut each = order.clone();
        every.sort();
        each.sort();
        assert_eq!(each, every);
        for (quiet, known) in [(0, vec![]), (2, order[1..3].to_vec())] {
            let mut moves = MoveList::new();
            add_noisy(position, &mut moves);
            let some = names(picker(position, &mut moves, &all, &hints, 1 + quiet));
            let expected = [&order[..1], &known[..], &["d4d5".to_owned()]].concat();
            assert_eq!(some, expected, "quiet moves are enough after {quiet}");
        }
    }

    #[test]
    fn out_of_check_captures_come_first() {
        let game = Game::from_fen("4k3/8/8/8/1b6/2N5/3P4/q3K1R1 w - - 0 1", false).unwrap();
        let mut moves = game.position().legal_moves();
        for tt_move in [None, Some(Action::new(*moves.last().unwrap()))] {
            let hints = Hints { tt_move, history_context: history_context(game.position()) };
            let order = picker(game.position(), &mut moves, &Purpose::Evasions, &hints, usize::MAX);
            let rest = &order[usize::from(tt_move.is_some())..];
            assert!(tt_move.is_none_or(|tt_move| tt_move == Action::new(order[0])));
            assert!(rest.is_sorted_by(|a, b| a.is_capture() >= b.is_capture()));
            assert_eq!(order.len(), moves.len());
        }
    }
}
