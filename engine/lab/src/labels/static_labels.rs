//! Positions that the alpha-beta search evaluates statically ([`alphabeta::nnue`]), quiet or noisy, labelled with an engine's
//! static evaluation. More than half of a search's positions are noisy, because it prunes by static evals.

use super::annotate::LabelError;
use super::harvest::{HarvestError, Method};
use super::sampler::{self, sample_search};
use crate::uci_client::{Player, Transport};
use alphabeta::AlphaBeta;
use alphabeta::nnue::Nnue;
use chess::ending;
use chess::game::Game;
use nn::encode::canonical_moves;
use nn::rng::Rng;
use shakmaty::fen::Epd;
use shakmaty::{Chess, EnPassantMode, Position};
use std::sync::Arc;
use train::data::label::win_probability;
use train::nnue::Sample;
use train::nnue::samples::SampleWriter;
use uci::{Command, StartPosition};

/// Length of a random walk from a game's position, in plies.
const PLIES: usize = 30;
/// Maximum number of random moves at the start of a walk.
const MAX_RANDOM_MOVES: usize = 3;
/// Later, one move in this many is random.
const RANDOM_EVERY: usize = 10;
/// One position of a walk in this many is searched: neighbours visit almost the same positions.
const SEARCH_EVERY: usize = 6;
/// Minimum number of nodes of a search.
const MIN_NODES: f64 = 100.0;
/// A walk ends when one side is ahead by this, in centipawns.
const DECIDED_CENTIPAWNS: i32 = 1_000;

/// Parameters.
pub struct StaticLabels {
    /// Evaluation of the search.
    pub nnue: Arc<Nnue>,
    /// Maximum number of nodes of a search; about one position in sixteen is sampled.
    pub nodes: u64,
}

impl Method for StaticLabels {
    type WorkerState = AlphaBeta;
    type Store = SampleWriter;

    fn start(&self) -> Result<AlphaBeta, HarvestError> {
        Ok(sampler::memory(self.nnue.clone()))
    }

    fn label<T: Transport>(
        &self,
        root: &Game,
        rng: &mut Rng,
        memory: &mut AlphaBeta,
        engine: &mut Player<T>,
    ) -> Result<Vec<Sample>, HarvestError> {
        let mut taken = Vec::new();
        let mut position = root.position().clone();
        let random_moves = rng.below(MAX_RANDOM_MOVES + 1);
        for ply in 0..PLIES {
            let legal = canonical_moves(&position);
            if legal.is_empty() || position.is_insufficient_material() {
                break;
            }
            if ply < random_moves || rng.below(RANDOM_EVERY) == 0 {
                position.play_unchecked(legal[rng.below(legal.len())]);
                continue;
            }
            // Log-uniform: as likely from 100 to 200 as from 1,000 to 2,000.
            let range = (self.nodes as f64 / MIN_NODES).max(1.0);
            let left = (MIN_NODES * range.powf(rng.unit())) as u64;
            let keys = [ending::key(&position)];
            let (found, mut sampled) =
                sample_search(memory, keys, &position, left, is_statically_evaluated);
            if rng.below(SEARCH_EVERY) == 0 {
                taken.append(&mut sampled);
            }
            let Some(found) = found.filter(|found| found.best.score.abs() < DECIDED_CENTIPAWNS)
            else {
                break;
            };
            let best = found.best.line.first().and_then(|best| best.to_move(&position));
            let Some(m) = best else { break };
            position.play_unchecked(m);
        }
        Ok(static_evals(engine, &taken)?)
    }
}

/// Whether a search evaluates this position statically.
fn is_statically_evaluated(position: &Chess) -> bool {
    !position.is_check() && !position.is_game_over()
}

/// The engine's static evaluations of positions, independent of history.
fn static_evals<T: Transport>(
    engine: &mut Player<T>,
    positions: &[Chess],
) -> Result<Vec<Sample>, LabelError> {
    let fen =
        |position: &Chess| format!("{} 0 1", Epd::from_position(position, EnPassantMode::Legal));
    let questions = positions.iter().map(|position| {
        let start = StartPosition::Fen(fen(position));
        Command::Position { start, moves: Vec::new() }
    });
    let answers = engine.eval_all(&questions.collect::<Vec<_>>())?;
    let samples = positions.iter().zip(answers).map(|(position, answer)| {
        let no_answer = || LabelError::NoAnswer { word: answer.clone(), fen: fen(position) };
        let white = pawns(&answer).ok_or_else(no_answer)?;
        let mover = position.turn().fold_wb(white, -white);
        Ok(Sample::at(position, win_probability((100.0 * mover).round() as i16)))
    });
    samples.collect()
}

/// White's advantage in an answer such as `+0.17 (white side)`.
fn pawns(answer: &str) -> Option<f32> {
    let number = answer.split_whitespace().next()?;
    number.parse().ok().filter(|pawns: &f32| pawns.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci_client::Timeouts;
    use crate::uci_client::fake::Fake;
    use alphabeta::bundled::nnue;

    fn labelled(fake: Fake) -> Result<Vec<Sample>, HarvestError> {
        let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
        let root = Game::from_fen(fen, false).unwrap();
        let static_labels = StaticLabels { nnue: nnue().unwrap(), nodes: 1_000 };
        let mut memory = static_labels.start().unwrap();
        static_labels.label(&root, &mut Rng::new(3), &mut memory, &mut player)
    }

    #[test]
    fn labels_are_the_engines_static_evals_for_the_mover() {
        let fake = Fake::polite(|line| match line {
            "eval" => vec![
                (1, "NNUE evaluation        +9.99 (white side)".to_owned()),
                (1, "Final evaluation       +2.00 (white side) [with scaled NNUE]".to_owned()),
            ],
            _ => vec![],
        });
        let sent = fake.sent();
        let samples = labelled(fake).unwrap();
        let sent = sent.lock().unwrap();
        let static_labels: Vec<&String> =
            sent.iter().filter(|line| line.starts_with("position")).collect();
        assert!(samples.len() > 30, "{}", samples.len());
        assert_eq!(static_labels.len(), samples.len());
        let mut loud = 0;
        for (line, sample) in static_labels.iter().zip(&samples) {
            let fen = line.strip_prefix("position fen ").unwrap();
            let game = Game::from_fen(fen, false).unwrap();
            let position = game.position();
            assert!(!position.is_check() && position.halfmoves() == 0);
            loud += usize::from(position.legal_moves().iter().any(|m| m.is_capture()));
            let expected = position.turn().fold_wb(200, -200);
            assert_eq!(sample.value, win_probability(expected), "{fen}");
        }
        assert!(loud > 10, "{loud} of {}", samples.len());
    }

    #[test]
    fn an_answer_without_a_number_is_named() {
        let fake = Fake::polite(|line| match line {
            "eval" => vec![(1, "Final evaluation: none (in check)")],
            _ => vec![],
        });
        let why = labelled(fake).err().map(|why| why.to_string()).unwrap();
        assert!(why.contains("`: none (in check)`"), "{why}");
        assert_eq!(pawns("-1.25 (white side)"), Some(-1.25));
        assert_eq!(pawns("nan"), None);
    }
}
