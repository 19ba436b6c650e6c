//! `mavka --version`: which program, and which network is built into it.

use super::output::{Failure, Sink};
use crate::play::network::load;

/// Prints it.
///
/// # Errors
/// Standard output is closed.
pub fn print() -> Result<(), Failure> {
    let mut out = Sink::default();
    out.say(version());
    out.end()
}

/// Two lines. A built-in network that cannot be read is told of in the second.
fn version() -> String {
    let network = match load(None) {
        Ok(network) => {
            let (config, parameters) = (&network.layout.config, network.layout.len);
            let size = format!("{} wide, {} layers", config.width, config.layers);
            format!("mavka.safetensors, {}, {size}, {parameters} parameters", network.hash)
        }
        Err(why) => why.to_string(),
    };
    format!("mavka {}\nnetwork: {network}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_network() {
        let hash = load(None).unwrap().hash;
        let text = version();
        assert!(text.starts_with("mavka ") && text.contains(&hash), "{text}");
    }
}
