//! How far a strong engine's value of a tree's nodes is from what the network says of them, ply by ply; and from what
//! it says of the same positions on their true boards.

use crate::league::{Player, Transport};
use crate::measure::MeasureError;
use crate::measure::tune::compare::Mean;
use crate::measure::tune::label::{ask, win};
use engine::chess::ending;
use engine::chess::game::Game;
use engine::internal::boards::{Boards, path_of};
use engine::internal::check::follow;
use engine::internal::page::{Page, centre};
use engine::internal::think::Thought;
use nn::rng::Rng;
use shakmaty::{CastlingMode, Position};
use std::fmt;

/// Asks an engine about nodes of thoughts: of each, one of every ply, drawn at random.
pub struct NodeValues<'a, T: Transport> {
    engine: Player<T>,
    /// Nodes of each of the engine's searches.
    nodes: u64,
    /// Of the true boards.
    plain: Boards<'a>,
    rng: Rng,
    found: Errors,
}

/// Errors of nodes, by ply from the root on.
#[derive(Clone, Debug, Default)]
pub struct Errors(Vec<Vec<Pair>>);

/// Distances from the engine's win probability.
#[derive(Clone, Copy, Debug)]
struct Pair {
    tree: f32,
    plain: f32,
}

impl<'a, T: Transport> NodeValues<'a, T> {
    /// `plain` answers for the true boards.
    #[must_use]
    pub fn new(engine: Player<T>, nodes: u64, plain: Boards<'a>) -> Self {
        NodeValues { engine, nodes, plain, rng: Rng::from_state(1), found: Errors::default() }
    }

    /// Asks about the nodes of a thought about the last position of `game`. Blocks for as long as that takes.
    ///
    /// # Errors
    /// The engine is lost or tells no score; the network fails.
    pub fn ask(&mut self, thought: &Thought, game: &Game) -> Result<(), MeasureError> {
        let named = (0u8..).zip(&thought.pages);
        let mut plies: Vec<Vec<(Game, u8)>> = Vec::new();
        for (node, page) in named {
            let Some(bucket) = page.as_ref().and_then(value) else { continue };
            let path = path_of(&thought.trace, node);
            let Some(position) = follow(game, &path) else { continue };
            // Of a game that is over an engine has nothing to say.
            if ending::by_board(&position, position.legal_moves().len()).is_none() {
                plies.resize_with(plies.len().max(path.len() + 1), Vec::new);
                plies[path.len()].push((Game::new(position, game.mode()), bucket));
            }
        }
        let refused = |why: &dyn fmt::Display| MeasureError::Refused(why.to_string());
        // Without UCI_Chess960, the engine would not parse castling.
        let chess960 = game.mode() == CastlingMode::Chess960;
        self.engine.new_game(chess960).map_err(|why| refused(&why))?;
        self.found.0.resize_with(self.found.0.len().max(plies.len()), Vec::new);
        for (ply, nodes) in plies.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty()) {
            let (position, bucket) = &nodes[self.rng.below(nodes.len())];
            let Some(plain) = value(&self.plain.root(position, &[])?) else { continue };
            let asked = ask(&mut self.engine, position, self.nodes, None);
            let known = win(asked.map_err(|why| refused(&why))?.1);
            let off = |bucket: u8| (centre(bucket) - known).abs();
            self.found.0[ply].push(Pair { tree: off(*bucket), plain: off(plain) });
        }
        Ok(())
    }

    /// All that was found.
    #[must_use]
    pub fn into_errors(self) -> Errors {
        self.found
    }
}

/// The bucket of a node's value; None where the game is over.
fn value(page: &Page) -> Option<u8> {
    page.list().first().map(|(_, bucket)| *bucket)
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8}{:>8}{:>20}{:>20}", "ply", "nodes", "value error", "on true boards")?;
        for (ply, pairs) in self.0.iter().enumerate() {
            let mean = |of: fn(&Pair) -> f32| {
                let errors = pairs.iter().map(|pair| f64::from(of(pair)));
                let Mean { mean, margin } = Mean::of(errors).percent();
                format!("{mean:.2} ± {margin:.2} %")
            };
            let [tree, plain] = [mean(|pair| pair.tree), mean(|pair| pair.plain)];
            writeln!(f, "{ply:<8}{:>8}{tree:>20}{plain:>20}", pairs.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::league::Timeouts;
    use crate::league::fake::Fake;
    use engine::internal::teacher::Teacher;
    use engine::internal::think::{Task, think};
    use engine::options::settings::Settings;
    use engine::play::network::{Installed, Networks};
    use nn::device::Backend;
    use nn::writer::{Backup, Shape};

    #[test]
    fn each_ply_is_held_against_the_engine() {
        let network = Installed.open(None, Backend::Cpu).unwrap();
        let boards = || {
            let value = (&Settings::default()).into();
            Boards::new(&*network.evaluator, value).unwrap()
        };
        let game = Game::from_fen("4k3/8/8/8/8/8/3QP3/4K3 w - - 0 1", false).unwrap();
        let mut own = boards();
        own.set_root(&game, &[]).unwrap();
        let shape = Shape { breadth: 2, depth: 2 };
        let task = Task { shape, backup: Backup::Minimax, mask: false, stop: &|| false };
        let thought = think(&mut own, &mut Teacher::default(), &task).unwrap();
        // The engine finds White mating wherever it is asked, and names a king's move each side has.
        let fake = Fake::polite({
            let mut white = true;
            move |line: &str| match line.split(' ').next() {
                Some("position") => {
                    white = line.contains(" w ");
                    vec![]
                }
                Some("go") => {
                    let mate = if white { 5 } else { -5 };
                    let best = if white { "e2e3" } else { "e8f8" };
                    let info = format!("info depth 9 score mate {mate} pv {best}");
                    vec![(1, info), (2, format!("bestmove {best}"))]
                }
                _ => vec![],
            }
        });
        let player = Player::greet(fake, &[], Timeouts::default()).unwrap();
        let mut values = NodeValues::new(player, 100, boards());
        // Some nodes have other moves than those that this engine names.
        let asked = values.ask(&thought, &game);
        let errors = values.into_errors();
        assert!(!errors.0[0].is_empty(), "{asked:?}");
        let root = errors.0[0][0];
        assert_eq!(root.tree, root.plain, "the root's board is the true one");
        assert!(root.tree < 0.2, "a queen ahead is nearly a win: {}", root.tree);
        let shown = errors.to_string();
        assert!(shown.lines().count() >= 2 && shown.contains("true boards"), "{shown}");
    }
}
