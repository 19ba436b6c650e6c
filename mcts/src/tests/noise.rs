//! AlphaZero's noise: one sample per search, only at the root.

use super::*;
use crate::{
    root::RootPolicy,
    toy::Wide,
    tree::{EdgeWord, Tree},
};

fn edges_of(tree: &Tree, at: u32) -> Vec<EdgeWord> {
    tree.edges(tree.node(at).meta().edges()).iter().collect()
}

/// The noise in the root's priors, by edge.
fn noise(tree: &Tree, params: &Params) -> Vec<f64> {
    let policy = RootPolicy::new(tree, &[], params);
    let epsilon = f64::from(params.noise_epsilon);
    let share = |(at, edge): (usize, EdgeWord)| {
        let clean = f64::from(edge.prior());
        (f64::from(policy.prior(at, edge.prior())) - (1.0 - epsilon) * clean) / epsilon
    };
    edges_of(tree, tree.root).into_iter().enumerate().map(share).collect()
}

fn noisy(alpha: f32, noise_seed: u64) -> Params {
    Params {
        noise_epsilon: 0.25,
        noise_alpha: alpha,
        noise_seed,
        root_policy_temperature: 0.0,
        ..Params::default()
    }
}

#[test]
fn the_noise_of_many_searches_is_dirichlets() {
    const SEARCHES: u64 = 4000;
    let (searcher, _) = search(&Wide::CHESSLIKE, 0, Params::default(), 1, 1);
    let n = 35.0;
    for alpha in [0.3, 10.0] {
        let (mut sum, mut squares) = ([0.0; 35], 0.0);
        for noise_seed in 0..SEARCHES {
            let noise = noise(searcher.tree(), &noisy(alpha, noise_seed));
            assert!((noise.iter().sum::<f64>() - 1.0).abs() < 1e-3);
            for (sum, x) in sum.iter_mut().zip(noise) {
                *sum += x;
                squares += (x - 1.0 / n).powi(2);
            }
        }
        let variance = squares / n / SEARCHES as f64;
        let expected = (1.0 / n) * (1.0 - 1.0 / n) / (n * f64::from(alpha) + 1.0);
        assert!((variance / expected - 1.0).abs() < 0.05, "alpha {alpha}: {variance}, {expected}");
        // Five standard deviations of a mean.
        let bound = 5.0 * (expected / SEARCHES as f64).sqrt();
        for sum in sum {
            assert!((sum / SEARCHES as f64 - 1.0 / n).abs() < bound, "alpha {alpha}: {sum}");
        }
    }
}

#[test]
fn each_search_has_a_sample_of_its_own_that_its_seeds_repeat() {
    let (searcher, _) = search(&Wide::CHESSLIKE, 0, Params::default(), 1, 1);
    let noise =
        |seed, noise_seed| noise(searcher.tree(), &Params { seed, ..noisy(0.3, noise_seed) });
    assert_eq!(noise(1, 7), noise(1, 7));
    for other in [noise(1, 8), noise(2, 7), noise(7, 1)] {
        assert_ne!(noise(1, 7), other);
    }
}

#[test]
fn noise_steers_the_root_alone_and_stays_in_no_tree() {
    let world = &Wide::CHESSLIKE;
    let clean = Params { noise_epsilon: 0.0, ..noisy(0.3, 0) };
    let (plain, quiet) = search(world, 0, clean.clone(), 1, 800);
    let (mut searcher, loud) = search(world, 0, noisy(0.3, 1), 1, 800);
    let visits = |outcome: &Outcome<u16, _>| -> Vec<_> {
        outcome.snapshot.lines.iter().map(|line| (line.moves[0], line.visits)).collect()
    };
    assert_ne!(visits(&quiet), visits(&loud), "noise spreads the visits otherwise");
    // The tree has the world's priors, at the root and at its children.
    let priors = |tree: &Tree, at| -> Vec<_> {
        edges_of(tree, at).iter().map(|edge| (edge.action(), edge.prior())).collect()
    };
    let (a, b) = (plain.tree(), searcher.tree());
    assert_eq!(priors(a, a.root), priors(b, b.root));
    let mut compared = 0;
    for (one, other) in edges_of(a, a.root).iter().zip(edges_of(b, b.root)) {
        let (Some(one), Some(other)) = (one.child(), other.child()) else { continue };
        if [(a, one), (b, other)].iter().all(|(tree, at)| tree.node(*at).stats().visits > 0) {
            assert_eq!(priors(a, one), priors(b, other));
            compared += 1;
        }
    }
    assert!(compared > 5);
    // A moved root is searched with its clean priors once the noise is off, and with new noise otherwise.
    let best = loud.best.unwrap();
    let mut state = 0;
    world.step(&mut state, best);
    assert!(searcher.reroot(state, Ancestor::Root, &[best]) > 0);
    let tree = priors(searcher.tree(), searcher.tree().root);
    let shown = |searcher: &mut Searcher<Wide>, params| -> Vec<_> {
        searcher.set_params(params);
        let mut lines = searcher.run(world, 1, Some(0), &Patient).snapshot.lines;
        lines.sort_by_key(|line| tree.iter().position(|(action, _)| *action == line.moves[0]));
        lines.iter().map(|line| (line.moves[0], line.prior)).collect()
    };
    assert_eq!(shown(&mut searcher, clean), tree);
    assert_ne!(shown(&mut searcher, noisy(0.3, 2)), tree);
}
