//! `mavka analyse`: arguments and output of [`crate::analyse`].

use super::args::{positive, read_milliseconds, read_option, read_settings};
use super::output::{Failure, StdoutSink};
use crate::analyse::collection::Tally;
use crate::analyse::judge::Glyphs;
use crate::analyse::player;
use crate::analyse::review::Rules;
use crate::analyse::run::{AnalysisOutcome, PlayerTask, journal_path};
use crate::analyse::sees::NetworkView;
use crate::analyse::{AnalysisTask, Batches, run};
use crate::eval::look::Inspection;
use crate::markup::counted;
use crate::options::settings::{Search, Settings};
use crate::pgn::text::STDIN;
use crate::play::analyst::{Analyst, Effort};
use crate::play::network::{Installed, load};
use crate::process::errors::FileError;
use crate::process::files::{NamedFile, check_outputs, target};
use crate::process::host;
use crate::process::interrupt::raised_by_ctrl_c;
use crate::process::shard::Shard;
use crate::process::stderr_log::write_stderr;
use crate::process::workers::cores;
use chess::game::Game;
use clap::Args;
use nn::evaluator::cpu::CpuEvaluator;
use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Playouts of a first search, by default.
const NODES: u64 = 25;

/// Arguments of `mavka analyse`.
///
/// Comments, clocks, glyphs and variations of the games are kept. After a kill, or Ctrl-C, the same command
/// goes on where it was.
#[derive(Args, Clone, Debug)]
pub struct Analyse {
    /// Games, also compressed (.gz, .zst); - for standard input. Unreadable text is named and kept as it is
    #[arg(required = true, value_name = "GAME.pgn")]
    files: Vec<PathBuf>,
    /// Nodes for each position; four times as many around mistakes [default: 25]
    #[arg(long, value_name = "N", conflicts_with = "movetime", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Time for each position instead; four times as much around mistakes
    #[arg(long, value_name = "MS", value_parser = read_milliseconds)]
    movetime: Option<Duration>,
    /// Better lines to show beside a move
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = positive())]
    multipv: usize,
    /// Thresholds of ?!, ? and ??: mavka has 5, 10 and 25 points of win probability; lichess 5, 10, 15 and its table for mates
    #[arg(long, value_enum, default_value_t, value_name = "WHOSE")]
    glyphs: Glyphs,
    /// Positions searched at once; one repeats itself exactly [default: one for each core]
    #[arg(long, value_name = "N", value_parser = positive())]
    threads: Option<usize>,
    /// Analyse the K-th of N parts of the games alone, for several processes or machines; the parts' outputs in order are the whole
    #[arg(long, value_name = "K/N", requires = "out")]
    shard: Option<Shard>,
    /// A UCI option; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
    /// The annotated games [default: beside the first file, `-analysed.pgn`]
    #[arg(long, value_name = "FILE.pgn")]
    out: Option<PathBuf>,
    /// A page to look at: each game on a board, curves, turning points, and what the network alone sees there
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// The page begins with this player's games: accuracy by phase, colour, opening and time left, kinds of errors
    #[arg(long, value_name = "NAME", conflicts_with = "shard")]
    player: Option<String>,
    /// The player's games as a table
    #[arg(long, value_name = "FILE.csv", requires = "player")]
    csv: Option<PathBuf>,
}

impl Analyse {
    /// Analyses and writes.
    ///
    /// # Errors
    /// A file, an option or the network cannot be used, or no game can be read.
    pub fn run(self) -> Result<(), Failure> {
        let out = match &self.out {
            Some(out) => out.clone(),
            None if self.files[0] == Path::new(STDIN) => {
                return Err("games from standard input need --out FILE.pgn".into());
            }
            None => beside(&self.files[0]),
        };
        let settings = self.settings()?;
        // The journal is beside the target of a symbolic link: one journal for all names of the output.
        let out = target(&out).map_err(FileError::of(&out))?;
        self.check(&out, &settings)?;
        self.find_player()?;
        let batches = Batches::open(&self.files, self.shard)?;
        let options: Vec<String> =
            self.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let raised = raised_by_ctrl_c()?;
        let weights = settings.weights_file.clone();
        // Only networks of our architecture can be inspected.
        let file = (!weights.is_empty()).then(|| Path::new(&weights));
        let eyes = LazyCell::new(|| load(file).ok().map(|network| CpuEvaluator::fastest(&network)));
        let sees = |game: &Game| eyes.as_ref().and_then(|eyes| Inspection::new(game, eyes).ok());
        let task = AnalysisTask {
            effort: match self.movetime {
                Some(time) => Effort::Time(time),
                None => Effort::Nodes(self.nodes.unwrap_or(NODES)),
            },
            rules: Rules { lines: self.multipv.max(1), glyphs: self.glyphs },
            workers: settings.threads,
            settings: &format!("options {}", options.join(" ")),
            out: &out,
            html: self.html.as_deref().map(|path| (path, &sees as NetworkView<'_>)),
            player: self
                .player
                .as_deref()
                .map(|name| PlayerTask { name, csv: self.csv.as_deref() }),
            announce: &|cost| write_stderr(cost),
            // Relaxed: the flag publishes nothing else.
            stop: &|| raised.load(Ordering::Relaxed),
        };
        // Positions are searched in parallel, each by one thread: a thread never waits for another one's tree.
        let analyst = Analyst::new(&Installed::default(), Settings { threads: 1, ..settings })?;
        let AnalysisOutcome { tally, last, stopped } = run(batches, &analyst, &task)?;

        let mut sink = StdoutSink::default();
        let Tally { games, cut, copied, .. } = tally;
        let analysed = counted(games, "game");
        let cut = if cut > 0 { format!(", {cut} of them not read whole") } else { String::new() };
        let copied =
            if copied > 0 { format!("; {copied} copied unchanged") } else { String::new() };
        sink.say(format_args!("{analysed} in {}{cut}{copied}", out.display()));
        if let Some(path) = &self.html {
            sink.say(format_args!("the page is {}", path.display()));
        }
        if let Some(path) = self.csv.as_ref().filter(|_| !stopped) {
            sink.say(format_args!("the player's games are in {}", path.display()));
        }
        if stopped {
            sink.say(format_args!(
                "stopped after {} of {} searches of the last games; the same command goes on from {}",
                last.searched,
                last.positions,
                journal_path(&out).display()
            ));
        }
        sink.end()
    }

    /// Rejects a player without games before hours of work; standard input can be read only once.
    fn find_player(&self) -> Result<(), Failure> {
        let Some(name) = &self.player else { return Ok(()) };
        if self.html.is_none() && self.csv.is_none() {
            return Err("--player NAME needs --html FILE.html or --csv FILE.csv".into());
        }
        if self.files.iter().any(|file| file == Path::new(STDIN)) {
            return Ok(());
        }
        match player::find(&self.files, name)? {
            Ok(()) => Ok(()),
            Err(others) if others.is_empty() => {
                Err(format!("--player {name}: no game has a player's name").into())
            }
            Err(others) => {
                let others = others.join("; ");
                Err(format!("--player {name}: no game is theirs; most are of {others}").into())
            }
        }
    }

    /// Rejects outputs that would overwrite other files of the command.
    fn check(&self, out: &Path, settings: &Settings) -> Result<(), Failure> {
        let named = |argument, path| NamedFile { argument, path };
        let journal = journal_path(out);
        let weights = Some(Path::new(&settings.weights_file)).filter(|file| file.is_file());
        let mut inputs: Vec<NamedFile<'_>> =
            self.files.iter().map(|file| named("GAME.pgn", file)).collect();
        inputs.retain(|input| input.path != Path::new(STDIN));
        inputs.extend(weights.map(|file| named("WeightsFile", file)));
        let mut outputs = vec![named("--out", out), named("the journal of --out", &journal)];
        outputs.extend(self.html.as_ref().map(|page| named("--html", page)));
        outputs.extend(self.csv.as_ref().map(|table| named("--csv", table)));
        Ok(check_outputs(&inputs, &outputs)?)
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = read_settings(&self.options)?;
        let is_given = self.options.iter().any(|(name, _)| name.eq_ignore_ascii_case("Threads"));
        let wanted = self.threads.or(is_given.then_some(settings.threads));
        settings.threads = host::threads(wanted.unwrap_or_else(cores));
        settings.multipv = self.multipv.max(1);
        // Only a tree search has lines for several moves, which the glyphs rest on.
        match &settings.search {
            Search::Mcts | Search::Rollout => Ok(settings),
            other => {
                let given = other.name();
                Err(format!("option Search: expected mcts or rollout, got {given}").into())
            }
        }
    }
}

/// `games.pgn` and `games.pgn.gz` become `games-analysed.pgn`.
fn beside(file: &Path) -> PathBuf {
    let packed = file.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    let bare = if packed { file.with_extension("") } else { file.to_owned() };
    let stem = bare.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-analysed.pgn"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fs;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        analyse: Analyse,
    }

    #[test]
    fn a_search_without_a_tree_is_refused() {
        let settings = |search: &str| {
            let option = format!("Search={search}");
            Words::parse_from(["mavka", "games.pgn", "--option", &option]).analyse.settings()
        };
        assert!(settings("rollout").is_ok());
        for search in ["policy", "alpha-beta"] {
            let why = settings(search).err().map(|why| why.to_string()).unwrap();
            assert!(why.contains("expected mcts or rollout"), "{why}");
        }
    }

    #[test]
    fn outputs_that_are_inputs_are_refused_before_the_games_are_read() {
        let folder = std::env::temp_dir().join(format!("mavka-analyse-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).display().to_string();
        for name in ["in.pgn", "a.pgn.part", "a.pgn.journal"] {
            fs::write(path(name), "no game").unwrap();
        }
        for (input, rest) in [
            ("in.pgn", vec!["--html", "in.pgn"]),
            ("in.pgn", vec!["--out", "in.pgn"]),
            ("in.pgn", vec!["--out", "a.pgn", "--html", "a.pgn"]),
            ("in.pgn", vec!["--out", "a.pgn", "--html", "a.pgn.journal"]),
            ("a.pgn.part", vec!["--out", "a.pgn"]),
            ("a.pgn.journal", vec!["--out", "a.pgn"]),
        ] {
            let place =
                |word: &&str| if word.starts_with("--") { (*word).to_owned() } else { path(word) };
            let words = ["mavka".to_owned(), path(input)].into_iter().chain(rest.iter().map(place));
            let why = Words::parse_from(words).analyse.run().unwrap_err().to_string();
            assert!(why.contains("would overwrite"), "{input} {rest:?}: {why}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
