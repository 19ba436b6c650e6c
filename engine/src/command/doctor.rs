//! `mavka doctor`: arguments and output of [`crate::doctor`].

use super::args::{read_option, read_settings};
use super::output::{Failure, StdoutSink};
use crate::doctor::{Verdict, engine, examine};
use clap::Args;
use std::path::Path;

/// Arguments of `mavka doctor`. The exit status is 0 unless something is wrong with the engine itself; a wish that
/// this machine cannot grant is a warning.
#[derive(Args, Clone, Debug)]
pub struct Doctor {
    /// A UCI option as your GUI sets it, such as WeightsFile, Hash or SyzygyPath; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
    /// Show the figures of every check, for a report of a fault
    #[arg(short, long)]
    verbose: bool,
}

impl Doctor {
    /// Examines and prints.
    ///
    /// # Errors
    /// An option is unknown, or something is at fault.
    pub fn run(self) -> Result<(), Failure> {
        let settings = read_settings(&self.options)?;
        let mut out = StdoutSink::default();
        let worst = examine(&settings, &mut |finding| {
            out.say(finding);
            for detail in finding.details.iter().filter(|_| self.verbose) {
                out.say(format_args!("{:20}{detail}", ""));
            }
        });
        let verdict = last_line(worst, &engine());
        if worst < Verdict::Fault {
            out.say(format_args!("\n{verdict}"));
        }
        out.end()?;
        if worst < Verdict::Fault { Ok(()) } else { Err(verdict.into()) }
    }
}

/// The result for a player.
fn last_line(worst: Verdict, engine: &Path) -> String {
    let add = format!(
        "In your chess program, add a UCI engine and paste this as its command:\n{}",
        engine.display()
    );
    match worst {
        Verdict::Fine => format!("All is well: Mavka is ready to play. {add}"),
        Verdict::Warning => {
            format!("Mavka plays, but not quite as you asked: see WARNING above. {add}")
        }
        Verdict::Fault => {
            "something is at fault: see FAULT above; `--verbose` shows more".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_in_words_what_to_do() {
        let [fine, warning, fault] = [Verdict::Fine, Verdict::Warning, Verdict::Fault]
            .map(|worst| last_line(worst, Path::new("/opt/mavka")));
        assert!(fine.starts_with("All is well") && fine.ends_with("\n/opt/mavka"), "{fine}");
        assert!(warning.contains("WARNING") && warning.ends_with("\n/opt/mavka"), "{warning}");
        assert!(fault.contains("FAULT") && !fault.contains("/opt/mavka"), "{fault}");
    }
}
