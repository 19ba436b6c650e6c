//! One batch's gradient by burn's autodiff, on any device: used for training on a GPU and as the reference of
//! the hand-written gradient.

mod targets;

use super::loss::{Buckets, LOSSES, LossConfig, LossSums};
use super::step::{Step, StepError};
use crate::data::Example;
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor};
use nn::device::{guarded, is_cpu};
use nn::encode::Item;
use nn::kernels::Isa;
use nn::kernels::ops::add_scaled;
use nn::net::{Layout, Net};
use targets::Targets;

/// Examples per pass on a CPU (27 % faster than 256) and on a GPU (activations of the bundled network take
/// about 4 MB per example).
const CPU_CHUNK: usize = 64;
const GPU_CHUNK: usize = 4096;

/// Gradients by automatic differentiation.
pub struct BurnStep {
    layout: Layout,
    loss: LossConfig,
    device: Device,
    buckets: Buckets,
    chunk: usize,
}

impl BurnStep {
    /// Computes on `device`; autodiff is enabled here.
    #[must_use]
    pub fn new(layout: Layout, loss: LossConfig, device: Device) -> BurnStep {
        let chunk = if is_cpu(&device) { CPU_CHUNK } else { GPU_CHUNK };
        let buckets = Buckets::new(loss.bucket_deviation);
        BurnStep { layout, loss, device: device.autodiff(), buckets, chunk }
    }

    fn run(
        &mut self,
        params: &[f32],
        batch: &[Example],
        grads: &mut [f32],
    ) -> Result<LossSums, StepError> {
        let fault = |error: &dyn std::error::Error| StepError(error.to_string());
        let (loss, device) = (&self.loss, &self.device);
        let net = Net::from_values(&self.layout, params, device).map_err(|error| fault(&error))?;
        let weights: [f32; LOSSES] = loss.weights().map(|weight| weight / batch.len() as f32);
        let weights = Tensor::<1>::from_data(weights, device);
        grads.fill(0.0);
        let mut total = LossSums::default();
        for examples in batch.chunks(self.chunk) {
            let items: Vec<Item<'_>> = examples.iter().map(Example::item).collect();
            let inputs = net.inputs(&items, items.len(), 0, device);
            let targets = Targets::new(examples, loss, &self.buckets, &inputs, device);
            let (play, world) = net.forward(&inputs);
            let (sums, counts) = targets.losses(play, world);
            let mut gradients = (sums.clone() * weights.clone()).sum().backward();
            let flat = flat_gradients(&net, &mut gradients);
            let flat = flat.try_into_vec_as::<f32>().map_err(|error| fault(&error))?;
            let sums = sums.inner().try_into_vec_as::<f32>().map_err(|error| fault(&error))?;
            add_scaled(Isa::found(), grads, 1.0, &flat);
            let mut group = counts;
            for (part, sum) in group.parts.iter_mut().zip(sums) {
                part.sum = f64::from(sum);
            }
            total.add(&group);
        }
        Ok(total)
    }
}

impl Step for BurnStep {
    fn gradient(
        &mut self,
        params: &[f32],
        batch: &[Example],
        grads: &mut [f32],
    ) -> Result<LossSums, StepError> {
        if is_cpu(&self.device) {
            // Inside the pool: from outside, every operation would hand its work over and sleep (1.65 times
            // slower).
            rayon::scope(|_| guarded(|| self.run(params, batch, grads)))
                .map_err(|error| StepError(error.0))?
        } else {
            guarded(|| self.run(params, batch, grads)).map_err(|error| StepError(error.0))?
        }
    }
}

/// Gradients of the network's parameters as a flat vector, `[layout.len]`, on the device; zero for a parameter that the
/// loss does not depend on.
fn flat_gradients(net: &Net, gradients: &mut Gradients) -> Tensor<1> {
    let mut flat = Flat { gradients, parts: Vec::new() };
    net.visit(&mut flat);
    Tensor::cat(flat.parts, 0)
}

/// Visits the parameters in field order and collects their gradients.
struct Flat<'a> {
    gradients: &'a mut Gradients,
    parts: Vec<Tensor<1>>,
}

impl ModuleVisitor for Flat<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = param.val();
        self.parts.push(match value.grad_remove(self.gradients) {
            Some(gradient) => gradient.reshape([-1]),
            None => value.inner().zeros_like().reshape([-1]),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::CpuStep;
    use crate::network::Loss;
    use crate::network::cpu::tests::{distilled_examples, examples};
    use nn::net::NetConfig;
    use nn::precision::Arithmetic;

    /// Gradients and sums of both steps on the same batch, with zero-initialised branches opened.
    fn both(config: &NetConfig, batch: &[Example], chunk: usize) -> [(LossSums, Vec<f32>); 2] {
        let layout = Layout::new(config);
        let loss = LossConfig {
            regret: 5.0,
            choice: 0.2,
            best_action_alone: 0.3,
            ..LossConfig::default()
        };
        let mut params = layout.init(5);
        for (i, p) in params.iter_mut().enumerate() {
            *p += 0.05 * ((i * 7919 % 1013) as f32 / 506.5 - 1.0);
        }
        let mut burn = BurnStep::new(layout.clone(), loss.clone(), Device::flex());
        burn.chunk = chunk;
        let mut cpu = CpuStep::new(layout.clone(), loss, Arithmetic::Single, 2);
        let steps: [&mut dyn Step; 2] = [&mut cpu, &mut burn];
        steps.map(|step| {
            let mut grads = vec![f32::NAN; layout.len];
            let sums = step.gradient(&params, batch, &mut grads).unwrap();
            (sums, grads)
        })
    }

    #[test]
    fn autodiff_agrees_with_the_hand_written_gradient() {
        let config = NetConfig::default();
        let layout = Layout::new(&config);
        // More than one chunk, the last one shorter.
        let batch = [examples(), distilled_examples()].concat();
        let [(cpu_sums, cpu), (burn_sums, burn)] = both(&config, &batch, batch.len() - 2);
        for (name, (got, want)) in
            Loss::NAMES.iter().zip(burn_sums.parts.iter().zip(&cpu_sums.parts))
        {
            assert_eq!(got.count, want.count, "{name}");
            assert!((got.sum / want.sum - 1.0).abs() < 1e-4, "{name}: {got:?} against {want:?}");
        }
        assert_eq!(burn_sums.examples, cpu_sums.examples);
        let length = |x: &mut dyn Iterator<Item = f32>| x.map(|x| x * x).sum::<f32>().sqrt();
        let mut worst = (0.0, "");
        for param in &layout.params {
            let (a, b) = (&burn[param.range.clone()], &cpu[param.range.clone()]);
            let error = length(&mut a.iter().zip(b).map(|(a, b)| a - b));
            let size = length(&mut b.iter().copied());
            assert!(size > 0.0, "{} gets no gradient", param.name);
            if error / size > worst.0 {
                worst = (error / size, &param.name);
            }
        }
        println!("largest relative difference {:.1e} in {}", worst.0, worst.1);
        assert!(worst.0 < 1e-3, "{worst:?}");
    }

    #[test]
    fn parameters_of_another_network_are_an_error() {
        let layout = Layout::new(&NetConfig::default());
        let mut step = BurnStep::new(layout, LossConfig::default(), Device::flex());
        let error = step.gradient(&[0.0; 3], &examples(), &mut [0.0; 3]).unwrap_err();
        assert!(error.to_string().contains("3 parameters"), "{error}");
    }
}
