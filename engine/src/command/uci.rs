//! `mavka uci`: the engine on standard input and output.

use super::output::Failure;
use crate::play::engine::Setup;
use crate::streams;
use crate::uci::options::Shown;
use clap::Args;
use nn::cpu::Isa;

/// The flag that lists all options.
pub(super) const SHOW_HIDDEN: &str = "--show-hidden";

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
        if let Some(isa) = self.isa {
            isa.limit();
        }
        let shown_options = if self.show_hidden { Shown::All } else { Shown::Everyday };
        let setup = Setup { shown_options, ..Setup::default() };
        crate::run_with(setup, streams::input(), streams::output());
        Ok(())
    }
}
