//! What a GUI can say.

/// One line from the GUI. Moves stay text (checked for shape only): legality is the engine's matter.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Uci,
    Debug(bool),
    IsReady,
    SetOption(SetOption),
    Register,
    UciNewGame,
    Position { start: StartPosition, moves: Vec<String> },
    Go(Go),
    Stop,
    PonderHit,
    Quit,
    /// Not of the protocol: the whole line, for the engine's own words (`bench`, `d`, `eval`, `help`).
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartPosition {
    Startpos,
    /// The FEN as text, fields joined by single blanks (four fields allowed).
    Fen(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOption {
    pub name: String,
    /// None for a button.
    pub value: Option<String>,
}

/// Limits of one search. Times in milliseconds as given: they may be zero or negative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Go {
    pub searchmoves: Vec<String>,
    pub ponder: bool,
    pub infinite: bool,
    pub wtime: Option<i64>,
    pub btime: Option<i64>,
    pub winc: Option<i64>,
    pub binc: Option<i64>,
    pub movestogo: Option<u32>,
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    pub mate: Option<u32>,
    pub movetime: Option<i64>,
    pub perft: Option<u32>,
}

/// Never fails: unknown tokens are skipped, damaged numbers dropped; `notes` tells what was wrong, one
/// sentence each, fit for `info string`. None for a blank line.
pub fn parse(_line: &str) -> Option<(Command, Vec<String>)> {
    unimplemented!()
}
