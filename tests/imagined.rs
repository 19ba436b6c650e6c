//! The imagined world: a perfect network's is the rules' world, and whatever a network says, the search
//! survives it, plays a legal move and tells what happened.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::world::memory::PredictionCache;
use engine::world::rules::{self, Scoring};
use engine::world::{LearnedWorld, RulesWorld, learned};
use engine::{Action, Game};
use mavka_tests::{Dice, Session, setup};
use mcts::{Leaf, Params, Patient, Searcher, Wdl, World};
use nn::checkpoint::Network;
use nn::encode::MoveCode;
use nn::evaluator::cpu::CpuEvaluator;
use nn::evaluator::fake::{Hashed, Perfect, Uniform};
use nn::evaluator::grounded;
use nn::net::NetConfig;
use nn::precision::Arithmetic;
use nn::{EvalError, Evaluation, Evaluator, Imagined, Query, Refusal, Step, Transition};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, EnPassantMode, Position};
use std::sync::Arc;

const STARTS: [(&str, bool); 5] = [
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", false),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", false),
    ("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", true),
    // Mates, stalemates and bare kings are near; so is the fiftieth move.
    ("7k/8/5KQ1/8/8/8/8/8 w - - 95 80", false),
    ("8/8/8/8/8/4k1p1/8/5K2 b - - 96 80", false),
];

fn rules_world(evaluator: Arc<dyn Evaluator>) -> RulesWorld {
    RulesWorld::new(evaluator, Scoring::Mean, 0.5)
}

fn learned_world(evaluator: impl Evaluator + 'static, bytes: usize) -> LearnedWorld {
    let evaluator: Arc<dyn Evaluator> = Arc::new(evaluator);
    let memory = Arc::new(PredictionCache::new(bytes));
    LearnedWorld::new(evaluator.clone(), rules_world(evaluator), memory).expect("it imagines")
}

/// One thread, one leaf at a time.
fn searcher<W: World>() -> Searcher<W> {
    Searcher::new(Params { batch: 1, ..Params::default() }, 8 << 20)
}

#[test]
fn a_perfect_imagination_searches_as_the_rules_do() {
    for (fen, chess960) in STARTS {
        let mut game = Game::from_fen(fen, chess960).unwrap();
        // There and back again: the root was on the board before, and repetitions count.
        let mut dice = Dice::new(3);
        for _ in 0..4 {
            let legal = game.legal_actions();
            game.play(*dice.pick(&legal)).unwrap();
            if game.ending().is_some() {
                game = Game::from_fen(fen, chess960).unwrap();
            }
        }
        let (mut by_rules, mut imagined) = (searcher(), searcher());
        by_rules.set_root(rules::RulesState::root(&game));
        imagined.set_root(learned::LearnedState::root(&game));
        let truth = rules_world(Arc::new(Hashed::default()));
        let world = learned_world(Perfect(Hashed::default()), 1 << 24);
        let a = by_rules.run(&truth, 1, Some(1_500), &Patient).snapshot;
        let b = imagined.run(&world, 1, Some(1_500), &Patient).snapshot;
        assert_eq!(a.lines, b.lines, "{fen}");
        assert_eq!((a.playouts, a.depth, b.refused), (b.playouts, b.depth, 0), "{fen}");
        assert_eq!(world.predictions().counts().1, 0);
    }
}

#[test]
fn whole_games_are_imagined_state_by_state() {
    for seed in 0..30 {
        let mut dice = Dice::new(seed);
        let (fen, chess960) = *dice.pick(&STARTS);
        let root = Game::from_fen(fen, chess960).unwrap();
        let world = learned_world(Perfect(Uniform), 1 << 22);
        let (mut game, mut state) = (root.clone(), learned::LearnedState::root(&root));
        for ply in 0..60 {
            if game.ending().is_some() {
                break;
            }
            let legal = game.legal_actions();
            let action = *dice.pick(&legal);
            game.play(action).unwrap();
            let before = state.clone();
            assert_eq!(
                world.step(&mut state, action),
                None,
                "seed {seed} ply {ply}: not known yet"
            );
            let leaf = world.evaluate(&[&state]).unwrap().remove(0);
            let drawn_by_path = game.position().halfmoves() >= 100;
            match (leaf, game.position().legal_moves().len()) {
                (Leaf::Over(end), 0) => {
                    let mated = game.position().is_check();
                    assert_eq!(end, if mated { Wdl::LOSS } else { Wdl::DRAW });
                }
                (Leaf::Over(end), _) => {
                    assert!(game.position().is_insufficient_material() && end == Wdl::DRAW);
                }
                (Leaf::Open { edges, value }, moves) => {
                    assert_eq!(edges.len(), moves, "seed {seed} ply {ply}");
                    assert!(!drawn_by_path || value == Wdl::DRAW);
                }
                (leaf @ (Leaf::Refused | Leaf::Known(_)), _) => {
                    panic!("seed {seed} ply {ply}: {leaf:?}")
                }
            }
            // The second time the way is known, and an end of the path is one.
            state = before;
            let end = world.step(&mut state, action);
            let over = game.position().legal_moves().is_empty();
            assert!(end == Some(Wdl::DRAW) || over || !drawn_by_path, "seed {seed} ply {ply}");
            let seen = state.position().expect("known by now");
            assert_eq!(seen, &grounded(game.position()), "seed {seed} ply {ply}");
            assert_eq!(seen.halfmoves(), game.position().halfmoves());
            if end.is_some() {
                break;
            }
        }
    }
}

#[test]
fn what_is_forgotten_is_imagined_again() {
    let world = learned_world(Perfect(Hashed::default()), 1 << 22);
    let mut game = Game::default();
    let mut way = learned::LearnedState::root(&game);
    let mut dice = Dice::new(1);
    let mut known = None;
    for _ in 0..20 {
        let legal = game.legal_actions();
        let action = *dice.pick(&legal);
        game.play(action).unwrap();
        let from = way.clone();
        world.step(&mut way, action);
        known = world.evaluate(&[&way]).unwrap().pop();
        way = from;
        assert_eq!(world.step(&mut way, action), None);
    }
    // Another world remembers nothing: the whole way is asked for, beside a short one.
    let blank = learned_world(Perfect(Hashed::default()), 1);
    let root = learned::LearnedState::root(&Game::default());
    let (mut long, mut short) = (root.clone(), root);
    game.actions().iter().for_each(|action| assert_eq!(blank.step(&mut long, *action), None));
    blank.step(&mut short, game.actions()[0]);
    let leaves = blank.evaluate(&[&long, &short]).unwrap();
    assert_eq!(format!("{:?}", leaves.first()), format!("{:?}", known.as_ref()));
    assert!(matches!(&leaves[1], Leaf::Open { edges, .. } if edges.len() == 20));
    assert_eq!(blank.predictions().counts(), (21, 0));
    // A search with no memory to speak of is slower, not lost.
    let mut searcher = searcher();
    searcher.set_root(learned::LearnedState::root(&game));
    let snapshot = searcher.run(&blank, 2, Some(300), &Patient).snapshot;
    assert_eq!((snapshot.playouts, snapshot.refused), (300, 0));
}

#[test]
fn repetitions_and_fifty_moves_are_draws_in_imagination_too() {
    let world = learned_world(Perfect(Uniform), 1 << 20);
    let game = Game::default();
    let mut state = learned::LearnedState::root(&game);
    let mut ends = Vec::new();
    for text in "g1f3 g8f6 f3g1 f6g8 g1f3".split(' ') {
        let at = state.position().unwrap().clone();
        let action = Action::from_uci(text, &at).unwrap();
        let from = state.clone();
        assert_eq!(world.step(&mut state, action), None);
        let first = world.evaluate(&[&state]).unwrap().remove(0);
        state = from;
        ends.push((
            matches!(first, Leaf::Open { value: Wdl::DRAW, .. }),
            world.step(&mut state, action),
        ));
    }
    // The root's own return is no draw yet, the second visit of what the tree alone has seen is.
    assert_eq!(ends[..4], [(false, None); 4]);
    assert_eq!(ends[4].1, Some(Wdl::DRAW));

    // Mate on the hundredth ply is mate.
    let last = Game::from_fen("7k/8/5KQ1/8/8/8/8/8 w - - 99 80", false).unwrap();
    for (text, mate) in [("g6g7", true), ("g6g1", false)] {
        let action = Action::from_uci(text, last.position()).unwrap();
        let mut state = learned::LearnedState::root(&last);
        world.step(&mut state, action);
        match world.evaluate(&[&state]).unwrap().remove(0) {
            Leaf::Over(end) => assert!(mate && end == Wdl::LOSS),
            Leaf::Open { value, .. } => assert!(!mate && value == Wdl::DRAW),
            leaf @ (Leaf::Refused | Leaf::Known(_)) => panic!("{leaf:?}"),
        }
    }
}

#[test]
fn a_tree_is_kept_only_where_imagination_came_true() {
    let game = Game::default();
    let mut later = game.clone();
    let path: Vec<Action> = ["e2e4", "e7e5"].map(|text| later.play_uci(text).unwrap()).to_vec();
    let walk = |world: &LearnedWorld| {
        let mut state = learned::LearnedState::root(&game);
        for action in &path {
            let from = state.clone();
            world.step(&mut state, *action);
            world.evaluate(&[&state]).unwrap();
            state = from;
            world.step(&mut state, *action);
        }
    };
    let honest = learned_world(Perfect(Uniform), 1 << 20);
    assert!(!honest.came_true(&game, &path, &later), "nothing is imagined yet");
    walk(&honest);
    assert!(honest.came_true(&game, &path, &later));
    let forgetful =
        learned_world(Distorted(|imagined: &mut Imagined| imagined.legal.truncate(19)), 1 << 20);
    walk(&forgetful);
    assert!(!forgetful.came_true(&game, &path, &later), "a legal move is missing");
}

/// Imagines what is true, but for a change.
struct Distorted<F>(F);

impl<F: Fn(&mut Imagined) + Send + Sync> Evaluator for Distorted<F> {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        Uniform.evaluate(batch)
    }
    fn transition(&self) -> Option<&dyn Transition> {
        Some(self)
    }
}

impl<F: Fn(&mut Imagined) + Send + Sync> Transition for Distorted<F> {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        let mut answers = Perfect(Uniform).imagine(batch)?;
        for imagined in answers.iter_mut().flatten() {
            (self.0)(imagined);
            if let Some(evaluation) = &mut imagined.evaluation {
                let moves = imagined.legal.len();
                evaluation.policy = vec![1.0 / moves as f32; moves];
                evaluation.action_values.truncate(moves);
                evaluation.action_modes.truncate(moves);
            }
        }
        Ok(answers)
    }
}

#[test]
fn a_doubtful_end_is_no_proof() {
    let leaf = |end: [f32; 3], keep_moves: bool| {
        let change = move |imagined: &mut Imagined| {
            imagined.end = end;
            if !keep_moves {
                imagined.legal.clear();
                imagined.evaluation = None;
            }
        };
        let world = learned_world(Distorted(change), 1 << 20);
        let mut state = learned::LearnedState::root(&Game::default());
        world.step(&mut state, Action::from_uci("e2e4", Game::default().position()).unwrap());
        world.evaluate(&[&state]).unwrap().remove(0)
    };
    assert!(matches!(leaf([0.001, 0.998, 0.001], true), Leaf::Over(Wdl::LOSS)));
    assert!(matches!(leaf([0.001, 0.001, 0.998], true), Leaf::Over(Wdl::DRAW)));
    // The heads contradict each other: the game goes on.
    assert!(matches!(leaf([0.3, 0.7, 0.0], true), Leaf::Open { .. }));
    assert!(matches!(leaf([0.7, 0.3, 0.0], true), Leaf::Open { .. }));
    // Nobody can move: over, whatever the head for ends says, and no proof.
    for end in [[0.3, 0.4, 0.3], [0.9, 0.06, 0.04]] {
        match leaf(end, false) {
            Leaf::Over(end) => assert!(end != Wdl::LOSS && end.loss > end.draw && end.win == 0.0),
            other => panic!("{other:?}"),
        }
    }
}

/// A network whose every parameter is `of(index)`, refilled by hand: no file would hold it.
fn garbage(of: impl Fn(usize) -> f32) -> CpuEvaluator {
    let mut network = Network::new(&NetConfig::default(), 5);
    network.values.iter_mut().enumerate().for_each(|(index, value)| *value = of(index));
    CpuEvaluator::new(&network, Arithmetic::Single)
}

/// Healthy at the root, garbage in imagination.
struct Dreaming(CpuEvaluator);

impl Evaluator for Dreaming {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        Hashed::default().evaluate(batch)
    }
    fn transition(&self) -> Option<&dyn Transition> {
        self.0.transition()
    }
}

/// Makes a network, as often as it is asked.
type Make = Box<dyn Fn() -> CpuEvaluator>;

/// Plays a few moves against itself in the world of that name; what was said.
fn play(evaluator: impl Evaluator + 'static, chess960: bool, world: &str) -> Vec<String> {
    let mut session = Session::start(setup(evaluator));
    session.send(&format!("setoption name WorldModel value {world}"));
    session.send("setoption name Threads value 2");
    session.send(&format!("setoption name UCI_Chess960 value {chess960}"));
    for (fen, _) in STARTS.iter().filter(|(_, kind)| *kind == chess960) {
        let mut game = Game::from_fen(fen, chess960).unwrap();
        let mut moves = String::new();
        for _ in 0..4 {
            if game.ending().is_some() {
                break;
            }
            session.send(&format!("position fen {fen} moves{moves}"));
            session.send("go nodes 60");
            let best = loop {
                let line = session.expect_any();
                if let Some(best) = line.strip_prefix("bestmove ") {
                    break best.split(' ').next().unwrap_or_default().to_owned();
                }
            };
            game.play_uci(&best).unwrap_or_else(|why| panic!("{why}\n{}", session.transcript()));
            moves += &format!(" {best}");
        }
    }
    session.send("quit");
    session.finish()
}

#[test]
fn garbage_networks_play_legal_moves_and_say_what_happened() {
    let mut dice = Dice::new(11);
    let noise: Vec<f32> = (0..700_000).map(|_| dice.below(2_001) as f32 / 1_000.0 - 1.0).collect();
    let loud = noise.clone();
    let networks: Vec<(&str, Make)> = vec![
        (
            "fresh",
            Box::new(|| {
                CpuEvaluator::new(&Network::new(&NetConfig::default(), 9), Arithmetic::Single)
            }),
        ),
        ("noise", Box::new(move || garbage(|index| noise[index % noise.len()] / 8.0))),
        ("loud noise", Box::new(move || garbage(|index| loud[index % loud.len()] * 1e20))),
        ("zeros", Box::new(|| garbage(|_| 0.0))),
        ("ones", Box::new(|| garbage(|_| 1.0))),
        ("NaN", Box::new(|| garbage(|_| f32::NAN))),
    ];
    for (name, network) in networks {
        for (chess960, world) in [(false, "learned"), (true, "learned"), (false, "learned-twice")] {
            // A network that cannot even judge the root is replaced when it is loaded; so both are tried.
            let said = play(network(), chess960, world);
            let healthy = play(Dreaming(network()), chess960, world);
            let told = |line: &String| line.contains("learned world: ");
            assert!(healthy.iter().any(told), "{name}: {}", healthy.join("\n"));
            let refused = |line: &String| told(line) && line.contains(" refused: ");
            if ["zeros", "NaN"].contains(&name) {
                assert!(healthy.iter().any(refused), "{name}: {}", healthy.join("\n"));
            }
            assert!(said.iter().any(|line| line.starts_with("< bestmove")), "{name}");
        }
    }
}

#[test]
fn refusals_have_names_in_the_note() {
    let said = play(Dreaming(garbage(|_| 0.0)), false, "learned");
    assert!(said.iter().any(|line| line.contains("no king ")), "{}", said.join("\n"));
    let said = play(Dreaming(garbage(|_| f32::NAN)), false, "learned");
    assert!(said.iter().any(|line| line.contains("NaN ")), "{}", said.join("\n"));
}

#[test]
fn a_network_without_imagination_searches_by_the_rules() {
    let said = play(Hashed::default(), false, "learned");
    assert!(said.iter().any(|line| line.contains("imagines no positions")), "{}", said.join("\n"));
    assert!(!said.iter().any(|line| line.contains("learned world: ")));
}

#[test]
fn the_network_answers_alike_in_any_batch() {
    let network = engine::play::network::load(None).unwrap();
    let evaluator = CpuEvaluator::new(&network, Arithmetic::Single);
    let position = |fen: &str| {
        let fen: Fen = fen.parse().unwrap();
        grounded(&fen.into_position(CastlingMode::Chess960).unwrap())
    };
    let states: Vec<_> = STARTS.iter().map(|(fen, _)| position(fen)).collect();
    let steps: Vec<Step<'_>> = states
        .iter()
        .flat_map(|state| {
            let flip = state.turn().is_black();
            let actions =
                state.legal_moves().into_iter().map(move |m| MoveCode::of(Action::new(m), flip));
            actions.map(move |action| Step { state, action })
        })
        .collect();
    let together = evaluator.imagine(&steps).unwrap();
    assert_eq!(together.len(), steps.len());
    let mut right = 0;
    for (step, answer) in steps.iter().zip(&together) {
        let alone = evaluator.imagine(&[*step]).unwrap().remove(0);
        match (&alone, answer) {
            (Ok(a), Ok(b)) => {
                assert_eq!((&a.state, &a.legal), (&b.state, &b.legal));
                let moves = b.evaluation.as_ref().map_or(0, |e| e.policy.len());
                assert!(b.evaluation.is_none() && b.legal.is_empty() || moves == b.legal.len());
                assert!((b.end.iter().sum::<f32>() - 1.0).abs() < 1e-4);
                let flip = step.state.turn().is_black();
                let m = step.action.to_action(flip).to_move(step.state).unwrap();
                let mut truth = step.state.clone();
                truth.play_unchecked(m);
                right += usize::from(nn::evaluator::is_true(&b.state, &truth));
                assert_eq!(b.state.ep_square(EnPassantMode::Always).is_some(), {
                    // A state keeps what the network told, and nothing else.
                    nn::encode::NextBoard::of_imagined(&b.state).flags.iter().any(|f| f & 4 != 0)
                });
            }
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
        }
    }
    the_second_look_is_at_the_imagined_position(&evaluator, &steps);
    // Not a measurement: a network whose frames were mixed up would get nothing right.
    assert!(right * 10 > steps.len() * 8, "{right} of {}", steps.len());
}

/// Where the network calls just the legal moves legal, a second look at an imagined position is its plain
/// opinion of that position but for the doubt in each move.
fn the_second_look_is_at_the_imagined_position(evaluator: &CpuEvaluator, steps: &[Step<'_>]) {
    let mut answers = evaluator.imagine(steps).unwrap();
    evaluator.refine(&mut answers).unwrap();
    let mut alike = 0;
    for (step, imagined) in steps.iter().zip(&answers) {
        let Ok(imagined) = imagined else { continue };
        let (state, flip) = (&imagined.state, step.state.turn().is_black());
        let moves = imagined.legal.iter();
        let moves: Vec<_> = moves.filter_map(|code| code.to_action(flip).to_move(state)).collect();
        let right =
            moves.len() == state.legal_moves().len() && moves.iter().all(|m| state.is_legal(*m));
        let Some(looked) = imagined.evaluation.as_ref().filter(|_| right) else { continue };
        let plain = evaluator.evaluate(&[Query { position: state, legal: &moves }]).unwrap();
        assert!((plain[0].value - looked.value).abs() < 1e-4);
        let values = plain[0].action_values.iter().zip(&looked.action_values);
        values.for_each(|(plain, looked)| assert!((plain - looked).abs() < 1e-4));
        alike += 1;
    }
    assert!(alike * 2 > steps.len(), "{alike} of {} move lists are right", steps.len());
}
