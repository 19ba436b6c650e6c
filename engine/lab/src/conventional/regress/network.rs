//! A regressor's network and its training: ReLU layers, a final sigmoid, squared error, Adam (as in paper 002).
//! Batches are split among threads.

use super::layers::{Gradients, Layer, Shape};
use nn::rng::Rng;
use rayon::prelude::*;

/// Adam's hyperparameters (Kingma and Ba, 2014).
const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;
/// Rows per task: sums do not depend on the number of threads.
const CHUNK: usize = 64;

/// The network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
}

/// Adam's moments.
pub struct Adam {
    step: i32,
    means: Vec<Vec<f32>>,
    squares: Vec<Vec<f32>>,
}

impl Network {
    /// Random weights for consecutive layers.
    #[must_use]
    pub fn new(shapes: Vec<Shape>, seed: u64) -> Network {
        let mut random = Rng::from_state(seed);
        let layers = shapes.into_iter().map(|shape| Layer::new(shape, &mut random)).collect();
        Network { layers }
    }

    /// Shapes of the layers, input first.
    #[must_use]
    pub fn shapes(&self) -> Vec<Shape> {
        self.layers.iter().map(|layer| layer.shape.clone()).collect()
    }

    /// All parameters in layer order.
    #[must_use]
    pub fn values(&self) -> Vec<f32> {
        self.layers.iter().flat_map(|layer| layer.values.iter().copied()).collect()
    }

    /// The network with these layers and parameters; None if consecutive layers do not fit, the last has more than one
    /// output, or the number of parameters differs.
    #[must_use]
    pub fn from_values(shapes: &[Shape], values: &[f32]) -> Option<Network> {
        let mut rest = values;
        let mut layers = Vec::new();
        for shape in shapes {
            let (own, others) = rest.split_at_checked(shape.parameters()?)?;
            layers.push(Layer { shape: shape.clone(), values: own.to_vec() });
            rest = others;
        }
        let fit = shapes.windows(2).all(|pair| pair[0].outputs() == pair[1].inputs());
        (rest.is_empty() && fit && shapes.last()?.outputs() == 1).then_some(Network { layers })
    }

    /// Outputs for `[rows, width]`, in [0, 1].
    #[must_use]
    pub fn forward(&self, inputs: &[f32], rows: usize) -> Vec<f32> {
        self.activations(inputs, rows).pop().unwrap_or_default()
    }

    /// Activations of each layer, `[rows, outputs]`.
    fn activations(&self, inputs: &[f32], rows: usize) -> Vec<Vec<f32>> {
        let mut all: Vec<Vec<f32>> = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate() {
            let mut out = layer.forward(all.last().map_or(inputs, Vec::as_slice), rows);
            if number + 1 < self.layers.len() {
                out.iter_mut().for_each(|x| *x = x.max(0.0));
            } else {
                out.iter_mut().for_each(|x| *x = 1.0 / (1.0 + (-*x).exp()));
            }
            all.push(out);
        }
        all
    }

    /// Gradients of the summed squared error in layer order, and the error.
    fn gradients(&self, inputs: &[f32], targets: &[f32]) -> (Vec<Vec<f32>>, f32) {
        let rows = targets.len();
        let outputs = self.activations(inputs, rows);
        let answers = outputs.last().map_or(&[][..], Vec::as_slice);
        let mut error = 0.0;
        let slope = |(answer, target): (&f32, &f32)| {
            let miss = answer - target;
            error += miss * miss;
            2.0 * miss * answer * (1.0 - answer)
        };
        let mut slopes: Vec<f32> = answers.iter().zip(targets).map(slope).collect();
        let mut all = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let from = if number == 0 { inputs } else { outputs[number - 1].as_slice() };
            let Gradients { values, inputs: mut below } =
                layer.backward(from, &slopes, rows, number > 0);
            for (slope, output) in below.iter_mut().zip(from) {
                if *output <= 0.0 {
                    *slope = 0.0;
                }
            }
            slopes = below;
            all.push(values);
        }
        all.reverse();
        (all, error)
    }

    /// One optimizer step on rows of `[targets, width]`. Returns the mean squared error before it.
    pub fn learn(&mut self, inputs: &[f32], targets: &[f32], rate: f32, adam: &mut Adam) -> f32 {
        let width = inputs.len() / targets.len().max(1);
        let chunks = inputs.par_chunks(CHUNK * width.max(1)).zip(targets.par_chunks(CHUNK));
        let parts: Vec<(Vec<Vec<f32>>, f32)> =
            chunks.map(|(inputs, targets)| self.gradients(inputs, targets)).collect();
        let share = 1.0 / targets.len().max(1) as f32;
        adam.step += 1;
        let (one, two) = (1.0 - BETA1.powi(adam.step), 1.0 - BETA2.powi(adam.step));
        let memory = adam.means.par_iter_mut().zip(&mut adam.squares);
        self.layers.par_iter_mut().enumerate().zip(memory).for_each(
            |((number, layer), (means, squares))| {
                for (place, value) in layer.values.iter_mut().enumerate() {
                    let sum: f32 =
                        parts.iter().map(|(gradients, _)| gradients[number][place]).sum();
                    let (slope, mean, square) =
                        (share * sum, &mut means[place], &mut squares[place]);
                    *mean = BETA1 * *mean + (1.0 - BETA1) * slope;
                    *square = BETA2 * *square + (1.0 - BETA2) * slope * slope;
                    *value -= rate * (*mean / one) / ((*square / two).sqrt() + EPSILON);
                }
            },
        );
        share * parts.iter().map(|(_, error)| error).sum::<f32>()
    }
}

impl Adam {
    /// Zero moments.
    #[must_use]
    pub fn new(network: &Network) -> Adam {
        let zeros =
            || network.layers.iter().map(|layer| vec![0.0; layer.values.len()]).collect::<Vec<_>>();
        Adam { step: 0, means: zeros(), squares: zeros() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(rows: usize, width: usize, seed: u64) -> Vec<f32> {
        let mut random = Rng::from_state(seed);
        (0..rows * width).map(|_| random.below(1000) as f32 / 500.0 - 1.0).collect()
    }

    fn dense(widths: &[usize]) -> Vec<Shape> {
        widths.windows(2).map(|pair| Shape::dense(pair[0], pair[1])).collect()
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let groups = vec![Shape::Dense(vec![(3, 4), (2, 3)]), Shape::dense(7, 1)];
        let filters =
            vec![Shape::Convolution((2, 3)), Shape::Convolution((3, 2)), Shape::dense(128, 1)];
        for shapes in [dense(&[5, 7, 4, 1]), groups, filters] {
            let network = Network::new(shapes, 3);
            let (rows, width) = (6, network.layers[0].shape.inputs());
            let (x, targets) = (inputs(rows, width, 1), [0.1, 0.9, 0.5, 0.3, 0.7, 1.0]);
            let (gradients, _) = network.gradients(&x, &targets);
            let error = |network: &Network| -> f64 {
                let answers = network.forward(&x, rows);
                answers.iter().zip(targets).map(|(a, t)| f64::from(a - t).powi(2)).sum()
            };
            let step = 2e-3;
            for (layer, gradient) in gradients.iter().enumerate() {
                for place in (0..network.layers[layer].values.len()).step_by(3) {
                    let (mut more, mut less) = (network.clone(), network.clone());
                    more.layers[layer].values[place] += step;
                    less.layers[layer].values[place] -= step;
                    let expected = (error(&more) - error(&less)) / (2.0 * f64::from(step));
                    let found = f64::from(gradient[place]);
                    assert!(
                        (found - expected).abs() < 0.02 + 0.05 * expected.abs(),
                        "layer {layer}, {place}: {found} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_function_is_learned() {
        let mut network = Network::new(dense(&[4, 16, 16, 1]), 1);
        let mut adam = Adam::new(&network);
        let x = inputs(256, 4, 2);
        let targets: Vec<f32> =
            x.chunks(4).map(|row| if row[0] * row[1] > 0.0 { 0.9 } else { 0.1 }).collect();
        let first = network.learn(&x, &targets, 0.01, &mut adam);
        let last = (0..300).map(|_| network.learn(&x, &targets, 0.01, &mut adam)).last().unwrap();
        assert!(first > 0.1 && last < 0.02, "{first} {last}");
    }

    #[test]
    fn numbers_make_the_network_again() {
        let network = Network::new(dense(&[5, 7, 4, 1]), 3);
        let (shapes, values) = (network.shapes(), network.values());
        assert_eq!(Network::from_values(&shapes, &values), Some(network));
        assert_eq!(Network::from_values(&shapes, &values[1..]), None);
        assert_eq!(Network::from_values(&[], &[]), None);
        let mismatched = [Shape::dense(1, 2), Shape::dense(1, 1)];
        assert_eq!(Network::from_values(&mismatched, &[0.0; 6]), None);
        assert_eq!(Network::from_values(&dense(&[1, 2]), &[0.0; 4]), None);
    }
}
