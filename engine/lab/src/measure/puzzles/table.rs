//! Puzzles of a CSV with rated lines: `fen,moves,rating,id`, or the puzzles of lichess.org. Fields are separated by commas,
//! semicolons or tabs, and may be quoted (RFC 4180).

use super::error::PuzzleError;
use super::{Puzzle, Solution};
use chess::action::Action;
use chess::game::Game;
use csv_core::{ReadRecordResult, ReaderBuilder};
use shakmaty::uci::UciMove;

/// Separators of fields, the usual one first.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// Columns that only the files of lichess.org have. `FEN` and `Moves` are theirs, too, in this spelling.
const LICHESS: [&str; 7] =
    ["puzzleid", "ratingdeviation", "popularity", "nbplays", "themes", "gameurl", "openingtags"];
/// Order of the columns in files of lichess.org that lack the first line, as their older ones do.
const WITHOUT_HEAD: &str = "PuzzleId,FEN,Moves,Rating";

/// Layout of a CSV.
#[derive(Clone, Debug)]
pub struct CsvLayout {
    separator: u8,
    /// The first line names the columns.
    has_head: bool,
    fen: usize,
    moves: usize,
    rating: Option<usize>,
    id: Option<usize>,
    /// The first move is the opponent's and leads to the puzzle, as in the files of lichess.org.
    pub opponent_first: bool,
}

impl CsvLayout {
    /// The layout by the first line. None if it is no CSV.
    ///
    /// # Errors
    /// A CSV without a column that is needed.
    pub fn of(first: &str) -> Option<Result<CsvLayout, PuzzleError>> {
        let split = SEPARATORS.into_iter().map(|separator| (separator, fields(first, separator)));
        let candidates: Vec<(u8, Vec<String>)> =
            split.filter(|(_, fields)| fields.len() > 1).collect();
        let named =
            candidates.iter().find_map(|(separator, names)| CsvLayout::named(*separator, names));
        named.or_else(|| {
            candidates.iter().find_map(|(separator, row)| CsvLayout::unnamed(*separator, row))
        })
    }

    fn named(separator: u8, names: &[String]) -> Option<Result<CsvLayout, PuzzleError>> {
        let find = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let is_lichess = LICHESS.iter().any(|name| find(name).is_some());
        let (fen, moves) = (find("fen"), find("moves"));
        if fen.is_none() && moves.is_none() && !is_lichess {
            return None;
        }
        let absent = |column| PuzzleError::NoColumn { column, head: names.join(",") };
        let (fen, moves) = match (fen, moves) {
            (Some(fen), Some(moves)) => (fen, moves),
            (None, _) => return Some(Err(absent("fen"))),
            (_, None) => return Some(Err(absent("moves"))),
        };
        Some(Ok(CsvLayout {
            separator,
            has_head: true,
            fen,
            moves,
            rating: find("rating"),
            id: find("puzzleid").or_else(|| find("id")),
            opponent_first: is_lichess || names[fen] == "FEN" && names[moves] == "Moves",
        }))
    }

    fn unnamed(separator: u8, row: &[String]) -> Option<Result<CsvLayout, PuzzleError>> {
        let is_fen =
            |at: usize| row.get(at).is_some_and(|field| Game::from_fen(field, false).is_ok());
        let is_move = |field: &String| field.split(' ').all(|word| word.parse::<UciMove>().is_ok());
        if is_fen(1) && row.get(2).is_some_and(is_move) {
            let names: Vec<String> = WITHOUT_HEAD.split(',').map(str::to_owned).collect();
            let table = CsvLayout::named(separator, &names)?;
            return Some(table.map(|table| CsvLayout { has_head: false, ..table }));
        }
        (is_fen(0) && is_move(&row[1])).then_some(Err(PuzzleError::NoHeader))
    }

    /// The puzzle of each row, with its line number from 1.
    pub fn puzzles(&self, text: &str) -> Vec<(usize, Result<Puzzle, PuzzleError>)> {
        let mut rows = Vec::new();
        let mut is_head = self.has_head;
        for_each_row(text, self.separator, |line, row| {
            if !std::mem::take(&mut is_head) {
                rows.push((line, self.puzzle(row)));
            }
        });
        rows
    }

    fn puzzle(&self, row: &[String]) -> Result<Puzzle, PuzzleError> {
        let needed = 1 + self.fen.max(self.moves);
        let field = |index: usize| {
            let found = row.get(index).map(String::as_str);
            found.ok_or(PuzzleError::Fields { needed, found: row.len() })
        };
        let mut game = Game::from_fen(field(self.fen)?, false)?;
        let mut words = field(self.moves)?.split_ascii_whitespace();
        if self.opponent_first {
            let word = words.next().ok_or(PuzzleError::NoMoves)?;
            game.play_uci(word)?;
        }
        let mut board = game.clone();
        let line: Result<Vec<Action>, _> = words.map(|word| board.play_uci(word)).collect();
        let line = line?;
        if line.is_empty() {
            return Err(PuzzleError::NoMoves);
        }
        let optional = |index: Option<usize>| {
            index.and_then(|index| row.get(index)).map(String::as_str).unwrap_or_default()
        };
        Ok(Puzzle {
            id: optional(self.id).to_owned(),
            game,
            task: Solution::Line(line),
            rating: read_rating(optional(self.rating))?,
        })
    }
}

/// None if the field is empty.
fn read_rating(text: &str) -> Result<Option<u32>, PuzzleError> {
    let rating = text.parse::<f64>().ok().filter(|rating| (0.0..10_000.0).contains(rating));
    match rating {
        _ if text.is_empty() => Ok(None),
        Some(rating) => Ok(Some(rating.round() as u32)),
        None => Err(PuzzleError::Rating(text.to_owned())),
    }
}

/// The fields of one line.
fn fields(line: &str, separator: u8) -> Vec<String> {
    let mut first = Vec::new();
    for_each_row(line, separator, |_, row| first = row.to_vec());
    first
}

/// Hands the fields of each row to `each`, with the number of its line from 1. Empty lines and comments (`#`) are no rows.
fn for_each_row(text: &str, separator: u8, mut each: impl FnMut(usize, &[String])) {
    let mut reader = ReaderBuilder::new().delimiter(separator).comment(Some(b'#')).build();
    let (mut bytes, mut ends) = (vec![0; 1 << 10], vec![0; 1 << 5]);
    let (mut at, mut begin, mut length, mut count) = (0, 0, 0, 0);
    let mut line = 1;
    loop {
        let (result, read, written, ended) =
            reader.read_record(&text.as_bytes()[at..], &mut bytes[length..], &mut ends[count..]);
        at += read;
        length += written;
        count += ended;
        match result {
            // Then the empty rest is the end.
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull => bytes.resize(2 * bytes.len(), 0),
            ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
            ReadRecordResult::Record => {
                let starts = [0].into_iter().chain(ends[..count].iter().copied());
                let spans = starts.zip(&ends[..count]);
                let row: Vec<String> = spans
                    .map(|(from, to)| String::from_utf8_lossy(&bytes[from..*to]).trim().to_owned())
                    .collect();
                if row.iter().any(|field| !field.is_empty()) {
                    each(line + idle_lines(&text[begin..]), &row);
                }
                line += text[begin..at].matches('\n').count();
                (begin, length, count) = (at, 0, 0);
            }
            ReadRecordResult::End => return,
        }
    }
}

/// Empty lines and comments at the beginning, which the reader takes for a part of the row behind them.
fn idle_lines(text: &str) -> usize {
    text.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line, identifier, rating and solution of each row.
    fn read(text: &str) -> Vec<String> {
        let table = CsvLayout::of(text.lines().next().unwrap()).expect("a CSV").unwrap();
        let shown = |(line, puzzle): (usize, Result<Puzzle, PuzzleError>)| match puzzle {
            Ok(Puzzle { id, rating, task: Solution::Line(moves), .. }) => {
                format!("{line}: {id} {rating:?} {moves:?}")
            }
            other => format!("{line}: {other:?}"),
        };
        table.puzzles(text).into_iter().map(shown).collect()
    }

    const FEN: &str = "q3k1nr/1pp1nQpp/3p4/1P2p3/4P3/B1PP1b2/B5PP/5K2 b k - 0 17";
    const MOVES: &str = "e8d7 a2e6 d7d8 f7f8";

    #[test]
    fn the_solver_is_asked_whatever_columns_lichess_has_left() {
        let asked = "00sHx Some(1760) [a2e6, d7d8, f7f8]";
        for (head, row) in [
            ("PuzzleId,FEN,Moves,Rating,RatingDeviation", format!("00sHx,{FEN},{MOVES},1760,80")),
            ("PuzzleId;FEN;Moves;Rating", format!("00sHx;{FEN};{MOVES};1760")),
            (
                "\"PuzzleId\",\"FEN\",\"Moves\",\"Rating\"",
                format!("\"00sHx\",\"{FEN}\",\"{MOVES}\",\"1760\""),
            ),
            ("PuzzleId\tFEN\tMoves\tRating", format!("00sHx\t{FEN}\t{MOVES}\t1760.4")),
            ("puzzleid, fen, moves, rating", format!("00sHx, {FEN}, {MOVES}, 1760")),
        ] {
            assert_eq!(read(&format!("{head}\n{row}\n")), [format!("2: {asked}")], "{head}");
        }
        // Without an identifier the solver is the same.
        for head in ["FEN,Moves,Rating", "fen,moves,Rating,Themes"] {
            let row = format!("{FEN},{MOVES},1760,fork\n");
            assert_eq!(
                read(&format!("{head}\n{row}")),
                ["2:  Some(1760) [a2e6, d7d8, f7f8]"],
                "{head}"
            );
        }
        // Without the first line, as in older files.
        let rows = read(&format!("00sHx,{FEN},{MOVES},1760,80,93\n"));
        assert_eq!(rows, [format!("1: {asked}")]);
    }

    #[test]
    fn in_our_own_files_the_first_move_is_the_solvers() {
        let rows = read(&format!("fen,moves,rating,id\n# one\n\n{FEN},{MOVES},,7\n"));
        assert_eq!(rows, ["4: 7 None [e8d7, a2e6, d7d8, f7f8]"]);
    }

    #[test]
    fn faults_name_line_and_text() {
        let text = format!(
            "fen,moves,rating\n{FEN},{MOVES},high\n{FEN}\n{FEN},e8e1\n\"8/8 w\",a1a2\n{FEN},\n{FEN},{MOVES},9\n"
        );
        let table = CsvLayout::of("fen,moves,rating").unwrap().unwrap();
        let faults: Vec<String> = table
            .puzzles(&text)
            .into_iter()
            .filter_map(|(line, puzzle)| Some(format!("{line}: {}", puzzle.err()?)))
            .collect();
        for (fault, part) in faults.iter().zip([
            "2: `high` is no rating",
            "3: 1 fields, expected 2",
            "4: move 1, `e8e1`, is not legal",
            "5: `8/8 w` is not a FEN",
            "6: there are no moves",
        ]) {
            assert!(fault.contains(part), "{fault}");
        }
        assert_eq!(faults.len(), 5);
        let fault = |first: &str| CsvLayout::of(first).unwrap().unwrap_err().to_string();
        assert_eq!(fault("PuzzleId,FEN,Rating"), "no column `moves` in `PuzzleId,FEN,Rating`");
        assert_eq!(fault("id;moves"), "no column `fen` in `id,moves`");
        assert!(fault(&format!("{FEN},{MOVES},1500")).contains("first line with its columns"));
        for line in [
            "4k3/8/8/8/8/8/8/R3K3 w Q - bm O-O-O; id \"x, y\";",
            "4k3/8/8/8/8/8/8/R3K3 w Q - bm Ra8+, Rb1;",
            "4k3/8/8/8/8/8/8/R3K3 w - - 0 1",
            "x",
        ] {
            assert!(CsvLayout::of(line).is_none(), "{line}");
        }
    }
}
