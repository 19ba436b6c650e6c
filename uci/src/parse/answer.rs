//! Parses one line of an engine: lenient, because every engine adds its own words. Unknown words are skipped; a
//! line outside the protocol is returned whole.

use super::words::{Words, clean};
use super::{fence, option};
use crate::answer::{Answer, BestMove, Bound, CurrentMove, Info, Score};

/// Parses one line, with or without its end. None for a blank line.
///
/// ```
/// use uci::{Answer, BestMove, parse_answer};
///
/// let best = BestMove { best: Some("e2e4".to_owned()), ponder: None };
/// assert_eq!(parse_answer("bestmove e2e4\r\n"), Some(Answer::BestMove(best)));
/// assert_eq!(parse_answer("Hello"), Some(Answer::Other("Hello".to_owned())));
/// ```
pub fn parse_answer(line: &str) -> Option<Answer> {
    let text = clean(line);
    let text = text.trim();
    let mut words = Words::new(text);
    let first = words.next()?;
    let read = match first {
        "info" => Some(Answer::Info(info(words))),
        "option" => option::read(words).map(Answer::Option),
        "uciok" | "readyok" => fence::answer(first),
        // With single blanks, as the crate prints it.
        "id" => fence::answer(&Words::new(text).collect::<Vec<_>>().join(" ")),
        "bestmove" => fence::answer(text).or_else(|| Some(Answer::BestMove(best_move(words)))),
        _ => None,
    };
    Some(read.unwrap_or_else(|| Answer::Other(text.to_owned())))
}

/// Any word may stand for a move: the caller decides whether it is one.
fn best_move(mut words: Words) -> BestMove {
    let a_move = |word: &str| (word != "(none)").then(|| word.to_owned());
    let best = words.next().and_then(a_move);
    let ponder = match (words.next(), words.next()) {
        (Some("ponder"), Some(word)) => a_move(word),
        _ => None,
    };
    BestMove { best, ponder }
}

fn info(mut words: Words) -> Info {
    fn number<T: std::str::FromStr>(words: &mut Words) -> Option<T> {
        words.next()?.parse().ok()
    }

    let mut info = Info::default();
    let (mut action, mut rank) = (None, None);
    while let Some(word) = words.next() {
        match word {
            "depth" => info.depth = number(&mut words),
            "seldepth" => info.seldepth = number(&mut words),
            "multipv" => info.multipv = number(&mut words),
            "currmove" => action = words.next().map(str::to_owned),
            "currmovenumber" => rank = number(&mut words),
            "score" => info.score = score(&mut words),
            "lowerbound" => info.bound = Some(Bound::Lower),
            "upperbound" => info.bound = Some(Bound::Upper),
            "wdl" => {
                let chances = [0; 3].map(|_| number(&mut words));
                info.wdl = match chances {
                    [Some(win), Some(draw), Some(loss)] => Some([win, draw, loss]),
                    _ => None,
                };
            }
            "nodes" => info.nodes = number(&mut words),
            "nps" => info.nps = number(&mut words),
            "hashfull" => info.hashfull = number(&mut words),
            "tbhits" => info.tbhits = number(&mut words),
            "time" => info.time_ms = number(&mut words),
            "pv" => info.pv = words.by_ref().map(str::to_owned).collect(),
            "string" => {
                info.string = Some(words.rest().to_owned());
                break;
            }
            _ => {}
        }
    }
    if let (Some(action), Some(number)) = (action, rank) {
        info.current = Some(CurrentMove { action, number });
    }
    info
}

fn score(words: &mut Words) -> Option<Score> {
    match (words.next()?, words.next()?.parse().ok()?) {
        ("cp", value) => Some(Score::Centipawns(value)),
        ("mate", value) => Some(Score::Mate(value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::IdLine;

    fn read_info(line: &str) -> Info {
        match parse_answer(line) {
            Some(Answer::Info(info)) => info,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_full_info_is_read_and_unknown_words_are_skipped() {
        let line = "info depth 300 seldepth 20 multipv 2 currmove e2e4 currmovenumber 1 score cp -31 upperbound \
                    wdl 1 2 997 nodes 4242 nps 10 hashfull 3 ebf 1.7 tbhits 4 time 7 pv e2e4 e7e5";
        let expected = Info {
            depth: Some(300),
            seldepth: Some(20),
            multipv: Some(2),
            current: Some(CurrentMove { action: "e2e4".to_owned(), number: 1 }),
            score: Some(Score::Centipawns(-31)),
            bound: Some(Bound::Upper),
            wdl: Some([1, 2, 997]),
            nodes: Some(4242),
            nps: Some(10),
            hashfull: Some(3),
            tbhits: Some(4),
            time_ms: Some(7),
            pv: vec!["e2e4".to_owned(), "e7e5".to_owned()],
            string: None,
        };
        assert_eq!(read_info(line), expected);
    }

    #[test]
    fn a_bound_is_read_before_and_behind_the_chances() {
        // Stockfish 15.1 writes the first order, Stockfish 19 the second.
        for score in ["cp 2 wdl 10 982 8 upperbound", "cp 2 upperbound wdl 10 982 8"] {
            let info =
                read_info(&format!("info depth 6 multipv 1 score {score} nodes 300 pv d2d4"));
            assert_eq!(
                (info.score, info.bound, info.wdl, info.nodes, info.pv),
                (
                    Some(Score::Centipawns(2)),
                    Some(Bound::Upper),
                    Some([10, 982, 8]),
                    Some(300),
                    vec!["d2d4".to_owned()]
                ),
                "{score}"
            );
        }
    }

    #[test]
    fn damaged_numbers_are_dropped_and_the_rest_is_kept() {
        let info = read_info("info depth x nodes 5 score mate time 9 wdl 1 2 pv");
        assert_eq!(info, Info { nodes: Some(5), time_ms: None, ..Info::default() });
    }

    #[test]
    fn a_string_ends_the_line() {
        assert_eq!(read_info("info string pv  e2e4"), Info::text("pv  e2e4"));
    }

    #[test]
    fn odd_best_moves_keep_their_word() {
        let best = |line: &str| match parse_answer(line) {
            Some(Answer::BestMove(best)) => (best.best, best.ponder),
            other => panic!("{line}: {other:?}"),
        };
        let word = |text: &str| Some(text.to_owned());
        assert_eq!(best("bestmove (none)"), (None, None));
        assert_eq!(best("bestmove"), (None, None));
        assert_eq!(best("bestmove O-O ponder (none)"), (word("O-O"), None));
        assert_eq!(best("bestmove e7e8Q  ponder a7a6"), (word("e7e8Q"), word("a7a6")));
        assert_eq!(best("bestmove 0000"), (word("0000"), None));
    }

    #[test]
    fn lines_of_no_kind_come_back_whole() {
        for line in ["Stockfish 17 by …", "id", "option name Hash", "copyprotection ok"] {
            assert_eq!(parse_answer(line), Some(Answer::Other(line.to_owned())));
        }
        assert_eq!(parse_answer(" \r\n"), None);
        assert_eq!(
            parse_answer("id  name  A  b"),
            Some(Answer::Id(IdLine::Name("A b".to_owned())))
        );
    }
}
