//! Networks in files: parameters and shape, and whether they fit a game.

use super::layout::{Config, Layout, MAX_PLAYERS};
use crate::game::Game;
use nn::parameter_file::{
    CheckpointError, Facts, Format, Precision, Tensor, format_error, parameters, read, write,
};
use std::fmt;
use std::path::Path;

const FORMAT: Format = Format { name: "mavka-board", version: 1 };
/// Largest number of channels, blocks and taps that is read: a damaged file must not take all memory.
const MOST: usize = 1024;

/// A network without a board.
#[derive(Clone, Debug)]
pub struct NetworkFile {
    /// Its shape.
    pub config: Config,
    /// Places of the parameters.
    pub layout: Layout,
    /// The parameters, `[layout.len]`.
    pub values: Vec<f32>,
}

/// A network of another game or board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitNetwork {
    found: String,
    expected: String,
}

impl fmt::Display for UnfitNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the network plays {}, not {}", self.found, self.expected)
    }
}

impl std::error::Error for UnfitNetwork {}

impl NetworkFile {
    /// A network with random parameters for one board.
    #[must_use]
    pub fn random<G: Game>(game: &G, channels: usize, blocks: usize, seed: u64) -> NetworkFile {
        let config = Config {
            game: game.name().to_owned(),
            sizes: vec![game.size()],
            taps: game.grid().taps.len(),
            channels,
            blocks,
            players: 1,
        };
        let layout = Layout::new(&config);
        NetworkFile { values: layout.init(seed), config, layout }
    }

    /// This network with `players` players, all of which play as it did but for small random embeddings of those after the first.
    #[must_use]
    pub fn with_players(&self, players: usize, seed: u64) -> NetworkFile {
        let config = Config { players, ..self.config.clone() };
        let layout = Layout::new(&config);
        let mut values = layout.init(seed);
        let common = self.values.len().min(values.len());
        values[..common].copy_from_slice(&self.values[..common]);
        NetworkFile { values, config, layout }
    }

    /// Whether it plays a game on its board.
    ///
    /// # Errors
    /// Names the games and boards that it plays.
    pub fn check<G: Game>(&self, game: &G) -> Result<(), UnfitNetwork> {
        let Config { game: name, sizes, taps, .. } = &self.config;
        if name == game.name() && sizes.contains(&game.size()) && *taps == game.grid().taps.len() {
            return Ok(());
        }
        Err(UnfitNetwork {
            found: format!("{name} {}", sizes.join(", ")),
            expected: format!("{} {}", game.name(), game.size()),
        })
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// Damaged, or no network of this kind.
    pub fn from_bytes(bytes: &[u8]) -> Result<NetworkFile, CheckpointError> {
        let (tensors, facts) = FORMAT.open(bytes)?;
        let text = |name: &str| {
            facts
                .get(name)
                .ok_or_else(|| format_error(format!("missing \"{name}\" in the metadata")))
        };
        let bounded = |name: &str, found: &str, most: usize| {
            let number = found.parse().ok().filter(|number| (1..=most).contains(number));
            number.ok_or_else(|| format_error(format!("{name} \"{found}\", expected 1 to {most}")))
        };
        let number = |name: &str| bounded(name, text(name)?, MOST);
        let config = Config {
            game: text("game")?.clone(),
            sizes: text("sizes")?.split(' ').map(str::to_owned).collect(),
            taps: number("taps")?,
            channels: number("channels")?,
            blocks: number("blocks")?,
            players: facts
                .get("players")
                .map_or(Ok(1), |found| bounded("players", found, MAX_PLAYERS))?,
        };
        let layout = Layout::new(&config);
        let values = parameters(&layout.params, &tensors, |_| ())?;
        Ok(NetworkFile { config, layout, values })
    }

    /// The bytes of its file.
    ///
    /// # Errors
    /// A parameter is not finite in this precision.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>, CheckpointError> {
        let Config { game, sizes, taps, channels, blocks, players } = &self.config;
        let facts = [
            ("game", game.clone()),
            ("sizes", sizes.join(" ")),
            ("taps", taps.to_string()),
            ("channels", channels.to_string()),
            ("blocks", blocks.to_string()),
        ];
        let mut facts: Facts = facts.map(|(name, fact)| (name.to_owned(), fact)).into();
        if *players > 1 {
            facts.insert("players".to_owned(), players.to_string());
        }
        let params = self.layout.params.iter();
        let tensors = params
            .map(|param| Tensor::of(param, &self.values, precision))
            .collect::<Result<Vec<_>, _>>()?;
        FORMAT.to_bytes(&tensors, facts)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Not readable, damaged, or no network of this kind.
    pub fn load(path: &Path) -> Result<NetworkFile, CheckpointError> {
        NetworkFile::from_bytes(&read(path)?)
    }

    /// Writes a file atomically, 16 bits per number.
    ///
    /// # Errors
    /// A parameter is not finite in 16 bits, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), CheckpointError> {
        write(path, &self.to_bytes(Precision::Half)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect4::ConnectFour;
    use crate::hex::Hex;

    #[test]
    fn a_network_comes_back_and_fits_its_board_alone() {
        let game = Hex::new(3).unwrap();
        let mut network = NetworkFile::random(&game, 16, 2, 1);
        network.config.sizes.push("4x4".to_owned());
        let back = NetworkFile::from_bytes(&network.to_bytes(Precision::Full).unwrap()).unwrap();
        assert_eq!((back.values, &back.config), (network.values.clone(), &network.config));
        let team = network.with_players(3, 1);
        let back = NetworkFile::from_bytes(&team.to_bytes(Precision::Full).unwrap()).unwrap();
        assert_eq!((back.values, back.config), (team.values, team.config));
        assert_eq!(network.check(&Hex::new(4).unwrap().with_swap()), Ok(()));
        let refused = |why: Result<(), UnfitNetwork>| why.unwrap_err().to_string();
        assert_eq!(
            refused(network.check(&Hex::new(5).unwrap())),
            "the network plays hex 3x3, 4x4, not hex 5x5"
        );
        assert_eq!(
            refused(network.check(&ConnectFour::default())),
            "the network plays hex 3x3, 4x4, not connect4 7x6"
        );
    }

    #[test]
    fn damaged_files_are_refused_with_a_reason() {
        let mut network = NetworkFile::random(&Hex::new(3).unwrap(), 16, 1, 1);
        let bytes = network.to_bytes(Precision::Half).unwrap();
        let fault = |bytes: &[u8]| NetworkFile::from_bytes(bytes).unwrap_err().to_string();
        assert!(fault(&bytes[..bytes.len() / 2]).contains("not a whole safetensors file"));
        assert!(fault(b"").contains("not a whole safetensors file"));
        let chess = include_bytes!("../../../../assets/writer.safetensors");
        assert_eq!(fault(chess), "format \"mavka-writer\", expected \"mavka-board\"");
        network.config.channels = 17;
        network.layout.params.pop();
        let fault = fault(&network.to_bytes(Precision::Half).unwrap());
        assert!(fault.contains("shape") || fault.contains("no tensor"), "{fault}");
        network.config.channels = 100_000;
        assert!(
            network
                .to_bytes(Precision::Half)
                .is_ok_and(|bytes| NetworkFile::from_bytes(&bytes).is_err())
        );
    }
}
