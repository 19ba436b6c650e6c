//! Labels of ticks: as many decimals as their distances need, so that no two of an axis read the same.

/// Ticks are at least this share of an axis apart: plotters draws a dozen labels at most.
const LEAST_STEP: f64 = 0.05;

/// `value` on an axis of length `span`.
pub(crate) fn ticks(value: f64, span: f64) -> String {
    let step = (LEAST_STEP * span.abs()).clamp(1e-12, 1.0);
    let text = format!("{value:.*}", (-step.log10()).ceil() as usize);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The same for a share, in per cent.
pub(crate) fn percent(share: f64, span: f64) -> String {
    format!("{} %", ticks(100.0 * share, 100.0 * span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_ticks_read_the_same() {
        for span in [0.003, 0.3, 0.45, 1.0, 1.1, 2.06, 9.0, 73.0, 1e6] {
            for parts in [4, 9, 10, 12, 19] {
                let value = |at: i32| span * f64::from(at) / f64::from(parts);
                let labels: BTreeSet<String> =
                    (0..=parts).map(|at| ticks(value(at), span)).collect();
                assert_eq!(labels.len(), parts as usize + 1, "{span} {parts}: {labels:?}");
            }
        }
        let labels = [0.0, 0.05, 0.1, 1.0, -1e-9].map(|value| ticks(value, 0.5));
        assert_eq!(labels, ["0", "0.05", "0.1", "1", "0"]);
        assert_eq!([10.0, 200.0].map(|value| ticks(value, 200.0)), ["10", "200"]);
        assert_eq!([0.9955, 1.0].map(|share| percent(share, 0.005)), ["99.55 %", "100 %"]);
    }
}
