//! Checks the files of every command line by argument names: no output is an input, another output, or anything but a
//! regular file.

use crate::process::files::{Named, OutputError, check_outputs};
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
    let named = files.iter().map(|(argument, path)| Named { argument, path });
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

#[cfg(test)]
mod tests {
    use super::super::{Cli, UNCHECKED};
    use super::*;
    use clap::CommandFactory;
    use std::fs;

    /// Error of a command line, empty without one.
    fn refused(words: &str) -> String {
        let words = ["mavka"].into_iter().chain(words.split_whitespace());
        let matches = Cli::command().try_get_matches_from(words).unwrap();
        check(&matches, &UNCHECKED).err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[test]
    fn outputs_of_any_command_are_neither_inputs_nor_each_other() {
        for words in [
            "think startpos --read a --svg a",
            "analyse a --html a",
            "analyse a --out b --html b",
            "analyse a.part --out a",
        ] {
            assert!(refused(words).contains("would overwrite"), "{words}");
        }
        assert!(refused("eval startpos --plot src").contains("is a folder"));
        for words in ["", "uci", "man --out src"] {
            assert_eq!(refused(words), "", "{words}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_written_is_named_before_the_work() {
        let folder = std::env::temp_dir().join(format!("mavka-paths-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::write(folder.join("old"), "").unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.join("fifo")).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        for (link, target) in [("link", "old"), ("pipe", "fifo")] {
            std::os::unix::fs::symlink(target, folder.join(link)).unwrap();
        }
        for words in
            ["analyse a --out", "analyse a --html", "eval startpos --plot", "think startpos --svg"]
        {
            for (name, fault) in [
                ("new", ""),
                ("link", ""),
                ("fifo", "a FIFO"),
                ("pipe", "a FIFO"),
                ("below", "a folder"),
                ("/dev/null", "a device"),
                ("/dev/full", "a device"),
                ("absent/file", "absent does not exist"),
            ] {
                let why = refused(&format!("{words} {}", folder.join(name).display()));
                assert_eq!(why.is_empty(), fault.is_empty(), "{words} {name}: {why}");
                let (_, argument) = words.rsplit_once(' ').unwrap();
                assert!(why.contains(fault), "{words} {name}: {why}");
                assert!(fault.is_empty() || why.starts_with(argument), "{words} {name}: {why}");
            }
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 5, "nothing is left or made");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A new path argument must be listed here or in `OUTPUTS`.
    #[test]
    fn every_path_is_known_as_an_input_or_an_output() {
        let inputs = ["files", "read", "weights", "writer"];
        let outputs = ["html", "out", "plot", "svg"];
        let known = inputs.into_iter().chain(outputs).map(str::to_owned).collect();
        assert_eq!(arguments(&Cli::command()), known);
    }
}
