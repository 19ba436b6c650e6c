//! Won endings are won soon, without giving a piece away. Where tables choose the move, nothing else claims to.

use crate::shortest_mates::ShortestMates;
use crate::{game, random_ending};
use chess::ending::Ending;
use chess::game::Game;
use chess::syzygy::root::RootTables;
use chess::syzygy::{TableResult, Tables};
use engine::Setup;
use mavka_tests::{Dice, Session, setup};
use nn::evaluator::fake::Hashed;
use shakmaty::{Chess, Color, Position, Role};
use shakmaty_syzygy::Tablebase;
use std::collections::HashMap;
use std::path::Path;

#[test]
fn a_winner_keeps_its_queen() {
    let mut session = Session::start(setup(Hashed::default()));
    let start = game("8/8/7R/1k6/4Q3/8/8/4K3 w - - 5 9");
    session.send(&format!("position fen {}", start.fen()));
    session.send("go nodes 100");
    let answer = session.expect("bestmove *");
    let best = engine::Action::from_uci(answer.split(' ').nth(1).unwrap(), start.position());
    assert!(!gives_away(&start, best.unwrap()), "{answer}");
    session.finish();
}

/// The bundled network's choice is a mistake to the blunder check, but the tables prefer it to the check's.
#[test]
fn a_blunder_check_that_is_reported_was_played() {
    let mut session = Session::start(Setup::default());
    session.send("setoption name Threads value 1");
    session.send("setoption name UCI_AnalyseMode value true");
    for fen in [
        "1k6/8/8/2R5/8/7p/8/4K3 w - - 0 1",
        "8/8/4R3/8/8/1k6/3K2p1/8 w - - 0 1",
        "8/2p2k2/8/8/5K2/8/8/8 b - - 0 1",
        "6r1/3k4/5K2/8/8/8/8/5Q2 w - - 0 1",
    ] {
        session.send("ucinewgame");
        session.send(&format!("position fen {fen}"));
        session.send("go nodes 30");
        session.expect("bestmove *");
    }
    let (mut claimed, mut answers) = (None, 0);
    for line in session.finish() {
        if let Some((_, playing)) = line.split_once("; playing ") {
            claimed = playing.split(' ').next().map(str::to_owned);
        } else if let Some((_, best)) = line.split_once("< bestmove ") {
            answers += 1;
            let best = best.split(' ').next();
            assert_eq!(claimed.take().as_deref().or(best), best, "{line}");
        }
    }
    assert_eq!(answers, 4);
}

/// White's men beside its king, and Black's. White wins many or all of these.
const ENDINGS: [(&str, &str); 23] = [
    ("Q", ""),
    ("R", ""),
    ("P", ""),
    ("QQ", ""),
    ("QR", ""),
    ("QB", ""),
    ("QN", ""),
    ("RR", ""),
    ("RB", ""),
    ("RN", ""),
    ("BB", ""),
    ("BN", ""),
    ("QP", ""),
    ("RP", ""),
    ("BP", ""),
    ("NP", ""),
    ("PP", ""),
    ("Q", "R"),
    ("Q", "N"),
    ("Q", "P"),
    ("R", "B"),
    ("R", "P"),
    ("P", "P"),
];
/// Plies in which an ending without [`ShortestMates`] is won, the longest by far of those met. The fifty-move rule
/// would allow several times as many.
const MOST_PLIES: usize = 120;

/// After `action` the opponent can capture a piece, not a pawn, that is not taken back.
fn gives_away(game: &Game, action: engine::Action) -> bool {
    let mut after = game.clone();
    after.play(action).unwrap();
    after.position().capture_moves().iter().any(|m| {
        let mut taken = after.position().clone();
        taken.play_unchecked(*m);
        m.capture() != Some(Role::Pawn)
            && !taken.legal_moves().iter().any(|back| back.to() == m.to())
    })
}

/// The shortest mates of White's pieces `white`, if they are no pawns.
fn shortest_mates(white: &str) -> Option<ShortestMates> {
    let roles: Option<Vec<Role>> =
        white.chars().map(|man| Role::from_char(man).filter(|role| *role != Role::Pawn)).collect();
    Some(ShortestMates::new(&roles?))
}

/// The move of the side that loses, by the most plies to mate or else to the next capture or pawn move.
fn resist(game: &Game, mates: Option<&ShortestMates>, base: &Tablebase<Chess>) -> engine::Action {
    let plies = |action: &engine::Action| {
        let mut after = game.clone();
        after.play(*action).unwrap();
        let mate = mates.and_then(|mates| mates.plies(after.position()));
        let distance = || base.probe_dtz(after.position()).unwrap().ignore_rounding().0;
        match mate {
            Some(plies) => plies,
            // A move that does not lose is best of all.
            None => u32::try_from(distance()).ok().filter(|plies| *plies > 0).unwrap_or(u32::MAX),
        }
    };
    game.legal_actions().into_iter().max_by_key(plies).unwrap()
}

/// Plays `count` won endings out. Every other one is resisted as long as possible, the others by random moves.
fn win_endings(count: usize, seed: u64, compare: bool) {
    let mut dice = Dice::new(seed);
    let known = Tables::with_bundled("");
    let mut base = Tablebase::new();
    base.add_directory(Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/syzygy")).unwrap();
    let mut solved: HashMap<&str, Option<ShortestMates>> = HashMap::new();
    let mut session = Session::start(setup(Hashed::default()));
    let (mut total, mut total_shortest, mut worst) = (0, 0, 0.0_f64);
    for place in 0..count {
        let (white, black) = ENDINGS[place % ENDINGS.len()];
        let start = loop {
            let found = random_ending(&mut dice, &format!("K{white}"), &format!("K{black}"), 'w');
            let ranks = RootTables::new(&known, &found, &found.legal_actions()).unwrap();
            if ranks.value() == Some(TableResult::Win) {
                break found;
            }
        };
        let mates = match compare && black.is_empty() {
            true => solved.entry(white).or_insert_with(|| shortest_mates(white)).as_ref(),
            false => None,
        };
        let (mut game, fen, mut moves) = (start.clone(), start.fen(), String::new());
        while game.ending().is_none() {
            let action = if game.position().turn() == Color::White {
                session.send(&format!("position fen {fen} moves{moves}"));
                session.send("go nodes 100");
                let answer = session.expect("bestmove *");
                let text = answer.split(' ').nth(1).unwrap();
                let action = engine::Action::from_uci(text, game.position()).unwrap();
                let ranks = RootTables::new(&known, &game, &game.legal_actions()).unwrap();
                let forced = || ranks.keeping().iter().all(|other| gives_away(&game, *other));
                assert!(!gives_away(&game, action) || forced(), "{fen} moves{moves} {text}");
                action
            } else if place % 2 == 0 {
                resist(&game, mates, &base)
            } else {
                *dice.pick(&game.legal_actions())
            };
            moves = format!("{moves} {}", game.uci(action));
            game.play(action).unwrap();
        }
        assert!(game.position().is_checkmate(), "{fen} moves{moves}");
        let plies = game.actions().len();
        match mates.and_then(|mates| mates.plies(start.position())) {
            Some(shortest) => {
                let shortest = shortest as usize;
                (total, total_shortest) = (total + plies, total_shortest + shortest);
                worst = worst.max(plies as f64 / shortest as f64);
                assert!(plies <= 2 * shortest, "{plies} plies, not {shortest}: {fen} moves{moves}");
            }
            None => assert!(plies <= MOST_PLIES, "{plies} plies: {fen} moves{moves}"),
        }
    }
    if compare {
        println!(
            "{count} endings; {total} plies, shortest {total_shortest}, at most {worst:.2} times"
        );
    }
    session.finish();
}

/// The rook guards the bishop from the king, back and forth. The third time would be a draw.
#[test]
fn a_won_ending_is_not_drawn_by_repetition() {
    let mut session = Session::start(setup(Hashed::default()));
    let fen = "5R1K/8/8/2B5/8/8/3k4/8 w - - 0 1";
    let moves = "h8h7 d2d3 h7g6 d3c4 c5b6 c4d5 g6f5 d5d6 f8d8 d6c6 b6a7 c6c7 d8b8 c7d6 b8b5 d6c6 b5c5 c6b7 c5a5 b7c7 \
                 f5e6 c7c6 a5c5 c6b7 c5a5 b7c6 a5f5 c6c7 f5c5 c7b7";
    let mut game = game(fen);
    for text in moves.split_whitespace() {
        game.play_uci(text).unwrap();
    }
    session.send(&format!("position fen {fen} moves {moves}"));
    session.send("go nodes 100");
    let answer = session.expect("bestmove *");
    game.play_uci(answer.split(' ').nth(1).unwrap()).unwrap();
    let third = |reply: &engine::Action| {
        let mut after = game.clone();
        after.play(*reply).unwrap();
        after.ending() == Some(Ending::Threefold)
    };
    assert!(!game.legal_actions().iter().any(third), "{answer}");
    session.finish();
}

#[test]
fn won_endings_are_won_without_giving_pieces_away() {
    win_endings(30, 11, false);
}

#[test]
#[ignore = "takes minutes: solves ten endings by retrograde analysis"]
fn two_hundred_won_endings_take_at_most_twice_the_shortest_mate() {
    win_endings(200, 12, true);
}

/// Plies to mate in games of a level with `white` against a lone king that resists as long as it can; none of those
/// drawn or given away.
fn mates_at(elo: u32, white: &str, count: usize, setup: Setup) -> Vec<Option<usize>> {
    let mut base = Tablebase::new();
    base.add_directory(Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/syzygy")).unwrap();
    let mut dice = Dice::new(u64::from(elo));
    let mut session = Session::start(setup);
    for option in ["UCI_LimitStrength value true", "Seed value 5", "Threads value 1"] {
        session.send(&format!("setoption name {option}"));
    }
    session.send(&format!("setoption name UCI_Elo value {elo}"));
    let mut mates = Vec::new();
    for _ in 0..count {
        let start = random_ending(&mut dice, &format!("K{white}"), "K", 'w');
        let (mut game, fen, mut moves) = (start.clone(), start.fen(), String::new());
        while game.ending().is_none() && game.position().board().occupied().count() == 3 {
            let action = if game.position().turn() == Color::White {
                session.send(&format!("position fen {fen} moves{moves}"));
                session.send("go wtime 60000 btime 60000");
                let answer = session.expect("bestmove *");
                let text = answer.split(' ').nth(1).unwrap();
                engine::Action::from_uci(text, game.position()).unwrap()
            } else {
                resist(&game, None, &base)
            };
            moves = format!("{moves} {}", game.uci(action));
            game.play(action).unwrap();
        }
        mates.push(game.position().is_checkmate().then_some(game.actions().len()));
    }
    session.finish();
    mates
}

#[test]
fn a_club_player_mates_with_a_queen_or_a_rook() {
    let play = |elo, white| mates_at(elo, white, 3, setup(Hashed::default()));
    for white in ["Q", "R"] {
        assert!(play(1320, white).iter().all(Option::is_some), "{white}");
        let plies = play(1800, white);
        assert!(plies.iter().all(|plies| plies.is_some_and(|plies| plies <= 60)), "{plies:?}");
        assert!(play(1000, white).iter().any(Option::is_none), "errors stay");
    }
}

#[test]
#[ignore = "takes minutes: 20 games of six levels with each piece, by the bundled network"]
fn levels_mate_within_the_rule_in_proportion() {
    for elo in [1000, 1200, 1320, 1500, 1800, 2200] {
        for white in ["Q", "R"] {
            let plies = mates_at(elo, white, 20, Setup::default());
            let mated: Vec<usize> = plies.iter().flatten().map(|plies| plies.div_ceil(2)).collect();
            let (sum, most) = (mated.iter().sum::<usize>(), mated.iter().max());
            let mean = sum as f64 / mated.len().max(1) as f64;
            println!("{elo} K{white}: {} of 20, {mean:.1} moves, at most {most:?}", mated.len());
            assert!(elo < 1320 || mated.len() >= 19);
            assert!(elo < 1800 || most.is_some_and(|most| *most <= 30));
        }
    }
}
