//! Metrics of one position's scores against the known values of its moves.

use nn::numeric::argmax;

/// Rank of `target`: number of scores that are larger, or equal and before it; NaN is the smallest. The best
/// has rank 0. None if the index is out of range.
#[must_use]
pub fn rank_of(scores: &[f32], target: usize) -> Option<usize> {
    let own = *scores.get(target)?;
    let ahead = |(index, &score): (usize, &f32)| {
        score > own
            || (own.is_nan() && !score.is_nan())
            || (index < target && (score == own || own.is_nan()))
    };
    Some(scores.iter().enumerate().filter(|&each| ahead(each)).count())
}

/// Regret in win probability of the move with the best score, in [0, 1]. None unless there is a choice and all
/// values are known.
#[must_use]
pub fn regret(scores: &[f32], values: &[f32]) -> Option<f32> {
    let known = values.iter().all(|value| !value.is_nan());
    if scores.len() != values.len() || values.len() < 2 || !known {
        return None;
    }
    let chosen = argmax(scores)?;
    let best = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    Some(best - values[chosen])
}

/// Kendall's tau-b of two scorings of the same items, in [-1, 1]: agreement of the order of pairs, corrected
/// for ties (Kendall, "The treatment of ties in ranking problems", 1945). Pairs with NaN are skipped. None if
/// either side ties everything.
#[must_use]
pub fn kendall_tau_b(a: &[f32], b: &[f32]) -> Option<f64> {
    let (mut agree, mut a_differs, mut b_differs) = (0i64, 0i64, 0i64);
    for i in 0..a.len().min(b.len()) {
        for j in 0..i {
            let (Some(da), Some(db)) = (a[i].partial_cmp(&a[j]), b[i].partial_cmp(&b[j])) else {
                continue;
            };
            agree += da as i64 * db as i64;
            a_differs += i64::from(da.is_ne());
            b_differs += i64::from(db.is_ne());
        }
    }
    let scale = (a_differs as f64 * b_differs as f64).sqrt();
    (scale > 0.0).then(|| agree as f64 / scale)
}

/// Mean absolute difference of `values` from the known ones; None if none is known.
#[must_use]
pub fn mean_error(values: &[f32], known: &[f32]) -> Option<f64> {
    let pairs = values.iter().zip(known).filter(|(_, known)| !known.is_nan());
    let (sum, count) = pairs.fold((0.0, 0u32), |(sum, count), (value, known)| {
        (sum + f64::from((value - known).abs()), count + 1)
    });
    (count > 0).then(|| sum / f64::from(count))
}
