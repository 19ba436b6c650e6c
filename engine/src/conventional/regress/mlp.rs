//! A small dense network and its training: rectified layers, one sigmoid at the end, squared error, Adam (as in
//! paper 002). Products are [`nn::cpu::matmul`]'s.

use nn::cpu::matmul::{Into, Mat, matmul};
use nn::precision::Arithmetic;
use nn::rng::Rng;

/// Adam's constants (Kingma and Ba, 2014).
const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// One layer: `outputs = inputs × weights + bias`.
#[derive(Clone, Debug, PartialEq)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// `[inputs, outputs]`, row after row, and then `[outputs]` of bias.
    values: Vec<f32>,
}

impl Layer {
    fn weights(&self) -> Mat<'_> {
        Mat::new(&self.values, self.inputs, self.outputs, self.outputs)
    }

    fn bias(&self) -> &[f32] {
        &self.values[self.inputs * self.outputs..]
    }
}

/// The network.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    layers: Vec<Layer>,
}

/// Adam's memory.
pub struct Adam {
    step: i32,
    means: Vec<Vec<f32>>,
    squares: Vec<Vec<f32>>,
}

impl Mlp {
    /// Random weights for layers of these widths, input first; He's initialisation.
    #[must_use]
    pub fn new(widths: &[usize], seed: u64) -> Mlp {
        let mut random = Rng::from_state(seed);
        let mut uniform = || (random.bits() >> 40) as f32 / (1u64 << 24) as f32 * 2.0 - 1.0;
        let layers = widths
            .windows(2)
            .map(|pair| {
                let (inputs, outputs) = (pair[0], pair[1]);
                let reach = (6.0 / inputs as f32).sqrt();
                let mut values: Vec<f32> =
                    (0..inputs * outputs).map(|_| reach * uniform()).collect();
                values.resize((inputs + 1) * outputs, 0.0);
                Layer { inputs, outputs, values }
            })
            .collect();
        Mlp { layers }
    }

    /// Widths of the layers, input first.
    #[must_use]
    pub fn widths(&self) -> Vec<usize> {
        let first = self.layers.first().map(|layer| layer.inputs);
        first.into_iter().chain(self.layers.iter().map(|layer| layer.outputs)).collect()
    }

    /// Every number, layer after layer, weights before biases.
    #[must_use]
    pub fn values(&self) -> Vec<f32> {
        self.layers.iter().flat_map(|layer| layer.values.iter().copied()).collect()
    }

    /// The network of these widths and numbers; None if they are not as many as it takes.
    #[must_use]
    pub fn from_values(widths: &[usize], values: &[f32]) -> Option<Mlp> {
        let mut rest = values;
        let mut layers = Vec::new();
        for pair in widths.windows(2) {
            let (inputs, outputs) = (pair[0], pair[1]);
            let count = inputs.checked_add(1)?.checked_mul(outputs)?;
            let (own, others) = rest.split_at_checked(count)?;
            layers.push(Layer { inputs, outputs, values: own.to_vec() });
            rest = others;
        }
        (rest.is_empty()
            && !layers.is_empty()
            && layers.iter().all(|l| l.inputs > 0 && l.outputs > 0))
        .then_some(Mlp { layers })
    }

    /// What each row of `[rows, width]` is worth, in [0, 1].
    #[must_use]
    pub fn forward(&self, inputs: &[f32], rows: usize) -> Vec<f32> {
        self.activations(inputs, rows).pop().unwrap_or_default()
    }

    /// The outputs of each layer, `[rows, outputs]`.
    fn activations(&self, inputs: &[f32], rows: usize) -> Vec<Vec<f32>> {
        let mut all: Vec<Vec<f32>> = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate() {
            let from = all.last().map_or(inputs, Vec::as_slice);
            let mut out = vec![0.0; rows * layer.outputs];
            if rows > 0 {
                let a = Mat::new(from, rows, layer.inputs, layer.inputs);
                let bias = Into::Bias(layer.bias());
                matmul(Arithmetic::Single, &mut out, layer.outputs, bias, 1.0, a, layer.weights());
            }
            if number + 1 < self.layers.len() {
                out.iter_mut().for_each(|x| *x = x.max(0.0));
            } else {
                out.iter_mut().for_each(|x| *x = 1.0 / (1.0 + (-*x).exp()));
            }
            all.push(out);
        }
        all
    }

    /// Gradients of the mean squared error, in the layers' shapes, and the error itself.
    fn gradients(&self, inputs: &[f32], targets: &[f32]) -> (Vec<Vec<f32>>, f32) {
        let rows = targets.len();
        let outputs = self.activations(inputs, rows);
        let answers = outputs.last().map_or(&[][..], Vec::as_slice);
        let scale = 2.0 / rows as f32;
        let mut error = 0.0;
        let mut slope: Vec<f32> = answers
            .iter()
            .zip(targets)
            .map(|(answer, target)| {
                let miss = answer - target;
                error += miss * miss / rows as f32;
                scale * miss * answer * (1.0 - answer)
            })
            .collect();
        let mut all = Vec::with_capacity(self.layers.len());
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let from = if number == 0 { inputs } else { outputs[number - 1].as_slice() };
            let Layer { inputs: width, outputs: height, .. } = *layer;
            let mut gradient = vec![0.0; layer.values.len()];
            let (weights, bias) = gradient.split_at_mut(width * height);
            let a = Mat::new(from, rows, width, width).t();
            let b = Mat::new(&slope, rows, height, height);
            matmul(Arithmetic::Single, weights, height, Into::Replace, 1.0, a, b);
            for row in slope.chunks_exact(height) {
                bias.iter_mut().zip(row).for_each(|(sum, part)| *sum += part);
            }
            if number > 0 {
                let mut below = vec![0.0; rows * width];
                let by = layer.weights().t();
                matmul(Arithmetic::Single, &mut below, width, Into::Replace, 1.0, b, by);
                for (part, output) in below.iter_mut().zip(from) {
                    if *output <= 0.0 {
                        *part = 0.0;
                    }
                }
                slope = below;
            }
            all.push(gradient);
        }
        all.reverse();
        (all, error)
    }

    /// One step of training on `[targets, width]` rows. Answers the mean squared error before it.
    pub fn learn(&mut self, inputs: &[f32], targets: &[f32], rate: f32, adam: &mut Adam) -> f32 {
        let (gradients, error) = self.gradients(inputs, targets);
        adam.step += 1;
        let (one, two) = (1.0 - BETA1.powi(adam.step), 1.0 - BETA2.powi(adam.step));
        let memory = adam.means.iter_mut().zip(&mut adam.squares);
        for ((layer, gradient), (means, squares)) in
            self.layers.iter_mut().zip(&gradients).zip(memory)
        {
            let moments = means.iter_mut().zip(squares.iter_mut());
            for ((value, slope), (mean, square)) in
                layer.values.iter_mut().zip(gradient).zip(moments)
            {
                *mean = BETA1 * *mean + (1.0 - BETA1) * slope;
                *square = BETA2 * *square + (1.0 - BETA2) * slope * slope;
                *value -= rate * (*mean / one) / ((*square / two).sqrt() + EPSILON);
            }
        }
        error
    }
}

impl Adam {
    /// Before the first step.
    #[must_use]
    pub fn new(network: &Mlp) -> Adam {
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

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let network = Mlp::new(&[5, 7, 4, 1], 3);
        let (x, targets) = (inputs(6, 5, 1), [0.1, 0.9, 0.5, 0.3, 0.7, 1.0]);
        let (gradients, _) = network.gradients(&x, &targets);
        let error = |network: &Mlp| -> f64 {
            let answers = network.forward(&x, 6);
            answers.iter().zip(targets).map(|(a, t)| f64::from(a - t).powi(2)).sum::<f64>() / 6.0
        };
        let step = 1e-2;
        for (layer, gradient) in gradients.iter().enumerate() {
            for place in (0..network.layers[layer].values.len()).step_by(3) {
                let (mut more, mut less) = (network.clone(), network.clone());
                more.layers[layer].values[place] += step;
                less.layers[layer].values[place] -= step;
                let expected = (error(&more) - error(&less)) / (2.0 * f64::from(step));
                let found = f64::from(gradient[place]);
                assert!(
                    (found - expected).abs() < 2e-3 + 0.05 * expected.abs(),
                    "{found} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_function_is_learned() {
        let mut network = Mlp::new(&[4, 16, 16, 1], 1);
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
        let network = Mlp::new(&[5, 7, 4, 1], 3);
        let (widths, values) = (network.widths(), network.values());
        assert_eq!(widths, [5, 7, 4, 1]);
        assert_eq!(Mlp::from_values(&widths, &values), Some(network));
        assert_eq!(Mlp::from_values(&widths, &values[1..]), None);
        assert_eq!(Mlp::from_values(&[usize::MAX, 2], &values), None);
        assert_eq!(Mlp::from_values(&[5], &[]), None);
    }
}
