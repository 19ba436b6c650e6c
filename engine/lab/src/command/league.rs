//! `mavka-lab league`: reads the configuration, starts the processes, shows the progress and writes the files;
//! [`crate::league`] plays.

use super::args::{Program, read_openings};
use crate::league::book::{Book, Entry};
use crate::league::config::{Agent, League as Plan};
use crate::league::journal::Journal;
use crate::league::report;
use crate::league::standings::{Standings, cross_csv};
use crate::league::tournament::{Listener, Tournament};
use crate::matches::pgn;
use crate::matches::stage::Stage;
use crate::uci_client::{Fault, Timeouts};
use chess::quote::printable;
use clap::Args;
use engine::command::args::{positive, settings_of};
use engine::command::output::{Failure, StdoutSink};
use engine::markup::counted;
use engine::play::network::load;
use engine::process::errors::FileError;
use engine::process::files::{
    NamedFile, check_folder, check_outputs, check_shared, make_folder, read_whole_text, write_whole,
};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::answer_ctrl_c;
use engine::process::shard::Shard;
use engine::process::stderr_log::write_stderr;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Engines that a worker keeps running between games: starting one costs about as much as a short game.
const KEPT_ENGINES: usize = 4;
/// Marks a folder as a league's: its other files may be replaced.
const JOURNAL: &str = "games.jsonl";
/// Minimum time between updates of the tables, and of games and report.
const TABLES_INTERVAL: Duration = Duration::from_secs(5);
const REPORT_INTERVAL: Duration = Duration::from_secs(600);

/// Play a league of many agents and rate them.
///
/// The configuration names the agents: this program with any of its options, or other UCI engines. Every
/// finished game is written down at once; run again with the same folder, it goes on where it was.
#[derive(Args, Clone, Debug)]
pub struct LeagueArgs {
    /// Configuration (TOML).
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Folder of games, tables and report [default: the configuration's name without its ending].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Games in all, earlier ones included, instead of the configuration's.
    #[arg(long, value_name = "N", value_parser = positive())]
    games: Option<usize>,
    /// Games at the same time, instead of the configuration's.
    #[arg(long, value_name = "N", value_parser = positive())]
    concurrency: Option<usize>,
    /// Starting positions, one EPD or FEN a line, or the last positions of a PGN file's games, instead of the
    /// configuration's.
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
    /// Play the K-th of N parts of the games alone, for several processes or machines, each with its own --out
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    shard: Shard,
    /// Play nothing: add the games of other folders of this league to --out, and write tables and report
    #[arg(long, value_name = "FOLDER", num_args = 1.., conflicts_with = "report")]
    merge: Vec<PathBuf>,
    /// Play nothing: write tables and report of the games there are, even while another process plays.
    #[arg(long)]
    report: bool,
    /// Seconds to wait for a move where no clock runs.
    #[arg(long, default_value_t = 600, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    stall: u64,
}

impl LeagueArgs {
    /// Plays the league and prints its table.
    ///
    /// # Errors
    /// A file cannot be read or written, the configuration makes no sense, or an engine does not start.
    pub fn run(self) -> Result<(), Failure> {
        let text = read_whole_text(&self.config)?;
        let mut plan = Plan::read(&text).map_err(FileError::of(&self.config))?;
        let pairs = self.games.unwrap_or(plan.games).div_ceil(2) as u64;
        plan.games = 2 * usize::try_from(self.shard.count(pairs)).unwrap_or(usize::MAX / 2);
        plan.concurrency = self.concurrency.unwrap_or(plan.concurrency).max(1);
        let out = self.out.clone().unwrap_or_else(|| self.config.with_extension(""));
        let out = match (&self.out, out.file_name()) {
            (None, Some(name)) => PathBuf::from(name),
            _ => out,
        };
        let files = Files { folder: out };
        files.check(&[NamedFile { argument: "CONFIG.toml", path: &self.config }])?;
        if self.report {
            let mut book = Book::default();
            let games = Journal::look(&files.journal(), &plan)?;
            games.into_iter().for_each(|entry| book.add(entry));
            files.write(&plan, &book)?;
            return print(&plan, &book);
        }
        if !self.merge.is_empty() {
            return self.merge(&plan, &files);
        }
        self.play(&plan, files)
    }

    /// Adds the games of other folders.
    fn merge(&self, plan: &Plan, files: &Files) -> Result<(), Failure> {
        let identities = identities(plan, self.config.parent().unwrap_or(Path::new("")))?;
        make_folder(&files.folder).map_err(FileError::of(&files.folder))?;
        let (mut journal, past) = Journal::open(&files.journal(), plan, &identities)?;
        let mut known: BTreeSet<(usize, usize)> =
            past.games.iter().map(|entry| (entry.pair, entry.game)).collect();
        let mut book = Book::default();
        past.games.into_iter().for_each(|entry| book.add(entry));
        for folder in &self.merge {
            let new = journal.merge(&folder.join(JOURNAL), plan, &known)?;
            known.extend(new.iter().map(|entry| (entry.pair, entry.game)));
            write_stderr(format_args!("{}: {}", folder.display(), counted(new.len(), "new game")));
            new.into_iter().for_each(|entry| book.add(entry));
        }
        files.write(plan, &book)?;
        print(plan, &book)
    }

    fn play(&self, plan: &Plan, files: Files) -> Result<(), Failure> {
        let folder = self.config.parent().unwrap_or(Path::new(""));
        let beside = plan.openings.as_ref().map(|name| folder.join(name));
        let openings = match self.openings.as_ref().or(beside.as_ref()) {
            Some(path) => {
                files.check(&[NamedFile { argument: "openings", path }])?;
                read_openings(path, plan.chess960)?
            }
            None => Vec::new(),
        };
        let identities = identities(plan, folder)?;
        let programs: Vec<Program> = plan
            .agents
            .iter()
            .map(|agent| Program::new(agent.command.as_deref(), options_in(folder, agent)))
            .collect::<Result<_, _>>()?;
        let timeouts = Timeouts { think: Duration::from_secs(self.stall), ..Timeouts::default() };
        try_out(plan, &programs, timeouts)?;
        let stop = raised_by_ctrl_c()?;
        make_folder(&files.folder).map_err(FileError::of(&files.folder))?;
        let (journal, past) = Journal::open(&files.journal(), plan, &identities)?;
        let bar = bar(plan.games, past.games.len());
        answer_ctrl_c(&stop, &bar);
        let mut watch = Progress {
            plan,
            journal,
            bar,
            files,
            stop,
            tables: Instant::now(),
            report: Instant::now(),
            error: None,
        };
        let mut tournament = Tournament::new(plan, openings, past, &mut watch).sharded(self.shard);
        let stage = Stage { concurrency: plan.concurrency, kept: KEPT_ENGINES, rules: plan.rules };
        let fault = stage.run(&mut tournament, |agent| {
            // Retried once: a short overload must not end a league of days.
            let started = programs[agent].start(timeouts);
            let started = started.or_else(|_| programs[agent].start(timeouts));
            started.map_err(|fault| Fault::Absent(of_agent(&plan.agents[agent], &fault)))
        });
        let book = tournament.into_book();
        watch.bar.finish_and_clear();
        watch.files.write(plan, &book)?;
        print(plan, &book)?;
        match (watch.error, fault) {
            (Some(error), _) => Err(error),
            (None, Some(fault)) => Err(fault.into()),
            (None, None) => Ok(()),
        }
    }
}

fn print(plan: &Plan, book: &Book) -> Result<(), Failure> {
    let mut out = StdoutSink::default();
    out.say(Standings::new(plan, book).text(plan, book.games().len()).trim_end());
    out.end()
}

/// Starts every other engine once, all at the same time: a wrong command line or option, or an engine without an answer,
/// ends the league before its first game. Loads no network.
fn try_out(plan: &Plan, programs: &[Program], timeouts: Timeouts) -> Result<(), Failure> {
    let others = plan.agents.iter().zip(programs);
    let others = others.filter(|(agent, _)| agent.command.is_some() && !agent.retired);
    let faults: Vec<String> = thread::scope(|scope| {
        let trials = others.map(|(agent, program)| {
            scope.spawn(move || program.try_out(timeouts).err().map(|why| of_agent(agent, &why)))
        });
        let trials: Vec<_> = trials.collect();
        trials.into_iter().filter_map(|trial| trial.join().ok().flatten()).collect()
    });
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

fn of_agent(agent: &Agent, why: &dyn fmt::Display) -> String {
    format!("agent `{}`: {why}", agent.name)
}

/// Identity of each agent beyond its configuration: version of this program and network. Also detects unknown options
/// before the first game.
fn identities(plan: &Plan, folder: &Path) -> Result<Vec<String>, Failure> {
    let mut networks = HashMap::new();
    plan.agents.iter().map(|agent| identity(agent, folder, &mut networks)).collect()
}

/// The agent's options. A relative network path of this program that does not exist here is tried in `folder`, the
/// configuration's.
fn options_in(folder: &Path, agent: &Agent) -> Vec<(String, String)> {
    let placed = |(name, value): &(String, String)| {
        let beside = folder.join(value);
        let ours = agent.command.is_none() && name.eq_ignore_ascii_case("WeightsFile");
        let found = ours && !Path::new(value).is_file() && beside.is_file();
        let value = if found { beside.to_string_lossy().into_owned() } else { value.clone() };
        (name.clone(), value)
    };
    agent.options.iter().map(placed).collect()
}

fn identity(
    agent: &Agent,
    folder: &Path,
    networks: &mut HashMap<String, String>,
) -> Result<String, Failure> {
    if agent.command.is_some() || agent.retired {
        return Ok(String::new());
    }
    let named = |why: &dyn fmt::Display| of_agent(agent, why);
    let (settings, bent) = settings_of(&options_in(folder, agent)).map_err(|why| named(&why))?;
    if let Some(bent) = bent.first() {
        return Err(named(bent).into());
    }
    let version = format!("Mavka {}", env!("CARGO_PKG_VERSION"));
    if !settings.search.asks_network() {
        return Ok(version);
    }
    let file = settings.weights_file;
    if let Some(known) = networks.get(&file) {
        return Ok(known.clone());
    }
    let hash = load((!file.is_empty()).then(|| Path::new(&file)))?.hash;
    let identity = format!("{version}, network {hash}");
    networks.insert(file, identity.clone());
    Ok(identity)
}

/// Output files of a league.
struct Files {
    folder: PathBuf,
}

impl Files {
    /// Files beside the journal.
    const NAMES: [&str; 5] = ["games.pgn", "report.html", "table.txt", "ratings.csv", "cross.csv"];

    fn journal(&self) -> PathBuf {
        self.folder.join(JOURNAL)
    }

    /// Rejects a folder with other files, and outputs that are `inputs`.
    fn check(&self, inputs: &[NamedFile<'_>]) -> Result<(), Failure> {
        check_folder(&self.folder, &[JOURNAL], &Files::NAMES)?;
        let names = Files::NAMES.iter().chain([&JOURNAL]);
        let paths: Vec<PathBuf> = names.map(|name| self.folder.join(name)).collect();
        let outputs: Vec<NamedFile<'_>> =
            paths.iter().map(|path| NamedFile { argument: "--out", path }).collect();
        let check = if self.folder.is_dir() { check_outputs } else { check_shared };
        Ok(check(inputs, &outputs)?)
    }

    /// Tables only: fast.
    fn write_tables(&self, plan: &Plan, book: &Book, standings: &Standings) -> Result<(), Failure> {
        self.replace("table.txt", &standings.text(plan, book.games().len()))?;
        self.replace("ratings.csv", &standings.csv(plan))?;
        self.replace("cross.csv", &cross_csv(plan, book))
    }

    fn write(&self, plan: &Plan, book: &Book) -> Result<(), Failure> {
        let standings = Standings::new(plan, book);
        self.write_tables(plan, book, &standings)?;
        self.replace("games.pgn", &report::games(plan, book)?)?;
        let about = format!("Mavka {}, {}.", env!("CARGO_PKG_VERSION"), pgn::today());
        self.replace("report.html", &report::page(plan, book, &standings, &about))
    }

    fn replace(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        Ok(write_whole(&path, text).map_err(FileError::of(&path))?)
    }
}

/// Writes finished games and shows progress.
struct Progress<'a> {
    plan: &'a Plan,
    journal: Journal,
    bar: ProgressBar,
    files: Files,
    stop: Arc<AtomicBool>,
    tables: Instant,
    report: Instant,
    error: Option<Failure>,
}

impl Progress<'_> {
    fn take(&mut self, entry: &Entry, book: &Book) -> Result<(), Failure> {
        self.journal.add(entry)?;
        self.bar.inc(1);
        let games = book.games().len();
        let name = |agent: usize| self.plan.agents[agent].name.as_str();
        let ending = &entry.played.ending;
        if !["normal", "adjudication"].contains(&ending.termination()) {
            let (white, black) = (name(entry.agents.white), name(entry.agents.black));
            let line = format!("{white} - {black}, opening {}: {ending}", entry.opening.line);
            if self.bar.is_hidden() { write_stderr(line) } else { self.bar.println(line) }
        }
        let silent = self.bar.is_hidden();
        if silent && games.is_multiple_of(10) {
            write_stderr(format_args!("{games}/{}", self.plan.games));
        }
        if self.tables.elapsed() >= TABLES_INTERVAL {
            let standings = Standings::new(self.plan, book);
            self.files.write_tables(self.plan, book, &standings)?;
            let text = standings.text(self.plan, games);
            if silent && games.is_multiple_of(100) {
                write_stderr(&text);
            }
            self.bar.set_message(printable(&text).into_owned());
            self.tables = Instant::now();
        }
        if self.report.elapsed() >= REPORT_INTERVAL {
            self.files.write(self.plan, book)?;
            self.report = Instant::now();
        }
        Ok(())
    }
}

impl Listener for Progress<'_> {
    fn on_game(&mut self, entry: &Entry, book: &Book) -> bool {
        match self.take(entry, book) {
            Ok(()) => true,
            Err(error) => {
                self.error.get_or_insert(error);
                false
            }
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A progress bar with the table below it.
fn bar(games: usize, played: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(games as u64), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} games [{elapsed}, {eta} left]\n{msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_position(played as u64);
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn plan(agent: &str) -> Plan {
        let other = "[[agent]]\nname = 'other'\ncommand = 'x'";
        Plan::read(&format!(
            "name = 'l'\ngames = 2\nlimit = {{ nodes = 1 }}\n[[agent]]\nname = 'a'\n{agent}\n{other}"
        ))
        .unwrap()
    }

    #[test]
    fn options_are_understood_before_the_first_game() {
        let error_of = |agent| identities(&plan(agent), Path::new("")).unwrap_err().to_string();
        assert!(error_of("options = { Tash = 1 }").contains("agent `a`"));
        assert!(error_of("options = { CPuct = 99 }").contains("CPuct"));
        assert!(error_of("options = { WeightsFile = '/no/such' }").contains("/no/such"));
    }

    /// `cat` repeats `uci` and never says `uciok`.
    #[cfg(unix)]
    #[test]
    fn an_engine_without_an_answer_is_named_before_the_first_game() {
        let agents = "command = 'cat'\n[[agent]]\nname = 'gone'\ncommand = '/no/such/engine'";
        let plan = plan(agents);
        let programs: Vec<Program> = plan
            .agents
            .iter()
            .map(|agent| Program::new(agent.command.as_deref(), vec![]).unwrap())
            .collect();
        let timeouts = Timeouts { start: Duration::from_millis(20), ..Timeouts::default() };
        let why = try_out(&plan, &programs, timeouts).unwrap_err().to_string();
        for part in
            ["agent `a`", "cat", "did not answer `uci` in time", "agent `gone`", "/no/such/engine"]
        {
            assert!(why.contains(part), "{part} not in {why}");
        }
        let one = &plan.agents[..0];
        let none = Plan { agents: one.to_vec(), ..plan.clone() };
        try_out(&none, &[], timeouts).unwrap();
    }

    #[test]
    fn files_of_the_user_are_not_replaced() {
        let folder = std::env::temp_dir().join(format!("mavka-own-{}", std::process::id()));
        let files = Files { folder: folder.clone() };
        files.check(&[]).unwrap();
        fs::create_dir_all(&folder).unwrap();
        files.check(&[]).unwrap();
        fs::write(folder.join("games.pgn"), "1. e4 *").unwrap();
        let why = files.check(&[]).unwrap_err().to_string();
        assert!(why.contains("games.pgn") && why.contains("games.jsonl"), "{why}");
        fs::write(files.journal(), "").unwrap();
        files.check(&[]).unwrap();
        let path = &folder.join("table.txt");
        let why = files.check(&[NamedFile { argument: "openings", path }]).unwrap_err().to_string();
        assert!(why.contains("table.txt") && why.contains("openings"), "{why}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_network_that_is_not_here_is_looked_for_beside_the_configuration() {
        let folder = std::env::temp_dir().join(format!("mavka-beside-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let network = folder.join("one.safetensors");
        fs::write(&network, "").unwrap();
        let placed = |agent: &str| options_in(&folder, &plan(agent).agents[0]).pop().unwrap().1;
        let path = network.to_string_lossy().into_owned();
        assert_eq!(placed("options = { weightsfile = 'one.safetensors' }"), path);
        for other in [
            "options = { WeightsFile = 'two.safetensors' }",
            "options = { WeightsFile = '' }",
            "options = { SyzygyPath = 'one.safetensors' }",
            "command = 'lc0'\noptions = { WeightsFile = 'one.safetensors' }",
        ] {
            let as_written = plan(other).agents[0].options[0].1.clone();
            assert_eq!(placed(other), as_written, "{other}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_agent_is_known_by_its_network_if_it_asks_one() {
        let all = identities(&plan("options = { Search = 'policy' }"), Path::new("")).unwrap();
        assert!(all[0].contains("network "), "{all:?}");
        assert_eq!(all[1], "");
        let all = identities(&plan("options = { Search = 'rollout' }"), Path::new("")).unwrap();
        assert!(!all[0].contains("network"), "{all:?}");
    }
}
