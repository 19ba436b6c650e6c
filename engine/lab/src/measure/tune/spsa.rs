//! SPSA: simultaneous perturbation stochastic approximation (Spall, "Implementation of the simultaneous perturbation
//! algorithm for stochastic optimization", 1998). Each step evaluates a random direction and its opposite on the same
//! sample and moves all parameters towards the better one.
//!
//! The step size is proportional to the difference in units of its standard error, so that neither the scale of the
//! regret nor of a parameter has to be known.

use super::compare::Mean;
use nn::rng::Rng;
use train::metrics::Z95;

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Name of the option.
    pub name: String,
    /// Initial value.
    pub start: f64,
    /// Initial perturbation.
    pub step: f64,
}

impl Dimension {
    /// Parses `NAME=START:STEP`.
    #[must_use]
    pub fn read(text: &str) -> Option<Dimension> {
        let (name, numbers) = text.split_once('=')?;
        let (start, step) = numbers.split_once(':')?;
        let number = |text: &str| text.trim().parse().ok().filter(|x: &f64| x.is_finite());
        let (start, step) = (number(start)?, number(step)?);
        let name = name.trim().to_owned();
        (step > 0.0 && !name.is_empty()).then_some(Dimension { name, start, step })
    }
}

/// Spall's exponents of perturbation and step size.
const GAMMA: f64 = 0.101;
const ALPHA: f64 = 0.602;
/// Maximum number of standard errors that one comparison counts.
const CLIP: f64 = 2.0;

/// State of the optimisation.
#[derive(Clone, Debug)]
pub struct Spsa {
    dimensions: Vec<Dimension>,
    /// Parameters relative to the start, in units of the perturbation.
    at: Vec<f64>,
    signs: Vec<f64>,
    random: Rng,
    done: u32,
    /// Planned steps: a tenth of it is the stability constant.
    planned: u32,
}

impl Spsa {
    /// Starts at the initial values.
    #[must_use]
    pub fn new(dimensions: Vec<Dimension>, planned: u32, seed: u64) -> Spsa {
        let at = vec![0.0; dimensions.len()];
        Spsa { signs: at.clone(), at, dimensions, random: Rng::from_state(seed), done: 0, planned }
    }

    /// Current values.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.value(0.0)
    }

    fn value(&self, scale: f64) -> Vec<f64> {
        let at = self.dimensions.iter().zip(&self.at).zip(&self.signs);
        at.map(|((d, at), sign)| d.start + d.step * (at + scale * sign)).collect()
    }

    /// The two points to compare next.
    pub fn pair(&mut self) -> [Vec<f64>; 2] {
        for sign in &mut self.signs {
            *sign = if self.random.bits() & 1 == 0 { 1.0 } else { -1.0 };
        }
        let scale = f64::from(self.done + 1).powf(-GAMMA);
        [self.value(scale), self.value(-scale)]
    }

    /// Updates the parameters by the mean regret of the first point minus that of the second.
    pub fn learn(&mut self, difference: Mean) {
        let error = difference.margin / Z95;
        let errors = if error > 0.0 { difference.mean / error } else { 0.0 };
        let steady = f64::from(self.planned) / 10.0;
        let length = ((1.0 + steady) / (f64::from(self.done + 1) + steady)).powf(ALPHA);
        for (at, sign) in self.at.iter_mut().zip(&self.signs) {
            *at -= sign * length * errors.clamp(-CLIP, CLIP) / CLIP;
        }
        self.done += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_read_and_refused() {
        let read = Dimension::read("CPuct = 0.87:0.2").unwrap();
        assert_eq!((read.name.as_str(), read.start, read.step), ("CPuct", 0.87, 0.2));
        for text in ["CPuct", "CPuct=1", "CPuct=1:0", "=1:1", "CPuct=a:1", "CPuct=1:inf"] {
            assert!(Dimension::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_bottom_of_a_noisy_bowl_is_found() {
        let dimensions = ["A=0:0.5", "B=10:2"].map(|text| Dimension::read(text).unwrap());
        let mut spsa = Spsa::new(dimensions.into(), 200, 7);
        let bowl = |at: &[f64]| (at[0] - 2.0).powi(2) + ((at[1] - 4.0) / 4.0).powi(2);
        let mut random = Rng::from_state(1);
        for _ in 0..200 {
            let [plus, minus] = spsa.pair();
            let noise = random.below(1000) as f64 / 1000.0 - 0.5;
            spsa.learn(Mean { mean: bowl(&plus) - bowl(&minus) + noise, margin: 0.6 });
        }
        let found = spsa.values();
        assert!((found[0] - 2.0).abs() < 0.4 && (found[1] - 4.0).abs() < 1.6, "{found:?}");
    }

    #[test]
    fn no_evidence_is_no_step() {
        let mut spsa = Spsa::new(vec![Dimension::read("A=1:1").unwrap()], 10, 0);
        spsa.pair();
        spsa.learn(Mean::default());
        assert_eq!(spsa.values(), [1.0]);
    }
}
