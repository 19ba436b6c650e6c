//! `mavka-lab uci`: the engine on standard input and output, with the conventional players.

use crate::conventional::PLAYERS;
use clap::Args;
use engine::Setup;
use engine::command::output::Failure;
use engine::command::uci::Uci as Product;
use std::sync::Arc;

pub(super) use engine::command::uci::SHOW_HIDDEN;

/// Arguments of `mavka-lab uci`.
#[derive(Args)]
pub struct Uci {
    #[command(flatten)]
    product: Product,
}

impl Uci {
    /// Runs until `quit` or the end of the input.
    ///
    /// # Errors
    /// None so far; the signature is that of all subcommands.
    pub fn run(self) -> Result<(), Failure> {
        self.product.run_with(|installed| Setup {
            networks: Arc::new(installed),
            players: &PLAYERS,
            ..Setup::default()
        })
    }
}
