//! The league's memory: a file to which every finished game is appended as one line, so that a kill costs
//! no more than the games in progress. The next run takes it from there; all reports are made of it.
//!
//! The first line names the league, a line for each agent says what played under that name. A last line
//! that was cut is dropped; a file that is no such journal is never written to.

use super::book::Entry;
use super::config::{Agent, League};
use super::openings::Opening;
use super::rules::{Ending, Played, Ply, Warnings};
use crate::chess::game::Game;
use serde::{Deserialize, Serialize};
use shakmaty::uci::UciMove;
use shakmaty::{ByColor, Color, Position};
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use uci::Score;

/// Of the file's format.
const VERSION: u32 = 1;
/// How every journal begins.
const BEGINNING: &str = "{\"mavka league journal\":";

#[derive(Serialize, Deserialize, PartialEq)]
struct Header {
    #[serde(rename = "mavka league journal")]
    version: u32,
    name: String,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Agent(Who),
    Game(Box<GameLine>),
}

/// What plays under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Who {
    name: String,
    command: Option<String>,
    options: Vec<(String, String)>,
    limit: String,
    /// What the words above do not say: which network.
    identity: String,
}

impl Who {
    fn new(agent: &Agent, identity: &str) -> Who {
        Who {
            name: agent.name.clone(),
            command: agent.command.clone(),
            options: agent.options.clone(),
            limit: agent.limit.to_string(),
            identity: identity.to_owned(),
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Who { command, options, limit, identity, .. } = self;
        write!(f, "{}, {limit}", command.as_deref().unwrap_or("this program"))?;
        for (name, value) in options {
            write!(f, ", {name} {value}")?;
        }
        if identity.is_empty() { Ok(()) } else { write!(f, ", {identity}") }
    }
}

/// Move, score (`31` or `#3`), depth, nodes, microseconds.
type PlyWords = (String, Option<String>, Option<u32>, Option<u64>, u64);

/// A game as it is written.
#[derive(Serialize, Deserialize)]
struct GameLine {
    pair: usize,
    game: usize,
    white: String,
    black: String,
    date: String,
    fen: String,
    chess960: bool,
    line: usize,
    /// 1, 0, or -1 for Black.
    result: i8,
    ending: String,
    /// Whose fault it was, and what it said.
    guilty: Option<String>,
    #[serde(default)]
    words: String,
    warnings: [Warnings; 2],
    plies: Vec<PlyWords>,
}

/// Why there is no journal.
#[derive(Debug)]
pub enum JournalError {
    /// The file cannot be read or written.
    File(PathBuf, io::Error),
    /// It is something else.
    NoJournal(PathBuf),
    /// It is of a league of another name or seed.
    OtherLeague(PathBuf, String, u64),
    /// Another player played under this name.
    OtherAgent {
        /// The file.
        path: PathBuf,
        /// The agent.
        name: String,
        /// What it was.
        was: String,
        /// What it is.
        is: String,
    },
    /// Another process is playing this league.
    InUse(PathBuf),
    /// A whole line says something that cannot be.
    Damaged(PathBuf, usize),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = "give it another name, or choose another --out";
        match self {
            JournalError::File(path, why) => write!(f, "{}: {why}", path.display()),
            JournalError::NoJournal(path) => {
                write!(f, "{} is no journal of a league; choose another --out", path.display())
            }
            JournalError::OtherLeague(path, name, seed) => {
                let path = path.display();
                write!(f, "{path} is of the league `{name}` with seed {seed}; choose another --out")
            }
            JournalError::OtherAgent { path, name, was, is } => {
                let path = path.display();
                write!(f, "{path}: `{name}` has played as ({was}) and is now ({is}); {advice}")
            }
            JournalError::InUse(path) => {
                write!(f, "{}: another process is playing this league", path.display())
            }
            JournalError::Damaged(path, line) => {
                write!(f, "{}: line {line} is no game of this league", path.display())
            }
        }
    }
}

impl std::error::Error for JournalError {}

/// The open file.
pub struct Journal {
    path: PathBuf,
    file: File,
    names: Vec<String>,
}

impl Journal {
    /// Opens the journal at `path`, or begins one. `identities` say of each agent what its words do not.
    /// Answers the games so far, but those of agents that the league has no more.
    ///
    /// # Errors
    /// The file cannot be used, or is of something else.
    pub fn open(
        path: &Path,
        league: &League,
        identities: &[String],
    ) -> Result<(Journal, Vec<Entry>), JournalError> {
        let failed = |why| JournalError::File(path.to_owned(), why);
        let text = match fs::read_to_string(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(failed)?,
        };
        let agents: Vec<Who> = league
            .agents
            .iter()
            .enumerate()
            .map(|(number, agent)| {
                Who::new(agent, identities.get(number).map_or("", String::as_str))
            })
            .collect();
        let names: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
        // Nothing is written before it is known to be ours.
        Read::new(path, &text, league, &names, Some(&agents))?;
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse(path.to_owned())),
            Err(TryLockError::Error(why)) => return Err(failed(why)),
        }
        // Read again under the lock: somebody may have written meanwhile.
        let text = fs::read_to_string(path).map_err(failed)?;
        let read = Read::new(path, &text, league, &names, Some(&agents))?;
        file.set_len(read.whole as u64).map_err(failed)?;
        if read.whole == 0 {
            let Header { version, name, seed } = header(league);
            write_line(&mut file, &Header { version, name, seed }).map_err(failed)?;
        }
        for agent in agents.iter().filter(|agent| !read.known.contains_key(&agent.name)) {
            write_line(&mut file, &Line::Agent(agent.clone())).map_err(failed)?;
        }
        Ok((Journal { path: path.to_owned(), file, names }, read.games))
    }

    /// The games of the journal at `path`, which another process may be writing, whatever played them.
    ///
    /// # Errors
    /// The file cannot be read, or is of something else.
    pub fn look(path: &Path, league: &League) -> Result<Vec<Entry>, JournalError> {
        let failed = |why| JournalError::File(path.to_owned(), why);
        let text = fs::read_to_string(path).map_err(failed)?;
        let names: Vec<String> = league.agents.iter().map(|agent| agent.name.clone()).collect();
        Ok(Read::new(path, &text, league, &names, None)?.games)
    }

    /// Remembers a game.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let line = Line::Game(Box::new(self.line(entry)));
        write_line(&mut self.file, &line).map_err(|why| JournalError::File(self.path.clone(), why))
    }

    fn line(&self, entry: &Entry) -> GameLine {
        let name = |color: Color| self.names.get(entry.agents[color]).cloned().unwrap_or_default();
        let mode = entry.opening.position.castles().mode();
        let (ending, guilty, words) = to_words(&entry.played.ending);
        let plies = entry.played.plies.iter().map(|ply| {
            let micros = u64::try_from(ply.elapsed.as_micros()).unwrap_or(u64::MAX);
            let score = ply.score.map(|score| match score {
                Score::Centipawns(score) => score.to_string(),
                Score::Mate(moves) => format!("#{moves}"),
            });
            (ply.action.to_uci(mode).to_string(), score, ply.depth, ply.nodes, micros)
        });
        GameLine {
            pair: entry.pair,
            game: entry.game,
            white: name(Color::White),
            black: name(Color::Black),
            date: entry.date.clone(),
            fen: entry.opening.fen(),
            chess960: entry.opening.chess960(),
            line: entry.opening.line,
            result: match entry.played.winner {
                Some(Color::White) => 1,
                Some(Color::Black) => -1,
                None => 0,
            },
            ending: ending.to_owned(),
            guilty: guilty.map(|color| color.to_string()),
            words,
            warnings: [entry.played.warnings.white, entry.played.warnings.black],
            plies: plies.collect(),
        }
    }
}

fn header(league: &League) -> Header {
    Header { version: VERSION, name: league.name.clone(), seed: league.seed }
}

/// A journal's text, understood.
struct Read {
    known: HashMap<String, Who>,
    games: Vec<Entry>,
    /// Bytes that are whole lines.
    whole: usize,
}

impl Read {
    fn new(
        path: &Path,
        text: &str,
        league: &League,
        names: &[String],
        agents: Option<&[Who]>,
    ) -> Result<Read, JournalError> {
        let mut read = Read { known: HashMap::new(), games: Vec::new(), whole: 0 };
        let lines = text.split_inclusive('\n').take_while(|line| line.ends_with('\n'));
        for (index, line) in lines.enumerate() {
            if index == 0 {
                let found: Header = serde_json::from_str(line)
                    .ok()
                    .filter(|header: &Header| header.version == VERSION)
                    .ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
                if found != header(league) {
                    let path = path.to_owned();
                    return Err(JournalError::OtherLeague(path, found.name, found.seed));
                }
            } else {
                let damaged = || JournalError::Damaged(path.to_owned(), index + 1);
                match serde_json::from_str(line).map_err(|_| damaged())? {
                    Line::Agent(was) => read.meet(path, was, agents.unwrap_or_default())?,
                    Line::Game(line) => {
                        let number = |name: &str| names.iter().position(|known| known == name);
                        if let (Some(white), Some(black)) =
                            (number(&line.white), number(&line.black))
                        {
                            let agents = ByColor { white, black };
                            read.games.push(entry(*line, agents).ok_or_else(damaged)?);
                        }
                    }
                }
            }
            read.whole += line.len();
        }
        // A header cut short is ours; anything else is somebody's file.
        let cut = BEGINNING.starts_with(text.get(..BEGINNING.len()).unwrap_or(text));
        if read.whole == 0 && !text.is_empty() && !cut {
            return Err(JournalError::NoJournal(path.to_owned()));
        }
        Ok(read)
    }

    fn meet(&mut self, path: &Path, was: Who, agents: &[Who]) -> Result<(), JournalError> {
        match agents.iter().find(|agent| agent.name == was.name) {
            Some(is) if *is != was => Err(JournalError::OtherAgent {
                path: path.to_owned(),
                name: was.name.clone(),
                was: was.to_string(),
                is: is.to_string(),
            }),
            _ => {
                self.known.insert(was.name.clone(), was);
                Ok(())
            }
        }
    }
}

/// The game of a line; None if it is none.
fn entry(line: GameLine, agents: ByColor<usize>) -> Option<Entry> {
    let start = Game::from_fen(&line.fen, line.chess960).ok()?;
    let opening = Opening { position: start.position().clone(), line: line.line };
    let mut position = opening.position.clone();
    let mut plies = Vec::with_capacity(line.plies.len());
    for (text, score, depth, nodes, micros) in line.plies {
        let action = text.parse::<UciMove>().ok()?.to_move(&position).ok()?;
        let score = match score.as_deref() {
            None => None,
            Some(text) => Some(match text.strip_prefix('#') {
                Some(moves) => Score::Mate(moves.parse().ok()?),
                None => Score::Centipawns(text.parse().ok()?),
            }),
        };
        let elapsed = Duration::from_micros(micros);
        plies.push(Ply { color: position.turn(), action, score, depth, nodes, elapsed });
        position.play_unchecked(action);
    }
    let winner = match line.result {
        1 => Some(Color::White),
        -1 => Some(Color::Black),
        _ => None,
    };
    let guilty = match line.guilty.as_deref() {
        Some("white") => Some(Color::White),
        Some("black") => Some(Color::Black),
        _ => None,
    };
    let ending = from_words(&line.ending, guilty, line.words)?;
    let [white, black] = line.warnings;
    let warnings = ByColor { white, black };
    Some(Entry {
        pair: line.pair,
        game: line.game,
        agents,
        date: line.date,
        opening,
        played: Played { plies, winner, ending, warnings },
    })
}

/// The endings that need no more than their name.
const PLAIN: [(&str, Ending); 8] = [
    ("checkmate", Ending::Checkmate),
    ("stalemate", Ending::Stalemate),
    ("insufficient material", Ending::InsufficientMaterial),
    ("repetition", Ending::Repetition),
    ("fifty moves", Ending::FiftyMoves),
    ("length", Ending::MaxPlies),
    ("draw adjudicated", Ending::DrawAdjudicated),
    ("win adjudicated", Ending::WinAdjudicated),
];

fn to_words(ending: &Ending) -> (&'static str, Option<Color>, String) {
    match ending {
        Ending::TimeLoss(color) => ("time", Some(*color), String::new()),
        Ending::IllegalMove(color, words) => ("illegal move", Some(*color), words.clone()),
        Ending::Crash(color, words) => ("crash", Some(*color), words.clone()),
        Ending::Stall(color) => ("stall", Some(*color), String::new()),
        plain => {
            let name = PLAIN.iter().find(|(_, ending)| ending == plain);
            (name.map_or("", |(name, _)| name), None, String::new())
        }
    }
}

fn from_words(name: &str, guilty: Option<Color>, words: String) -> Option<Ending> {
    Some(match (name, guilty) {
        ("time", Some(color)) => Ending::TimeLoss(color),
        ("illegal move", Some(color)) => Ending::IllegalMove(color, words),
        ("crash", Some(color)) => Ending::Crash(color, words),
        ("stall", Some(color)) => Ending::Stall(color),
        _ => PLAIN.iter().find(|(plain, _)| *plain == name)?.1.clone(),
    })
}

/// One call of `write`, so that a kill leaves whole lines but the last.
fn write_line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Chess;

    const LEAGUE: &str = "name = 'l'\ngames = 10\nlimit = { nodes = 5 }\n[[agent]]\nname = 'a'\n\
                          [[agent]]\nname = 'b'\n";

    fn league(text: &str) -> League {
        League::read(text).unwrap()
    }

    fn game(pair: usize, ending: Ending) -> Entry {
        let fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 3 9";
        let opening = super::super::openings::read(fen, pair % 2 == 1).unwrap().remove(0);
        let mut position: Chess = opening.position.clone();
        let mut plies = Vec::new();
        for (index, word) in ["e1h1", "a7a6", "g1h1"].into_iter().enumerate() {
            let action = word.parse::<UciMove>().unwrap().to_move(&position).unwrap();
            let score = [Some(Score::Centipawns(-31)), Some(Score::Mate(-2)), None][index];
            let (depth, nodes) = (score.map(|_| 7), score.map(|_| 1 << 40));
            let elapsed = Duration::from_micros(12_345 * index as u64);
            plies.push(Ply { color: position.turn(), action, score, depth, nodes, elapsed });
            position.play_unchecked(action);
        }
        let warnings = ByColor { white: [1, 0, 0, 2, 0, 0], black: [0; 6] };
        let played = Played { plies, winner: Some(Color::Black), ending, warnings };
        let agents = ByColor { white: pair % 2, black: 1 - pair % 2 };
        Entry { pair, game: 1, agents, date: "2026.01.31".to_owned(), opening, played }
    }

    fn endings() -> Vec<Ending> {
        let mut all: Vec<Ending> = PLAIN.iter().map(|(_, ending)| ending.clone()).collect();
        for color in Color::ALL {
            all.extend([
                Ending::TimeLoss(color),
                Ending::IllegalMove(color, "e2\"e5".to_owned()),
                Ending::Crash(color, "exit 1\nline".to_owned()),
                Ending::Stall(color),
            ]);
        }
        all
    }

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("mavka-league-{name}-{}", std::process::id()))
    }

    #[test]
    fn games_come_back_as_they_were_and_a_cut_loses_one_at_most() {
        let path = path("cut");
        let _ = fs::remove_file(&path);
        let (league, who) = (league(LEAGUE), ["n1".to_owned(), "n1".to_owned()]);
        let (mut journal, games) = Journal::open(&path, &league, &who).unwrap();
        assert!(games.is_empty());
        let written: Vec<Entry> =
            endings().into_iter().enumerate().map(|(pair, ending)| game(pair, ending)).collect();
        written.iter().for_each(|entry| journal.add(entry).unwrap());
        drop(journal);
        let text = fs::read(&path).unwrap();
        for length in (0..=text.len()).step_by(13).chain([text.len()]) {
            fs::write(&path, &text[..length]).unwrap();
            let lines = text[..length].iter().filter(|byte| **byte == b'\n').count();
            let (mut journal, games) = Journal::open(&path, &league, &who).unwrap();
            assert_eq!(games.len(), lines.saturating_sub(3), "cut at {length}");
            for (read, written) in games.iter().zip(&written) {
                assert_eq!(read.played.plies, written.played.plies);
                assert_eq!(read.played.ending, written.played.ending);
                assert_eq!(read.played.winner, written.played.winner);
                assert_eq!(read.played.warnings, written.played.warnings);
                assert_eq!(read.agents, written.agents);
                assert_eq!(read.opening.fen(), written.opening.fen());
                assert_eq!(read.opening.chess960(), written.opening.chess960());
            }
            journal.add(&game(99, Ending::Checkmate)).unwrap();
            drop(journal);
            let games = Journal::open(&path, &league, &who).unwrap().1;
            assert_eq!(games.last().map(|entry| entry.pair), Some(99));
        }
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn agents_may_come_and_go_but_not_change() {
        let path = path("agents");
        let _ = fs::remove_file(&path);
        let who = ["n1".to_owned(), "n1".to_owned()];
        let (mut journal, _) = Journal::open(&path, &league(LEAGUE), &who).unwrap();
        journal.add(&game(0, Ending::Checkmate)).unwrap();
        drop(journal);
        let more = format!("{LEAGUE}[[agent]]\nname = 'c'\nnodes = 9\n");
        let all = ["n1".to_owned(), "n1".to_owned(), String::new()];
        let (held, games) = Journal::open(&path, &league(&more), &all).unwrap();
        assert_eq!(games.len(), 1);
        let second = Journal::open(&path, &league(&more), &all).err();
        assert!(matches!(second, Some(JournalError::InUse(_))), "one writer at a time");
        assert_eq!(Journal::look(&path, &league(&more)).unwrap().len(), 1, "readers are free");
        drop(held);
        let fewer = more.replace("name = 'a'", "name = 'd'");
        assert_eq!(Journal::open(&path, &league(&fewer), &all).unwrap().1.len(), 0);
        let refused = |text: &str, who: &[String]| {
            Journal::open(&path, &league(text), who).err().unwrap().to_string()
        };
        let told = refused(&more.replace("nodes = 9", "nodes = 8"), &all);
        assert!(told.contains("9 nodes") && told.contains("8 nodes"), "{told}");
        let told = refused(LEAGUE, &["n2".to_owned(), "n1".to_owned()]);
        assert!(told.contains("n1") && told.contains("n2") && told.contains("`a`"), "{told}");
        let told = refused(&LEAGUE.replace("'l'", "'m'"), &who);
        assert!(told.contains("league `l`"), "{told}");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn other_files_are_left_alone() {
        let path = path("other");
        for text in ["1. e4 e5 *", "{}\n", "1. e4 e5 *\n"] {
            fs::write(&path, text).unwrap();
            let opened = Journal::open(&path, &league(LEAGUE), &[]);
            assert!(matches!(opened, Err(JournalError::NoJournal(_))), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
    }
}
