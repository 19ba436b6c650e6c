//! What the engine can say. Every type here is `Display` and prints one line without the line end
//! (`OptionSpec` as `option name …`).

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    Centipawns(i32),
    /// Moves (not plies); negative = the side to move is mated.
    Mate(i32),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    pub depth: Option<u32>,
    pub seldepth: Option<u32>,
    pub multipv: Option<u32>,
    pub score: Option<Score>,
    /// Permille win, draw, loss.
    pub wdl: Option<[u32; 3]>,
    pub nodes: Option<u64>,
    pub nps: Option<u64>,
    pub hashfull: Option<u32>,
    pub tbhits: Option<u64>,
    pub time_ms: Option<u64>,
    pub pv: Vec<String>,
    /// Prints `info string …` when it is the only thing set.
    pub string: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestMove {
    /// None prints `bestmove (none)`.
    pub best: Option<String>,
    pub ponder: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum OptionKind {
    Check { default: bool },
    Spin { default: i64, min: i64, max: i64 },
    Combo { default: String, choices: Vec<String> },
    Text { default: String },
    Button,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OptionSpec {
    pub name: String,
    pub kind: OptionKind,
}

impl fmt::Display for Info {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unimplemented!()
    }
}
impl fmt::Display for BestMove {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unimplemented!()
    }
}
impl fmt::Display for OptionSpec {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unimplemented!()
    }
}
