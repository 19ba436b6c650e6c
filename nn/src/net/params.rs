//! Named parameters that tile one flat vector: where each lies and how it starts out. Which parameters a network
//! has is its layout's business: [`super::layout`] for the network, `writer::layout` for the decoder.

use crate::rng::Rng;
use std::ops::Range;

/// One named parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// As in checkpoint files.
    pub name: String,
    /// Row-major.
    pub shape: Vec<usize>,
    /// Its place in the flat vector.
    pub range: Range<usize>,
    /// How it starts out.
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

/// Places of a linear map's weight and bias.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[in, out]`.
    pub weight: Range<usize>,
    /// `[out]`.
    pub bias: Range<usize>,
}

/// Places of a layer normalisation's scale and shift.
#[derive(Clone, Debug)]
pub struct Norm {
    /// The scale, `[width]`.
    pub gamma: Range<usize>,
    /// The shift, `[width]`.
    pub beta: Range<usize>,
}

/// Lays out one parameter behind the other.
#[derive(Default)]
pub(crate) struct Builder {
    pub params: Vec<Param>,
    pub len: usize,
}

impl Builder {
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

    pub fn linear(&mut self, name: &str, inputs: usize, outputs: usize, init: Init) -> Linear {
        Linear {
            weight: self.param(&format!("{name}.weight"), &[inputs, outputs], init),
            bias: self.param(&format!("{name}.bias"), &[outputs], Init::Zero),
        }
    }

    pub fn norm(&mut self, name: &str, width: usize) -> Norm {
        Norm {
            gamma: self.param(&format!("{name}.gamma"), &[width], Init::One),
            beta: self.param(&format!("{name}.beta"), &[width], Init::Zero),
        }
    }
}

/// Standard deviation that keeps the size of a map's output that of its input.
pub(crate) fn fan_in(inputs: usize) -> Init {
    Init::Normal(1.0 / (inputs as f32).sqrt())
}

/// The values that parameters start out with, the same for the same seed.
pub(crate) fn initial_values(params: &[Param], seed: u64) -> Vec<f32> {
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

/// Normal numbers by Box and Muller.
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
