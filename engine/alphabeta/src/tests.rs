//! Mates are found; a check at the maximum ply is not mate.

use super::bundled::nnue;
use super::*;
use chess::game::Game;
use shakmaty::Position;

/// Nodes left.
struct Budget(u64);

impl Observer for Budget {
    fn is_over(&mut self, positions: u64, _: &Chess) -> bool {
        self.0 = self.0.saturating_sub(positions);
        self.0 == 0
    }

    fn on_depth(&mut self, _: &SearchResult) {}
}

fn fresh() -> AlphaBeta {
    AlphaBeta::new(nnue().unwrap(), 1 << 18)
}

fn named(game: &Game, name: &str) -> Action {
    game.legal_actions().into_iter().find(|action| game.uci(*action) == name).unwrap()
}

/// Searches the last position of `game`.
fn look(
    search: &mut AlphaBeta,
    game: &Game,
    compared: Option<Action>,
    left: u64,
) -> Option<SearchResult> {
    let keys = game.keys().iter().copied();
    let compare = compared.map(|action| Comparison { action, margin: 0.0 });
    let request = SearchRequest { position: game.position(), allowed: &[], lines: 1, compare };
    search.search(keys, &request, &mut Budget(left))
}

fn ask(fen: &str, compared: &str, left: u64) -> SearchResult {
    let game = Game::from_fen(fen, false).unwrap();
    let compared = Some(named(&game, compared));
    let found = look(&mut fresh(), &game, compared, left).unwrap();
    let mut line = game.clone();
    for action in &found.best.line {
        line.play(*action).unwrap();
    }
    assert!(found.seldepth as usize >= found.best.line.len(), "{found:?}");
    if found.best.score > MATES {
        assert!(line.position().is_checkmate(), "{}", line.fen());
        assert_eq!(found.best.line.len() as i32, MATE - found.best.score);
    }
    found
}

/// The compared move is worse than the best one.
fn is_behind(found: &SearchResult) -> bool {
    found.compared.as_ref().is_some_and(|line| line.score < found.best.score)
}

#[test]
fn mates_are_found_and_counted() {
    // Two rooks; a smothered mate by a queen's sacrifice (Philidor's legacy).
    for (fen, quiet, moves) in [
        ("7k/8/8/8/8/8/R7/1R5K w - - 0 1", "h1g1", 2),
        ("5r1k/6pp/8/6N1/8/1Q6/6PP/6K1 w - - 0 1", "h2h3", 4),
    ] {
        let found = ask(fen, quiet, 400_000);
        // Pruning may miss the shortest mate.
        assert!((2 * moves - 1..=2 * moves + 1).contains(&(MATE - found.best.score)), "{found:?}");
        assert!(is_behind(&found));
    }
}

#[test]
fn a_check_at_the_deepest_ply_is_no_mate() {
    // Far enough ahead that even the static eval in check is high.
    let game = Game::from_fen("4k3/8/8/8/8/8/8/r3K1QQ w - - 0 1", false).unwrap();
    let position = game.position();
    let (mut memory, mut watch) = (fresh(), Budget(100_000));
    let mut tree = Tree {
        memory: &mut memory,
        position,
        allowed: &[],
        watch: &mut watch,
        nodes: 0,
        reported: 0,
        depth: 1,
        seldepth: 0,
        root_width: INFINITE,
        lines: 1,
        compare: None,
        averages: vec![None],
        done: Vec::new(),
        hint: None,
        line: Vec::new(),
        null_move_min_ply: 0,
        stopped: false,
    };
    assert!(tree.quiesce(position, -INFINITE, INFINITE, MAX_PLY) > 100);
    assert!(tree.quiesce(position, -INFINITE, INFINITE, MAX_PLY - 5) > -MATES);
}

#[test]
fn a_stopped_search_returns_its_last_depth() {
    let game = Game::default();
    let first = look(&mut fresh(), &game, None, 256).unwrap();
    let later = look(&mut fresh(), &game, None, 50_000).unwrap();
    assert!(first.depth >= 1 && later.depth > first.depth + 3, "{first:?} {later:?}");
    assert!(
        look(
            &mut fresh(),
            &Game::from_fen("7k/8/6Q1/8/8/8/8/K7 b - - 0 1", false).unwrap(),
            None,
            999
        )
        .is_none()
    );
}

#[test]
fn a_compared_move_has_a_variation() {
    let fen = "r1bq1rk1/pp1p1pbp/5np1/n1pPp3/2P5/2N3P1/PP1NPPBP/R1BQK2R w KQ e6 0 9";
    let game = Game::from_fen(fen, false).unwrap();
    let candidates = ["d5d6", "e1g1"].map(|name| named(&game, name));
    for left in (10_000..30_000).step_by(1_000) {
        let look = |action| look(&mut fresh(), &game, Some(action), left).unwrap();
        let compared = candidates.map(|action| look(action).compared).into_iter().flatten();
        let lines: Vec<_> = compared.map(|compared| compared.line).collect();
        assert!(!lines.is_empty());
        for variation in lines {
            assert!(variation.len() > 1 && candidates.contains(&variation[0]), "{variation:?}");
            let mut line = game.clone();
            variation.iter().for_each(|action| line.play(*action).unwrap());
        }
    }
}

/// The best moves by name with their scores.
fn rank(fen: &str, lines: usize, left: u64) -> Vec<(String, i32)> {
    let game = Game::from_fen(fen, false).unwrap();
    let request = SearchRequest { position: game.position(), allowed: &[], lines, compare: None };
    let keys = game.keys().iter().copied();
    let found = fresh().search(keys, &request, &mut Budget(left)).unwrap();
    for variation in found.variations() {
        let mut line = game.clone();
        variation.line.iter().for_each(|action| line.play(*action).unwrap());
    }
    found.variations().map(|variation| (game.uci(variation.line[0]), variation.score)).collect()
}

#[test]
fn the_best_moves_have_lines_of_their_own_in_order() {
    // The queen, the rook, or nothing is taken.
    let fen = "4k3/8/8/2q1r3/3P4/8/8/7K w - - 0 1";
    let [(first, most), (second, less), (_, least)] = &rank(fen, 3, 30_000)[..] else { panic!() };
    assert_eq!([first.as_str(), second], ["d4c5", "d4e5"]);
    assert!(most > less && *less > least + 100, "{most} {less} {least}");
    // Both mates, although the first would end the search.
    let mates = rank("7k/8/6K1/8/8/8/8/R1R5 w - - 0 1", 2, 30_000);
    let mut names: Vec<&str> = mates.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!((names, mates[1].1), (vec!["a1a8", "c1c8"], MATE - 1));
    // There are no more moves.
    assert_eq!(rank("7k/8/8/8/8/8/8/K6r w - - 0 1", 10, 5_000).len(), 2);
    // Wherever the search stops, there are as many variations as at the depth before.
    for left in (4_000..6_000).step_by(150) {
        let ranked = rank("4k3/8/8/2q1r3/3P4/8/8/7K w - - 0 1", 4, left);
        let mut names: Vec<&String> = ranked.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), ranked.len()), (4, 4), "{left}: {ranked:?}");
        assert!(ranked[1..].is_sorted_by_key(|(_, score)| -score), "{left}: {ranked:?}");
    }
}

/// A win of material, two mates of equal length, a mate against a quiet move.
#[test]
fn a_compared_move_counts_as_equal_within_its_margin_alone() {
    for (fen, compared, margin, best, equal) in [
        ("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1", "e1e2", 0.0, Some("b5c7"), false),
        ("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1", "e1e2", 0.9, Some("b5c7"), true),
        ("r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1", "b5c7", 0.1, Some("b5c7"), true),
        ("7k/8/6K1/8/8/8/8/R1R5 w - - 0 1", "a1a8", 0.0, None, true),
        ("7k/8/6K1/8/8/8/8/R1R5 w - - 0 1", "c1c8", 0.0, None, true),
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d7", 0.1, Some("d1d8"), false),
    ] {
        let game = Game::from_fen(fen, false).unwrap();
        let compare = Some(Comparison { action: named(&game, compared), margin });
        let request = SearchRequest { position: game.position(), allowed: &[], lines: 1, compare };
        let keys = game.keys().iter().copied();
        let found = fresh().search(keys, &request, &mut Budget(20_000)).unwrap();
        let name = game.uci(found.best.line[0]);
        assert!(best.is_none_or(|best| best == name), "{fen}: {name}");
        let as_good = found.compared.is_none_or(|line| line.score >= found.best.score);
        assert_eq!(as_good || name == compared, equal, "{fen} {compared}");
    }
}

/// `startpos moves e2e4 e7e5 d1h5 g8f6 h5f7 e8f7 g1f3 d7d6 b1c3 h8g8 f3g1 g8h8`: Black is a queen for a pawn ahead, and
/// repeating a position of the game once is no draw.
#[test]
fn a_position_of_the_game_must_come_a_third_time_to_be_a_draw() {
    let mut game = Game::default();
    for text in "e2e4 e7e5 d1h5 g8f6 h5f7 e8f7 g1f3 d7d6 b1c3 h8g8 f3g1 g8h8".split(' ') {
        game.play_uci(text).unwrap();
    }
    let found = look(&mut fresh(), &game, None, 20_000).unwrap();
    assert!(found.best.score < -400, "{found:?}");
}
