//! Tests of the second labels.

use super::*;
use crate::uci_client::Timeouts;
use crate::uci_client::fake::Fake;
use train::data::FileWriter;
use train::data::record::{Format, GameResult};

/// Games of the start position's first moves, `plies` each.
fn write_games(name: &str, games: u64, plies: usize) -> PathBuf {
    let path = std::env::temp_dir().join(format!("mavka-again-{}-{name}", std::process::id()));
    let mut writer = FileWriter::create(&path, Format::Mavg).unwrap();
    for _ in 0..games {
        let mut position = Chess::default();
        let mut game = MavgGame::new(Header::new(position.clone(), false, GameResult::Drawn));
        for _ in 0..plies {
            let moves = canonical_moves(&position);
            game.push(0, (0, 1), 20, &vec![64; moves.len()]).unwrap();
            position.play_unchecked(moves[1]);
        }
        writer.write(&data::Game::Mavg(game)).unwrap();
    }
    writer.finish_file().unwrap();
    path
}

fn relabelling(file: PathBuf, shard: &str, selection: Selection) -> Relabelling {
    Relabelling {
        file,
        out: PathBuf::new(),
        annotator: Annotator { program: PathBuf::new(), words: vec![], options: vec![] },
        nodes: 1,
        depth: 1,
        selection,
        shard: shard.parse().unwrap(),
        concurrency: Some(1),
        stop: Arc::default(),
    }
}

#[test]
fn parts_and_continued_runs_take_the_selected_positions_once() {
    let path = write_games("parts", 101, 10);
    let selection = Selection { count: 90, every: 2, per_game: 3 };
    let of = |shard: &str, held: u64, selection| {
        let run = relabelling(path.clone(), shard, selection);
        let left = run.left(held, selection.total(&path).unwrap()).unwrap();
        let left: Vec<MavgGame> = left.map(Result::unwrap).collect();
        left.iter().map(|game| (game.header.index, game.header.start.clone())).collect::<Vec<_>>()
    };
    let whole = of("1/1", 0, selection);
    assert_eq!(whole.len(), 90);
    // Every second game, without those held out from training, 0 and 100 of them.
    assert!(whole.iter().all(|(index, _)| index % 2 == 0 && index % 50 != 0));
    assert_eq!(whole[..3].iter().map(|(index, _)| *index).collect::<Vec<_>>(), [2, 2, 2]);
    assert!(whole[0].1 != whole[1].1 && whole[1].1 != whole[2].1);
    assert_eq!(of("1/1", 40, selection), whole[40..]);
    let mut parts = [of("1/2", 0, selection), of("2/2", 0, selection)];
    assert_eq!(of("2/2", 20, selection), parts[1][20..]);
    let second = parts[1].split_off(0);
    let merged = parts[0].iter().zip(&second).flat_map(|(a, b)| [a.clone(), b.clone()]);
    assert_eq!(merged.collect::<Vec<_>>(), whole);
    // More is asked for than there is: 48 games of 10 plies.
    let all = Selection { count: u64::MAX, every: 2, per_game: usize::MAX };
    assert_eq!(of("1/1", 0, all).len(), 480);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn the_long_search_labels_the_position_and_the_shallow_one_its_moves() {
    let file = write_games("label", 2, 1);
    let all = Selection { count: u64::MAX, every: 1, per_game: 1 };
    let run = relabelling(file.clone(), "1/1", all);
    let old: Vec<MavgGame> = run.left(0, 1).unwrap().map(Result::unwrap).collect();
    std::fs::remove_file(&file).unwrap();
    let fake = Fake::polite(|line| match line {
        "go nodes 77" => vec![(1, "info score cp 50 pv d2d4"), (2, "bestmove d2d4")],
        "go depth 3" => vec![
            (1, "info depth 2 multipv 1 score cp 700 pv c2c4"),
            (1, "info depth 3 multipv 1 score cp 80 pv e2e4"),
            (1, "info depth 3 multipv 2 score cp 10 pv d2d4"),
            (1, "info depth 3 multipv 3 score cp -200 pv c2c4"),
            (2, "bestmove e2e4"),
        ],
        _ => vec![],
    });
    let sent = fake.sent();
    let mut engine = Player::greet(fake, &[], Timeouts::default()).unwrap();
    let new = relabel(&old[0], &mut engine, (77, 3)).unwrap();
    let record = new.positions[0];
    let moves = canonical_moves(&new.header.start);
    let of = |word: &str| {
        let game = Game::new(new.header.start.clone(), CastlingMode::Standard);
        let action = Action::from_uci(word, game.position()).unwrap();
        moves.iter().position(|m| Action::new(*m) == action).unwrap()
    };
    assert_eq!((usize::from(record.best), record.played, record.score), (of("d2d4"), 1, 50));
    let value = |word: &str| new.values(&record)[of(word)];
    let best = stored_value(win_probability(50));
    assert_eq!((value("d2d4"), value("e2e4")), (best, best), "no move is better");
    assert_eq!(value("c2c4"), stored_value(win_probability(-200)));
    assert_eq!(value("a2a3"), VALUE_UNKNOWN);
    let sent = sent.lock().unwrap();
    let options: Vec<_> = sent.iter().filter(|line| line.contains("MultiPV")).collect();
    let expected = ["setoption name MultiPV value 1", "setoption name MultiPV value 218"];
    assert_eq!(options, expected);
}
