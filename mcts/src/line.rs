//! Principal variations. Read-only.

use crate::{
    params::Params,
    root::{Candidate, RootPolicy, candidates, ordered},
    tree::Tree,
    value::Wdl,
};

/// One principal variation.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<A> {
    /// Best play from the root on.
    pub moves: Vec<A>,
    /// Visits of the first move.
    pub visits: u64,
    /// Value for the side to move at the root.
    pub value: Wdl,
    /// Proven mate: plies to mate, positive = the root's mover mates, negative = is mated. An upper bound for
    /// the winner; a shorter mate may exist. None for a result that rests on a [`crate::Leaf::Known`]: proven
    /// by `value` only.
    pub mate_plies: Option<i32>,
    /// Effective prior of the first move: Eq. 1, the root's temperature, noise.
    pub prior: f32,
    /// The model's action value of the first move, before any search, for the side to move at the root.
    pub q: f32,
}

/// The best `multipv` lines of the root.
pub fn lines<A: From<u16>>(
    tree: &Tree,
    root_policy: &RootPolicy,
    params: &Params,
    multipv: usize,
) -> Vec<Line<A>> {
    let candidates = candidates(tree, root_policy, params);
    let shift = untried_shift(tree, &candidates);
    let of_move = |first: &Candidate| {
        let mut moves = vec![A::from(first.action)];
        let mut next = first.child;
        while let Some(best) = next.and_then(|at| best_reply(tree, at, params, moves.len())) {
            moves.push(A::from(best.action));
            next = best.child;
        }
        Line {
            moves,
            visits: first.visits,
            value: shift.map_or(first.value, |shift| {
                Wdl::from_score_and_draw(first.value.q() + shift, first.value.draw)
            }),
            mate_plies: first.mate_plies(),
            prior: first.prior,
            q: first.q,
        }
    };
    candidates.iter().take(multipv).map(of_move).collect()
}

/// Before a move has been visited, the root's own value less the largest action value: on held-out positions the first
/// one's root mean squared error is .051, the second one's .060 (docs/src/search.md). The moves keep their distances.
/// None once a move has a visit or a proof.
fn untried_shift(tree: &Tree, candidates: &[Candidate]) -> Option<f32> {
    let known = |candidate: &Candidate| candidate.visits > 0 || candidate.proof.is_some();
    let own = tree.root().stats().mean().filter(|_| !candidates.iter().any(known))?;
    let best = candidates.iter().map(|candidate| candidate.value.q()).reduce(f32::max)?;
    Some(own.q() - best)
}

fn best_reply(tree: &Tree, at: u32, params: &Params, plies: usize) -> Option<Candidate> {
    let best = *ordered(tree, tree.node(at), &RootPolicy::default(), params, plies).first()?;
    (best.visits > 0 && !best.refused).then_some(best)
}
