//! The numbers of the search: how far from its window a position or a move is left out, and how much less deep a late move is
//! searched. They are those of Stockfish 15.1, found in millions of games; scores are in its points ([`super::scale`]), depths in
//! plies. In three earlier tries single ones of them, or a few, gained nothing here: they belong together.

use std::sync::LazyLock;

/// Logarithms, of depth and of a move's number, whose product says how much less deep the move is searched, in 1024ths of a ply.
static LOGARITHMS: LazyLock<[i32; 256]> =
    LazyLock::new(|| std::array::from_fn(|n| (20.26 * (n.max(1) as f32).ln()) as i32));

/// A table's entry says nothing of positions so near to a draw by fifty moves, in plies without progress.
pub(super) const STALE: u32 = 90;
/// From so many plies on, moves are searched less deep by their number.
pub(super) const LATE: i32 = 2;
/// A window in check is left if a capture's known score is so far above beta.
pub(super) const TAKES_IN_CHECK: i32 = 417;
/// From so many plies on, a capture is looked for that refutes likely.
pub(super) const PROBABLE: i32 = 5;
/// That capture is searched so many plies less deep.
pub(super) const PROBABLE_LESS: i32 = 4;
/// A move is the only good one if the others are so much worse that it is searched two plies deeper.
pub(super) const FAR_ALONE: i32 = 25;
/// No more than so many moves of a line are.
pub(super) const DOUBLED: i32 = 9;
/// Above this depth a check is searched deeper, where the evaluation is this far from equal.
pub(super) const CHECKS: (i32, i32) = (9, 82);
/// A table's move that has always been an answer so good is searched deeper.
pub(super) const PROVEN: i32 = 5_177;
/// A late move's history is worth nothing if it comes to this.
pub(super) const ORDINARY: i32 = 4_433;
/// Moves searched less deep are reduced no more after so many refutations behind them.
pub(super) const REFUTATIONS: u32 = 3;
/// After so many moves of the position before, its last ones are likely bad.
pub(super) const MANY: i32 = 7;
/// From so many plies on, passing is not believed without a search of one's own moves.
pub(super) const VERIFIED: i32 = 14;
/// A history so good of the last move says that passing does not refute it.
pub(super) const GOOD: i32 = 17_139;

/// So far below alpha that only captures can help.
pub(super) fn behind(depth: i32) -> i32 {
    369 + 254 * depth * depth
}

/// So far above beta that no threat is likely to change it, at depths below eight. `worth` is the history of the last move.
pub(super) fn ahead(depth: i32, improving: bool, worth: i32) -> Option<i32> {
    (depth < 8).then(|| 165 * (depth - i32::from(improving)) + worth / 303)
}

/// The evaluation from which passing is tried, above beta. `rise` is what the evaluation gained since the last turn.
pub(super) fn pass(depth: i32, rise: i32) -> i32 {
    233 - 20 * depth - rise / 13
}

/// Plies that the answer to passing is searched less deep by, `surplus` above beta.
pub(super) fn pass_less(depth: i32, surplus: i32) -> i32 {
    (surplus / 168).min(7) + depth / 3 + 4
}

/// A capture refutes likely if a less deep search finds so much above beta.
pub(super) fn probable(improving: bool) -> i32 {
    if improving { 137 } else { 191 }
}

/// Plies less where no move is known to begin with.
pub(super) fn unknown_less(depth: i32, pv: bool, fails: bool) -> i32 {
    match () {
        () if pv => 3,
        () if fails && depth >= 9 => 2,
        () => 0,
    }
}

/// Plies that a move is searched less deep by, by its number; `width` and `root` are those of the windows here and at the root.
pub(super) fn late(depth: i32, number: i32, width: i32, root: i32, improving: bool) -> i32 {
    let of = |n: i32| LOGARITHMS[n.clamp(0, 255) as usize];
    let product = of(depth) * of(number);
    let reduced = (product + 1_642 - width * 1_024 / root.max(1)) / 1_024;
    reduced + i32::from(!improving && product > 916)
}

/// Plies less by a move's history.
pub(super) fn history_less(depth: i32, known_for: i32) -> i32 {
    -known_for / if (8..19).contains(&depth) { 17_628 } else { 13_628 }
}

/// Plies more on best lines, beside the two for having been on one.
pub(super) fn pv_more(depth: i32) -> i32 {
    1 + 11 / (3 + depth)
}

/// A late move that surprises by so much above alpha is searched a ply deeper than if it were not late.
pub(super) fn surprise(less: i32) -> i32 {
    64 + 11 * less
}

/// After so many moves, quiet ones are not looked at.
pub(super) fn enough(depth: i32, improving: bool) -> i32 {
    (3 + depth * depth) / if improving { 1 } else { 2 }
}

/// What a capture can lift the evaluation by, beside what it takes, with so many plies left below seven.
pub(super) fn capture_hope(left: i32, known_for: i32) -> Option<i32> {
    (left < 7).then(|| 180 + 201 * left + known_for / 6)
}

/// What a capture may lose by exchanges.
pub(super) fn capture_loss(depth: i32) -> i32 {
    222 * depth
}

/// What a quiet move can lift the evaluation by, with so many plies left below thirteen.
pub(super) fn quiet_hope(left: i32, known_for: i32) -> Option<i32> {
    (left < 13).then(|| 106 + 145 * left + known_for / 52)
}

/// What a quiet move may lose by exchanges.
pub(super) fn quiet_loss(left: i32) -> i32 {
    (24 * left + 15) * left
}

/// Whether a quiet move has answered too badly for its depth.
pub(super) fn is_bad_answer(depth: i32, left: i32, known_for: i32) -> bool {
    left < 5 && known_for < -3_875 * (depth - 1)
}

/// From this depth on it is asked whether the table's move is the only good one.
pub(super) fn alone_from(was_pv: bool) -> i32 {
    if was_pv { 6 } else { 4 }
}

/// The others must be worse than its score by so much.
pub(super) fn alone(depth: i32, was_pv: bool) -> i32 {
    if was_pv { 4 * depth } else { 3 * depth }
}

/// Whether a better move than expected leaves the others a ply less.
pub(super) fn settles(depth: i32) -> bool {
    (2..6).contains(&depth)
}

/// What a move counts that decided a search so deep.
pub(super) fn bonus(depth: i32) -> i32 {
    ((12 * depth + 282) * depth - 349).min(1_594)
}

/// A score so far above beta counts as if searched a ply deeper.
pub(super) const CLEAR: i32 = 137;

/// Whether a search that found nothing as good as alpha speaks for the move before it, and twice as much.
pub(super) fn praises_last(depth: i32, pv: bool, fails: bool, short: i32) -> Option<bool> {
    (depth >= 5 || pv).then(|| pv || fails || short > 62 * depth)
}

/// What a quiet move counts for the evaluation's change, from the opponent's view before it to the mover's view after it.
pub(super) fn gain(evaluations: i32) -> i32 {
    (-19 * evaluations).clamp(-1_914, 1_914)
}
