//! Quiet positions visited by the alpha-beta search: the input of its network ([`alphabeta::nnue`]). Few of them occur in
//! games, because most moves that such a search tries are mistakes.

use super::annotate::{ask_all, ask_all_moves};
use super::harvest::{HarvestError, Method, record, stored};
use super::sampler::{self, sample_search};
use crate::conventional::evaluation::value;
use crate::uci_client::{Player, Transport};
use alphabeta::AlphaBeta;
use alphabeta::exchange;
use alphabeta::nnue::Nnue;
use chess::action::Action;
use chess::game::Game;
use nn::encode::canonical_moves;
use nn::rng::Rng;
use shakmaty::{Chess, Move, Position};
use std::sync::Arc;
use train::data::chunks::ChunkWriter;
use train::data::record::MavgGame;

/// Parameters.
pub struct QuietLabels {
    /// Evaluation of the search.
    pub nnue: Arc<Nnue>,
    /// Nodes of an alpha-beta search; one position in sixteen is sampled, if it is quiet.
    pub nodes: u64,
    /// Depth of the engine's labelling search, in plies.
    pub depth: u32,
    /// Label all moves to quiet positions, not only the best one; then only one position in two is used, because its
    /// moves resemble each other.
    pub every_move: bool,
}

/// See [`QuietLabels::every_move`].
const SAMPLE_EVERY: usize = 2;

impl Method for QuietLabels {
    type WorkerState = AlphaBeta;
    type Store = ChunkWriter;

    fn start(&self) -> Result<AlphaBeta, HarvestError> {
        Ok(sampler::memory(self.nnue.clone()))
    }

    fn label<T: Transport>(
        &self,
        root: &Game,
        rng: &mut Rng,
        memory: &mut AlphaBeta,
        engine: &mut Player<T>,
    ) -> Result<Vec<MavgGame>, HarvestError> {
        // Different positions if the root recurs.
        let left = self.nodes + rng.below(self.nodes as usize / 8 + 1) as u64;
        let keys = root.keys().iter().copied();
        let (_, mut taken) = sample_search(memory, keys, root.position(), left, is_quiet);
        let mode = root.mode();
        taken.retain(|_| !self.every_move || rng.below(SAMPLE_EVERY) == 0);
        let games = taken.into_iter().map(|position| Game::new(position, mode));
        if self.every_move {
            let questions = games.map(|game| {
                let moves = quiet_moves(game.position());
                (game, moves)
            });
            let questions: Vec<_> = questions.filter(|(_, moves)| !moves.is_empty()).collect();
            let answers = ask_all_moves(engine, &questions, self.depth)?;
            let records = questions.iter().zip(answers).map(|((game, _), moves)| {
                let scores = moves.into_iter().map(|(action, score)| (action, stored(score)));
                Ok(record(game, &scores.collect::<Vec<_>>())?)
            });
            return records.collect();
        }
        let games: Vec<Game> = games.collect();
        let answers = ask_all(engine, &games, self.depth)?;
        let mut records = Vec::new();
        for (game, (reply, score)) in games.iter().zip(answers) {
            let m = reply.to_move(game.position());
            if m.is_some_and(|m| !m.is_capture() && !m.is_promotion()) {
                records.push(record(game, &[(reply, stored(score))])?);
            }
        }
        Ok(records)
    }
}

/// Moves to quiet positions. The network does not evaluate positions after other moves.
fn quiet_moves(position: &Chess) -> Vec<Action> {
    let leads = |m: &Move| {
        let mut next = position.clone();
        next.play_unchecked(*m);
        is_quiet(&next)
    };
    canonical_moves(position).into_iter().filter(leads).map(Action::new).collect()
}

/// Quiet: not over, not in check, and no capture wins material, so that the best move is probably quiet.
pub(super) fn is_quiet(position: &Chess) -> bool {
    let legal = position.legal_moves();
    !position.is_check()
        && !legal.is_empty()
        && !position.is_insufficient_material()
        && !legal
            .iter()
            .any(|m| m.is_promotion() || m.is_capture() && exchange::wins(position, *m, 1, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci_client::Timeouts;
    use crate::uci_client::fake::Fake;
    use alphabeta::bundled::nnue;
    use train::data::label::{stored_value, win_probability};
    use train::data::record::VALUE_UNKNOWN;

    /// Labels of a position in the opening.
    fn labelled(engine: impl Transport, depth: u32, every_move: bool) -> Vec<MavgGame> {
        let mut player = Player::greet(engine, &[], Timeouts::default()).unwrap();
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
        let root = Game::from_fen(fen, false).unwrap();
        let quiet = QuietLabels { nnue: nnue().unwrap(), nodes: 4_000, depth, every_move };
        let mut memory = quiet.start().unwrap();
        quiet.label(&root, &mut Rng::new(1), &mut memory, &mut player).unwrap()
    }

    #[test]
    fn quiet_positions_are_labelled_in_one_batch() {
        // The engine plays the first legal move of any position.
        let mut shown = Game::default();
        let fake = Fake::polite(move |line| {
            if let Some(fen) = line.strip_prefix("position fen ") {
                shown = Game::from_fen(fen, false).unwrap();
            }
            let first = || shown.uci(Action::new(canonical_moves(shown.position())[0]));
            match line.starts_with("go") {
                true => vec![
                    (1, "info depth 4 score cp 25".to_owned()),
                    (2, format!("bestmove {}", first())),
                ],
                false => vec![],
            }
        });
        let sent = fake.sent();
        let games = labelled(fake, 4, false);
        assert!(games.len() > 5, "{}", games.len());
        for game in &games {
            let (start, record) = (&game.header.start, &game.positions[0]);
            let best = canonical_moves(start)[usize::from(record.best)];
            assert!(is_quiet(start) && !best.is_capture());
            assert_eq!(record.score, 25);
        }
        let boards: std::collections::HashSet<String> =
            games.iter().map(|game| game.header.start.board().to_string()).collect();
        assert!(boards.len() * 2 > games.len(), "{} of {}", boards.len(), games.len());
        let sent = sent.lock().unwrap();
        let first = sent.iter().position(|line| line.starts_with("position")).unwrap();
        let orders = &sent[first..];
        assert!(
            orders.chunks(2).all(|two| two[0].starts_with("position") && two[1] == "go depth 4")
        );
    }

    #[test]
    fn every_move_to_a_quiet_position_has_the_value_that_the_engine_shows() {
        // The engine shows all moves, each 10 centipawns less than the previous one, and repeats them at a higher
        // depth.
        let fake = Fake::polite(|line| {
            let Some((_, moves)) = line.split_once("go depth 1 searchmoves ") else {
                return vec![];
            };
            let moves: Vec<&str> = moves.split(' ').collect();
            let infos = |depth: i32| {
                let shown = moves.iter().enumerate();
                shown.map(move |(at, m)| {
                    let score = 100 * depth - 10 * at as i32;
                    (1, format!("info depth {depth} multipv {} score cp {score} pv {m}", at + 1))
                })
            };
            let best = (2, format!("bestmove {}", moves[0]));
            infos(1).chain(infos(2)).chain([best]).collect()
        });
        let games = labelled(fake, 1, true);
        assert!(games.len() > 3, "{}", games.len());
        let mut left_out = 0;
        for game in &games {
            let (start, record) = (&game.header.start, &game.positions[0]);
            assert_eq!(record.score, 200);
            let mut score = 200;
            for (m, value) in canonical_moves(start).iter().zip(game.values(record)) {
                let mut next = start.clone();
                next.play_unchecked(*m);
                if !is_quiet(&next) {
                    left_out += 1;
                    assert_eq!(*value, VALUE_UNKNOWN);
                    continue;
                }
                assert_eq!(*value, stored_value(win_probability(score)));
                score -= 10;
            }
        }
        assert!(left_out > 10, "{left_out}");
    }

    #[test]
    fn positions_with_hanging_pieces_are_not_quiet() {
        let quiet = |fen: &str| is_quiet(Game::from_fen(fen, false).unwrap().position());
        assert!(!quiet("4k3/8/2p5/3p4/4Q3/8/8/4K3 b - - 0 1"), "a queen hangs");
        assert!(quiet("4k3/pp6/8/8/8/8/6PP/4K3 w - - 0 1"));
        assert!(!quiet("4k3/8/8/8/8/8/4q3/4K3 w - - 0 1"), "check");
        assert!(!quiet("7k/8/8/8/8/8/8/7K w - - 0 1"), "drawn");
    }
}
