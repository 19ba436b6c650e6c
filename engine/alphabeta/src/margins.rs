//! Margins and reductions of the search: Stockfish's as of August 2026, tuned in millions of games. Scores are in its
//! points ([`super::scale`]), depths in plies, reductions in [`PLY`]ths of a ply. Adopting a few of them gained
//! nothing in earlier trials: they depend on each other. The terms of the late move reduction are in
//! [`super::candidate`], some history bonuses in [`super::credit`].

use std::sync::LazyLock;

/// Unit of reductions: 1/1024 ply.
pub(super) const PLY: i32 = 1_024;

/// Base reductions: log(depth) times log(move count).
static LOGARITHMS: LazyLock<[i32; 256]> =
    LazyLock::new(|| std::array::from_fn(|n| (2_872.0 / 128.0 * (n.max(1) as f64).ln()) as i32));

/// History divisor per ply of pruning depth, by depth.
const HISTORY_PER_PLY: [i32; 16] = [
    3_637, 2_787, 2_761, 2_939, 3_171, 3_347, 3_147, 2_762, 2_772, 3_106, 3_107, 3_060, 3_112,
    2_991, 3_090, 3_542,
];

/// Fifty-move counter from which table cutoffs are off, in plies.
pub(super) const MAX_HALFMOVES: u32 = 96;
/// Minimum depth of late move reductions.
pub(super) const LMR_DEPTH: i32 = 2;
/// Small ProbCut: margin of the table's lower bound above beta.
pub(super) const SMALL_PROBCUT_MARGIN: i32 = 428;
/// Minimum depth of ProbCut.
pub(super) const PROBCUT_DEPTH: i32 = 3;
/// From this depth a null-move cutoff is verified by a search.
pub(super) const NULL_VERIFICATION_DEPTH: i32 = 16;
/// No null move if beta is below this.
pub(super) const NULL_MOVE_MIN_BETA: i32 = -2_000;
/// From this depth a table cutoff is verified by the entry of the position after its move.
pub(super) const TT_VERIFICATION_DEPTH: i32 = 7;
/// Minimum depth of internal iterative reductions.
pub(super) const IIR_DEPTH: i32 = 6;
/// Margins above the best score: a re-search after a reduction is one ply deeper above the first, one ply shallower
/// below the second.
pub(super) const RESEARCH_MARGINS: (i32, i32) = (53, 8);
/// Fifty-move counter and ply from which shuffling moves are not extended.
pub(super) const SHUFFLING: (u32, usize) = (10, 20);
/// SEE threshold of the ordering bonus for checks.
pub(super) const CHECK_SEE_MARGIN: i32 = -75;

/// Whether the opponent's last move worsened its eval. `eval_sum` is the mover's static eval now plus the opponent's before
/// that move; true if one of them is unknown.
pub(super) fn is_worsening(eval_sum: Option<i32>) -> bool {
    eval_sum.is_none_or(|eval_sum| eval_sum > 0)
}

/// Adjusts depth after the parent's reduction (hindsight).
pub(super) fn hindsight(depth: i32, reduced: i32, eval_sum: Option<i32>) -> i32 {
    let depth = depth + i32::from(reduced >= 3 && !is_worsening(eval_sum));
    depth - i32::from(reduced >= 2 && depth >= 2 && eval_sum.is_some_and(|eval_sum| eval_sum > 166))
}

/// Razoring: below alpha by more, only quiescence search.
pub(super) fn razor_margin(depth: i32) -> i32 {
    483 + 318 * depth * depth
}

/// Reverse futility pruning: margin above beta, at depths below 19. `correction` is the correction of the static eval.
pub(super) fn futility_margin(
    depth: i32,
    improving: bool,
    worsening: bool,
    tt_hit: bool,
    correction: i32,
) -> Option<i32> {
    let factor = (45 + 4 * depth).min(85) - if tt_hit { 0 } else { 20 };
    let calm = 2_789 * i32::from(improving) + 335 * i32::from(worsening);
    (depth < 19).then(|| factor * depth - calm * factor / 1_024 + correction.abs() / 198_435)
}

/// Score returned by reverse futility pruning.
pub(super) fn blend_with_beta(beta: i32, tt_eval: i32) -> i32 {
    (661 * beta + 363 * tt_eval) / 1_024
}

/// Static eval required for a null move, above beta.
pub(super) fn null_move_margin(depth: i32, improving: bool) -> i32 {
    365 - 13 * depth - 47 * i32::from(improving)
}

/// Reduction of the null-move search; `surplus` = static eval above beta.
pub(super) fn null_move_reduction(depth: i32, surplus: i32) -> i32 {
    7 + depth / 3 + (surplus / 256).max(0)
}

/// ProbCut: margin above beta, and reduction in plies.
pub(super) fn probcut(improving: bool) -> (i32, i32) {
    if improving { (177, 5) } else { (241, 3) }
}

/// Late move reduction by depth and move count; `width` and `root` are the windows' widths here and at the root.
pub(super) fn base_reduction(
    depth: i32,
    move_count: i32,
    width: i32,
    root: i32,
    improving: bool,
) -> i32 {
    let of = |n: i32| LOGARITHMS[n.clamp(0, 255) as usize];
    let product = of(depth) * of(move_count);
    let not_improving = if improving { 0 } else { product * 197 / 512 };
    let share = i64::from(width) * 577 / i64::from(root.max(1));
    product - share as i32 + not_improving + 982
}

/// Addition to it on a principal variation, for pruning.
pub(super) const PV_BASE_REDUCTION: i32 = 929;

/// Late move pruning: quiet moves are skipped after this count.
pub(super) fn max_move_count(depth: i32, improving: bool) -> i32 {
    (3 + depth * depth) / if improving { 1 } else { 2 }
}

/// Futility margin of a capture, without its victim, below a reduced depth of 8.
pub(super) fn capture_futility(lmr_depth: i32, history_score: i32) -> Option<i32> {
    (lmr_depth < 8).then(|| 234 + 247 * lmr_depth + 134 * history_score / 1_024)
}

/// SEE threshold of captures and checks.
pub(super) fn capture_see_margin(depth: i32, history_score: i32) -> i32 {
    177 * depth + history_score * 34 / 1_024
}

/// Continuation-history pruning of quiet moves.
pub(super) fn is_bad_continuation(depth: i32, history_score: i32) -> bool {
    history_score < -4_136 * depth
}

/// Plies that history adds to the reduced depth of a quiet move.
pub(super) fn history_plies(depth: i32, continuation: i32, quiet: i32) -> i32 {
    let place = depth.clamp(1, HISTORY_PER_PLY.len() as i32) - 1;
    (continuation + 69 * quiet / 32) / HISTORY_PER_PLY[place as usize]
}

/// Futility margin of a quiet move, below a reduced depth of 12.
pub(super) fn quiet_futility(lmr_depth: i32, is_ahead: bool) -> Option<i32> {
    (lmr_depth < 12).then(|| 119 * lmr_depth + 90 * i32::from(is_ahead) + 164)
}

/// SEE threshold of quiet moves.
pub(super) fn quiet_see_margin(lmr_depth: i32) -> i32 {
    23 * lmr_depth * lmr_depth
}

/// Minimum depth of the singular-extension search.
pub(super) fn singular_depth(was_pv: bool) -> i32 {
    6 + i32::from(was_pv)
}

/// Singular margin below the table's score.
pub(super) fn singular_margin(depth: i32, was_pv: bool) -> i32 {
    (59 + if was_pv { 66 } else { 0 }) * depth / 63
}

/// Factors of the double and triple extension margins.
#[derive(Clone, Copy)]
pub(super) struct SingularFactors {
    pub pv: bool,
    pub was_pv: bool,
    pub quiet: bool,
    /// Correction of the static eval, and history of the table's moves.
    pub correction: i32,
    pub tt_move_history: i32,
    /// The ply exceeds the depth of the iteration.
    pub deep: bool,
}

/// Margins of the double and the triple extension.
pub(super) fn extension_margins(of: SingularFactors) -> (i32, i32) {
    let is = i32::from;
    let correction = of.correction.abs() / 198_368;
    let twice = 204 * is(of.pv)
        - 2
        - 152 * is(of.quiet)
        - correction
        - 1_175 * of.tt_move_history / 114_178
        - 38 * is(of.deep);
    let thrice = 70 + 279 * is(of.pv) - 188 * is(of.quiet) + 81 * is(of.was_pv)
        - correction
        - 43 * is(of.deep);
    (twice, thrice)
}

/// Negative extension: the table's move is not singular in an expected cutoff, in plies.
pub(super) const NEGATIVE_EXTENSION: i32 = 3;

/// Depth reduction of the remaining moves after one raised alpha.
pub(super) fn depth_drop(depth: i32) -> i32 {
    if (4..12).contains(&depth) { 3 } else { 0 }
}

/// History bonus of the best move, and malus of the others. `trusted`: it was the table's. `last` is the previous
/// move's history score.
pub(super) fn best_move_bonus(depth: i32, trusted: bool, last: i32) -> (i32, i32) {
    let bonus = (133 * depth - 81).min(1_487) + 364 * i32::from(trusted) + last / 28;
    (bonus, (968 * depth - 235).min(2_244))
}

/// Bonus of the table's quiet move after a cutoff.
pub(super) fn tt_cutoff_bonus(depth: i32) -> i32 {
    (112 * depth).min(695)
}

/// Bonus of the previous quiet move for the change of the static eval: `evaluations` is the sum of both sides' evals.
pub(super) fn eval_gain_bonus(evaluations: i32) -> i32 {
    (-evaluations).clamp(-189, 194) + 60
}

/// Factors of the previous move's bonus after a fail low.
#[derive(Clone, Copy)]
pub(super) struct FailLow {
    pub depth: i32,
    /// The previous move's history score and move count.
    pub stat_score: i32,
    pub move_count: i32,
    /// Static eval less score, here and one ply ago; none in check.
    pub shortfall: Option<i32>,
    pub shortfall_before: Option<i32>,
}

/// Bonuses in continuation, butterfly and pawn history.
pub(super) fn fail_low_bonuses(of: FailLow) -> [i32; 3] {
    let is = i32::from;
    let scale = -241 - of.stat_score / 98
        + (59 * of.depth).min(420)
        + 186 * is(of.move_count > 9)
        + 142 * is(of.shortfall.is_some_and(|shortfall| shortfall >= 106))
        + 159 * is(of.shortfall_before.is_some_and(|shortfall| shortfall >= 68));
    let bonus = (150 * of.depth - 85).min(1_337) * scale.max(0);
    [bonus * 263 / 16_384, bonus * 215 / 32_768, (i64::from(bonus) * 324 / 8_192) as i32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hindsight_restores_depth_after_a_good_move() {
        // Sum of the mover's eval and the opponent's before it.
        for (reduced, eval_sum, expected) in [
            (3, Some(-20), 9),
            (3, Some(20), 8),
            (3, None, 8),
            (2, Some(-20), 8),
            (2, Some(200), 7),
            (1, Some(200), 8),
            (4, Some(200), 7),
        ] {
            assert_eq!(hindsight(8, reduced, eval_sum), expected, "{reduced} {eval_sum:?}");
        }
        assert_eq!(hindsight(1, 5, Some(200)), 1, "never to nothing");
    }

    #[test]
    fn reductions_grow_with_depth_and_move_count() {
        let plies = |depth, move_count| base_reduction(depth, move_count, 1, 20, true) / PLY;
        assert!(plies(4, 3) < plies(4, 30) && plies(4, 30) < plies(20, 30), "{}", plies(4, 3));
        assert!(base_reduction(10, 10, 1, 20, false) > base_reduction(10, 10, 1, 20, true));
        assert!(
            base_reduction(10, 10, 20, 20, true) < base_reduction(10, 10, 1, 20, true),
            "a wide window"
        );
        assert!(base_reduction(300, 300, 1, 0, true) < 40 * PLY);
    }
}
