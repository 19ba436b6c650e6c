//! `mavka-lab imagination`: arguments and output of [`crate::measure::imagination`].

use crate::measure::MeasureError;
use crate::measure::imagination::survey::ImaginationSurvey;
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::play::network::load;
use nn::evaluator::cpu::CpuEvaluator;
use nn::precision::Arithmetic;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `mavka-lab imagination`.
#[derive(Args, Debug)]
pub struct Imagination {
    /// Data files, whose held-out games are imagined
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Stretches of games of each file and kind of chess
    #[arg(long, default_value = "500", value_name = "N")]
    stretches: NonZeroUsize,
    /// Plies imagined of each
    #[arg(long, default_value = "10", value_name = "N")]
    depth: NonZeroUsize,
    /// Also search from this many stretches of each
    #[arg(long, default_value_t = 0, value_name = "N")]
    searches: usize,
    /// Simulations of each search
    #[arg(long, default_value = "400", value_name = "N")]
    nodes: NonZeroUsize,
    /// Draw what holds at which depth into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Arithmetic of the network's products: auto (the fastest this CPU has), single or bf16
    #[arg(long, default_value = "auto")]
    arithmetic: Arithmetic,
}

impl Imagination {
    /// Measures.
    ///
    /// # Errors
    /// The network or a file is refused, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let mut out = StdoutSink::default();
        self.write(&mut |line| out.say(line))?;
        out.end()
    }

    fn write(&self, say: &mut dyn FnMut(String)) -> Result<(), MeasureError> {
        let network = load(self.weights.as_deref())?;
        let evaluator = Arc::new(CpuEvaluator::new(&network, self.arithmetic));
        say(format!("network {}", network.hash));
        let survey = ImaginationSurvey {
            files: self.files.clone(),
            stretches: self.stretches.get(),
            depth: self.depth.get(),
            searches: self.searches,
            nodes: self.nodes.get() as u64,
            plot: self.plot.clone(),
        };
        survey.run(&evaluator, say)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::{CommandFactory, FromArgMatches};
    use shakmaty::Chess;
    use train::data::record::{Format, GameResult, Header, MavgGame};
    use train::data::{Game, GameWriter};

    fn print(words: &[&str]) -> Result<String, String> {
        let words = ["mavka-lab", "imagination"].iter().chain(words);
        let matches = Cli::command().try_get_matches_from(words).map_err(|why| why.to_string())?;
        let (_, own) = matches.subcommand().expect("imagination");
        let mut out = String::new();
        let imagination = Imagination::from_arg_matches(own).expect("arguments");
        imagination
            .write(&mut |line| out += &format!("{line}\n"))
            .map_err(|why| why.to_string())?;
        Ok(out)
    }

    #[test]
    fn bad_arguments_are_named() {
        assert!(print(&[]).is_err());
        assert!(print(&["no-such-file"]).unwrap_err().contains("no-such-file"));
        assert!(print(&["file", "--nodes", "0"]).is_err());
    }

    #[test]
    fn a_file_is_measured_by_depth() {
        let of = |end: &str| {
            let name = format!("mavka-imagine-{}.{end}", std::process::id());
            std::env::temp_dir().join(name).to_str().unwrap().to_owned()
        };
        let (games, plot) = (of("mavg.zst"), of("svg"));
        let mut writer = GameWriter::create(games.as_ref(), Format::Mavg).unwrap();
        for number in 0..51 {
            let mut game =
                MavgGame::new(Header::new(Chess::default(), number == 50, GameResult::WhiteWon));
            for _ in 0..4 {
                game.push(0, (3, 3), 20, &[64; 20]).unwrap();
            }
            writer.write(&Game::Mavg(game)).unwrap();
        }
        writer.finish_file().unwrap();
        let words = [&*games, "--depth", "3", "--searches", "1", "--nodes", "200"];
        let text = print(&[&words[..], &["--plot", &plot]].concat());
        let drawn = std::fs::read_to_string(&plot).unwrap_or_default();
        for path in [&games, &plot] {
            let _ = std::fs::remove_file(path);
        }
        let text = text.unwrap();
        assert!(text.contains("standard") && text.contains("Chess960"), "{text}");
        assert!(text.contains("in games") && text.contains("in searches"), "{text}");
        assert!(drawn.contains("<svg") && drawn.contains("legal moves"), "{drawn}");
    }
}
