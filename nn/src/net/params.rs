//! Named parameters that tile one flat vector: offset and initialisation of each. The list is the layout's:
//! [`super::layout`] for the network, `writer::layout` for the decoder, `net::layout` of the crate `games` for other games.

use crate::rng::Rng;
use std::ops::Range;

/// One named parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Name in checkpoint files.
    pub name: String,
    /// Row-major.
    pub shape: Vec<usize>,
    /// Range in the flat vector.
    pub range: Range<usize>,
    /// Initialisation.
    pub init: Init,
}

/// Initial values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All 0.
    Zero,
    /// All 1.
    One,
    /// All this number.
    Constant(f32),
    /// Normal with this standard deviation.
    Normal(f32),
}

/// Offsets of a linear map's weight and bias.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[in, out]`.
    pub weight: Range<usize>,
    /// `[out]`.
    pub bias: Range<usize>,
}

/// Offsets of a layer normalisation's scale and shift.
#[derive(Clone, Debug)]
pub struct Norm {
    /// The scale, `[width]`.
    pub gamma: Range<usize>,
    /// The shift, `[width]`.
    pub beta: Range<usize>,
}

/// Allocates parameters one behind the other.
#[derive(Default)]
pub struct Builder {
    /// So far, in order.
    pub params: Vec<Param>,
    /// Length of the flat vector so far.
    pub len: usize,
}

impl Builder {
    /// Adds a parameter; returns its place.
    pub fn param(&mut self, name: &str, shape: &[usize], init: Init) -> Range<usize> {
        let range = self.len..self.len + shape.iter().product::<usize>();
        self.len = range.end;
        self.params.push(Param {
            name: name.into(),
            shape: shape.into(),
            range: range.clone(),
            init,
        });
        range
    }

    /// Adds `name.weight`, `[inputs, outputs]`, and `name.bias`, zero at first.
    pub fn linear(&mut self, name: &str, inputs: usize, outputs: usize, init: Init) -> Linear {
        Linear {
            weight: self.param(&format!("{name}.weight"), &[inputs, outputs], init),
            bias: self.param(&format!("{name}.bias"), &[outputs], Init::Zero),
        }
    }

    /// Adds `name.gamma` and `name.beta`, `[width]` each.
    pub fn norm(&mut self, name: &str, width: usize) -> Norm {
        Norm {
            gamma: self.param(&format!("{name}.gamma"), &[width], Init::One),
            beta: self.param(&format!("{name}.beta"), &[width], Init::Zero),
        }
    }
}

/// Standard deviation that preserves the variance of a map's input.
pub fn fan_in(inputs: usize) -> Init {
    Init::Normal(1.0 / (inputs as f32).sqrt())
}

/// Initial values of parameters, deterministic for a seed.
pub fn initial_values(params: &[Param], seed: u64) -> Vec<f32> {
    let mut random = Normal { rng: Rng::from_state(seed), spare: None };
    let mut values = vec![0.0; params.last().map_or(0, |param| param.range.end)];
    for param in params {
        for value in &mut values[param.range.clone()] {
            *value = match param.init {
                Init::Zero => 0.0,
                Init::One => 1.0,
                Init::Constant(c) => c,
                Init::Normal(deviation) => deviation * random.next(),
            };
        }
    }
    values
}

/// Normal random numbers by Box and Muller.
struct Normal {
    rng: Rng,
    spare: Option<f32>,
}

impl Normal {
    fn next(&mut self) -> f32 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.rng.unit()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.rng.unit();
        self.spare = Some((radius * angle.sin()) as f32);
        (radius * angle.cos()) as f32
    }
}
