//! A scout searches the root by other means, beside the tree search ([`World::scout`]). Its verdict has a share in what the root's moves are
//! worth to the tree, the move that it prefers has some prior at least, and where the tree prefers another that is not as good, that
//! one is played.

use crate::{
    job::Job,
    tree::EdgeWord,
    verdict::Verdict,
    world::{Opinion, Variation, World},
};

/// Takes the scout's opinion to heart.
pub fn hear<W: World>(job: &Job<'_, W>, opinion: Opinion<W::Action>) {
    let opinion = opinion.map(|action| -> u16 { action.into() });
    let edges = job.tree.edges(job.tree.root().meta().edges());
    let named = |told: &Variation<u16>| {
        let first = told.line.first()?;
        Some((edges.iter().position(|edge| edge.action() == *first)?, told.worth))
    };
    let best = named(&opinion.best);
    if let Some(best) = best.filter(|(edge, _)| job.root_policy.allows(*edge)) {
        let favourite = opinion.favourite.as_ref().and_then(named).unwrap_or(best);
        job.root_policy.judge(Verdict { best, favourite }, opinion);
    }
}

/// The root's most visited move that may be played; None before it has the visits that it takes.
pub fn favourite<W: World>(job: &Job<'_, W>) -> Option<W::Action> {
    let visits = |edge: &EdgeWord| edge.child().map(|at| job.tree.node(at).stats().visits);
    let most = choices(job).max_by_key(visits)?;
    let enough = visits(&most).is_some_and(|visits| visits >= job.params.scout_favourite_visits);
    enough.then(|| W::Action::from(most.action()))
}

/// What the root is restricted to; none = all.
pub fn allowed<W: World>(job: &Job<'_, W>) -> Vec<W::Action> {
    let allowed: Vec<_> = choices(job).map(|edge| W::Action::from(edge.action())).collect();
    let all = job.tree.edges(job.tree.root().meta().edges()).len();
    if allowed.len() < all { allowed } else { Vec::new() }
}

/// The root's edges that may be played.
fn choices<'a, W: World>(job: &'a Job<'_, W>) -> impl Iterator<Item = EdgeWord> + 'a {
    let edges = job.tree.edges(job.tree.root().meta().edges()).iter().enumerate();
    edges.filter(|(at, _)| job.root_policy.allows(*at)).map(|(_, edge)| edge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Leaf, Outcome, Params, Patient, Scouted, Searcher, Wdl};
    use std::convert::Infallible;
    use std::sync::Mutex;

    /// Three moves at each of ten plies. The model overlooks the second one at the root, which it thinks the best from two plies
    /// below on.
    #[derive(Default)]
    struct Blind {
        /// Names that move.
        sees: bool,
        /// It is not good at all.
        fools: bool,
        /// Calls the tree's favourite as good.
        content: bool,
        /// What it tells of moves after that one.
        others: Vec<Variation<u16>>,
        /// The favourites that it was told of.
        favourites: Mutex<Vec<Option<u16>>>,
        /// The moves that it was told to choose from.
        allowed: Mutex<Vec<u16>>,
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

        fn scout(&self, played: &Vec<u16>, _: usize, tree: &mut dyn Scouted<u16>) {
            assert!(played.is_empty());
            let allowed = tree.allowed();
            self.allowed.lock().unwrap().clone_from(&allowed);
            while tree.goes_on(10) {
                let favourite = tree.favourite();
                self.favourites.lock().unwrap().push(favourite);
                let other = favourite.filter(|favourite| *favourite != 1);
                let worth = if self.content { 0.6 } else { 0.3 };
                if self.sees {
                    let told = |first| Variation { line: vec![first, 2], worth, mate_plies: None };
                    let favourite = other.map(told);
                    let best = Variation { line: vec![1, 0], worth: 0.6, mate_plies: None };
                    let others = self.others.clone();
                    tree.hear(Opinion { best, others, depth: 7, seldepth: 12, favourite });
                }
            }
        }
    }

    /// 300 playouts.
    fn run(
        world: &Blind,
        scout_nodes: u64,
        threads: usize,
        restriction: &[u16],
    ) -> Outcome<u16, Infallible> {
        let params = Params { policy_share: 1.0, scout_nodes, ..Params::default() };
        let mut searcher = Searcher::new(params, 1 << 20);
        searcher.set_root(Vec::new());
        searcher.restrict_root(restriction);
        searcher.run(world, threads, Some(300), &Patient)
    }

    /// What is played, and the share of the visits that the overlooked move had.
    fn search(world: &Blind, scout_nodes: u64, threads: usize, restriction: &[u16]) -> (u16, f32) {
        let outcome = run(world, scout_nodes, threads, restriction);
        let lines = &outcome.snapshot.lines;
        let visits = |line: &crate::Line<u16>| line.visits as f32;
        let of_move = lines.iter().find(|line| line.moves.first() == Some(&1));
        let share = of_move.map_or(0.0, visits) / lines.iter().map(visits).sum::<f32>();
        (outcome.best.unwrap(), share)
    }

    #[test]
    fn a_move_that_the_model_overlooks_is_searched_once_it_is_named() {
        let (best, share) = search(&Blind::default(), 100, 1, &[]);
        assert!(best != 1 && share < 0.02, "{best} {share}");
        for threads in [1, 2] {
            let world = Blind { sees: true, ..Blind::default() };
            let (best, share) = search(&world, 100, threads, &[]);
            assert_eq!(best, 1);
            // A second worker of so quick a world may be through before it hears of it.
            if threads == 1 {
                assert!(share > 0.3, "{share}");
                assert!(world.favourites.into_inner().unwrap().contains(&Some(1)), "it was told");
            }
        }
        let (best, _) = search(&Blind { sees: true, ..Blind::default() }, 0, 1, &[]);
        assert_ne!(best, 1, "nobody was asked");
    }

    #[test]
    fn the_scout_decides_unless_the_trees_move_is_as_good_or_its_own_is_not_allowed() {
        // So seldom that the tree's share of it is small.
        let sees = Blind { sees: true, ..Blind::default() };
        let (best, share) = search(&sees, 1_000, 1, &[]);
        assert_eq!(best, 1, "{share}");
        let (best, _) = search(&sees, 100, 1, &[0, 2]);
        assert_ne!(best, 1);
        let content = Blind { sees: true, fools: true, content: true, ..Blind::default() };
        let (best, share) = search(&content, 2_000, 1, &[]);
        assert!(best != 1 && share < 0.5, "{best} {share}");
        // What is shown of it is the scout's, too.
        let line = run(&content, 2_000, 1, &[]).snapshot.lines.remove(0);
        assert_eq!((line.moves, line.value.q(), line.scouted), (vec![best, 2], 0.6, true));
    }

    #[test]
    fn the_scout_knows_what_the_root_is_restricted_to() {
        for (restriction, allowed) in
            [(vec![], vec![]), (vec![2, 0], vec![0, 2]), (vec![7], vec![])]
        {
            let world = Blind::default();
            run(&world, 100, 1, &restriction);
            assert_eq!(world.allowed.into_inner().unwrap(), allowed);
        }
    }

    #[test]
    fn moves_that_the_scout_has_lines_for_are_shown_with_them_in_its_order() {
        let told = |first, worth| Variation { line: vec![first, 0, 0], worth, mate_plies: None };
        for others in [vec![], vec![told(2, 0.55), told(0, 0.4)], vec![told(0, 0.5), told(2, 0.3)]]
        {
            let world = Blind { sees: true, others: others.clone(), ..Blind::default() };
            let snapshot = run(&world, 100, 1, &[]).snapshot;
            // Deeper than the tree, whose world has ten plies.
            assert_eq!((snapshot.depth, snapshot.seldepth), (7, 12));
            let lines = snapshot.lines;
            let firsts: Vec<u16> = lines.iter().map(|line| line.moves[0]).collect();
            assert_eq!(lines[0].moves, [1, 0], "the best one's line comes first");
            for (line, told) in lines[1..].iter().zip(&others) {
                assert_eq!((&line.moves, line.value.q()), (&told.line, told.worth), "{firsts:?}");
            }
            let decided = others.is_empty() || firsts[1] == others[0].line[0];
            assert!(decided && firsts.len() == 3, "{firsts:?}");
        }
    }

    #[test]
    fn playouts_and_positions_keep_their_ratio() {
        let world = Blind::default();
        let told = run(&world, 100, 1, &[]).snapshot.scouted;
        let asked = world.favourites.into_inner().unwrap().len();
        // 300 playouts, 10 positions each time.
        assert!((2_900..=3_100).contains(&asked), "{asked}");
        // When it was last told of some, its favourite was no longer asked for.
        assert!((0..=10).contains(&(told as i64 - 10 * asked as i64)), "{told}");
    }
}
