//! Alpha-beta agrees with minimax, and both solve simple positions.

use super::*;
use alphabeta::AlphaBeta;
use alphabeta::bundled::nnue;
use nn::rng::Rng;

/// Limits the number of nodes.
struct Budget {
    nodes: u64,
    found: Vec<PlayerResult>,
}

impl PlayerWatch for Budget {
    fn is_over(&mut self, nodes: u64) -> bool {
        nodes >= self.nodes
    }

    fn on_found(&mut self, found: &PlayerResult) {
        self.found.push(found.clone());
    }
}

fn run(
    game: &Game,
    pruning: Pruning,
    depth: Option<u32>,
    nodes: u64,
) -> (PlayerResult, Vec<PlayerResult>) {
    let allowed = game.legal_actions();
    let question = NegamaxRequest { game, allowed: &allowed, pruning, depth };
    let mut budget = Budget { nodes, found: Vec::new() };
    let found = search(&question, &mut budget).unwrap();
    (found, budget.found)
}

/// A random game that is not over.
fn random_game(random: &mut Rng) -> Game {
    let mut game = Game::default();
    for _ in 0..6 + random.below(60) {
        let moves = game.legal_actions();
        let mut next = game.clone();
        next.play(moves[random.below(moves.len())]).unwrap();
        if next.ending().is_some() {
            break;
        }
        game = next;
    }
    game
}

/// Minimax in eight lines, independent of the code above except for quiescence and draw rules.
fn oracle(tree: &mut NegamaxSearch<'_, '_>, position: &Chess, depth: i32, ply: usize) -> i32 {
    let moves = position.legal_moves();
    if let Some(end) = ending::by_board(position, moves.len()) {
        return if end.winner().is_some() { ply as i32 - MATE } else { 0 };
    }
    let returns = ending::repeats(position, |plies| key_before(&tree.keys, plies), ply);
    if ply > 0 && (by_fifty_moves(position) || returns) {
        return 0;
    }
    let depth = depth + i32::from(ply > 0 && position.is_check());
    if depth <= 0 {
        return tree.quiesce(position, -INFINITE, INFINITE, ply);
    }
    let mut best = -INFINITE;
    for m in moves {
        let mut next = position.clone();
        next.play_unchecked(m);
        tree.keys.push(ending::key(&next));
        best = best.max(-oracle(tree, &next, depth - 1, ply + 1));
        tree.keys.pop();
    }
    best
}

#[test]
fn alpha_beta_has_minimax_value_on_random_positions() {
    let mut random = Rng::from_state(11);
    let (mut pruned, mut full) = (0, 0);
    for number in 0..30 {
        let game = random_game(&mut random);
        let allowed = game.legal_actions();
        // Three plies without pruning on a full board take seconds.
        let depth = if allowed.len() < 12 { 3 } else { 1 + number % 2 };
        let score = |pruning| {
            let question = NegamaxRequest { game: &game, allowed: &allowed, pruning, depth: None };
            let mut budget = Budget { nodes: u64::MAX, found: Vec::new() };
            let mut tree = NegamaxSearch::new(&question, &mut budget);
            let score = tree.root(game.position(), depth).unwrap();
            (score, tree.nodes)
        };
        let ((by_pruning, fewer), (by_all, more)) =
            (score(Pruning::AlphaBeta), score(Pruning::None));
        let question =
            NegamaxRequest { game: &game, allowed: &allowed, pruning: Pruning::None, depth: None };
        let mut budget = Budget { nodes: u64::MAX, found: Vec::new() };
        let expected =
            oracle(&mut NegamaxSearch::new(&question, &mut budget), game.position(), depth, 0);
        assert_eq!(by_all, expected, "{} at depth {depth}", game.fen());
        assert_eq!(by_pruning, expected, "{} at depth {depth}", game.fen());
        (pruned, full) = (pruned + fewer, full + more);
    }
    assert!(pruned * 2 < full, "{pruned} of {full} nodes");
}

#[test]
fn mates_in_two_are_found_and_counted() {
    for (fen, best) in [
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", &["a1a6"][..]),
        ("6k1/5ppp/8/8/8/8/4rPPP/R2R2K1 w - - 0 1", &["d1d8", "a1a8"]),
    ] {
        let game = Game::from_fen(fen, false).unwrap();
        for pruning in [Pruning::None, Pruning::AlphaBeta] {
            let (found, _) = run(&game, pruning, Some(4), u64::MAX);
            assert_eq!(found.mate_plies, Some(3), "{fen} {found:?}");
            assert!(best.contains(&game.uci(found.line[0]).as_str()), "{fen} {found:?}");
        }
    }
    let game = Game::from_fen("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", false).unwrap();
    let (found, _) = run(&game, Pruning::AlphaBeta, None, 1_000_000);
    assert_eq!((found.mate_plies, found.line.len()), (Some(3), 3), "{found:?}");
    // The same for the other side: mated in two plies after the key move.
    let mut after = game.clone();
    after.play_uci("a1a6").unwrap();
    assert_eq!(run(&after, Pruning::AlphaBeta, None, 1_000_000).0.mate_plies, Some(-2));
}

#[test]
fn hanging_pieces_are_taken_and_guarded_ones_not() {
    let free = Game::from_fen("4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1", false).unwrap();
    assert_eq!(free.uci(run(&free, Pruning::AlphaBeta, Some(1), u64::MAX).0.line[0]), "c3d5");
    // The pawn is defended: a one-ply search sees it only by quiescence.
    let guarded = Game::from_fen("4k3/2p5/3p4/8/8/8/3Q4/4K3 w - - 0 1", false).unwrap();
    assert_ne!(guarded.uci(run(&guarded, Pruning::AlphaBeta, Some(1), u64::MAX).0.line[0]), "d2d6");
}

#[test]
fn a_perpetual_saves_a_lost_position() {
    // Mate is threatened, and a rook is missing: only 1. Qe8+ Kh7 2. Qh5+ saves.
    let game = Game::from_fen("6k1/6p1/8/7Q/8/r7/1q6/7K w - - 0 1", false).unwrap();
    let (found, _) = run(&game, Pruning::AlphaBeta, Some(5), u64::MAX);
    assert_eq!(game.uci(found.line[0]), "h5e8", "{found:?}");
    assert!((found.win - 0.5).abs() < 1e-6, "{found:?}");
}

#[test]
fn lines_are_legal_and_deepening_continues_until_stopped() {
    let mut random = Rng::from_state(4);
    for _ in 0..20 {
        let game = random_game(&mut random);
        let (found, found_before) = run(&game, Pruning::AlphaBeta, None, 4000);
        let mut line = game.clone();
        for action in &found.line {
            line.play(*action).unwrap();
        }
        assert!(found.nodes < 4000 + 2 * POLL_INTERVAL);
        assert!(found_before.windows(2).all(|pair| pair[0].depth < pair[1].depth));
    }
}

#[test]
fn the_root_keeps_to_the_moves_that_are_allowed() {
    let game = Game::from_fen("4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1", false).unwrap();
    let allowed = vec![Action::from_uci("c3a4", game.position()).unwrap()];
    let question = NegamaxRequest {
        game: &game,
        allowed: &allowed,
        pruning: Pruning::AlphaBeta,
        depth: Some(3),
    };
    let mut budget = Budget { nodes: u64::MAX, found: Vec::new() };
    assert_eq!(search(&question, &mut budget).unwrap().line[0], allowed[0]);
    let none = NegamaxRequest { allowed: &[], ..question };
    assert_eq!(search(&none, &mut budget), None);
}

/// Limits the number of positions of the alpha-beta search.
struct NodeLimit(u64);

impl alphabeta::Observer for NodeLimit {
    fn is_over(&mut self, positions: u64, _: &Chess) -> bool {
        self.0 = self.0.saturating_sub(positions);
        self.0 == 0
    }

    fn on_depth(&mut self, _: &alphabeta::SearchResult) {}
}

#[test]
fn the_strong_alpha_beta_search_agrees_about_what_wins_material() {
    // Middlegames after random moves: something always hangs.
    let mut random = Rng::new(7);
    let (mut tried, mut same) = (0, 0);
    while tried < 60 {
        let mut game = Game::default();
        while game.ending().is_none() && game.actions().len() < 24 {
            let moves = game.legal_actions();
            game.play(moves[random.below(moves.len())]).unwrap();
        }
        if game.ending().is_some() {
            continue;
        }
        tried += 1;
        let (exact, _) = run(&game, Pruning::AlphaBeta, Some(3), u64::MAX);
        let compare = Some(alphabeta::Comparison { action: exact.line[0], margin: 0.0 });
        let question =
            alphabeta::SearchRequest { position: game.position(), allowed: &[], lines: 1, compare };
        let mut alpha_beta = AlphaBeta::new(nnue().unwrap(), 1 << 18);
        let keys = game.keys().iter().copied();
        let found = alpha_beta.search(keys, &question, &mut NodeLimit(40_000)).unwrap();
        assert!(found.depth >= 3);
        // More than the two evaluations differ by: a pawn and a half.
        let far = found.compared.is_some_and(|line| line.score + 150 < found.best.score);
        same += i32::from(!far);
    }
    // Beyond the third ply the results may differ.
    assert!(same >= 45, "{same} of {tried}");
}
