//! Labelling of positions by a strong engine, the annotator: first a deep search for the best move, then a search of
//! every other move that a shallow evaluation found close.

use super::label_file::LabelledPosition;
use crate::uci_client::{Fault, Player, Process, SearchAnswer, Timeouts, Transport};
use chess::action::Action;
use chess::game::Game;
use engine::process::errors::{FileError, wraps};
use nn::encode::canonical_moves;
use shakmaty::{CastlingMode, Chess};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use train::data::Labelled;
use train::data::label::{action_value, win_probability};
use train::data::record::{MavgGame, MavgPosition};
use uci::{Command, Go, Score, StartPosition};

/// Timeout of the greeting: an engine with a large network, started beside other work, took more than 15 s.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Timeout of a move.
const MOVE_TIMEOUT: Duration = Duration::from_secs(600);

/// The labelling engine.
#[derive(Clone, Debug)]
pub struct Annotator {
    /// UCI engine.
    pub program: PathBuf,
    /// Arguments.
    pub words: Vec<String>,
    /// Options by name and value.
    pub options: Vec<(String, String)>,
}

impl Annotator {
    /// Starts the engine.
    ///
    /// # Errors
    /// It cannot be started, or is no UCI engine.
    pub fn start(&self) -> Result<Player<Process>, LabelError> {
        let process =
            Process::spawn(&self.program, &self.words).map_err(FileError::of(&self.program))?;
        // Generous: the machine may sleep, or the process be stopped.
        let timeouts = Timeouts {
            start: START_TIMEOUT,
            think: MOVE_TIMEOUT,
            ready: MOVE_TIMEOUT,
            ..Timeouts::default()
        };
        Ok(Player::greet(process, &self.options, timeouts)?)
    }
}

/// Depth of labelling.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Nodes for the best move.
    pub best_nodes: u64,
    /// Nodes for each other close move.
    pub move_nodes: u64,
    /// See [`super::label_file::LabelRecipe::margin`].
    pub margin: f32,
}

/// A position to label, with shallow values.
#[derive(Clone, Debug)]
pub struct LabelTask {
    /// The position, without history.
    pub game: Game,
    /// All legal moves with shallow values.
    pub moves: Vec<(Action, f32)>,
}

/// Minimum distance of the mover's win probability from 0 and 1: decided positions do not discriminate moves.
pub const MIN_UNDECIDED: f32 = 0.04;

/// Values of the moves of `position` in a data record, in canonical order: win probabilities, NaN if not labelled. The
/// best move has the position's own score, which is not rounded as the others are. None if the position is decided or
/// the best move is invalid.
#[must_use]
pub fn stored_values(
    game: &MavgGame,
    record: &MavgPosition,
    position: &Chess,
) -> Option<Vec<(Action, f32)>> {
    let value = win_probability(record.score);
    if !(MIN_UNDECIDED..=1.0 - MIN_UNDECIDED).contains(&value) {
        return None;
    }
    let moves = canonical_moves(position);
    let mut values: Vec<(Action, f32)> = moves
        .iter()
        .zip(game.values(record))
        .map(|(m, stored)| (Action::new(*m), action_value(*stored)))
        .collect();
    values.get_mut(usize::from(record.best))?.1 = value;
    Some(values)
}

impl LabelTask {
    /// None without a choice: one legal move, or a decided game.
    #[must_use]
    pub fn new(labelled: &Labelled) -> Option<LabelTask> {
        if labelled.moves.len() < 2
            || !(MIN_UNDECIDED..=1.0 - MIN_UNDECIDED).contains(&labelled.value)
        {
            return None;
        }
        let mode = CastlingMode::from_chess960(labelled.chess960);
        let game = Game::new(labelled.position.clone(), mode);
        let moves = labelled.moves.iter().map(|(m, value)| (Action::new(*m), *value)).collect();
        Some(LabelTask { game, moves })
    }

    /// Labels it with an engine. Blocks.
    ///
    /// # Errors
    /// The engine is lost, returns no legal move, or no score.
    pub fn label<T: Transport>(
        &self,
        engine: &mut Player<T>,
        effort: Effort,
    ) -> Result<LabelledPosition, LabelError> {
        engine.new_game(self.game.mode() == CastlingMode::Chess960)?;
        let (best, value) = self.ask(engine, effort.best_nodes, None)?;
        let top = self.moves.iter().map(|(_, value)| *value).fold(0.0, f32::max);
        let mut deep = vec![(best, value)];
        let mut shallow = Vec::new();
        for &(action, value) in self.moves.iter().filter(|(action, _)| *action != best) {
            if value < top - effort.margin {
                shallow.push((action, value));
            } else {
                deep.push((action, self.ask(engine, effort.move_nodes, Some(action))?.1));
            }
        }
        Ok(LabelledPosition { game: self.game.clone(), best, deep, shallow })
    }

    fn ask<T: Transport>(
        &self,
        engine: &mut Player<T>,
        nodes: u64,
        only: Option<Action>,
    ) -> Result<(Action, f32), LabelError> {
        let (best, score) = ask(engine, &self.game, nodes, only)?;
        Ok((best, win(score)))
    }
}

/// The best move of a position without history, or only the move `only`, with its score for the mover. Blocks.
///
/// # Errors
/// The engine is lost, returns no legal move, or no score.
pub fn ask<T: Transport>(
    engine: &mut Player<T>,
    game: &Game,
    nodes: u64,
    only: Option<Action>,
) -> Result<(Action, Score), LabelError> {
    let go = Go {
        nodes: Some(nodes),
        searchmoves: only.iter().map(|action| game.uci(*action)).collect(),
        ..Go::default()
    };
    answer(game, &engine.think(&position_command(game), go, None)?)
}

/// Best moves of positions without history, with scores for the movers, by searches to `depth` plies, sent as one
/// batch. Blocks.
///
/// # Errors
/// As [`ask`].
pub fn ask_all<T: Transport>(
    engine: &mut Player<T>,
    games: &[Game],
    depth: u32,
) -> Result<Vec<(Action, Score)>, LabelError> {
    let go = Go { depth: Some(depth), ..Go::default() };
    let searches: Vec<_> = games.iter().map(|game| (position_command(game), go.clone())).collect();
    let thoughts = engine.think_all(&searches)?;
    games.iter().zip(&thoughts).map(|(game, thought)| answer(game, thought)).collect()
}

/// The same restricted to given moves of each position, best first: all moves that the engine shows with their last
/// scores, if their number equals MultiPV.
///
/// # Errors
/// As [`ask`].
pub fn ask_all_moves<T: Transport>(
    engine: &mut Player<T>,
    questions: &[(Game, Vec<Action>)],
    depth: u32,
) -> Result<Vec<Vec<(Action, Score)>>, LabelError> {
    let searches = questions.iter().map(|(game, moves)| {
        let searchmoves = moves.iter().map(|action| game.uci(*action)).collect();
        (position_command(game), Go { depth: Some(depth), searchmoves, ..Go::default() })
    });
    let thoughts = engine.think_all(&searches.collect::<Vec<_>>())?;
    let moves = questions.iter().zip(&thoughts).map(|((game, _), thought)| {
        let best = Action::from_uci(&thought.best, game.position())
            .ok_or_else(|| no_answer(game, thought))?;
        let mut moves: Vec<(Action, Score)> = Vec::with_capacity(thought.scores.len());
        for (word, score) in thought.scores.iter().rev() {
            let action =
                Action::from_uci(word, game.position()).ok_or_else(|| no_answer(game, thought))?;
            if moves.iter().all(|(known, _)| *known != action) {
                moves.push((action, *score));
            }
        }
        moves.sort_by_key(|(action, _)| *action != best);
        match moves.first() {
            Some((first, _)) if *first == best => Ok(moves),
            _ => Err(no_answer(game, thought)),
        }
    });
    moves.collect()
}

fn no_answer(game: &Game, thought: &SearchAnswer) -> LabelError {
    LabelError::NoAnswer { word: thought.best.clone(), fen: game.fen() }
}

fn position_command(game: &Game) -> Command {
    Command::Position { start: StartPosition::Fen(game.fen()), moves: Vec::new() }
}

fn answer(game: &Game, thought: &SearchAnswer) -> Result<(Action, Score), LabelError> {
    let best = Action::from_uci(&thought.best, game.position());
    let score = thought.last.as_ref().and_then(|info| info.score);
    best.zip(score).ok_or_else(|| no_answer(game, thought))
}

/// Win probability of a score.
#[must_use]
pub fn win(score: Score) -> f32 {
    match score {
        Score::Centipawns(score) => {
            let range = f64::from(score).clamp(-30_000.0, 30_000.0);
            win_probability(range as i16)
        }
        Score::Mate(moves) => f32::from(u8::from(moves > 0)),
    }
}

/// Error of labelling.
#[derive(Debug)]
pub enum LabelError {
    /// The engine cannot be started.
    Start(FileError),
    /// The engine is lost.
    Fault(Fault),
    /// The answer is no legal move, or has no score.
    NoAnswer {
        /// The answer's move.
        word: String,
        /// FEN of the position.
        fen: String,
    },
}

wraps! { LabelError: Start(FileError), Fault(Fault) }

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabelError::Start(why) => why.fmt(f),
            LabelError::Fault(fault) => fault.fmt(f),
            LabelError::NoAnswer { word, fen } => {
                write!(f, "the engine answered `{word}`, or no score, in `{fen}`")
            }
        }
    }
}

impl std::error::Error for LabelError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci_client::Timeouts;
    use crate::uci_client::fake::Fake;
    use shakmaty::Position;

    /// Five legal moves.
    const FEN: &str = "7k/8/8/8/8/8/6PP/7K w - - 0 1";

    fn labelled(value: f32) -> Labelled {
        let game = Game::from_fen(FEN, false).unwrap();
        let values = [0.6, 0.58, 0.2, 0.59, 0.1];
        let moves = game.position().legal_moves().into_iter().zip(values).collect();
        Labelled { position: game.position().clone(), chess960: false, value, moves }
    }

    #[test]
    fn positions_without_a_choice_are_no_task() {
        assert!(LabelTask::new(&labelled(0.6)).is_some());
        assert!(LabelTask::new(&labelled(0.99)).is_none());
        let forced = Labelled { moves: labelled(0.5).moves[..1].to_vec(), ..labelled(0.5) };
        assert!(LabelTask::new(&forced).is_none());
    }

    #[test]
    fn close_moves_are_searched_each_and_the_others_keep_their_value() {
        let task = LabelTask::new(&labelled(0.6)).unwrap();
        let words: Vec<String> = task.moves.iter().map(|(m, _)| task.game.uci(*m)).collect();
        // The deep search prefers the second move; searched alone, each move scores a pawn less.
        let second = words[1].clone();
        let fake = Fake::polite(move |line| {
            let alone = line
                .split_once("searchmoves ")
                .map(|(_, word)| word.split(' ').next().unwrap_or_default().to_owned());
            match line.starts_with("go") {
                true if alone.is_none() => vec![
                    (1, "info depth 9 score cp 100 pv a".to_owned()),
                    (2, format!("bestmove {second}")),
                ],
                true => vec![
                    (1, "info depth 9 score cp 0 pv a".to_owned()),
                    (2, format!("bestmove {}", alone.unwrap_or_default())),
                ],
                false => vec![],
            }
        });
        let sent = fake.sent();
        let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
        let effort = Effort { best_nodes: 300, move_nodes: 60, margin: 0.15 };
        let label = task.label(&mut player, effort).unwrap();
        assert_eq!(task.game.uci(label.best), words[1]);
        let values = |of: &[(Action, f32)]| {
            of.iter().map(|(m, value)| (task.game.uci(*m), *value)).collect::<Vec<_>>()
        };
        let deep = values(&label.deep);
        assert_eq!(deep.len(), 3);
        assert!(deep[0].0 == words[1] && (deep[0].1 - 0.591).abs() < 1e-3);
        assert_eq!(deep[1..], [(words[0].clone(), 0.5), (words[3].clone(), 0.5)]);
        assert_eq!(values(&label.shallow), [(words[2].clone(), 0.2), (words[4].clone(), 0.1)]);
        let sent = sent.lock().unwrap();
        assert!(sent.iter().any(|line| line.contains("nodes 300") && !line.contains("search")));
        assert_eq!(sent.iter().filter(|line| line.contains("nodes 60")).count(), 2);
    }

    #[test]
    fn mates_are_certain_and_no_score_is_an_error() {
        assert_eq!((win(Score::Mate(3)), win(Score::Mate(-1))), (1.0, 0.0));
        assert!(win(Score::Centipawns(100_000)) > 0.999);
        let fake = Fake::polite(|line| match line.starts_with("go") {
            true => vec![(1, "bestmove g2g3")],
            false => vec![],
        });
        let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
        let effort = Effort { best_nodes: 1, move_nodes: 1, margin: 0.1 };
        let task = LabelTask::new(&labelled(0.6)).unwrap();
        assert!(matches!(task.label(&mut player, effort), Err(LabelError::NoAnswer { .. })));
    }
}
