//! PGN with comments in the format of other match runners: `{+0.35/12 0.104s}` is the mover's score, depth and time.

use super::rules::{PlayedGame, Ply};
use crate::openings::Opening;
use crate::uci_client::limit::Limit;
use engine::markup::pgn::tag_pair;
use engine::pgn::write::wrap;
use shakmaty::san::SanPlus;
use shakmaty::{ByColor, Color, Position};
use std::fmt::{self, Write};
use uci::Score;

/// Metadata of a game.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    pub event: &'a str,
    /// `2026.01.31`.
    pub date: &'a str,
    /// Pair, and game in the pair.
    pub round: (usize, usize),
    pub names: ByColor<&'a str>,
    pub limits: ByColor<Limit>,
}

/// Writes one game, followed by a blank line.
///
/// # Errors
/// Never, as writing to a string does not fail.
pub fn write(
    tags: &Tags<'_>,
    opening: &Opening,
    played: &PlayedGame,
) -> Result<String, fmt::Error> {
    let result = match played.winner {
        Some(Color::White) => "1-0",
        Some(Color::Black) => "0-1",
        None => "1/2-1/2",
    };
    let mut out = String::new();
    let mut tag = |name: &str, value: &str| writeln!(out, "{}", tag_pair(name, value));
    tag("Event", tags.event)?;
    tag("Site", "?")?;
    tag("Date", tags.date)?;
    tag("Round", &format!("{}.{}", tags.round.0, tags.round.1))?;
    tag("White", tags.names.white)?;
    tag("Black", tags.names.black)?;
    tag("Result", result)?;
    if opening.chess960() {
        tag("Variant", "Chess960")?;
    }
    if !opening.is_initial() {
        tag("SetUp", "1")?;
        tag("FEN", &opening.fen())?;
    }
    tag("PlyCount", &played.plies.len().to_string())?;
    if tags.limits.white == tags.limits.black {
        tag("TimeControl", &tags.limits.white.pgn())?;
    } else {
        tag("TimeControl", "?")?;
    }
    for color in Color::ALL {
        let name = color.fold_wb("WhiteLimit", "BlackLimit");
        tag(name, &tags.limits[color].to_string())?;
    }
    tag("Termination", played.ending.termination())?;
    out.push('\n');

    let mut words = moves(opening, &played.plies)?;
    // PGN has no escape for a brace in a comment.
    let ending = played.ending.to_string().replace(['{', '}'], "");
    let ending = ending.replace(char::is_control, " ");
    words.extend(format!("{{{ending}}} {result}").split(' ').map(str::to_owned));
    wrap(&mut out, &words);
    out.push('\n');
    Ok(out)
}

fn moves(opening: &Opening, plies: &[Ply]) -> Result<Vec<String>, fmt::Error> {
    let mut words = Vec::new();
    let mut position = opening.position.clone();
    for (index, ply) in plies.iter().enumerate() {
        let number = position.fullmoves();
        match position.turn() {
            Color::White => words.push(format!("{number}.")),
            Color::Black if index == 0 => words.push(format!("{number}...")),
            Color::Black => {}
        }
        let san = SanPlus::from_move_and_play_unchecked(&mut position, ply.action);
        words.push(san.to_string());
        let mut comment = "{".to_owned();
        if let Some(score) = ply.score {
            write!(comment, "{}/{} ", score_text(score), ply.depth.unwrap_or(0))?;
        }
        write!(comment, "{:.3}s}}", ply.elapsed.as_secs_f64())?;
        words.extend(comment.split(' ').map(str::to_owned));
    }
    Ok(words)
}

/// Score format of other match runners: pawns with a sign, `+M3`, `-M2`.
fn score_text(score: Score) -> String {
    match score {
        Score::Centipawns(score) => format!("{:+.2}", f64::from(score) / 100.0),
        Score::Mate(moves) if moves > 0 => format!("+M{moves}"),
        Score::Mate(moves) => format!("-M{}", moves.unsigned_abs()),
    }
}

/// Today's date in PGN format, `2026.01.31`, UTC.
#[must_use]
pub fn today() -> String {
    chrono::Utc::now().format("%Y.%m.%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::super::rules::Ending;
    use super::*;
    use crate::openings;
    use shakmaty::fen::Fen;
    use shakmaty::uci::UciMove;
    use shakmaty::{Chess, EnPassantMode};
    use std::time::Duration;

    fn played(opening: &Opening, moves: &str) -> (PlayedGame, Chess) {
        let mut position = opening.position.clone();
        let mut plies = Vec::new();
        for (index, word) in moves.split(' ').enumerate() {
            let action = word.parse::<UciMove>().unwrap().to_move(&position).unwrap();
            plies.push(Ply {
                color: position.turn(),
                action,
                score: (index % 3 != 2).then_some(Score::Centipawns(31)),
                depth: Some(7),
                nodes: None,
                elapsed: Duration::from_millis(104),
            });
            position.play_unchecked(action);
        }
        let ending = Ending::IllegalMove(Color::Black, "{ha}".to_owned());
        let warnings = ByColor::default();
        (PlayedGame { plies, winner: Some(Color::White), ending, warnings }, position)
    }

    fn pgn(opening: &Opening, played: &PlayedGame) -> String {
        let limit = Limit::Nodes(400);
        let tags = Tags {
            event: "a \"test\"",
            date: "2026.01.31",
            round: (3, 1),
            names: ByColor { white: "new", black: "old" },
            limits: ByColor { white: limit, black: "10+0.1".parse().unwrap() },
        };
        write(&tags, opening, played).unwrap()
    }

    #[test]
    fn written_games_read_back_to_the_same_position() {
        let cases = [
            ("", "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5c6 d7c6 e1g1"),
            ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 4 17", "e8c8 e1g1"),
            ("nbbrkrqn/ppppp1pp/5p2/8/8/8/PPPPPPPP/RK4R1 w GAfd - 0 2", "b1g1 a7a5"),
        ];
        for (fen, moves) in cases {
            let opening = match fen {
                "" => Opening::default(),
                fen => openings::read(fen, false).unwrap().remove(0),
            };
            let (played, last) = played(&opening, moves);
            let text = pgn(&opening, &played);
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
            assert_eq!(
                Fen::from_position(
                    &openings::read_pgn(&text, false).unwrap()[0].position,
                    EnPassantMode::Legal
                ),
                Fen::from_position(&last, EnPassantMode::Legal),
                "{text}"
            );
        }
    }

    #[test]
    fn counters_of_an_opening_stand_in_its_fen() {
        let epd = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - hmvc 2; fmvn 4;";
        let opening = openings::read(epd, false).unwrap().remove(0);
        let (played, _) = played(&opening, "e2e4 e7e5");
        let text = pgn(&opening, &played);
        assert!(text.contains("KQkq - 2 4\"]") && text.contains("\n4. e4 {"), "{text}");
    }

    #[test]
    fn no_value_ends_its_tag() {
        for (value, written) in [
            ("a\n[b]", "a [b]"),
            ("a\r\nb\t", "a  b "),
            ("a\\", "a"),
            ("a\\\\", "a"),
            ("\\a", "\\\\a"),
            ("\"a\"", "\\\"a\\\""),
        ] {
            assert_eq!(tag_pair("White", value), format!("[White \"{written}\"]"));
        }
    }

    #[test]
    fn scores_are_shown_as_in_other_runners() {
        assert_eq!(score_text(Score::Centipawns(35)), "+0.35");
        assert_eq!(score_text(Score::Centipawns(-1234)), "-12.34");
        assert_eq!(score_text(Score::Mate(3)), "+M3");
        assert_eq!(score_text(Score::Mate(-2)), "-M2");
    }

    #[test]
    fn tags_and_comments_have_their_form() {
        let opening = openings::read("4k3/8/8/8/8/8/8/R3K3 b - - 0 9", false).unwrap().remove(0);
        let (played, _) = played(&opening, "e8e7 a1a7");
        let text = pgn(&opening, &played);
        for part in [
            "[Event \"a \\\"test\\\"\"]",
            "[Round \"3.1\"]",
            "[Result \"1-0\"]",
            "[FEN \"4k3/8/8/8/8/8/8/R3K3 b - - 0 9\"]",
            "[TimeControl \"?\"]",
            "[WhiteLimit \"400 nodes\"]",
            "[BlackLimit \"10+0.1\"]",
            "[Termination \"rules infraction\"]",
            "9... Ke7 {+0.31/7 0.104s} 10. Ra7+ {+0.31/7 0.104s}",
            "{black played `ha`, no legal move} 1-0",
        ] {
            let flat = text.replace('\n', " ");
            assert!(flat.contains(part), "{part} not in {text}");
        }
        assert!(text.ends_with("1-0\n\n"));
    }
}
