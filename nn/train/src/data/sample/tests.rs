//! Examples checked against a plain replay of the same random games.

use super::*;
use crate::data::example::{Outcome, Source, Terminal};
use crate::data::filter::{KeySet, Recent, position_key};
use crate::data::label::{action_value, along_line, win_probability};
use crate::data::record::{GameResult, Header, MavgGame, PvgrGame};
use crate::data::testing::{mavg_game, position, pvgr_game, self_play_game};
use nn::encode::{Features, MoveCode, NextBoard, canonical_moves};
use nn::rng::Rng;
use shakmaty::{Chess, Color, Move, Position};

fn draw(game: &Game, kinds: Kinds, excluded: &KeySet, seed: u64) -> (Vec<Example>, SamplerCounts) {
    let (mut recent, mut rng, mut counts) =
        (Recent::new(0), Rng::new(seed), SamplerCounts::default());
    let mut out = Vec::new();
    let plies = candidates(game, &kinds);
    let mut sampler =
        Sampler { kinds, excluded, recent: &mut recent, rng: &mut rng, counts: &mut counts };
    sampler.sample(game, &plies, &mut out).expect("a legal game");
    (out, counts)
}

fn only(action: f64, variation: f64, played: f64) -> Kinds {
    Kinds {
        action_share: action,
        mate_share: 0.0,
        variation_share: variation,
        played_share: played,
        min_depth: 0,
        ..Kinds::plain()
    }
}

fn states(game: &Game) -> Vec<Chess> {
    let mut state = game.header().start.clone();
    let mut states = vec![state.clone()];
    for ply in 0..game.len() {
        let (index, offset) = game.played(ply).expect("a ply");
        game.header().play(&mut state, index, offset).expect("a legal move");
        states.push(state.clone());
    }
    states
}

fn codes(state: &Chess, flip: bool) -> Vec<MoveCode> {
    canonical_moves(state).iter().filter_map(|&m| MoveCode::new(m, flip)).collect()
}

#[test]
fn mavg_states_have_all_labels_of_their_record() {
    for seed in 0..20 {
        let game = Game::Mavg(mavg_game(seed));
        let Game::Mavg(records) = &game else { unreachable!() };
        let (examples, counts) = draw(&game, only(0.0, 0.0, 0.5), &KeySet::default(), seed);
        assert_eq!(
            (examples.len(), counts.examples),
            (game.len(), game.len() as u64),
            "seed {seed}"
        );
        for ((example, record), state) in examples.iter().zip(&records.positions).zip(states(&game))
        {
            assert_eq!(example.features, Features::of(&state), "seed {seed}");
            if example.terminal != Terminal::Ongoing {
                continue;
            }
            assert_eq!(example.moves, codes(&state, state.turn() == Color::Black), "seed {seed}");
            assert_eq!(example.best, Some(u16::from(record.best)));
            assert_eq!(example.value, win_probability(record.score));
            assert_eq!(example.result, records.header.result.outcome(state.turn()));
            let values: Vec<f32> =
                records.values(record).iter().map(|&value| action_value(value)).collect();
            assert_eq!(example.action_values, values);
            assert!(example.next.is_none());
        }
    }
}

#[test]
fn self_play_teaches_visits_of_full_searches_and_values_of_all() {
    for seed in 0..20 {
        let records = self_play_game(seed);
        let game = Game::Mavg(records.clone());
        let (examples, _) = draw(&game, only(0.0, 0.0, 0.5), &KeySet::default(), seed);
        for (ply, example) in examples.iter().enumerate() {
            if example.terminal != Terminal::Ongoing {
                assert!(example.visits.is_empty());
                continue;
            }
            let record = &records.positions[ply];
            assert_eq!(example.action_values.len(), example.moves.len());
            if ply % 2 == 1 {
                assert!(example.visits.is_empty() && example.best.is_none(), "seed {seed}");
                continue;
            }
            let visits = records.visits(record);
            let total: f32 = visits.iter().map(|&visits| f32::from(visits)).sum();
            let shares: Vec<f32> = visits.iter().map(|&visits| f32::from(visits) / total).collect();
            let expected = (Some(u16::from(record.best)), &shares);
            assert_eq!((example.best, &example.visits), expected, "seed {seed} ply {ply}");
        }
    }
}

#[test]
fn the_result_has_its_share_in_the_values_of_self_play_alone() {
    for seed in 0..20 {
        let (played, labelled) = (Game::Mavg(self_play_game(seed)), Game::Mavg(mavg_game(seed)));
        let with = |game: &Game, result_share: f64| -> Vec<Example> {
            draw(game, Kinds { result_share, ..only(0.0, 0.0, 0.5) }, &KeySet::default(), seed).0
        };
        let searched = with(&played, 0.0);
        for (share, examples) in [0.25, 1.0].map(|share| (share, with(&played, f64::from(share)))) {
            for (example, searched) in examples.iter().zip(&searched) {
                let won = example.result.map_or(searched.value, |result| result.score());
                let expected = searched.value + share * (won - searched.value);
                assert!((example.value - expected).abs() < 1e-6, "seed {seed}");
            }
        }
        let values = |examples: Vec<Example>| -> Vec<f32> {
            examples.iter().map(|example| example.value).collect()
        };
        assert_eq!(values(with(&labelled, 0.0)), values(with(&labelled, 1.0)), "labels are exact");
    }
}

#[test]
fn after_the_move_played_come_the_labels_of_the_next_record() {
    for seed in 0..20 {
        let game = Game::Mavg(mavg_game(seed));
        let Game::Mavg(records) = &game else { unreachable!() };
        let (examples, _) = draw(&game, only(1.0, 0.0, 1.0), &KeySet::default(), seed);
        let states = states(&game);
        for (ply, example) in examples.iter().enumerate() {
            let (state, after) = (&states[ply], &states[ply + 1]);
            assert!(example.features.has_action);
            assert_eq!(
                example.next.as_deref(),
                Some(&NextBoard::of(after)),
                "seed {seed} ply {ply}"
            );
            if example.terminal != Terminal::Ongoing {
                assert!(example.moves.is_empty() && example.best.is_none());
                continue;
            }
            // In the frame of the position with the marked action.
            assert_eq!(example.moves, codes(after, state.turn() == Color::Black));
            assert_eq!(example.result, records.header.result.outcome(after.turn()));
            match records.positions.get(ply + 1) {
                Some(next) => {
                    assert_eq!(example.best, Some(u16::from(next.best)));
                    assert_eq!(example.value, win_probability(next.score));
                    assert_eq!(example.action_values.len(), example.moves.len());
                }
                None => {
                    let record = &records.positions[ply];
                    let q = action_value(records.values(record)[usize::from(record.played)]);
                    assert_eq!((example.best, example.value), (None, 1.0 - q));
                }
            }
        }
    }
}

#[test]
fn drawn_actions_have_their_own_value_from_the_other_side() {
    for seed in 0..20 {
        let game = Game::Mavg(mavg_game(seed));
        let Game::Mavg(records) = &game else { unreachable!() };
        let (examples, _) = draw(&game, only(1.0, 0.0, 0.0), &KeySet::default(), seed);
        let states = states(&game);
        for (ply, example) in examples.iter().enumerate() {
            // The next board identifies the drawn move.
            let record = &records.positions[ply];
            let matches = canonical_moves(&states[ply]).iter().enumerate().any(|(index, &m)| {
                let mut after = states[ply].clone();
                after.play_unchecked(m);
                let q = action_value(records.values(record)[index]);
                let played = index == usize::from(record.played);
                example.next.as_deref() == Some(&NextBoard::of(&after))
                    && (played || example.terminal != Terminal::Ongoing || example.value == 1.0 - q)
            });
            assert!(matches, "seed {seed} ply {ply}");
        }
    }
}

#[test]
fn special_moves_are_preferred_and_ends_are_labelled() {
    // Among thirty moves some mate and one stalemates.
    let start = position("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1");
    let legal = canonical_moves(&start).len();
    let mut game = MavgGame::new(Header::new(start, false, GameResult::Unknown));
    game.push(0, (0, 0), 500, &vec![100; legal]).expect("a record");
    let game = Game::Mavg(game);
    let mut ends = [0; 3];
    for seed in 0..400 {
        let (examples, _) = draw(&game, only(1.0, 0.0, 0.0), &KeySet::default(), seed);
        match examples[0].terminal {
            Terminal::Ongoing => ends[0] += 1,
            Terminal::Lost => {
                ends[1] += 1;
                assert_eq!((examples[0].value, examples[0].result), (0.0, Some(Outcome::Lost)));
            }
            Terminal::Drawn => {
                ends[2] += 1;
                assert_eq!((examples[0].value, examples[0].result), (0.5, Some(Outcome::Drawn)));
            }
        }
    }
    assert!(ends[1] + ends[2] > 200, "half of the draws prefer an end: {ends:?}");
    assert!(ends[0] > 120 && ends[1] > 20 && ends[2] > 20, "{ends:?}");
}

#[test]
fn evasions_take_the_place_of_positions_in_which_a_check_can_be_given() {
    let mut seen = [0; 3];
    for seed in 0..20 {
        let game = Game::Mavg(mavg_game(seed));
        let kinds = Kinds { check_share: 1.0, ..only(0.5, 0.0, 0.5) };
        let (examples, _) = draw(&game, kinds, &KeySet::default(), seed);
        for (example, state) in examples.iter().zip(states(&game)) {
            let after = |m: &Move| {
                let mut after = state.clone();
                after.play_unchecked(*m);
                after
            };
            let checks: Vec<Chess> =
                canonical_moves(&state).iter().map(after).filter(Chess::is_check).collect();
            if checks.is_empty() {
                seen[0] += 1;
                assert_eq!(example.source, Source::ActionValues);
                continue;
            }
            assert_eq!(example.source, Source::Rules);
            if let Some(next) = example.next.as_deref() {
                seen[1] += 1;
                assert!(checks.iter().any(|after| *next == NextBoard::of(after)));
            } else {
                seen[2] += 1;
                assert!(checks.iter().any(|after| example.features == Features::of(after)));
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}

#[test]
fn actions_are_more_frequent_where_mate_is_at_hand() {
    let start = position("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1");
    let legal = canonical_moves(&start).len();
    let actions = |score: i16| {
        let mut game = MavgGame::new(Header::new(start.clone(), false, GameResult::Unknown));
        game.push(0, (0, 0), score, &vec![100; legal]).expect("a record");
        let kinds = Kinds { action_share: 0.1, mate_share: 0.5, ..Kinds::default() };
        let one = |seed| draw(&Game::Mavg(game.clone()), kinds, &KeySet::default(), seed).0;
        (0..400).filter(|&seed| one(seed)[0].features.has_action).count()
    };
    assert!((20..60).contains(&actions(500)) && (20..60).contains(&actions(31_998)));
    assert!((160..240).contains(&actions(31_999)));
}

#[test]
fn game_positions_know_the_move_played_and_its_value_alone() {
    for seed in 0..20 {
        let game = Game::Pvgr(pvgr_game(seed));
        let Game::Pvgr(records) = &game else { unreachable!() };
        let (examples, _) = draw(&game, only(0.0, 0.0, 0.5), &KeySet::default(), seed);
        let states = states(&game);
        for (example, ply) in examples.iter().zip(candidates(&game, &only(0.0, 0.0, 0.5))) {
            let record = &records.plies[ply];
            if example.terminal != Terminal::Ongoing {
                continue;
            }
            assert_eq!(example.features, Features::of(&states[ply]), "seed {seed} ply {ply}");
            assert_eq!(example.best, Some(u16::from(record.played)));
            assert_eq!(example.value, win_probability(record.score.expect("scored")));
            for (index, value) in example.action_values.iter().enumerate() {
                assert_eq!(*value == example.value, index == usize::from(record.played));
                assert_eq!(value.is_nan(), index != usize::from(record.played));
            }
            assert_eq!(example.source, Source::GameMove);
        }
    }
}

#[test]
fn line_positions_alternate_the_score() {
    for (seed, action) in (0..40).map(|seed| (seed, seed % 2 == 1)) {
        let game = Game::Pvgr(pvgr_game(seed));
        let Game::Pvgr(records) = &game else { unreachable!() };
        let kinds = only(f64::from(u8::from(action)), 1.0, 0.5);
        let (examples, _) = draw(&game, kinds, &KeySet::default(), seed);
        let states = states(&game);
        let lined = candidates(&game, &kinds)
            .into_iter()
            .filter(|&ply| !records.line(&records.plies[ply]).is_empty());
        for (example, ply) in examples.iter().zip(lined) {
            let record = &records.plies[ply];
            let line = records.line(record);
            let mut state = states[ply + 1].clone();
            let found = (0..line.len()).any(|k| {
                let before = state.clone();
                state.play_unchecked(canonical_moves(&before)[usize::from(line[k])]);
                if !action {
                    return example.features == Features::of(&before)
                        && (example.terminal != Terminal::Ongoing
                            || (example.best == Some(u16::from(line[k]))
                                && example.value
                                    == along_line(
                                        win_probability(record.score.expect("scored")),
                                        k + 1,
                                    )));
                }
                example.next.as_deref() == Some(&NextBoard::of(&state))
                    && (example.terminal != Terminal::Ongoing
                        || (example.best == line.get(k + 1).map(|&index| u16::from(index))
                            && example.value
                                == along_line(
                                    win_probability(record.score.expect("scored")),
                                    k + 2,
                                )))
            });
            assert!(found, "seed {seed} ply {ply}");
            assert_eq!((example.source, example.features.has_action), (Source::Variation, action));
        }
    }
}

#[test]
fn values_are_tempered_by_the_reply_and_the_result() {
    // Black lost; White says +1 and plays, Black says 0, White sees a mate.
    let mut game = PvgrGame::new(Header::new(
        position("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1"),
        false,
        GameResult::WhiteWon,
    ));
    for (score, played) in [(100, 4), (0, 0), (31_998, 0), (-300, 0)] {
        game.push(0, played, Some(score), 0, &[0]).expect("a record");
    }
    let game = Game::Pvgr(game);
    let values = |kinds: Kinds| {
        let (examples, _) = draw(&game, kinds, &KeySet::default(), 1);
        examples.iter().map(|example| example.value).collect::<Vec<_>>()
    };
    let close = |left: &[f32], right: [f32; 4]| {
        assert_eq!(left.len(), 4);
        assert!(left.iter().zip(right).all(|(l, r)| (l - r).abs() < 1e-5), "{left:?} {right:?}");
    };
    let [one, lost] = [100, -300].map(win_probability);
    let kinds = Kinds { reply_share: 0.5, ..only(0.0, 0.0, 0.5) };
    // The mate is exact for the side that found it and evidence for the other.
    close(&values(kinds), [(one + 0.5) / 2.0, 0.25, 1.0, lost]);
    let kinds = Kinds { result_share: 0.2, ..only(0.0, 0.0, 0.5) };
    close(&values(kinds), [0.8 * one + 0.2, 0.4, 1.0, 0.8 * lost]);
    let kinds = Kinds { reply_share: 0.5, ..only(0.0, 1.0, 0.5) };
    close(&values(kinds), [(0.5 - one) / 2.0 + 0.5, 0.75, 0.0, 1.0 - lost]);
    let kinds = Kinds { reply_share: 0.5, ..only(1.0, 0.0, 0.5) };
    close(&values(kinds), [0.25, 1.0, lost, 1.0 - lost]);
}

#[test]
fn near_positions_of_a_line_are_drawn_rather_than_far_ones() {
    let start = position("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1");
    let mut game = PvgrGame::new(Header::new(start.clone(), false, GameResult::Unknown));
    game.push(0, 0, Some(100), 0, &[0; 8]).expect("a record");
    let mut line = vec![start];
    for _ in 0..8 {
        let mut next = line[line.len() - 1].clone();
        next.play_unchecked(canonical_moves(&next)[0]);
        line.push(next);
    }
    let game = Game::Pvgr(game);
    for decay in [1.0, 0.7, 0.0] {
        let kinds = Kinds { distance_decay: decay, ..only(0.0, 1.0, 0.5) };
        let mut seen = [0.0; 8];
        for seed in 0..8_000 {
            let (examples, _) = draw(&game, kinds, &KeySet::default(), seed);
            let at = line.iter().position(|state| examples[0].features == Features::of(state));
            seen[at.expect("on the line") - 1] += 1.0 / 8_000.0;
        }
        let weights: Vec<f64> = (0..8).map(|distance| decay.powi(distance)).collect();
        let total: f64 = weights.iter().sum();
        for (share, weight) in seen.iter().zip(weights) {
            assert!((share - weight / total).abs() < 0.02, "{decay}: {seen:?}");
        }
    }
}

#[test]
fn settings_that_are_no_shares_are_named() {
    for (kinds, name) in [
        (Kinds { mirror_share: 1.5, ..Kinds::default() }, "mirror_share"),
        (Kinds { distance_decay: f64::NAN, ..Kinds::default() }, "distance_decay"),
        (Kinds { chess960_weight: -1.0, ..Kinds::default() }, "chess960_weight"),
    ] {
        assert!(kinds.check().expect_err("refused").to_string().contains(name));
    }
    let read = |text| serde_json::from_str::<Kinds>(text);
    let one = read(r#"{"mirror_share": 0.25}"#).expect("the others by default");
    assert_eq!(one, Kinds { mirror_share: 0.25, ..Kinds::default() });
    assert!(read(r#"{"miror_share": 0.25}"#).is_err());
}

#[test]
fn shallow_scores_are_not_used_unknown_depths_are() {
    let kinds = Kinds { min_depth: 10, ..Kinds::default() };
    for seed in 0..20 {
        let game = Game::Pvgr(pvgr_game(seed));
        let Game::Pvgr(records) = &game else { unreachable!() };
        let expected = |ply: &usize| {
            let record = &records.plies[*ply];
            record.score.is_some() && !(1..10).contains(&record.depth)
        };
        assert_eq!(candidates(&game, &kinds), (0..game.len()).filter(expected).collect::<Vec<_>>());
    }
}

#[test]
fn excluded_positions_are_neither_asked_nor_led_to() {
    let game = Game::Mavg(mavg_game(7));
    let states = states(&game);
    let excluded: KeySet = [position_key(&states[4])].into_iter().collect();
    for (action, refused) in [(0.0, 1), (1.0, 2)] {
        let (examples, counts) = draw(&game, only(action, 0.0, 1.0), &excluded, 1);
        assert_eq!((counts.excluded, examples.len()), (refused, game.len() - refused as usize));
    }
}

#[test]
fn stride_passes_take_every_position_once() {
    for game in 0..5 {
        for ply in 0..200 {
            let takers = (8..12)
                .filter(|&number| Pass { seed: 5, number, stride: 4 }.takes(game, ply))
                .count();
            assert_eq!(takers, 1);
        }
    }
}

#[test]
fn an_index_that_the_rules_refuse_is_an_error_with_its_byte() {
    let start = position("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1");
    let legal = canonical_moves(&start).len();
    let mut game = MavgGame::new(Header::new(start, false, GameResult::Unknown));
    game.push(900, (0, 0), 500, &vec![100; legal + 1]).expect("a record");
    let game = Game::Mavg(game);
    let (mut recent, mut rng, mut counts) = (Recent::new(0), Rng::new(1), SamplerCounts::default());
    let (excluded, mut out) = (KeySet::default(), Vec::new());
    let mut sampler = Sampler {
        kinds: Kinds::default(),
        excluded: &excluded,
        recent: &mut recent,
        rng: &mut rng,
        counts: &mut counts,
    };
    let error = sampler.sample(&game, &[0], &mut out).expect_err("one move too many").to_string();
    assert!(error.contains("byte 900") && error.contains("the number of legal moves"), "{error}");
}
