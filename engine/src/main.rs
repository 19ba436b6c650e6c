//! The binary.
use clap::Parser;

#[derive(Parser)]
enum Command {
    Match(engine::command::play_match::PlayMatch),
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    match Command::parse() {
        Command::Match(args) => engine::command::play_match::run(args),
    }
}
