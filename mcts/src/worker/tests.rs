//! One minibatch: its leaves in flight.

use super::*;
use crate::{
    control::Patient,
    node::{Fixed, VisitSum},
    params::{MAX_BATCH, MAX_THREADS, MAX_VIRTUAL, Params},
    root::RootPolicy,
    stats::RunStats,
    toy::Wide,
    tree::Tree,
    value::Wdl,
};

#[test]
fn all_workers_minibatches_fit_in_the_virtual_counts_of_the_root() {
    let params = Params {
        batch: MAX_BATCH,
        ramp: 1,
        dynamic_virtual: None,
        static_virtual: MAX_VIRTUAL,
        ..Params::default()
    };
    let (tree, stats) = (Tree::new(16 << 20), RunStats::new(0, None));
    let job = Job {
        world: &Wide::CHESSLIKE,
        tree: &tree,
        params: &params,
        state: &0,
        root_policy: &RootPolicy::default(),
        stats: &stats,
        control: &Patient,
        threads: MAX_THREADS,
        max_playouts: None,
        queue: None,
    };
    let mut rng = Rng::lane(0, 0);
    Worker::new(&job, &mut rng).step(false).unwrap();
    // A tree large enough for the largest minibatches.
    let mut visits = VisitSum::default();
    (0..MAX_THREADS * MAX_BATCH).for_each(|_| visits.add_visit(Fixed::new(Wdl::DRAW), 0));
    tree.root().add_visits(&visits);
    let before = tree.root().stats();
    let mut rngs = vec![rng; MAX_THREADS];
    let mut workers: Vec<_> = rngs.iter_mut().map(|rng| Worker::new(&job, rng)).collect();
    let mut descents = 0;
    for worker in &mut workers {
        worker.select(worker.batch_limit(), true);
        assert!(worker.pending <= MAX_BATCH && worker.collided <= MAX_BATCH);
        descents += (worker.pending + worker.collided) as u64;
        let root = tree.root().stats();
        assert_eq!(root.in_flight, descents * u64::from(MAX_VIRTUAL));
        assert_eq!(root.visits, before.visits, "the counts stay below the visits");
    }
    assert!(descents > (MAX_THREADS * MAX_BATCH) as u64, "every worker has a full minibatch");
    workers.iter_mut().for_each(Worker::give_up);
    assert_eq!(tree.root().stats(), before);
}
