//! Journals of earlier versions in today's words: their first line, and the options that have other names now.

use super::{AgentIdentity, BEGINNING, Header, Line};
use engine::files::whole_lines;
use serde::Deserialize;

/// First line of a journal from before the laboratory was a program of its own (November 2026).
#[derive(Deserialize)]
struct OldHeader {
    #[serde(rename = "mavka league journal")]
    version: u32,
    name: String,
    seed: u64,
}

/// The journal in today's words; None if it has them, or is something else. A cut last line is left out; games are copied.
pub(super) fn upgraded(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.starts_with(BEGINNING.as_bytes()) {
        return None;
    }
    let mut lines = whole_lines(bytes);
    let old: OldHeader = serde_json::from_slice(lines.next()?).ok()?;
    let header = Header { version: old.version, name: old.name, seed: old.seed };
    let mut new = serde_json::to_vec(&header).ok()?;
    new.push(b'\n');
    for line in lines {
        match serde_json::from_slice(line) {
            Ok(Line::Agent(agent)) => {
                new.extend(serde_json::to_vec(&Line::Agent(renamed(agent))).ok()?);
                new.push(b'\n');
            }
            _ => new.extend(line),
        }
    }
    Some(new)
}

/// This program's options by the names of today.
fn renamed(mut agent: AgentIdentity) -> AgentIdentity {
    if agent.command.is_none() {
        for (name, value) in &mut agent.options {
            match (name.as_str(), value.as_str()) {
                // Nothing checked the tree search's move.
                ("ScoutNodes", "0") => (*name, *value) = ("BlunderCheck".into(), "false".into()),
                ("Search", "alpha-beta") => *value = "classical-alpha-beta".into(),
                _ => {}
            }
        }
    }
    agent
}
