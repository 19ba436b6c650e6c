//! What the README says of the code, held against the code.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::Path;

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    std::fs::read_to_string(path).expect("README.md beside the workspace")
}

#[test]
fn the_options_table_is_what_the_engine_prints() {
    let readme = readme();
    let table = engine::uci::options::markdown(engine::uci::options::Shown::Everyday);
    assert!(readme.contains(table.trim()), "run `mavka options` and paste its table:\n{table}");
}

#[test]
fn every_command_of_the_readme_exists() {
    let readme = readme();
    let named: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `mavka "))
        .filter_map(|rest| rest.split(['`', ' ']).next())
        .collect();
    assert!(named.len() > 5, "the table of commands is gone");
    for command in named {
        let help =
            <engine::command::Cli as clap::Parser>::try_parse_from(["mavka", command, "--help"]);
        let kind = help.err().map(|error| error.kind());
        assert_eq!(kind, Some(clap::error::ErrorKind::DisplayHelp), "mavka {command}");
    }
}
