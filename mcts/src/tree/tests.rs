//! The reservation, its blocks and its edges.

use super::*;
use crate::node::Meta;

fn ranked(n: u16) -> Vec<RankedEdge<u16>> {
    (0..n).map(|i| RankedEdge { action: i, prior: 1.0 / f32::from(n), q: 0.5 }).collect()
}

#[test]
fn two_workers_that_visit_an_edge_at_once_get_one_child() {
    for round in 0..200 {
        let tree = Tree::new(MIN_BYTES);
        let block = tree.alloc_edges(&mut ArenaChunk::default(), &ranked(3)).unwrap();
        let edges = tree.edges(block);
        let start = std::sync::Barrier::new(2);
        let children: Vec<u32> = std::thread::scope(|scope| {
            let visit = || {
                start.wait();
                tree.visit(&edges, 1, &mut ArenaChunk::default()).unwrap()
            };
            let visitors = [scope.spawn(visit), scope.spawn(visit)];
            visitors.into_iter().map(|visitor| visitor.join().unwrap()).collect()
        });
        assert_eq!(children[0], children[1], "round {round}");
        let edge = edges.get(1);
        assert_eq!((edge.action(), edge.child()), (1, Some(children[0])));
    }
}

#[test]
fn the_reservation_stays_inside_its_budget() {
    for bytes in [MIN_BYTES, 1 << 20, (1 << 20) + 4321, 3 << 20] {
        let tree = Tree::new(bytes);
        assert!(tree.bytes() <= bytes && tree.bytes() + 2100 > bytes);
        let real =
            tree.cells.capacity() * 32 + tree.marks.capacity() * 8 + tree.ranks.capacity() * 4;
        assert!(real <= bytes, "{real} of {bytes}");
    }
    assert!(Tree::new(0).bytes() <= MIN_BYTES);
}

#[test]
fn a_system_with_less_memory_than_asked_for_gives_what_it_has() {
    let grant = |cells| (cells <= 40_000).then(|| reserve(cells)).flatten();
    for bytes in [2 << 20, 1 << 30, 1 << 40, usize::MAX] {
        let tree = Tree::with_memory(bytes, grant);
        assert!((20_000..=40_000).contains(&tree.capacity()), "{bytes}: {}", tree.capacity());
        assert!(tree.alloc_edges(&mut ArenaChunk::default(), &ranked(35)).is_some());
    }
}

/// An optimisation, so not expected of a debug build.
#[cfg(all(target_os = "linux", not(debug_assertions)))]
#[test]
fn memory_is_touched_only_where_the_tree_grows() {
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let before = resident();
    let tree = Tree::new(2 << 30);
    assert_eq!(tree.bytes() >> 20, 2047);
    // Other tests run concurrently.
    assert!(resident() < before + (1 << 30));
}

#[test]
fn thirty_five_edges_and_a_node_take_320_bytes() {
    let (tree, mut chunk) = (Tree::new(1 << 20), ArenaChunk::default());
    let node = tree.alloc_node(&mut chunk, 0).unwrap();
    let block = tree.alloc_edges(&mut chunk, &ranked(35)).unwrap();
    assert_eq!((block, chunk.next), (node + 1, node + 10));
    assert_eq!((chunk.next - node) * 32, 320);
}

#[test]
fn edge_word_fields_are_independent() {
    let edge = EdgeWord::new(0xBEEF, 0.25, 0.75);
    assert_eq!((edge.action(), edge.child(), edge.q_bits()), (0xBEEF, None, to_unit16(0.75)));
    let visited = edge.with_child((1 << 31) - 1);
    assert_eq!((visited.action(), visited.child()), (0xBEEF, Some((1 << 31) - 1)));
    assert_eq!(visited.prior(), edge.prior());
}

#[test]
fn a_child_is_made_once_and_the_loser_keeps_its_spare() {
    let (tree, mut chunk) = (Tree::new(MIN_BYTES), ArenaChunk::default());
    let block = tree.alloc_edges(&mut chunk, &ranked(3)).unwrap();
    let edges = tree.edges(block);
    let stale = edges.get(1);
    let child = tree.visit(&edges, 1, &mut chunk).unwrap();
    assert_eq!(tree.visit(&edges, 1, &mut chunk), Some(child));
    assert_eq!(edges.adopt(1, stale, 77).unwrap_err().child(), Some(child));
    let fresh = edges.get(2);
    let other = tree.visit(&edges, 2, &mut ArenaChunk::default()).unwrap();
    // As if another worker had attached its child in between.
    assert_eq!(tree.first_visit(&edges, 2, fresh, &mut chunk), Some(other));
    let spare = chunk.spare.unwrap();
    assert!(spare != other && tree.visit(&edges, 0, &mut chunk) == Some(spare));
}

#[test]
fn a_full_arena_says_so_and_stays_usable() {
    let (tree, mut chunk) = (Tree::new(MIN_BYTES), ArenaChunk::default());
    while tree.alloc_edges(&mut chunk, &ranked(35)).is_some() {}
    let left = tree.free();
    // Cells that a failed block request did not take stay available for smaller ones.
    assert_eq!((left, left > 0), ((tree.capacity() - 1) % 9, true));
    assert!(tree.alloc_edges(&mut chunk, &ranked(35)).is_none());
    assert_eq!(tree.free(), left);
}

#[test]
fn two_workers_never_share_a_cell() {
    let tree = Tree::new(MIN_BYTES);
    let mut chunks = [ArenaChunk::default(), ArenaChunk::default()];
    let mut taken = vec![false; tree.cells.len()];
    for i in 0.. {
        let edges = ranked(1 + i % 50);
        let Some(at) = tree.alloc_edges(&mut chunks[usize::from(i % 2)], &edges) else { break };
        for cell in &mut taken[at as usize..][..block_cells(edges.len())] {
            assert!(!std::mem::replace(cell, true));
        }
    }
    assert!(!taken[tree.root as usize]);
    // Only the ends of chunks are lost, less than a tenth.
    assert!(taken.iter().filter(|taken| **taken).count() * 10 > taken.len() * 8);
}

#[test]
fn a_path_follows_actions_and_stops_at_unvisited_edges() {
    let mut tree = Tree::new(MIN_BYTES);
    let mut chunk = ArenaChunk::default();
    let block = tree.alloc_edges(&mut chunk, &ranked(3)).unwrap();
    tree.root().publish(Meta::fresh(0).with_edges(block).with_state(NodeState::Expanded));
    let child = tree.visit(&tree.edges(block), 2, &mut chunk).unwrap();
    let path = |actions: &[u16]| tree.path(tree.root, actions.iter().copied());
    assert_eq!(path(&[]), Some(vec![tree.root]));
    assert_eq!(path(&[2]), Some(vec![tree.root, child]));
    assert_eq!((path(&[1]), path(&[9]), path(&[2, 0])), (None, None, None));
    tree.node(child).claim(tree.node(child).meta());
    tree.release(child);
    assert_eq!(tree.node(child).meta().state(), NodeState::Fresh);
}
