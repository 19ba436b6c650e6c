//! Integers against single precision, board by board.

use super::*;
use nn::rng::Rng;

/// By plain loops.
fn exact(parameters: &Parameters, position: &Chess) -> f32 {
    let (layout, values) = (Layout::new(), parameters.values());
    let sums = |color: Color| -> Vec<f32> {
        let from_edge =
            |square: Square| usize::from(square) ^ if color.is_white() { 0 } else { 56 };
        let view = View::of(from_edge(position.board().king_of(color).unwrap()));
        let mut sums = values[layout.bias.clone()].to_vec();
        for (square, piece) in position.board() {
            let role = piece.role as usize - 1;
            let row = view.row(piece.color != color, role, from_edge(square));
            let row = &values[layout.rows.clone()][row * HIDDEN..][..HIDDEN];
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        sums
    };
    let turn = position.turn();
    let both = [sums(turn), sums(!turn)].concat();
    let bucket = bucket(position.board().occupied().count());
    let weights = &values[layout.output.clone()][bucket * both.len()..];
    let products = both.iter().zip(weights).map(|(sum, w)| sum.clamp(0.0, 1.0).powi(2) * w);
    products.sum::<f32>() + values[layout.output_bias.start + bucket]
}

#[test]
fn whole_numbers_followed_from_board_to_board_agree_with_plain_loops() {
    let mut values = Parameters::new(3).values().to_vec();
    // Exactly representable parameters: any difference is a bug.
    let layout = Layout::new();
    let mut round = |range: std::ops::Range<usize>, one: f32| {
        values[range].iter_mut().for_each(|value| *value = (*value * one).round() / one);
    };
    round(layout.rows, f32::from(ONE));
    round(layout.bias, f32::from(ONE));
    round(layout.output, OUTPUT_ONE);
    let parameters = Parameters::of(values);
    let nnue = Nnue::new(&parameters);
    let (mut kept, mut rng) = (Accumulators::default(), Rng::new(9));
    let mut position = Chess::default();
    let (mut most, mut mirrored) = (0.0f32, 0);
    for step in 0..600 {
        let moves = position.legal_moves();
        if moves.is_empty() || step % 120 == 119 {
            position = Chess::default();
            continue;
        }
        position.play_unchecked(moves[rng.below(moves.len())]);
        // Any order of plies, as in a search.
        let ply = rng.below(5);
        let followed = nnue.evaluate(&mut kept, ply, &position);
        let anew = nnue.evaluate(&mut Accumulators::default(), 0, &position);
        assert_eq!(followed, anew, "{:?}", position.board());
        most = most.max((followed - exact(&parameters, &position)).abs());
        let king = position.board().king_of(Color::White).unwrap();
        mirrored += usize::from(usize::from(king) % 8 < 4);
    }
    assert!(most < 2e-3, "{most}");
    assert!(mirrored > 20, "kings went to both halves: {mirrored}");
}

#[test]
fn both_colours_are_judged_alike() {
    let nnue = Nnue::new(&Parameters::new(4));
    let judge = |fen: &str| {
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        let position: Chess = fen.into_position(shakmaty::CastlingMode::Standard).unwrap();
        nnue.evaluate(&mut Accumulators::default(), 0, &position)
    };
    let white = judge("4k3/8/8/3p4/8/2N5/PP6/4K3 w - - 0 1");
    assert_eq!(white, judge("4k3/pp6/2n5/8/3P4/8/8/4K3 b - - 0 1"));
    assert_eq!(white, judge("3k4/8/8/4p3/8/5N2/6PP/3K4 w - - 0 1"), "mirrored");
}
