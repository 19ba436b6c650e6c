//! The forward pass against burn, and a game learned to perfection.

use super::exam::{ExamPosition, Solved, mark, without_search};
use super::gradient::Gradient;
use super::learn::{LearnLimit, learn};
use super::measure::mark_search;
use super::record::{GameRecord, Turn, read_games};
use super::sample::{Batch, Sample, SampleUse};
use super::settings::Settings;
use super::twin::AutodiffNet;
use games::connect4::ConnectFour;
use games::game::Game;
use games::hex::Hex;
use games::net::{BoardNet, NetworkFile, Outputs};
use games::world::INTRINSIC;
use nn::rng::Rng;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use train::network::Buckets;

/// Positions of random games.
fn states<G: Game>(game: &G, count: usize) -> Vec<G::State> {
    let mut random = Rng::new(5);
    let mut states = Vec::new();
    while states.len() < count {
        let mut state = game.start();
        while game.end(&state).is_none() {
            states.push(state.clone());
            let moves = game.moves(&state);
            game.play(&mut state, moves[random.below(moves.len())]);
        }
    }
    states.truncate(count);
    states
}

fn uses<S: Clone>(
    samples: &[Sample<S>],
    marked: impl Fn(&S) -> Option<u16>,
) -> Vec<SampleUse<'_, S>> {
    samples
        .iter()
        .map(|sample| SampleUse {
            sample: Cow::Borrowed(sample),
            image: 0,
            marked: marked(&sample.state),
        })
        .collect()
}

fn compare<G: Game>(game: &G, count: usize, channels: usize, player: usize) {
    let mut network = NetworkFile::random(game, channels, 3, 2);
    if player > 0 {
        network = network.with_players(player + 1, 7);
    }
    // Biases are zero at first.
    let mut random = Rng::new(9);
    network.values.iter_mut().for_each(|value| *value += 0.1 * (random.unit() as f32 - 0.5));
    let grid = game.grid();
    let samples: Vec<Sample<G::State>> = states(game, count)
        .into_iter()
        .map(|state| Sample {
            state,
            policy: Vec::new(),
            values: Vec::new(),
            score: 0.5,
            player,
            intrinsic: [0.0; INTRINSIC],
        })
        .collect();
    let uses = uses(&samples, |state| game.moves(state).last().copied());
    let batch = Batch::new(game, &grid, &uses, &Buckets::new(0.75));
    let twin = AutodiffNet::new(&network.layout, &network.values, &grid);
    let logits = twin.forward(&batch);
    let read = |tensor: burn::tensor::Tensor<1>| tensor.inner().try_into_vec_as::<f32>().unwrap();
    let expected = [
        read(logits.state.flatten(0, 1)),
        read(logits.moves.flatten(0, 2)),
        read(logits.cells.flatten(0, 2)),
        logits.intrinsic.map_or(Vec::new(), |found| read(found.flatten(0, 1))),
    ];
    let net = BoardNet::of_player(&network, game, player).unwrap();
    let outputs: Vec<Outputs> = uses
        .iter()
        .map(|used| {
            let state = &used.sample.state;
            let marked = used.marked.map(|action| game.in_view(state, action));
            net.forward(&game.encode(state), marked)
        })
        .collect();
    let found = [
        outputs.iter().flat_map(|output| output.state.clone()).collect::<Vec<f32>>(),
        outputs.iter().flat_map(|output| output.moves.clone()).collect(),
        outputs.iter().flat_map(|output| output.cells.clone()).collect(),
        outputs.iter().flat_map(|output| output.intrinsic.clone()).collect(),
    ];
    assert_eq!(found[3].is_empty(), player == 0);
    for (found, expected) in found.iter().zip(&expected).filter(|(_, x)| !x.is_empty()) {
        assert_eq!(found.len(), expected.len());
        let size = expected.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let error = found.iter().zip(expected).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(size > 0.01 && error < 1e-4 * size, "{error} of {size}");
    }
}

#[test]
fn the_forward_pass_answers_as_burn() {
    compare(&ConnectFour::default(), 9, 48, 0);
    compare(&ConnectFour::new(4, 5), 4, 20, 2);
    compare(&Hex::new(5).unwrap(), 7, 48, 0);
}

fn compare_gradients<G: Game>(game: &G) {
    let mut network = NetworkFile::random(game, 20, 3, 2).with_players(3, 4);
    let mut random = Rng::new(9);
    network.values.iter_mut().for_each(|value| *value += 0.1 * (random.unit() as f32 - 0.5));
    let grid = game.grid();
    let mut samples = Vec::new();
    for (i, state) in states(game, 11).into_iter().enumerate() {
        let n = game.moves(&state).len();
        let mut policy: Vec<f32> = (0..n).map(|_| random.unit() as f32).collect();
        let sum: f32 = policy.iter().sum();
        policy.iter_mut().for_each(|p| *p /= sum);
        let mut values: Vec<f32> = (0..n).map(|_| random.unit() as f32).collect();
        values[0] = f32::NAN;
        if i % 3 == 0 {
            policy.clear();
        }
        let (player, score) = (i % 3, (i % 3) as f32 / 2.0);
        let intrinsic = [if i % 5 == 0 { f32::NAN } else { 0.7 - i as f32 / 4.0 }, 0.5];
        samples.push(Sample { state, policy, values, score, player, intrinsic });
    }
    let image = |i: usize| i % grid.images.len();
    let uses: Vec<SampleUse<'_, G::State>> = samples
        .iter()
        .enumerate()
        .map(|(i, sample)| {
            let marked = game.moves(&sample.state).last().copied().filter(|_| i % 4 == 1);
            SampleUse { sample: Cow::Borrowed(sample), image: image(i), marked }
        })
        .collect();
    let batch = Batch::new(game, &grid, &uses, &Buckets::new(0.75));
    let NetworkFile { layout, values, .. } = &network;
    let (mut own, mut burns) = (vec![0.0; layout.len], vec![0.0; layout.len]);
    let losses = Gradient { layout, values, grid: &grid }.add(&batch, 11, &mut own);
    let expected = AutodiffNet::new(layout, values, &grid).gradient(&batch, 11, &mut burns);
    for (loss, expected) in losses.iter().zip(expected) {
        assert!(*loss > 0.0 && (loss / expected - 1.0).abs() < 1e-4, "{losses:?} {expected}");
    }
    for param in &layout.params {
        let (own, burns) = (&own[param.range.clone()], &burns[param.range.clone()]);
        let size = burns.iter().map(|x| x * x).sum::<f32>().sqrt();
        let error = own.iter().zip(burns).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
        assert!(size > 0.0 && error < 1e-3 * size, "{}: {error} of {size}", param.name);
    }
}

#[test]
fn the_gradient_is_that_of_burn() {
    compare_gradients(&ConnectFour::new(5, 4));
    compare_gradients(&Hex::new(4).unwrap());
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mavka-games-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// Small enough for a test.
fn small<G: Solved>(game: &G) -> Settings {
    let mut settings = Settings::new(game, 1);
    (settings.training.channels, settings.training.blocks) = (16, 2);
    (settings.training.batch, settings.training.warmup) = (64, 20);
    settings.training.window = [2_000, 4_000];
    (settings.training.average, settings.training.rate) = (0.98, 5e-3);
    (settings.play.games, settings.play.long, settings.play.short) = (60, 40, 16);
    settings.play.long_share = 0.5;
    settings.play.drawn_plies = 4;
    (settings.exam, settings.contest) = (50, 10);
    settings
}

/// Every position that can be reached, with exact results.
fn all_questions<G: Solved>(game: &G) -> Vec<ExamPosition> {
    let mut solver = game.solver().unwrap();
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    let mut open = vec![(game.start(), Vec::new())];
    while let Some((state, moves)) = open.pop() {
        if game.end(&state).is_some() || !seen.insert(game.key(&state)) {
            continue;
        }
        let values = solver.verdicts(&state, u64::MAX).unwrap();
        for (action, _) in &values {
            let mut next = state.clone();
            game.play(&mut next, *action);
            open.push((next, [&moves[..], &[*action]].concat()));
        }
        found.push(ExamPosition { moves, values });
    }
    found
}

/// After 12 generations the policy alone keeps the value in 95 % of the 1,931 positions that matter, untrained in 35 %.
#[test]
fn hex_on_nine_cells_is_learned_from_nothing() {
    let game = Hex::new(3).unwrap();
    let (folder, settings) = (folder("hex"), small(&game));
    let all = all_questions(&game);
    let policy = |network: &NetworkFile| {
        let network = BoardNet::new(network, &game).unwrap();
        mark(&game, &all, |state| without_search(&network, &game, state, false))
    };
    let untrained = policy(&NetworkFile::random(&game, 16, 2, 1)).share();
    assert!(untrained < 0.6, "{untrained}");
    let mut last = String::new();
    let perfect = (8..=40).step_by(4).any(|generations| {
        let limit = LearnLimit { hours: f64::INFINITY, generations };
        learn(&game, &settings, &folder, 2, limit, &AtomicBool::new(false)).unwrap();
        let network = NetworkFile::load(&folder.join("network.safetensors")).unwrap();
        let search = mark_search(&game, &BoardNet::new(&network, &game).unwrap(), &all, 100);
        last = format!("{generations}: {}; {}", policy(&network).describe(), search.describe());
        policy(&network).share() > 0.93 && search.all[0] == search.all[1]
    });
    assert!(perfect, "{last}");
    fs::remove_dir_all(&folder).unwrap();
}

/// One generation of a few games.
fn tiny() -> Settings {
    let mut settings = small(&Hex::new(3).unwrap());
    (settings.play.games, settings.exam, settings.contest) = (6, 5, 2);
    settings
}

const ONE: LearnLimit = LearnLimit { hours: f64::INFINITY, generations: 1 };

/// A new folder with one generation, the file of its games, and the weights.
fn run_once(name: &str, threads: usize, begun: &[u8]) -> (PathBuf, Vec<u8>, Vec<f32>) {
    let (game, folder) = (Hex::new(3).unwrap(), folder(name));
    if !begun.is_empty() {
        fs::create_dir_all(&folder).unwrap();
        let settings = serde_json::to_string(&tiny()).unwrap();
        fs::write(folder.join("config.json"), settings).unwrap();
        fs::write(folder.join("games.jsonl"), begun).unwrap();
    }
    learn(&game, &tiny(), &folder, threads, ONE, &AtomicBool::new(false)).unwrap();
    let games = fs::read(folder.join("games-00001.jsonl.zst")).unwrap();
    let network = NetworkFile::load(&folder.join("network.safetensors")).unwrap();
    (folder, games, network.values)
}

#[test]
fn a_seed_repeats_exactly_even_after_a_kill_and_on_more_threads() {
    let (first, packed, weights) = run_once("repeats", 1, b"");
    let games = zstd::decode_all(&packed[..]).unwrap();
    let lines: Vec<&[u8]> = games.split_inclusive(|byte| *byte == b'\n').collect();
    // Killed while the second of two games was written, which had ended in another order.
    let begun = [lines[3], lines[1], &lines[2][..9]].concat();
    let (second, packed_again, weights_again) = run_once("killed", 2, &begun);
    assert!(packed == packed_again && weights == weights_again);
    assert!(!second.join("games.jsonl").exists());
    // Killed between its row and its state, the generation is repeated with one row.
    fs::remove_file(second.join("state.safetensors")).unwrap();
    let game = Hex::new(3).unwrap();
    let rows = learn(&game, &tiny(), &second, 1, ONE, &AtomicBool::new(false)).unwrap();
    assert_eq!(rows.iter().map(|row| row.generation).collect::<Vec<_>>(), [1]);
    let csv = fs::read_to_string(second.join("progress.csv")).unwrap();
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let network = NetworkFile::load(&second.join("network.safetensors")).unwrap();
    assert!(network.values == weights, "the same training");
    // A finished run has nothing to do, and other settings are refused.
    let rows = learn(&game, &tiny(), &first, 1, ONE, &AtomicBool::new(false)).unwrap();
    assert_eq!(rows.len(), 1);
    let mut other = tiny();
    other.play.long = 41;
    let why = learn(&game, &other, &first, 1, ONE, &AtomicBool::new(false)).unwrap_err();
    assert!(why.to_string().contains("the run has \"long\": 40, not \"long\": 41"), "{why}");
    // The learning rate falls in the course of a run.
    other = tiny();
    other.training.rate /= 10.0;
    learn(&game, &other, &first, 1, ONE, &AtomicBool::new(false)).unwrap();
    let why =
        learn(&game, &Settings { taught: true, ..tiny() }, &first, 1, ONE, &AtomicBool::new(false));
    assert!(why.is_err(), "the rate alone may change");
    let stored = fs::read_to_string(first.join("config.json")).unwrap();
    assert!(stored.contains(&format!("\"rate\": {}", other.training.rate)), "{stored}");
    [first, second].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
}

#[test]
fn damaged_files_end_a_run_with_one_line() {
    let (folder, packed, _) = run_once("damaged", 1, b"");
    let game = Hex::new(3).unwrap();
    let more = LearnLimit { generations: 2, ..ONE };
    let fault = || {
        let why = learn(&game, &tiny(), &folder, 1, more, &AtomicBool::new(false)).unwrap_err();
        let why = why.to_string();
        assert_eq!(why.lines().count(), 1, "{why}");
        why
    };
    let games = folder.join("games-00001.jsonl.zst");
    fs::write(&games, &packed[..packed.len() / 2]).unwrap();
    assert!(fault().contains("games-00001.jsonl.zst: "), "{}", fault());
    let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    fs::write(&games, text.replacen("\"action\":", "\"action\":9", 1)).unwrap();
    let why = fault();
    assert!(why.contains("line 1: illegal move 9") && why.contains("delete the file"), "{why}");
    fs::write(&games, "{}\n").unwrap();
    assert!(fault().contains("line 1: not a game"), "{}", fault());
    // Empty, or cut after a whole line.
    fs::write(&games, "").unwrap();
    assert!(fault().contains("games-00001.jsonl.zst: 0 games, expected 6"), "{}", fault());
    let cut = text.split_inclusive('\n').take(4).collect::<String>();
    fs::write(&games, cut).unwrap();
    assert!(fault().contains("4 games, expected 6"), "{}", fault());
    fs::remove_file(&games).unwrap();
    let state = folder.join("state.safetensors");
    let bytes = fs::read(&state).unwrap();
    fs::write(&state, &bytes[..100]).unwrap();
    assert!(fault().contains("state.safetensors: not a whole safetensors file"), "{}", fault());
    fs::write(&state, &bytes).unwrap();
    let positions = folder.join("positions.jsonl");
    fs::write(&positions, "{\"moves\":[0,0],\"values\":[]}\n").unwrap();
    assert!(fault().contains("positions.jsonl: line 1: illegal move 0"), "{}", fault());
    fs::write(&positions, "").unwrap();
    assert!(fault().contains("positions.jsonl: no solved positions"), "{}", fault());
    fs::write(&positions, b"\xff\n").unwrap();
    assert!(fault().contains("positions.jsonl: invalid utf-8"), "{}", fault());
    fs::remove_file(&positions).unwrap();
    let rows = folder.join("progress.jsonl");
    let sound = fs::read(&rows).unwrap();
    fs::write(&rows, [b"{\"generation\":1}\n", &sound[..]].concat()).unwrap();
    assert!(fault().contains("progress.jsonl: line 1 cannot be read"), "{}", fault());
    fs::write(&rows, sound).unwrap();
    let elo = folder.join("reference.json");
    fs::write(&elo, "much").unwrap();
    assert!(fault().contains("reference.json: not an Elo rating"), "{}", fault());
    fs::write(&elo, "0").unwrap();
    // A FIFO would wait for its writer for ever.
    #[cfg(unix)]
    for path in [&positions, &games, &rows, &elo, &state, &folder.join("config.json")] {
        let kept = folder.join("kept");
        let known = fs::rename(path, &kept).is_ok();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        let (why, name) = (fault(), path.file_name().unwrap().to_str().unwrap());
        assert!(why.contains(name), "{why}");
        fs::remove_file(path).unwrap();
        if known {
            fs::rename(&kept, path).unwrap();
        }
    }
    // Without the games of its first generation the run continues.
    let rows = learn(&game, &tiny(), &folder, 1, more, &AtomicBool::new(false)).unwrap();
    assert_eq!(rows.len(), 2);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn games_are_checked_move_by_move() {
    let game = Hex::new(2).unwrap();
    let turn = |action| Turn {
        action,
        visits: Vec::new(),
        values: vec![-1; 4 - usize::from(action)],
        proven: None,
    };
    let record = GameRecord {
        game: 0,
        start: Vec::new(),
        turns: [0, 1, 2].map(turn).to_vec(),
        pairing: None,
    };
    let fault = |change: &dyn Fn(&mut GameRecord)| {
        let mut record = record.clone();
        change(&mut record);
        let line = serde_json::to_string(&record).unwrap() + "\n";
        read_games(&game, line.as_bytes()).err().map(|why| why.to_string()).unwrap_or_default()
    };
    assert_eq!(fault(&|_| ()), "");
    assert_eq!(fault(&|record| record.turns[1].action = 0), "line 1: illegal move 0");
    assert_eq!(fault(&|record| record.start.push(7)), "line 1: illegal move 7");
    assert_eq!(fault(&|record| drop(record.turns.pop())), "line 1: the game is not over");
    let labels = "line 1: labels of 2 moves, expected 4";
    assert_eq!(fault(&|record| record.turns[0].visits = vec![1, 2]), labels);
    assert_eq!(fault(&|record| record.turns[0].values = vec![1, 2]), labels);
}
