//! The network's output for one position compared with the truth: distribution and policy of each move, predicted
//! legal moves, and predicted boards along its best line. No search.

use crate::process::errors::wraps;
use chess::action::Action;
use chess::game::Game;
use mcts::Wdl;
use nn::encode::MoveCode;
use nn::evaluator::cpu::CpuEvaluator;
use nn::evaluator::{Imagined, Insight, Step, Transition, grounded, is_true};
use nn::net::BUCKETS;
use nn::{EvalError, Query, Refusal};
use shakmaty::{Chess, Position, Square};
use std::fmt;

/// Verdict on a board that equals the true one.
const EXACT: &str = "exactly right";
/// Verdict on a board behind a move that the rules do not allow: there is no true one.
pub const BEYOND: &str = "beyond the rules";
/// Length of the predicted line, in plies.
const PLIES: usize = 4;

/// The network's output for one position.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The position.
    pub game: Game,
    /// `[64]`: win probability of the side to move, by bucket.
    pub chances: Vec<f32>,
    /// Its mean.
    pub value: f32,
    /// Its mean, the expected score, divided by the draws of the result head.
    pub wdl: Wdl,
    /// Legal moves by descending policy.
    pub moves: Vec<InspectedMove>,
    /// Number of moves predicted as legal.
    pub predicted_legal: usize,
    /// Illegal ones among them, in coordinates, with their probability.
    pub false_positives: Vec<(String, f32)>,
    /// Boards along the network's best line.
    pub line: Vec<PredictedBoard>,
}

/// A legal move.
#[derive(Clone, Debug)]
pub struct InspectedMove {
    /// The move.
    pub action: Action,
    /// Standard notation.
    pub san: String,
    /// Policy.
    pub policy: f32,
    /// `[64]`: win probability after it, by bucket.
    pub chances: Vec<f32>,
    /// Its mean.
    pub value: f32,
    /// Predicted probability that it is legal.
    pub legality: f32,
    /// Whether it is predicted as legal.
    pub predicted_legal: bool,
}

/// A predicted board.
#[derive(Clone, Debug)]
pub struct PredictedBoard {
    /// The move that leads there.
    pub action: Action,
    /// The same in the form `12... Nf6`.
    pub heading: String,
    /// The board; an error if the prediction is invalid.
    pub state: Result<Chess, Refusal>,
    /// Squares that differ from the true board.
    pub wrong: Vec<Square>,
    /// Verdict in two words.
    pub verdict: &'static str,
}

impl PredictedBoard {
    /// Whether the board equals the true one, including rights and en passant.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty() && self.verdict == EXACT
    }
}

/// Reason why a position cannot be evaluated.
#[derive(Debug)]
pub enum InspectionError {
    /// The game is over.
    NoMoves {
        /// The position.
        fen: String,
    },
    /// The network's output is not finite.
    Evaluation(EvalError),
}

impl fmt::Display for InspectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InspectionError::NoMoves { fen } => write!(f, "no move is left to look at in `{fen}`"),
            InspectionError::Evaluation(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for InspectionError {}

wraps! { InspectionError: Evaluation(EvalError) }

impl Inspection {
    /// Evaluates all heads at the last position of `game`.
    ///
    /// # Errors
    /// The game is over, or the network's output is not finite.
    pub fn new(game: &Game, network: &CpuEvaluator) -> Result<Inspection, InspectionError> {
        let (insight, moves) = ask(game, network)?;
        let is_legal = |action: &Action| moves.iter().any(|inspected| inspected.action == *action);
        let taken = taken(&insight, game);
        let mut false_positives: Vec<(String, f32)> = taken
            .iter()
            .filter(|(action, _)| !is_legal(action))
            .map(|(action, certainty)| (format!("{action:?}"), *certainty))
            .collect();
        false_positives.sort_by(|a, b| b.1.total_cmp(&a.1));
        let favourite = moves.first().map(|inspected| inspected.action);
        Ok(Inspection {
            game: game.clone(),
            chances: insight.value,
            value: insight.evaluation.value,
            wdl: Wdl::from_score_and_draw(insight.evaluation.value, insight.evaluation.wdl[1]),
            predicted_legal: taken.len(),
            false_positives,
            line: line(game, favourite, network)?,
            moves,
        })
    }

    /// Whether its predicted legal moves have an error.
    #[must_use]
    pub fn errs(&self) -> bool {
        !self.false_positives.is_empty()
            || self.moves.iter().any(|inspected| !inspected.predicted_legal)
    }

    /// Summary of the predicted legal moves.
    #[must_use]
    pub fn legality(&self) -> String {
        let percent = |share: f32| format!("{:.0} %", 100.0 * share);
        let named = |(name, share): (&str, f32)| format!("{name} ({})", percent(share));
        let false_positives: Vec<String> = self
            .false_positives
            .iter()
            .map(|(name, share)| named((name.as_str(), *share)))
            .collect();
        let overlooked: Vec<String> = self
            .moves
            .iter()
            .filter(|inspected| !inspected.predicted_legal)
            .map(|inspected| named((inspected.san.as_str(), inspected.legality)))
            .collect();
        let mut text = format!(
            "{} moves are legal, the network takes {}",
            self.moves.len(),
            self.predicted_legal
        );
        text += if self.errs() { " for legal." } else { " for legal: exactly these." };
        for (verb, moves) in [("invents", false_positives), ("overlooks", overlooked)] {
            if !moves.is_empty() {
                text += &format!(" It {verb} {}", moves[..moves.len().min(MAX_NAMED)].join(", "));
                text += &match moves.len().saturating_sub(MAX_NAMED) {
                    0 => ".".to_owned(),
                    more => format!(" and {more} more."),
                };
            }
        }
        text
    }
}

fn ask(
    game: &Game,
    network: &CpuEvaluator,
) -> Result<(Insight, Vec<InspectedMove>), InspectionError> {
    let position = game.position();
    let legal = position.legal_moves();
    if legal.is_empty() {
        return Err(InspectionError::NoMoves { fen: game.fen() });
    }
    let insight = network.insight(&Query { position, legal: &legal })?;
    let taken = taken(&insight, game);
    let rows = insight.actions.chunks_exact(BUCKETS);
    let inspected = legal.iter().zip(rows).enumerate().map(|(place, (m, chances))| {
        let action = Action::new(*m);
        InspectedMove {
            action,
            san: game.san(action),
            policy: insight.evaluation.policy[place],
            chances: chances.to_vec(),
            value: insight.evaluation.action_values[place],
            legality: insight.legality[place],
            predicted_legal: taken.iter().any(|(other, _)| *other == action),
        }
    });
    let mut moves: Vec<InspectedMove> = inspected.collect();
    moves.sort_by(|a, b| b.policy.total_cmp(&a.policy));
    Ok((insight, moves))
}

/// Moves predicted as legal.
fn taken(insight: &Insight, game: &Game) -> Vec<(Action, f32)> {
    let flip = game.position().turn().is_black();
    let action = |(code, certainty): &(MoveCode, f32)| (code.to_action(flip), *certainty);
    insight.believed.iter().map(action).collect()
}

/// Maximum number of wrong moves named.
const MAX_NAMED: usize = 8;

/// Follows the policy's first move from board to board, without the rules, and compares each board with the true one
/// as long as there is one.
fn line(
    game: &Game,
    favourite: Option<Action>,
    network: &CpuEvaluator,
) -> Result<Vec<PredictedBoard>, InspectionError> {
    // Predicted boards have no move number.
    let start = game.position();
    let first = 2 * start.fullmoves().get() + start.turn().fold_wb(0, 1);
    let mut truth = Some(game.clone());
    let mut state = grounded(start);
    let mut next = favourite;
    let mut line = Vec::new();
    while let Some(action) = next.filter(|_| line.len() < PLIES) {
        let heading = heading(&state, action, first + line.len() as u32);
        let flip = state.turn().is_black();
        truth = truth.and_then(|mut game| game.play(action).ok().map(|()| game));
        let step = Step { state: &state, action: MoveCode::of(action, flip) };
        let mut answers = network.imagine(&[step])?;
        network.refine(&mut answers)?;
        let answer = answers.pop().ok_or(EvalError::NoMoves)?;
        let truth = truth.as_ref().map(Game::position);
        let (wrong, verdict) = compare(answer.as_ref().ok(), truth);
        let known = answer.as_ref().map(|imagined| imagined.state.clone()).map_err(|why| *why);
        line.push(PredictedBoard { action, heading, state: known, wrong, verdict });
        let Ok(imagined) = answer else { break };
        next = best(&imagined, flip);
        state = imagined.state;
    }
    Ok(line)
}

/// The policy's first move in a predicted position.
fn best(imagined: &Imagined, flip: bool) -> Option<Action> {
    let policy = &imagined.evaluation.as_ref()?.policy;
    let best = (0..policy.len()).max_by(|a, b| policy[*a].total_cmp(&policy[*b]))?;
    Some(imagined.legal.get(best)?.to_action(flip))
}

fn compare(imagined: Option<&Imagined>, truth: Option<&Chess>) -> (Vec<Square>, &'static str) {
    let Some(imagined) = imagined else { return (Vec::new(), "no board") };
    let Some(truth) = truth else { return (Vec::new(), BEYOND) };
    let piece = |position: &Chess, square| position.board().piece_at(square);
    let wrong: Vec<Square> = Square::ALL
        .into_iter()
        .filter(|square| piece(&imagined.state, *square) != piece(truth, *square))
        .collect();
    let verdict = match (wrong.is_empty(), is_true(&imagined.state, truth)) {
        (_, true) => EXACT,
        (true, false) => "rights differ",
        (false, false) => "wrong",
    };
    (wrong, verdict)
}

/// Format `12... Nf6`; a move that is illegal in `before` in coordinates.
fn heading(before: &Chess, action: Action, ply: u32) -> String {
    let (number, dots) = (ply / 2, if ply.is_multiple_of(2) { "." } else { "..." });
    let legal = action.to_move(before).is_some_and(|m| before.is_legal(m));
    let name = if legal { action.to_san(before) } else { format!("{action:?}") };
    format!("{number}{dots} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::network::load;

    fn inspection(fen: &str) -> Result<Inspection, InspectionError> {
        let network = CpuEvaluator::fastest(&load(None).unwrap());
        Inspection::new(&Game::from_fen(fen, false).unwrap(), &network)
    }

    #[test]
    fn the_network_sees_every_legal_move() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3";
        let inspected = inspection(fen).unwrap();
        assert_eq!(inspected.moves.len(), inspected.game.legal_actions().len());
        assert!(inspected.moves.is_sorted_by(|a, b| a.policy >= b.policy));
        assert!(
            (inspected.moves.iter().map(|inspected| inspected.policy).sum::<f32>() - 1.0).abs()
                < 1e-3
        );
        let right = inspected.moves.iter().filter(|inspected| inspected.predicted_legal).count();
        assert_eq!(right + inspected.false_positives.len(), inspected.predicted_legal);
        assert!(right + 2 >= inspected.moves.len(), "{}", inspected.legality());
        assert!(!inspected.line.is_empty() && inspected.line[0].heading.starts_with("3... "));
    }

    #[test]
    fn errors_about_the_legal_moves_are_named() {
        let mut inspected = inspection("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").unwrap();
        for one in &mut inspected.moves {
            one.predicted_legal = one.san != "e4";
            one.legality = 0.25;
        }
        (inspected.false_positives, inspected.predicted_legal) =
            (vec![("e2e5".to_owned(), 0.6)], inspected.moves.len());
        let text = inspected.legality();
        assert!(text.contains("It invents e2e5 (60 %).") && text.contains("overlooks e4 (25 %)."));
        assert!(!text.contains("exactly"), "{text}");
        inspected.false_positives = (0..10).map(|n| (format!("move{n}"), 0.9)).collect();
        assert!(
            inspected.legality().contains("move7 (90 %) and 2 more."),
            "{}",
            inspected.legality()
        );
    }

    #[test]
    fn a_finished_game_shows_nothing() {
        let why = inspection("7k/6Q1/5K2/8/8/8/8/8 b - - 0 1").unwrap_err().to_string();
        assert!(why.contains("no move is left"), "{why}");
    }
}
