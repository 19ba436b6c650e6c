//! League configuration in TOML: agents, pairing, openings, rules. An unknown key is an error, so that a typo does not
//! select a default.

use super::pairing::Pairing;
use crate::matches::rules::{DrawRule, ResignRule, Rules};
use crate::uci_client::limit::Limit;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::time::Duration;

/// A player.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Unique name.
    pub name: String,
    /// The command line of an external engine; None for this program.
    pub command: Option<String>,
    /// UCI options, the league's own first, then the agent's.
    pub options: Vec<(String, String)>,
    /// Limit per move or per game.
    pub limit: Limit,
    /// Known rating in Elo: an anchor of the external scale.
    pub rating: Option<f64>,
    /// Agents of one curve differ only in their limit: one line in the plot of Elo over nodes.
    pub curve: Option<String>,
    /// Its games count, but it plays no more: its engine or network may be gone.
    pub retired: bool,
}

/// Agent with a fixed internal rating.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Name of the agent.
    pub agent: String,
    /// Its rating.
    #[serde(default)]
    pub elo: f64,
}

/// A league's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct League {
    /// Title of report and games.
    pub name: String,
    /// Seed of the opening order and of each game.
    pub seed: u64,
    /// Total number of games, including finished ones.
    pub games: usize,
    /// Number of concurrent games.
    pub concurrency: usize,
    /// File of openings, relative to the configuration's folder.
    pub openings: Option<String>,
    /// Play all openings as Chess960.
    pub chess960: bool,
    /// Pairing rule.
    pub pairing: Pairing,
    /// Rules of the referee.
    pub rules: Rules,
    /// Without an anchor, the average rating is 0.
    pub anchor: Option<Anchor>,
    /// The agents.
    pub agents: Vec<Agent>,
}

/// Error in a configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// Invalid TOML, or an unknown key.
    Toml(Box<toml::de::Error>),
    /// A contradictory or impossible value.
    Invalid(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Toml(why) => write!(f, "{why}"),
            ConfigError::Invalid(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ConfigError {}

/// The file's structure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    #[serde(default)]
    seed: u64,
    games: usize,
    #[serde(default = "one")]
    concurrency: usize,
    openings: Option<String>,
    #[serde(default)]
    chess960: bool,
    #[serde(default)]
    pairing: PairingName,
    /// The agent of a gauntlet.
    gauntlet: Option<String>,
    #[serde(default)]
    rules: RulesWords,
    anchor: Option<Anchor>,
    /// Default limit of all agents.
    #[serde(default)]
    limit: LimitWords,
    /// Options of all agents that are this program.
    #[serde(default)]
    options: BTreeMap<String, toml::Value>,
    agent: Vec<AgentWords>,
}

fn one() -> usize {
    1
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum PairingName {
    #[default]
    RoundRobin,
    Gauntlet,
    Uncertain,
    Efficient,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RulesWords {
    /// Milliseconds.
    margin: Option<u64>,
    max_plies: Option<usize>,
    /// Start move, number of moves, centipawns.
    draw: Option<[u16; 3]>,
    /// Number of moves, centipawns.
    resign: Option<[u16; 2]>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LimitWords {
    tc: Option<String>,
    movetime: Option<u64>,
    nodes: Option<u64>,
    depth: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct AgentWords {
    name: String,
    command: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, toml::Value>,
    rating: Option<f64>,
    curve: Option<String>,
    #[serde(default)]
    retired: bool,
    tc: Option<String>,
    movetime: Option<u64>,
    nodes: Option<u64>,
    depth: Option<u32>,
}

impl League {
    /// Parses a configuration.
    ///
    /// # Errors
    /// The line, or the invalid value.
    pub fn read(text: &str) -> Result<League, ConfigError> {
        let file: File = toml::from_str(text).map_err(|why| ConfigError::Toml(Box::new(why)))?;
        let senseless = |why: String| Err(ConfigError::Invalid(why));
        if file.agent.len() < 2 {
            return senseless("a league has at least two agents ([[agent]])".to_owned());
        }
        let mut names = HashSet::new();
        for agent in &file.agent {
            if agent.name.trim().is_empty() {
                return senseless("an agent has no name".to_owned());
            }
            if !names.insert(agent.name.as_str()) {
                return senseless(format!("two agents are named `{}`", agent.name));
            }
        }
        let number = |name: &str| {
            let place = file.agent.iter().position(|agent| agent.name == name);
            place.ok_or_else(|| ConfigError::Invalid(format!("no agent is named `{name}`")))
        };
        if let Some(anchor) = &file.anchor {
            number(&anchor.agent)?;
        }
        let pairing = match (file.pairing, &file.gauntlet) {
            (PairingName::RoundRobin, None) => Pairing::RoundRobin,
            (PairingName::Uncertain, None) => Pairing::Uncertain,
            (PairingName::Efficient, None) => Pairing::Efficient,
            (PairingName::Gauntlet, Some(name)) => Pairing::Gauntlet(number(name)?),
            (PairingName::Gauntlet, None) => {
                return senseless("a gauntlet needs its agent: gauntlet = \"NAME\"".to_owned());
            }
            (_, Some(_)) => {
                return senseless("`gauntlet` goes with pairing = \"gauntlet\"".to_owned());
            }
        };
        let common = limit("every agent", &file.limit)?;
        let mut agents = Vec::with_capacity(file.agent.len());
        for words in &file.agent {
            agents.push(agent(words, common, &file.options)?);
        }
        Ok(League {
            name: file.name,
            seed: file.seed,
            games: file.games.next_multiple_of(2),
            concurrency: file.concurrency.max(1),
            openings: file.openings,
            chess960: file.chess960,
            pairing,
            rules: file.rules.read(),
            anchor: file.anchor,
            agents,
        })
    }

    /// Index and rating of the anchor.
    #[must_use]
    pub fn fixed(&self) -> Option<(usize, f64)> {
        let anchor = self.anchor.as_ref()?;
        let number = self.agents.iter().position(|agent| agent.name == anchor.agent)?;
        Some((number, anchor.elo))
    }
}

fn agent(
    words: &AgentWords,
    common: Option<Limit>,
    options: &BTreeMap<String, toml::Value>,
) -> Result<Agent, ConfigError> {
    let AgentWords { name, command, rating, curve, movetime, nodes, depth, .. } = words;
    let own =
        LimitWords { tc: words.tc.clone(), movetime: *movetime, nodes: *nodes, depth: *depth };
    let limit = limit(name, &own)?.or(common).ok_or_else(|| {
        ConfigError::Invalid(format!("agent `{name}` has no limit: tc, movetime, nodes or depth"))
    })?;
    // An external engine may not have this engine's options.
    let common = options.iter().filter(|_| command.is_none());
    let mut all = Vec::new();
    for (option, value) in common.chain(&words.options) {
        // The agent's own value takes precedence.
        all.retain(|(known, _): &(String, String)| !known.eq_ignore_ascii_case(option));
        all.push((option.clone(), option_value(name, option, value)?));
    }
    Ok(Agent {
        name: name.clone(),
        command: command.clone(),
        options: all,
        limit,
        rating: *rating,
        curve: curve.clone(),
        retired: words.retired,
    })
}

fn option_value(agent: &str, option: &str, value: &toml::Value) -> Result<String, ConfigError> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(flag) => Ok(flag.to_string()),
        other => Err(ConfigError::Invalid(format!(
            "option {option} of {agent}: expected text, a number or true/false, got {}",
            other.type_str()
        ))),
    }
}

fn limit(whose: &str, words: &LimitWords) -> Result<Option<Limit>, ConfigError> {
    let clock = words.tc.as_ref().map(|text| text.parse::<Limit>()).transpose();
    let clock = clock.map_err(|why| ConfigError::Invalid(format!("limit of {whose}: {why}")))?;
    let all = [
        clock,
        words.movetime.map(|time| Limit::MoveTime(Duration::from_millis(time))),
        words.nodes.map(Limit::Nodes),
        words.depth.map(Limit::Depth),
    ];
    if words.nodes == Some(0) || words.depth == Some(0) {
        return Err(ConfigError::Invalid(format!("limit of {whose}: nodes and depth begin at 1")));
    }
    let mut given = all.into_iter().flatten();
    match (given.next(), given.next()) {
        (first, None) => Ok(first),
        _ => Err(ConfigError::Invalid(format!(
            "limit of {whose}: one of tc, movetime, nodes and depth is enough"
        ))),
    }
}

impl RulesWords {
    fn read(&self) -> Rules {
        let default = Rules::default();
        Rules {
            margin: self.margin.map_or(default.margin, Duration::from_millis),
            max_plies: self.max_plies.unwrap_or(default.max_plies),
            draw: self.draw.map(|[from, moves, score]| DrawRule {
                from: from.into(),
                moves: moves.into(),
                score: score.into(),
            }),
            resign: self
                .resign
                .map(|[moves, score]| ResignRule { moves: moves.into(), score: score.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        name = "small"
        games = 7
        limit = { nodes = 100 }
        options = { Threads = 1, CPuct = 1.5 }
        [[agent]]
        name = "a"
        options = { threads = 2, Ponder = false }
        [[agent]]
        name = "b"
        command = "stockfish"
        depth = 3
        rating = 1320
    "#;

    fn refused(text: &str) -> String {
        League::read(text).unwrap_err().to_string()
    }

    #[test]
    fn own_words_come_before_common_ones() {
        let league = League::read(SMALL).unwrap();
        assert_eq!(league.games, 8, "whole pairs");
        assert_eq!(league.pairing, Pairing::RoundRobin);
        let [a, b] = league.agents.as_slice() else { panic!("two agents") };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            a.options,
            [pair("CPuct", "1.5"), pair("Ponder", "false"), pair("threads", "2")]
        );
        assert_eq!((a.limit, b.limit), (Limit::Nodes(100), Limit::Depth(3)));
        assert!(b.options.is_empty(), "another engine may not know them");
        assert_eq!(b.rating, Some(1320.0));
        assert_eq!(league.fixed(), None);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refused("name = 3").contains("name = 3"));
        let slip = SMALL.replace("games", "gamse");
        assert!(refused(&slip).contains("gamse"), "{}", refused(&slip));
        assert!(refused(&SMALL.replace("\"b\"", "\"a\"")).contains("two agents are named `a`"));
        assert!(
            refused(&SMALL.replace("depth = 3", "depth = 3\nnodes = 1")).contains("limit of b")
        );
        assert!(refused(&SMALL.replace("nodes = 100", "")).contains("`a` has no limit"));
        assert!(refused(&SMALL.replace("depth = 3", "tc = \"soon\"")).contains("soon"));
        assert!(refused(&SMALL.replace("= 1.5", "= [1]")).contains("CPuct of a"));
        assert!(refused(&SMALL.replace("nodes = 100", "nodes = 0")).contains("begin at 1"));
        let head = |words: &str| SMALL.replace("games = 7", &format!("games = 7\n{words}"));
        assert!(refused(&head("pairing = 'gauntlet'")).contains("needs its agent"));
        assert!(refused(&head("gauntlet = 'a'")).contains("goes with"));
        assert!(refused(&head("anchor = { agent = 'c' }")).contains("`c`"));
        let gauntlet = League::read(&head("pairing = 'gauntlet'\ngauntlet = 'b'")).unwrap();
        assert_eq!(gauntlet.pairing, Pairing::Gauntlet(1));
        let anchored = League::read(&head("anchor = { agent = 'b', elo = 50 }")).unwrap();
        assert_eq!(anchored.fixed(), Some((1, 50.0)));
    }
}
