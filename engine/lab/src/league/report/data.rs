//! Games for the page's script.

use crate::league::book::{Book, Entry};
use crate::league::config::League;
use serde::Serialize;
use shakmaty::san::SanPlus;
use shakmaty::{Color, Position};
use uci::Score;

#[derive(Serialize)]
pub(super) struct ReportData<'a> {
    agents: Vec<&'a str>,
    games: Vec<Game>,
}

#[derive(Serialize)]
struct Game {
    white: usize,
    black: usize,
    /// Pair and game, from 1.
    round: String,
    result: &'static str,
    ending: String,
    /// Initial position.
    fen: String,
    /// Moves separated by spaces: UCI for the board, SAN for readers.
    uci: String,
    san: String,
    /// Score after each move from White's view; `-` for none.
    scores: String,
}

/// Agents and games.
pub(super) fn of<'a>(league: &'a League, book: &Book) -> ReportData<'a> {
    ReportData {
        agents: league.agents.iter().map(|agent| agent.name.as_str()).collect(),
        games: book.games().iter().map(game).collect(),
    }
}

fn game(entry: &Entry) -> Game {
    let mut position = entry.opening.position.clone();
    let mode = position.castles().mode();
    let (mut uci, mut san, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for ply in &entry.played.plies {
        uci.push(ply.action.to_uci(mode).to_string());
        san.push(SanPlus::from_move_and_play_unchecked(&mut position, ply.action).to_string());
        let sign = ply.color.fold_wb(1, -1);
        scores.push(match ply.score {
            None => "-".to_owned(),
            Some(Score::Centipawns(score)) => format!("{:+.2}", f64::from(sign * score) / 100.0),
            Some(Score::Mate(moves)) => format!("#{}", sign * moves),
        });
    }
    Game {
        white: entry.agents.white,
        black: entry.agents.black,
        round: format!("{}.{}", entry.pair + 1, entry.game + 1),
        result: match entry.played.winner {
            Some(Color::White) => "1-0",
            Some(Color::Black) => "0-1",
            None => "½-½",
        },
        ending: entry.played.ending.to_string(),
        fen: entry.opening.fen(),
        uci: uci.join(" "),
        san: san.join(" "),
        scores: scores.join(" "),
    }
}
