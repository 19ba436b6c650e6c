//! `mavka uci`: the engine on standard input and output.

use super::output::Failure;
use crate::options::Shown;
use crate::play::network::Installed;
use crate::play::setup::Setup;
use crate::process::streams;
use clap::Args;
use nn::kernels::Isa;
use std::sync::Arc;

/// The flag that lists all options.
pub const SHOW_HIDDEN: &str = "--show-hidden";

/// Arguments of `mavka uci`.
#[derive(Args, Default)]
pub struct Uci {
    /// List the constants of the search among the options
    #[arg(long)]
    show_hidden: bool,
    /// Instructions of the network on the CPU: portable, avx2, avx512, amx, or neon on Arm's processors [default: the widest this CPU has]
    #[arg(long)]
    isa: Option<Isa>,
}

impl Uci {
    /// Runs until `quit` or the end of the input.
    ///
    /// # Errors
    /// None so far; the signature is that of all subcommands.
    pub fn run(self) -> Result<(), Failure> {
        self.run_with(|installed| Setup { networks: Arc::new(installed), ..Setup::default() })
    }

    /// The same with an engine of other networks or players, which may open those of this executable as they are handed
    /// to `setup`.
    ///
    /// # Errors
    /// As [`Uci::run`].
    pub fn run_with(self, setup: impl FnOnce(Installed) -> Setup) -> Result<(), Failure> {
        let setup = setup(self.isa.map_or_else(Installed::default, |isa| Installed { isa }));
        let shown_options = if self.show_hidden { Shown::All } else { Shown::Everyday };
        let setup = Setup { shown_options, ..setup };
        crate::run_with(setup, streams::input(), streams::output());
        Ok(())
    }
}
