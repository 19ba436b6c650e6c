//! Full memory, failing evaluators, refused states, many threads: the search continues or ends cleanly.

use super::*;
use crate::toy::{Fault, Faulty, Nim, Wide};

#[test]
fn a_full_memory_does_not_end_the_search() {
    for (bytes, threads, playouts) in [(0, 1, 20_000), (MIB / 4, 2, 50_000), (MIB, 8, 100_000)] {
        let mut searcher = Searcher::new(Params::default(), bytes);
        searcher.set_root(0);
        let outcome = searcher.run(&Wide::CHESSLIKE, threads, Some(playouts), &Patient);
        assert_eq!(outcome.snapshot.playouts, playouts);
        assert!(outcome.best.is_some() && outcome.snapshot.hashfull <= 1000);
        let audit = searcher.audit();
        assert_eq!((audit.in_flight, audit.claimed, audit.below_law), (0, 0, 0));
        let visits: u64 = outcome.snapshot.lines.iter().map(|line| line.visits).sum();
        assert!(
            visits < playouts && visits + audit.expanded >= playouts / 2,
            "root statistics survive"
        );
    }
}

#[test]
fn a_compaction_keeps_the_most_visited_and_the_proofs() {
    let mut searcher = Searcher::new(Params::default(), MIB / 2);
    searcher.set_root([9, 9, 9]);
    let outcome = searcher.run(&Nim, 1, Some(30_000), &Patient);
    let before = searcher.audit();
    let visits: Vec<_> =
        outcome.snapshot.lines.iter().map(|line| (line.moves[0], line.visits)).collect();
    searcher.tree_mut().compact(1, &|| false);
    let after = searcher.audit();
    assert!(after.bytes <= MIB as u64 / 4 && after.expanded < before.expanded);
    assert_eq!((after.below_law, after.in_flight), (0, 0));
    let outcome = searcher.run(&Nim, 1, Some(0), &Patient);
    let same: Vec<_> =
        outcome.snapshot.lines.iter().map(|line| (line.moves[0], line.visits)).collect();
    assert_eq!(visits, same);
    searcher.tree_mut().compact(1, &|| false);
    assert_eq!(searcher.audit(), after, "a second compaction finds nothing to do");
}

#[test]
fn a_compaction_by_many_threads_keeps_what_one_thread_keeps() {
    let compacted = |threads| {
        let (mut searcher, _) = search(&Wide::CHESSLIKE, 0, Params::default(), 1, 30_000);
        assert!(searcher.tree_mut().compact(threads, &|| false));
        let outcome = searcher.run(&Wide::CHESSLIKE, 1, Some(0), &Patient);
        (searcher.audit(), outcome.snapshot.lines)
    };
    let (one, lines) = compacted(1);
    for threads in [2, 7] {
        let (many, others) = compacted(threads);
        let known = |lines: &[crate::Line<u16>]| -> Vec<_> {
            lines.iter().map(|line| (line.moves[0], line.visits, line.value)).collect()
        };
        assert_eq!(known(&lines), known(&others));
        assert_eq!((many.below_law, many.in_flight), (0, 0));
        // Equal except for ties in the last bucket, whose nodes have equal visits.
        assert!(many.bytes <= 8 * MIB as u64 && many.bytes > 7 * MIB as u64, "{}", many.bytes);
        assert!(many.expanded.abs_diff(one.expanded) < one.expanded / 100);
    }
}

#[test]
fn full_memory_with_one_thread_repeats_bit_for_bit() {
    let run = || {
        let mut searcher = Searcher::new(Params::default(), MIB / 4);
        searcher.set_root(0);
        searcher.run(&Wide::CHESSLIKE, 1, Some(20_000), &Patient).snapshot
    };
    assert_eq!(run(), run());
}

#[test]
fn positions_wider_than_the_memory_lose_their_last_edges_only() {
    let world = Wide { edges: 5000, ..Wide::CHESSLIKE };
    let mut searcher = Searcher::new(Params::default(), 0);
    searcher.set_root(0);
    let outcome = searcher.run(&world, 2, Some(2000), &Patient);
    assert_eq!(outcome.snapshot.playouts, 2000);
    assert!(outcome.snapshot.lines.len() > 900);
}

#[test]
fn many_threads_in_a_small_memory_keep_the_books() {
    for seed in 0..3 {
        let world = Wide { edges: 20, refuse_one_in: 9, end_one_in: 11 };
        let params = Params { seed, batch: 8, ramp: 1, ..Params::default() };
        let mut searcher = Searcher::new(params, 0);
        let mut state = 0;
        searcher.set_root(state);
        for _ in 0..5 {
            let outcome = searcher.run(&world, 8, Some(6000), &Patient);
            // A move that ended the game on its path may lead to a state refused as a root.
            if (outcome.snapshot.playouts, outcome.snapshot.refused) == (1, 1) {
                break;
            }
            assert_eq!((outcome.snapshot.playouts, outcome.error.is_none()), (6000, true));
            assert!(outcome.snapshot.refused > 0);
            let audit = searcher.audit();
            assert_eq!((audit.in_flight, audit.claimed, audit.below_law), (0, 0, 0));
            let best = outcome.best.unwrap();
            world.step(&mut state, best);
            searcher.reroot(state, Ancestor::Root, &[best]);
        }
    }
}

#[test]
fn an_error_ends_the_search_with_what_it_has() {
    for threads in [1, 4] {
        for after in [1, 2, 30, 300] {
            let world = Faulty::new(Wide::CHESSLIKE, Fault::Error, after);
            let (mut searcher, outcome) = search(&world, 0, Params::default(), threads, 100_000);
            assert!(outcome.error.is_some() && outcome.best.is_some());
            let audit = searcher.audit();
            assert_eq!((audit.in_flight, audit.claimed, audit.above_law), (0, 0, 0));
            let again = searcher.run(
                &Faulty::new(Wide::CHESSLIKE, Fault::Error, 9999),
                threads,
                Some(50),
                &Patient,
            );
            assert_eq!((again.snapshot.playouts, again.error.is_none()), (50, true));
        }
    }
    let (_, outcome) =
        search(&Faulty::new(Wide::CHESSLIKE, Fault::Error, 0), 0, Params::default(), 1, 10);
    assert!(outcome.error.is_some() && outcome.best.is_none());
}

#[test]
fn nonsense_answers_are_refused_and_counted() {
    for fault in [Fault::NanValue, Fault::NanQ, Fault::Short, Fault::NoEdges, Fault::Refuse] {
        let world = Faulty::new(Wide::CHESSLIKE, fault, 20);
        let (searcher, outcome) = search(&world, 0, Params::default(), 2, 300);
        assert!(outcome.error.is_none() && outcome.best.is_some(), "{fault:?}");
        assert!(outcome.snapshot.refused > 0 && outcome.snapshot.playouts <= 300);
        let audit = searcher.audit();
        assert_eq!((audit.in_flight, audit.claimed, audit.below_law), (0, 0, 0));
        let (_, outcome) =
            search(&Faulty::new(Wide::CHESSLIKE, fault, 0), 0, Params::default(), 1, 10);
        assert_eq!((outcome.best, outcome.snapshot.refused), (None, 1), "{fault:?} at the root");
    }
}

#[test]
fn refused_states_are_never_chosen_again() {
    let world = Wide { refuse_one_in: 4, ..Wide::CHESSLIKE };
    let (searcher, outcome) = search(&world, 0, Params::default(), 2, 5000);
    assert_eq!(outcome.snapshot.playouts, 5000);
    // Every playout either expanded a node or found one refused state, each once.
    assert_eq!(searcher.audit().expanded + outcome.snapshot.refused, 5000);
    assert!(outcome.snapshot.refused > 500);
}

#[test]
fn a_root_whose_moves_are_all_refused_still_names_one() {
    let world = Wide { refuse_one_in: 1, edges: 7, end_one_in: 0 };
    let (_, outcome) = search(&world, 0, Params::default(), 2, 1000);
    assert_eq!((outcome.snapshot.playouts, outcome.snapshot.refused), (8, 7));
    assert!(outcome.best.is_some());
}

/// A world that panics after `fuse` minibatches.
struct Bomb {
    fuse: AtomicU64,
}

impl BeforeEvaluation for Bomb {
    fn before(&self, _: &[&u64]) {
        let burnt = self.fuse.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err();
        assert!(!burnt, "boom");
    }
}

#[test]
fn after_a_panic_the_root_is_still_there_and_its_tree_is_empty() {
    for threads in [1, 3] {
        let bomb = Bomb { fuse: AtomicU64::new(40) };
        let mut searcher = Searcher::new(Params::default(), MIB);
        let world = &Wide::CHESSLIKE;
        let mut state = 0;
        searcher.set_root(state);
        let best = searcher.run(&bomb, threads, Some(20), &Patient).best.unwrap();
        world.step(&mut state, best);
        searcher.reroot(state, Ancestor::Root, &[best]);
        let run = || searcher.run(&bomb, threads, Some(u64::MAX), &Patient);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
        let audit = searcher.audit();
        assert_eq!((audit.nodes, audit.in_flight, audit.claimed), (1, 0, 0));
        assert_eq!(searcher.plies_since_former_root(), None);
        assert_eq!(*searcher.root_state(), state);
        bomb.fuse.store(u64::MAX, Relaxed);
        let outcome = searcher.run(&bomb, threads, Some(500), &Patient);
        assert_eq!((outcome.snapshot.nodes, outcome.best.is_some()), (500, true));
    }
}

#[test]
fn a_resized_tree_is_empty_and_keeps_its_root() {
    let (mut searcher, outcome) = search(&Wide::CHESSLIKE, 0, Params::default(), 1, 3000);
    let mut state = 0;
    for &action in &outcome.snapshot.lines[0].moves[..2] {
        Wide::CHESSLIKE.step(&mut state, action);
        searcher.reroot(state, Ancestor::Root, &[action]);
    }
    searcher.resize(0);
    assert_eq!(searcher.plies_since_former_root(), None);
    assert_eq!(searcher.run(&Wide::CHESSLIKE, 1, Some(100), &Patient).snapshot.nodes, 100);
    assert_eq!(searcher.reroot(0, Ancestor::FormerRoot, &[]), 0);
}

#[test]
fn a_stopped_compaction_changes_nothing() {
    let (mut searcher, _) = search(&Wide::CHESSLIKE, 0, Params::default(), 1, 10_000);
    let before = searcher.audit();
    assert!(!searcher.tree_mut().compact(1, &|| true));
    assert_eq!(searcher.audit(), before);
}

/// A measurement: prints the pause of the workers of a full 256 MiB tree, and the time to subtract all path
/// ends.
#[test]
#[ignore = "a measurement"]
fn compaction_time() {
    let world = Wide { end_one_in: 20, ..Wide::CHESSLIKE };
    let mut searcher = Searcher::new(Params::default(), 256 * MIB);
    searcher.set_root(0);
    searcher.run(&world, 2, Some(800_000), &Patient);
    let timed = |searcher: &mut Searcher<_>, what: &str, work: &dyn Fn(&mut crate::tree::Tree)| {
        let start = std::time::Instant::now();
        work(searcher.tree_mut());
        println!("{what}: {:?}, {:?}", start.elapsed(), searcher.audit());
    };
    timed(&mut searcher, "grown", &|_| ());
    timed(&mut searcher, "compacted", &|tree| assert!(tree.compact(1, &|| false)));
    timed(&mut searcher, "forgotten", &|tree| tree.forget_path_ends(&[tree.root]));
}
