//! Decodes the logits of the play heads into an [`Evaluation`].

use super::error::EvalError;
use super::query::Evaluation;
use crate::kernels::{Isa, ops};
use crate::net::{BUCKETS, CENTRES};
use crate::numeric::softmax;

/// Means over the buckets of softmaxed rows, and the centres of their modes.
fn summaries(isa: Isa, rows: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let count = rows.len() / BUCKETS;
    let (mut means, mut modes) = (vec![0.0; count], vec![0; count]);
    ops::mean_and_mode64(isa, rows, &CENTRES, &mut means, &mut modes);
    (means, modes.into_iter().map(|bucket| CENTRES[bucket]).collect())
}

/// One position's evaluation from the heads' logits: `policy` `[m]`, `actions` `[m, 64]`, `value` `[64]`,
/// `result` `[3]` (lost, drawn, won).
///
/// # Errors
/// The head whose logits hold NaN or infinity; no moves.
pub(crate) fn evaluation(
    isa: Isa,
    policy: &[f32],
    actions: &[f32],
    value: &[f32],
    result: &[f32],
) -> Result<Evaluation, EvalError> {
    // The only check in a play pass: a NaN logit would poison every comparison of the search.
    for (name, logits) in
        [("policy", policy), ("action-value", actions), ("value", value), ("result", result)]
    {
        if !logits.iter().all(|x| x.is_finite()) {
            return Err(EvalError::NotANumber(name));
        }
    }
    if policy.is_empty() {
        return Err(EvalError::NoMoves);
    }
    let mut rows = actions.to_vec();
    ops::softmax64(isa, &mut rows);
    let (action_values, action_modes) = summaries(isa, &rows);
    let mut board = value.to_vec();
    ops::softmax64(isa, &mut board);
    let (values, modes) = summaries(isa, &board);
    let result = softmax(result);
    Ok(Evaluation {
        wdl: [result[2], result[1], result[0]],
        value: values[0],
        value_mode: modes[0],
        action_values,
        action_modes,
        policy: softmax(policy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_mode_are_two_summaries_of_one_distribution() {
        // Nine tenths of the mass near the top, one tenth spread over the bottom: logits are logarithms.
        let mut row = [-1000.0; BUCKETS];
        (row[60], row[2]) = (9.0_f32.ln(), 0.0);
        let level = [0.0; 3];
        let rows = [row, {
            row.reverse();
            row
        }]
        .concat();
        let answer = evaluation(Isa::found(), &[0.0, 0.0], &rows, &row, &level).unwrap();
        let (high, low) = (60.5 / 64.0, 2.5 / 64.0);
        let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
        assert!(near(answer.action_values[0], 0.9 * high + 0.1 * low));
        assert!(near(answer.action_values[1], 1.0 - answer.action_values[0]));
        assert_eq!(answer.action_modes, [high, 1.0 - high]);
        assert_eq!(answer.value_mode, 1.0 - high);
        assert!(near(answer.value, answer.action_values[1]));
    }
}
