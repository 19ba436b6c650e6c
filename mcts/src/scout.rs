//! Second opinions: a node that has gathered many visits is shown to the world once more ([`World::scout`]). The
//! moves of the line named there get a greater prior, and a few playouts follow it to its end. So a move that the model
//! overlooks is looked at where it matters, and so is what makes it good.

use crate::{
    job::Job,
    node::NodeState,
    params::Params,
    tree::{EdgeWord, Edges, Tree},
    world::World,
};

/// The numbers of visits at which a node is shown: a first one and, from there on, four times as many again and
/// again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Milestones {
    /// A power of two's logarithm; None = never.
    first: Option<u32>,
}

impl Milestones {
    /// Those of a search with these parameters.
    pub fn new(params: &Params) -> Milestones {
        Milestones { first: params.scout_visits.checked_ilog2() }
    }

    /// Those of nodes below a move that was named and that the search still doubts: else it would turn away from the
    /// move before it has seen what makes it good.
    pub fn below_doubted(self) -> Milestones {
        Milestones { first: self.first.map(|first| first.min(2)) }
    }

    /// The last milestone passed by a node that had `before` visits and has `after`.
    #[inline]
    pub fn reached(self, before: u64, after: u64) -> Option<u64> {
        let first = self.first?;
        let passed = |visits: u64| (visits >> first).checked_ilog2().map(|fours| fours / 2);
        let last = passed(after)?;
        (passed(before) != Some(last)).then(|| 1 << (first + 2 * last))
    }
}

/// Whether the edge to `child` was named and is doubted: it has few of the `visits` of its node.
pub fn is_doubted(job: &Job<'_, impl World>, edge: EdgeWord, child: u32, visits: u64) -> bool {
    // The mark of a named edge is its prior, which no other has but by chance.
    edge.has_prior(job.params.scout_prior) && {
        let known = job.tree.node(child).stats().visits;
        known as f32 <= 2.0 * job.params.scout_share * visits as f32
    }
}

/// A line from the root that playouts are to follow.
#[derive(Debug, Default)]
pub struct SuggestedLine {
    /// The actions: first those to the node where the line was named.
    actions: Vec<u16>,
    /// How many of them those are.
    named_at: usize,
    /// Playouts that have not followed it yet: one for each ply of the line, since each adds one node.
    playouts: usize,
}

impl SuggestedLine {
    /// A playout begins; true if it is to follow the line.
    pub fn take_playout(&mut self) -> bool {
        let any = self.playouts > 0;
        self.playouts -= usize::from(any);
        any
    }

    /// The line's edge, `plies` below the root, which gets more prior. None where it ends.
    pub fn edge_at(&self, edges: &Edges<'_>, plies: usize, prior: f32) -> Option<usize> {
        let action = *self.actions.get(plies)?;
        let edge = edges.iter().position(|edge| edge.action() == action)?;
        if plies >= self.named_at {
            edges.raise(edge, prior);
        }
        Some(edge)
    }
}

/// Shows the node at the end of `path` to the world, and answers with the line it names.
pub fn scout<W: World>(job: &Job<'_, W>, path: &[u32], visits: u64) -> Option<SuggestedLine> {
    let at = *path.last()?;
    let meta = job.tree.node(at).meta();
    if meta.state() != NodeState::Expanded || meta.proof().is_some() {
        return None;
    }
    let (state, mut actions) = state_at(job, path)?;
    let edges = job.tree.edges(meta.edges());
    let favourite = favourite(job.tree, &edges)?;
    let favourite = W::Action::from(edges.get(favourite).action());
    let stopped = || job.control.stopped();
    let line = job.world.scout(&state, favourite, visits, &stopped)?;
    let better: u16 = (*line.first()?).into();
    let edge = edges.iter().position(|edge| edge.action() == better)?;
    let known = edges.get(edge).child().map_or(0, |at| job.tree.node(at).stats().visits);
    let is_root = at == job.tree.root;
    let forbidden = is_root && !job.root_policy.allows(edge);
    if forbidden || known as f32 > job.params.scout_share * visits as f32 {
        return None;
    }
    edges.raise(edge, job.params.scout_prior);
    if is_root {
        job.root_policy.name(edge);
    }
    let named_at = actions.len();
    actions.extend(line.iter().map(|action| (*action).into()));
    Some(SuggestedLine { actions, named_at, playouts: line.len() })
}

/// The most visited move.
fn favourite(tree: &Tree, edges: &Edges<'_>) -> Option<usize> {
    let visits = |edge: usize| edges.get(edge).child().map(|at| tree.node(at).stats().visits);
    (0..edges.len()).max_by_key(|edge| visits(*edge))
}

/// The state at the end of a path, and the actions to it; None if the game is over before.
fn state_at<W: World>(job: &Job<'_, W>, path: &[u32]) -> Option<(W::State, Vec<u16>)> {
    let mut state = job.state.clone();
    let mut actions = Vec::new();
    for step in path.windows(2) {
        let edges = job.tree.edges(job.tree.node(step[0]).meta().edges());
        let edge = edges.iter().find(|edge| edge.child() == Some(step[1]))?;
        if job.world.step(&mut state, W::Action::from(edge.action())).is_some() {
            return None;
        }
        actions.push(edge.action());
    }
    Some((state, actions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Leaf, Patient, Searcher, Wdl};
    use std::convert::Infallible;
    use std::sync::Mutex;

    /// Ten plies. Move 1 of the first player wins soon and the model does not see it.
    #[derive(Default)]
    struct Blind {
        /// Names the good move if it is asked.
        sees: bool,
        /// It is not good at all.
        fools: bool,
        /// What it was asked.
        asked: Mutex<Vec<(usize, u16, u64)>>,
    }

    impl World for Blind {
        type State = Vec<u16>;
        type Action = u16;
        type Error = Infallible;

        fn step(&self, state: &mut Vec<u16>, action: u16) -> Option<Wdl> {
            state.push(action);
            None
        }

        fn evaluate(&self, leaves: &[&Vec<u16>]) -> Result<Vec<Leaf<u16>>, Infallible> {
            let leaf = |played: &&Vec<u16>| {
                let plies = played.len();
                if plies == 10 {
                    return Leaf::Over(Wdl::DRAW);
                }
                let good = if plies.is_multiple_of(2) != self.fools { 0.9 } else { 0.1 };
                let value = if played.first() == Some(&1) && plies > 2 { good } else { 0.5 };
                let edge = |action| match (plies, action) {
                    (0, 1) => Edge { action, policy: 0.0, q: 0.0 },
                    _ => Edge { action, policy: 0.3, q: value },
                };
                let edges = (0..3).map(edge).collect();
                Leaf::Open { value: Wdl::from_score_and_draw(value, 0.0), edges }
            };
            Ok(leaves.iter().map(leaf).collect())
        }

        fn scout(
            &self,
            played: &Vec<u16>,
            favourite: u16,
            visits: u64,
            stopped: &dyn Fn() -> bool,
        ) -> Option<Vec<u16>> {
            assert!(!stopped());
            self.asked.lock().unwrap().push((played.len(), favourite, visits));
            (self.sees && played.is_empty()).then(|| vec![1, 2, 0])
        }
    }

    #[test]
    fn a_move_that_the_model_overlooks_is_searched_once_it_is_named() {
        for (sees, threads) in [(false, 1), (true, 1), (true, 2)] {
            let world = Blind { sees, ..Blind::default() };
            let params = Params { policy_share: 1.0, scout_visits: 16, ..Params::default() };
            let mut searcher = Searcher::new(params, 1 << 20);
            searcher.set_root(Vec::new());
            let outcome = searcher.run(&world, threads, Some(300), &Patient);
            assert_eq!(outcome.best == Some(1), sees);
            let asked = world.asked.into_inner().unwrap();
            let of_root = |asked: &&(usize, u16, u64)| asked.0 == 0;
            let root: Vec<u64> = asked.iter().filter(of_root).map(|asked| asked.2).collect();
            assert_eq!(root, [16, 64, 256], "each milestone once");
            assert!(asked.iter().any(|asked| asked.0 > 0), "not the root alone");
        }
    }

    #[test]
    fn below_a_named_move_that_is_doubted_the_world_is_asked_early() {
        let world = Blind { sees: true, fools: true, ..Blind::default() };
        let params = Params { scout_visits: 64, ..Params::default() };
        let mut searcher = Searcher::new(params, 1 << 20);
        searcher.set_root(Vec::new());
        let outcome = searcher.run(&world, 1, Some(300), &Patient);
        assert_ne!(outcome.best, Some(1));
        let asked = world.asked.into_inner().unwrap();
        assert!(asked.iter().any(|asked| asked.0 > 1 && asked.2 == 4), "{asked:?}");
        let early = asked.iter().filter(|asked| asked.2 < 64).count();
        assert!(early < 10, "but not everywhere: {asked:?}");
    }

    #[test]
    fn the_next_playouts_follow_the_line_unless_the_root_may_not() {
        for (restriction, follows) in [(&[][..], true), (&[0, 2][..], false)] {
            let world = Blind { sees: true, ..Blind::default() };
            let params = Params { scout_visits: 16, batch: 1, ..Params::default() };
            let mut searcher = Searcher::new(params, 1 << 20);
            searcher.set_root(Vec::new());
            searcher.restrict_root(restriction);
            searcher.run(&world, 1, Some(16), &Patient);
            let reached = |searcher: &Searcher<Blind>| {
                let tree = searcher.tree();
                (1..=3)
                    .filter(|n| tree.descend(tree.root, [1, 2, 0].into_iter().take(*n)).is_some())
                    .count()
            };
            assert!(reached(&searcher) == 0);
            // The milestone was passed by the last of them, and the line was lost with the run.
            searcher.clear();
            searcher.run(&world, 1, Some(19), &Patient);
            assert_eq!(reached(&searcher), if follows { 3 } else { 0 });
        }
    }

    #[test]
    fn every_milestone_is_reached_once_however_many_visits_come_at_once() {
        let at = |scout_visits| Milestones::new(&Params { scout_visits, ..Params::default() });
        for step in [1, 3, 10] {
            let mut reached = Vec::new();
            let mut before = 0;
            while before < 2100 {
                reached.extend(at(32).reached(before, before + step));
                before += step;
            }
            assert_eq!(reached, [32, 128, 512, 2048]);
        }
        assert_eq!(at(32).reached(0, 600), Some(512));
        assert_eq!(at(0).reached(0, 1 << 40), None);
        assert_eq!(at(32).below_doubted().reached(3, 4), Some(4));
        assert_eq!(at(0).below_doubted().reached(3, 4), None);
    }
}
