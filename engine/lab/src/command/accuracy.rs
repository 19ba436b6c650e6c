//! `mavka-lab accuracy`: arguments and output of [`crate::measure::accuracy`].

use crate::measure::accuracy;
use clap::Args;
use engine::command::args::positive;
use engine::command::output::{Failure, StdoutSink};
use engine::process::interrupt::raised_by_ctrl_c;
use nn::kernels::Isa;
use nn::kernels::gemm::Method;
use nn::precision::Arithmetic;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// Measure the network without search: held-out games, random boards, puzzles.
#[derive(Args, Debug)]
pub struct AccuracyArgs {
    /// Data files (MAVG1, PVGR1 or SELF1); every 50th game of each is held out
    files: Vec<PathBuf>,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Positions of each set of a data file at most
    #[arg(long, default_value = "5000", value_name = "N")]
    limit: NonZeroUsize,
    /// Measure games that training reads in place of those held out: what they gain is learnt by heart
    #[arg(long, requires = "files")]
    trained: bool,
    /// Also every castling of the held-out games: whether the next board is right
    #[arg(long, requires = "files")]
    castlings: bool,
    /// Also this many boards of random pieces
    #[arg(long, value_name = "N")]
    boards: Option<NonZeroUsize>,
    /// Which random boards
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Also the puzzles of this CSV or EPD
    #[arg(long, value_name = "FILE")]
    puzzles: Option<PathBuf>,
    /// Try only this many puzzles, spread evenly over the file
    #[arg(long, value_name = "N", requires = "puzzles", value_parser = positive())]
    puzzle_limit: Option<usize>,
    /// Also how well it judges, by this file of deep labels (written by `mavka-lab label`): what the policy's move gives away, the
    /// value's error, how well values tell moves of one position apart
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
    /// Another network for the deep labels, and the difference to it
    #[arg(long, value_name = "FILE", requires = "judge")]
    against: Option<PathBuf>,
    /// Draw predicted win probabilities against labels and results into this SVG
    #[arg(long, value_name = "FILE", requires = "files")]
    plot: Option<PathBuf>,
    /// Write every number with its 95 % interval into this CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Arithmetic of the network's products: auto (the fastest of floats this CPU has), single, bf16 or int8
    #[arg(long, default_value = "auto")]
    arithmetic: Arithmetic,
    /// Instructions of the network on the CPU: portable, avx2, avx512, amx, or neon on Arm's processors [default: the widest this CPU has]
    #[arg(long)]
    isa: Option<Isa>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl AccuracyArgs {
    /// Measures and prints.
    ///
    /// # Errors
    /// There is nothing to measure, or the network or a file cannot be used.
    pub fn run(&self) -> Result<(), Failure> {
        let mut out = StdoutSink::default();
        let plan = accuracy::Accuracy { stop: raised_by_ctrl_c()?, ..self.plan() };
        plan.run(&mut |line| out.say(line))?;
        out.end()
    }

    fn plan(&self) -> accuracy::Accuracy {
        accuracy::Accuracy {
            files: self.files.clone(),
            weights: self.weights.clone(),
            trained: self.trained,
            limit: self.limit.get(),
            castlings: self.castlings,
            boards: self.boards.map(NonZeroUsize::get),
            seed: self.seed,
            puzzles: self.puzzles.clone(),
            puzzle_limit: self.puzzle_limit,
            judge: self.judge.clone(),
            against: self.against.clone(),
            plot: self.plot.clone(),
            csv: self.csv.clone(),
            method: Method {
                isa: self.isa.unwrap_or_else(Isa::found),
                arithmetic: self.arithmetic,
            },
            threads: self.threads.map(NonZeroUsize::get),
            stop: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::{CommandFactory, FromArgMatches};
    use shakmaty::Chess;
    use std::sync::atomic::Ordering::Relaxed;
    use train::data::record::{Format, GameResult, Header, MavgGame};
    use train::data::{Game, GameWriter};

    fn parse(words: &[&str]) -> Result<AccuracyArgs, clap::Error> {
        let words = ["mavka", "accuracy"].iter().chain(words);
        let matches = Cli::command().try_get_matches_from(words)?;
        let (_, own) = matches.subcommand().expect("accuracy");
        AccuracyArgs::from_arg_matches(own)
    }

    /// Output, and the result.
    fn print(words: &[&str]) -> (String, Result<(), String>) {
        let mut out = String::new();
        let plan = parse(words).unwrap().plan();
        let end = plan.run(&mut |line| out += &format!("{line}\n"));
        (out, end.map_err(|why| why.to_string()))
    }

    #[test]
    fn what_cannot_be_measured_is_an_error() {
        assert!(print(&[]).1.unwrap_err().contains("nothing to measure"));
        assert!(parse(&["--boards", "0"]).is_err());
        assert!(parse(&["--boards", "1", "--plot", "x.svg"]).is_err(), "boards have no values");
        assert!(parse(&["--puzzle-limit", "5"]).is_err());
        assert!(parse(&["--boards", "1", "--against", "x"]).is_err(), "boards have no labels");
        let absent = std::env::temp_dir().join("mavka-no-such-file");
        let error = print(&[absent.to_str().unwrap()]).1.unwrap_err();
        assert!(error.contains("mavka-no-such-file"), "{error}");
        // Once it is to end, no further file is read.
        let plan = parse(&[absent.to_str().unwrap()]).unwrap().plan();
        plan.stop.store(true, Relaxed);
        let mut out = String::new();
        plan.run(&mut |line| out += &line).unwrap();
        assert!(out.contains("ended early"), "{out}");
    }

    /// A file whose held-out games are one of standard chess and one of Chess960.
    fn sample(path: &std::path::Path) {
        let mut writer = GameWriter::create(path, Format::Mavg).unwrap();
        for number in 0..51 {
            let mut game =
                MavgGame::new(Header::new(Chess::default(), number == 50, GameResult::WhiteWon));
            game.push(0, (3, 3), 20, &[64; 20]).unwrap();
            writer.write(&Game::Mavg(game)).unwrap();
        }
        writer.finish_file().unwrap();
    }

    #[test]
    fn a_file_and_boards_give_tables_csv_and_plot_errors() {
        let of = |end: &str| {
            let name = format!("mavka-accuracy-{}.{end}", std::process::id());
            std::env::temp_dir().join(name).to_str().unwrap().to_owned()
        };
        let (games, csv, plot) = (of("mavg.zst"), of("csv"), of("svg"));
        sample(std::path::Path::new(&games));
        let (table, asked) = print(&[&games, "--boards", "3", "--csv", &csv, "--threads", "1"]);
        let text = std::fs::read_to_string(&csv).unwrap_or_default();
        // One position per set is too few for a plot.
        let unplotted = print(&[&games, "--plot", &plot]).1;
        for path in [&games, &csv, &plot] {
            let _ = std::fs::remove_file(path);
        }
        assert_eq!(asked, Ok(()));
        assert!(
            table.contains(&games) && table.contains("rules") && table.contains("95 % interval")
        );
        for set in
            ["MAV(s) standard", "MAV(s) Chess960", "MAV(s, a) standard", "MAV(s, a) Chess960"]
        {
            let line = text.lines().find(|l| l.contains(set) && l.contains(",value error,"));
            assert!(line.is_some_and(|line| line.ends_with(",1")), "{set}: {text}");
        }
        let boards =
            |end| text.lines().any(|l| l.starts_with("\"rules boards") && l.ends_with(end));
        assert!(boards(",3") && text.contains("next state exact"), "{text}");
        assert!(unplotted.unwrap_err().contains("too few predictions"));
    }
}
