//! Positions that the alpha-beta search asks its network ([`nn::nnue`]) about, quiet or loud, with what an engine says of each without
//! any search: what the network is to say, too. More than half of what a search asks about is loud, for it prunes by such answers.

use super::harvest::{HarvestError, Method};
use super::looks::{self, look};
use crate::league::{Player, Transport};
use crate::measure::tune::label::LabelError;
use engine::alphabeta::AlphaBeta;
use engine::chess::ending;
use engine::chess::game::Game;
use nn::encode::canonical_moves;
use nn::nnue::Nnue;
use nn::rng::Rng;
use shakmaty::fen::Epd;
use shakmaty::{Chess, EnPassantMode, Position};
use std::sync::Arc;
use train::data::label::win_probability;
use train::nnue::Sample;
use train::nnue::samples::SampleWriter;
use uci::{Command, StartPosition};

/// Plies of a walk from a game's position.
const PLIES: usize = 30;
/// Of its first moves, none to so many are drawn by lot.
const STRAYS: usize = 3;
/// Of the others one in so many.
const STRAY: usize = 10;
/// Of the positions of a walk, one in so many has its search's positions taken: those of the next one are much the same.
const TAKEN: usize = 6;
/// The fewest positions that a search looks at.
const FEWEST: f64 = 100.0;
/// A walk ends where one side is ahead by so many centipawns.
const DECIDED: i32 = 1_000;

/// How they are found.
pub struct Asked {
    /// What the search asks.
    pub nnue: Arc<Nnue>,
    /// Positions that a search looks at, at most; of these, about one in sixteen is taken.
    pub looked_at: u64,
}

impl Method for Asked {
    type Kept = AlphaBeta;
    type Store = SampleWriter;

    fn start(&self) -> Result<AlphaBeta, HarvestError> {
        Ok(looks::memory(self.nnue.clone()))
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
        let strays = rng.below(STRAYS + 1);
        for ply in 0..PLIES {
            let legal = canonical_moves(&position);
            if legal.is_empty() || position.is_insufficient_material() {
                break;
            }
            if ply < strays || rng.below(STRAY) == 0 {
                position.play_unchecked(legal[rng.below(legal.len())]);
                continue;
            }
            // As likely from 100 to 200 as from 1,000 to 2,000.
            let range = (self.looked_at as f64 / FEWEST).max(1.0);
            let left = (FEWEST * range.powf(rng.unit())) as u64;
            let keys = [ending::key(&position)];
            let (found, mut seen) = look(memory, keys, &position, left, is_asked_about);
            if rng.below(TAKEN) == 0 {
                taken.append(&mut seen);
            }
            let Some(found) = found.filter(|found| found.best.score.abs() < DECIDED) else { break };
            let best = found.best.line.first().and_then(|best| best.to_move(&position));
            let Some(m) = best else { break };
            position.play_unchecked(m);
        }
        Ok(judged(engine, &taken)?)
    }
}

/// Of no others does a search ask its network.
fn is_asked_about(position: &Chess) -> bool {
    !position.is_check() && !position.is_game_over()
}

/// What the engine says of positions without search, whatever was played before.
fn judged<T: Transport>(
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
        let odd = || LabelError::NoAnswer { word: answer.clone(), fen: fen(position) };
        let white = pawns(&answer).ok_or_else(odd)?;
        let mover = position.turn().fold_wb(white, -white);
        Ok(Sample::at(position, win_probability((100.0 * mover).round() as i16)))
    });
    samples.collect()
}

/// White's advantage by an answer such as `+0.17 (white side)`.
fn pawns(answer: &str) -> Option<f32> {
    let number = answer.split_whitespace().next()?;
    number.parse().ok().filter(|pawns: &f32| pawns.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::league::Patience;
    use crate::league::fake::Fake;
    use engine::alphabeta::bundled::nnue;

    fn labelled(fake: Fake) -> Result<Vec<Sample>, HarvestError> {
        let mut player = Player::greet(fake, &[], Patience::default()).unwrap();
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
        let root = Game::from_fen(fen, false).unwrap();
        let asked = Asked { nnue: nnue().unwrap(), looked_at: 1_000 };
        let mut memory = asked.start().unwrap();
        asked.label(&root, &mut Rng::new(3), &mut memory, &mut player)
    }

    #[test]
    fn positions_of_searches_have_the_mover_s_share_of_what_the_engine_says() {
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
        let asked: Vec<&String> = sent.iter().filter(|line| line.starts_with("position")).collect();
        assert!(samples.len() > 30, "{}", samples.len());
        assert_eq!(asked.len(), samples.len());
        let mut loud = 0;
        for (line, sample) in asked.iter().zip(&samples) {
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
