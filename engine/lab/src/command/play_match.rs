//! `mavka-lab match`: two engines, many games, one verdict. Parses arguments, starts the processes, shows the progress
//! and writes the files; [`crate::league`] plays.

use super::args::{Program, WordError, limits, read_openings};
use crate::matches::clocks::{Clocks, Remaining};
use crate::matches::csv;
use crate::matches::pgn::{self, Tags};
use crate::matches::rules::Seat;
use crate::matches::rules::{DrawRule, ResignRule, Rules};
use crate::matches::runner::FinishedGame;
use crate::matches::runner::Match;
use crate::matches::sprt::{BoundUnit, Sprt};
use crate::openings;
use crate::plots::{Curve, Picture};
use crate::uci_client::{Limit, Timeouts};
use chess::quote::printable;
use clap::Args;
use engine::command::args::{positive, read_milliseconds, read_option};
use engine::command::output::{Failure, StdoutSink};
use engine::markup::counted;
use engine::process::errors::FileError;
use engine::process::files::open_to_append;
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::{answer_ctrl_c, progress};
use engine::process::stderr_log::write_stderr;
use indicatif::ProgressBar;
use shakmaty::ByColor;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of one player, with its prefix.
macro_rules! side {
    ($name:ident, $prefix:literal) => {
        #[derive(Args, Clone, Debug, Default)]
        struct $name {
            #[arg(
                id = $prefix, long = $prefix, value_name = "COMMAND",
                help = concat!("Command line of the ", $prefix, " engine [default: this program]")
            )]
            command: Option<String>,
            #[arg(
                id = concat!($prefix, "_name"), long = concat!($prefix, "-name"), value_name = "NAME",
                help = "Its name in table and PGN [default: its own]"
            )]
            name: Option<String>,
            #[arg(
                id = concat!($prefix, "_option"), long = concat!($prefix, "-option"),
                value_name = "NAME=VALUE", value_parser = read_option,
                help = "A UCI option of its own; may be repeated"
            )]
            options: Vec<(String, String)>,
            #[command(flatten)]
            limit: $crate::command::args::limits::$name,
        }

        impl From<$name> for Side {
            fn from(side: $name) -> Side {
                let $name { command, name, options, limit } = side;
                Side { command, name, options, limit: limit.read() }
            }
        }
    };
}

side!(First, "first");
side!(Second, "second");

/// Play a match between two UCI engines.
///
/// Without a command line an engine is this program itself: a match of two settings needs only options.
/// Examples: `match --second stockfish --tc 10+0.1 --openings book.epd`,
/// `match --nodes 400 --first-option CPuct=1.5 --games 200 --concurrency 2`.
#[derive(Args, Clone, Debug)]
pub struct PlayMatch {
    #[command(flatten, next_help_heading = "First player")]
    first: First,
    #[command(flatten, next_help_heading = "Second player")]
    second: Second,
    #[command(flatten, next_help_heading = "Both players")]
    limit: limits::Both,
    /// A UCI option of both players; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,

    /// Starting positions, one EPD or FEN a line, or the last positions of a PGN file's games; each is played with both
    /// colours.
    #[arg(long, value_name = "FILE", help_heading = "Match")]
    openings: Option<PathBuf>,
    /// Play the openings in the order of the file instead of a seeded shuffle.
    #[arg(long, help_heading = "Match")]
    in_order: bool,
    /// Seed of the shuffle.
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Match")]
    seed: u64,
    /// Skip this many openings of that order.
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Match")]
    skip: usize,
    /// Games in all; an odd number is rounded up to whole pairs [default: every opening twice, or 2].
    #[arg(long, value_name = "N", help_heading = "Match", value_parser = positive())]
    games: Option<usize>,
    /// Games played at the same time.
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Match", value_parser = positive())]
    concurrency: usize,
    /// Treat every opening as Chess960, even one with the usual castling rights.
    #[arg(long, help_heading = "Match")]
    chess960: bool,
    /// Stop as soon as the sequential test of these two Elo differences is decided (errors 5 %, over pairs
    /// of games).
    #[arg(long, num_args = 2, value_names = ["ELO0", "ELO1"], allow_negative_numbers = true,
          help_heading = "Match")]
    sprt: Option<Vec<f64>>,
    /// Unit of the bounds of `--sprt`: normalised Elo, as fishtest's, or logistic Elo.
    #[arg(long, default_value = "normalised", value_name = "UNIT", value_parser = read_unit,
          requires = "sprt", help_heading = "Match")]
    sprt_unit: BoundUnit,

    /// Forgiven overstepping of the time, in milliseconds.
    #[arg(long, default_value = "50", value_name = "MS", value_parser = read_milliseconds,
          help_heading = "Referee")]
    margin: Duration,
    /// Plies after the opening at which a game is drawn.
    #[arg(long, default_value_t = 600, value_name = "N", help_heading = "Referee", value_parser = positive())]
    max_plies: usize,
    /// Draw from move FROM on, once both scores were within CP for MOVES moves.
    #[arg(long, num_args = 3, value_names = ["FROM", "MOVES", "CP"], help_heading = "Referee")]
    draw: Option<Vec<usize>>,
    /// Give up once both players scored it beyond CP for MOVES moves.
    #[arg(long, num_args = 2, value_names = ["MOVES", "CP"], help_heading = "Referee")]
    resign: Option<Vec<usize>>,
    /// Seconds to wait for a move where no clock runs.
    #[arg(long, default_value_t = 600, value_name = "S", help_heading = "Referee", value_parser = clap::value_parser!(u64).range(1..))]
    stall: u64,

    /// Append every finished game to this file, complete even if the match is interrupted.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pgn: Option<PathBuf>,
    /// Append the result as one line to this file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// Draw the time left over the moves of all games into this SVG; where clocks run.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    clocks: Option<PathBuf>,
    /// The event in PGN and CSV.
    #[arg(long, default_value = "match", value_name = "NAME", help_heading = "Output")]
    event: String,
}

/// Arguments of one player.
#[derive(Clone, Debug)]
struct Side {
    command: Option<String>,
    name: Option<String>,
    options: Vec<(String, String)>,
    limit: Option<Limit>,
}

impl Side {
    /// The player's program and limit.
    fn ready(
        &self,
        common: &[(String, String)],
        limit: Option<Limit>,
    ) -> Result<(Program, Limit), Failure> {
        let limit = self
            .limit
            .or(limit)
            .ok_or("a match needs a limit: --tc, --movetime, --nodes or --depth")?;
        // The last value of an option counts: a player's own.
        let options = common.iter().chain(&self.options).cloned().collect();
        Ok((Program::new(self.command.as_deref(), options)?, limit))
    }
}

impl PlayMatch {
    /// Plays the match and prints its table.
    ///
    /// # Errors
    /// A file cannot be read or written, or an engine does not start.
    pub fn run(self) -> Result<(), Failure> {
        run(&self)
    }
}

fn run(args: &PlayMatch) -> Result<(), Failure> {
    let both = args.limit.read();
    let sides = [Side::from(args.first.clone()), Side::from(args.second.clone())];
    let engines = [sides[0].ready(&args.options, both)?, sides[1].ready(&args.options, both)?];
    let timeouts = Timeouts { think: Duration::from_secs(args.stall), ..Timeouts::default() };
    let start = |seat: Seat| match seat {
        Seat::First => engines[0].0.start(timeouts),
        Seat::Second => engines[1].0.start(timeouts),
    };
    let plan = plan(args, [engines[0].1, engines[1].1])?;
    // A trial start: reads the names, and detects a wrong command line before the first game.
    let names = names(&sides, [start(Seat::First)?.name(), start(Seat::Second)?.name()]);

    let mut games = args.pgn.as_deref().map(append).transpose()?;
    let date = pgn::today();
    let bar = progress(plan.games);
    bar.enable_steady_tick(Duration::from_secs(1));
    answer_ctrl_c(&plan.stop, &bar);
    let mut trouble = None;
    let mut clocks = Clocks::default();
    let end = plan.run(start, |report| {
        show(&bar, &names, plan.sprt, &report);
        clocks.add(report.played, report.limits, report.white);
        if let Some(file) = &mut games
            && let Err(error) = write_game(file, &args.event, &date, &names, &report)
        {
            trouble = Some(error);
            return false;
        }
        true
    });
    bar.finish_and_clear();
    let mut out = StdoutSink::default();
    out.say(end.tally.table(&names[0], &names[1]).trim_end());
    if let (Some(test), Some(verdict)) = (plan.sprt, end.verdict) {
        let Sprt { elo0, elo1, .. } = test;
        let llr = test.llr(&end.tally.pairs);
        out.say(format_args!("  {:<24}{verdict} (LLR {llr:.2})", format!("SPRT {elo0} {elo1}")));
    }
    let [first, second] = &names;
    let facts = csv::RowMetadata {
        event: &args.event,
        date: &date,
        names: [first, second],
        limits: plan.limits,
    };
    if let (Some(path), Some(line)) = (&args.csv, csv::line(&facts, &end.tally)) {
        write_result(path, &line)?;
    }
    if let Some(path) = &args.clocks {
        picture(&clocks, &names).draw(path)?;
    }
    match (trouble, end.fault) {
        (Some(error), _) => Err(error),
        (None, Some(fault)) => Err(fault.into()),
        (None, None) => out.end(),
    }
}

/// Maximum Elo difference of a test: far below the limit that pairs of games can have.
const MAX_ELO: f64 = 200.0;

fn read_unit(text: &str) -> Result<BoundUnit, WordError> {
    match text {
        "normalised" | "normalized" => Ok(BoundUnit::Normalised),
        "logistic" => Ok(BoundUnit::Logistic),
        _ => Err(WordError::Form("normalised or logistic")),
    }
}

fn plan(args: &PlayMatch, limits: [Limit; 2]) -> Result<Match, Failure> {
    let mut openings = match &args.openings {
        Some(path) => read_openings(path, args.chess960)?,
        None => Vec::new(),
    };
    openings::order(&mut openings, (!args.in_order).then_some(args.seed));
    if !openings.is_empty() {
        let skip = args.skip % openings.len();
        openings.rotate_left(skip);
    }
    let games = args.games.unwrap_or(2 * openings.len().max(1)).next_multiple_of(2);
    if openings.len() * 2 < games {
        let openings = counted(openings.len().max(1), "opening");
        log::warn!("{games} games on {openings}: starts will be repeated");
    }
    let small = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
    let draw = args.draw.as_deref().and_then(|values| match *values {
        [from, moves, score] => Some(DrawRule { from, moves, score: small(score) }),
        _ => None,
    });
    let resign = args.resign.as_deref().and_then(|values| match *values {
        [moves, score] => Some(ResignRule { moves, score: small(score) }),
        _ => None,
    });
    let sprt = args.sprt.as_deref().and_then(|values| match *values {
        [elo0, elo1] => Some(Sprt { elo0, elo1, unit: args.sprt_unit }),
        _ => None,
    });
    if let Some(Sprt { elo0, elo1, .. }) = sprt {
        let sound = |elo: f64| elo.abs() <= MAX_ELO;
        if !(sound(elo0) && sound(elo1) && elo0 < elo1) {
            return Err(format!(
                "--sprt wants two Elo differences within ±{MAX_ELO}, the smaller one first; got {elo0} {elo1}"
            )
            .into());
        }
    }
    Ok(Match {
        openings,
        games,
        concurrency: args.concurrency,
        limits,
        rules: Rules { margin: args.margin, max_plies: args.max_plies, draw, resign },
        sprt,
        stop: raised_by_ctrl_c()?,
    })
}

/// Names given, or else the engines' own; distinct if equal.
fn names(sides: &[Side; 2], own: [&str; 2]) -> [String; 2] {
    let name = |index: usize| match (&sides[index].name, own[index]) {
        (Some(name), _) => name.clone(),
        (None, "") => "nameless".to_owned(),
        (None, own) => own.to_owned(),
    };
    let (first, second) = (name(0), name(1));
    if first == second {
        [format!("{first} (1)"), format!("{second} (2)")]
    } else {
        [first, second]
    }
}

fn show(bar: &ProgressBar, names: &[String; 2], sprt: Option<Sprt>, report: &FinishedGame<'_>) {
    let tally = report.tally;
    let judged = tally.judgement().map(|judged| format!(" {judged} Elo")).unwrap_or_default();
    let bound = Sprt::BOUND;
    let llr = sprt.map(|test| format!(" LLR {:.2} (±{bound:.2})", test.llr(&tally.pairs)));
    let llr = llr.unwrap_or_default();
    let message = format!("+{} ={} -{}{judged}{llr}", tally.wins, tally.draws, tally.losses);
    let [first, second] = names;
    let (white, black) = match report.white {
        Seat::First => (first, second),
        Seat::Second => (second, first),
    };
    let ending = &report.played.ending;
    if bar.is_hidden() {
        // No terminal: one line per game, or per tenth of a long match.
        let games = tally.games();
        if games.is_multiple_of(10) || bar.length().is_some_and(|all| all <= 40 || all == games) {
            write_stderr(format_args!("{games}/{} {message}", bar.length().unwrap_or(games)));
        }
    }
    if ending.termination() != "normal" && ending.termination() != "adjudication" {
        let line = format!("{white} - {black}, opening {}: {ending}", report.opening.line);
        if bar.is_hidden() {
            write_stderr(line);
        } else {
            bar.println(printable(&line));
        }
    }
    bar.set_message(message);
    bar.inc(1);
}

fn append(path: &Path) -> Result<File, Failure> {
    Ok(open_to_append(path).map_err(FileError::of(path))?)
}

/// One write per game: an interrupt leaves no partial game.
fn write_game(
    file: &mut File,
    event: &str,
    date: &str,
    names: &[String; 2],
    report: &FinishedGame<'_>,
) -> Result<(), Failure> {
    let [first, second] = names;
    let (names, game) = match report.white {
        Seat::First => (ByColor { white: first.as_str(), black: second.as_str() }, 1),
        Seat::Second => (ByColor { white: second.as_str(), black: first.as_str() }, 2),
    };
    let tags = Tags { event, date, round: (report.pair + 1, game), names, limits: report.limits };
    file.write_all(pgn::write(&tags, report.opening, report.played)?.as_bytes())?;
    Ok(())
}

/// Two curves for each player with a clock.
fn picture(clocks: &Clocks, names: &[String; 2]) -> Picture {
    type Seconds = fn(&Remaining) -> f64;
    const OF: [(&str, Seconds); 2] =
        [("median", |left| left.median), ("lowest tenth", |left| left.tenth_percentile)];
    let mut curves = Vec::new();
    for (seat, name) in [Seat::First, Seat::Second].into_iter().zip(names) {
        let left = clocks.of(seat);
        for (words, seconds) in OF.iter().filter(|_| !left.is_empty()) {
            let points = left.iter().map(|left| (left.moves as f64, seconds(left))).collect();
            curves.push(Curve { name: format!("{name}, {words}"), points });
        }
    }
    Picture {
        title: "Time left on the clock".to_owned(),
        x: "own moves played".to_owned(),
        y: "seconds left".to_owned(),
        curves,
    }
}

fn write_result(path: &Path, line: &str) -> Result<(), Failure> {
    let mut file = append(path)?;
    let head = if file.metadata()?.len() == 0 { csv::HEAD } else { "" };
    file.write_all(format!("{head}{line}").as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        args: PlayMatch,
    }

    fn parse(line: &str) -> Result<PlayMatch, clap::Error> {
        Words::try_parse_from(shlex::split(line).unwrap()).map(|words| words.args)
    }

    #[test]
    fn each_player_has_words_of_its_own() {
        let args = parse(
            "match --first 'a b \"c d\"' --first-option Hash=16 --first-option 'Skill Level=3' \
             --first-nodes 400 --second x --second-name X --tc 10+0.1 --option Threads=1",
        )
        .unwrap();
        let both = args.limit.read();
        let side: Side = args.first.clone().into();
        let (first, limit) = side.ready(&args.options, both).unwrap();
        assert_eq!(first.program, Path::new("a"));
        assert_eq!(first.args, ["b", "c d"]);
        assert_eq!(limit, Limit::Nodes(400));
        let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            first.options,
            [named("Threads", "1"), named("Hash", "16"), named("Skill Level", "3")]
        );
        let second: Side = args.second.into();
        assert_eq!(second.name.as_deref(), Some("X"));
        assert_eq!(second.ready(&[], both).unwrap().1.to_string(), "10+0.1");
    }

    #[test]
    fn two_limits_for_one_player_are_refused() {
        assert!(parse("match --nodes 1 --tc 1+1").is_err());
        assert!(parse("match --first-nodes 1 --first-movetime 5").is_err());
        assert!(parse("match --nodes 1 --first-movetime 5").is_ok());
        assert!(parse("match --tc soon").is_err());
        assert!(parse("match --option Hash").is_err());
    }

    #[test]
    fn this_program_plays_where_no_command_is_given() {
        let args = parse("match --nodes 1").unwrap();
        let side: Side = args.first.into();
        let (engine, _) = side.ready(&[], args.limit.read()).unwrap();
        assert_eq!(engine.program, std::env::current_exe().unwrap());
        let args = parse("match").unwrap();
        assert!(Side::from(args.first).ready(&[], args.limit.read()).is_err());
    }

    #[test]
    fn equal_names_become_distinct() {
        let side = Side { command: None, name: None, options: vec![], limit: None };
        let sides = [side.clone(), Side { name: Some("B".into()), ..side }];
        assert_eq!(names(&sides, ["A", "A"]), ["A", "B"]);
        assert_eq!(names(&sides, ["B", "A"]), ["B (1)", "B (2)"]);
        assert_eq!(names(&sides, ["", "A"]), ["nameless", "B"]);
    }
}
