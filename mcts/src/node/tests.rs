//! One node's words: fields of a word are independent, one claim wins, proofs only improve.

use super::*;

#[test]
fn a_node_is_32_bytes() {
    assert_eq!(size_of::<Cell>(), 32);
}

#[test]
fn meta_fields_do_not_touch_each_other() {
    for state in [
        NodeState::Fresh,
        NodeState::Claimed,
        NodeState::Expanded,
        NodeState::Terminal,
        NodeState::Refused,
        NodeState::OutOfMemory,
    ] {
        for proof in [None, Some(Proof::Win(2047)), Some(Proof::Draw), Some(Proof::Loss(1))] {
            let meta = Meta::fresh(0xABCD).with_edges(u32::MAX).with_state(state).with_proof(proof);
            assert_eq!((meta.state(), meta.proof(), meta.edges()), (state, proof, u32::MAX));
            assert_eq!(meta.q(), from_unit16(0xABCD));
        }
    }
    assert_eq!(Meta::fresh(0).with_proof(Some(Proof::Win(9999))).proof(), Some(Proof::Win(2047)));
}

#[test]
fn a_backup_takes_off_exactly_its_virtual_counts() {
    let cell = Cell::default();
    let node = Node(&cell);
    node.init(0);
    node.add_virtual(8);
    node.add_virtual(2);
    assert_eq!((node.stats().visits, node.stats().in_flight), (0, 10));
    node.back_up(Fixed::new(Wdl { win: 0.5, draw: 0.25, loss: 0.25 }), 8);
    node.remove_virtual(2);
    let stats = node.stats();
    assert_eq!((stats.visits, stats.in_flight), (1, 0));
    assert_eq!(stats.mean(), Some(Wdl { win: 0.5, draw: 0.25, loss: 0.25 }));
    assert_eq!(stats.parents_utility(0.0), 1.0 - 0.625);
}

#[test]
fn the_most_virtual_counts_do_not_reach_the_visits() {
    let cell = Cell::default();
    let node = Node(&cell);
    node.back_up(Fixed::new(Wdl::DRAW), 0);
    for _ in 0..3 * MAX_THREADS * MAX_BATCH {
        node.add_virtual(MAX_VIRTUAL);
    }
    let stats = node.stats();
    assert_eq!((stats.visits, stats.in_flight), (1, MOST_IN_FLIGHT));
    for _ in 0..3 * MAX_THREADS * MAX_BATCH {
        node.back_up(Fixed::new(Wdl::DRAW), MAX_VIRTUAL);
    }
    let stats = node.stats();
    assert_eq!((stats.visits, stats.in_flight), (1 + 3 * 256 * 1024, 0));
}

#[test]
fn only_one_claim_wins() {
    let cell = Cell::default();
    let node = Node(&cell);
    let fresh = node.meta();
    assert!(node.claim(fresh));
    assert!(!node.claim(fresh));
    assert_eq!(node.meta().state(), NodeState::Claimed);
}

#[test]
fn wins_only_get_shorter_and_results_never_change() {
    let cell = Cell::default();
    let node = Node(&cell);
    assert!(!node.prove(Proof::Win(3)), "a fresh node has nothing to prove");
    node.publish(Meta::fresh(0).with_state(NodeState::Expanded));
    assert!(node.prove(Proof::Win(5)));
    assert!(!node.prove(Proof::Win(7)));
    assert!(node.prove(Proof::Win(3)));
    assert!(!node.prove(Proof::Draw));
    assert_eq!(node.meta().proof(), Some(Proof::Win(3)));
}

#[test]
fn a_known_result_is_a_proof_without_a_mate() {
    for (wdl, mate) in [(Wdl::WIN, Some(0)), (Wdl::DRAW, None), (Wdl::LOSS, Some(0))] {
        let (end, known) = (Proof::of_end(wdl).unwrap(), Proof::of_known(wdl).unwrap());
        assert_eq!((end.wdl(), end.mate_plies()), (wdl, mate));
        assert_eq!((known.wdl(), known.mate_plies()), (wdl, None));
    }
    assert_eq!(Proof::of_known(Wdl { win: 0.9, draw: 0.1, loss: 0.0 }), None);
    assert_eq!(Proof::Loss(6).mate_plies(), Some(-6));
}

#[test]
fn flip_twice_is_nothing() {
    let value = Fixed::new(Wdl { win: 0.3, draw: 0.3, loss: 0.4 });
    assert_eq!(value.flip().flip(), value);
}
