//! Journal of a league: every finished game is appended as one line, so that a kill loses only the games in progress.
//! The next run resumes from it; reports are generated from it.
//!
//! The first line names the league; one line per agent identifies the player behind a name. A truncated last line is
//! dropped; a file that is no such journal is never written to. One of an earlier version is read in today's words, and
//! replaced by them before it is continued.

mod upgrade;

use super::book::{Entry, Resume};
use super::config::{Agent, League};
use crate::matches::rules::{Ending, PlayedGame, Ply, Warnings};
use crate::openings::Opening;
use chess::game::Game;
use engine::process::errors::{FileError, wraps};
use engine::process::files::{JournalFile, OpenError, is_cut_journal, whole_lines};
use nn::files::{MAX_TEXT, read_regular, write_whole};
use serde::{Deserialize, Serialize};
use shakmaty::uci::UciMove;
use shakmaty::{ByColor, Color, Position};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use uci::Score;
use upgrade::upgraded;

/// Version of the format.
const VERSION: u32 = 1;
/// Prefix of every journal.
const BEGINNING: &str = "{\"mavka-lab league journal\":";

#[derive(Serialize, Deserialize, PartialEq)]
struct Header {
    #[serde(rename = "mavka-lab league journal")]
    version: u32,
    name: String,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum JournalLine {
    Agent(AgentIdentity),
    Game(Box<GameLine>),
}

/// Identity of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AgentIdentity {
    name: String,
    command: Option<String>,
    options: Vec<(String, String)>,
    limit: String,
    /// Not covered by the fields above: the network.
    identity: String,
}

impl AgentIdentity {
    fn new(agent: &Agent, identity: &str) -> AgentIdentity {
        AgentIdentity {
            name: agent.name.clone(),
            command: agent.command.clone(),
            options: agent.options.clone(),
            limit: agent.limit.to_string(),
            identity: identity.to_owned(),
        }
    }

    /// Whether both are one player: the same program, options, limit and network, whatever the network's file is called.
    fn is_player(&self, other: &AgentIdentity) -> bool {
        let options = |agent: &AgentIdentity| {
            let mut options = agent.options.clone();
            options.retain(|(name, _)| agent.command.is_some() || name != "WeightsFile");
            options.sort();
            options
        };
        self.command == other.command
            && self.limit == other.limit
            && self.identity == other.identity
            && options(self) == options(other)
    }
}

impl fmt::Display for AgentIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AgentIdentity { command, options, limit, identity, .. } = self;
        write!(f, "{}, {limit}", command.as_deref().unwrap_or("this program"))?;
        for (name, value) in options {
            write!(f, ", {name} {value}")?;
        }
        if identity.is_empty() { Ok(()) } else { write!(f, ", {identity}") }
    }
}

/// Move, score (`31` or `#3`), depth, nodes, microseconds.
type PlyWords = (String, Option<String>, Option<u32>, Option<u64>, u64);

/// Serialized game.
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
    /// 1 = White won, 0 = draw, -1 = Black won.
    result: i8,
    ending: String,
    /// Side at fault, and its output.
    guilty: Option<String>,
    #[serde(default)]
    words: String,
    warnings: [Warnings; 2],
    plies: Vec<PlyWords>,
}

/// Error of a journal.
#[derive(Debug)]
pub enum JournalError {
    /// The file cannot be opened, or another process uses it.
    Open(OpenError),
    /// The file cannot be read or written.
    File(FileError),
    /// The file is no league journal.
    NoJournal(PathBuf),
    /// Journal of a league with another name or seed.
    OtherLeague(PathBuf, String, u64),
    /// Another player used this name.
    OtherAgent {
        /// The file.
        path: PathBuf,
        /// The agent.
        name: String,
        /// Identity in the journal.
        was: String,
        /// Present identity.
        is: String,
    },
    /// A complete line with invalid content.
    Damaged(PathBuf, usize),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = "give it another name, or choose another --out";
        match self {
            JournalError::Open(why) => why.fmt(f),
            JournalError::File(why) => why.fmt(f),
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
            JournalError::Damaged(path, line) => {
                write!(f, "{}: line {line} is no game of this league", path.display())
            }
        }
    }
}

impl std::error::Error for JournalError {}

wraps! { JournalError: Open(OpenError), File(FileError) }

/// An open journal.
pub struct Journal {
    file: JournalFile,
    names: Vec<String>,
    agents: Vec<AgentIdentity>,
}

impl Journal {
    /// Opens or creates the journal at `path`; also returns the state to resume from. `identities` complete the
    /// agents' configuration.
    ///
    /// # Errors
    /// The file cannot be used, or is another journal.
    pub fn open(
        path: &Path,
        league: &League,
        identities: &[String],
    ) -> Result<(Journal, Resume), JournalError> {
        let agents: Vec<AgentIdentity> = league
            .agents
            .iter()
            .enumerate()
            .map(|(number, agent)| {
                AgentIdentity::new(agent, identities.get(number).map_or("", String::as_str))
            })
            .collect();
        let names: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
        let mut file = JournalFile::open(path)?;
        let mut bytes = file.read()?;
        // While the file is locked, so that no other process appends to the old one.
        if let Some(new) = upgraded(&bytes) {
            write_whole(path, &new).map_err(FileError::of(path))?;
            file = JournalFile::open(path)?;
            bytes = file.read()?;
        }
        let retired = |agent: &&Agent| agent.retired;
        let retired = league.agents.iter().filter(retired).map(|agent| agent.name.as_str());
        let retired: BTreeSet<&str> = retired.collect();
        let playing = agents.iter().filter(|agent| !retired.contains(agent.name.as_str()));
        let playing: Vec<AgentIdentity> = playing.cloned().collect();
        let read = JournalContent::new(path, &bytes, league, &names, Some(&playing))?;
        file.truncate(read.whole, bytes.len())?;
        if read.whole == 0 {
            file.append(&header(league))?;
        }
        for agent in playing.iter().filter(|agent| !read.known.contains_key(&agent.name)) {
            file.append(&JournalLine::Agent(agent.clone()))?;
        }
        Ok((Journal { file, names, agents: playing }, read.past))
    }

    /// Reads the games of the journal at `path`, which another process may be writing. Agents' identities are not
    /// checked.
    ///
    /// # Errors
    /// The file cannot be read, or is another journal.
    pub fn look(path: &Path, league: &League) -> Result<Vec<Entry>, JournalError> {
        let bytes = read_journal(path)?;
        let names: Vec<String> = league.agents.iter().map(|agent| agent.name.clone()).collect();
        Ok(JournalContent::new(path, &bytes, league, &names, None)?.past.games)
    }

    /// Appends the games of another journal of the same league and the same agents that are not among `known`, and returns them.
    ///
    /// # Errors
    /// The other file is no such journal, or the file cannot be written.
    pub fn merge(
        &mut self,
        path: &Path,
        league: &League,
        known: &BTreeSet<(usize, usize)>,
    ) -> Result<Vec<Entry>, JournalError> {
        let bytes = read_journal(path)?;
        let read = JournalContent::new(path, &bytes, league, &self.names, Some(&self.agents))?;
        let mut new = read.past.games;
        new.retain(|entry| !known.contains(&(entry.pair, entry.game)));
        new.iter().try_for_each(|entry| self.add(entry))?;
        Ok(new)
    }

    /// Appends a game.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let line = JournalLine::Game(Box::new(self.line(entry)));
        Ok(self.file.append(&line)?)
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

/// The content of a journal that is not written to, in today's words.
fn read_journal(path: &Path) -> Result<Vec<u8>, JournalError> {
    let bytes = read_regular(path, MAX_TEXT).map_err(FileError::of(path))?;
    Ok(upgraded(&bytes).unwrap_or(bytes))
}

fn header(league: &League) -> Header {
    Header { version: VERSION, name: league.name.clone(), seed: league.seed }
}

/// Parsed content.
struct JournalContent {
    known: HashMap<String, AgentIdentity>,
    past: Resume,
    /// Length of the intact prefix in bytes.
    whole: usize,
}

impl JournalContent {
    fn new(
        path: &Path,
        bytes: &[u8],
        league: &League,
        names: &[String],
        agents: Option<&[AgentIdentity]>,
    ) -> Result<JournalContent, JournalError> {
        let mut read = JournalContent { known: HashMap::new(), past: Resume::default(), whole: 0 };
        for (index, line) in whole_lines(bytes).enumerate() {
            if index == 0 {
                let found: Header = serde_json::from_slice(line)
                    .ok()
                    .filter(|header: &Header| header.version == VERSION)
                    .ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
                if found != header(league) {
                    let path = path.to_owned();
                    return Err(JournalError::OtherLeague(path, found.name, found.seed));
                }
            } else {
                let damaged = || JournalError::Damaged(path.to_owned(), index + 1);
                match serde_json::from_slice(line).map_err(|_| damaged())? {
                    JournalLine::Agent(was) => read.meet(path, was, agents.unwrap_or_default())?,
                    JournalLine::Game(line) => {
                        read.past.next_pair = read.past.next_pair.max(line.pair.saturating_add(1));
                        let number = |name: &str| names.iter().position(|known| known == name);
                        if let (Some(white), Some(black)) =
                            (number(&line.white), number(&line.black))
                        {
                            let agents = ByColor { white, black };
                            read.past.games.push(entry(*line, agents).ok_or_else(damaged)?);
                        }
                    }
                }
            }
            read.whole += line.len();
        }
        if read.whole == 0 && !is_cut_journal(bytes, BEGINNING) {
            return Err(JournalError::NoJournal(path.to_owned()));
        }
        Ok(read)
    }

    fn meet(
        &mut self,
        path: &Path,
        was: AgentIdentity,
        agents: &[AgentIdentity],
    ) -> Result<(), JournalError> {
        match agents.iter().find(|agent| agent.name == was.name) {
            Some(is) if !is.is_player(&was) => Err(JournalError::OtherAgent {
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

/// The game of a line; None if it is invalid.
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
        played: PlayedGame { plies, winner, ending, warnings },
    })
}

/// Endings without further data.
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

#[cfg(test)]
mod tests;
