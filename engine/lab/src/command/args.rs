//! Arguments of several subcommands: limits, UCI options, command lines of engines.

use super::uci::SHOW_HIDDEN;
use crate::openings::{self, Opening};
use crate::uci_client::{Fault, Limit, Player, Process, Timeouts};
use engine::command::args::read_milliseconds;
use engine::command::output::Failure;
use std::env;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The four limits of a player: of both, of each with a prefix, and of the only one.
pub(super) mod limits {
    use super::{Duration, Limit, read_milliseconds};
    use clap::Args;

    macro_rules! limits {
        ($name:ident, $prefix:literal, $whose:literal) => {
            #[derive(Args, Clone, Debug, Default)]
            #[group(id = concat!($prefix, "spending"), multiple = false)]
            pub struct $name {
                #[arg(
                    id = concat!($prefix, "tc"), long = concat!($prefix, "tc"),
                    value_name = "[MOVES/]SECONDS[+INCREMENT]", help = concat!("Clock of ", $whose)
                )]
                clock: Option<Limit>,
                #[arg(
                    id = concat!($prefix, "movetime"), long = concat!($prefix, "movetime"),
                    value_name = "MS", value_parser = read_milliseconds,
                    help = concat!("Time for each move of ", $whose)
                )]
                movetime: Option<Duration>,
                #[arg(
                    id = concat!($prefix, "nodes"), long = concat!($prefix, "nodes"),
                    value_name = "N", help = concat!("Nodes for each move of ", $whose),
                    value_parser = clap::value_parser!(u64).range(1..)
                )]
                nodes: Option<u64>,
                #[arg(
                    id = concat!($prefix, "depth"), long = concat!($prefix, "depth"),
                    value_name = "N", help = concat!("Depth for each move of ", $whose),
                    value_parser = clap::value_parser!(u32).range(1..)
                )]
                depth: Option<u32>,
            }

            impl $name {
                pub(crate) fn read(&self) -> Option<Limit> {
                    self.clock
                        .or_else(|| self.movetime.map(Limit::MoveTime))
                        .or_else(|| self.nodes.map(Limit::Nodes))
                        .or_else(|| self.depth.map(Limit::Depth))
                }
            }
        };
    }

    limits!(Both, "", "both players");
    limits!(Only, "", "the engine");
    limits!(First, "first-", "the first player");
    limits!(Second, "second-", "the second player");
}

/// Error in an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordError {
    /// Not of this form.
    Form(&'static str),
    /// A share that is not a number.
    Share(String),
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WordError::Form(form) => write!(f, "write {form}"),
            WordError::Share(share) => write!(f, "share \"{share}\" is no number"),
        }
    }
}

impl Error for WordError {}

/// `FILE` or `FILE=SHARE`.
pub(super) fn read_share(text: &str) -> Result<(PathBuf, f64), WordError> {
    match text.rsplit_once('=') {
        None => Ok((text.into(), 1.0)),
        Some((path, share)) => {
            let share = share.parse().map_err(|_| WordError::Share(share.to_owned()))?;
            Ok((path.into(), share))
        }
    }
}

/// Program and arguments; this program if none is given.
pub(super) fn command_line(line: Option<&str>) -> Result<(PathBuf, Vec<String>), io::Error> {
    let Some(line) = line else {
        // Hidden options may be set, too.
        let words = ["uci", SHOW_HIDDEN].map(str::to_owned).to_vec();
        return Ok((env::current_exe()?, words));
    };
    let unclosed = || io::Error::other(format!("a quote is not closed in: {line}"));
    let mut words = shlex::split(line).ok_or_else(unclosed)?.into_iter();
    let program =
        words.next().ok_or_else(|| io::Error::other("an engine's command line is empty"))?;
    Ok((PathBuf::from(program), words.collect()))
}

/// Command and options of an engine.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub options: Vec<(String, String)>,
}

impl Program {
    /// The engine of a command line, or this program.
    pub(super) fn new(
        command: Option<&str>,
        options: Vec<(String, String)>,
    ) -> Result<Program, io::Error> {
        let (program, args) = command_line(command)?;
        Ok(Program { program, args, options })
    }

    /// Starts a process and sets its options.
    pub(super) fn start(&self, timeouts: Timeouts) -> Result<Player<Process>, Fault> {
        self.with_process(|process| Player::greet(process, &self.options, timeouts))
    }

    /// Starts a process for a trial of the command line and the options, and ends it.
    pub(super) fn try_out(&self, timeouts: Timeouts) -> Result<(), Fault> {
        self.with_process(|process| Player::introduce(process, &self.options, timeouts)).map(drop)
    }

    fn with_process<T>(&self, greet: impl FnOnce(Process) -> Result<T, Fault>) -> Result<T, Fault> {
        let absent = |why: String| Fault::Absent(format!("{}: {why}", self.program.display()));
        let process =
            Process::spawn(&self.program, &self.args).map_err(|error| absent(error.to_string()))?;
        greet(process).map_err(|fault| match fault {
            Fault::Absent(why) => absent(why),
            fault => absent(fault.to_string()),
        })
    }
}

/// The positions of a file; an error if it has none.
pub(super) fn read_openings(path: &Path, chess960: bool) -> Result<Vec<Opening>, Failure> {
    let openings = openings::open(path, chess960)?;
    if openings.is_empty() {
        return Err(format!("{}: no openings", path.display()).into());
    }
    Ok(openings)
}

/// A fraction from 0 to 1.
///
/// # Errors
/// Another text.
pub fn read_fraction(text: &str) -> Result<f32, String> {
    let share = text.parse::<f32>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a fraction from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stand_behind_the_last_sign() {
        assert!(read_share("file=much").unwrap_err().to_string().contains("much"));
        assert_eq!(read_share("a=b=0.5"), Ok(("a=b".into(), 0.5)));
        assert_eq!(read_share("a"), Ok(("a".into(), 1.0)));
    }

    #[test]
    fn command_lines_are_split_as_in_a_shell() {
        let (program, args) = command_line(Some(" a  'b c' \"d'e\"f '' ")).unwrap();
        assert_eq!(program, PathBuf::from("a"));
        assert_eq!(args, ["b c", "d'ef", ""]);
        assert!(command_line(Some("a 'b")).is_err());
        assert!(command_line(Some(" ")).is_err());
    }
}
