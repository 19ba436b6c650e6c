//! Journals of earlier versions in today's words: their first line, and the options that have other names now.

use engine::process::files::whole_lines;
use serde_json::Value;

/// Key of the first line before the laboratory was a program of its own (November 2026), and since.
const KEYS: [&str; 2] = ["mavka league journal", "mavka-lab league journal"];

/// The journal in today's words; None if it has them, or is something else. A cut last line is left out; games are copied.
pub(super) fn upgraded(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut lines = whole_lines(bytes);
    let mut header: Value = serde_json::from_slice(lines.next()?).ok()?;
    let [old, new] = KEYS;
    let version = header.as_object_mut()?.remove(old)?;
    // Sorted keys: this one is the first.
    header[new] = version;
    let mut all = format!("{header}\n").into_bytes();
    for line in lines {
        match serde_json::from_slice::<Value>(line) {
            Ok(mut line) if line["agent"].is_object() => {
                rename(&mut line["agent"]);
                all.extend(format!("{line}\n").into_bytes());
            }
            _ => all.extend(line),
        }
    }
    Some(all)
}

/// Gives this program's options the names of today.
fn rename(agent: &mut Value) {
    if !agent["command"].is_null() {
        return;
    }
    for option in agent["options"].as_array_mut().into_iter().flatten() {
        let now = match (option[0].as_str(), option[1].as_str()) {
            // Nothing checked the tree search's move.
            (Some("ScoutNodes"), Some("0")) => ["BlunderCheck", "false"],
            (Some("Search"), Some("alpha-beta")) => ["Search", "classical-alpha-beta"],
            _ => continue,
        };
        *option = now.as_slice().into();
    }
}
