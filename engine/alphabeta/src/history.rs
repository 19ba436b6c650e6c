//! History tables: statistics of beta cutoffs per move, used by move ordering and by late move reductions.

use chess::action::Action;
use kernels::huge_pages;
use shakmaty::{Color, Move};

/// Coloured pieces times target squares.
pub(super) const PIECE_SQUARES: usize = 2 * 6 * 64;
/// Entries of the pawn history: a power of two.
const PAWN_ENTRIES: usize = 1 << 10;
/// Plies from the root with their own table (low-ply history).
const LOW_PLIES: usize = 5;
/// Maxima of the entries.
const MAX_QUIET: i32 = 7_183;
const MAX_CAPTURE: i32 = 10_692;
const MAX_CONTINUATION: i32 = 30_000;
const MAX_PAWN: i32 = 8_192;
/// Initial entries.
const INITIAL_QUIET: i16 = -5;
const INITIAL_CAPTURE: i16 = -742;
const INITIAL_CONTINUATION: i16 = -586;
const INITIAL_PAWN: i16 = -1_338;
const INITIAL_LOW_PLY: i16 = 102;
/// Number of earlier moves in the continuation history.
pub(super) const CONTINUATIONS: usize = 6;
/// Weights of a bonus per earlier move, and by the number of entries that are already positive, in 131,072ths.
const CONTINUATION_WEIGHTS: [i32; CONTINUATIONS] = [1_040, 780, 290, 502, 132, 418];
const POSITIVE_WEIGHTS: [i32; CONTINUATIONS + 1] = [94, 103, 110, 106, 119, 126, 121];
/// Extra bonus for the continuation of the last move.
const LAST_MOVE_BONUS: i32 = 73;

/// A coloured piece and its target square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceSquare(u16);

impl PieceSquare {
    pub fn new(turn: Color, m: Move) -> PieceSquare {
        let piece = usize::from(turn.is_black()) * 6 + m.role() as usize - 1;
        PieceSquare((piece * 64 + usize::from(m.to())) as u16)
    }
}

/// Index of a move in the continuation history: piece and square, capture, evasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContinuationKey(u16);

impl ContinuationKey {
    pub fn new(turn: Color, m: Move, check: bool) -> ContinuationKey {
        let kind = 2 * u16::from(check) + u16::from(m.is_capture());
        ContinuationKey(kind * PIECE_SQUARES as u16 + PieceSquare::new(turn, m).0)
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Index of the piece and square alone.
    pub fn piece_square(self) -> usize {
        self.index() % PIECE_SQUARES
    }
}

/// Recent moves, the latest first; none for a null move or before the root.
pub(super) type RecentMoves = [Option<ContinuationKey>; CONTINUATIONS];
#[cfg(test)]
pub(super) const NO_RECENT_MOVES: RecentMoves = [None; CONTINUATIONS];

/// Entries after a null move.
static NO_MOVE_ENTRIES: [i16; PIECE_SQUARES] = [INITIAL_CONTINUATION; PIECE_SQUARES];

/// Continuation history of [`RecentMoves`]: one table per earlier move.
pub(super) struct ContinuationHistory<'a>([&'a [i16; PIECE_SQUARES]; CONTINUATIONS]);

impl ContinuationHistory<'_> {
    /// Entries with the last move and with the one before.
    #[inline]
    pub fn last_two(&self, turn: Color, m: Move) -> [i32; 2] {
        let piece_square = usize::from(PieceSquare::new(turn, m).0);
        [0, 1].map(|at| i32::from(self.0[at][piece_square]))
    }

    /// Sum for move ordering.
    #[inline]
    pub fn sum(&self, turn: Color, m: Move) -> i32 {
        let piece_square = usize::from(PieceSquare::new(turn, m).0);
        [0, 1, 2, 3, 5].into_iter().map(|at: usize| i32::from(self.0[at][piece_square])).sum()
    }
}

/// All history tables. An entry rises when its move causes a cutoff, and falls when another move does.
pub(super) struct History {
    /// Butterfly history: colour, origin, target of a quiet move.
    quiet: Vec<i16>,
    /// Low-ply history: ply, origin, target.
    low_ply: Vec<i16>,
    /// Capture history: piece, target, captured role.
    captures: Vec<i16>,
    /// Continuation history: earlier move, then piece and target of a quiet move.
    continuation: Vec<[i16; PIECE_SQUARES]>,
    /// Pawn history: hash of the pawns, then piece and target of a quiet move.
    pawn: Vec<[i16; PIECE_SQUARES]>,
    /// How often the table's move is the best.
    tt_move_history: i16,
}

/// Index of a node's quiet moves in the history tables.
#[derive(Clone, Copy)]
pub(super) struct HistoryContext {
    pub turn: Color,
    pub recent: RecentMoves,
    pub check: bool,
    pub ply: usize,
    /// Hash of the pawns.
    pub pawns: usize,
}

impl History {
    pub fn new() -> History {
        let mut continuation = huge_pages::with_capacity(4 * PIECE_SQUARES);
        continuation.resize(4 * PIECE_SQUARES, [INITIAL_CONTINUATION; PIECE_SQUARES]);
        let mut pawn = huge_pages::with_capacity(PAWN_ENTRIES);
        pawn.resize(PAWN_ENTRIES, [INITIAL_PAWN; PIECE_SQUARES]);
        History {
            quiet: vec![INITIAL_QUIET; 2 * 64 * 64],
            low_ply: vec![INITIAL_LOW_PLY; LOW_PLIES * 64 * 64],
            captures: vec![INITIAL_CAPTURE; PIECE_SQUARES * 6],
            continuation,
            pawn,
            tt_move_history: 0,
        }
    }

    /// Ages the tables for a new root.
    pub fn age(&mut self) {
        self.low_ply.fill(INITIAL_LOW_PLY);
        self.quiet.iter_mut().for_each(|count| *count = (i32::from(*count) * 729 / 1_024) as i16);
    }

    pub fn quiet_score(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.quiet[quiet_index(turn, m)])
    }

    /// Low-ply history; 0 deeper in the tree.
    pub fn low_ply_score(&self, m: Move, ply: usize) -> i32 {
        if ply < LOW_PLIES { i32::from(self.low_ply[low_ply_index(ply, m)]) } else { 0 }
    }

    pub fn pawn_score(&self, turn: Color, m: Move, pawns: usize) -> i32 {
        i32::from(self.pawn[pawns % PAWN_ENTRIES][usize::from(PieceSquare::new(turn, m).0)])
    }

    #[inline]
    pub fn continuation(&self, recent: &RecentMoves) -> ContinuationHistory<'_> {
        ContinuationHistory(
            recent.map(|to| to.map_or(&NO_MOVE_ENTRIES, |to| &self.continuation[to.index()])),
        )
    }

    pub fn capture_score(&self, turn: Color, m: Move) -> i32 {
        i32::from(self.captures[capture_index(turn, m)])
    }

    pub fn tt_move_score(&self) -> i32 {
        i32::from(self.tt_move_history)
    }

    pub fn update_tt_move(&mut self, bonus: i32) {
        add_with_gravity(&mut self.tt_move_history, bonus, 8_192);
    }

    /// Butterfly history only.
    pub fn update_quiet(&mut self, turn: Color, m: Move, bonus: i32) {
        add_with_gravity(&mut self.quiet[quiet_index(turn, m)], bonus, MAX_QUIET);
    }

    pub fn update_pawn(&mut self, turn: Color, m: Move, pawns: usize, bonus: i32) {
        let piece_square = usize::from(PieceSquare::new(turn, m).0);
        add_with_gravity(&mut self.pawn[pawns % PAWN_ENTRIES][piece_square], bonus, MAX_PAWN);
    }

    pub fn update_capture(&mut self, turn: Color, m: Move, bonus: i32) {
        add_with_gravity(&mut self.captures[capture_index(turn, m)], bonus, MAX_CAPTURE);
    }

    /// Continuation history; in check, only of the last two moves.
    pub fn update_continuation(
        &mut self,
        turn: Color,
        m: Move,
        recent: &RecentMoves,
        check: bool,
        bonus: i32,
    ) {
        let piece_square = usize::from(PieceSquare::new(turn, m).0);
        let mut positive = 0;
        for (at, to) in recent[..if check { 2 } else { recent.len() }].iter().enumerate() {
            let Some(to) = to else { continue };
            let count = &mut self.continuation[to.index()][piece_square];
            positive += usize::from(*count > 0);
            let share = i64::from(bonus)
                * i64::from(CONTINUATION_WEIGHTS[at] * POSITIVE_WEIGHTS[positive])
                / 131_072;
            add_with_gravity(
                count,
                share as i32 + if at == 0 { LAST_MOVE_BONUS } else { 0 },
                MAX_CONTINUATION,
            );
        }
    }

    /// All tables of quiet moves.
    pub fn update(&mut self, history_context: &HistoryContext, m: Move, bonus: i32) {
        let HistoryContext { turn, recent, check, ply, pawns } = history_context;
        self.update_quiet(*turn, m, bonus);
        if *ply < LOW_PLIES {
            add_with_gravity(
                &mut self.low_ply[low_ply_index(*ply, m)],
                bonus * 712 / 1_024,
                MAX_QUIET,
            );
        }
        self.update_continuation(*turn, m, recent, *check, bonus * 750 / 1_024);
        let share = if bonus > -4 { 1_104 } else { 459 };
        self.update_pawn(*turn, m, *pawns, bonus * share / 1_024);
    }
}

/// Adds `bonus` with gravity: the entry saturates at `most`.
pub(super) fn add_with_gravity(count: &mut i16, bonus: i32, most: i32) {
    let (now, bonus) = (i32::from(*count), bonus.clamp(-most, most));
    *count = (now + bonus - now * bonus.abs() / most) as i16;
}

fn quiet_index(turn: Color, m: Move) -> usize {
    let action = Action::new(m);
    let (from, to) = (usize::from(action.origin()), usize::from(action.target()));
    (usize::from(turn.is_white()) * 64 + from) * 64 + to
}

fn low_ply_index(ply: usize, m: Move) -> usize {
    let action = Action::new(m);
    (ply * 64 + usize::from(action.origin())) * 64 + usize::from(action.target())
}

fn capture_index(turn: Color, m: Move) -> usize {
    // The unused index of a king stands for no capture.
    usize::from(PieceSquare::new(turn, m).0) * 6 + m.capture().map_or(5, |role| role as usize - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::game::Game;
    use shakmaty::Position;

    #[test]
    fn history_entries_rise_and_fall_within_their_maxima() {
        let game = Game::default();
        let legal = game.position().legal_moves();
        let (positive, bad, other) = (legal[3], legal[7], legal[9]);
        let mut history = History::new();
        let answered = Some(ContinuationKey::new(Color::Black, legal[0], false));
        let recent = [answered, None, None, answered, None, None];
        let history_context =
            HistoryContext { turn: Color::White, recent, check: false, ply: 1, pawns: 5 };
        for _ in 0..1_000 {
            history.update(&history_context, positive, 1_594);
            history.update(&history_context, bad, -1_594);
            history.update_capture(Color::White, bad, -1_594);
        }
        let quiet = |m| history.quiet_score(Color::White, m);
        assert!(
            (7_000..=MAX_QUIET).contains(&quiet(positive))
                && (-MAX_QUIET..=-7_000).contains(&quiet(bad))
        );
        assert_eq!(quiet(other), i32::from(INITIAL_QUIET));
        let low_ply = |ply| history.low_ply_score(positive, ply);
        assert!(low_ply(1) > 6_500 && low_ply(2) == i32::from(INITIAL_LOW_PLY) && low_ply(5) == 0);
        let pawn = |pawns| history.pawn_score(Color::White, positive, pawns);
        assert!((7_500..=MAX_PAWN).contains(&pawn(5)));
        assert_eq!(pawn(6), i32::from(INITIAL_PAWN));
        let continuation = history.continuation(&recent);
        let [last, before] = continuation.last_two(Color::White, positive);
        assert!((28_000..=MAX_CONTINUATION).contains(&last), "{last}");
        let initial = i32::from(INITIAL_CONTINUATION);
        assert_eq!(before, initial, "no move");
        assert_eq!(continuation.last_two(Color::White, other), [initial; 2]);
        // Two entries of the same move, three of none.
        assert_eq!(continuation.sum(Color::White, positive), 2 * last + 3 * initial);
        assert!((-MAX_CAPTURE..-10_000).contains(&history.capture_score(Color::White, bad)));
        history.age();
        assert!((4_900..5_200).contains(&history.quiet_score(Color::White, positive)));
        assert_eq!(history.low_ply_score(positive, 1), i32::from(INITIAL_LOW_PLY));
    }

    #[test]
    fn in_check_only_two_continuation_tables_are_updated() {
        let game = Game::default();
        let legal = game.position().legal_moves();
        let mut history = History::new();
        let recent: RecentMoves =
            std::array::from_fn(|at| Some(ContinuationKey::new(Color::Black, legal[at], false)));
        history.update_continuation(Color::White, legal[9], &recent, true, 500);
        let initial = i32::from(INITIAL_CONTINUATION);
        let changed = |history: &History, at: usize| {
            let mut one = NO_RECENT_MOVES;
            one[0] = recent[at];
            history.continuation(&one).last_two(Color::White, legal[9])[0] > initial
        };
        assert!(changed(&history, 0) && changed(&history, 1));
        assert!(!(2..CONTINUATIONS).any(|at| changed(&history, at)));
        history.update_continuation(Color::White, legal[9], &recent, false, 500);
        assert!((0..CONTINUATIONS).all(|at| changed(&history, at)));
        let mut checked = NO_RECENT_MOVES;
        checked[0] = Some(ContinuationKey::new(Color::Black, legal[0], true));
        let other = history.continuation(&checked).last_two(Color::White, legal[9]);
        assert_eq!(other[0], initial, "out of check is another matter");
    }
}
