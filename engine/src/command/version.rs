//! `mavka --version`: which program, and which network is built into it.

use super::output::{Failure, Sink};
use crate::play::network::{LARGE, SMALL, load};
use std::path::Path;

/// Prints it.
///
/// # Errors
/// Standard output is closed.
pub fn print() -> Result<(), Failure> {
    let mut out = Sink::default();
    out.say(version());
    out.end()
}

/// The version, and a line for each built-in network. One that cannot be read is told of there.
fn version() -> String {
    let files = [("mavka.safetensors", SMALL), ("mavka-large.safetensors", LARGE)];
    let networks = files.map(|(file, name)| match load(Some(Path::new(name))) {
        Ok(network) => {
            let (config, parameters) = (&network.layout.config, network.layout.len);
            let size = format!("{} wide, {} layers", config.width, config.layers);
            format!("{file}, {}, {size}, {parameters} parameters", network.hash)
        }
        Err(why) => why.to_string(),
    });
    format!("mavka {}\nnetwork: {}", env!("CARGO_PKG_VERSION"), networks.join("\nnetwork: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_networks() {
        let text = version();
        assert!(text.starts_with("mavka "));
        for name in [SMALL, LARGE] {
            let hash = load(Some(Path::new(name))).unwrap().hash;
            assert!(text.contains(&hash), "{text}");
        }
    }
}
