//! The executable: command line in, exit status out. Everything else is the library's.

#![forbid(unsafe_code)]

use std::process::ExitCode;

// Many small vectors die on other threads than they were born on; mimalloc takes that in its stride.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    engine::command::Cli::start()
}
