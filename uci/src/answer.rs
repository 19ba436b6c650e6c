//! Engine output: one type per line, each printing that line without its end. [`crate::parse_answer`] reads
//! them back. Offered options have their own file, [`crate::option`].
//!
//! One value prints one line, whatever its strings contain: a line break inside a string would be read as a new
//! line, so control characters in printed strings become blanks.

use crate::line::OneLine;
use crate::option::OptionSpec;
use std::fmt;

/// The line that ends the answer to `uci`.
pub const UCIOK: &str = "uciok";

/// The answer to `isready`.
pub const READYOK: &str = "readyok";

/// One line from an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// `id …`
    Id(IdLine),
    /// `option …`
    Option(OptionSpec),
    /// `uciok`
    UciOk,
    /// `readyok`
    ReadyOk,
    /// `info …`
    Info(Info),
    /// `bestmove …`
    BestMove(BestMove),
    /// Any other line, as it was sent.
    Other(String),
}

/// Identity of the engine; prints `id name …` or `id author …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdLine {
    /// The engine's name and version.
    Name(String),
    /// Author.
    Author(String),
}

/// Evaluation for the side to move; prints `cp …` or `mate …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Hundredths of a pawn.
    Centipawns(i32),
    /// Moves (not plies); negative = the side to move is mated.
    Mate(i32),
}

/// Bound type of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The true score is at least this one.
    Lower,
    /// The true score is at most this one.
    Upper,
}

/// The root move being searched; prints `currmove … currmovenumber …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentMove {
    /// The move.
    pub action: String,
    /// Its rank, from 1.
    pub number: u32,
}

/// Progress of a search; prints `info …` with the fields that are set, or just `info`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Depth in plies.
    pub depth: Option<u32>,
    /// Depth of the deepest line, in plies.
    pub seldepth: Option<u32>,
    /// Rank of this line among several, from 1.
    pub multipv: Option<u32>,
    /// The root move being searched.
    pub current: Option<CurrentMove>,
    /// Score of this line.
    pub score: Option<Score>,
    /// Set if the score is only a bound; printed after the score, and only with one.
    pub bound: Option<Bound>,
    /// Permille win, draw, loss.
    pub wdl: Option<[u32; 3]>,
    /// Nodes searched.
    pub nodes: Option<u64>,
    /// Nodes per second.
    pub nps: Option<u64>,
    /// Fill of the search's memory, permille.
    pub hashfull: Option<u32>,
    /// Endgame table hits.
    pub tbhits: Option<u64>,
    /// Milliseconds since the search began.
    pub time_ms: Option<u64>,
    /// The best line; printed last, because GUIs read everything after it as moves.
    pub pv: Vec<String>,
    /// Prints `info string …` when it is the only field set.
    ///
    /// Beside other fields it is omitted: it would have to follow the moves of `pv`. Send it as its own line.
    pub string: Option<String>,
}

/// The end of a search; prints `bestmove …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestMove {
    /// None prints `bestmove (none)`.
    pub best: Option<String>,
    /// The expected reply; not printed without a best move.
    pub ponder: Option<String>,
}

impl Info {
    /// A log line for people: `info string …`.
    pub fn text(text: impl Into<String>) -> Self {
        Self { string: Some(text.into()), ..Self::default() }
    }
}

impl fmt::Display for IdLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "id name {}", OneLine(name)),
            Self::Author(author) => write!(f, "id author {}", OneLine(author)),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Centipawns(cp) => write!(f, "cp {cp}"),
            Self::Mate(moves) => write!(f, "mate {moves}"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lower => "lowerbound",
            Self::Upper => "upperbound",
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Option(option) => option.fmt(f),
            Self::UciOk => f.write_str(UCIOK),
            Self::ReadyOk => f.write_str(READYOK),
            Self::Info(info) => info.fmt(f),
            Self::BestMove(best) => best.fmt(f),
            Self::Other(line) => OneLine(line).fmt(f),
        }
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn field(
            f: &mut fmt::Formatter<'_>,
            key: &str,
            value: Option<impl fmt::Display>,
        ) -> fmt::Result {
            value.map_or(Ok(()), |value| write!(f, " {key} {value}"))
        }

        f.write_str("info")?;
        if let Some(text) = &self.string {
            let alone = Self { string: None, ..self.clone() } == Self::default();
            if alone {
                return write!(f, " string {}", OneLine(text));
            }
        }
        field(f, "depth", self.depth)?;
        field(f, "seldepth", self.seldepth)?;
        field(f, "multipv", self.multipv)?;
        if let Some(CurrentMove { action, number }) = &self.current {
            write!(f, " currmove {} currmovenumber {number}", OneLine(action))?;
        }
        field(f, "score", self.score)?;
        if let (Some(_), Some(bound)) = (self.score, self.bound) {
            write!(f, " {bound}")?;
        }
        if let Some([win, draw, loss]) = self.wdl {
            write!(f, " wdl {win} {draw} {loss}")?;
        }
        field(f, "nodes", self.nodes)?;
        field(f, "nps", self.nps)?;
        field(f, "hashfull", self.hashfull)?;
        field(f, "tbhits", self.tbhits)?;
        field(f, "time", self.time_ms)?;
        if !self.pv.is_empty() {
            f.write_str(" pv")?;
            for text in &self.pv {
                write!(f, " {}", OneLine(text))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for BestMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(best) = &self.best else {
            return f.write_str("bestmove (none)");
        };
        write!(f, "bestmove {}", OneLine(best))?;
        match &self.ponder {
            Some(ponder) => write!(f, " ponder {}", OneLine(ponder)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Info {
        Info {
            depth: Some(12),
            seldepth: Some(30),
            multipv: Some(1),
            current: None,
            score: Some(Score::Centipawns(-35)),
            bound: None,
            wdl: Some([250, 500, 250]),
            nodes: Some(u64::MAX),
            nps: Some(98_765),
            hashfull: Some(7),
            tbhits: Some(0),
            time_ms: Some(1500),
            pv: vec!["e2e4".to_owned(), "e7e5".to_owned()],
            string: None,
        }
    }

    #[test]
    fn info_prints_its_facts_in_order_and_pv_last() {
        assert_eq!(
            full().to_string(),
            "info depth 12 seldepth 30 multipv 1 score cp -35 wdl 250 500 250 nodes 18446744073709551615 nps 98765 \
             hashfull 7 tbhits 0 time 1500 pv e2e4 e7e5"
        );
    }

    #[test]
    fn info_prints_nothing_that_is_not_set() {
        let info = Info { depth: Some(0), score: Some(Score::Mate(0)), ..Info::default() };
        assert_eq!(info.to_string(), "info depth 0 score mate 0");
        assert_eq!(Info::default().to_string(), "info");
    }

    #[test]
    fn a_bound_stands_behind_its_score_and_never_alone() {
        let bound = Some(Bound::Lower);
        let score = Some(Score::Centipawns(20));
        let info = Info { score, bound, ..Info::default() };
        assert_eq!(info.to_string(), "info score cp 20 lowerbound");
        assert_eq!(Info { bound, ..Info::default() }.to_string(), "info");
    }

    #[test]
    fn the_current_move_is_printed_with_its_rank() {
        let current = Some(CurrentMove { action: "e2e4".to_owned(), number: 3 });
        let info = Info { depth: Some(9), current, ..Info::default() };
        assert_eq!(info.to_string(), "info depth 9 currmove e2e4 currmovenumber 3");
    }

    #[test]
    fn a_mate_against_us_is_negative() {
        assert_eq!(Score::Mate(-3).to_string(), "mate -3");
    }

    #[test]
    fn info_string_stands_alone() {
        assert_eq!(Info::text("hello there").to_string(), "info string hello there");
        let both = Info { string: Some("lost".to_owned()), ..full() };
        assert_eq!(both.to_string(), full().to_string());
    }

    #[test]
    fn bestmove_with_and_without_ponder() {
        let best = Some("e2e4".to_owned());
        let ponder = Some("e7e5".to_owned());
        let line = |best: &Option<String>, ponder: &Option<String>| {
            BestMove { best: best.clone(), ponder: ponder.clone() }.to_string()
        };
        assert_eq!(line(&best, &ponder), "bestmove e2e4 ponder e7e5");
        assert_eq!(line(&best, &None), "bestmove e2e4");
    }

    #[test]
    fn no_best_move_is_none_in_brackets_and_has_no_ponder() {
        let line = BestMove { best: None, ponder: Some("e7e5".to_owned()) };
        assert_eq!(line.to_string(), "bestmove (none)");
    }

    #[test]
    fn ids_and_constants_are_those_of_the_protocol() {
        assert_eq!(IdLine::Name("Mavka 0.1".to_owned()).to_string(), "id name Mavka 0.1");
        assert_eq!(
            IdLine::Author("the Mavka team".to_owned()).to_string(),
            "id author the Mavka team"
        );
        assert_eq!((UCIOK, READYOK), ("uciok", "readyok"));
    }

    #[test]
    fn every_line_is_one_line_whatever_its_texts_hold() {
        let nasty = || "a\r\nquit\u{85}b\u{2028}c\0d\u{b}e\n".to_owned();
        let lines = [
            Info::text(nasty()).to_string(),
            Info { pv: vec![nasty(), nasty()], ..full() }.to_string(),
            Info { current: Some(CurrentMove { action: nasty(), number: 1 }), ..full() }
                .to_string(),
            BestMove { best: Some(nasty()), ponder: Some(nasty()) }.to_string(),
            IdLine::Name(nasty()).to_string(),
            IdLine::Author(nasty()).to_string(),
        ];
        for line in lines {
            assert!(!line.contains(|c: char| c.is_control() || c == '\u{2028}'), "{line:?}");
            assert_eq!(line, line.trim());
        }
        assert_eq!(Info::text(nasty()).to_string(), "info string a  quit b c d e");
    }
}
