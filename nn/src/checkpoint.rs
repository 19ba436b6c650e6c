//! Files: a network is a safetensors file whose metadata carry format, version, configuration and a
//! hash of the tensors' bytes; a training state is the same with the optimiser's vectors beside it.

use crate::cpu::Weights;
use crate::net::grow::Growth;
use crate::net::{Layout, NetConfig};
use crate::precision::Arithmetic;
use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// The format's name and the newest version this code writes and reads.
const FORMAT: &str = "mavka-network";
const VERSION: u32 = 1;
/// Nothing we write comes near; a larger file is refused before it is read.
const MAX_BYTES: u64 = 1 << 30;

/// A network: its layout and parameters.
#[derive(Clone, Debug)]
pub struct Network {
    /// Place of every parameter.
    pub layout: Layout,
    /// The parameters, `[layout.len]`.
    pub values: Vec<f32>,
    /// First 16 hex digits of the hash, for people.
    pub hash: String,
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 16 bits a number.
    Half,
    /// 32 bits a number.
    Full,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    Io(std::io::Error),
    /// Not a file of ours, or damaged: what was found and what was expected.
    Format(String),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::Io(error) => write!(f, "{error}"),
            CheckpointError::Format(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<std::io::Error> for CheckpointError {
    fn from(error: std::io::Error) -> Self {
        CheckpointError::Io(error)
    }
}

fn format_error(what: impl fmt::Display) -> CheckpointError {
    CheckpointError::Format(what.to_string())
}

/// Named float vectors beside a network's parameters, such as an optimiser's state.
pub type Extras = Vec<(String, Vec<f32>)>;

impl Network {
    /// A new network with the seed's initial values.
    #[must_use]
    pub fn new(config: &NetConfig, seed: u64) -> Network {
        let layout = Layout::new(config);
        let values = layout.init(seed);
        Network { layout, values, hash: "untrained".into() }
    }

    /// Takes over every parameter that `other` has, copied in width if need be. With a whole multiple of
    /// its width, more feed-forward channels, new blocks behind the old ones, or a dynamic bias that was
    /// not there, the function stays what it was. Returns the names of the parameters left as they were.
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

    /// What the CPU's forward pass wants.
    #[must_use]
    pub fn weights(&self, arithmetic: Arithmetic) -> Weights {
        Weights::new(&self.layout, &self.values, arithmetic)
    }

    /// The file's bytes.
    ///
    /// # Errors
    /// Only if a tensor cannot be described, which a layout's never is.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>, CheckpointError> {
        encode(self, precision, &[], &HashMap::new())
    }

    /// Reads a network; training files serve too.
    ///
    /// # Errors
    /// Names what is wrong: not safetensors, another format, a newer version, impossible sizes, a
    /// missing or misshapen tensor, a hash that does not match, numbers that are none.
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

    /// Writes the file beside its place and moves it there, so that a kill leaves old or new.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path, precision: Precision) -> Result<(), CheckpointError> {
        write(path, &self.to_bytes(precision)?)
    }
}

/// Saves a network in full precision with extras and facts a training run needs to go on.
///
/// # Errors
/// The file cannot be written.
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

fn read(path: &Path) -> Result<Vec<u8>, CheckpointError> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_BYTES {
        return Err(format_error(format!("{size} bytes, expected at most {MAX_BYTES}")));
    }
    Ok(std::fs::read(path)?)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("part");
    std::fs::write(&beside, bytes)?;
    std::fs::rename(&beside, path)?;
    Ok(())
}

fn to_bytes(values: &[f32], precision: Precision) -> Vec<u8> {
    match precision {
        Precision::Full => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Precision::Half => values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
    }
}

fn encode(
    network: &Network,
    precision: Precision,
    extras: &[(&str, &[f32])],
    facts: &HashMap<String, String>,
) -> Result<Vec<u8>, CheckpointError> {
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    let dtype = if precision == Precision::Half { Dtype::F16 } else { Dtype::F32 };
    let mut hash = Sha256::new();
    for param in &network.layout.params {
        let bytes = to_bytes(&network.values[param.range.clone()], precision);
        hash.update(&bytes);
        tensors.push((param.name.clone(), dtype, param.shape.clone(), bytes));
    }
    for (name, values) in extras {
        let bytes = to_bytes(values, Precision::Full);
        tensors.push((format!("extra.{name}"), Dtype::F32, vec![values.len()], bytes));
    }
    let config = serde_json::to_string(&network.layout.config).map_err(format_error)?;
    let mut metadata = facts.clone();
    metadata.insert("format".into(), FORMAT.into());
    metadata.insert("version".into(), VERSION.to_string());
    metadata.insert("config".into(), config);
    metadata.insert("sha256".into(), hex(&hash.finalize()));
    let views: Vec<(&str, TensorView<'_>)> = tensors
        .iter()
        .map(|(name, dtype, shape, bytes)| {
            Ok((
                name.as_str(),
                TensorView::new(*dtype, shape.clone(), bytes).map_err(format_error)?,
            ))
        })
        .collect::<Result<_, CheckpointError>>()?;
    safetensors::serialize(views, Some(metadata)).map_err(format_error)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn floats(view: &TensorView<'_>) -> Result<Vec<f32>, CheckpointError> {
    let data: Cow<'_, [u8]> = Cow::Borrowed(view.data());
    match view.dtype() {
        Dtype::F32 => Ok(data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        Dtype::F16 => {
            Ok(data.as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect())
        }
        other => Err(format_error(format!("numbers of type {other:?}, expected F16 or F32"))),
    }
}

fn decode(bytes: &[u8]) -> Result<(Network, Extras, HashMap<String, String>), CheckpointError> {
    let damaged = |e| format_error(format!("not a whole safetensors file ({e})"));
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let facts = header.metadata().clone().unwrap_or_default();
    let fact = |name: &str| facts.get(name).map(String::as_str).unwrap_or_default();
    if fact("format") != FORMAT {
        return Err(format_error(format!("format \"{}\", expected \"{FORMAT}\"", fact("format"))));
    }
    match fact("version").parse::<u32>() {
        Ok(version) if (1..=VERSION).contains(&version) => {}
        _ => {
            let found = fact("version");
            return Err(format_error(format!(
                "format version \"{found}\", expected 1 to {VERSION}"
            )));
        }
    }
    let config: NetConfig = serde_json::from_str(fact("config")).map_err(format_error)?;
    config.check().map_err(format_error)?;
    let layout = Layout::new(&config);
    let mut values = vec![0.0; layout.len];
    let mut hash = Sha256::new();
    for param in &layout.params {
        let view = tensors
            .tensor(&param.name)
            .map_err(|_| format_error(format!("no tensor \"{}\"", param.name)))?;
        if view.shape() != param.shape {
            let (name, found, expected) = (&param.name, view.shape(), &param.shape);
            return Err(format_error(format!(
                "\"{name}\" has shape {found:?}, expected {expected:?}"
            )));
        }
        hash.update(view.data());
        values[param.range.clone()].copy_from_slice(&floats(&view)?);
    }
    let hash = hex(&hash.finalize());
    if hash != fact("sha256") {
        return Err(format_error(format!(
            "its numbers have hash {hash}, expected {}",
            fact("sha256")
        )));
    }
    if let Some(param) =
        layout.params.iter().find(|p| values[p.range.clone()].iter().any(|v| !v.is_finite()))
    {
        return Err(format_error(format!("\"{}\" holds NaN or infinity", param.name)));
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
    use crate::net::DynamicBiasConfig;
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

    /// All answers about the starting position.
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
        [activations.policy, activations.actions, activations.value, activations.legality, tokens]
            .concat()
    }

    #[test]
    fn a_grown_network_answers_as_the_one_it_grew_from() {
        let mut old = small();
        // Open the branches that start closed, or any network would agree.
        old.values.iter_mut().enumerate().for_each(|(i, v)| *v += 0.1 * ((i % 13) as f32 - 6.0));
        let bias = DynamicBiasConfig { channels: 2, hidden: 3, rank: 2 };
        let deeper = NetConfig { layers: 2, dynamic_bias: Some(bias), ..old.layout.config.clone() };
        let mut grown = Network::new(&deeper, 6);
        let left = grown.adopt(&old);
        assert!(left.iter().all(|name| name.starts_with("block1.") || name.contains("bias")));
        assert!(!left.iter().any(|name| name == "legality.bias"), "{left:?}");
        assert_eq!(answer(&old), answer(&grown));
        assert_ne!(answer(&old), answer(&Network::new(&deeper, 6)));

        // The deeper one, its dynamic bias awake, grows in width; 20 is no multiple of 8.
        grown.values.iter_mut().enumerate().for_each(|(i, v)| *v += 0.05 * ((i % 7) as f32 - 3.0));
        for (width, ffn) in [(16, 20), (24, 8)] {
            let wider = NetConfig { width, ffn, ..deeper.clone() };
            let mut wide = Network::new(&wider, 7);
            assert_eq!(wide.adopt(&grown), Vec::<String>::new());
            for (a, b) in answer(&wide).iter().zip(answer(&grown)) {
                assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{a} was {b}, {width} wide");
            }
        }
        let odd = NetConfig { width: 12, ..deeper.clone() };
        let left = Network::new(&odd, 7).adopt(&grown);
        assert!(left.iter().any(|name| name == "block0.qkv.weight"), "{left:?}");
    }

    #[test]
    fn copies_of_a_channel_do_not_weigh_the_same() {
        let old = small();
        let config = NetConfig { width: 16, ..old.layout.config.clone() };
        let mut wide = Network::new(&config, 6);
        wide.adopt(&old);
        let heads = &wide.values[wide.layout.heads.weight.clone()];
        let (first, second) = heads.split_at(heads.len() / 2);
        let apart = first.iter().zip(second).filter(|(a, b)| (*a - *b).abs() > 0.1 * a.abs());
        assert!(apart.count() * 2 > first.len());
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
