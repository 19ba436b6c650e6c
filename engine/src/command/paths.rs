//! Checks the files of every command line by argument names: no output is an input, another output, or anything but a
//! regular file.

use crate::process::files::{NamedFile, OutputError, check_outputs};
use clap::{ArgMatches, Command};
use std::any::TypeId;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Arguments that name a file to write.
const OUTPUTS: [&str; 9] =
    ["clocks", "csv", "failures", "html", "out", "pgn", "plot", "save", "svg"];
/// Rejects a command whose outputs would overwrite its inputs or each other.
///
/// `unchecked` are exceptions: command and argument.
///
/// # Errors
/// The first such output.
pub fn check(matches: &ArgMatches, unchecked: &[(&str, &str)]) -> Result<(), OutputError> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
    let ids = matches.ids().map(|id| id.as_str());
    let ids = ids.filter(|id| !unchecked.contains(&(command, id)));
    let files = ids.flat_map(|id| {
        let argument = if OUTPUTS.contains(&id) { format!("--{id}") } else { id.to_owned() };
        paths(matches, id).into_iter().map(move |path| (argument.clone(), path))
    });
    let files: Vec<(String, &Path)> = files.collect();
    let named = files.iter().map(|(argument, path)| NamedFile { argument, path });
    let (outputs, inputs): (Vec<_>, Vec<_>) =
        named.partition(|file| file.argument.starts_with("--"));
    check_outputs(&inputs, &outputs)
}

/// Paths given for an argument; empty if it is not a path.
fn paths<'a>(matches: &'a ArgMatches, id: &str) -> Vec<&'a Path> {
    let plain = matches.try_get_many::<PathBuf>(id).ok().flatten();
    let shared = matches.try_get_many::<(PathBuf, f64)>(id).ok().flatten();
    let shared = shared.into_iter().flatten().map(|(path, _)| path);
    plain.into_iter().flatten().chain(shared).map(PathBuf::as_path).collect()
}

/// Names of all path arguments of the subcommands of `command`.
#[must_use]
pub fn arguments(command: &Command) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for command in command.get_subcommands() {
        for argument in command.get_arguments() {
            let kind = argument.get_value_parser().type_id();
            if kind == TypeId::of::<PathBuf>() || kind == TypeId::of::<(PathBuf, f64)>() {
                found.insert(argument.get_id().to_string());
            }
        }
    }
    found
}
