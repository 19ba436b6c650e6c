//! Accuracy of both sides in percent, by the formulas of lichess (<https://lichess.org/page/accuracy>; `lila`,
//! `modules/analyse/src/main/AccuracyPercent.scala`).
//!
//! A move's accuracy is an exponential of the win probability it lost. A game's accuracy is the mean of two averages
//! of its moves' accuracies: one weighted by volatility, and the harmonic mean, which weights bad moves.

use shakmaty::{ByColor, Color};
use std::ops::Range;
use uci::Score;

/// Largest score of an average, in centipawns; a mate counts as much (`AccuracyCP.scala`).
const MAX_CENTIPAWNS: i32 = 1_000;

/// Loss of one move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveLoss {
    /// The side that made it.
    pub color: Color,
    /// Win probability lost, 0 to 1.
    pub loss: f32,
}

/// Average centipawn loss of both sides; None for one that made no move. Each move has its side, and the scores for White before
/// and after it.
#[must_use]
pub fn centipawn_loss(moves: &[(Color, [Score; 2])]) -> ByColor<Option<f64>> {
    let bounded = |score| match score {
        Score::Centipawns(score) => score.clamp(-MAX_CENTIPAWNS, MAX_CENTIPAWNS),
        Score::Mate(moves) if moves > 0 => MAX_CENTIPAWNS,
        Score::Mate(_) => -MAX_CENTIPAWNS,
    };
    ByColor::new_with(|color| {
        let own = moves.iter().filter(|(mover, _)| *mover == color);
        let losses: Vec<i32> = own
            .map(|(_, scores)| {
                let [before, after] = scores.map(bounded);
                color.fold_wb(before - after, after - before).max(0)
            })
            .collect();
        let count = losses.len() as f64;
        (count > 0.0).then(|| f64::from(losses.iter().sum::<i32>()) / count)
    })
}

/// Accuracy of a move that lost this much win probability (0 to 1), in percent.
#[must_use]
pub fn of_move(loss: f32) -> f64 {
    if loss <= 0.0 {
        return 100.0;
    }
    let points = 100.0 * f64::from(loss);
    let raw =
        103.166_810_071_164_9 * (-0.043_544_153_867_539_51 * points).exp() - 3.166_924_740_191_411;
    // Lichess adds one point for the uncertainty of the analysis.
    (raw + 1.0).clamp(0.0, 100.0)
}

/// Accuracy of both sides in percent; None for one that made no move. `wins` are White's win probabilities
/// before the first of `moves` and after each of them.
#[must_use]
pub fn of_game(wins: &[f32], moves: &[MoveLoss]) -> ByColor<Option<f64>> {
    of_part(wins, moves, 0..moves.len())
}

/// The same of the moves `part`, each with its weight in the whole game: by windows of its own a short part weights its mistakes
/// alone, and a game would seem better than all of its parts.
#[must_use]
pub fn of_part(wins: &[f32], moves: &[MoveLoss], part: Range<usize>) -> ByColor<Option<f64>> {
    let weights = weights(wins, moves.len());
    ByColor::new_with(|color| {
        let own: Vec<(f64, f64)> = moves
            .iter()
            .zip(&weights)
            .take(part.end)
            .skip(part.start)
            .filter(|(node, _)| node.color == color)
            .map(|(node, weight)| (of_move(node.loss), *weight))
            .collect();
        if own.is_empty() {
            return None;
        }
        let total: f64 = own.iter().map(|(_, weight)| weight).sum();
        let weighted = own.iter().map(|(accuracy, weight)| accuracy * weight).sum::<f64>() / total;
        let inverse: f64 = own.iter().map(|(accuracy, _)| 1.0 / accuracy.max(1.0)).sum();
        Some((weighted + own.len() as f64 / inverse) / 2.0)
    })
}

/// Volatility weights, one per move: standard deviation of the win percentages in a window around it.
fn weights(wins: &[f32], moves: usize) -> Vec<f64> {
    let percent: Vec<f64> = wins.iter().map(|win| 100.0 * f64::from(*win)).collect();
    let size = (moves / 10).clamp(2, 8);
    if percent.len() < size {
        return vec![1.0; moves];
    }
    // The first moves share the first window.
    let early = std::iter::repeat_n(&percent[..size], size - 2);
    let deviations = early.chain(percent.windows(size)).map(deviation);
    deviations.map(|deviation| deviation.clamp(0.5, 12.0)).collect()
}

fn deviation(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    (numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-3, "{a} is not {b}");
    }

    #[test]
    fn moves_by_hand() {
        // 103.1668 e^(-0.435442) - 2.1669 = 64.580; the others likewise.
        let cases = [(0.0, 100.0), (0.01, 96.604), (0.1, 64.580), (0.3, 25.772), (1.0, 0.0)];
        for (loss, accuracy) in cases {
            near(of_move(loss), accuracy);
        }
        assert_eq!(of_move(-0.2), 100.0);
    }

    #[test]
    fn a_short_game_by_hand() {
        // White's win percentages 50, 50, 50, 40: the last move loses 10 points.
        let node = |color, loss| MoveLoss { color, loss };
        let moves = [node(Color::White, 0.0), node(Color::Black, 0.0), node(Color::White, 0.1)];
        // Windows of two: deviations 0, 5 and 10, of which the first counts as 0.5.
        let found = of_game(&[0.5, 0.5, 0.5, 0.4], &moves);
        // Deviations 0.5, 0.5, 5: (100·0.5 + 64.580·5) / 5.5 = 67.800; harmonic 2 / (1/100 + 1/64.580) = 78.478.
        near(found.white.unwrap(), (67.800 + 78.478) / 2.0);
        near(found.black.unwrap(), 100.0);
        assert_eq!(of_game(&[0.5], &[]).white, None);
        // One move alone is its own average.
        let last = of_part(&[0.5, 0.5, 0.5, 0.4], &moves, 2..3);
        near(last.white.unwrap(), 64.580);
        assert_eq!(last.black, None);
    }

    #[test]
    fn a_game_is_no_better_than_its_best_part() {
        let losses = [0.0, 0.02, 0.0, 0.3, 0.01, 0.0, 0.0, 0.12, 0.0, 0.05, 0.0, 0.2];
        let moves: Vec<MoveLoss> = (0..96)
            .map(|ply| MoveLoss {
                color: if ply % 2 == 0 { Color::White } else { Color::Black },
                loss: losses[ply % losses.len()] * (ply % 5) as f32 / 5.0,
            })
            .collect();
        let wins: Vec<f32> = (0..=96).map(|ply| 0.5 + 0.4 * (0.7 * ply as f32).sin()).collect();
        let whole = of_game(&wins, &moves);
        let parts = [0..20, 20..60, 60..96].map(|part| of_part(&wins, &moves, part));
        for color in Color::ALL {
            let best = parts.iter().filter_map(|part| part[color]).fold(0.0, f64::max);
            assert!(whole[color].unwrap() <= best, "{color}: {whole:?} {parts:?}");
        }
    }

    #[test]
    fn centipawns_by_hand() {
        use Score::{Centipawns, Mate};
        let moves = [
            (Color::White, [Centipawns(20), Centipawns(-30)]),
            (Color::Black, [Centipawns(-30), Centipawns(70)]),
            (Color::White, [Centipawns(70), Centipawns(90)]),
            // Black is mated instead of nine pawns behind; scores beyond ten pawns are alike.
            (Color::Black, [Centipawns(900), Mate(2)]),
            (Color::White, [Mate(2), Centipawns(1_500)]),
        ];
        let found = centipawn_loss(&moves);
        near(found.white.unwrap(), 50.0 / 3.0);
        near(found.black.unwrap(), (100.0 + 100.0) / 2.0);
        assert_eq!(centipawn_loss(&moves[..1]).black, None);
    }

    #[test]
    fn every_move_has_its_window() {
        for moves in 1..200 {
            let wins: Vec<f32> = (0..=moves).map(|ply| (ply % 7) as f32 / 7.0).collect();
            assert_eq!(weights(&wins, moves).len(), moves);
        }
    }
}
