//! Files: a network is a safetensors file whose metadata hold format, version, configuration and a hash of the
//! tensors' bytes; a training state adds the optimiser's vectors.

use crate::cpu::Weights;
use crate::kernels::gemm::Method;
use crate::net::grow::Growth;
use crate::net::{Layout, NetConfig};
pub use crate::parameter_file::{CheckpointError, Precision};
use crate::parameter_file::{Facts, Format, Tensor, floats, format_error, parameters, read, write};
use crate::precision::Arithmetic;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;

const FORMAT: Format = Format { name: "mavka-network", version: 1 };

/// A network: its layout and parameters.
#[derive(Clone, Debug)]
pub struct Network {
    /// Offset of every parameter.
    pub layout: Layout,
    /// The parameters, `[layout.len]`.
    pub values: Vec<f32>,
    /// First 16 hex digits of the hash, for display.
    pub hash: String,
}

/// Named float vectors beside a network's parameters, such as optimiser state.
pub type Extras = Vec<(String, Vec<f32>)>;

impl Network {
    /// A new network with the seed's initial values.
    #[must_use]
    pub fn new(config: &NetConfig, seed: u64) -> Network {
        let layout = Layout::new(config);
        let values = layout.init(seed);
        Network { layout, values, hash: "untrained".into() }
    }

    /// Adopts every parameter that `other` has, replicated in width if necessary. The function is preserved for
    /// a whole multiple of its width, more FFN channels, new blocks behind the old ones, or an added dynamic
    /// bias. Returns the names of the parameters left as they were.
    pub fn adopt(&mut self, other: &Network) -> Vec<String> {
        let mut left = Vec::new();
        let mut growth = Growth::new(&other.layout, &self.layout, 1);
        for param in &self.layout.params {
            let theirs = other.layout.params.iter().find(|theirs| theirs.name == param.name);
            let taken = theirs.is_some_and(|theirs| {
                let from = &other.values[theirs.range.clone()];
                let to = &mut self.values[param.range.clone()];
                match &mut growth {
                    _ if theirs.shape == param.shape => to.copy_from_slice(from),
                    Some(growth) => return growth.fill(param, theirs, from, to),
                    None => return false,
                }
                true
            });
            if !taken {
                left.push(param.name.clone());
            }
        }
        left
    }

    /// A player's network alone: its vectors are added to the parameters that they belong to. None if there is no such player. Player 0
    /// is this network itself.
    #[must_use]
    pub fn of_player(&self, player: usize) -> Option<Network> {
        let config = NetConfig { players: 1, ..self.layout.config.clone() };
        if player >= self.layout.config.players {
            return None;
        }
        let layout = Layout::new(&config);
        let mut values = self.values[..layout.len].to_vec();
        if let Some(players) = &self.layout.players {
            let (width, segments) = (config.width, config.player_segments());
            let own = &self.values[players.start + player * segments * width..];
            for (place, own) in layout.of_players().into_iter().zip(own.chunks_exact(width)) {
                for row in values[place].chunks_exact_mut(width) {
                    row.iter_mut().zip(own).for_each(|(value, own)| *value += own);
                }
            }
        }
        let hash = if player == 0 { self.hash.clone() } else { format!("{}#{player}", self.hash) };
        Some(Network { layout, values, hash })
    }

    /// Packed weights for the CPU's forward pass.
    #[must_use]
    pub fn weights(&self, arithmetic: Arithmetic) -> Weights {
        Weights::new(Method::widest(arithmetic), &self.layout, &self.values)
    }

    /// The file's bytes.
    ///
    /// # Errors
    /// Names a parameter that is NaN, infinite or beyond the precision's range.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>, CheckpointError> {
        encode(self, precision, &[], &HashMap::new())
    }

    /// Reads a network; training files work too.
    ///
    /// # Errors
    /// Names the fault: not safetensors, another format, a newer version, invalid sizes, a missing or misshapen
    /// tensor, a hash mismatch, NaN or infinity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Network, CheckpointError> {
        Ok(decode(bytes)?.0)
    }

    /// [`Network::from_bytes`] of a file.
    ///
    /// # Errors
    /// As there, or the file cannot be read.
    pub fn load(path: &Path) -> Result<Network, CheckpointError> {
        Network::from_bytes(&read(path)?)
    }

    /// Writes a temporary file and renames it, so that a kill leaves the old file or the new one.
    ///
    /// # Errors
    /// As [`Network::to_bytes`], or the file cannot be written.
    pub fn save(&self, path: &Path, precision: Precision) -> Result<(), CheckpointError> {
        write(path, &self.to_bytes(precision)?)
    }
}

/// Saves a network in full precision with the extras and facts that resuming a run needs.
///
/// # Errors
/// As [`Network::to_bytes`], also for the extras, or the file cannot be written.
pub fn save_training(
    path: &Path,
    network: &Network,
    extras: &[(&str, &[f32])],
    facts: &HashMap<String, String>,
) -> Result<(), CheckpointError> {
    write(path, &encode(network, Precision::Full, extras, facts)?)
}

/// Loads what [`save_training`] wrote.
///
/// # Errors
/// As [`Network::from_bytes`].
pub fn load_training(
    path: &Path,
) -> Result<(Network, Extras, HashMap<String, String>), CheckpointError> {
    decode(&read(path)?)
}

fn encode(
    network: &Network,
    precision: Precision,
    extras: &[(&str, &[f32])],
    facts: &Facts,
) -> Result<Vec<u8>, CheckpointError> {
    let params = network.layout.params.iter();
    let mut tensors = params
        .map(|param| Tensor::of(param, &network.values, precision))
        .collect::<Result<Vec<_>, _>>()?;
    let mut hash = Sha256::new();
    tensors.iter().for_each(|tensor| hash.update(&tensor.bytes));
    for (name, values) in extras {
        let name = format!("extra.{name}");
        tensors.push(Tensor::new(name, &[values.len()], values, Precision::Full)?);
    }
    let mut facts = facts.clone();
    let config = serde_json::to_string(&network.layout.config).map_err(format_error)?;
    facts.insert("config".into(), config);
    facts.insert("sha256".into(), hex(&hash.finalize()));
    FORMAT.to_bytes(&tensors, facts)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn decode(bytes: &[u8]) -> Result<(Network, Extras, Facts), CheckpointError> {
    let (tensors, facts) = FORMAT.open(bytes)?;
    let fact = |name: &str| facts.get(name).map(String::as_str).unwrap_or_default();
    let config: NetConfig = serde_json::from_str(fact("config")).map_err(format_error)?;
    config.check().map_err(format_error)?;
    let layout = Layout::new(&config);
    let mut hash = Sha256::new();
    let values = parameters(&layout.params, &tensors, |bytes| hash.update(bytes))?;
    let (hash, expected) = (hex(&hash.finalize()), fact("sha256"));
    if hash != expected {
        return Err(format_error(format!("its numbers have hash {hash}, expected {expected}")));
    }
    let extras = tensors
        .tensors()
        .into_iter()
        .filter_map(|(name, view)| Some((name.strip_prefix("extra.")?.to_owned(), view)))
        .map(|(name, view)| Ok((name, floats(&view)?)))
        .collect::<Result<_, CheckpointError>>()?;
    let short = hash[..16].to_owned();
    Ok((Network { layout, values, hash: short }, extras, facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{Activations, Heads, forward};
    use crate::encode::Item;
    use crate::encode::{Features, MoveCode};
    use crate::net::config::DynamicBiasConfig;
    use shakmaty::Chess;

    fn small() -> Network {
        Network::new(&NetConfig::tiny(), 5)
    }

    fn fault(bytes: &[u8]) -> String {
        Network::from_bytes(bytes).unwrap_err().to_string()
    }

    #[test]
    fn networks_survive_their_file() {
        let network = small();
        let full = Network::from_bytes(&network.to_bytes(Precision::Full).unwrap()).unwrap();
        assert_eq!(full.values, network.values);
        assert_eq!(full.layout.config, network.layout.config);
        let half = Network::from_bytes(&network.to_bytes(Precision::Half).unwrap()).unwrap();
        for (a, b) in half.values.iter().zip(&network.values) {
            assert!((a - b).abs() <= b.abs() / 1024.0 + 1e-6);
        }
    }

    /// All outputs for the starting position.
    fn answer(network: &Network) -> Vec<f32> {
        let features = Features::of(&Chess::default());
        let moves = [MoveCode { from: 12, to: 28, promotion: 0 }];
        let mut activations = Activations::default();
        let items = [Item { features: &features, moves: &moves }];
        let weights = network.weights(Arithmetic::Single);
        forward(&network.layout, &weights, &items, Heads::All, false, &mut activations);
        let tokens: Vec<f32> = (0..64)
            .flat_map(|token| activations.transition(&network.layout, 0, token).0.to_vec())
            .collect();
        [
            activations.logits.policy,
            activations.logits.actions,
            activations.logits.value,
            activations.logits.legality,
            tokens,
        ]
        .concat()
    }

    #[test]
    fn a_grown_network_answers_as_the_one_it_grew_from() {
        let mut old = small();
        // Open the zero-initialised branches, or any network would agree.
        old.values.iter_mut().enumerate().for_each(|(i, v)| *v += 0.1 * ((i % 13) as f32 - 6.0));
        let bias = DynamicBiasConfig { channels: 2, hidden: 3, rank: 2 };
        let deeper = NetConfig { layers: 2, dynamic_bias: Some(bias), ..old.layout.config.clone() };
        let mut grown = Network::new(&deeper, 6);
        let left = grown.adopt(&old);
        assert!(left.iter().all(|name| name.starts_with("block1.") || name.contains("bias")));
        assert!(!left.iter().any(|name| name == "legality.bias"), "{left:?}");
        assert_eq!(answer(&old), answer(&grown));
        assert_ne!(answer(&old), answer(&Network::new(&deeper, 6)));

        // The deeper network with an active dynamic bias grows in width; 20 is no multiple of 8.
        grown.values.iter_mut().enumerate().for_each(|(i, v)| *v += 0.05 * ((i % 7) as f32 - 3.0));
        let n = deeper.heads;
        for (width, heads, ffn) in [(16, n, 20), (24, n, 8), (16, 2 * n, 8), (24, 3 * n, 20)] {
            let wider = NetConfig { width, heads, ffn, ..deeper.clone() };
            let mut wide = Network::new(&wider, 7);
            assert_eq!(wide.adopt(&grown), Vec::<String>::new());
            for (a, b) in answer(&wide).iter().zip(answer(&grown)) {
                assert!(
                    (a - b).abs() < 1e-3 * b.abs().max(1.0),
                    "{a} was {b}, {width} wide, {heads} heads"
                );
            }
        }
        for (width, heads) in [(12, n), (24, 2 * n)] {
            let odd = NetConfig { width, heads, ..deeper.clone() };
            let left = Network::new(&odd, 7).adopt(&grown);
            assert!(left.iter().any(|name| name == "block0.qkv.weight"), "{left:?}");
        }
    }

    #[test]
    fn players_share_all_but_a_vector_and_the_first_is_the_network_itself() {
        let mut alone = small();
        // Open the zero-initialised branches, or normalisations would not matter.
        alone.values.iter_mut().enumerate().for_each(|(i, v)| *v += 0.1 * ((i % 13) as f32 - 6.0));
        let config = NetConfig { players: 3, ..alone.layout.config.clone() };
        let mut team = Network::new(&config, 9);
        assert_eq!(team.adopt(&alone), ["players"]);
        let players = team.layout.players.clone().unwrap();
        assert_eq!(players.end, team.layout.len);
        let of = |team: &Network, player| answer(&team.of_player(player).unwrap());
        assert_eq!([0, 1, 2].map(|player| of(&team, player) == answer(&alone)), [true; 3]);
        let (width, segments) = (config.width, config.player_segments());
        assert_eq!((segments, players.len()), (7, 3 * 7 * width));
        let places = team.layout.of_players();
        assert!(
            places[0].len() == 64 * width && places[1..].iter().all(|place| place.len() == width)
        );
        for segment in 0..segments {
            let own = players.start + (segments + segment) * width;
            let mut changed = team.clone();
            changed.values[own..][..width].fill(0.25);
            assert!(of(&changed, 1) != answer(&alone), "segment {segment} changes nothing");
        }
        team.values[players.start + segments * width..][..width].fill(0.5);
        let team = Network::from_bytes(&team.to_bytes(Precision::Full).unwrap()).unwrap();
        assert_eq!(
            [0, 1, 2].map(|player| of(&team, player) == answer(&alone)),
            [true, false, true]
        );
        assert!(answer(&team) == answer(&alone), "the network itself is player 0");
        assert_eq!(team.of_player(1).unwrap().hash, format!("{}#1", team.hash));
        assert!(team.of_player(3).is_none());
        let single = alone.of_player(0).unwrap();
        assert_eq!((single.values, single.hash), (alone.values.clone(), alone.hash.clone()));
        assert!(alone.of_player(1).is_none());
    }

    #[test]
    fn copies_of_a_channel_do_not_weigh_the_same() {
        let old = small();
        let config = NetConfig { width: 16, ..old.layout.config.clone() };
        let mut wide = Network::new(&config, 6);
        wide.adopt(&old);
        let heads = &wide.values[wide.layout.heads.weight.clone()];
        let (first, second) = heads.split_at(heads.len() / 2);
        let different = first.iter().zip(second).filter(|(a, b)| (*a - *b).abs() > 0.1 * a.abs());
        assert!(different.count() * 2 > first.len());
    }

    #[test]
    fn training_files_keep_extras_and_facts() {
        let folder = std::env::temp_dir().join(format!("mavka-checkpoint-{}", std::process::id()));
        let path = folder.join("state.safetensors");
        let facts = HashMap::from([("step".to_owned(), "17".to_owned())]);
        save_training(&path, &small(), &[("ema", &[1.0, 2.5])], &facts).unwrap();
        let (network, extras, facts) = load_training(&path).unwrap();
        assert_eq!(network.values, small().values);
        assert_eq!(extras, [("ema".to_owned(), vec![1.0, 2.5])]);
        assert_eq!(facts["step"], "17");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_small_file_cannot_ask_for_much_memory() {
        let hostile = NetConfig {
            width: 2048,
            layers: 64,
            ffn: 8192,
            dynamic_bias: Some(DynamicBiasConfig { channels: 256, hidden: 4096, rank: 1024 }),
            ..NetConfig::default()
        };
        let config = serde_json::to_string(&hostile).unwrap();
        let bytes = FORMAT.to_bytes(&[], HashMap::from([("config".to_owned(), config)])).unwrap();
        assert!(bytes.len() < 1000);
        let fault = fault(&bytes);
        assert!(fault.contains("parameters is") && fault.contains("expected 1 to"), "{fault}");
    }

    #[test]
    fn damage_is_named() {
        let bytes = small().to_bytes(Precision::Half).unwrap();
        assert!(fault(b"").contains("not a whole safetensors file"));
        assert!(fault(&bytes[..bytes.len() - 9]).contains("not a whole safetensors file"));
        let mut flipped = bytes.clone();
        let last = flipped.len() - 1;
        flipped[last] ^= 1;
        assert!(fault(&flipped).contains("hash"));
        let other =
            String::from_utf8_lossy(&bytes[..2000]).replace("mavka-network", "other-network");
        let mut renamed = bytes.clone();
        let start = other.find("other-network").unwrap();
        renamed[start..start + 13].copy_from_slice(b"other-network");
        assert!(fault(&renamed).contains("expected \"mavka-network\""));
    }
}
