//! `mavka doctor`: arguments and output of [`crate::doctor`].

use super::args::{read_option, read_settings};
use super::output::{Failure, Sink};
use crate::doctor::{Verdict, examine};
use clap::Args;

/// Arguments of `mavka doctor`. The exit status is 0 unless something is wrong with the engine itself; a wish that
/// this machine cannot grant is a warning.
#[derive(Args, Clone, Debug)]
pub struct Doctor {
    /// A UCI option as your GUI sets it, such as WeightsFile, Hash or SyzygyPath; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = read_option)]
    options: Vec<(String, String)>,
}

impl Doctor {
    /// Examines and prints.
    ///
    /// # Errors
    /// An option is unknown, or something is at fault.
    pub fn run(self) -> Result<(), Failure> {
        let settings = read_settings(&self.options)?;
        let mut out = Sink::default();
        let worst = examine(&settings, &mut |finding| out.say(finding));
        out.end()?;
        match worst {
            Verdict::Fault => Err("something is at fault: see the lines above".into()),
            Verdict::Fine | Verdict::Warning => Ok(()),
        }
    }
}
