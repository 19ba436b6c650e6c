//! Games of the solver, from which paper 000's networks learned (appendix B): some moves are random, the others keep the value. Every
//! position has exact labels.

use super::exact::ValueOracle;
use super::exam::{SOLVER_NODES, Solved, generated};
use super::record::{GameRecord, Turn};
use nn::rng::{Rng, split_mix};
use std::sync::atomic::{AtomicBool, Ordering};

/// Plays games of one generation, one after the other.
pub struct Teacher<'a, G: Solved> {
    game: &'a G,
    solver: Box<dyn ValueOracle<G::State>>,
    /// Seed of the generation.
    seed: u64,
    stop: &'a AtomicBool,
}

impl<'a, G: Solved> Teacher<'a, G> {
    /// None if no solver knows the board.
    pub fn new(game: &'a G, seed: u64, stop: &'a AtomicBool) -> Option<Teacher<'a, G>> {
        Some(Teacher { game, solver: game.solver()?, seed, stop })
    }

    /// Plays game `number`, which depends on nothing but the seed. None if it was stopped. Moves before a position that the solver does
    /// not know are the game's start, so that every turn has labels.
    pub fn game(&mut self, number: usize) -> Option<GameRecord> {
        let game = self.game;
        let mut random = Rng::new(self.seed ^ split_mix(number as u64));
        let mut record =
            GameRecord { game: number, start: Vec::new(), turns: Vec::new(), pairing: None };
        let mut state = game.start();
        while game.end(&state).is_none() {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let plies = record.start.len() + record.turns.len();
            let known = if plies < game.first_solved_ply() {
                None
            } else {
                self.solver.verdicts(&state, SOLVER_NODES)
            };
            match known {
                Some(verdicts) => record.turns.push(turn(&verdicts, &mut random)),
                None => {
                    let moves = game.moves(&state);
                    let before = record.turns.drain(..).map(|turn| turn.action);
                    record.start.extend(before);
                    record.start.push(moves[random.below(moves.len())]);
                }
            }
            let last = record.turns.last().map(|turn| turn.action);
            game.play(&mut state, last.or_else(|| record.start.last().copied())?);
        }
        Some(record)
    }
}

/// Labels a position with the values of its moves, and chooses one of these.
fn turn(verdicts: &[(u16, i32)], random: &mut Rng) -> Turn {
    let best = verdicts.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let choice = generated(verdicts, random);
    Turn {
        action: choice[random.below(choice.len())],
        visits: verdicts.iter().map(|(_, value)| u32::from(*value == best)).collect(),
        values: verdicts.iter().map(|(_, value)| 500 * (*value as i16 + 1)).collect(),
        proven: Some((best + 1) as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::record::samples;
    use games::connect4::ConnectFour;
    use games::hex::Hex;

    #[test]
    fn a_game_of_the_solver_is_legal_and_its_labels_are_exact() {
        let (game, stop) = (ConnectFour::new(4, 5), AtomicBool::new(false));
        let mut teacher = Teacher::new(&game, 7, &stop).unwrap();
        let record = teacher.game(3).unwrap();
        assert_eq!(Some(&record), Teacher::new(&game, 7, &stop).unwrap().game(3).as_ref());
        assert_ne!(teacher.game(4).unwrap().turns, record.turns);
        let samples = samples(&game, &record).unwrap();
        assert_eq!(samples.len(), record.turns.len());
        let mut solver = game.solver().unwrap();
        for sample in samples {
            let verdicts = solver.verdicts(&sample.state, SOLVER_NODES).unwrap();
            let exact: Vec<f32> =
                verdicts.iter().map(|(_, value)| (*value as f32 + 1.0) / 2.0).collect();
            assert_eq!(sample.values, exact);
            let best = exact.iter().copied().fold(0.0, f32::max);
            assert_eq!(sample.score, best);
            let chosen = sample.policy.iter().zip(&exact).filter(|(share, _)| **share > 0.0);
            assert!(chosen.clone().count() > 0 && chosen.clone().all(|(_, value)| *value == best));
            assert!((sample.policy.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(teacher.game(5), None);
        assert!(Teacher::new(&Hex::new(11).unwrap(), 1, &stop).is_none());
    }

    /// On boards whose openings are too hard, the moves before the first labelled position are the start.
    #[test]
    fn moves_before_the_solver_knows_are_the_start() {
        let (game, stop) = (ConnectFour::new(6, 5), AtomicBool::new(false));
        let record = Teacher::new(&game, 1, &stop).unwrap().game(0).unwrap();
        assert!(record.start.len() >= game.first_solved_ply());
        samples(&game, &record).unwrap();
    }
}
