//! GUI commands: one type per command, printing its line. No parsing and no decisions here.
//!
//! Limits are kept as sent. A zero depth, a negative clock or a ponder search without a clock are all
//! representable, because GUIs send them; the engine interprets them.

use crate::line::{EMPTY, OneLine};
use std::fmt;

/// First words of the engine's own commands that may be followed by a word of the protocol (`help go`).
///
/// Other commands of its own need no entry here as long as no word of the protocol follows them.
pub const ENGINE_WORDS: [&str; 4] = ["bench", "d", "eval", "help"];

/// One line from the GUI. Moves stay text: the engine decides whether they are legal, or moves at all.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `uci`: identify yourself, then `uciok`. May come more than once.
    Uci,
    /// `debug on` or `debug off`.
    Debug(bool),
    /// `isready`: answer `readyok` at once, also during a search.
    IsReady,
    /// `setoption name … value …`
    SetOption(SetOption),
    /// `register …`: nothing to register here, so its arguments are dropped.
    Register,
    /// `ucinewgame`: the next position belongs to another game.
    UciNewGame,
    /// `position …`: the position to search next.
    Position {
        /// Start of the moves.
        start: StartPosition,
        /// The moves played from there, promotions in lower case. Every word is kept, even one that is no move:
        /// a game with a gap is another game, which the engine must be able to refuse.
        moves: Vec<String>,
    },
    /// `go …`: start a search.
    Go(Go),
    /// `stop`: end the search and answer.
    Stop,
    /// `ponderhit`: the move pondered on was played.
    PonderHit,
    /// `quit`: leave.
    Quit,
    /// Not of the protocol: the whole line, for the engine's own commands (`bench`, `d`, `eval`, `help`).
    Other(String),
}

/// Start of a `position`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartPosition {
    /// The initial position of chess.
    Startpos,
    /// The FEN as text, fields joined by single blanks (four fields allowed).
    Fen(String),
}

/// An option and its new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOption {
    /// In the case it was sent; words joined by single blanks.
    pub name: String,
    /// None for a button; empty for a missing text or `<empty>`.
    pub value: Option<String>,
}

/// Limits of one search. Times in milliseconds as given: they may be zero or negative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Go {
    /// Search these moves only; empty for all.
    pub searchmoves: Vec<String>,
    /// Search on the opponent's time, until `ponderhit` or `stop`.
    pub ponder: bool,
    /// Search until `stop`.
    pub infinite: bool,
    /// White's remaining time.
    pub wtime: Option<i64>,
    /// Black's remaining time.
    pub btime: Option<i64>,
    /// White's increment per move.
    pub winc: Option<i64>,
    /// Black's increment per move.
    pub binc: Option<i64>,
    /// Moves until the next time control.
    pub movestogo: Option<u32>,
    /// Stop at this depth, in plies.
    pub depth: Option<u32>,
    /// Stop after this many nodes.
    pub nodes: Option<u64>,
    /// Look for a mate in this many moves.
    pub mate: Option<u32>,
    /// Take exactly this long.
    pub movetime: Option<i64>,
    /// Do not search: count the leaves of the move tree to this depth.
    pub perft: Option<u32>,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uci => f.write_str("uci"),
            Self::Debug(on) => write!(f, "debug {}", if *on { "on" } else { "off" }),
            Self::IsReady => f.write_str("isready"),
            Self::SetOption(option) => option.fmt(f),
            Self::Register => f.write_str("register later"),
            Self::UciNewGame => f.write_str("ucinewgame"),
            Self::Position { start, moves } => {
                write!(f, "position {start}")?;
                words(f, "moves", moves)
            }
            Self::Go(go) => go.fmt(f),
            Self::Stop => f.write_str("stop"),
            Self::PonderHit => f.write_str("ponderhit"),
            Self::Quit => f.write_str("quit"),
            Self::Other(line) => OneLine(line).fmt(f),
        }
    }
}

impl fmt::Display for StartPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Startpos => f.write_str("startpos"),
            Self::Fen(fen) => write!(f, "fen {}", OneLine(fen)),
        }
    }
}

impl fmt::Display for SetOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setoption name {}", OneLine(&self.name))?;
        match self.value.as_deref() {
            None => Ok(()),
            Some("") => write!(f, " value {EMPTY}"),
            Some(value) => write!(f, " value {}", OneLine(value)),
        }
    }
}

/// `searchmoves` comes last, because its list ends only at another keyword.
impl fmt::Display for Go {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn limit(
            f: &mut fmt::Formatter<'_>,
            key: &str,
            value: Option<impl fmt::Display>,
        ) -> fmt::Result {
            value.map_or(Ok(()), |value| write!(f, " {key} {value}"))
        }

        f.write_str("go")?;
        if self.ponder {
            f.write_str(" ponder")?;
        }
        if self.infinite {
            f.write_str(" infinite")?;
        }
        limit(f, "wtime", self.wtime)?;
        limit(f, "btime", self.btime)?;
        limit(f, "winc", self.winc)?;
        limit(f, "binc", self.binc)?;
        limit(f, "movestogo", self.movestogo)?;
        limit(f, "depth", self.depth)?;
        limit(f, "nodes", self.nodes)?;
        limit(f, "mate", self.mate)?;
        limit(f, "movetime", self.movetime)?;
        limit(f, "perft", self.perft)?;
        words(f, "searchmoves", &self.searchmoves)
    }
}

/// The keyword and its words; nothing if there are none.
fn words(f: &mut fmt::Formatter<'_>, key: &str, list: &[String]) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    write!(f, " {key}")?;
    list.iter().try_for_each(|word| write!(f, " {}", OneLine(word)))
}
