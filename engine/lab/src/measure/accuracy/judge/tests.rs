//! Tests of the judgement.

use super::*;

/// Rows of a network that knows every difference between moves by its value and none by its action value, whose
/// logits are `factor` times too small.
fn judged(count: usize, factor: f64) -> Judged {
    let rows: Vec<JudgedPosition> = (0..count)
        .map(|at| {
            let label = 0.2 + 0.6 * at as f64 / count as f64;
            let siblings = [(label, 0.5), (label + 0.1, 0.6), (label - 0.1, 0.4)];
            let alike = siblings.map(|(label, _)| (label, 0.3));
            JudgedPosition {
                regret: if at % 10 == 0 { 0.2 } else { 0.0 },
                best: at % 10 != 0,
                value: (label, scaled(label, 1.0 / factor)),
                moves: 3,
                siblings: [Deviations::of(&siblings), Deviations::of(&alike)],
            }
        })
        .collect();
    let factor = logit_factor(&rows);
    Judged { rows, factor }
}

#[test]
fn levels_and_scale_do_not_count() {
    let network = judged(200, 1.7);
    assert!((network.factor - 1.7).abs() < 1e-3, "{}", network.factor);
    let all: Vec<usize> = (0..200).collect();
    let [regret, error, squared, by_value, by_action_value, best] = figures(&network, &all);
    assert!((regret - 0.02).abs() < 1e-9 && (best - 0.9).abs() < 1e-9);
    assert!(error < 1e-4 && squared < 1e-4, "{error} {squared}");
    assert!((by_value - 1.0).abs() < 1e-9 && by_action_value.abs() < 1e-9);
}

#[test]
fn networks_are_compared_position_by_position() {
    let networks = [judged(400, 1.0), judged(400, 1.0)];
    let columns = estimates(&networks, 400);
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["network", "against", "difference"]);
    let FigureEstimate { value, low, high } = columns[0].1[0];
    // 0.2 in a tenth of 400 positions: 1.96 standard errors are 0.0059.
    assert!((value - 0.02).abs() < 1e-9, "{value}");
    assert!((high - low - 0.0118).abs() < 0.002, "{low} {high}");
    // The same positions and answers: no chance enters.
    for FigureEstimate { value, low, high } in columns[2].1 {
        assert_eq!((value, low, high), (0.0, 0.0, 0.0));
    }
    assert_eq!(estimates(&networks[..1], 400).len(), 1);
}

#[test]
fn the_built_in_network_is_judged_by_the_projects_labels() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/tuning.jsonl.zst");
    let (_, mut positions) = label_file::read(&path).unwrap();
    positions.truncate(24);
    let network = engine::play::network::load(None).unwrap();
    let method = nn::kernels::gemm::Method {
        isa: nn::kernels::Isa::found(),
        arithmetic: nn::precision::Arithmetic::default(),
    };
    let evaluator = nn::evaluator::cpu::CpuEvaluator::with(&network, method);
    let crew = WorkerLimits { count: 2, stop: &engine::process::workers::NEVER };
    let judged = Judged::new(&evaluator, &positions, crew).unwrap();
    assert_eq!(judged.rows.len(), 24);
    let all: Vec<usize> = (0..24).collect();
    let [regret, error, _, by_value, by_action_value, best] = figures(&judged, &all);
    // A network without knowledge gives away about 0.2 and correlates by 0.
    assert!(regret < 0.06 && error < 0.1 && best > 0.2, "{regret} {error} {best}");
    assert!(by_value > 0.2 && by_action_value > 0.1, "{by_value} {by_action_value}");
}
