//! `mavka uci`: the engine on standard input and output.

use super::output::Failure;
use crate::options::Shown;
use crate::play::engine::Setup;
use crate::streams;
use clap::Args;
use nn::kernels::Isa;

/// The flag that lists all options.
pub const SHOW_HIDDEN: &str = "--show-hidden";

/// Arguments of `mavka uci`.
#[derive(Args, Default)]
pub struct Uci {
    /// List the constants of the search among the options
    #[arg(long)]
    show_hidden: bool,
    /// Instructions to do with: portable, avx2, avx512, amx, or neon on Arm's processors [default: the widest this CPU has]
    #[arg(long)]
    isa: Option<Isa>,
}

impl Uci {
    /// Runs until `quit` or the end of the input.
    ///
    /// # Errors
    /// None so far; the signature is that of all subcommands.
    pub fn run(self) -> Result<(), Failure> {
        self.run_with(Setup::default())
    }

    /// The same with an engine of other networks or players.
    ///
    /// # Errors
    /// As [`Uci::run`].
    pub fn run_with(self, setup: Setup) -> Result<(), Failure> {
        if let Some(isa) = self.isa {
            isa.limit();
        }
        let shown_options = if self.show_hidden { Shown::All } else { Shown::Everyday };
        let setup = Setup { shown_options, ..setup };
        crate::run_with(setup, streams::input(), streams::output());
        Ok(())
    }
}
