//! The paper's example and random trees: parsing inverts printing.

use super::super::boards::path_of;
use super::super::check::check;
use super::super::print::{Marks, print};
use super::super::teacher::{Teacher, step};
use super::*;
use crate::internal::grammar::Grammar;
use chess::game::Game;
use nn::rng::Rng;
use nn::writer::Writer;
use shakmaty::Position;

/// Figure 4 of paper 000, two moves wide, values reduced by 101, lists truncated.
const EXAMPLE: &str = r#"Minimax breadth=2 depth=1
Evaluation for node: <root>
<mav game=chess> %state %top_all %best_action </mav>
[%state 2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PPr3P1/1K5R b]
[%top_all g3d6:<ctrl34> g3g6:<ctrl32> c2e2:<ctrl31>]
[%best_action g3d6]

Expand from node <root>:
<root g3d6>
<root g3g6>

Evaluation for node: <root g3d6>
<mav game=chess> %prev_state %prev_action %state %top_all %best_action </mav>
[%prev_state 2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PPr3P1/1K5R b]
[%prev_action g3d6]
[%state 2r3k1/p3p3/3qN1Pp/3Q4/8/5P2/PPr3P1/1K5R w]
[%top_all d5d6:<ctrl31> d5b3:<ctrl22>]
[%best_action d5d6]
Decision for node: <root g3d6>
Selecting: d5d6 : "<ctrl31>"

Evaluation for node: <root g3g6>
<mav game=chess> %prev_state %prev_action %state %top_all %best_action </mav>
[%prev_state 2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PPr3P1/1K5R b]
[%prev_action g3g6]
[%state 2r3k1/p3p3/4N1qp/3Q4/8/5P2/PPr3P1/1K5R w]
[%top_all e6f4:<ctrl21> b2b3:<ctrl1>]
[%best_action e6f4]
Decision for node: <root g3g6>
Selecting: e6f4 : "<ctrl21>"

Decision for node: <root> g3d6 : "<ctrl32>" g3g6 : "<ctrl42>"
Selecting: g3g6 : "<ctrl42>"
Playing g3g6!
"#;

#[test]
fn the_papers_example_is_read_and_printed() {
    let thought = parse(EXAMPLE).unwrap();
    assert_eq!(thought.played().map(|action| format!("{action:?}")).as_deref(), Some("g3g6"));
    assert_eq!(print(&thought, &Marks::default()), EXAMPLE);
    let fen = "2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PPr3P1/1K5R b - - 0 1";
    let report = check(&thought, &Game::from_fen(fen, false).unwrap());
    assert_eq!(report.marks, Marks::default());
    assert_eq!((report.states[0].right, report.decisions.right), (2, 3));
    // The teacher writes the same words.
    let mut grammar = Grammar::new(thought.trace.shape(), thought.trace.backup());
    grammar.follow(&thought.trace).unwrap();
    assert!(grammar.is_done());
    let line: Vec<String> =
        thought.line(thought.played().unwrap()).iter().map(|a| format!("{a:?}")).collect();
    assert_eq!(line, ["g3g6", "e6f4"]);
}

#[test]
fn errors_are_in_brackets() {
    let wrong = EXAMPLE
        .replace("[%state 2r3k1/p3p3/4N1qp", "[%state 2r3k1/p3p3/4N2p")
        .replace("c2e2:<ctrl31>", "c2e3:<ctrl31>")
        .replace("g3d6 : \"<ctrl32>\"", "g3d6 : \"<ctrl33>\"");
    let thought = parse(&wrong).unwrap();
    let fen = "2r3k1/p3p3/4N1Pp/3Q4/8/5Pq1/PPr3P1/1K5R b - - 0 1";
    let report = check(&thought, &Game::from_fen(fen, false).unwrap());
    let text = print(&thought, &report.marks);
    for mark in [
        "[%state [2r3k1/p3p3/4N2p/3Q4/8/5P2/PPr3P1/1K5R w]]",
        "[c2e3]:<ctrl31>",
        "[Selecting: g3g6 : \"<ctrl42>\"]",
    ] {
        assert!(text.contains(mark), "{mark}\n{text}");
    }
    assert!(report.to_string().contains("states at level 1   1 of 2 right"), "{report}");
}

#[test]
fn a_line_that_does_not_read_is_named() {
    for (from, to, expected) in [
        ("breadth=2", "breadth=x", "line 1: expected Minimax or AlphaBeta, breadth=NUMBER"),
        ("<ctrl34>", "<ctrl64>", "<ctrl0> to <ctrl63>"),
        ("[%best_action g3d6]", "[%best_action g3g6]", "the first move of the list"),
        ("[%prev_action g3d6]", "[%prev_action g3g6]", "[%prev_action g3d6]"),
        ("Decision for node: <root g3d6>", "Decision for node: <root g3d7>", "a node named before"),
        ("Selecting: d5d6", "Selecting: d5b3", "a source of `select`"),
        ("Playing g3g6!", "Playing g3d6!", "a source of `play`"),
        ("3qN1Pp/3Q4", "3qN1Pp/3Q5", "a board in FEN"),
        ("Playing g3g6!", "Stalling g3g6!", "expected Playing"),
        ("Playing g3g6!", "Playing g3g6!\nPlaying g3g6!", "expected the end"),
    ] {
        let error = parse(&EXAMPLE.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    let (head, _) = EXAMPLE.split_at(EXAMPLE.find("[%top_all d5d6").unwrap());
    assert!(parse(head).unwrap_err().to_string().contains("the end"));
}

/// Boards with castling rights, Chess960's, en passant, clocks, and impossible ones.
const BOARDS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 1",
    "8/2p5/3p4/KP5r/1R3pPk/8/4P3/8 b - g3 0 1",
    "1r2k1r1/8/8/8/8/8/8/R3K2R b KQgb - 37 1",
    "4k3/8/8/8/8/QQQQQQQQ/QQQQQQQQ/4K3 b - - 99 1",
    "8/8/8/8/8/5k2/7q/7K w - - 0 1",
];

/// A random tree, written by the teacher.
fn made_up(seed: u64) -> Thought {
    let mut random = Rng::from_state(seed);
    let shape = Shape { breadth: 1 + random.below(5) as u8, depth: random.below(4) as u8 };
    let backup = Backup::ALL[seed as usize % 2];
    let trace = Trace::new(shape, backup);
    let mut thought = Thought { trace, pages: Vec::new(), end: ThoughtEnd::Stopped };
    let mut grammar = Grammar::new(shape, backup);
    let mut teacher = Teacher::default();
    while !grammar.is_done() {
        let trace = &mut thought.trace;
        if let Some(node) = trace.asks_for() {
            let fen: Fen = BOARDS[random.below(BOARDS.len())].parse().unwrap();
            let state = Chess::from_setup(fen.into_setup(), CastlingMode::Chess960)
                .or_else(PositionError::ignore_too_much_material)
                .unwrap();
            let mut list: Vec<(Action, u8)> = Vec::new();
            for _ in 0..1 + random.below(9) {
                let promotion = [0, 0, 0, 4][random.below(4)] << 12;
                let action = Action::from(random.below(64 * 64) as u16 | promotion);
                // Few values, so that some are equal.
                let bucket = [0, 5, 31, 32, 62, 63][random.below(6)];
                if list.iter().all(|(other, _)| *other != action)
                    && action.origin() != action.target()
                {
                    list.push((action, bucket));
                }
            }
            let page = match random.below(6) {
                0 if node > 0 => {
                    let outcome = [PredictedOutcome::Won(!state.turn()), PredictedOutcome::Drawn]
                        [random.below(2)];
                    NodePage::over(Some(state), outcome)
                }
                1 if node > 0 => NodePage::refused(),
                _ if list.is_empty() => continue,
                _ => {
                    let answer = NodeAnswer::List(list);
                    NodePage { state: Some(state), answer }
                }
            };
            page.give(trace);
            let place = usize::from(node);
            thought.pages.resize(thought.pages.len().max(place + 1), None);
            thought.pages[place] = Some(page);
        } else {
            let next = teacher.next(trace, &[]).unwrap();
            assert_eq!(Some(next), step(&grammar, trace));
            trace.write(next).unwrap();
        }
        grammar.follow(&thought.trace).unwrap();
    }
    thought.end = ThoughtEnd::Played;
    thought
}

#[test]
fn printed_trees_are_read_back_the_same() {
    let mut nodes = 0;
    for seed in 0..150 {
        let thought = made_up(seed);
        let text = print(&thought, &Marks::default());
        match parse(&text) {
            Ok(read) => assert_eq!(read, thought, "seed {seed}\n{text}"),
            Err(error) => panic!("seed {seed}: {error}\n{text}"),
        }
        nodes += thought.pages.len();
        assert!(thought.pages.len() <= thought.trace.shape().nodes());
    }
    assert!(nodes > 1500, "{nodes}");
}

/// Value of a node by plain recursion over the pages, and the index of the first move with it.
fn minimax(thought: &Thought, node: u8, level: u8) -> u8 {
    let words = thought.trace.words();
    let shape = thought.trace.shape();
    let page = thought.pages[usize::from(node)].as_ref().unwrap();
    if let Some(end) = page.end() {
        return end;
    }
    if level == shape.depth {
        return page.list()[0].1;
    }
    let children =
        words.iter().filter(|word| word.kind == Kind::Child && word.parent == Some(node));
    let evaluated = children.filter_map(|child| {
        let node = child.node?;
        thought.pages.get(usize::from(node))?.as_ref().map(|_| node)
    });
    evaluated.map(|child| 63 - minimax(thought, child, level + 1)).max().unwrap()
}

/// The same tree by alpha-beta, as far as it searches; or with the first choice between a node's next child and its
/// decision inverted.
fn pruned(whole: &Thought, wrong: bool) -> Thought {
    let shape = whole.trace.shape();
    let trace = Trace::new(shape, Backup::AlphaBeta);
    let mut thought = Thought { trace, pages: Vec::new(), end: ThoughtEnd::Stopped };
    let mut grammar = Grammar::new(shape, Backup::AlphaBeta);
    let all = 0..whole.pages.len() as u8;
    let mut erred = false;
    let named: Vec<_> = all.map(|node| (path_of(&whole.trace, node), node)).collect();
    while !grammar.is_done() {
        let trace = &mut thought.trace;
        if let Some(node) = trace.asks_for() {
            let path = path_of(trace, node);
            let (_, same) = named.iter().find(|(other, _)| *other == path).unwrap();
            let page = whole.pages[usize::from(*same)].clone().unwrap();
            page.give(trace);
            let place = usize::from(node);
            thought.pages.resize(thought.pages.len().max(place + 1), None);
            thought.pages[place] = Some(page);
        } else {
            let due = step(&grammar, trace).unwrap();
            let allowed = grammar.allowed();
            let other = allowed.iter().find(|other| other.kind != due.kind);
            match other.filter(|_| wrong && !erred) {
                Some(other) => {
                    erred = true;
                    trace.write(WordChoice {
                        kind: other.kind,
                        source: other.sources[0],
                        bucket: 0,
                    })
                }
                None => trace.write(due),
            }
            .unwrap();
        }
        grammar.follow(&thought.trace).unwrap();
    }
    thought.end = ThoughtEnd::Played;
    thought
}

#[test]
fn alpha_beta_plays_as_minimax_does_and_looks_at_less() {
    let (mut all, mut looked, mut choices) = (0, 0, 0);
    for seed in (0..200).step_by(2) {
        let whole = made_up(seed);
        let pruned = pruned(&whole, false);
        assert_eq!(pruned.played(), whole.played(), "seed {seed}");
        let bucket = |thought: &Thought| {
            thought.trace.words().iter().rfind(|word| word.kind == Kind::Select).unwrap().bucket
        };
        assert_eq!(bucket(&pruned), bucket(&whole), "seed {seed}");
        let report = check(&pruned, &Game::default());
        assert_eq!(report.decisions.right, report.decisions.of);
        assert_eq!(report.cutoffs.right, report.cutoffs.of);
        choices += report.cutoffs.of;
        all += whole.pages.iter().flatten().count();
        looked += pruned.pages.iter().flatten().count();
    }
    assert!(choices > 200 && 4 * looked < 3 * all, "{choices} {looked} {all}");
}

#[test]
fn a_child_pruned_without_reason_is_detected() {
    let mut noticed = 0;
    for seed in (0..40).step_by(2) {
        let [right, wrong] = [false, true].map(|wrong| pruned(&made_up(seed), wrong));
        let cutoffs = check(&wrong, &Game::default()).cutoffs;
        assert_eq!(cutoffs.right == cutoffs.of, right == wrong, "seed {seed}");
        noticed += cutoffs.of - cutoffs.right;
    }
    assert!(noticed > 4, "{noticed}");
}

#[test]
fn the_teacher_decides_as_minimax_does() {
    for seed in 0..150 {
        let thought = made_up(seed);
        let words = thought.trace.words();
        let root = words.iter().rfind(|word| word.kind == Kind::Select).unwrap();
        assert_eq!(root.bucket, Some(minimax(&thought, 0, 0)), "seed {seed}");
        assert_eq!(thought.played(), thought.ranked().first().map(|(action, _)| *action));
        let report = check(&thought, &Game::default());
        assert_eq!(report.decisions.right, report.decisions.of);
    }
}

#[test]
fn a_shape_cut_short_is_noticed() {
    let thought = made_up(7);
    let mut grammar = Grammar::new(Shape { breadth: 1, depth: 0 }, thought.trace.backup());
    let wide = thought.trace.shape().depth > 0;
    assert_eq!(grammar.follow(&thought.trace).is_err(), wide);
    let mut grammar = Grammar::new(Shape { breadth: 5, depth: 3 }, Backup::Minimax);
    let error = grammar.follow(&parse(EXAMPLE).unwrap().trace).unwrap_err().to_string();
    assert!(error.contains("word 9 is `eval`, expected `child`"), "{error}");
}
