//! Trainable parameters of a run. A subset is a list of ranges of the flat vector; it is gathered, stepped as
//! its own vector and scattered back; other parameters are untouched, by the optimiser's decay too.

use super::optimizer::{Optimizer, OptimizerConfig};
use nn::net::Layout;
use nn::net::params::{Init, Param};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Trainable parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learns {
    /// All.
    #[default]
    Everything,
    /// The transition head, by AdamW without decay: all other outputs stay bit-identical.
    Transitions,
    /// The additions of the players after the first, by the same: the first one stays bit-identical.
    Players,
}

/// The optimiser of the trainable parameters.
pub(super) struct Learner {
    pub optimizer: Optimizer,
    /// None: the whole vector.
    places: Option<Vec<Range<usize>>>,
}

impl Learner {
    pub fn new(layout: &Layout, learns: Learns, config: &OptimizerConfig) -> Learner {
        let places = match learns {
            Learns::Everything => None,
            Learns::Transitions => Some(layout.of_transitions()),
            Learns::Players => Some(layout.players.iter().cloned().collect()),
        };
        let optimizer = match &places {
            None => Optimizer::new(layout, config.clone()),
            Some(places) => {
                let len = places.iter().map(Range::len).sum();
                let whole = Param {
                    name: "some".into(),
                    shape: vec![len],
                    range: 0..len,
                    init: Init::Zero,
                };
                Optimizer::of(&[whole], config.clone())
            }
        };
        Learner { optimizer, places }
    }

    /// [`Optimizer::step`] on the trainable parameters; returns the length of their gradient.
    pub fn step(&mut self, params: &mut [f32], grads: &[f32], rate: f32, step: u64) -> f32 {
        let Some(places) = &self.places else {
            return self.optimizer.step(params, grads, rate, step);
        };
        let of = |all: &[f32]| -> Vec<f32> {
            places.iter().flat_map(|place| &all[place.clone()]).copied().collect()
        };
        let (mut some, grads) = (of(params), of(grads));
        let length = self.optimizer.step(&mut some, &grads, rate, step);
        let mut rest = &some[..];
        for place in places {
            let (values, after) = rest.split_at(place.len());
            params[place.clone()].copy_from_slice(values);
            rest = after;
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Example;
    use crate::data::boards::{random_actions, random_boards, unlabelled};
    use nn::checkpoint::Network;
    use nn::cpu::{Activations, Heads, Logits, forward};
    use nn::encode::Item;
    use nn::net::NetConfig;
    use nn::precision::Arithmetic;

    /// All outputs.
    fn answers(network: &Network, examples: &[Example], arithmetic: Arithmetic) -> [Vec<f32>; 8] {
        let items: Vec<Item<'_>> = examples.iter().map(Example::item).collect();
        let (layout, mut a) = (&network.layout, Activations::default());
        forward(layout, &network.weights(arithmetic), &items, Heads::All, false, &mut a);
        let squares = (0..items.len()).flat_map(|p| (0..64).map(move |token| (p, token)));
        let squares = squares.map(|(p, token)| a.transition(layout, p, token));
        let (board, promotes): (Vec<Vec<f32>>, _) =
            squares.map(|(board, promotes)| (board.to_vec(), promotes)).unzip();
        let Logits { policy, actions, value, result, terminal, legality } = a.logits;
        [policy, actions, value, result, terminal, legality, promotes, board.concat()]
    }

    #[test]
    fn learning_of_transitions_changes_no_other_answer() {
        let config = NetConfig { transition_marks: true, width: 16, ..NetConfig::tiny() };
        let before = Network::new(&config, 3);
        let mut after = before.clone();
        // A decay strong enough to show.
        let strong = OptimizerConfig { weight_decay: 0.5, ..OptimizerConfig::default() };
        let mut learner = Learner::new(&before.layout, Learns::Transitions, &strong);
        let grads: Vec<f32> = (0..before.layout.len).map(|i| (i * 31 % 17) as f32 - 7.5).collect();
        for step in 1..=3 {
            learner.step(&mut after.values, &grads, 0.1, step);
        }
        let changed = |i: &usize| before.values[*i] != after.values[*i];
        let places: Vec<usize> = before.layout.of_transitions().into_iter().flatten().collect();
        assert!(places.iter().all(changed) && places.is_sorted());
        assert_eq!((0..before.layout.len).filter(changed).count(), places.len());
        let boards = random_boards(20, 1);
        let states = boards.iter().map(|board| unlabelled(board, None));
        let examples: Vec<Example> = states.chain(random_actions(&boards, 1)).collect();
        for arithmetic in [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8] {
            let [old, new] =
                [&before, &after].map(|network| answers(network, &examples, arithmetic));
            let same: Vec<bool> = old.iter().zip(&new).map(|(old, new)| old == new).collect();
            let (board, others) = same.split_last().expect("eight heads");
            assert!(others.iter().all(|same| *same) && !board, "{arithmetic:?}: {same:?}");
        }
    }
}
