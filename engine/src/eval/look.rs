//! What a network says of one position, side by side with what is true: a distribution and a policy for each move,
//! the moves it takes for legal, and the boards it imagines along its own best line. No search.

use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::errors::wraps;
use nn::encode::MoveCode;
use nn::evaluator::cpu::CpuEvaluator;
use nn::evaluator::{Imagined, Insight, Step, Transition, grounded, is_true};
use nn::net::BUCKETS;
use nn::{EvalError, Query, Refusal};
use shakmaty::{Chess, Position, Square};
use std::fmt;

/// The verdict on a board that is the true one in everything.
const RIGHT: &str = "exactly right";
/// Plies of the imagined line.
const PLIES: usize = 4;

/// One position through a network's eyes.
#[derive(Clone, Debug)]
pub struct Sight {
    /// The position.
    pub game: Game,
    /// `[64]`: win probability of the side to move, by bucket.
    pub chances: Vec<f32>,
    /// Its mean.
    pub value: f32,
    /// Win, draw, loss of the side to move.
    pub wdl: [f32; 3],
    /// The legal moves, the policy's favourite first.
    pub moves: Vec<Seen>,
    /// How many moves it takes for legal.
    pub believed: usize,
    /// Those of them that are not, in coordinates, with the probability it gives them.
    pub invented: Vec<(String, f32)>,
    /// The boards along its own best line.
    pub line: Vec<Glimpse>,
}

/// One legal move.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The move.
    pub action: Action,
    /// Its name.
    pub san: String,
    /// Probability that it is played.
    pub policy: f32,
    /// `[64]`: win probability after it, by bucket.
    pub chances: Vec<f32>,
    /// Its mean.
    pub value: f32,
    /// The probability that it is legal.
    pub legality: f32,
    /// Whether the network takes it for legal.
    pub believed: bool,
}

/// One imagined board.
#[derive(Clone, Debug)]
pub struct Glimpse {
    /// The move that leads there, as `12... Nf6`.
    pub heading: String,
    /// The board, unless the answer makes none.
    pub state: Result<Chess, Refusal>,
    /// Squares that hold something else on the true board.
    pub wrong: Vec<Square>,
    /// The verdict in two words.
    pub verdict: &'static str,
}

impl Glimpse {
    /// Whether the board is the true one, in all that a board is.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty() && self.verdict == RIGHT
    }
}

/// Why the network cannot be asked about a position.
#[derive(Debug)]
pub enum SightError {
    /// The game is over there.
    NoMoves {
        /// The position.
        fen: String,
    },
    /// The network answers no numbers.
    Evaluation(EvalError),
}

impl fmt::Display for SightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SightError::NoMoves { fen } => write!(f, "no move is left to look at in `{fen}`"),
            SightError::Evaluation(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for SightError {}

wraps! { SightError: Evaluation(EvalError) }

impl Sight {
    /// Asks every head about the last position of `game`.
    ///
    /// # Errors
    /// The game is over there, or the network answers no numbers.
    pub fn new(game: &Game, network: &CpuEvaluator) -> Result<Sight, SightError> {
        let (insight, moves) = ask(game, network)?;
        let is_legal = |action: &Action| moves.iter().any(|seen| seen.action == *action);
        let taken = taken(&insight, game);
        let mut invented: Vec<(String, f32)> = taken
            .iter()
            .filter(|(action, _)| !is_legal(action))
            .map(|(action, certainty)| (format!("{action:?}"), *certainty))
            .collect();
        invented.sort_by(|a, b| b.1.total_cmp(&a.1));
        let favourite = moves.first().map(|seen| seen.action);
        Ok(Sight {
            game: game.clone(),
            chances: insight.value,
            value: insight.evaluation.value,
            wdl: insight.evaluation.wdl,
            believed: taken.len(),
            invented,
            line: line(game, favourite, network)?,
            moves,
        })
    }

    /// Whether it is wrong about which moves are legal.
    #[must_use]
    pub fn errs(&self) -> bool {
        !self.invented.is_empty() || self.moves.iter().any(|seen| !seen.believed)
    }

    /// What is true and believed of the legal moves, in a few words.
    #[must_use]
    pub fn legality(&self) -> String {
        let percent = |share: f32| format!("{:.0} %", 100.0 * share);
        let told = |(name, share): (&str, f32)| format!("{name} ({})", percent(share));
        let invented: Vec<String> =
            self.invented.iter().map(|(name, share)| told((name.as_str(), *share))).collect();
        let overlooked: Vec<String> = self
            .moves
            .iter()
            .filter(|seen| !seen.believed)
            .map(|seen| told((seen.san.as_str(), seen.legality)))
            .collect();
        let mut text =
            format!("{} moves are legal, the network takes {}", self.moves.len(), self.believed);
        text += if self.errs() { " for legal." } else { " for legal: exactly these." };
        for (verb, moves) in [("invents", invented), ("overlooks", overlooked)] {
            if !moves.is_empty() {
                text += &format!(" It {verb} {}", moves[..moves.len().min(NAMED)].join(", "));
                text += &match moves.len().saturating_sub(NAMED) {
                    0 => ".".to_owned(),
                    more => format!(" and {more} more."),
                };
            }
        }
        text
    }
}

fn ask(game: &Game, network: &CpuEvaluator) -> Result<(Insight, Vec<Seen>), SightError> {
    let position = game.position();
    let legal = position.legal_moves();
    if legal.is_empty() {
        return Err(SightError::NoMoves { fen: game.fen() });
    }
    let insight = network.insight(&Query { position, legal: &legal })?;
    let taken = taken(&insight, game);
    let rows = insight.actions.chunks_exact(BUCKETS);
    let seen = legal.iter().zip(rows).enumerate().map(|(place, (m, chances))| {
        let action = Action::new(*m);
        Seen {
            action,
            san: game.san(action),
            policy: insight.evaluation.policy[place],
            chances: chances.to_vec(),
            value: insight.evaluation.action_values[place],
            legality: insight.legality[place],
            believed: taken.iter().any(|(other, _)| *other == action),
        }
    });
    let mut moves: Vec<Seen> = seen.collect();
    moves.sort_by(|a, b| b.policy.total_cmp(&a.policy));
    Ok((insight, moves))
}

/// The moves taken for legal.
fn taken(insight: &Insight, game: &Game) -> Vec<(Action, f32)> {
    let flip = game.position().turn().is_black();
    let action = |(code, certainty): &(MoveCode, f32)| (Action::from_code(*code, flip), *certainty);
    insight.believed.iter().map(action).collect()
}

/// Most wrong moves to name.
const NAMED: usize = 8;

/// Follows the policy's favourites from board to board, none of them looked up in the rules, and compares each
/// with the truth as long as there is one.
fn line(
    game: &Game,
    favourite: Option<Action>,
    network: &CpuEvaluator,
) -> Result<Vec<Glimpse>, SightError> {
    // Imagined boards do not count the moves of the game.
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
        let step = Step { state: &state, action: action.to_code(flip) };
        let mut answers = network.imagine(&[step])?;
        network.refine(&mut answers)?;
        let answer = answers.pop().ok_or(EvalError::NoMoves)?;
        let truth = truth.as_ref().map(Game::position);
        let (wrong, verdict) = compare(answer.as_ref().ok(), truth);
        let known = answer.as_ref().map(|imagined| imagined.state.clone()).map_err(|why| *why);
        line.push(Glimpse { heading, state: known, wrong, verdict });
        let Ok(imagined) = answer else { break };
        next = best(&imagined, flip);
        state = imagined.state;
    }
    Ok(line)
}

/// The move that the policy likes best in an imagined position.
fn best(imagined: &Imagined, flip: bool) -> Option<Action> {
    let policy = &imagined.evaluation.as_ref()?.policy;
    let best = (0..policy.len()).max_by(|a, b| policy[*a].total_cmp(&policy[*b]))?;
    Some(Action::from_code(*imagined.legal.get(best)?, flip))
}

fn compare(imagined: Option<&Imagined>, truth: Option<&Chess>) -> (Vec<Square>, &'static str) {
    let Some(imagined) = imagined else { return (Vec::new(), "no board") };
    let Some(truth) = truth else { return (Vec::new(), "beyond the rules") };
    let piece = |position: &Chess, square| position.board().piece_at(square);
    let wrong: Vec<Square> = Square::ALL
        .into_iter()
        .filter(|square| piece(&imagined.state, *square) != piece(truth, *square))
        .collect();
    let verdict = match (wrong.is_empty(), is_true(&imagined.state, truth)) {
        (_, true) => RIGHT,
        (true, false) => "rights differ",
        (false, false) => "wrong",
    };
    (wrong, verdict)
}

/// As `12... Nf6`; a move that is none in `before` in coordinates.
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

    fn sight(fen: &str) -> Result<Sight, SightError> {
        let network = CpuEvaluator::fastest(&load(None).unwrap());
        Sight::new(&Game::from_fen(fen, false).unwrap(), &network)
    }

    #[test]
    fn the_network_sees_every_legal_move() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3";
        let seen = sight(fen).unwrap();
        assert_eq!(seen.moves.len(), seen.game.legal_actions().len());
        assert!(seen.moves.is_sorted_by(|a, b| a.policy >= b.policy));
        assert!((seen.moves.iter().map(|seen| seen.policy).sum::<f32>() - 1.0).abs() < 1e-3);
        let right = seen.moves.iter().filter(|seen| seen.believed).count();
        assert_eq!(right + seen.invented.len(), seen.believed);
        assert!(right + 2 >= seen.moves.len(), "{}", seen.legality());
        assert!(!seen.line.is_empty() && seen.line[0].heading.starts_with("3... "));
    }

    #[test]
    fn errors_about_the_legal_moves_are_named() {
        let mut seen = sight("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").unwrap();
        for one in &mut seen.moves {
            one.believed = one.san != "e4";
            one.legality = 0.25;
        }
        (seen.invented, seen.believed) = (vec![("e2e5".to_owned(), 0.6)], seen.moves.len());
        let text = seen.legality();
        assert!(text.contains("It invents e2e5 (60 %).") && text.contains("overlooks e4 (25 %)."));
        assert!(!text.contains("exactly"), "{text}");
        seen.invented = (0..10).map(|n| (format!("move{n}"), 0.9)).collect();
        assert!(seen.legality().contains("move7 (90 %) and 2 more."), "{}", seen.legality());
    }

    #[test]
    fn a_finished_game_shows_nothing() {
        let why = sight("7k/6Q1/5K2/8/8/8/8/8 b - - 0 1").unwrap_err().to_string();
        assert!(why.contains("no move is left"), "{why}");
    }
}
