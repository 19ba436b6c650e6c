use super::*;
use crate::checkpoint::Network;
use crate::encode::{MoveCode, canonical_moves};
use crate::evaluator::cpu::CpuEvaluator;
use crate::net::NetConfig;
use crate::precision::Arithmetic;
use shakmaty::{CastlingMode, fen::Fen};

/// Boards of 32, 3, 18, 19 and 4 pieces.
fn positions() -> Vec<Chess> {
    [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "8/8/8/8/4k3/8/4P3/4K3 w - - 0 1",
        "r3k1nr/pppp4/8/8/4P3/8/PPPP4/RNBQK3 b - - 0 1",
        "r3k1nr/pppp4/8/8/4P3/8/PPPP1P2/RNBQK3 b - - 0 1",
        "8/8/8/8/4k3/8/3PP3/4K3 b - - 0 1",
    ]
    .map(|fen| fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap())
    .into()
}

fn evaluator(seed: u64) -> CpuEvaluator {
    CpuEvaluator::new(&Network::new(&NetConfig::tiny(), seed), Arithmetic::Single)
}

fn experts() -> Experts<CpuEvaluator> {
    Experts::new(vec![(18, evaluator(1)), (32, evaluator(2))]).unwrap()
}

#[test]
fn each_position_is_judged_by_the_expert_for_its_number_of_pieces() {
    let positions = positions();
    let legal: Vec<_> = positions.iter().map(canonical_moves).collect();
    let queries: Vec<Query<'_>> =
        positions.iter().zip(&legal).map(|(position, legal)| Query { position, legal }).collect();
    let (few, many) = (evaluator(1), evaluator(2));
    let expected: Vec<Evaluation> = queries
        .iter()
        .zip([&many, &few, &few, &many, &few])
        .map(|(query, judge)| judge.evaluate(&[*query]).unwrap().remove(0))
        .collect();
    let experts = experts();
    assert_eq!(experts.evaluate(&queries).unwrap(), expected);
    for (query, judge) in queries.iter().zip([1, 0, 0, 1, 0]) {
        assert_eq!(experts.place_of(&Features::of(query.position)), judge);
    }
}

#[test]
fn worlds_are_imagined_by_the_expert_for_the_position_before_the_move() {
    let positions = positions();
    let steps: Vec<Step<'_>> = positions
        .iter()
        .map(|state| {
            let first = canonical_moves(state)[0];
            Step { state, action: MoveCode::new(first, state.turn().is_black()).unwrap() }
        })
        .collect();
    let (few, many) = (evaluator(1), evaluator(2));
    let mut expected: Vec<_> = steps
        .iter()
        .zip([&many, &few, &few, &many, &few])
        .map(|(step, judge)| judge.imagine(&[*step]).unwrap().remove(0))
        .collect();
    let experts = experts();
    let mut answers = experts.imagine(&steps).unwrap();
    assert_eq!(answers, expected);
    for (answer, expected) in answers.iter_mut().zip(&mut expected) {
        experts.refine(std::slice::from_mut(answer)).unwrap();
        if let Ok(imagined) = &*expected {
            let judge = if pieces(&imagined.state) > 18 { &many } else { &few };
            judge.refine(std::slice::from_mut(expected)).unwrap();
        }
        assert_eq!(answer, expected);
    }
}

#[test]
fn phases_must_grow_and_cover_every_board() {
    assert!(Experts::new(vec![(18, 'a'), (32, 'b')]).is_some());
    for wrong in [vec![], vec![(18, 'a')], vec![(32, 'a'), (18, 'b')], vec![(32, 'a'), (32, 'b')]] {
        assert!(Experts::new(wrong.clone()).is_none(), "{wrong:?}");
    }
    assert_eq!(Experts::one('a').into_one().unwrap(), 'a');
    let two = Experts::new(vec![(18, 'a'), (32, 'b')]).unwrap();
    assert_eq!(two.into_one().unwrap_err().members().collect::<String>(), "ab");
}
