#!/usr/bin/env bash
# vampirc-uci 0.11.1 has no message for the UCI command `go` without parameters.
#
# The protocol makes every parameter of `go` optional, and GUIs send it alone for a search until `stop`.
#
# Expected: `parse("go\n")` gives one message, `Go` without time control and search control, as the type allows and as the
#   crate itself writes it.
# Seen: no message, as for a word that is no command. `go infinite` gives one, and so does `go` with any parameter. What the crate
#   writes for the message (`go` and a blank) is not read back, and `parse_with_unknown` calls it unknown.
#
# Needs cargo.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml << 'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
vampirc-uci = "=0.11.1"

[workspace]
TOML
cat > src/main.rs << 'RUST'
use vampirc_uci::{parse, parse_with_unknown, UciMessage};

fn main() {
    let bare = UciMessage::Go { time_control: None, search_control: None };
    let written = format!("{bare}\n");
    for text in ["go\n", &written, "nonsense\n", "go infinite\n", "go depth 3\n", "isready\n"] {
        println!("{text:?}: {} messages", parse(text).len());
    }
    let unknown = |text| match &parse_with_unknown(text)[..] {
        [UciMessage::Unknown(..)] => "unknown",
        [UciMessage::Go { .. }] => "go",
        _ => "other",
    };
    println!("with unknown ones: {}, {}", unknown("go\n"), unknown("go infinite\n"));
}
RUST
cargo run --quiet | tee seen.txt
diff seen.txt - << 'SEEN'
"go\n": 0 messages
"go \n": 0 messages
"nonsense\n": 0 messages
"go infinite\n": 1 messages
"go depth 3\n": 1 messages
"isready\n": 1 messages
with unknown ones: unknown, go
SEEN
