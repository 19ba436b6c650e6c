//! Every metric against a case computed by hand.

use super::*;
use crate::data::Source;
use crate::data::example::Outcome;
use nn::encode::Features;
use nn::numeric::argmax;
use shakmaty::Chess;

const NAN: f32 = f32::NAN;

#[test]
fn ranks_and_choices_by_hand() {
    let scores = [0.2, 0.9, NAN, 0.9, 0.1];
    assert_eq!(argmax(&scores), Some(1));
    assert_eq!([0, 1, 2, 3, 4].map(|index| rank_of(&scores, index)), [2, 0, 4, 1, 3].map(Some));
    assert_eq!((rank_of(&scores, 5), argmax(&[])), (None, None));
    assert_eq!((argmax(&[NAN, 0.0]), argmax(&[NAN, NAN])), (Some(1), Some(0)));
    assert_eq!((rank_of(&[NAN, NAN], 0), rank_of(&[NAN, NAN], 1)), (Some(0), Some(1)));
}

#[test]
fn regret_is_what_the_choice_costs() {
    assert_eq!(regret(&[1.0, 3.0, 2.0], &[0.75, 0.5, 0.25]), Some(0.25));
    assert_eq!(regret(&[5.0, 3.0, 2.0], &[0.75, 0.5, 0.25]), Some(0.0));
    assert_eq!(regret(&[5.0, 3.0], &[0.75, NAN]), None);
    assert_eq!((regret(&[5.0], &[0.75, 0.5]), regret(&[], &[])), (None, None));
    assert_eq!(regret(&[5.0], &[0.75]), None, "a forced move is no choice");
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
        visits: Vec::new(),
        action_values: vec![0.5, 0.75, 0.25],
        value: 0.75,
        result: Some(Outcome::Won),
        terminal: Terminal::Ongoing,
        next: Some(Box::new(NextBoard::of(&board))),
        teacher: None,
    }
}

#[test]
fn intervals_by_hand() {
    // 8 of 10: centre (0.8 + 0.192) / 1.3841 = 0.7167, half 0.2268: the textbook 0.490 to 0.943.
    let near =
        |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-3 && (b - d).abs() < 1e-3;
    assert!(near(wilson(0.8, 10.0), (0.4902, 0.9433)));
    assert!(near(wilson(0.0, 10.0), (0.0, 0.2775)));
    assert_eq!(wilson(0.0, 0.0), (0.0, 1.0));
    let of = |values: &[f64]| {
        let mut mean = Mean::default();
        values.iter().for_each(|&value| mean.add(value));
        mean
    };
    let eight = of(&[1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
    assert_eq!(eight.share_interval(), Some(wilson(0.8, 10.0)));
    // Mean 2, variance (1 + 0 + 1) / 2 = 1, standard error 1 / sqrt(3).
    let half = 1.959_964 / 3f64.sqrt();
    let (low, high) = of(&[1.0, 2.0, 3.0]).interval().expect("three numbers");
    assert!((low - (2.0 - half)).abs() < 1e-9 && (high - (2.0 + half)).abs() < 1e-9);
    assert_eq!((of(&[1.0]).interval(), of(&[]).share_interval()), (None, None));
    // Shares vary less than yes-or-no outcomes: variance 0.01 / 0.75 where it could be 0.24.
    let shares = of(&[0.5, 0.7, 0.5, 0.7]);
    let interval = shares.share_interval().expect("four shares");
    assert!(near(interval, wilson(0.6, 0.24 / (0.04 / 3.0) * 4.0)), "{interval:?}");
    // Without any fault the interval still includes less than 1.
    assert_eq!(of(&[1.0; 10]).share_interval(), Some(wilson(1.0, 10.0)));
}

fn row(metrics: &Metrics, name: &str) -> (f64, u64) {
    let row = metrics.rows().into_iter().find(|row| row.name == name).expect("a row");
    (row.value.expect("a value"), row.count)
}

#[test]
fn merged_sums_equal_the_sums_of_the_parts() {
    let example = example();
    let mut wrong = NextBoard::of(&Chess::default());
    wrong.pieces[30] = 1;
    let good = Answer {
        policy: &[0.1, 0.8, 0.1],
        action_values: &[0.5, 0.75, 0.25],
        value: Some(0.75),
        legal: Some(&example.moves),
        choice: Some(example.moves[2]),
        terminal: Some(Terminal::Ongoing),
        next: example.next.as_deref(),
    };
    let invented = MoveCode { from: 1, to: 2, promotion: 0 };
    let bad = Answer {
        policy: &[0.8, 0.1, 0.1],
        action_values: &[0.25, 0.25, 0.75],
        value: Some(0.25),
        legal: Some(&[example.moves[0], invented]),
        choice: Some(invented),
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
    // tau-b of the bad answers. Policy: pair (1,0) against, (2,0) agrees, (2,1) tied: 0. Action values: pair
    // (1,0) tied, (2,0) against, (2,1) against: -2 / sqrt(2 * 3). Among the good ones the policy ties (2,0), 2 /
    // sqrt(2 * 3), and 1.
    let tied = 2.0 / 6f64.sqrt();
    for (name, expected) in [
        ("policy top 1", 0.5),
        ("policy top 3", 1.0),
        ("policy top 5", 1.0),
        // Best by value is the third move; the labelled one comes after it and its equal.
        ("action value top 1", 0.5),
        ("action value top 3", 1.0),
        ("policy regret", 0.125),
        ("action value regret", 0.25),
        ("policy tau-b", tied / 2.0),
        ("action value tau-b", (1.0 - tied) / 2.0),
        ("action value error", (0.25 + 0.5 + 0.5) / 6.0),
        ("value error", 0.25),
        ("best action legal", 0.5),
        ("move list precision", 0.75),
        ("move list recall", (1.0 + 1.0 / 3.0) / 2.0),
        ("move list F1", (1.0 + 0.4) / 2.0),
        ("move list exact", 0.5),
        ("game end", 0.5),
        ("next state exact", 0.5),
        ("next state squares", 127.0 / 128.0),
        ("value calibration", 0.25),
        ("result calibration", 0.5),
    ] {
        let (value, count) = row(&both, name);
        assert!((value - expected).abs() < 1e-6, "{name}: {value} instead of {expected}");
        assert_eq!(count, 2, "{name}");
    }
}

#[test]
fn an_empty_list_names_no_legal_move_and_has_no_precision() {
    let mut metrics = Metrics::default();
    metrics.add(&example(), &Answer { legal: Some(&[]), ..Answer::default() });
    assert_eq!((metrics.precision.get(), metrics.recall.get()), (None, Some(0.0)));
    assert_eq!((metrics.best_legal.get(), metrics.f1.get()), (Some(0.0), Some(0.0)));
}

#[test]
fn an_ended_game_has_no_list_to_judge() {
    let mut over = example();
    (over.moves, over.action_values, over.best) = (Vec::new(), Vec::new(), None);
    over.terminal = Terminal::Lost;
    let mut metrics = Metrics::default();
    let invented = [MoveCode { from: 1, to: 2, promotion: 0 }];
    let terminal = Some(Terminal::Lost);
    metrics.add(&over, &Answer { legal: Some(&invented), terminal, ..Answer::default() });
    assert_eq!(metrics.terminal.get(), Some(1.0));
    assert_eq!((metrics.best_legal.count(), metrics.f1.count()), (0, 0));
}

#[test]
fn errors_are_of_the_known_values_alone() {
    assert_eq!(mean_error(&[0.5, 0.5, 0.5], &[0.25, NAN, 1.0]), Some(0.375));
    assert_eq!((mean_error(&[0.5], &[NAN]), mean_error(&[0.5], &[])), (None, None));
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
    assert!(metrics.rows().iter().all(|row| (row.value, row.count) == (None, 0)));
}
