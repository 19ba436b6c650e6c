//! Monte-Carlo tree search by UCT, as in paper 002: `value / visits + sqrt(2 ln(parent's visits) / (visits + 1))`,
//! leaves evaluated by random games. Its best variant evaluates all children of an expanded node by the static
//! evaluation and one random game each, and backs up their maximum or mean, depending on depth.

use super::evaluation::evaluate;
use engine::alphabeta::scale::win;
use engine::chess::action::Action;
use engine::chess::ending::{by_board, by_fifty_moves, by_repetition, key};
use engine::chess::game::Game;
use engine::play::players::player::{PlayerFound, PlayerWatch};
use engine::world::rollout::random_game;
use nn::rng::Rng;
use shakmaty::{Chess, Position};

/// Evaluation of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafValue {
    /// Mean of this many random games.
    Rollouts(usize),
    /// Values of its children, each half static evaluation and half random game.
    Heuristics,
}

/// Depth in plies from which the mean of the children is backed up instead of the maximum: deep in the tree a single
/// overestimated child misleads. Guess: the paper gives none.
const MEAN_FROM_PLY: usize = 4;
/// Weight of the static evaluation in a child's value; the random game has the rest. Guess.
const EVALUATION_WEIGHT: f64 = 0.5;
/// Maximum number of nodes: about 300 MB.
const MAX_NODES: usize = 8_000_000;

/// Position and limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct UctRequest<'a> {
    /// The position is its last; earlier ones count for repetitions.
    pub game: &'a Game,
    /// Root moves, all legal.
    pub allowed: &'a [Action],
    /// Evaluation of leaves.
    pub leaf: LeafValue,
    /// Equal seeds play equal games.
    pub seed: u64,
    /// Exact number of playouts; None = unlimited.
    pub playouts: Option<u64>,
}

/// A move of the tree. Values are win probabilities of the side that made it.
struct Node {
    action: Action,
    visits: u32,
    sum: f64,
    /// Indices of its replies; empty before expansion.
    children: std::ops::Range<usize>,
    /// The game is over: value for the side that made the move.
    end: Option<f64>,
}

impl Node {
    fn new(action: Action) -> Node {
        Node { action, visits: 0, sum: 0.0, children: 0..0, end: None }
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.visits.max(1))
    }

    /// Eq. 1 of paper 002; unvisited moves come first.
    fn bound(&self, parent_visits: u32) -> f64 {
        if self.visits == 0 {
            return f64::INFINITY;
        }
        let visits = f64::from(self.visits);
        self.sum / visits + (2.0 * f64::from(parent_visits.max(1)).ln() / (visits + 1.0)).sqrt()
    }
}

/// Searches until the watch or the playouts end it. None without moves.
pub fn search(question: &UctRequest<'_>, watch: &mut dyn PlayerWatch) -> Option<PlayerFound> {
    let first = *question.allowed.first()?;
    let mut tree = Tree {
        question,
        nodes: vec![Node::new(first)],
        random: Rng::from_state(question.seed ^ key(question.game.position())),
        depth: 0,
        deepest: 0,
    };
    tree.nodes[0].children = 1..1 + question.allowed.len();
    tree.nodes.extend(question.allowed.iter().map(|action| Node::new(*action)));
    let mut playouts = 0;
    while question.playouts.is_none_or(|most| playouts < most) && !watch.is_over(playouts) {
        tree.playout();
        playouts += 1;
        // Reports whenever the number of playouts has doubled.
        if playouts.is_power_of_two() && playouts >= 16 {
            watch.on_found(&tree.found(playouts));
        }
    }
    Some(tree.found(playouts))
}

struct Tree<'a> {
    question: &'a UctRequest<'a>,
    /// The root has index 0.
    nodes: Vec<Node>,
    random: Rng,
    /// Sum over playouts, and maximum.
    depth: u64,
    deepest: usize,
}

impl Tree<'_> {
    fn playout(&mut self) {
        let mut position = self.question.game.position().clone();
        let mut keys = self.question.game.keys().to_vec();
        let mut path = vec![0];
        loop {
            let at = path[path.len() - 1];
            let node = &self.nodes[at];
            if node.end.is_some() || node.children.is_empty() {
                break;
            }
            let visits = node.visits;
            // Ties: the first.
            let best = node.children.clone().rev().max_by(|a, b| {
                self.nodes[*a].bound(visits).total_cmp(&self.nodes[*b].bound(visits))
            });
            let Some(best) = best else { break };
            if let Some(m) = self.nodes[best].action.to_move(&position) {
                position.play_unchecked(m);
            }
            keys.push(key(&position));
            path.push(best);
        }
        let depth = path.len() - 1;
        self.depth += depth as u64;
        self.deepest = self.deepest.max(depth);
        let leaf = path[depth];
        // For the side that made the last move.
        let mut value = match self.nodes[leaf].end {
            Some(end) => end,
            None => 1.0 - self.leaf(leaf, &position, &keys, depth),
        };
        for at in path.into_iter().rev() {
            let node = &mut self.nodes[at];
            node.visits += 1;
            node.sum += value;
            value = 1.0 - value;
        }
    }

    /// Value of a new leaf for its side to move. Adds its children, or marks it as terminal.
    fn leaf(&mut self, leaf: usize, position: &Chess, keys: &[u64], depth: usize) -> f64 {
        let moves = position.legal_moves();
        let drawn = by_fifty_moves(position) || by_repetition(position, keys);
        let end = match by_board(position, moves.len()) {
            Some(ending) if ending.winner().is_some() => Some(0.0),
            Some(_) => Some(0.5),
            None if drawn => Some(0.5),
            None => None,
        };
        if let Some(value) = end {
            self.nodes[leaf].end = Some(1.0 - value);
            return value;
        }
        let begin = self.nodes.len();
        if begin + moves.len() <= MAX_NODES {
            self.nodes.extend(moves.iter().map(|m| Node::new(Action::new(*m))));
            self.nodes[leaf].children = begin..self.nodes.len();
        }
        match self.question.leaf {
            LeafValue::Rollouts(games) => {
                let games = games.max(1);
                (0..games).map(|_| self.rollout(position)).sum::<f64>() / games as f64
            }
            LeafValue::Heuristics => {
                let values: Vec<f64> = moves
                    .iter()
                    .map(|m| {
                        let mut next = position.clone();
                        next.play_unchecked(*m);
                        1.0 - self.evaluate(&next)
                    })
                    .collect();
                for (node, value) in self.nodes[begin..].iter_mut().zip(&values) {
                    // The evaluation of a child is its first visit.
                    (node.visits, node.sum) = (1, *value);
                }
                if depth < MEAN_FROM_PLY {
                    values.iter().copied().fold(0.0, f64::max)
                } else {
                    values.iter().sum::<f64>() / values.len() as f64
                }
            }
        }
    }

    /// Value of a position for its side to move: static evaluation and a random game.
    fn evaluate(&mut self, position: &Chess) -> f64 {
        match by_board(position, position.legal_moves().len()) {
            Some(ending) if ending.winner().is_some() => 0.0,
            Some(_) => 0.5,
            None => {
                let by_hand = f64::from(win(evaluate(position)));
                EVALUATION_WEIGHT * by_hand + (1.0 - EVALUATION_WEIGHT) * self.rollout(position)
            }
        }
    }

    fn rollout(&mut self, position: &Chess) -> f64 {
        match random_game(position.clone(), &mut self.random) {
            Some(winner) if winner == position.turn() => 1.0,
            Some(_) => 0.0,
            None => 0.5,
        }
    }

    /// Principal variation by visits.
    fn found(&self, playouts: u64) -> PlayerFound {
        let mut line = Vec::new();
        let mut at = 0;
        loop {
            let children = self.nodes[at].children.clone();
            // Ties: the better mean, then the first.
            let best = children.rev().max_by(|a, b| {
                let (a, b) = (&self.nodes[*a], &self.nodes[*b]);
                a.visits.cmp(&b.visits).then(a.mean().total_cmp(&b.mean()))
            });
            match best {
                Some(best) if line.is_empty() || self.nodes[best].visits > 1 => {
                    line.push((best, self.nodes[best].action));
                    at = best;
                }
                _ => break,
            }
        }
        let value = line.first().map_or(0.5, |(best, _)| self.nodes[*best].mean());
        PlayerFound {
            line: line.into_iter().map(|(_, action)| action).collect(),
            win: value as f32,
            mate_plies: None,
            depth: u32::try_from(self.depth / playouts.max(1)).unwrap_or(0).max(1),
            seldepth: u32::try_from(self.deepest).unwrap_or(0).max(1),
            nodes: playouts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never stops the search.
    struct NeverStop;

    impl PlayerWatch for NeverStop {
        fn is_over(&mut self, _nodes: u64) -> bool {
            false
        }

        fn on_found(&mut self, found: &PlayerFound) {
            assert!(!found.line.is_empty());
        }
    }

    fn run(fen: &str, leaf: LeafValue, seed: u64, playouts: u64) -> (Game, PlayerFound) {
        let game = Game::from_fen(fen, false).unwrap();
        let allowed = game.legal_actions();
        let question =
            UctRequest { game: &game, allowed: &allowed, leaf, seed, playouts: Some(playouts) };
        let found = search(&question, &mut NeverStop).unwrap();
        (game, found)
    }

    const BOTH: [LeafValue; 2] = [LeafValue::Rollouts(3), LeafValue::Heuristics];

    #[test]
    fn mates_in_one_are_found_and_lines_are_legal() {
        let cases = [
            ("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8"),
            ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", "h5f7"),
        ];
        for (fen, best) in cases {
            for leaf in BOTH {
                for seed in 0..3 {
                    let (mut game, found) = run(fen, leaf, seed, 600);
                    assert_eq!(game.uci(found.line[0]), best, "{leaf:?} {seed}");
                    assert_eq!(found.nodes, 600);
                    found.line.iter().for_each(|action| game.play(*action).unwrap());
                }
            }
        }
    }

    #[test]
    fn equal_seeds_play_alike() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
        for leaf in BOTH {
            assert_eq!(run(fen, leaf, 1, 60).1, run(fen, leaf, 1, 60).1);
        }
        let wins: Vec<f32> = (0..5).map(|seed| run(fen, BOTH[0], seed, 60).1.win).collect();
        assert!(wins.windows(2).any(|pair| pair[0] != pair[1]), "{wins:?}");
    }

    #[test]
    fn heuristics_see_what_few_random_games_do_not() {
        // A knight can take the queen; a random game rarely does.
        let fen = "rnb1kbnr/pppp1ppp/8/4p3/6q1/5N1P/PPPPPPP1/RNBQKB1R w KQkq - 0 1";
        let (game, found) = run(fen, LeafValue::Heuristics, 0, 100);
        assert_eq!(game.uci(found.line[0]), "h3g4", "{found:?}");
        assert!(found.win > 0.6, "{found:?}");
    }

    #[test]
    fn each_playout_counts_once_and_the_bound_is_the_printed_one() {
        let node = Node { visits: 3, sum: 2.0, ..Node::new(Action::from(796)) };
        let printed = 2.0 / 3.0 + (2.0 * 10f64.ln() / 4.0).sqrt();
        assert!((node.bound(10) - printed).abs() < 1e-12);
        let game = Game::default();
        let allowed = game.legal_actions();
        let leaf = LeafValue::Rollouts(1);
        let question = UctRequest { game: &game, allowed: &allowed, leaf, seed: 1, playouts: None };
        let mut tree = Tree {
            question: &question,
            nodes: vec![Node::new(allowed[0])],
            random: Rng::from_state(1),
            depth: 0,
            deepest: 0,
        };
        tree.nodes[0].children = 1..21;
        tree.nodes.extend(allowed.iter().map(|action| Node::new(*action)));
        (0..200).for_each(|_| tree.playout());
        assert_eq!(tree.nodes[0].visits, 200);
        let below: u32 = tree.nodes[1..21].iter().map(|node| node.visits).sum();
        assert_eq!(below, 200);
        assert!(tree.nodes[1..21].iter().all(|node| node.visits > 3), "each is tried");
    }
}
