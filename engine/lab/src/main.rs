//! The laboratory's executable: command line in, exit status out. Everything else is the library's.

#![forbid(unsafe_code)]

use std::process::ExitCode;

// Many small vectors are freed by other threads than allocated them, which mimalloc does fast.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lab::command::Cli::start()
}
