//! The numbers of the search: how far from its window a position or a move is left out, and how much less deep a late move is
//! searched. They are those of Stockfish as of August 2026, found in millions of games; scores are in its points ([`super::scale`]),
//! depths in plies, reductions in [`PLY`]ths of one. Single ones of them, or a few, gained nothing here in earlier tries: they belong together.
//! What makes up a late move's reduction stands in [`super::candidate`], what moves are credited with also in [`super::credit`].

use std::sync::LazyLock;

/// What a ply less is counted in.
pub(super) const PLY: i32 = 1_024;

/// Logarithms, of depth and of a move's number, whose product says how much less deep the move is searched.
static LOGARITHMS: LazyLock<[i32; 256]> =
    LazyLock::new(|| std::array::from_fn(|n| (2_872.0 / 128.0 * (n.max(1) as f64).ln()) as i32));

/// Pieces of history that are worth a ply of a quiet move about to be left out, by depth.
const HISTORY_OF_A_PLY: [i32; 16] = [
    3_637, 2_787, 2_761, 2_939, 3_171, 3_347, 3_147, 2_762, 2_772, 3_106, 3_107, 3_060, 3_112,
    2_991, 3_090, 3_542,
];

/// A table's entry says nothing of positions so near to a draw by fifty moves, in plies without progress.
pub(super) const STALE: u32 = 96;
/// From so many plies on, moves are searched less deep by their number.
pub(super) const LATE: i32 = 2;
/// A position is left if its known score is so far above beta.
pub(super) const FAR_ABOVE: i32 = 428;
/// From so many plies on, a capture is looked for that refutes likely.
pub(super) const PROBABLE: i32 = 3;
/// From so many plies on, passing is not believed without a search of one's own moves.
pub(super) const VERIFIED: i32 = 16;
/// Nobody passes who is lost by so much.
pub(super) const LOST: i32 = -2_000;
/// From so many plies on, the table's score is believed if that of the position after its move says the same.
pub(super) const ASKED_TWICE: i32 = 7;
/// From so many plies on a position without a move to begin with is searched a ply less deep.
pub(super) const UNKNOWN: i32 = 6;
/// A late move that surprises by so much is searched a ply deeper than if it were not late, one that does by less than the second, less.
pub(super) const SURPRISES: (i32, i32) = (53, 8);
/// After so many plies without progress, and so deep, a piece that goes back and forth is searched no deeper.
pub(super) const SHUFFLING: (u32, usize) = (10, 20);
/// What a check may lose by exchanges and still come early.
pub(super) const CHEAP_CHECK: i32 = -75;

/// Whether the last move cost its side something. `both` is the mover's evaluation after it and the opponent's before it, together;
/// none where one of them is not known.
pub(super) fn is_worsening(both: Option<i32>) -> bool {
    both.is_none_or(|both| both > 0)
}

/// The depth of a position that the last move was to be searched `reduced` plies less deep for, now that its evaluation is known.
pub(super) fn hindsight(depth: i32, reduced: i32, both: Option<i32>) -> i32 {
    let depth = depth + i32::from(reduced >= 3 && !is_worsening(both));
    depth - i32::from(reduced >= 2 && depth >= 2 && both.is_some_and(|both| both > 166))
}

/// So far below alpha that only captures can help.
pub(super) fn behind(depth: i32) -> i32 {
    483 + 318 * depth * depth
}

/// So far above beta that no threat is likely to change it, at depths below nineteen. `error` is what the evaluation was corrected by.
pub(super) fn ahead(
    depth: i32,
    improving: bool,
    worsening: bool,
    known: bool,
    error: i32,
) -> Option<i32> {
    let factor = (45 + 4 * depth).min(85) - if known { 0 } else { 20 };
    let calm = 2_789 * i32::from(improving) + 335 * i32::from(worsening);
    (depth < 19).then(|| factor * depth - calm * factor / 1_024 + error.abs() / 198_435)
}

/// What is told of a position that far ahead: less than it seems.
pub(super) fn tempered(beta: i32, likely: i32) -> i32 {
    (661 * beta + 363 * likely) / 1_024
}

/// The evaluation from which passing is tried, above beta.
pub(super) fn pass(depth: i32, improving: bool) -> i32 {
    365 - 13 * depth - 47 * i32::from(improving)
}

/// Plies that the answer to passing is searched less deep by, `surplus` above beta.
pub(super) fn pass_less(depth: i32, surplus: i32) -> i32 {
    7 + depth / 3 + (surplus / 256).max(0)
}

/// A capture refutes likely if a less deep search finds so much above beta; and how many plies less deep.
pub(super) fn probable(improving: bool) -> (i32, i32) {
    if improving { (177, 5) } else { (241, 3) }
}

/// How much less deep a move is searched by its number; `width` and `root` are those of the windows here and at the root.
pub(super) fn late(depth: i32, number: i32, width: i32, root: i32, improving: bool) -> i32 {
    let of = |n: i32| LOGARITHMS[n.clamp(0, 255) as usize];
    let product = of(depth) * of(number);
    let worse = if improving { 0 } else { product * 197 / 512 };
    let share = i64::from(width) * 577 / i64::from(root.max(1));
    product - share as i32 + worse + 982
}

/// More of that on what is or was a best line, until the move is about to be searched.
pub(super) const LATE_ON_BEST_LINE: i32 = 929;

/// After so many moves, quiet ones are not looked at.
pub(super) fn enough(depth: i32, improving: bool) -> i32 {
    (3 + depth * depth) / if improving { 1 } else { 2 }
}

/// What a capture can lift the evaluation by, beside what it takes, with so many plies left below eight.
pub(super) fn capture_hope(left: i32, known_for: i32) -> Option<i32> {
    (left < 8).then(|| 234 + 247 * left + 134 * known_for / 1_024)
}

/// What a capture or check may lose by exchanges.
pub(super) fn capture_loss(depth: i32, known_for: i32) -> i32 {
    177 * depth + known_for * 34 / 1_024
}

/// Whether a quiet move has answered too badly for its depth.
pub(super) fn is_bad_answer(depth: i32, known_for: i32) -> bool {
    known_for < -4_136 * depth
}

/// Plies that a quiet move is searched by its history, more or less, when it is asked whether it is at all.
pub(super) fn history_plies(depth: i32, answers: i32, quiet: i32) -> i32 {
    let place = depth.clamp(1, HISTORY_OF_A_PLY.len() as i32) - 1;
    (answers + 69 * quiet / 32) / HISTORY_OF_A_PLY[place as usize]
}

/// What a quiet move can lift the evaluation by, with so many plies left below twelve.
pub(super) fn quiet_hope(left: i32, is_ahead: bool) -> Option<i32> {
    (left < 12).then(|| 119 * left + 90 * i32::from(is_ahead) + 164)
}

/// What a quiet move may lose by exchanges.
pub(super) fn quiet_loss(left: i32) -> i32 {
    23 * left * left
}

/// From this depth on it is asked whether the table's move is the only good one.
pub(super) fn alone_from(was_pv: bool) -> i32 {
    6 + i32::from(was_pv)
}

/// The others must be worse than its score by so much.
pub(super) fn alone(depth: i32, was_pv: bool) -> i32 {
    (59 + if was_pv { 66 } else { 0 }) * depth / 63
}

/// What the distance of the other moves from the only good one depends on.
#[derive(Clone, Copy)]
pub(super) struct Alone {
    pub pv: bool,
    pub was_pv: bool,
    /// The move is quiet.
    pub quiet: bool,
    /// What the evaluation was corrected by, and how often the table's move was the best.
    pub error: i32,
    pub trust: i32,
    /// Deeper than the search's depth.
    pub deep: bool,
}

/// How far behind the others must be for the move to be searched two plies deeper, and three.
pub(super) fn far_alone(of: Alone) -> (i32, i32) {
    let is = i32::from;
    let error = of.error.abs() / 198_368;
    let twice = 204 * is(of.pv)
        - 2
        - 152 * is(of.quiet)
        - error
        - 1_175 * of.trust / 114_178
        - 38 * is(of.deep);
    let thrice =
        70 + 279 * is(of.pv) - 188 * is(of.quiet) + 81 * is(of.was_pv) - error - 43 * is(of.deep);
    (twice, thrice)
}

/// Plies that a move is not searched which others are as good as.
pub(super) const NOT_ALONE: i32 = 3;

/// Plies that the other moves are searched less deep once one was better than expected.
pub(super) fn settles(depth: i32) -> i32 {
    if (4..12).contains(&depth) { 3 } else { 0 }
}

/// What the best move counts, and the others that were searched. `trusted`: it was the table's. `last` is the history of the move before.
pub(super) fn credit(depth: i32, trusted: bool, last: i32) -> (i32, i32) {
    let bonus = (133 * depth - 81).min(1_487) + 364 * i32::from(trusted) + last / 28;
    (bonus, (968 * depth - 235).min(2_244))
}

/// What the table's quiet move counts that refutes.
pub(super) fn confirmed(depth: i32) -> i32 {
    (112 * depth).min(695)
}

/// What a quiet move counts for the evaluation's change, from the opponent's view before it to the mover's view after it.
pub(super) fn gain(evaluations: i32) -> i32 {
    (-evaluations).clamp(-189, 194) + 60
}

/// What speaks for the last move where nothing reached alpha.
#[derive(Clone, Copy)]
pub(super) struct Praise {
    pub depth: i32,
    /// Its history, and its number.
    pub worth: i32,
    pub number: i32,
    /// How far the evaluation fell short, here and before it; none in check.
    pub short: Option<i32>,
    pub short_before: Option<i32>,
}

/// What that move counts: as an answer, by itself, and with its pawns.
pub(super) fn praise(of: Praise) -> [i32; 3] {
    let is = i32::from;
    let scale = -241 - of.worth / 98
        + (59 * of.depth).min(420)
        + 186 * is(of.number > 9)
        + 142 * is(of.short.is_some_and(|short| short >= 106))
        + 159 * is(of.short_before.is_some_and(|short| short >= 68));
    let bonus = (150 * of.depth - 85).min(1_337) * scale.max(0);
    [bonus * 263 / 16_384, bonus * 215 / 32_768, (i64::from(bonus) * 324 / 8_192) as i32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_is_taken_back_where_the_move_was_good_for_its_side() {
        // The mover's evaluation and the opponent's before it: together what the last move cost its side.
        for (reduced, both, expected) in [
            (3, Some(-20), 9),
            (3, Some(20), 8),
            (3, None, 8),
            (2, Some(-20), 8),
            (2, Some(200), 7),
            (1, Some(200), 8),
            (4, Some(200), 7),
        ] {
            assert_eq!(hindsight(8, reduced, both), expected, "{reduced} {both:?}");
        }
        assert_eq!(hindsight(1, 5, Some(200)), 1, "never to nothing");
    }

    #[test]
    fn late_moves_of_deep_searches_are_searched_less_deep() {
        let plies = |depth, number| late(depth, number, 1, 20, true) / PLY;
        assert!(plies(4, 3) < plies(4, 30) && plies(4, 30) < plies(20, 30), "{}", plies(4, 3));
        assert!(late(10, 10, 1, 20, false) > late(10, 10, 1, 20, true));
        assert!(late(10, 10, 20, 20, true) < late(10, 10, 1, 20, true), "a wide window");
        assert!(late(300, 300, 1, 0, true) < 40 * PLY);
    }
}
