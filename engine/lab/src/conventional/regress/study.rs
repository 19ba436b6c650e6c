//! Training and evaluation of a regressor, as in paper 002.

use super::board::Board;
use super::features::Features;
use super::model::Regressor;
use super::network::Adam;
use super::samples::Samples;
use super::successors::BoardValue;
use nn::rng::Rng;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Batch size.
const BATCH: usize = 512;
/// Initial learning rate, decay on a plateau of the validation error, and number of decays before early stopping (as
/// in paper 002; the values are ours).
const RATE: f32 = 1e-3;
const RATE_DECAY: f32 = 0.3;
const MAX_DECAYS: usize = 3;

/// Prediction errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Mean squared error.
    pub mse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Coefficient of determination.
    pub r2: f64,
}

impl Errors {
    /// Errors of predictions.
    #[must_use]
    pub fn of(predicted: &[f32], labels: &[f32]) -> Errors {
        let count = labels.len().max(1) as f64;
        let mean = labels.iter().copied().map(f64::from).sum::<f64>() / count;
        let misses = || predicted.iter().zip(labels).map(|(p, l)| f64::from(p - l));
        let mse = misses().map(|miss| miss * miss).sum::<f64>() / count;
        let mae = misses().map(f64::abs).sum::<f64>() / count;
        let variance =
            labels.iter().map(|label| (f64::from(*label) - mean).powi(2)).sum::<f64>() / count;
        Errors { mse, mae, r2: 1.0 - mse / variance.max(f64::MIN_POSITIVE) }
    }
}

/// Result of an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// From 1.
    pub number: usize,
    /// Learning rate.
    pub rate: f32,
    /// Mean squared training error.
    pub training: f64,
    /// Validation errors.
    pub validation: Errors,
}

/// Parameters of a training.
pub struct Study<'a> {
    /// Encoding of the board.
    pub features: Features,
    /// Training data.
    pub training: &'a Samples,
    /// Validation data, for early stopping.
    pub validation: &'a Samples,
    /// Maximum number of epochs.
    pub epochs: usize,
    /// Seed of initialisation and shuffling.
    pub seed: u64,
    /// Set to stop: the best model so far is returned.
    pub stop: &'a AtomicBool,
}

/// Trains until early stopping or the last epoch. `on_progress` is called after each batch with its size and after each
/// epoch.
pub fn train(study: &Study<'_>, on_progress: &mut dyn FnMut(usize, Option<Epoch>)) -> Regressor {
    let Study { features, training, validation, epochs, seed, stop } = *study;
    let mut model = Regressor::new(features, seed);
    let mut adam = Adam::new(&model.network);
    let (mut best, mut least) = (model.clone(), f64::INFINITY);
    let mut order: Vec<usize> = (0..training.boards.len()).collect();
    let mut random = Rng::from_state(seed);
    let (mut rate, mut cuts) = (RATE, 0);
    for number in 1..=epochs {
        random.shuffle(&mut order);
        let mut sum = 0.0;
        for chosen in order.chunks(BATCH) {
            if stop.load(Ordering::Relaxed) {
                return best;
            }
            let rows = model.inputs(chosen.iter().map(|index| &training.boards[*index]));
            let targets: Vec<f32> = chosen.iter().map(|index| training.wins[*index]).collect();
            let error = model.network.learn(&rows, &targets, rate, &mut adam);
            sum += f64::from(error) * chosen.len() as f64;
            on_progress(chosen.len(), None);
        }
        let validation = errors(&model, validation);
        let training = sum / order.len().max(1) as f64;
        on_progress(0, Some(Epoch { number, rate, training, validation }));
        if validation.mse < least {
            (best, least) = (model.clone(), validation.mse);
        } else {
            cuts += 1;
            rate *= RATE_DECAY;
            if cuts == MAX_DECAYS {
                break;
            }
        }
    }
    best
}

/// Predictions for boards.
#[must_use]
pub fn predictions(model: &dyn BoardValue, boards: &[Board]) -> Vec<f32> {
    boards.par_chunks(256).flat_map_iter(|boards| model.win_probabilities(boards)).collect()
}

/// Errors of the model.
#[must_use]
pub fn errors(model: &dyn BoardValue, samples: &Samples) -> Errors {
    Errors::of(&predictions(model, &samples.boards), &samples.wins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::process::workers::NEVER;
    use shakmaty::{Chess, Color, Position};

    #[test]
    fn errors_are_what_they_are_called() {
        let errors = Errors::of(&[0.5, 0.5, 0.5, 0.5], &[0.0, 1.0, 0.25, 0.75]);
        assert!((errors.mse - 0.15625).abs() < 1e-9 && (errors.mae - 0.375).abs() < 1e-9);
        assert!(errors.r2.abs() < 1e-9, "the mean explains nothing");
        assert_eq!(Errors::of(&[0.25, 0.5], &[0.25, 0.5]).r2, 1.0);
    }

    #[test]
    fn material_is_learned_from_boards() {
        // Random games, labelled by material.
        let mut random = Rng::from_state(3);
        let mut samples = Samples::default();
        while samples.boards.len() < 8000 {
            let mut position = Chess::default();
            for _ in 0..120 {
                let moves = position.legal_moves();
                if moves.is_empty() {
                    break;
                }
                position.play_unchecked(moves[random.below(moves.len())]);
                let board = position.board();
                let of = |color: Color| board.by_color(color).count() as f32;
                let lead = of(position.turn()) - of(!position.turn());
                samples.boards.push(Board::new(&position));
                samples.wins.push(1.0 / (1.0 + (-lead / 2.0).exp()));
            }
        }
        let epochs = 20;
        let study = Study {
            features: Features::Positional,
            training: &samples,
            validation: &samples,
            epochs,
            seed: 1,
            stop: &NEVER,
        };
        let mut on_progress = Vec::new();
        let model = train(&study, &mut |_, epoch| {
            on_progress.extend(epoch.map(|epoch| epoch.training));
        });
        let errors = errors(&model, &samples);
        assert!(errors.r2 > 0.5, "{errors:?}");
        assert!(
            on_progress.len() <= epochs
                && on_progress[on_progress.len() - 1] < on_progress[0] / 2.0,
            "{on_progress:?}"
        );
    }
}
