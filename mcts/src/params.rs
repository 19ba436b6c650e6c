//! Every constant of the search, with its source and range. Plain data. [`Params::sane`] clamps values outside
//! their range instead of refusing them: an option typed into a GUI must not stop a search.

/// Every search constant, each with source and range.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Leaves a worker gathers before it evaluates (paper 000, App. A.3: b = 16). 1..=1024.
    pub batch: usize,
    /// Visits of the tree per worker for each leaf beyond the first in a minibatch, so that a small tree is
    /// searched almost sequentially. Guess, after the collision ramp of lc0 PR #1540. 1..
    pub ramp: u32,
    /// Evaluation on a device with lanes of its own; None = each worker evaluates what it gathers (`batch`, `ramp`).
    pub pipeline: Option<Pipeline>,
    /// Exploration at few visits. Tuned with the two temperatures, on labelled positions at 400 nodes: 0.65 has
    /// less regret than 0.87 (half of lc0's 1.745, our Q being in [0, 1]) and as much as 0.5. 0..=16.
    pub c_puct: f32,
    /// Visits at which exploration starts to grow (lc0: 38739). 1..
    pub c_base: f32,
    /// Growth of exploration with log N; half of lc0's 3.894. 0 = constant `c_puct`. 0..=16.
    pub c_factor: f32,
    /// Eq. 1: temperature over action values (paper 000, App. A.3: 0.1). 0.001..=10.
    pub tau: f32,
    /// Eq. 1: the k best moves share the softmax (paper 000, App. A.3: 5). 1..
    pub top_k: usize,
    /// Eq. 1: share spread evenly over all moves (paper 000, App. A.3: 0.05). 0..=1.
    pub epsilon: f32,
    /// Weight of the model's policy head in the prior against Eq. 1's action-value prior, 0..=1.
    /// 0 is the paper's agent; tuned by 60 games at 100 nodes: 1 scored 57.5 % against 0.5 (LOS 90 %).
    pub policy_share: f32,
    /// Policy temperature below the root: policy^(1 / T), normalised, before it is mixed with Eq. 1. Tuned as
    /// `c_puct` (lc0: 1.36). 0.1..=10.
    pub policy_temperature: f32,
    /// Policy temperature at the root; 0 = as below. The tree stores only the mixed prior, so the prior is
    /// raised to the ratio of the two temperatures. Tuned as `c_puct`. 0, or 0.1..=10.
    pub root_policy_temperature: f32,
    /// First-play urgency: Q of an unvisited edge.
    pub fpu: Fpu,
    /// Dynamic virtual counts of paper 000, section 3.2; None = static count of `static_virtual`. Paper:
    /// minimum 2, maximum from 8. 1..=64 each.
    pub dynamic_virtual: Option<VirtualCounts>,
    /// Doubles the maximum count from 1,000 simulations of a search on, and again from 2,000 on, as in the
    /// table of paper 000, App. A.3.
    pub adapt_virtual: bool,
    /// Paper 000, App. A.3: 10, the baseline it beats. 1..=64.
    pub static_virtual: u32,
    /// Final move: most visits (robust child) or best mean value (max child).
    pub final_move: FinalMove,
    /// Contempt: a draw counts this much less than half a point for the player at the root, and this much more
    /// for the opponent (after lc0's draw score). It steers the search; the values in the tree are unchanged.
    /// -0.5..=0.5.
    pub contempt: f32,
    /// Share of Dirichlet noise in the root's priors, for self-play; 0 = off. AlphaZero: 0.25. 0..=1.
    pub noise_epsilon: f32,
    /// Concentration of that noise per move. AlphaZero, chess: 0.3. 0.001..=100.
    pub noise_alpha: f32,
    /// Seeds tie-breaks and noise.
    pub seed: u64,
    /// With `seed`, seeds the noise of one search: each number gives another sample. AlphaZero draws one for
    /// each move of each game, so self-play increments it.
    pub noise_seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            batch: 16,
            ramp: 8,
            pipeline: None,
            c_puct: 0.65,
            c_base: 38_739.0,
            c_factor: 1.947,
            tau: 0.1,
            top_k: 5,
            epsilon: 0.05,
            policy_share: 0.8,
            policy_temperature: 1.6,
            root_policy_temperature: 2.4,
            fpu: Fpu::ActionValue,
            dynamic_virtual: Some(VirtualCounts { min: 2, max: 8 }),
            adapt_virtual: true,
            static_virtual: 10,
            final_move: FinalMove::Robust,
            contempt: 0.0,
            noise_epsilon: 0.0,
            noise_alpha: 0.3,
            seed: 0,
            noise_seed: 0,
        }
    }
}

/// Largest virtual count of one playout on one node; a node's counter is sized by it.
pub const MAX_VIRTUAL: u32 = 64;
/// Largest minibatch of one worker; as above.
pub const MAX_BATCH: usize = 1024;
/// Most workers of one search; as above.
pub const MAX_THREADS: usize = 256;

impl Params {
    /// The parameters clamped to their ranges.
    #[must_use]
    pub fn sane(mut self) -> Self {
        let or = |x: f32, low: f32, high: f32, default: f32| {
            if x.is_finite() { x.clamp(low, high) } else { default }
        };
        let d = Params::default();
        self.batch = self.batch.clamp(1, MAX_BATCH);
        self.ramp = self.ramp.max(1);
        self.pipeline = self.pipeline.map(Pipeline::sane);
        self.c_puct = or(self.c_puct, 0.0, 16.0, d.c_puct);
        self.c_base = or(self.c_base, 1.0, 1e12, d.c_base);
        self.c_factor = or(self.c_factor, 0.0, 16.0, d.c_factor);
        self.tau = or(self.tau, 0.001, 10.0, d.tau);
        self.top_k = self.top_k.max(1);
        self.epsilon = or(self.epsilon, 0.0, 1.0, d.epsilon);
        self.policy_share = or(self.policy_share, 0.0, 1.0, d.policy_share);
        self.policy_temperature = or(self.policy_temperature, 0.1, 10.0, d.policy_temperature);
        let root = self.root_policy_temperature;
        self.root_policy_temperature = if root > 0.0 { or(root, 0.1, 10.0, 0.0) } else { 0.0 };
        self.dynamic_virtual = self.dynamic_virtual.map(|counts| {
            let min = counts.min.clamp(1, MAX_VIRTUAL);
            VirtualCounts { min, max: counts.max.clamp(min, MAX_VIRTUAL) }
        });
        self.static_virtual = self.static_virtual.clamp(1, MAX_VIRTUAL);
        self.contempt = or(self.contempt, -0.5, 0.5, 0.0);
        self.noise_epsilon = or(self.noise_epsilon, 0.0, 1.0, 0.0);
        self.noise_alpha = or(self.noise_alpha, 0.001, 100.0, d.noise_alpha);
        self
    }

    /// Amount by which a draw counts less than half a point for the side to move `plies` below the root.
    #[inline]
    #[must_use]
    pub fn draw_cost(&self, plies: usize) -> f32 {
        if plies.is_multiple_of(2) { self.contempt } else { -self.contempt }
    }
}

/// Evaluation on a device: the workers' leaves go through one queue, and each free lane takes what waits as its batch
/// (paper 000, section 3 and figure 6: a number of leaves in flight, each backed up as its answer comes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Batches under way at once: one that the device computes, others that are prepared or read. 1..=16.
    pub lanes: usize,
    /// Leaves in flight from the start: a device takes as long for them as for one. 1..=`most`.
    pub least: usize,
    /// Leaves of a batch. 1..=1024.
    pub most: usize,
    /// Visits of the tree for each leaf in flight beyond `least`: see [`Params::ramp`]. 1..
    pub ramp: u32,
}

/// Most batches under way at once; the root's virtual counts have room for their leaves (`node`).
const MAX_LANES: usize = 16;

impl Pipeline {
    fn sane(self) -> Pipeline {
        let most = self.most.clamp(1, MAX_BATCH);
        Pipeline {
            lanes: self.lanes.clamp(1, MAX_LANES),
            least: self.least.clamp(1, most),
            most,
            ramp: self.ramp.max(1),
        }
    }

    /// Leaves that may be in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.lanes * self.most
    }

    /// Leaves that may be in flight in a tree of `visits`.
    #[must_use]
    pub fn in_flight_at(&self, visits: u64) -> usize {
        let ramp = usize::try_from(visits / u64::from(self.ramp)).unwrap_or(usize::MAX);
        ramp.max(self.least).min(self.in_flight())
    }
}

/// First-play urgency: the Q of an unvisited edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fpu {
    /// The model's own action value of that edge (after Ceres' action head).
    ActionValue,
    /// The parent's Q (lc0).
    ParentQ,
}

/// Minimum and maximum virtual count on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualCounts {
    /// On the nodes far above the leaf (the paper's n_min).
    pub min: u32,
    /// On the leaf (the paper's n_max).
    pub max: u32,
}

/// Rule that turns the root's statistics into a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalMove {
    /// Most visits, ties by mean value.
    Robust,
    /// Best mean value among the visited, ties by visits.
    Max,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_sane_and_nonsense_becomes_so() {
        assert_eq!(Params::default().sane(), Params::default());
        let wild = Params {
            batch: 0,
            tau: f32::NAN,
            c_puct: -1.0,
            top_k: 0,
            dynamic_virtual: Some(VirtualCounts { min: 9, max: 3 }),
            contempt: f32::INFINITY,
            root_policy_temperature: 0.01,
            ..Params::default()
        }
        .sane();
        assert_eq!((wild.batch, wild.tau, wild.c_puct, wild.top_k), (1, 0.1, 0.0, 1));
        assert_eq!(wild.dynamic_virtual, Some(VirtualCounts { min: 9, max: 9 }));
        assert_eq!((wild.contempt, wild.root_policy_temperature), (0.0, 0.1));
    }
}
