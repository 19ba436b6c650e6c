"""Mistakes in mcts that only another order of two threads shows; cargo-mutants makes none of them."""

from typing import NamedTuple


class Mutant(NamedTuple):
    name: str
    file: str
    old: str
    new: str


MUTANTS = [
    Mutant(
        "worker_publishes_a_terminal_before_its_visit",
        "worker.rs",
        """                    Playout { path, value, counts }.back_up(tree, &mut self.buffer);
                    let node = tree.node(slot.end());
                    node.publish(node.meta().with_state(NodeState::Terminal).with_proof(proof));
""",
        """                    let node = tree.node(slot.end());
                    node.publish(node.meta().with_state(NodeState::Terminal).with_proof(proof));
                    Playout { path, value, counts }.back_up(tree, &mut self.buffer);
""",
    ),
    Mutant(
        "node_claims_by_load_then_store",
        "node.rs",
        "self.0.0[3].compare_exchange(fresh.0, claimed.0, Relaxed, Relaxed).is_ok()",
        "self.meta() == fresh && { self.0.0[3].store(claimed.0, Relaxed); true }",
    ),
    Mutant(
        "node_adds_values_by_load_then_store",
        "node.rs",
        "        score.fetch_add(sum.score, Relaxed);\n",
        "        score.store(score.load(Relaxed).wrapping_add(sum.score), Relaxed);\n",
    ),
    Mutant(
        "node_adds_visits_by_load_then_store",
        "node.rs",
        "        counts.fetch_add(sum.counts, Relaxed) >> VIRTUAL_BITS\n",
        "        let old = counts.load(Relaxed);\n        counts.store(old.wrapping_add(sum.counts), Relaxed);\n"
        "        old >> VIRTUAL_BITS\n",
    ),
    Mutant(
        "node_publishes_relaxed",
        "node.rs",
        "        self.0.0[3].store(meta.0, Release);\n",
        "        self.0.0[3].store(meta.0, Relaxed);\n",
    ),
    Mutant(
        "node_reads_its_meta_relaxed",
        "node.rs",
        "        Meta(self.0.0[3].load(Acquire))\n",
        "        Meta(self.0.0[3].load(Relaxed))\n",
    ),
    Mutant(
        "tree_hands_out_cells_by_load_then_store",
        "tree.rs",
        "        let at = self.used.fetch_add(cells as u64, Relaxed);\n",
        "        let at = self.used.load(Relaxed);\n        self.used.store(at + cells as u64, Relaxed);\n",
    ),
    Mutant(
        "tree_adopts_a_child_by_load_then_store",
        "tree.rs",
        """        self.word(1 + at)
            .compare_exchange(edge.0, edge.with_child(child).0, Release, Acquire)
            .map(drop)
            .map_err(EdgeWord)
""",
        """        let now = self.get(at);
        if now != edge {
            return Err(now);
        }
        self.word(1 + at).store(edge.with_child(child).0, Release);
        Ok(())
""",
    ),
    Mutant(
        "tree_adopts_a_child_relaxed",
        "tree.rs",
        ".compare_exchange(edge.0, edge.with_child(child).0, Release, Acquire)",
        ".compare_exchange(edge.0, edge.with_child(child).0, Relaxed, Acquire)",
    ),
    Mutant(
        "tree_reads_an_edge_relaxed",
        "tree.rs",
        "        EdgeWord(self.word(1 + at).load(Acquire))\n",
        "        EdgeWord(self.word(1 + at).load(Relaxed))\n",
    ),
]
