//! Left-right mirror image of a position and of an example. Where no side may castle, the rules are symmetric
//! and the image is as valid as the original; otherwise there is none.

use super::example::Example;
use nn::encode::MoveCode;
use nn::encode::board::{FLAG_OUR_CASTLING_ROOK, FLAG_THEIR_CASTLING_ROOK};
use shakmaty::{CastlingMode, Chess, EnPassantMode, FromSetup, Position};

/// XOR mask that mirrors a token's file.
const FILES: u8 = 7;
/// XOR mask that mirrors a token's rank: from White's frame to Black's.
const RANKS: u8 = 56;

/// The mirror image of `position`; None where a side may castle.
pub(super) fn mirrored_position(position: &Chess) -> Option<Chess> {
    if !position.castles().is_empty() {
        return None;
    }
    let mut setup = position.to_setup(EnPassantMode::Legal);
    setup.board.flip_horizontal();
    setup.ep_square = setup.ep_square.map(|square| square.flip_horizontal());
    Chess::from_setup(setup, CastlingMode::Chess960).ok()
}

/// True if no side may castle in the position that the example shows; nor may one after the action.
pub(super) fn has_mirror(example: &Example) -> bool {
    let castling = FLAG_OUR_CASTLING_ROOK | FLAG_THEIR_CASTLING_ROOK;
    example.features.flags.iter().all(|bits| bits & castling == 0)
}

/// Replaces an example that [`has_mirror`] by its image: the mirrored position with its labels, moves in
/// canonical order.
pub(super) fn mirror(example: &mut Example) {
    reverse_ranks(&mut example.features.pieces);
    reverse_ranks(&mut example.features.flags);
    if let Some(next) = &mut example.next {
        reverse_ranks(&mut next.pieces);
        reverse_ranks(&mut next.flags);
    }
    let turn = if descends(&example.moves) { RANKS } else { 0 };
    for m in &mut example.moves {
        (m.from, m.to) = (m.from ^ FILES, m.to ^ FILES);
    }
    let key = |m: MoveCode| MoveCode { from: m.from ^ turn, to: m.to ^ turn, ..m }.index();
    let mut order: Vec<usize> = (0..example.moves.len()).collect();
    order.sort_unstable_by_key(|&old| key(example.moves[old]));
    example.moves = arranged(&example.moves, &order);
    example.visits = arranged(&example.visits, &order);
    example.action_values = arranged(&example.action_values, &order);
    example.best = example
        .best
        .and_then(|best| order.iter().position(|&old| old == usize::from(best)))
        .map(|best| best as u16);
}

fn reverse_ranks<T>(tokens: &mut [T; 64]) {
    for rank in tokens.as_chunks_mut::<8>().0 {
        rank.reverse();
    }
}

/// True if canonical order, that of absolute squares, descends the ranks of the tokens, as in Black's frame.
/// Where all moves stay on one rank, both frames have the same order.
fn descends(moves: &[MoveCode]) -> bool {
    let rank = |token: u8| token / 8;
    moves.windows(2).any(|pair| {
        let (one, two) = (pair[0], pair[1]);
        rank(two.from) < rank(one.from) || (two.from == one.from && rank(two.to) < rank(one.to))
    })
}

/// `values` permuted by `order`; empty if there are none.
fn arranged<T: Copy>(values: &[T], order: &[usize]) -> Vec<T> {
    order.iter().filter_map(|&old| values.get(old).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::build::{Label, Values, of_action, of_state};
    use crate::data::example::{Outcome, Source};
    use crate::data::testing::{position, random_game};
    use nn::encode::canonical_moves;
    use nn::rng::Rng;
    use shakmaty::{Color, Move};

    fn squares(m: Move, files: u8) -> Option<MoveCode> {
        MoveCode::new(m, false).map(|m| MoveCode { from: m.from ^ files, to: m.to ^ files, ..m })
    }

    /// For each legal move of the mirrored position its index in the original.
    fn originals(state: &Chess, image: &Chess) -> Vec<usize> {
        let legal = canonical_moves(state);
        let index = |m: &Move| {
            legal.iter().position(|other| squares(*other, FILES) == squares(*m, 0)).expect("a twin")
        };
        canonical_moves(image).iter().map(index).collect()
    }

    /// The example of `state`, or of `action` in it, and that of the mirror image, built independently from the
    /// same random labels.
    fn pair(state: &Chess, action: Option<usize>, all: bool, rng: &mut Rng) -> [Example; 2] {
        let image = mirrored_position(state).expect("no castling rights");
        let (mut asked, mut asked_image) = (state.clone(), image.clone());
        let m = action.map(|index| canonical_moves(state)[index]);
        let twin = action.map(|index| {
            let back = originals(state, &image).iter().position(|&old| old == index);
            canonical_moves(&image)[back.expect("a twin")]
        });
        if let (Some(m), Some(twin)) = (m, twin) {
            asked.play_unchecked(m);
            asked_image.play_unchecked(twin);
        }
        let back = originals(&asked, &asked_image);
        let values: Vec<u8> = back.iter().map(|_| rng.below(128) as u8).collect();
        let turned: Vec<u8> = back.iter().map(|&old| values[old]).collect();
        let best = rng.below(back.len());
        let best_image = back.iter().position(|&old| old == best).unwrap_or(0);
        let (value, result) =
            (rng.unit() as f32, Some([Outcome::Lost, Outcome::Drawn, Outcome::Won][rng.below(3)]));
        fn build(
            state: &Chess,
            m: Option<Move>,
            asked: &Chess,
            label: Label<'_>,
        ) -> Option<Example> {
            let legal = canonical_moves(asked);
            match m {
                None => Some(of_state(state, &legal, label)),
                Some(m) => of_action(state, m, asked, &legal, label),
            }
        }
        let label = |best: usize, values, visits| Label {
            source: Source::ActionValues,
            best: Some(best as u8),
            values,
            visits,
            value,
            result,
        };
        let one = if all { Values::All(&values) } else { Values::Best };
        let two = if all { Values::All(&turned) } else { Values::Best };
        [
            build(state, m, &asked, label(best, one, values.as_slice())).expect("a chess move"),
            build(&image, twin, &asked_image, label(best_image, two, turned.as_slice()))
                .expect("a chess move"),
        ]
    }

    #[test]
    fn the_image_is_what_the_mirrored_position_gives() {
        let (mut tried, mut taken_in_passing, mut black) = (0, 0, 0);
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            for (ply, state) in random_game(seed, 60).0.iter().enumerate() {
                let legal = canonical_moves(state);
                if !state.castles().is_empty() || legal.is_empty() {
                    continue;
                }
                let action = rng.chance(0.5).then(|| rng.below(legal.len()));
                let [mut example, image] = pair(state, action, rng.chance(0.5), &mut rng);
                let original = format!("{example:?}");
                assert!(has_mirror(&example) && has_mirror(&image));
                mirror(&mut example);
                assert_eq!(format!("{example:?}"), format!("{image:?}"), "seed {seed} ply {ply}");
                mirror(&mut example);
                assert_eq!(format!("{example:?}"), original, "seed {seed} ply {ply}: twice");
                tried += 1;
                taken_in_passing += u32::from(legal.iter().any(|m| m.is_en_passant()));
                black += u32::from(state.turn() == Color::Black);
            }
        }
        assert!(tried > 3_000 && taken_in_passing > 30, "{tried} {taken_in_passing}");
        assert!((tried / 3..tried * 2 / 3).contains(&black), "{black} of {tried}");
    }

    #[test]
    fn castling_rights_have_no_image() {
        let mut refused = 0;
        for seed in 0..60 {
            for state in random_game(seed, 40).0 {
                let label = Label {
                    source: Source::GameMove,
                    best: None,
                    values: Values::None,
                    visits: &[],
                    value: f32::NAN,
                    result: None,
                };
                let example = of_state(&state, &canonical_moves(&state), label);
                assert_eq!(has_mirror(&example), state.castles().is_empty());
                assert_eq!(mirrored_position(&state).is_some(), state.castles().is_empty());
                refused += u32::from(!state.castles().is_empty());
            }
        }
        assert!(refused > 300, "{refused}");
    }

    #[test]
    fn en_passant_is_mirrored_too() {
        let state = position("4k3/8/8/3pP3/8/8/8/K7 w - d6 0 1");
        let image = mirrored_position(&state).expect("no castling rights");
        assert_eq!(image, position("3k4/8/8/3Pp3/8/8/8/7K w - e6 0 1"));
    }
}
