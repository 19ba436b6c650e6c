//! Every metric against a case worked out by hand.

use super::*;
use crate::data::Source;
use crate::encode::Features;
use shakmaty::Chess;

const NAN: f32 = f32::NAN;

#[test]
fn ranks_and_choices_by_hand() {
    let scores = [0.2, 0.9, NAN, 0.9, 0.1];
    assert_eq!(best_index(&scores), Some(1));
    assert_eq!([0, 1, 2, 3, 4].map(|index| rank_of(&scores, index)), [2, 0, 4, 1, 3].map(Some));
    assert_eq!((rank_of(&scores, 5), best_index(&[])), (None, None));
    assert_eq!((best_index(&[NAN, 0.0]), best_index(&[NAN, NAN])), (Some(1), Some(0)));
    assert_eq!((rank_of(&[NAN, NAN], 0), rank_of(&[NAN, NAN], 1)), (Some(0), Some(1)));
}

#[test]
fn regret_is_what_the_choice_costs() {
    assert_eq!(regret(&[1.0, 3.0, 2.0], &[0.75, 0.5, 0.25]), Some(0.25));
    assert_eq!(regret(&[5.0, 3.0, 2.0], &[0.75, 0.5, 0.25]), Some(0.0));
    assert_eq!(regret(&[5.0, 3.0], &[0.75, NAN]), None);
    assert_eq!((regret(&[5.0], &[0.75, 0.5]), regret(&[], &[])), (None, None));
}

#[test]
fn tau_b_by_hand() {
    let tau = |a: &[f32], b: &[f32]| kendall_tau_b(a, b);
    assert_eq!(tau(&[1.0, 2.0, 3.0], &[0.1, 0.2, 0.3]), Some(1.0));
    assert_eq!(tau(&[1.0, 2.0, 3.0], &[0.3, 0.2, 0.1]), Some(-1.0));
    // Pairs: two agree, one does not.
    assert_eq!(tau(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]), Some(1.0 / 3.0));
    // b ties one pair of three: 2 / sqrt(3 * 2).
    let tied = tau(&[1.0, 2.0, 3.0], &[1.0, 2.0, 2.0]).expect("a number");
    assert!((tied - 2.0 / 6f64.sqrt()).abs() < 1e-12);
    assert_eq!((tau(&[1.0, 1.0], &[1.0, 2.0]), tau(&[1.0], &[1.0])), (None, None));
    assert_eq!(tau(&[1.0, NAN, 2.0], &[1.0, 0.0, 2.0]), Some(1.0));
}

#[test]
fn calibration_by_hand() {
    let mut calibration = Calibration::default();
    for (predicted, outcome) in
        [(0.95, 1.0), (0.95, 0.0), (1.0, 1.0), (0.25, 0.25), (NAN, 1.0), (0.5, NAN), (1.5, 1.0)]
    {
        calibration.add(predicted, outcome);
    }
    assert_eq!(calibration.bins[9].0.count(), 3);
    assert_eq!(calibration.bins[2].1.get(), Some(0.25));
    // |0.95 + 0.95 + 1 - 2| over four predictions.
    assert!((calibration.error().expect("some") - 0.9 / 4.0).abs() < 1e-6);
    assert_eq!(Calibration::default().error(), None);
}

#[test]
fn legality_counts_by_hand() {
    let code = |to| MoveCode { from: 0, to, promotion: 0 };
    let counts =
        Counts::of(&[code(1), code(2), code(3), code(3)], &[code(2), code(3), code(4), code(5)]);
    assert_eq!(counts, Counts { right: 2, invented: 1, missed: 2 });
    assert_eq!((counts.precision(), counts.recall()), (Some(2.0 / 3.0), Some(0.5)));
    assert_eq!(counts.f1(), Some(4.0 / 7.0));
    let none = Counts::default();
    assert_eq!((none.precision(), none.recall(), none.f1()), (None, None, None));
}

fn example() -> Example {
    let board = Chess::default();
    let code = |to| MoveCode { from: 12, to, promotion: 0 };
    Example {
        features: Features::of(&board),
        source: Source::ActionValues,
        moves: vec![code(20), code(28), code(30)],
        best: Some(1),
        action_values: vec![0.5, 0.75, 0.25],
        value: 0.75,
        result: Some(2),
        terminal: Terminal::Ongoing,
        next: Some(Box::new(NextBoard::of(&board))),
    }
}

#[test]
fn sums_are_those_of_the_parts_however_they_are_merged() {
    let example = example();
    let mut wrong = NextBoard::of(&Chess::default());
    wrong.pieces[30] = 1;
    let good = Answer {
        policy: &[0.1, 0.8, 0.1],
        action_values: &[0.5, 0.75, 0.25],
        value: Some(0.75),
        legal: Some(&example.moves),
        terminal: Some(Terminal::Ongoing),
        next: example.next.as_deref(),
    };
    let bad = Answer {
        policy: &[0.8, 0.1, 0.1],
        action_values: &[0.25, 0.25, 0.75],
        value: Some(0.25),
        legal: Some(&example.moves[..1]),
        terminal: Some(Terminal::Drawn),
        next: Some(&wrong),
    };
    let mut both = Metrics::default();
    both.add(&example, &good);
    both.add(&example, &bad);
    let (mut one, mut two) = (Metrics::default(), Metrics::default());
    one.add(&example, &good);
    two.add(&example, &bad);
    one.merge(&two);
    assert_eq!(one, both);
    let means = both.means().map(|(_, mean)| mean.get().expect("a mean"));
    // tau-b of the bad answer: pairs (1,0) tied, (2,0) against, (2,1) against: -2 / sqrt(2 * 3).
    let tau = (1.0 - 2.0 / 6f64.sqrt()) / 2.0;
    let expected = [
        0.5,
        1.0,
        1.0,
        0.125,
        0.5,
        0.25,
        tau,
        (0.25 + 0.5 + 0.5) / 6.0,
        0.25,
        0.5,
        0.5,
        0.5,
        127.0 / 128.0,
    ];
    for ((mean, expected), (name, _)) in means.iter().zip(expected).zip(both.means()) {
        assert!((mean - expected).abs() < 1e-9, "{name}: {mean} instead of {expected}");
    }
    assert_eq!(both.legality, Counts { right: 4, invented: 0, missed: 2 });
    let table = both.to_string();
    assert!(table.contains("policy top 1              0.5000         2\n"), "{table}");
    assert!(table.contains("calibration by result: error 0.5000\n"), "{table}");
}

#[test]
fn what_has_no_label_or_no_answer_is_left_out() {
    let mut unlabelled = example();
    (unlabelled.best, unlabelled.value, unlabelled.result) = (None, NAN, None);
    unlabelled.action_values.clear();
    let mut metrics = Metrics::default();
    metrics.add(
        &unlabelled,
        &Answer {
            policy: &[0.0; 3],
            action_values: &[0.0; 3],
            value: Some(0.5),
            ..Answer::default()
        },
    );
    metrics.add(&example(), &Answer::default());
    assert_eq!(metrics, Metrics::default());
    assert_eq!(metrics.to_string().lines().count(), 1);
}
