//! Demonstration of the transition head: predicted and true board after each move, differences marked.

use crate::process::errors::wraps;
use chess::action::Action;
use chess::game::{Game, GameError};
use nn::EvalError;
use nn::encode::MoveCode;
use nn::evaluator::{Imagined, Step, Transition, grounded, is_true};
use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Piece, Position, Square};
use std::fmt::{self, Write as _};

/// Error of a demonstration.
#[derive(Debug)]
pub enum ImagineError {
    /// A move is not legal.
    Game(GameError),
    /// The network failed.
    Evaluation(EvalError),
    /// The network returned nothing.
    NoAnswer,
}

impl fmt::Display for ImagineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImagineError::Game(why) => why.fmt(f),
            ImagineError::Evaluation(why) => why.fmt(f),
            ImagineError::NoAnswer => f.write_str("the network answered nothing"),
        }
    }
}

impl std::error::Error for ImagineError {}

wraps! { ImagineError: Game(GameError), Evaluation(EvalError) }

/// Prints every board of the line. After an invalid prediction, the next step starts from the true board.
///
/// # Errors
/// A move is not legal, or the network failed.
pub fn line(
    game: &Game,
    moves: &[Action],
    network: &dyn Transition,
    say: &mut dyn FnMut(String),
) -> Result<(), ImagineError> {
    let mut game = game.clone();
    // Reject an illegal line before any output.
    let mut line = game.clone();
    moves.iter().try_for_each(|action| line.play(*action))?;
    if moves.is_empty() {
        say("no moves: name some, as `e4 e5`".to_owned());
    }
    let mut state = grounded(game.position());
    for &action in moves {
        let before = game.position().clone();
        game.play(action)?;
        say(heading(&before, action));
        let step = Step { state: &state, action: MoveCode::of(action, before.turn().is_black()) };
        let answer = network.imagine(&[step])?.pop();
        match answer.ok_or(ImagineError::NoAnswer)? {
            Ok(imagined) => {
                say(boards(&imagined.state, game.position()));
                say(facts(&imagined, &game));
                state = imagined.state;
            }
            Err(refusal) => {
                say(format!(
                    "refused: {refusal}\nimagination begins anew from the true position\n"
                ));
                state = grounded(game.position());
            }
        }
    }
    Ok(())
}

/// Format `12... Nf6`.
fn heading(before: &Chess, action: Action) -> String {
    let number = before.fullmoves();
    let dots = if before.turn().is_white() { "." } else { "..." };
    let san = action.to_san(before);
    format!("{number}{dots} {san}")
}

/// Two boards side by side, differing squares in brackets.
fn boards(imagined: &Chess, truth: &Chess) -> String {
    let mut out = format!("   {:<26}   {}\n", "imagined", "true");
    for rank in (0..8).rev() {
        let mut rows = [String::new(), String::new()];
        for file in 0..8 {
            let square = Square::new(rank * 8 + file);
            let pieces = [imagined, truth].map(|position| position.board().piece_at(square));
            for (row, piece) in rows.iter_mut().zip(pieces) {
                let letter = piece.map_or('.', Piece::char);
                let _ = match pieces[0] == pieces[1] {
                    true => write!(row, " {letter} "),
                    false => write!(row, "[{letter}]"),
                };
            }
        }
        let _ = writeln!(out, "{}  {}     {}", rank + 1, rows[0], rows[1]);
    }
    let files = "a  b  c  d  e  f  g  h";
    let _ = write!(out, "    {files}       {files}");
    out
}

/// Predicted facts beside the board, with the true ones where they differ.
fn facts(imagined: &Imagined, game: &Game) -> String {
    let (state, truth) = (&imagined.state, game.position());
    let mut out = String::new();
    let verdict = if is_true(state, truth) { "exactly right" } else { "wrong" };
    let _ = writeln!(out, "state        {verdict}");
    let fields = |position: &Chess, passed| {
        let fen = Fen::from_position(position, passed).to_string();
        fen.split(' ').skip(1).take(4).collect::<Vec<_>>().join(" ")
    };
    let (predicted, actual) =
        (fields(state, EnPassantMode::Always), fields(truth, EnPassantMode::Legal));
    let _ = write!(out, "turn, castling, en passant, clock   {predicted}");
    let _ = writeln!(
        out,
        "{}",
        if predicted == actual { String::new() } else { format!("   truly {actual}") }
    );
    // Move codes are in the frame of the side that has moved.
    let flip = state.turn().is_white();
    let legal: Vec<Action> = imagined.legal.iter().map(|code| code.to_action(flip)).collect();
    let true_moves = game.legal_actions();
    let names = |moves: &[Action], others: &[Action], position: &Chess| {
        let differing = moves.iter().filter(|action| !others.contains(action));
        differing
            .map(|action| match action.to_uci(position, game.mode()).as_str() {
                "0000" => format!("{action:?}"),
                text => text.to_owned(),
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let _ = write!(out, "legal moves  {} imagined, {} true", legal.len(), true_moves.len());
    for (label, differing) in [
        ("invented", names(&legal, &true_moves, state)),
        ("missing", names(&true_moves, &legal, truth)),
    ] {
        if !differing.is_empty() {
            let _ = write!(out, "; {label} {differing}");
        }
    }
    let [on, lost, drawn] = imagined.end.map(|share| 100.0 * share);
    let _ =
        writeln!(out, "\nthe game     goes on {on:.1} %, is lost {lost:.1} %, drawn {drawn:.1} %");
    if let Some(evaluation) = &imagined.evaluation {
        let _ = write!(out, "value        {:.1} % for the side to move", 100.0 * evaluation.value);
        let best = (0..legal.len())
            .max_by(|a, b| evaluation.policy[*a].total_cmp(&evaluation.policy[*b]))
            .and_then(|best| legal.get(best));
        if let Some(best) = best {
            let _ = write!(out, "; likes {}", best.to_uci(state, game.mode()));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::evaluator::fake::{Perfect, Uniform};
    use nn::{EvalError, Refusal};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn shown(moves: &str, network: &dyn Transition) -> String {
        let mut out = String::new();
        let mut game = Game::default();
        for text in moves.split_whitespace() {
            game.play_uci(text).unwrap();
        }
        line(&Game::default(), game.actions(), network, &mut |text| out += &format!("{text}\n"))
            .unwrap();
        out
    }

    #[test]
    fn truth_has_no_marks() {
        let text = shown("e2e4 d7d5 e4d5 d8d5", &Perfect(Uniform));
        assert_eq!(text.matches("exactly right").count(), 4, "{text}");
        for mark in ["[", "truly", "invented", "missing", "refused"] {
            assert!(!text.contains(mark), "{mark}: {text}");
        }
        assert!(text.contains("20 imagined, 20 true"), "{text}");
    }

    /// Swaps two pieces, drops a move and two rights, and refuses every second query.
    struct Faulty(AtomicUsize);

    impl Transition for Faulty {
        fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
            if self.0.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                return Ok(batch.iter().map(|_| Err(Refusal::TooManyMoves(300))).collect());
            }
            let mut answers = Perfect(Uniform).imagine(batch)?;
            for imagined in answers.iter_mut().flatten() {
                let differing = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/NRBQKBNR b Kk - 0 1";
                let differing: Fen = differing.parse().unwrap();
                imagined.state = differing.into_position(shakmaty::CastlingMode::Standard).unwrap();
                imagined.legal.remove(0);
            }
            Ok(answers)
        }
    }

    #[test]
    fn differences_are_marked() {
        let text = shown("e2e4 e7e5", &Faulty(AtomicUsize::new(0)));
        assert!(text.contains("[N][R]") && text.contains("[R][N]"), "{text}");
        assert!(text.contains("b Kk - 0   truly b KQkq - 0"), "{text}");
        assert!(text.contains("19 imagined, 20 true; missing"), "{text}");
        assert!(text.contains("refused: 300 legal moves"), "{text}");
    }
}
