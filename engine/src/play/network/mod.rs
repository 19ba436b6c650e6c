//! Which network answers: the file the user named, or the one built in. The only file that knows how a
//! network is opened; everything else sees `Arc<dyn Evaluator>`.

pub(crate) mod loader;
pub(crate) mod open;
pub mod timing;
pub mod warm_up;

use chess::quote::quote_path;
use nn::checkpoint::{self, CheckpointError};
use nn::device::{Backend, Card, card, is_cpu, pick};
use nn::evaluator::burn::BurnEvaluator;
use nn::evaluator::cpu::CpuEvaluator;
use nn::kernels::Isa;
use nn::writer::DecoderWeights;
use nn::{EvalError, Evaluator};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The bundled network, the twentieth of `docs/src/networks-log.md`.
static BUNDLED: &[u8] = include_bytes!("../../../../assets/mavka.safetensors");

/// The bundled decoder of the internal search: `docs/src/internal.md`.
static BUNDLED_WRITER: &[u8] = include_bytes!("../../../../assets/writer.safetensors");

/// The bundled decoder, read once.
///
/// # Errors
/// It is damaged.
pub fn writer() -> Result<Arc<DecoderWeights>, &'static CheckpointError> {
    static WRITER: OnceLock<Result<Arc<DecoderWeights>, CheckpointError>> = OnceLock::new();
    let read = || DecoderWeights::from_bytes(BUNDLED_WRITER).map(Arc::new);
    WRITER.get_or_init(read).as_ref().map(Clone::clone)
}

/// A network ready to answer.
#[derive(Clone)]
pub struct Network {
    /// The evaluator; shared by all threads of a search.
    pub evaluator: Arc<dyn Evaluator>,
    /// For humans: name, size, device.
    pub name: String,
    /// It computes on a GPU, which the CPU can take over from.
    pub on_gpu: bool,
    /// Players in its file; 1 if one of them was named.
    pub players: usize,
}

/// Why a network could not be used.
#[derive(Debug)]
pub enum NetworkError {
    /// The file is no network: missing, cut short, of another kind.
    File {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: CheckpointError,
    },
    /// The file is a network of another kind than the engine's own, and damaged.
    Other {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A built-in network is damaged.
    Bundled(CheckpointError),
    /// The device that was asked for is not there or does not compute; what computes instead.
    Backend(String),
    /// The device is there, but the network does not run on it: too little memory, say.
    Device(EvalError),
    /// It answers nothing that can be used, or broke down.
    Failed(String),
}

/// Between a network's own name and that of its card.
const ON_CARD: &str = ", GPU: ";

impl Network {
    /// Its name has that of the card that computes it.
    pub(crate) fn names_card(&self) -> bool {
        self.on_gpu && self.card().is_some()
    }

    /// The name of the card that computes it.
    pub(crate) fn card(&self) -> Option<&str> {
        self.name.split_once(ON_CARD).map(|(_, card)| card)
    }
}

/// The name of a card, and a note if it is none.
pub(crate) fn words(card: &Card) -> String {
    match card.is_software {
        true => format!("{}, software: slower than `Backend` `cpu`", card.name),
        false => card.name.clone(),
    }
}

impl NetworkError {
    /// Nothing is wrong with the network itself: on the CPU it will do.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        matches!(self, NetworkError::Backend(_) | NetworkError::Device(_))
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::File { path, why } => {
                write!(f, "cannot use network {}: {why}", quote_path(path))
            }
            NetworkError::Other { path, why } => {
                write!(f, "cannot use network {}: {why}", quote_path(path))
            }
            NetworkError::Bundled(why) => write!(f, "cannot use the built-in network: {why}"),
            NetworkError::Backend(note) | NetworkError::Failed(note) => f.write_str(note),
            NetworkError::Device(why) => {
                write!(f, "the network does not run on the GPU ({why}); using the CPU")
            }
        }
    }
}

impl std::error::Error for NetworkError {}

/// Where networks come from. Called on any thread at the first need, or once `uci` is answered; may block for a second.
pub trait Networks: Send + Sync {
    /// Opens `file`; without one the built-in network.
    ///
    /// # Errors
    /// Names the file or device and what is wrong with it.
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError>;

    /// Opens it on the best device that computes.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    fn open_anywhere(&self, file: Option<&Path>) -> Result<Network, NetworkError> {
        match self.open(file, Backend::Auto) {
            Err(error) if error.is_of_device() => {
                log::warn!("{error}");
                self.open(file, Backend::Cpu)
            }
            opened => opened,
        }
    }
}

/// The networks of this executable.
#[derive(Clone, Copy, Debug)]
pub struct Installed {
    /// The widest instructions that a network on the CPU computes with.
    pub isa: Isa,
}

impl Default for Installed {
    fn default() -> Installed {
        Installed { isa: Isa::found() }
    }
}

impl Networks for Installed {
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        let (team, player) = read(file)?;
        let network = of_player(&team, file, player)?;
        let players = if player.is_some() { 1 } else { team.layout.config.players };
        let (device, note) = pick(backend);
        let source = match source(file) {
            WeightsSource::BuiltIn(_) => "built-in network".to_owned(),
            WeightsSource::File(path) => path.display().to_string(),
        };
        let c = &network.layout.config;
        let name = format!("{source} ({}x{}, {})", c.width, c.layers, network.hash);
        if backend.is_by_burn(&device) {
            let on_gpu = !is_cpu(&device);
            let failed = |why: EvalError| match on_gpu {
                true => NetworkError::Device(why),
                false => NetworkError::Backend(format!(
                    "burn does not compute the network ({why}); using the CPU's kernels"
                )),
            };
            let evaluator = Arc::new(BurnEvaluator::new(&network, &device).map_err(failed)?);
            let name = match card(&device) {
                Some(card) => format!("{name}{ON_CARD}{}", words(&card)),
                None => format!("{name}, CPU, burn"),
            };
            return Ok(Network { evaluator, name, on_gpu, players });
        }
        // The CPU replaces the GPU only where the caller knows of it: the caller says so and asks again.
        if let Some(note) = note {
            return Err(NetworkError::Backend(note));
        }
        let evaluator = Arc::new(CpuEvaluator::fastest_with(&network, self.isa));
        let name = format!("{name}, CPU, {}", evaluator.arithmetic());
        Ok(Network { evaluator, name, on_gpu: false, players })
    }
}

/// The parameters in `file`; without one those of the built-in network. `FILE#2` is player 2 of a file of several players.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn load(file: Option<&Path>) -> Result<checkpoint::Network, NetworkError> {
    let (team, player) = read(file)?;
    of_player(&team, file, player)
}

fn of_player(
    team: &checkpoint::Network,
    file: Option<&Path>,
    player: Option<usize>,
) -> Result<checkpoint::Network, NetworkError> {
    team.of_player(player.unwrap_or(0)).ok_or_else(|| {
        let (file, last) =
            (quote_path(file.unwrap_or(Path::new(""))), team.layout.config.players - 1);
        NetworkError::Failed(format!("cannot use network {file}: its last player is {last}"))
    })
}

/// All players of a file, and which one was named.
fn read(file: Option<&Path>) -> Result<(checkpoint::Network, Option<usize>), NetworkError> {
    let (file, player) = file.map_or((None, None), player_of);
    let network = match source(file) {
        WeightsSource::File(path) => checkpoint::Network::load(path)
            .map_err(|why| NetworkError::File { path: path.to_owned(), why }),
        WeightsSource::BuiltIn(bytes) => {
            checkpoint::Network::from_bytes(bytes).map_err(NetworkError::Bundled)
        }
    }?;
    Ok((network, player))
}

/// The file and the player that a name with `#` at its end means. A file that is called so is itself.
fn player_of(name: &Path) -> (Option<&Path>, Option<usize>) {
    let split = name.to_str().filter(|_| !name.exists()).and_then(|text| text.rsplit_once('#'));
    match split.and_then(|(file, player)| Some((file, player.parse().ok()?))) {
        Some((file, player)) => ((!file.is_empty()).then(|| Path::new(file)), Some(player)),
        None => (Some(name), None),
    }
}

/// Where a network comes from.
enum WeightsSource<'a> {
    BuiltIn(&'static [u8]),
    File(&'a Path),
}

fn source(file: Option<&Path>) -> WeightsSource<'_> {
    match file {
        None => WeightsSource::BuiltIn(BUNDLED),
        Some(path) => WeightsSource::File(path),
    }
}

/// The same fake network whatever is asked for; asked for on the CPU, it is not on a GPU.
#[derive(Clone)]
pub struct Only(pub Network);

impl Networks for Only {
    fn open(&self, _file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        let network = self.0.clone();
        Ok(Network { on_gpu: network.on_gpu && backend != Backend::Cpu, ..network })
    }
}

/// Arbitrary but repeatable opinions, for `bench` and tests.
#[must_use]
pub fn hashed() -> Network {
    Network {
        evaluator: Arc::new(nn::evaluator::fake::Hashed::default()),
        name: "hashed (no network)".to_owned(),
        on_gpu: false,
        players: 1,
    }
}

/// No opinions at all: what plays when nothing else can.
#[must_use]
pub fn uniform() -> Network {
    Network {
        evaluator: Arc::new(nn::evaluator::fake::Uniform),
        name: "uniform (no network)".to_owned(),
        on_gpu: false,
        players: 1,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use nn::checkpoint::Precision;
    use nn::net::NetConfig;
    use std::process::Command;

    #[test]
    fn a_player_of_a_file_is_named_by_its_number() {
        let folder = std::env::temp_dir().join(format!("mavka-players-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("team#file.safetensors");
        let config = NetConfig { players: 3, ..NetConfig::tiny() };
        checkpoint::Network::new(&config, 1).save(&file, Precision::Full).unwrap();
        let open = |name: &Path| Installed::default().open(Some(name), Backend::Cpu);
        let numbered = |player: &str| folder.join(format!("team#file.safetensors{player}"));
        let [first, last] = ["", "#2"].map(|player| open(&numbered(player)).unwrap());
        // A named player has no team: `#2#1` would be no file.
        assert_eq!((first.players, last.players), (3, 1));
        assert!(last.name.contains("#2)") || last.name.contains("#2,"), "{}", last.name);
        assert_ne!(first.name, last.name);
        let why = open(&numbered("#3")).err().unwrap().to_string();
        assert!(
            why.contains("team#file.safetensors#3") && why.contains("its last player is 2"),
            "{why}"
        );
        assert!(open(&numbered("#x")).is_err());
        assert!(load(Some(Path::new("#0"))).is_ok_and(|bundled| bundled.layout.players.is_none()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_pipe_is_no_network_and_is_not_waited_for() {
        let folder = std::env::temp_dir().join(format!("mavka-pipe-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["network", "list.toml"] {
            let pipe = folder.join(name);
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let why =
                Installed::default().open(Some(&pipe), Backend::Cpu).err().unwrap().to_string();
            assert!(why.contains(name) && why.contains("expected a regular file"), "{why}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
