//! The fifty-move rule to the ply, where a table's distance may be one short.

use crate::shortest_mates::ShortestMates;
use crate::{game, random_ending};
use chess::game::Game;
use chess::syzygy::root::RootTables;
use chess::syzygy::{TableResult, Tables};
use mavka_tests::Dice;
use shakmaty::Role;

/// Positions and plies to the next capture, pawn move or mate, by retrograde analysis of all positions of their
/// material without the DTZ tables. The longest of a kind; `+`: the table is one ply short.
const DISTANCES: [(&str, u32); 54] = [
    ("8/8/4k3/8/8/8/1Q6/K7 w", 19),
    ("8/5k2/8/8/8/8/1Q6/K7 b", 20),
    ("8/6R1/5k2/8/8/8/8/1K6 w", 31),
    ("8/3R1k2/8/8/8/8/8/1K6 b", 32),
    ("8/8/1k6/8/K7/6P1/8/8 w", 19),
    ("8/k7/8/8/K7/6P1/8/8 b", 20),
    ("3B4/3k4/8/7B/8/8/8/K7 w", 37),  // +
    ("3B4/8/4k3/7B/8/8/8/K7 b", 38),  // +
    ("8/8/8/6B1/8/5k2/8/2K4N w", 65), // +
    ("8/8/8/8/6k1/8/3B4/2K4N b", 66), // +
    ("3K4/7B/8/8/8/6kP/8/8 w", 25),
    ("3K4/8/8/8/5k2/7P/2B5/8 b", 26),
    ("6k1/6P1/8/6B1/8/8/8/3K4 w", 16), // +
    ("K3k3/6P1/8/6B1/8/8/8/8 b", 15),  // +
    ("3K4/1P6/Bk6/8/8/8/8/8 b", 3),    // +, called precise
    ("K4k1N/8/7P/8/8/8/8/8 w", 25),
    ("6k1/6P1/3N4/8/8/8/8/1K6 w", 16), // +
    ("2K5/k6P/2N5/8/8/8/8/8 b", 3),    // +, called precise
    ("7k/K7/8/8/8/6P1/6P1/8 w", 13),
    ("8/6Pk/7P/8/8/8/8/3K4 w", 14),  // +
    ("7k/6P1/7P/8/8/8/8/3K4 b", 15), // +
    ("1k1K4/P2P4/8/8/8/8/8/8 b", 3), // +, called precise
    ("8/k7/6p1/6P1/K7/8/8/8 w", 21),
    ("8/k7/6p1/K5P1/8/8/8/8 b", 20), // +
    ("k2K4/p2P4/8/8/8/8/8/8 w", 2),  // +
    ("2K5/8/1k6/8/8/6N1/7p/8 b", 15),
    ("2K5/8/1k6/7N/8/8/7p/8 w", 16),
    ("8/8/8/8/3K4/p7/k2N4/8 w", 12),
    ("8/8/8/8/8/p1K5/k2N4/8 b", 11),
    ("8/B7/5k2/8/3K4/8/8/Q7 w", 11),
    ("4k3/8/8/8/8/8/2K5/1BQ5 w", 12), // +
    ("6k1/B7/8/8/8/8/2K5/1Q6 b", 13), // +
    ("8/6k1/8/8/8/3K4/8/NQ6 w", 13),
    ("8/8/5k2/8/8/1Q6/2K5/N7 w", 14), // +
    ("8/6k1/8/8/8/1Q6/2K5/N7 b", 15), // +
    ("3k4/8/8/8/3K4/8/3Q4/3Q4 w", 6), // +
    ("4k3/8/8/8/3K4/8/3Q4/3Q4 b", 7), // +
    ("8/8/4k3/8/8/8/2K5/1QR5 w", 8),  // +
    ("8/5k2/8/8/8/8/2K5/1QR5 b", 9),  // +
    ("K1k5/P7/7Q/8/8/8/8/8 w", 4),    // +
    ("2QK3k/6P1/8/8/8/8/8/8 b", 3),   // +, called precise
    ("8/8/5k2/6b1/8/8/2Q5/2K5 w", 23),
    ("8/8/5k2/8/7b/8/2Q5/2K5 b", 24),
    ("8/8/8/8/6n1/8/8/1k1K3R w", 53), // +
    ("8/8/8/8/8/8/7n/1k1K3R b", 54),  // +
    ("K7/1Q6/8/8/8/8/4pk2/8 w", 49),
    ("K7/1Q6/8/8/8/5k2/4p3/8 b", 50),
    ("3Q4/3K4/8/8/8/3k4/3p4/8 w", 52), // +
    ("3Q4/3K4/8/8/3k4/8/3p4/8 b", 53), // +
    ("3K3k/5p2/5Q2/8/8/8/8/8 b", 3),   // +, called precise
    ("8/8/5k2/8/8/8/RK6/1R6 w", 10),   // +
    ("8/6k1/8/8/8/8/RK6/1R6 b", 11),   // +
    ("8/8/8/8/8/3kn3/8/3KQ3 w", 37),
    ("8/8/8/5n2/8/3k4/8/3KQ3 b", 38),
];

/// The result by the tables `clock` plies after the last capture or pawn move.
fn value(known: &Tables, board: &str, clock: u32) -> Option<TableResult> {
    let game = game(&format!("{board} - - {clock} 90"));
    RootTables::new(known, &game, &game.legal_actions())?.value()
}

/// Asserts that the game is decided with the last ply of the rule, and drawn without it.
fn assert_last_ply_decides(known: &Tables, board: &str, plies: u32, decided: TableResult) {
    assert_eq!(value(known, board, 100 - plies), Some(decided), "{board} {plies}");
    if plies > 1 {
        assert_eq!(value(known, board, 101 - plies), Some(TableResult::Draw), "{board} {plies}");
    }
}

#[test]
fn the_last_ply_of_the_rule_decides() {
    let known = Tables::with_bundled("");
    for (board, plies) in DISTANCES {
        let decided = value(&known, board, 0).unwrap();
        assert_ne!(decided, TableResult::Draw, "{board}");
        assert_last_ply_decides(&known, board, plies, decided);
    }
}

fn board(game: &Game) -> String {
    game.fen().split(' ').take(2).collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "takes ten seconds: solves three endings by retrograde analysis"]
fn minor_pieces_mate_in_time_or_not_at_all() {
    let known = Tables::with_bundled("");
    let mut dice = Dice::new(75);
    for (white, pieces) in [
        ("KR", vec![Role::Rook]),
        ("KBN", vec![Role::Bishop, Role::Knight]),
        ("KBB", vec![Role::Bishop, Role::Bishop]),
    ] {
        let mates = ShortestMates::new(&pieces);
        let mut checked = 0;
        while checked < 2000 {
            for (turn, decided) in [('w', TableResult::Win), ('b', TableResult::Loss)] {
                let game = random_ending(&mut dice, white, "k", turn);
                let Some(plies) = mates.plies(game.position()) else { continue };
                assert_last_ply_decides(&known, &board(&game), plies, decided);
                checked += 1;
            }
        }
    }
}
