//! `mavka-lab evalbench`: output of [`crate::speed::evalbench`].

use crate::speed::evalbench::EvalBench;
use engine::command::output::{Failure, StdoutSink};

/// Measures and prints.
///
/// # Errors
/// The weights file cannot be used, or the network or the device fails.
pub fn run(bench: &EvalBench) -> Result<(), Failure> {
    let mut out = StdoutSink::default();
    bench.run(&mut |line| out.say(line))?;
    out.end()
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use clap::Parser;

    #[test]
    fn batches_are_a_list_and_flex_has_no_device() {
        let parse =
            |words: &[&str]| Cli::try_parse_from([&["mavka", "evalbench"], words].concat()).is_ok();
        assert!(parse(&["--batch", "1,3", "--arithmetic", "single"]));
        assert!(!parse(&["--flex", "--device", "cuda"]));
        assert!(!parse(&["--isa", "abacus"]));
    }
}
