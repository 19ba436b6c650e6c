"""The mutants of mcts: each a small mistake, by the file it is in, from the way down to the way up and the rest."""

from typing import NamedTuple


class Mutant(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    # Only another order of two threads shows it.
    loom: bool = False
    # Why its survival is right.
    accepted: str = ""


MUTANTS = [
    # select
    Mutant(
        "backup_puts_too_few_counts_in_flight",
        "backup.rs",
        "            - PathCounts::Descended(counts.min).at(depth, leaf);",
        "            - PathCounts::Descended(counts.min).at(depth, leaf).saturating_sub(1);",
    ),
    Mutant(
        "select_takes_lost_moves_like_others",
        "select.rs",
        "Some(proof @ Proof::Win(_)) => (&mut losing,",
        "Some(proof @ Proof::Win(_)) => (&mut open,",
    ),
    Mutant(
        "select_goes_below_proven_nodes",
        "select.rs",
        "if !is_root && let Some(proof) = meta.proof() {",
        "if !is_root && let Some(proof) = meta.proof().filter(|_| false) {",
    ),
    Mutant(
        "select_breaks_ties_by_order",
        "select.rs",
        "if rng.below(self.equals) == 0 {",
        "if rng.below(self.equals) == u32::MAX {",
    ),
    Mutant(
        "select_counts_an_end_at_an_expanded_node",
        "select.rs",
        "let Some(child) = tree.end_on_path(&edges, choice, self.chunk) else {",
        "tree.node(child).end_on_path();\n let Some(child) = Some(child) else {",
    ),
    # worker
    Mutant(
        "worker_never_asks_whether_to_stop",
        "worker.rs",
        "if heed_stop && job.control.stopped() {",
        "if heed_stop && false {",
    ),
    Mutant(
        "worker_keeps_the_claims_of_a_minibatch_given_up",
        "worker.rs",
        "            self.abandoned.push(slot.end());\n",
        "",
    ),
    Mutant(
        "worker_returns_no_playouts",
        "worker.rs",
        "        self.job.stats.return_playouts(std::mem::take(&mut self.reserved));\n",
        "        self.reserved = 0;\n",
    ),
    Mutant(
        "worker_leaves_the_counts_of_collisions",
        "worker.rs",
        "        self.buffer.flush(tree);\n        self.undo_collisions();\n",
        "        self.buffer.flush(tree);\n        self.collided = 0;\n",
    ),
    Mutant(
        "worker_fills_minibatches_in_a_small_tree",
        "worker.rs",
        "(1 + visits / per_leaf).min(self.job.params.batch as u64) as usize",
        "(1 + visits / per_leaf).max(self.job.params.batch as u64) as usize",
    ),
    Mutant(
        "worker_takes_values_that_are_not_finite",
        "worker.rs",
        "let finite = |wdl: &Wdl| [wdl.win, wdl.draw, wdl.loss].iter().all(|x| x.is_finite());",
        "let finite = |wdl: &Wdl| [wdl.win, wdl.draw, wdl.loss].len() == 3;",
    ),
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
        loom=True,
    ),
    # backup
    Mutant(
        "backup_never_flips",
        "backup.rs",
        "            value = value.flip();\n",
        "",
    ),
    Mutant(
        "backup_takes_a_count_off_the_end_of_a_descent",
        "backup.rs",
        "u32::from(depth < leaf) * count",
        "u32::from(depth <= leaf) * count",
    ),
    Mutant(
        "backup_proves_a_loss_by_some_of_the_edges",
        "backup.rs",
        "        None if !edges.complete => None,\n",
        "",
    ),
    Mutant(
        "backup_takes_a_draw_among_losses_for_a_loss",
        "backup.rs",
        "None if draw => Some(Proof::Draw),",
        "None if draw && loss == 0 => Some(Proof::Draw),",
    ),
    Mutant(
        "backup_passes_a_proof_one_ply_up",
        "backup.rs",
        "for pair in path.windows(2).rev() {",
        "for pair in path.windows(2).rev().take(1) {",
    ),
    # node
    Mutant(
        "node_claims_by_load_then_store",
        "node.rs",
        "self.0.0[3].compare_exchange(fresh.0, claimed.0, Relaxed, Relaxed).is_ok()",
        "self.meta() == fresh && { self.0.0[3].store(claimed.0, Relaxed); true }",
        loom=True,
    ),
    Mutant(
        "node_adds_values_by_load_then_store",
        "node.rs",
        "        score.fetch_add(sum.score, Relaxed);\n",
        "        score.store(score.load(Relaxed).wrapping_add(sum.score), Relaxed);\n",
        loom=True,
    ),
    Mutant(
        "node_adds_visits_by_load_then_store",
        "node.rs",
        "        counts.fetch_add(sum.counts, Relaxed) >> VIRTUAL_BITS\n",
        "        let old = counts.load(Relaxed);\n        counts.store(old.wrapping_add(sum.counts), Relaxed);\n"
        "        old >> VIRTUAL_BITS\n",
        loom=True,
    ),
    Mutant(
        "node_publishes_relaxed",
        "node.rs",
        "        self.0.0[3].store(meta.0, Release);\n",
        "        self.0.0[3].store(meta.0, Relaxed);\n",
        loom=True,
    ),
    Mutant(
        "node_reads_its_meta_relaxed",
        "node.rs",
        "        Meta(self.0.0[3].load(Acquire))\n",
        "        Meta(self.0.0[3].load(Relaxed))\n",
        loom=True,
    ),
    Mutant(
        "node_proof_gets_worse",
        "node.rs",
        "(Some(Proof::Win(old)), Proof::Win(new)) => new < old,",
        "(Some(Proof::Win(old)), Proof::Win(new)) => new != old,",
    ),
    Mutant(
        "node_has_too_few_bits_for_virtual_counts",
        "node.rs",
        "const VIRTUAL_BITS: u32 = 26;",
        "const VIRTUAL_BITS: u32 = 25;",
    ),
    # tree
    Mutant(
        "tree_hands_out_cells_by_load_then_store",
        "tree.rs",
        "        let at = self.used.fetch_add(cells as u64, Relaxed);\n",
        "        let at = self.used.load(Relaxed);\n        self.used.store(at + cells as u64, Relaxed);\n",
        loom=True,
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
        loom=True,
    ),
    Mutant(
        "tree_adopts_a_child_relaxed",
        "tree.rs",
        ".compare_exchange(edge.0, edge.with_child(child).0, Release, Acquire)",
        ".compare_exchange(edge.0, edge.with_child(child).0, Relaxed, Acquire)",
        loom=True,
    ),
    Mutant(
        "tree_reads_an_edge_relaxed",
        "tree.rs",
        "        EdgeWord(self.word(1 + at).load(Acquire))\n",
        "        EdgeWord(self.word(1 + at).load(Relaxed))\n",
        loom=True,
    ),
    Mutant(
        "tree_keeps_cells_it_could_not_give",
        "tree.rs",
        "        self.used.fetch_sub(cells as u64, Relaxed);\n        None\n",
        "        None\n",
    ),
    Mutant(
        "tree_loses_the_spare_of_the_slower_worker",
        "tree.rs",
        "                chunk.spare = Some(child);\n",
        "",
    ),
    Mutant(
        "tree_forgets_that_edges_were_cut_off",
        "tree.rs",
        "let cut_off = if ranked.len() < all { CUT_OFF } else { 0 };",
        "let cut_off = if ranked.len() < all { 0 } else { 0 };",
    ),
    # compact
    Mutant(
        "compact_drops_proofs_with_their_edges",
        "compact.rs",
        "NodeState::Expanded if meta.proof().is_some() => {",
        "NodeState::Expanded if meta.proof().is_some() && false => {",
    ),
    Mutant(
        "compact_leaves_dropped_path_ends_in_the_sums",
        "compact.rs",
        "        self.forget_dropped_path_ends();\n",
        "",
    ),
    Mutant(
        "compact_loses_the_value_of_a_dropped_child",
        "compact.rs",
        "edges.rewrite(i, edge.without_child(q));",
        "edges.rewrite(i, edge.without_child(q & 0));",
    ),
    Mutant(
        "compact_heeds_no_stop",
        "compact.rs",
        "if halted.load(Relaxed) || stopped() {",
        "if halted.load(Relaxed) {",
    ),
    Mutant(
        "compact_forgets_where_the_root_went",
        "compact.rs",
        "        self.root = self.moved(self.root);\n",
        "",
    ),
    Mutant(
        "compact_frees_nothing",
        "compact.rs",
        "self.cut(self.capacity() / 2, threads, stopped)",
        "self.cut(self.capacity(), threads, stopped)",
    ),
    # path_ends
    Mutant(
        "path_ends_are_not_flipped_on_the_way_up",
        "path_ends.rs",
        "            frame.gone.add(&gone.flip());\n",
        "            frame.gone.add(&gone);\n",
    ),
    Mutant(
        "path_ends_stay_above_the_new_root",
        "path_ends.rs",
        "            self.node(node).remove_visits(&gone);\n",
        "            let _ = (node, gone);\n",
    ),
    Mutant(
        "path_ends_are_sought_below_busy_nodes_only",
        "path_ends.rs",
        "} else if node.stats().visits > 1",
        "} else if node.stats().visits > 2",
    ),
    # pool
    Mutant(
        "pool_works_on_after_a_panic",
        "pool.rs",
        "    let _guard = StopOnPanic(job.stats);\n",
        "",
    ),
    Mutant(
        "pool_swallows_a_workers_panic",
        "pool.rs",
        "Err(panic) => std::panic::resume_unwind(panic),",
        "Err(panic) => drop(panic),",
    ),
    Mutant(
        "pool_ticks_on_every_thread",
        "pool.rs",
        "if lane == 0 && job.control.tick",
        "if lane < usize::MAX && job.control.tick",
    ),
    Mutant(
        "pool_wakes_no_sleeper",
        "pool.rs",
        "            job.stats.wake_sleepers();\n",
        "",
        accepted="a sleeper wakes by itself after a millisecond; only the clock shows it",
    ),
    # stats
    Mutant(
        "stats_reserve_more_playouts_than_are_left",
        "stats.rs",
        ".map_or(0, |left| left.min(wish))",
        ".map_or(0, |_| wish)",
    ),
    Mutant(
        "stats_let_a_full_memory_outrank_the_end",
        "stats.rs",
        "        self.stop.fetch_max(reason as u8, Relaxed);\n",
        "        self.stop.store(reason as u8, Relaxed);\n",
    ),
    Mutant(
        "stats_never_clear_the_reason_to_stop",
        "stats.rs",
        "match self.stop.swap(NO_REASON, Relaxed) {",
        "match self.stop.load(Relaxed) {",
    ),
    # root
    Mutant(
        "root_prefers_the_longer_win",
        "root.rs",
        "Some(Proof::Win(plies)) => (0, i64::from(plies)),",
        "Some(Proof::Win(plies)) => (0, -i64::from(plies)),",
    ),
    Mutant(
        "root_noise_is_the_same_for_each_search",
        "root.rs",
        "params.seed ^ mix(params.noise_seed)",
        "params.seed ^ mix(0)",
    ),
    Mutant(
        "root_is_proven_by_one_drawn_move",
        "root.rs",
        "proof => all &= proof.is_some(),",
        "proof => all |= proof.is_some(),",
    ),
    # search
    Mutant(
        "search_keeps_a_former_root_that_was_compacted_away",
        "search.rs",
        "                        break;\n                    }\n                    self.former = None;\n",
        "                        break;\n                    }\n",
    ),
    Mutant(
        "search_keeps_the_tree_of_a_panic",
        "search.rs",
        "            self.clear();\n            resume_unwind(panic)\n",
        "            resume_unwind(panic)\n",
    ),
    Mutant(
        "search_leaves_abandoned_leaves_claimed",
        "search.rs",
        "abandoned.into_iter().for_each(|at| self.tree.release(at));",
        "drop(abandoned);",
    ),
    Mutant(
        "search_leaves_a_root_with_its_path_ends",
        "search.rs",
        "                self.tree.forget_path_ends(&[self.tree.root]);\n",
        "",
    ),
]
