//! Parameters of the tree search from options, for play and for everything that measures the search that plays.

use crate::fnv::Fnv;
use crate::options::settings::{PaperAgent, Search, Settings};
use crate::play::clock::limits::Limits;
use crate::world::RulesWorld;
use crate::world::rollout;
use chess::game::Game;
use mcts::Params;
use nn::Evaluator;
use std::sync::Arc;
use std::time::Duration;

/// Minibatches that a move's time must hold: one that is evaluated across the limit cannot be called back.
const BATCHES_PER_MOVE: u128 = 8;

/// The search parameters of `settings`, with minibatches of `batch`.
#[must_use]
pub fn search_params(settings: &Settings, batch: usize) -> Params {
    if settings.search == Search::Rollout {
        return Params {
            c_puct: settings.tree.c_puct,
            final_move: settings.tree.final_move,
            ..rollout::params(rollout::SEED)
        };
    }
    let own = Params {
        batch,
        contempt: if settings.analyse_mode { 0.0 } else { settings.contempt as f32 / 100.0 },
        ..settings.tree.clone()
    };
    let bare = Params { policy_share: 0.0, root_policy_temperature: 0.0, ramp: 1, ..own.clone() };
    match settings.paper_agent {
        PaperAgent::Off => own,
        PaperAgent::Dynamic => bare,
        PaperAgent::Static => Params { dynamic_virtual: None, ..bare },
    }
}

/// The rules of chess with `evaluator`'s values, as `settings` want them read and mixed.
#[must_use]
pub fn rules_world(evaluator: Arc<dyn Evaluator>, settings: &Settings) -> RulesWorld {
    match settings.paper_agent {
        PaperAgent::Off => {
            RulesWorld::new(evaluator, settings.scoring, settings.state_value_share).with_mates()
        }
        PaperAgent::Dynamic | PaperAgent::Static => {
            RulesWorld::new(evaluator, settings.scoring, 0.0)
        }
    }
}

/// Gives `player` of a team a search of its own in this position where it shares another's network: Dirichlet noise of
/// this share in the root's priors (AlphaZero), another sample for each player and position.
pub fn reseed(params: &mut Params, player: usize, game: &Game, share: f32) {
    let key = game.keys().last().copied().unwrap_or_default();
    params.noise_epsilon = share;
    params.noise_seed = Fnv::seeded(player as u64).with_word(key).get();
}

/// The largest minibatch up to `preferred` that fits a move's time often enough, when one evaluation
/// takes `evaluation`.
#[must_use]
pub fn batch_within(limits: &Limits, preferred: usize, evaluation: Duration) -> usize {
    let Some(budget) = limits.budget else { return preferred };
    let fit = budget.hard.as_nanos() / BATCHES_PER_MOVE / evaluation.as_nanos().max(1);
    preferred.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::clock::Budget;
    use crate::world::rules::RulesState;
    use mcts::{Leaf, Wdl, World};
    use nn::evaluator::fake::Hashed;

    #[test]
    fn default_options_are_the_default_parameters() {
        let params = search_params(&Settings::default(), Params::default().batch);
        assert_eq!(params, Params::default());
    }

    #[test]
    fn the_papers_agent_has_action_values_alone() {
        let of = |paper_agent| {
            let settings = Settings { paper_agent, ..Settings::default() };
            search_params(&settings, settings.minibatch().unwrap_or(1))
        };
        let dynamic = of(PaperAgent::Dynamic);
        assert_eq!((dynamic.policy_share, dynamic.batch, dynamic.ramp), (0.0, 16, 1));
        assert_eq!((dynamic.tau, dynamic.top_k, dynamic.epsilon), (0.1, 5, 0.05));
        assert!(
            dynamic.dynamic_virtual.is_some() && of(PaperAgent::Static).dynamic_virtual.is_none()
        );
        assert_eq!(of(PaperAgent::Static).static_virtual, 10);
    }

    #[test]
    fn the_papers_agent_is_shown_no_mate_and_checks_no_blunders() {
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", false).unwrap();
        let sees_mate = |settings: &Settings| {
            let world = rules_world(Arc::new(Hashed::default()), settings);
            let leaves = world.evaluate(&[&RulesState::root(&game)]).unwrap();
            matches!(&leaves[..], [Leaf::Open { value, .. }] if *value == Wdl::WIN)
        };
        let own = Settings::default();
        let papers = Settings { paper_agent: PaperAgent::Dynamic, ..Settings::default() };
        assert_eq!((sees_mate(&own), sees_mate(&papers)), (true, false));
        assert_eq!((own.checks_blunders(), papers.checks_blunders()), (true, false));
    }

    #[test]
    fn little_time_means_small_batches() {
        let budget = Budget {
            soft: Duration::from_millis(40),
            hard: Duration::from_millis(80),
            flag: Duration::from_millis(320),
            flexible: true,
        };
        let limits = Limits { budget: Some(budget), ..Limits::default() };
        assert_eq!(batch_within(&limits, 16, Duration::from_millis(5)), 2);
        assert_eq!(batch_within(&limits, 16, Duration::from_secs(1)), 1);
        assert_eq!(batch_within(&limits, 16, Duration::ZERO), 16);
        assert_eq!(batch_within(&Limits::default(), 16, Duration::from_secs(1)), 16);
    }
}
