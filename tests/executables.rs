//! `mavka` and `mavka-lab` in one executable, for tests that need processes of their own: cargo builds only the executables of
//! the package whose tests it runs. The environment variable `MAVKA_EXECUTABLE` chooses; engines that it starts inherit the choice.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::var("MAVKA_EXECUTABLE").as_deref() {
        Ok("mavka-lab") => lab::command::Cli::start(),
        _ => engine::command::Cli::start(),
    }
}
