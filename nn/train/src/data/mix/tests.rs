//! The stream over small sample files: deterministic, proportional, without duplicates, resumable.

use super::*;
use crate::data::testing::{Sample, mavg_bytes, pvgr_bytes};
use crate::data::{Format, Source};

fn config(samples: &[(&Sample, f64)]) -> MixConfig {
    let source =
        |(sample, weight): &(&Sample, f64)| MixSource { path: sample.0.clone(), weight: *weight };
    let mut config = MixConfig::new(samples.iter().map(source).collect());
    (config.buffer, config.kinds.min_depth) = (100, 0);
    // Sample labels are random: half of the positions would be left out.
    config.kinds.quiet_weight = 1.0;
    config.kinds.rules_share = 0.0;
    config
}

fn prints(batch: &[Example]) -> Vec<String> {
    batch.iter().map(|example| format!("{example:?}")).collect()
}

#[test]
fn a_seed_gives_one_stream_whatever_the_batches() {
    let (a, b) =
        (Sample::new("seed-a", &mavg_bytes(31, 20)), Sample::new("seed-b", &pvgr_bytes(31, 20)));
    let config = config(&[(&a, 1.0), (&b, 1.0)]);
    let mut one = Mixer::new(config.clone()).expect("mixer");
    let mut two = Mixer::new(config.clone()).expect("mixer");
    let whole = one.next_batch(60).expect("batch");
    let mut parts = two.next_batch(20).expect("batch");
    parts.extend(two.next_batch(40).expect("batch"));
    assert_eq!(prints(&whole), prints(&parts));
    let mut other = config;
    other.seed = 1;
    let other = Mixer::new(other).expect("mixer").next_batch(60).expect("batch");
    assert_ne!(prints(&whole), prints(&other));
}

#[test]
fn shares_follow_weights_and_kinds() {
    let (a, b) = (
        Sample::new("shares-a", &mavg_bytes(32, 40)),
        Sample::new("shares-b", &pvgr_bytes(32, 40)),
    );
    let mut config = config(&[(&a, 1.0), (&b, 3.0)]);
    (config.kinds.action_share, config.kinds.variation_share) = (0.25, 0.5);
    let batch = Mixer::new(config).expect("mixer").next_batch(8_000).expect("batch");
    let share = |of: &dyn Fn(&Example) -> bool| {
        batch.iter().filter(|e| of(e)).count() as f64 / batch.len() as f64
    };
    assert!((share(&|e| e.source == Source::ActionValues) - 0.25).abs() < 0.03);
    assert!((share(&|e| e.features.has_action) - 0.25).abs() < 0.05);
    // One line in six of the samples is empty and yields nothing.
    assert!((share(&|e| e.source == Source::Variation) - 0.75 * 5.0 / 11.0).abs() < 0.05);
}

#[test]
fn quiet_positions_weigh_less() {
    let sample = Sample::new("quiet", &mavg_bytes(38, 60));
    let shares = [0.0, 0.5, 1.0].map(|weight| {
        let mut config = config(&[(&sample, 1.0)]);
        (config.kinds.quiet_weight, config.kinds.action_share) = (weight, 0.0);
        let batch = Mixer::new(config).expect("mixer").next_batch(2_000).expect("batch");
        let quiet = |e: &&Example| {
            let best = e.best.map_or(f32::NAN, |best| e.action_values[usize::from(best)]);
            e.action_values.iter().filter(|value| **value >= best).count() > 1
        };
        batch.iter().filter(quiet).count() as f64 / batch.len() as f64
    });
    assert_eq!(shares[0], 0.0);
    // Labels are random: nearly all positions are quiet.
    assert!(shares[2] > 0.8 && shares[1] < shares[2], "{shares:?}");
}

#[test]
fn a_share_shows_the_rules_alone() {
    let sample = Sample::new("rules", &mavg_bytes(39, 40));
    let mut config = config(&[(&sample, 1.0)]);
    config.kinds.rules_share = 0.25;
    let batch = Mixer::new(config).expect("mixer").next_batch(4_000).expect("batch");
    let share = batch.iter().filter(|e| e.source == Source::Rules).count() as f64 / 4_000.0;
    assert!((share - 0.25).abs() < 0.03, "{share}");
}

#[test]
fn mirroring_changes_nothing_else() {
    let sample = Sample::new("mirror", &mavg_bytes(37, 40));
    let stream = |share: f64| {
        let mut config = config(&[(&sample, 1.0)]);
        config.kinds.mirror_share = share;
        let mut mixer = Mixer::new(config).expect("mixer");
        let batch = mixer.next_batch(2_000).expect("batch");
        (batch, mixer.report()[0].counts)
    };
    let ((plain, none), (some, half), (all, every)) = (stream(0.0), stream(0.5), stream(1.0));
    let with_image = plain.iter().filter(|example| has_mirror(example)).count();
    assert!((400..1_600).contains(&with_image), "the sample has both: {with_image}");
    assert_eq!(none.mirrored, 0);
    let share = half.mirrored as f64 / every.mirrored as f64;
    assert!((share - 0.5).abs() < 0.1, "{share}");
    let mut turned = 0;
    for ((plain, some), all) in plain.iter().zip(&some).zip(&all) {
        let mut image = plain.clone();
        if has_mirror(plain) {
            mirror(&mut image);
        }
        let [plain, image, some, all] = [plain, &image, some, all].map(|e| format!("{e:?}"));
        assert_eq!(all, image);
        assert!(some == plain || some == image);
        turned += usize::from(some != plain);
    }
    assert!((with_image / 3..with_image * 2 / 3).contains(&turned), "{turned} of {with_image}");
}

#[test]
fn chess960_games_weigh_what_they_should() {
    let mut bytes = mavg_bytes(38, 60);
    let mark = |game: u64| {
        Game::Mavg({
            let mut game = crate::data::testing::mavg_game(game);
            game.header.chess960 = true;
            game
        })
    };
    let mut writer =
        crate::data::GameWriter::new(Vec::new(), Format::Mavg, "marked").expect("magic");
    for game in 0..60 {
        writer.write(&mark(game)).expect("write");
    }
    bytes.extend_from_slice(&writer.into_inner()[6..]);
    let sample = Sample::new("chess960", &bytes);
    for (weight, expected) in [(0.0, 0.0), (0.5, 1.0 / 3.0), (1.0, 0.5), (3.0, 0.75)] {
        let mut config = config(&[(&sample, 1.0)]);
        config.kinds.chess960_weight = weight;
        let mut mixer = Mixer::new(config).expect("mixer");
        mixer.next_batch(8_000).expect("batch");
        let counts = mixer.report()[0].counts;
        let share = counts.chess960 as f64 / counts.examples as f64;
        assert!((share - expected).abs() < 0.05, "{weight}: {share}");
    }
}

#[test]
fn no_question_is_asked_twice_in_a_pass() {
    // Twenty games, the same again, another.
    let mut bytes = mavg_bytes(33, 20);
    bytes.extend_from_within(6..);
    bytes.extend_from_slice(&mavg_bytes(34, 1)[6..]);
    let sample = Sample::new("twice", &bytes);
    let mut config = config(&[(&sample, 1.0)]);
    (config.stride, config.validation_every, config.kinds.action_share) = (1, 0, 0.0);
    config.buffer = 10_000;
    let mut mixer = Mixer::new(config).expect("mixer");
    let mut drawn = 0;
    while mixer.report()[0].games <= 20 {
        mixer.draw().expect("an example");
        drawn += 1;
    }
    let report = &mixer.report()[0];
    assert_eq!((report.games, report.passes), (41, 0), "the second twenty games gave nothing");
    assert!(report.counts.duplicates >= drawn - 1, "{report:?}");
}

#[test]
fn a_cut_file_is_read_again_and_again_and_counted() {
    let bytes = pvgr_bytes(34, 10);
    let sample = Sample::new("cut", &bytes[..bytes.len() - 1]);
    let mut mixer = Mixer::new(config(&[(&sample, 1.0)])).expect("mixer");
    mixer.next_batch(2_000).expect("batch");
    let report = &mixer.report()[0];
    assert!(report.passes > 5);
    assert_eq!(report.cut, report.passes);
    assert!(report.games >= report.passes * 9);
}

#[test]
fn a_resumed_stream_continues_in_the_file() {
    let sample = Sample::new("resume", &mavg_bytes(35, 200));
    let mut config = config(&[(&sample, 1.0)]);
    let mut first = Mixer::new(config.clone()).expect("mixer");
    first.next_batch(6_000).expect("batch");
    config.skip = 6_000;
    let resumed = Mixer::new(config.clone()).expect("mixer");
    let (left, right) = (&first.report()[0], &resumed.report()[0]);
    let games = |report: &SourceReport, whole: u64| report.passes * 200 + whole;
    let at = games(left, left.games % 200).abs_diff(games(right, right.games % 200));
    assert!(at < 60, "{left:?} {right:?}");
    config.skip = u64::MAX;
    assert!(Mixer::new(config).is_ok(), "however long the run was");
}

#[test]
fn invalid_mixes_are_refused_with_a_reason() {
    let empty = Sample::new("empty", b"MAVG1\n");
    let say = |config: MixConfig| match Mixer::new(config) {
        Err(error) => error.to_string(),
        Ok(mut mixer) => mixer.next_batch(1).expect_err("nothing to give").to_string(),
    };
    assert!(say(MixConfig::new(Vec::new())).contains("at least one source"));
    assert!(say(config(&[(&empty, f64::NAN)])).contains("positive weight"));
    assert!(say(config(&[(&empty, 1.0)])).contains("gave no example"));
}

#[test]
fn the_thread_sends_batches_and_ends_after_an_error() {
    let sample = Sample::new("thread", &mavg_bytes(36, 10));
    let receiver = spawn(config(&[(&sample, 1.0)]), 16, 2);
    for _ in 0..5 {
        assert_eq!(receiver.recv().expect("sent").expect("batch").len(), 16);
    }
    let bad = Sample::new("thread-bad", b"MAVG0\n");
    let receiver = spawn(config(&[(&bad, 1.0)]), 16, 2);
    assert!(receiver.recv().expect("sent").is_err());
    assert!(receiver.recv().is_err(), "closed");
}
