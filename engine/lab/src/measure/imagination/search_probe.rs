//! Imagination inside searches: a world that answers as the learned one does, plays the same moves by the
//! rules beside it, and counts which of the imagined states are true. The search does not notice.

use super::counts::{Counts, StateComparison};
use chess::action::Action;
use chess::game::Game;
use engine::options::settings::Settings;
use engine::play::tree::params::{rules_world, search_params};
use engine::world::memory::PredictionCache;
use engine::world::{LearnedWorld, learned};
use mcts::{Leaf, Patient, Searcher, Wdl, World};
use nn::encode::terminal;
use nn::evaluator::cpu::CpuEvaluator;
use nn::evaluator::is_true;
use nn::{EvalError, Evaluator};
use shakmaty::{CastlingMode, Chess, Position};
use std::sync::{Arc, Mutex, PoisonError};
use train::data::validation::Stretch;

/// Bytes of the tree, and of the states imagined: more than a few thousand nodes need.
const BYTES: usize = 64 << 20;

struct ProbedWorld {
    world: LearnedWorld,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Clone)]
struct State {
    imagined: learned::LearnedState,
    /// None at the root.
    last: Option<LastMove>,
    /// None after a move that is not legal.
    truth: Option<Chess>,
    depth: usize,
}

/// How a state was reached.
#[derive(Clone)]
struct LastMove {
    before: Box<learned::LearnedState>,
    action: Action,
    /// The state before it was right.
    from_truth: bool,
}

impl ProbedWorld {
    fn count(&self, state: &State, leaf: &Leaf<Action>) {
        let Some(LastMove { before, action, from_truth }) = &state.last else { return };
        let mut found = StateComparison {
            from_truth: *from_truth,
            ..StateComparison::all_wrong(state.truth.as_ref())
        };
        found.refused = matches!(leaf, Leaf::Refused);
        // The last answer is remembered, so that one step leads there.
        let mut after = (**before).clone();
        self.world.step(&mut after, *action);
        if let (Some(truth), Some(position), false) =
            (&state.truth, after.position(), found.refused)
        {
            found.state = is_true(position, truth);
            let (legal, end) = match leaf {
                Leaf::Open { edges, .. } => (edges.iter().map(|e| e.action).collect(), None),
                Leaf::Over(end) | Leaf::Known(end) => (Vec::new(), Some(*end)),
                Leaf::Refused => (Vec::new(), None),
            };
            found.compare_moves(legal, truth);
            found.compare_end(end, terminal(truth, truth.legal_moves().len()));
            // At an end, moves are not used.
            found.legal |= end.is_some() && found.end;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(state.depth - 1, &found);
    }
}

impl World for ProbedWorld {
    type State = State;
    type Action = Action;
    type Error = EvalError;

    fn step(&self, state: &mut State, action: Action) -> Option<Wdl> {
        let from_truth = match (state.imagined.position(), &state.truth) {
            (Some(imagined), Some(truth)) => is_true(imagined, truth),
            _ => false,
        };
        let before = Box::new(state.imagined.clone());
        let end = self.world.step(&mut state.imagined, action);
        state.last = Some(LastMove { before, action, from_truth });
        state.truth = state.truth.take().and_then(|mut truth| {
            let m = action.to_move(&truth).filter(|m| truth.is_legal(*m))?;
            truth.play_unchecked(m);
            Some(truth)
        });
        state.depth += 1;
        end
    }

    fn evaluate(&self, leaves: &[&State]) -> Result<Vec<Leaf<Action>>, EvalError> {
        let states: Vec<&learned::LearnedState> =
            leaves.iter().map(|state| &state.imagined).collect();
        let answers = self.world.evaluate(&states)?;
        leaves.iter().zip(&answers).for_each(|(state, leaf)| self.count(state, leaf));
        Ok(answers)
    }
}

/// Searches from the beginning of each stretch, with the engine's own settings and one thread, and adds
/// to `counts`.
pub(super) fn search(
    evaluator: &Arc<CpuEvaluator>,
    stretches: &[&Stretch],
    nodes: u64,
    counts: Counts,
) -> Counts {
    let counts = Arc::new(Mutex::new(counts));
    let settings = Settings::default();
    let params = search_params(&settings, evaluator.preferred_batch());
    let mut searcher: Searcher<ProbedWorld> = Searcher::new(params, BYTES);
    for stretch in stretches {
        let game = Game::new(stretch.start.clone(), CastlingMode::Chess960);
        let judge: Arc<dyn Evaluator> = evaluator.clone();
        let rules = rules_world(judge.clone(), &settings);
        let memory = Arc::new(PredictionCache::new(BYTES));
        let Some(world) = LearnedWorld::new(judge, rules, memory) else { break };
        let root = State {
            imagined: learned::LearnedState::root(&game),
            last: None,
            truth: Some(stretch.start.clone()),
            depth: 0,
        };
        let world = ProbedWorld { world, counts: counts.clone() };
        searcher.set_root(root);
        searcher.run(&world, 1, Some(nodes), &Patient);
    }
    let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    counts.clone()
}
