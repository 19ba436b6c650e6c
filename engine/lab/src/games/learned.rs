//! The network as the rules of the search (paper 000, section 3.1): it says which moves are legal, what the next state is, and whether the
//! game is over there. Only the root is a real position.

use super::exam::ExamPosition;
use super::sample::end_class;
use games::game::{EMPTY, Game, Grid, MINE, THEIRS};
use games::net::{BoardNet, CELLS, ENDS, MOVE_COLUMNS, Outputs, RESULTS, STATE_COLUMNS};
use games::player::network_params;
use mcts::{Edge, Leaf, Patient, Searcher, Wdl, World};
use nn::kernels::Isa;
use nn::kernels::ops;
use nn::net::config::{BUCKETS, CENTRES};
use nn::numeric::{argmax, softmax};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

/// Memory of a tree.
const TREE_BYTES: usize = 16 << 20;

/// A position as the network tracks it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Imagined {
    /// In the mover's view.
    cells: Vec<u8>,
    /// Ongoing, lost for the mover, drawn: an index of the network's ends.
    end: usize,
}

/// The world of the search. A move's number is that of its mover's view.
pub struct LearnedWorld<'a> {
    network: &'a BoardNet,
    grid: Grid,
    /// Next states: the tree asks for each one on every descent.
    known: Mutex<HashMap<(Imagined, u16), Imagined>>,
}

impl<'a> LearnedWorld<'a> {
    /// The network must be one of this game.
    pub fn new<G: Game>(game: &G, network: &'a BoardNet) -> LearnedWorld<'a> {
        LearnedWorld { network, grid: game.grid(), known: Mutex::default() }
    }

    /// A real position.
    pub fn imagined<G: Game>(game: &G, state: &G::State) -> Imagined {
        Imagined { cells: game.encode(state), end: 0 }
    }

    /// For each legal move the centre of its most probable bucket (max scoring).
    pub fn modal_values<G: Game>(game: &G, network: &BoardNet, state: &G::State) -> Vec<f32> {
        let Outputs { moves, .. } = network.forward(&game.encode(state), None);
        let row = |action: u16| {
            let at = usize::from(game.in_view(state, action)) * MOVE_COLUMNS;
            moves.get(at + 2..at + MOVE_COLUMNS).and_then(argmax).map_or(0.0, |at| CENTRES[at])
        };
        game.moves(state).into_iter().map(row).collect()
    }

    /// The position after a move, in the view of the side to move there.
    fn next(&self, state: &Imagined, action: u16) -> Imagined {
        let Outputs { state: logits, cells, .. } = self.network.forward(&state.cells, Some(action));
        let end = argmax(&logits[STATE_COLUMNS - ENDS..]).unwrap_or(0);
        let mut seen = vec![EMPTY; self.grid.cells()];
        for (logits, to) in cells.chunks(CELLS).zip(&self.grid.passed) {
            // The other side moves there.
            seen[usize::from(*to)] = match argmax(logits).unwrap_or(0) as u8 {
                MINE => THEIRS,
                THEIRS => MINE,
                empty => empty,
            };
        }
        Imagined { cells: seen, end }
    }

    fn leaf(&self, state: &Imagined) -> Leaf<u16> {
        match state.end {
            0 => {}
            1 => return Leaf::Over(Wdl::LOSS),
            _ => return Leaf::Over(Wdl::DRAW),
        }
        let Outputs { state: logits, mut moves, .. } = self.network.forward(&state.cells, None);
        let result = softmax(&logits[BUCKETS..BUCKETS + RESULTS]);
        let (mut policy, mut edges) = (Vec::new(), Vec::new());
        for (action, row) in moves.chunks_exact_mut(MOVE_COLUMNS).enumerate() {
            // The logit of legality.
            if row[1] > 0.0 {
                policy.push(row[0]);
                ops::softmax64(Isa::found(), &mut row[2..]);
                let q = ops::dot(Isa::found(), &row[2..], &CENTRES);
                edges.push(Edge { action: action as u16, policy: 0.0, q });
            }
        }
        if edges.is_empty() {
            return Leaf::Refused;
        }
        for (edge, policy) in edges.iter_mut().zip(softmax(&policy)) {
            edge.policy = policy;
        }
        Leaf::Open { value: Wdl { loss: result[0], draw: result[1], win: result[2] }, edges }
    }
}

impl World for LearnedWorld<'_> {
    type State = Imagined;
    type Action = u16;
    type Error = Infallible;

    fn step(&self, state: &mut Imagined, action: u16) -> Option<Wdl> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = (state.clone(), action);
        let known = lock().get(&asked).cloned();
        *state = known.unwrap_or_else(|| {
            let next = self.next(&asked.0, action);
            lock().insert(asked, next.clone());
            next
        });
        None
    }

    fn evaluate(&self, leaves: &[&Imagined]) -> Result<Vec<Leaf<u16>>, Infallible> {
        Ok(leaves.iter().map(|leaf| self.leaf(leaf)).collect())
    }
}

/// Chooses moves by a search of `playouts` in which the network is the rules.
pub fn imagining<'a, G: Game + Clone>(
    game: &G,
    network: &'a BoardNet,
    playouts: u64,
) -> impl FnMut(&G::State) -> Option<u16> + use<'a, G> {
    let (game, mut searcher) = (game.clone(), Searcher::new(network_params(1), TREE_BYTES));
    move |state| {
        let world = LearnedWorld::new(&game, network);
        let legal: Vec<u16> =
            game.moves(state).into_iter().map(|action| game.in_view(state, action)).collect();
        searcher.set_root(LearnedWorld::imagined(&game, state));
        searcher.restrict_root(&legal);
        let lines = searcher.run(&world, 1, Some(playouts), &Patient).snapshot.lines;
        Some(game.in_view(state, lines.first()?.moves[0]))
    }
}

/// How many next states a network predicts exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// Moves after which the game is ongoing, and those of them whose board and end are exactly right.
    pub ongoing: [usize; 2],
    /// The same of the moves that end the game.
    pub ends: [usize; 2],
}

/// Predicts the state after every legal move of every position.
pub fn track<G: Game>(game: &G, network: &BoardNet, questions: &[ExamPosition]) -> Tracked {
    let world = LearnedWorld::new(game, network);
    let mut tracked = Tracked::default();
    for question in questions {
        let state = question.position(game);
        let seen = LearnedWorld::imagined(game, &state);
        for action in game.moves(&state) {
            let mut next = state.clone();
            game.play(&mut next, action);
            let end = end_class(game, &next);
            let truth = Imagined { cells: game.encode(&next), end };
            let right = world.next(&seen, game.in_view(&state, action)) == truth;
            let count = if end == 0 { &mut tracked.ongoing } else { &mut tracked.ends };
            *count = [count[0] + 1, count[1] + usize::from(right)];
        }
    }
    tracked
}
