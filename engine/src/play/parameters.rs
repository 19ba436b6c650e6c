//! Where a network's parameters come from: a file, a list of files that share the game by its phases, or one of those
//! built in. Opens nothing on a device.

use super::network_error::NetworkError;
use nn::checkpoint::{CheckpointError, Network};
use nn::evaluator::experts::Experts;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The bundled networks: recipes and results in `assets/networks.md`, the fifth and the eighth.
static SMALL_BYTES: &[u8] = include_bytes!("../../../assets/mavka.safetensors");
static LARGE_BYTES: &[u8] = include_bytes!("../../../assets/mavka-large.safetensors");

/// What names the smaller bundled network in place of a file: it computes more positions in a second.
pub const SMALL: &str = "<small>";
/// What names the larger one: it judges them better.
pub const LARGE: &str = "<large>";

/// True if `file` names what is built in.
#[must_use]
pub fn is_built_in(file: &Path) -> bool {
    file.to_str().is_some_and(|name| [SMALL, LARGE].contains(&name))
}

/// A list of experts, as TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    expert: Vec<Named>,
}

/// One `[[expert]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    /// Where the network is, seen from the list's own folder.
    file: PathBuf,
    /// Most pieces, kings included, on the boards that it judges.
    most_pieces: usize,
}

/// The parameters in `file`, which may be [`SMALL`] or [`LARGE`] or list [`Experts`]; without one those of the smaller
/// built-in network, for all phases of the game.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn load_experts(file: Option<&Path>) -> Result<Experts<Network>, NetworkError> {
    let built_in = |bytes| {
        let network = Network::from_bytes(bytes).map_err(NetworkError::Bundled)?;
        Ok(Experts::one(network))
    };
    let Some(path) = file else { return built_in(SMALL_BYTES) };
    match path.to_str() {
        Some(SMALL) => built_in(SMALL_BYTES),
        Some(LARGE) => built_in(LARGE_BYTES),
        _ => match experts_text(path) {
            Some(text) => listed(path, &text),
            None => Ok(Experts::one(open(path)?)),
        },
    }
}

/// The same where one network is to serve all phases.
///
/// # Errors
/// As [`load_experts`], or the file lists several.
pub fn load(file: Option<&Path>) -> Result<Network, NetworkError> {
    load_experts(file)?.into_one().map_err(|_| {
        let why = "it stands for several networks, expected one of them".to_owned();
        fault(file.unwrap_or(Path::new("")), why)
    })
}

/// The file's text if it is a list of experts; None if it is something else, or not there.
fn experts_text(path: &Path) -> Option<String> {
    if path.extension()? != "toml" {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    let lists_experts = text.parse::<toml::Table>().ok()?.contains_key("expert");
    lists_experts.then_some(text)
}

/// True if `path` lists [`Experts`].
#[must_use]
pub fn lists_experts(path: &Path) -> bool {
    experts_text(path).is_some()
}

fn listed(path: &Path, text: &str) -> Result<Experts<Network>, NetworkError> {
    let list: List = toml::from_str(text).map_err(|why| fault(path, why.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let members = list
        .expert
        .into_iter()
        .map(|named| Ok((named.most_pieces, open(&folder.join(named.file))?)))
        .collect::<Result<_, NetworkError>>()?;
    Experts::new(members).ok_or_else(|| {
        let why = "expected [[expert]] with growing `most_pieces`, 32 the last of them";
        fault(path, why.to_owned())
    })
}

fn open(path: &Path) -> Result<Network, NetworkError> {
    Network::load(path).map_err(|why| NetworkError::File { path: path.to_owned(), why })
}

fn fault(path: &Path, why: String) -> NetworkError {
    NetworkError::File { path: path.to_owned(), why: CheckpointError::Format(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the smaller built-in network and a list of experts that says `text`; what becomes of it.
    fn reading(name: &str, text: &str) -> Result<Experts<Network>, String> {
        let folder = std::env::temp_dir().join(format!("mavka-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("small.safetensors"), SMALL_BYTES).unwrap();
        let list = folder.join("experts.toml");
        fs::write(&list, text).unwrap();
        assert!(lists_experts(&list));
        let found = load_experts(Some(&list)).map_err(|why| why.to_string());
        let single = load(Some(&list)).map_err(|why| why.to_string());
        assert_eq!(single.is_ok(), found.as_ref().is_ok_and(|found| found.members().count() == 1));
        fs::remove_dir_all(folder).unwrap();
        found
    }

    const SAME: &str = "file = \"small.safetensors\"";

    #[test]
    fn a_list_names_a_network_for_each_phase() {
        let two =
            format!("[[expert]]\n{SAME}\nmost_pieces = 18\n[[expert]]\n{SAME}\nmost_pieces = 32\n");
        let hashes: Vec<String> = reading("phases", &two)
            .unwrap()
            .members()
            .map(|network| network.hash.clone())
            .collect();
        assert_eq!(hashes, vec![load(None).unwrap().hash; 2]);
    }

    #[test]
    fn a_wrong_list_is_told_of_with_what_was_expected() {
        for (text, words) in [
            (format!("[[expert]]\n{SAME}\nmost_pieces = 18\n"), "32 the last"),
            (format!("[[expert]]\n{SAME}\nmost = 32\n"), "unknown field `most`"),
            ("[[expert]]\nfile = \"absent\"\nmost_pieces = 32\n".to_owned(), "absent"),
        ] {
            let why = reading("wrong", &text).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        // Lists of regressors have another word for their members.
        assert!(!lists_experts(Path::new("no/such/list.toml")));
    }
}
