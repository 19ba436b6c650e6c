//! `mavka --version`: version and built-in network.

use super::output::{Failure, StdoutSink};
use crate::play::network::load;

/// Prints the version.
///
/// # Errors
/// Standard output is closed.
pub fn print() -> Result<(), Failure> {
    let mut out = StdoutSink::default();
    out.say(version());
    out.end()
}

/// Version and built-in network, or its error.
fn version() -> String {
    let network = match load(None) {
        Ok(network) => {
            let (config, parameters) = (&network.layout.config, network.layout.len);
            let size = format!("{} wide, {} layers", config.width, config.layers);
            format!("{}, {size}, {parameters} parameters", network.hash)
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
        let text = version();
        assert!(text.starts_with("mavka "));
        assert!(text.contains(&load(None).unwrap().hash), "{text}");
    }
}
