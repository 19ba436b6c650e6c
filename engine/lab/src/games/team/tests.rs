//! A team on a board of nine cells: what differs is seen and paid, labels are the learner's, and a run repeats.

use super::labels::labelled;
use super::matchmaker::Matchmaker;
use super::measure::{Challenger, Member, Team, examine, meet};
use super::occupancy::standings;
use super::table::{TeamSettings, TeamState};
use super::world::{Placed, PlayerWorld, Shaping};
use crate::diversity::team::tally::TeamTally;
use crate::games::cached::Cached;
use crate::games::exam::{ExamPosition, Kind, questions};
use crate::games::learn::{LearnLimit, learn};
use crate::games::record::{GameRecord, TeamPairing, Turn, read_games};
use crate::games::settings::Settings;
use engine::team::TeamRule;
use games::game::Game;
use games::hex::Hex;
use games::net::{BoardNet, NetworkFile};
use games::player::network_params;
use games::world::GameWorld;
use mcts::{Patient, Searcher};
use nn::rng::Rng;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const SETTINGS: TeamSettings =
    TeamSettings { players: 3, extrinsic: 0.8, distance: 0.5, matchmaker: Matchmaker::Nash };

/// A game of random moves. Players 1 and 2 prefer the centre, and of cells as near to it one the lower, the other the higher.
fn game_of(game: &Hex, number: usize, players: [usize; 2], random: &mut Rng) -> GameRecord {
    let (mut state, mut turns) = (game.start(), Vec::new());
    while game.end(&state).is_none() {
        let moves = game.moves(&state);
        let drawn = [(); 6].map(|()| moves[random.below(moves.len())]);
        let action = match players[turns.len() % 2] {
            0 => drawn[0],
            1 => drawn.into_iter().min_by_key(|cell| (cell.abs_diff(4), *cell)).unwrap(),
            _ => drawn.into_iter().min_by_key(|cell| (cell.abs_diff(4), 8 - *cell)).unwrap(),
        };
        let visits = moves.iter().map(|other| u32::from(*other == action)).collect();
        turns.push(Turn { action, visits, values: vec![500; moves.len()], proven: None });
        game.play(&mut state, action);
    }
    let teach = [true, players[0] == players[1]];
    GameRecord {
        game: number,
        start: Vec::new(),
        turns,
        pairing: Some(TeamPairing { players, teach }),
    }
}

fn games(game: &Hex, pairings: &[[usize; 2]], count: usize) -> Vec<GameRecord> {
    let mut random = Rng::new(3);
    (0..count).map(|n| game_of(game, n, pairings[n % pairings.len()], &mut random)).collect()
}

#[test]
fn players_that_differ_have_a_distance_and_are_paid_for_it() {
    let game = Hex::new(3).unwrap();
    let records = games(&game, &[[0, 0], [1, 1], [2, 2]], 900);
    let records: Vec<&GameRecord> = records.iter().collect();
    let found = standings(&game, &records, 3, 10.0);
    // Hex's half turn makes player 2 of player 1.
    assert!(found[1].distance < 0.1 && found[1].nearest == 2, "{found:?}");
    assert!(found[0].distance > 0.1, "{found:?}");
    // A player that is not there has no standing, and then none has.
    assert!(standings(&game, &records, 4, 10.0).is_empty());
    // The random player has the centre less often.
    let with = |cell: u16| {
        let mut state = game.start();
        game.play(&mut state, cell);
        found[0].reward.of(&game, &state)
    };
    assert!(with(4) < with(0), "{} {}", with(4), with(0));
    // At ℓ₀ nothing is paid, beyond it the reward turns round.
    let near = standings(&game, &records, 3, found[0].distance);
    let far = standings(&game, &records, 3, 0.5 * found[0].distance);
    let mut state = game.start();
    game.play(&mut state, 4);
    assert!(near[0].reward.of(&game, &state).abs() < 1e-6);
    assert!(far[0].reward.of(&game, &state) * found[0].reward.of(&game, &state) < 0.0);
}

#[test]
fn equal_players_are_as_far_as_chance_makes_them() {
    let game = Hex::new(3).unwrap();
    let mut records = games(&game, &[[0, 0]], 600);
    for record in &mut records {
        let player = record.game % 2;
        record.pairing = Some(TeamPairing { players: [player; 2], teach: [true; 2] });
    }
    let records: Vec<&GameRecord> = records.iter().collect();
    let found = standings(&game, &records, 2, 1.0);
    assert!(found[0].distance < 0.05, "{}", found[0].distance);
}

#[test]
fn labels_are_those_of_the_player_that_learns() {
    let game = Hex::new(3).unwrap();
    let records = games(&game, &[[1, 0], [2, 2], [0, 0], [1, 1]], 400);
    let table = TeamState::new(&game, &SETTINGS, &records.iter().collect::<Vec<_>>());
    let labels = labelled(&game, &records[0], &table).unwrap();
    let reward = table.shaping(1).unwrap().reward;
    let mut state = game.start();
    let mut paid = Vec::new();
    for turn in &records[0].turns {
        game.play(&mut state, turn.action);
        paid.push(reward.of(&game, &state));
    }
    // The payment of the discs on the board alone is no part of the label.
    for (at, sample) in labels.iter().enumerate() {
        assert_eq!(sample.player, 1);
        let kept = reward.kept(&game, &sample.state, at % 2 == 0);
        let own = paid.iter().skip(at).step_by(2).sum::<f32>() - kept;
        if at % 2 == 0 {
            assert!((sample.intrinsic[0] - own).abs() < 1e-5 && sample.intrinsic[1].is_nan());
            assert!(!sample.policy.is_empty());
        } else {
            let own = paid.iter().skip(at + 1).step_by(2).sum::<f32>() - kept;
            assert!((sample.intrinsic[1] - own).abs() < 1e-5 && sample.intrinsic[0].is_nan());
            assert!(sample.policy.is_empty());
        }
        // Its search has rewards in its values.
        assert!(sample.values.iter().all(|value| value.is_nan()));
    }
    let state = game.start();
    assert_eq!(reward.kept(&game, &state, true), 5.0 * reward.of(&game, &game.passed(&state)));
    assert_eq!(reward.kept(&game, &state, false), 4.0 * reward.of(&game, &game.passed(&state)));
    // In a game against itself both sides teach; the first player has no rewards.
    let both = labelled(&game, &records[1], &table).unwrap();
    assert!(both.iter().all(|s| s.player == 2 && s.intrinsic.iter().all(|x| x.is_finite())));
    let first = labelled(&game, &records[2], &table).unwrap();
    assert!(first.iter().all(|s| s.intrinsic.iter().all(|x| x.is_nan()) && s.values[0] == 0.5));
}

#[test]
fn pairs_follow_the_matchmaker() {
    let game = Hex::new(3).unwrap();
    let with = |matchmaker| TeamState::new(&game, &TeamSettings { matchmaker, ..SETTINGS }, &[]);
    let mut random = Rng::new(1);
    let alone = with(Matchmaker::SelfPlay);
    let uniform = with(Matchmaker::Uniform);
    let mut met = [[0; 3]; 3];
    for _ in 0..3000 {
        let pairing = alone.pair(&mut random);
        assert!(pairing.players[0] == pairing.players[1] && pairing.teach == [true; 2]);
        let TeamPairing { players, teach } = uniform.pair(&mut random);
        assert!(teach[0] || teach[1]);
        assert_eq!(teach[0] && teach[1], players[0] == players[1]);
        met[players[0]][players[1]] += 1;
    }
    assert!(met.iter().flatten().all(|count| (250..420).contains(count)), "{met:?}");
    assert!(uniform.shaping(1).is_none() && uniform.distance().is_none(), "no games yet");
}

#[test]
fn rewards_move_a_search_and_proofs_do_not_move() {
    let game = Hex::new(3).unwrap();
    let records = games(&game, &[[0, 0], [1, 1]], 600);
    let records: Vec<&GameRecord> = records.iter().collect();
    let found = standings(&game, &records, 2, 10.0);
    let network = NetworkFile::random(&game, 8, 1, 1).with_players(2, 1);
    let network = Cached::new(&game, BoardNet::of_player(&network, &game, 1).unwrap());
    let search = |shaping: Option<Shaping<'_>>| {
        let mut searcher = Searcher::new(network_params(1), 4 << 20);
        let rules = GameWorld { game: game.clone(), judge: &network };
        searcher.set_root(Placed::root(game.start()));
        let world = PlayerWorld { rules, shaping };
        searcher.run(&world, 1, Some(300), &Patient).snapshot
    };
    let mut plain = Searcher::new(network_params(1), 4 << 20);
    plain.set_root(game.start());
    let world = GameWorld { game: game.clone(), judge: &network };
    let plain = plain.run(&world, 1, Some(300), &Patient).snapshot;
    let unshaped = search(None);
    let visits = |snapshot: &mcts::Snapshot<u16>| -> Vec<(u16, u64)> {
        snapshot.lines.iter().map(|line| (line.moves[0], line.visits)).collect()
    };
    assert_eq!(visits(&unshaped), visits(&plain));
    let reward = &found[1].reward;
    assert_eq!(visits(&search(Some(Shaping { reward, extrinsic: 1.0 }))), visits(&plain));
    let shaped = search(Some(Shaping { reward, extrinsic: 0.2 }));
    assert_ne!(visits(&shaped), visits(&plain));
    // Nine cells are solved by this search: the first player wins.
    assert!(plain.lines[0].mate_plies.is_none() || shaped.lines[0].mate_plies.is_some());
}

fn small() -> Settings {
    let mut settings = Settings::new(&Hex::new(3).unwrap(), 1);
    (settings.training.channels, settings.training.blocks) = (8, 2);
    (settings.training.batch, settings.training.warmup) = (32, 5);
    settings.training.window = [500, 1_000];
    (settings.play.games, settings.play.long, settings.play.short) = (24, 24, 8);
    (settings.exam, settings.contest) = (5, 2);
    settings.team = Some(SETTINGS);
    settings
}

#[test]
fn half_of_the_games_begin_in_the_positions_of_a_file() {
    let game = Hex::new(3).unwrap();
    let folder = std::env::temp_dir().join(format!("mavka-starts-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let (file, stop) = (folder.join("starts.jsonl"), AtomicBool::new(false));
    let mut state = game.start();
    [0, 4, 8].iter().for_each(|action| game.play(&mut state, *action));
    let values: Vec<(u16, i32)> =
        game.moves(&state).into_iter().map(|action| (action, 1)).collect();
    let question = ExamPosition { moves: vec![0, 4, 8], values };
    fs::write(&file, serde_json::to_string(&question).unwrap() + "\n").unwrap();
    let mut settings = Settings { team: None, starts: Some(file.clone()), ..small() };
    settings.play.random_share = 0.0;
    let limit = LearnLimit { hours: f64::INFINITY, generations: 1 };
    learn(&game, &settings, &folder.join("run"), 1, limit, &stop).unwrap();
    let packed = fs::read(folder.join("run/games-00001.jsonl.zst")).unwrap();
    let records = read_games(&game, &zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let begun = records.iter().filter(|record| record.start == [0, 4, 8]).count();
    assert!((6..=18).contains(&begun), "{begun} of {}", records.len());
    assert!(records.iter().all(|record| [0, 3].contains(&record.start.len())));
    fs::write(&file, "{\"moves\":[0,0],\"values\":[]}\n").unwrap();
    let why = learn(&game, &settings, &folder.join("other"), 1, limit, &stop).unwrap_err();
    assert!(why.to_string().contains("starts.jsonl: line 1: illegal move 0"), "{why}");
    fs::remove_dir_all(&folder).unwrap();
}

fn run(folder: &Path, threads: usize, generations: usize) -> Vec<f32> {
    let _ = fs::remove_dir_all(folder);
    let game = Hex::new(3).unwrap();
    let limit = LearnLimit { hours: f64::INFINITY, generations: 1 };
    let stop = AtomicBool::new(false);
    for generations in 1..=generations {
        // Each generation in a call of its own: a run is continued from its files.
        learn(&game, &small(), folder, threads, LearnLimit { generations, ..limit }, &stop)
            .unwrap();
    }
    NetworkFile::load(&folder.join("network.safetensors")).unwrap().values
}

#[test]
fn a_team_learns_repeats_and_is_measured() {
    let game = Hex::new(3).unwrap();
    let folder =
        |name: &str| std::env::temp_dir().join(format!("mavka-team-{name}-{}", std::process::id()));
    let [one, two] = ["one", "two"].map(folder);
    assert_eq!(run(&one, 1, 3), run(&two, 2, 3));
    let packed = fs::read(one.join("games-00003.jsonl.zst")).unwrap();
    let records = read_games(&game, &zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let mut learned = [0; 3];
    for record in &records {
        let TeamPairing { players, teach } = record.pairing.unwrap();
        let side = usize::from(!teach[0]);
        // PSRO-Nash: no player after the learner.
        assert!(players[1 - side] <= players[side], "{players:?}");
        learned[players[side]] += 1;
    }
    assert!(learned.iter().all(|count| *count > 0), "{learned:?}");
    let csv = fs::read_to_string(one.join("progress.csv")).unwrap();
    assert!(csv.lines().all(|line| line.split(',').count() == 19), "{csv}");
    assert!(
        csv.lines().last().unwrap().rsplit(',').next().unwrap().parse::<f64>().is_ok(),
        "{csv}"
    );

    let network = NetworkFile::load(&one.join("network.safetensors")).unwrap();
    let member = |player: usize| Member {
        network: Cached::new(&game, BoardNet::of_player(&network, &game, player).unwrap()),
        noise: None,
    };
    let members = [0, 1, 2].map(member);
    let team = Team { members: &members, nodes: 30, table: None };
    let exam = questions(&game, Kind::Played, 60, &one.join("exam.jsonl"), |_| true).unwrap();
    let (exam, stop) = (exam.unwrap(), AtomicBool::new(false));
    let tally = examine(&game, team, &exam, &stop, || ());
    assert!(tally.puzzles.len() > 20 && tally.views[0].len() == tally.puzzles.len());
    for row in &tally.puzzles {
        // Player 0 alone, and with all playouts in the team; none is better than the best.
        assert_eq!(row[0], row[10]);
        let solved: Vec<f64> = row.iter().map(|verdict| verdict.solved()).collect();
        assert!((10..19).all(|at| solved[at] <= solved[13]), "{solved:?}");
    }
    // With their rewards the players search otherwise, the first one does not.
    let table = TeamState::load(&game, &one.join("standings.json")).unwrap();
    let paid = examine(&game, Team { table: Some(&table), ..team }, &exam, &stop, || ());
    let moves = |tally: &TeamTally, player: usize| -> Vec<u16> {
        tally.views[1].iter().map(|view| view.moves[player].0).collect()
    };
    assert_eq!(moves(&paid, 0), moves(&tally, 0));
    assert!(fs::read_to_string(one.join("players.svg")).unwrap().contains("player 2"));
    let why = TeamState::load(&Hex::new(4).unwrap(), &one.join("standings.json")).unwrap_err();
    assert!(why.to_string().contains("none of a board of 16 cells"), "{why}");
    let result = meet(&game, team, Challenger::Player(0), 8, &stop).unwrap();
    assert_eq!(result.score, 0.5, "a player against itself, both colours of each opening");
    assert!(meet(&game, team, Challenger::Rule(TeamRule::Value), 8, &stop).is_some());
    [one, two].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
}
