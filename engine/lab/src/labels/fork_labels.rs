//! Competing moves at forks of the tree search: each is searched separately, so that the positions after them get a
//! value and a best move, and the position before them gets the moves' values.

use super::annotate::ask;
use super::harvest::{HarvestError, MATE, Method, before, record, stored};
use super::walk::{Fork, Walk};
use crate::uci_client::{Player, Transport};
use chess::game::Game;
use nn::Evaluator;
use nn::rng::Rng;
use shakmaty::Position;
use std::sync::Arc;
use train::data::chunks::ChunkWriter;
use train::data::record::MavgGame;

/// Parameters.
pub struct ForkLabels {
    /// Walk to the fork.
    pub walk: Walk,
    /// Network whose policy samples the moves.
    pub evaluator: Arc<dyn Evaluator>,
    /// Nodes per search.
    pub nodes: u64,
}

impl Method for ForkLabels {
    type WorkerState = ();
    type Store = ChunkWriter;

    fn start(&self) -> Result<(), HarvestError> {
        Ok(())
    }

    fn label<T: Transport>(
        &self,
        root: &Game,
        rng: &mut Rng,
        (): &mut (),
        engine: &mut Player<T>,
    ) -> Result<Vec<MavgGame>, HarvestError> {
        let fork = self.walk.fork(root, &*self.evaluator, rng)?;
        let Some(Fork { game, mut moves }) = fork else { return Ok(Vec::new()) };
        let (favourite, _) = ask(engine, &game, self.nodes, None)?;
        if !moves.contains(&favourite) {
            moves.push(favourite);
        }
        let mut games = Vec::new();
        let mut values = Vec::new();
        for action in moves {
            let Some(m) = action.to_move(game.position()) else { continue };
            let mut after = game.position().clone();
            after.play_unchecked(m);
            let after = Game::new(after, game.mode());
            let score = match over(&after) {
                Some(score) => score,
                None => {
                    let (reply, score) = ask(engine, &after, self.nodes, None)?;
                    let score = stored(score);
                    games.push(record(&after, &[(reply, score)])?);
                    score
                }
            };
            values.push((action, before(score)));
        }
        // Best move first; among equal ones the engine's choice.
        values.sort_by_key(|(action, score)| (-i32::from(*score), *action != favourite));
        games.push(record(&game, &values)?);
        Ok(games)
    }
}

/// Score of a finished game for the side to move.
fn over(game: &Game) -> Option<i16> {
    let ending = game.ending()?;
    // File format: a mate in n is ±(32000 − n).
    Some(if ending.winner().is_some() { -MATE } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci_client::Timeouts;
    use crate::uci_client::fake::Fake;
    use chess::action::Action;
    use nn::encode::canonical_moves;
    use nn::evaluator::fake::Uniform;
    use train::data::label::action_value;

    /// Five moves; Black can reply on g8 after each.
    const ROOT: &str = "7k/8/8/8/8/8/6PP/7K w - - 0 1";

    #[test]
    fn the_competing_moves_and_the_favourite_are_searched_each() {
        let fork_labels = ForkLabels {
            walk: Walk { plies: 0, breadth: 2, temperature: 1.0 },
            evaluator: Arc::new(Uniform),
            nodes: 77,
        };
        let mut to_move = 'w';
        // White's policy prefers h2h3; after it the score is higher.
        let fake = Fake::polite(move |line| {
            if let Some(fen) = line.strip_prefix("position fen ") {
                to_move = fen.chars().skip_while(|c| *c != ' ').nth(1).unwrap();
            }
            match (line.starts_with("go"), to_move) {
                (true, 'w') => vec![(1, "info score cp 10"), (2, "bestmove h2h3")],
                (true, _) => vec![(1, "info score cp -310"), (2, "bestmove h8g8")],
                _ => vec![],
            }
        });
        let sent = fake.sent();
        let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
        let root = Game::from_fen(ROOT, false).unwrap();
        for seed in 0..4 {
            let games =
                fork_labels.label(&root, &mut Rng::new(seed), &mut (), &mut player).unwrap();
            let Some((parent, leaves)) = games.split_last() else { panic!("a parent") };
            assert!((2..=3).contains(&leaves.len()));
            let record = &parent.positions[0];
            let known: Vec<f32> = parent.values(record).iter().map(|v| action_value(*v)).collect();
            let known: Vec<&f32> = known.iter().filter(|value| !value.is_nan()).collect();
            assert_eq!((record.score, known.len()), (310, leaves.len()));
            let moves = canonical_moves(&parent.header.start);
            let best = Action::new(moves[usize::from(record.best)]);
            assert_eq!(root_word(best), "h2h3", "of equals, the favourite");
            for leaf in leaves {
                assert_eq!(leaf.positions[0].score, -310);
            }
        }
        let sent = sent.lock().unwrap();
        assert!(sent.iter().filter(|line| line.starts_with("go")).all(|go| go == "go nodes 77"));
    }

    fn root_word(action: Action) -> String {
        Game::from_fen(ROOT, false).unwrap().uci(action)
    }

    #[test]
    fn the_end_of_a_game_needs_no_search() {
        let of = |fen| over(&Game::from_fen(fen, false).unwrap());
        assert_eq!(of("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1").map(before), Some(31_999));
        assert_eq!(of("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), Some(0));
        assert_eq!(of(ROOT), None);
    }
}
