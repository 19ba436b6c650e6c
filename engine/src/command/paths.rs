//! The files that a command line names. Every command is checked alike, by the names of its arguments: no output is an input, another
//! output, or anything but an ordinary file.

use crate::files::{Named, OutputError, check_outputs};
use clap::ArgMatches;
use std::path::{Path, PathBuf};

/// Arguments that name a file to write.
const OUTPUTS: [&str; 9] =
    ["clocks", "csv", "failures", "html", "out", "pgn", "plot", "save", "svg"];
/// Left out: folders, which their commands check, and networks that a training may replace by their successors.
const UNCHECKED: [(&str, &str); 6] = [
    ("league", "out"),
    ("man", "out"),
    ("train", "folder"),
    ("regress", "folder"),
    ("train-nnue", "init"),
    ("train-writer", "init"),
];

/// Refuses a command whose outputs would overwrite its inputs or each other.
///
/// # Errors
/// Names the first such output.
pub(super) fn check(matches: &ArgMatches) -> Result<(), OutputError> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
    let ids = matches.ids().map(|id| id.as_str());
    let ids = ids.filter(|id| !UNCHECKED.contains(&(command, id)));
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

/// The paths that an argument was given; none if it takes something else.
fn paths<'a>(matches: &'a ArgMatches, id: &str) -> Vec<&'a Path> {
    let plain = matches.try_get_many::<PathBuf>(id).ok().flatten();
    let shared = matches.try_get_many::<(PathBuf, f64)>(id).ok().flatten();
    let shared = shared.into_iter().flatten().map(|(path, _)| path);
    plain.into_iter().flatten().chain(shared).map(PathBuf::as_path).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory;
    use std::any::TypeId;
    use std::collections::BTreeSet;

    /// The error of a command line, empty without one.
    fn refused(words: &str) -> String {
        let words = ["mavka"].into_iter().chain(words.split_whitespace());
        let matches = Cli::command().try_get_matches_from(words).unwrap();
        check(&matches).err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[test]
    fn outputs_of_any_command_are_neither_inputs_nor_each_other() {
        for words in [
            "tune labels --csv labels",
            "tune labels --csv a --plot ./a",
            "data a b=0.5 --plot b",
            "puzzles a.csv --failures src/../a.csv",
            "puzzles a.part --failures a",
            "think startpos --read a --svg a",
            "train-nnue --data a --out a",
            "match --first-nodes 1 --second-nodes 1 --openings a --pgn a",
        ] {
            assert!(refused(words).contains("would overwrite"), "{words}");
        }
        assert!(refused("eval startpos --plot src").contains("is a folder"));
        for words in [
            "",
            "uci",
            "tune labels --csv a --plot b",
            "train-nnue --data a --init b --out b",
            "league src/a --out src",
        ] {
            assert_eq!(refused(words), "", "{words}");
        }
    }

    /// A new argument is added here or to the outputs.
    #[test]
    fn every_path_is_known_as_an_input_or_an_output() {
        let inputs = [
            "config",
            "data",
            "exclude",
            "file",
            "files",
            "folder",
            "init",
            "judged",
            "kinds",
            "labels",
            "measure",
            "openings",
            "puzzles",
            "read",
            "regret",
            "samples",
            "siblings",
            "successors",
            "teacher",
            "weigh",
            "weights",
            "writer",
        ];
        let mut found = BTreeSet::new();
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                let kind = argument.get_value_parser().type_id();
                if kind == TypeId::of::<PathBuf>() || kind == TypeId::of::<(PathBuf, f64)>() {
                    found.insert(argument.get_id().to_string());
                }
            }
        }
        let known = inputs.into_iter().chain(OUTPUTS).map(str::to_owned).collect();
        assert_eq!(found, known);
    }
}
