//! `mavka eval` and the UCI commands `eval` and `d`: the network's output as text.

use crate::options::settings::Settings;
use crate::play::network::Network;
use crate::play::report::{centipawns, permille};
use crate::world::rules::action_scores;
use chess::action::Action;
use chess::ending;
use chess::game::Game;
use mcts::Wdl;
use nn::Query;
use shakmaty::{Position, Square};
use std::fmt::Write as _;

/// Rows of the move table.
const ROWS: usize = 12;

/// The board as text, with FEN and key.
#[must_use]
pub fn board(game: &Game) -> String {
    let mut out = String::new();
    for rank in (0..8).rev() {
        let _ = write!(out, "{} ", rank + 1);
        for file in 0..8 {
            let piece = game.position().board().piece_at(Square::new(rank * 8 + file));
            let _ = write!(out, " {}", piece.map_or('.', shakmaty::Piece::char));
        }
        out.push('\n');
    }
    let _ = write!(
        out,
        "   a b c d e f g h\n\nFen: {}\nKey: {:016X}",
        game.fen(),
        ending::key(game.position())
    );
    out
}

/// Value, WDL and the policy's first moves. An error of the network becomes part of the text.
#[must_use]
pub fn table(game: &Game, network: &Network, settings: &Settings) -> String {
    let position = game.position();
    let legal = position.legal_moves();
    if legal.is_empty() {
        return if position.is_check() { "checkmate".to_owned() } else { "stalemate".to_owned() };
    }
    let answers = network.evaluator.evaluate(&[Query { position, legal: &legal }]);
    let Some(answer) = answers.as_ref().ok().and_then(|answers| answers.first()) else {
        return answers
            .err()
            .map_or_else(|| "the network answered nothing".to_owned(), |error| error.to_string());
    };
    if let Err(error) = crate::world::rules::check(answer, legal.len()) {
        return error.to_string();
    }
    let chances = permille(Wdl::from_score_and_draw(answer.value, answer.wdl[1]));
    let uci::Score::Centipawns(cp) = centipawns(answer.value) else { return String::new() };
    let mut out = format!(
        "network         {}\nexpected score  {:.1} % ({:+} cp)\noutcome         win {:.1} %, draw {:.1} %, loss {:.1} %\n\n",
        network.name,
        100.0 * answer.value,
        cp,
        f64::from(chances[0]) / 10.0,
        f64::from(chances[1]) / 10.0,
        f64::from(chances[2]) / 10.0,
    );
    let values = action_scores(answer, settings.scoring);
    let mut rows: Vec<usize> = (0..legal.len()).collect();
    rows.sort_by(|a, b| answer.policy[*b].total_cmp(&answer.policy[*a]));
    let _ = writeln!(out, "{:<8} {:<7} {:>7} {:>13}", "move", "uci", "policy", "action value");
    for row in rows.iter().take(ROWS) {
        let m = legal[*row];
        let uci = m.to_uci(game.mode()).to_string();
        let san = game.san(Action::new(m));
        let _ = writeln!(
            out,
            "{san:<8} {uci:<7} {:>5.1} % {:>11.1} %",
            100.0 * answer.policy[*row],
            100.0 * values[*row]
        );
    }
    if legal.len() > ROWS {
        let _ = writeln!(out, "… and {} more", legal.len() - ROWS);
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::setup::Setup;

    /// The percentages of the line that begins with `name`.
    fn percents(text: &str, name: &str) -> Vec<f64> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }

    #[test]
    fn win_and_half_the_draws_are_the_expected_score() {
        let network = Setup::default().networks.open_anywhere(None).unwrap();
        // In the first position the network's two heads are 22 points apart.
        for fen in [
            "8/5k2/8/8/8/2K5/4P3/8 w - - 0 1",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "4k3/8/8/8/8/8/8/4K2Q b - - 0 1",
        ] {
            let game = Game::from_fen(fen, false).unwrap();
            let text = table(&game, &network, &Settings::default());
            let (score, outcome) = (percents(&text, "expected score"), percents(&text, "outcome"));
            let [win, draw, loss] = outcome[..] else { panic!("{text}") };
            assert!((win + draw / 2.0 - score[0]).abs() <= 0.15, "{text}");
            assert!((win + draw + loss - 100.0).abs() <= 0.15, "{text}");
        }
    }
}
