//! The arrows between the crates, read from their manifests, and those between the files of a crate: a
//! new one between crates, or a circle of files, fails here first.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod imports;
mod type_names;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The crates by their folders.
const CRATES: [&str; 10] = [
    "engine",
    "engine/alphabeta",
    "engine/chess",
    "engine/games",
    "engine/lab",
    "mcts",
    "nn",
    "nn/kernels",
    "nn/train",
    "uci",
];
/// Crates that use only the field's words. The list may only grow.
const IN_THE_FIELDS_WORDS: [&str; 10] = CRATES;

/// The crates of the house that `name` depends on, in any of its dependency tables.
fn arrows(name: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap();
    let mut in_dependencies = false;
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            in_dependencies = table.trim_end_matches(']').contains("dependencies");
            // `[dependencies.nn]` is an arrow too.
            found.extend(
                table
                    .trim_end_matches(']')
                    .split('.')
                    .filter(|_| in_dependencies)
                    .map(str::to_owned),
            );
        } else if in_dependencies {
            found.extend(
                line.split(['.', '=', ' ']).next().map(|key| key.trim_matches('"').to_owned()),
            );
        }
    }
    found.retain(|dependency| {
        let name = dependency.strip_prefix("mavka-").unwrap_or(dependency);
        name == "mavka" || CRATES.iter().any(|folder| folder.rsplit('/').next() == Some(name))
    });
    found
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_engine_depends_on_crates_that_depend_on_less() {
    assert_eq!(arrows("engine"), set(&["alphabeta", "chess", "games", "mcts", "nn", "uci"]));
    assert_eq!(arrows("engine/alphabeta"), set(&["chess", "kernels", "nn"]));
    assert_eq!(arrows("engine/games"), set(&["mcts", "nn"]));
    for name in ["engine/chess", "mcts", "nn/kernels", "uci"] {
        assert_eq!(arrows(name), set(&[]), "{name}");
    }
    assert_eq!(arrows("nn"), set(&["chess", "kernels"]));
    assert_eq!(arrows("nn/train"), set(&["alphabeta", "chess", "nn"]));
    let laboratory = ["alphabeta", "chess", "engine", "games", "mcts", "nn", "train", "uci"];
    assert_eq!(arrows("engine/lab"), set(&laboratory));
    assert_eq!(arrows("tests"), set(&["chess", "engine", "lab", "mcts", "nn", "train", "uci"]));
}

/// One recursion: the search of a position, by the methods of one type, ends in searches of the next positions.
const RECURSION: [&str; 7] =
    ["candidate.rs", "credit.rs", "extension.rs", "lib.rs", "node.rs", "prune.rs", "quiescence.rs"];

#[test]
fn no_files_of_a_crate_use_each_other_in_a_circle_but_one_recursion() {
    for name in CRATES {
        let uses = files_used(name);
        let mut circles = imports::circles(&uses);
        let all = circles.len();
        circles.retain(|circle| *circle != set(&RECURSION));
        assert!(
            circles.is_empty(),
            "circles of files in {name}: {:#?}",
            named_circles(&uses, &circles)
        );
        assert_eq!(all - circles.len(), usize::from(name == "engine/alphabeta"), "{name}");
    }
}

/// A folder is what stands directly below `src`, or in the engine below a folder there; a file there counts as a folder
/// of its own.
#[test]
fn no_folders_of_a_crate_use_each_other_in_a_circle() {
    for name in CRATES {
        let files = files_used(name);
        // Folders of kernels are operations; `amx` has its files of each of them.
        let aside = if name == "nn/kernels" { "amx/" } else { "lib.rs" };
        let is_ranked = |file: &&String| *file != "lib.rs" && !file.starts_with(aside);
        let deepest = if name == "engine" { 2 } else { 1 };
        for depth in 1..=deepest {
            let folder = |file: &String| -> String {
                let parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
                parts[..depth.min(parts.len())].join("/")
            };
            let mut uses = imports::Uses::new();
            for (file, used) in files.iter().filter(|(file, _)| is_ranked(file)) {
                let used = used.iter().filter(is_ranked);
                let others = used.map(folder).filter(|other| *other != folder(file));
                uses.entry(folder(file)).or_default().extend(others);
            }
            let mut circles = imports::circles(&uses);
            // Without `lib.rs` it is a part of that circle.
            let recursion = set(&RECURSION.map(|file| file.trim_end_matches(".rs")));
            let is_recursion = |circle: &BTreeSet<String>| circle.is_subset(&recursion);
            circles.retain(|circle| name != "engine/alphabeta" || !is_recursion(circle));
            let circles = named_circles(&uses, &circles);
            assert!(circles.is_empty(), "circles of folders in {name}: {circles:#?}");
        }
    }
}

fn files_used(name: &str) -> imports::Uses {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    let uses = imports::uses(&|file| fs::read_to_string(folder.join(file)).ok());
    assert!(uses.len() > 5, "{name}: only {} files read", uses.len());
    uses
}

/// Each circle by the uses that close it.
fn named_circles(uses: &imports::Uses, circles: &[BTreeSet<String>]) -> Vec<Vec<String>> {
    let inside = |circle: &BTreeSet<String>| -> Vec<String> {
        let edges = circle.iter().flat_map(|file| {
            uses[file].intersection(circle).map(move |used| format!("{file} uses {used}"))
        });
        edges.collect()
    };
    circles.iter().map(inside).collect()
}

/// The tree search decides: only the alpha-beta player and the blunder check may use that search, beside the laboratory.
#[test]
fn alpha_beta_has_no_other_users() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    let is_user = |path: &Path| {
        let source = fs::read_to_string(path).unwrap();
        words::identifiers(&source).iter().any(|(_, name)| *name == "alphabeta")
    };
    files.retain(|path| is_user(path));
    let expected =
        ["play/players/classic.rs", "play/search/blunder_check.rs", "play/tree/session.rs"];
    let expected: BTreeSet<_> = expected.map(|file| folder.join(file)).into();
    assert_eq!(files.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// Where `unsafe` may stand, below the crates' common folder.
const KERNELS: &str = "nn/kernels/src/";

/// The lines with `unsafe`, or with an `allow` of it.
fn unsafe_lines(source: &str) -> Vec<usize> {
    let names = words::identifiers(source);
    let allowed =
        names.windows(2).filter(|pair| pair[0].1 == "allow" && pair[1].1 == "unsafe_code");
    let used = names.iter().filter(|(_, name)| *name == "unsafe");
    allowed.map(|pair| pair[1].0).chain(used.map(|(line, _)| *line)).collect()
}

/// The compiler forbids it in every other crate.
#[test]
fn unsafe_code_stands_in_the_kernels_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut found, mut in_kernels) = (Vec::new(), 0);
    for name in CRATES {
        let folder = root.join(name).join("src");
        let lib = fs::read_to_string(folder.join("lib.rs")).unwrap();
        let forbids = lib.contains("#![forbid(unsafe_code)]");
        assert_eq!(forbids, name != "nn/kernels", "{name}");
        let mut files = Vec::new();
        collect(&folder, &mut files);
        for path in files {
            let lines = unsafe_lines(&fs::read_to_string(&path).unwrap());
            match path.starts_with(root.join(KERNELS)) {
                true => in_kernels += lines.len(),
                false => {
                    found.extend(lines.iter().map(|line| format!("{}:{line}", path.display())))
                }
            }
        }
    }
    assert!(in_kernels > 100, "only {in_kernels} lines in {KERNELS}");
    assert!(found.is_empty(), "`unsafe` outside {KERNELS}: {found:#?}");
}

#[test]
fn unsafe_code_is_found_outside_comments_strings_and_lints_that_deny_it() {
    let clean = "#![deny(unsafe_code)] // unsafe\nfn safe() { print(\"unsafe\"); unsafe_lines() }";
    assert!(unsafe_lines(clean).is_empty());
    let found = "#[allow(unsafe_code)]\nfn f() {\n    unsafe { g() }\n}\nunsafe fn g() {}";
    assert_eq!(unsafe_lines(found), [1, 3, 5]);
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let mut files = Vec::new();
    for name in CRATES {
        collect(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"),
            &mut files,
        );
    }
    assert!(files.len() > 20);
    let silent: Vec<_> =
        files.iter().filter(|path| !fs::read_to_string(path).unwrap().starts_with("//!")).collect();
    assert!(silent.is_empty(), "no //! at the top of {silent:?}");
}

#[test]
fn one_type_name_has_one_meaning_in_a_crate() {
    let mut ambiguous = Vec::new();
    for name in CRATES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let mut files = Vec::new();
        collect(&folder, &mut files);
        let sources: BTreeMap<String, String> = files
            .iter()
            .map(|path| {
                let file = path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
                (file, fs::read_to_string(path).unwrap())
            })
            .collect();
        assert!(sources.len() > 5, "{name}: only {} files read", sources.len());
        let names = type_names::ambiguous(&sources).into_iter();
        ambiguous.extend(names.map(|(ty, files)| format!("{name}: `{ty}` in {files:?}")));
    }
    assert!(ambiguous.is_empty(), "give the more special one a longer name: {ambiguous:#?}");
}

#[test]
fn names_of_two_files_are_ambiguous_but_not_those_of_tests_and_functions() {
    let source = |(file, text): (&str, &str)| (file.to_owned(), text.to_owned());
    let sources = [
        (
            "lib.rs",
            "mod a; pub mod b; #[cfg(test)] mod testing; struct Report; #[cfg(test)] struct A;",
        ),
        (
            "a.rs",
            "enum Report {} #[cfg(all(test, unix))] mod tests; fn f() { struct B; } type A = u8;",
        ),
        ("a/tests.rs", "struct A; mod inner {}"),
        ("b/mod.rs", "mod inner { trait Row {} } #[cfg(test)] mod tests { struct A; } struct B;"),
        ("b/c.rs", "#[cfg(unix)] type Row = u8; #[cfg(not(unix))] type Row = u16; struct Table;"),
        ("testing.rs", "struct Table; struct Row;"),
        ("testing/deeper.rs", "struct Table;"),
    ];
    let expected = [("Report", ["a.rs", "lib.rs"]), ("Row", ["b/c.rs", "b/mod.rs"])];
    let expected = expected.map(|(name, files)| (name.to_owned(), set(&files)));
    assert_eq!(type_names::ambiguous(&sources.map(source).into()), expected.into());
}

#[test]
fn comments_and_names_use_the_fields_words() {
    let mut files = Vec::new();
    for name in IN_THE_FIELDS_WORDS {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        for folder in ["src", "tests", "examples"].map(|folder| root.join(folder)) {
            if folder.is_dir() {
                collect(&folder, &mut files);
            }
        }
    }
    assert!(files.len() > 200, "only {} files read", files.len());
    let mut found = Vec::new();
    for path in files {
        let source = fs::read_to_string(&path).unwrap();
        for finding in words::forbidden(&source) {
            found.push(format!("{}:{}: {}", path.display(), finding.line, finding.phrase));
        }
        let inverted = words::inverted(&source).into_iter();
        found.extend(inverted.map(|line| format!("{}:{line}: the subject first", path.display())));
    }
    assert!(found.is_empty(), "say it in words that an engineer would search for: {found:#?}");
}

#[test]
fn sentences_without_their_subject_first_are_found() {
    let source = "/// What it is.\nfn f() {} // A word: of no use. Of none.\n//! Says\n//! what. That\nfn g() {}\n/* Who else */";
    assert_eq!(words::inverted(source), [1, 2, 4, 6]);
    assert!(words::inverted("/// So it is\n/// That: no, What else\nlet What = 1;").is_empty());
}

#[test]
fn forbidden_words_are_found_in_comments_and_names_but_not_in_strings() {
    let found = |source: &str| -> Vec<(usize, &str)> {
        let found = words::forbidden(source).into_iter();
        found.map(|finding| (finding.line, finding.phrase)).collect()
    };
    assert_eq!(
        found("//! Whoever asks\n//! for so\n//! many rows."),
        [(2, "so many"), (1, "whoever")]
    );
    assert_eq!(found("/* a piece's\nworth */ fn f() {}"), [(2, "worth")]);
    assert_eq!(found("let goes_on = Told { MAX_WORTH };\nlet reduce_together = 1;").len(), 4);
    assert_eq!(found("struct NoNumber;\n\nfn it_is_no_number() {}").len(), 2);
    let allowed = [
        "// Rows `stride` floats apart, taken together; untold, newsletter, a number.",
        r##"let text = ("told", '"', b"worth \" nobody", r#"so "many" "told""#);"##,
        "fn so<'told_>(so: &'told_ u8) {} // so\nfn f() {} // many",
        "let (so, many) = (1, 2);",
    ];
    // The lifetime is an identifier, too.
    assert_eq!(allowed.map(|source| found(source).len()), [0, 0, 2, 0]);
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}
