//! Principal variations. Reads the tree; changes nothing in it.

use crate::{
    params::Params,
    root::{Candidate, RootPolicy, candidates, ordered},
    tree::Tree,
    value::Wdl,
    world::{Opinion, Variation},
};

/// One principal variation.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<A> {
    /// Best play from the root on.
    pub moves: Vec<A>,
    /// Visits of the first move.
    pub visits: u64,
    /// For the side to move at the root.
    pub value: Wdl,
    /// Proven mate: plies to mate, positive = the root's mover mates, negative = is mated. The winner
    /// needs no more than that; a shorter one may exist. None for a result that rests on a
    /// [`crate::Leaf::Known`]: proven by `value` alone.
    pub mate_plies: Option<i32>,
    /// Prior of the first move as the search has it: Eq. 1, the root's temperature, noise.
    pub prior: f32,
    /// The model's action value of the first move, before any search, for the side to move at the root.
    pub q: f32,
    /// A scout searched this move by itself: moves and value are its own.
    pub scouted: bool,
}

impl<A: Copy + PartialEq> Line<A> {
    /// A line that the tree has not proven is the scout's, which looked further.
    fn follow(&mut self, scouted: &Variation<A>) {
        let decided = [Wdl::WIN, Wdl::DRAW, Wdl::LOSS].contains(&self.value);
        if !decided {
            self.scouted = true;
            self.moves.clone_from(&scouted.line);
            self.value = Wdl::from_score_and_draw(scouted.worth, self.value.draw);
            if let Some(plies) = scouted.mate_plies {
                self.mate_plies = Some(plies);
                self.value = if plies > 0 { Wdl::WIN } else { Wdl::LOSS };
            }
        }
    }
}

/// The best `multipv` lines of the root. A line that begins as one of those that a scout has `told` of is the scout's.
pub fn lines<A: Copy + PartialEq + From<u16>>(
    tree: &Tree,
    root_policy: &RootPolicy,
    params: &Params,
    told: Option<&Opinion<A>>,
    multipv: usize,
) -> Vec<Line<A>> {
    let mut moves = candidates(tree, root_policy, params);
    if let Some(told) = told.filter(|told| !told.others.is_empty()) {
        rank(&mut moves, told);
    }
    let of_move = |first: &Candidate| {
        let mut moves = vec![A::from(first.action)];
        let mut next = first.child;
        while let Some(best) = next.and_then(|at| best_reply(tree, at, params, moves.len())) {
            moves.push(A::from(best.action));
            next = best.child;
        }
        let mut line = Line {
            moves,
            visits: first.visits,
            value: first.value,
            mate_plies: first.mate_plies(),
            prior: first.prior,
            q: first.q,
            scouted: false,
        };
        if let Some(told) = told.and_then(|told| told.of(&A::from(first.action))) {
            line.follow(told);
        }
        line
    };
    moves.iter().take(multipv).map(of_move).collect()
}

/// Behind the first move, those that the scout has lines for come next, in its order.
fn rank<A: PartialEq + From<u16>>(moves: &mut [Candidate], told: &Opinion<A>) {
    let place = |c: &Candidate| {
        let mut firsts = told.variations().map(|told| told.line.first());
        let place = firsts.position(|first| first == Some(&A::from(c.action)));
        place.filter(|_| c.is_open()).unwrap_or(usize::MAX)
    };
    if let Some((_, behind)) = moves.split_first_mut() {
        behind.sort_by_key(place);
    }
}

fn best_reply(tree: &Tree, at: u32, params: &Params, plies: usize) -> Option<Candidate> {
    let best = *ordered(tree, tree.node(at), &RootPolicy::default(), params, plies).first()?;
    (best.visits > 0 && !best.refused).then_some(best)
}
