//! The README and the book compared with the repository: options, commands, chapters, links, files and words.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use clap::CommandFactory;
use clap::error::ErrorKind;
use engine::command::Cli;
use engine::options::{Shown, markdown};
use mavka_tests::{PRIVATE_WORDS, inverted};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The laboratory's logs, in `docs/src`. They are records: they keep the words, commands and file names of
/// their time, so that only their links are checked, and the commands of those that are [`REPEATED`].
const LOGS: [&str; 7] = [
    "imagined.md",
    "internal.md",
    "networks-log.md",
    "papers.md",
    "search.md",
    "speed.md",
    "strength.md",
];
/// Those among them whose measurements are to be repeated: their commands are checked, too.
const REPEATED: [&str; 3] = ["imagined.md", "internal.md", "papers.md"];
/// Other pages whose links are checked.
const PAGES: [&str; 6] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "nn/torch/README.md",
    "assets/syzygy/README.md",
    "tests/syzygy/README.md",
];
/// Longest README, in lines.
const README_LINES: usize = 110;
/// First folders of the repository's paths.
const FOLDERS: [&str; 9] =
    [".ci/", ".github/", "assets/", "docs/", "engine/", "mcts/", "nn/", "tests/", "uci/"];
/// Table text that the engine prints stands between these.
const OPTIONS_BEGIN: &str = "<!-- options";
const OPTIONS_END: &str = "<!-- end of options -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Every page of the book, as its path.
fn book() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    collect(&root().join("docs/src"), &mut pages);
    assert!(pages.len() > 20, "only {} pages", pages.len());
    pages
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    path.parent().is_some_and(|folder| folder.ends_with("docs/src"))
        && LOGS.iter().any(|log| name == *log)
}

/// The README, the contributor's page and the book without its logs.
fn guide() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    pages.extend(book().into_iter().filter(|path| !is_log(path)));
    pages
}

/// The lines of a page outside and inside of its fenced blocks of shell commands. Other fenced blocks are in neither.
fn prose_and_shell(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut prose, mut shell) = (Vec::new(), Vec::new());
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), fence) {
            (Some(_), Some(_)) => fence = None,
            (Some(language), None) => fence = Some(language.trim()),
            (None, Some("sh")) => shell.push(line),
            (None, Some(_)) => {}
            (None, None) => prose.push(line),
        }
    }
    (prose, shell)
}

/// The texts in backticks of one line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The text between the options' marks.
fn options_of(text: &str) -> &str {
    let (_, after) = text.split_once(OPTIONS_BEGIN).expect("the mark of the options");
    let (_, table) = after.split_once("-->").expect("the end of that mark");
    table.split_once(OPTIONS_END).expect("the mark of their end").0
}

#[test]
fn the_options_table_is_what_the_engine_prints() {
    let page = read(&root().join("docs/src/guide/options.md"));
    let table = markdown(Shown::Everyday);
    assert!(
        options_of(&page).trim() == table.trim(),
        "run `mavka options` and paste its table into docs/src/guide/options.md:\n{table}"
    );
}

/// The table of the pictures, by their paths: their data as paths and sums.
fn pictures() -> BTreeMap<String, Vec<(String, String)>> {
    #[derive(serde::Deserialize)]
    struct Picture {
        data: Vec<(String, String)>,
    }
    let table = read(&root().join("docs/pictures/pictures.toml"));
    let table: BTreeMap<String, Picture> = toml::from_str(&table).unwrap();
    table.into_iter().map(|(path, picture)| (path, picture.data)).collect()
}

#[test]
fn no_picture_is_older_than_its_data() {
    for (picture, data) in pictures() {
        assert!(root().join(&picture).exists(), "{picture}");
        for (path, sum) in data {
            let bytes = fs::read(root().join(&path)).unwrap();
            let now: String =
                Sha256::digest(&bytes)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(now, sum, "{picture} is older than {path}: docs/pictures/draw.py {picture}");
        }
    }
}

#[test]
fn every_picture_is_drawn_by_a_command() {
    let mut shown = BTreeSet::new();
    for page in linked_pages() {
        for link in links(&read(&page)) {
            if [".svg", ".png"].iter().any(|end| link.ends_with(end)) && !link.contains("://") {
                let path = page.parent().unwrap().join(link).canonicalize().unwrap();
                let path = path.strip_prefix(root().canonicalize().unwrap()).unwrap();
                shown.insert(path.display().to_string());
            }
        }
    }
    assert_eq!(shown, pictures().into_keys().collect());
}

/// Both pictures name the network in plain text: the SVG in its heading, the PNG in a comment.
#[test]
fn the_readmes_pictures_are_of_the_built_in_network() {
    let network = engine::play::network::load(None).unwrap();
    for picture in ["assets/sight.svg", "assets/analysis.png"] {
        let bytes = fs::read(root().join(picture)).unwrap();
        let named = bytes.windows(network.hash.len()).any(|part| part == network.hash.as_bytes());
        assert!(named, "{picture} is not of the network {}", network.hash);
    }
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines <= README_LINES, "{lines} lines");
}

fn programs() -> [(&'static str, clap::Command); 2] {
    [("mavka", Cli::command()), ("mavka-lab", lab::command::Cli::command())]
}

/// The subcommand behind the program in a command line; None for an option, a redirection or nothing.
fn subcommand(words: &str) -> Option<&str> {
    let word = words.split_whitespace().next()?;
    word.starts_with(|first: char| first.is_ascii_lowercase()).then_some(word)
}

/// The subcommands of `program` that a page names, in code spans and shell blocks.
fn named_commands<'a>(text: &'a str, program: &str) -> BTreeSet<&'a str> {
    let (prose, shell) = prose_and_shell(text);
    let spans = prose.into_iter().flat_map(code_spans);
    let named = |words: &'a str| words.strip_prefix(program)?.strip_prefix(' ');
    let spans = spans.filter_map(named);
    let lines = shell.into_iter().flat_map(|line| {
        let line = line.split_once(" #").map_or(line, |(before, _)| before);
        line.split('|').filter_map(move |part| named(part.trim_start()))
    });
    spans.chain(lines).filter_map(subcommand).collect()
}

#[test]
fn every_command_that_is_named_exists() {
    let mut named = 0;
    for page in guide() {
        let text = read(&page);
        for (program, cli) in programs() {
            for command in named_commands(&text, program).into_iter().filter(|name| *name != "help")
            {
                named += 1;
                let help = cli.clone().try_get_matches_from([program, command, "--help"]);
                let kind = help.err().map(|error| error.kind());
                let page = page.display();
                assert_eq!(kind, Some(ErrorKind::DisplayHelp), "{page}: {program} {command}");
            }
        }
    }
    assert!(named > 50, "only {named} commands found");
}

/// The command lines of a page's shell blocks, and of its code spans: continued lines are one, pipes are cut, comments left out.
fn command_lines(text: &str) -> (Vec<String>, Vec<String>) {
    let (prose, shell) = prose_and_shell(text);
    let spans = prose.into_iter().flat_map(code_spans).map(|span| match span.split_once(" | ") {
        Some((first, _)) => first.to_owned(),
        None => span.to_owned(),
    });
    let shell = shell.join("\n").replace("\\\n", " ");
    let lines = shell.lines().flat_map(|line| {
        let line = line.split_once(" #").map_or(line, |(before, _)| before);
        line.split(['|', ';', '&', '>']).map(|part| part.trim().to_owned()).collect::<Vec<_>>()
    });
    (lines.collect(), spans.collect())
}

/// The fault that `program`'s parser finds in a command line of it; none if it is another program's.
fn fault(line: &str, program: &str, cli: &clap::Command) -> Option<ErrorKind> {
    let words = shlex::split(line).unwrap_or_else(|| panic!("no command line: {line}"));
    if words.first().map(String::as_str) != Some(program) {
        return None;
    }
    cli.clone().try_get_matches_from(words).err().map(|error| error.kind())
}

/// By the parsers of the programs: a command or an option that is gone fails. Nothing is run, no file is opened.
#[test]
fn every_printed_command_line_is_understood() {
    let logs = REPEATED.iter().map(|log| root().join("docs/src").join(log));
    let (mut faults, mut parsed) = (Vec::new(), 0);
    for page in guide().into_iter().chain(logs) {
        let (lines, spans) = command_lines(&read(&page));
        for (program, cli) in programs() {
            let ours = |line: &&String| line.split(' ').next() == Some(program);
            for line in lines.iter().filter(ours) {
                parsed += 1;
                let fault = fault(line, program, &cli);
                // `--version` answers and ends.
                if fault.is_some_and(|kind| kind != ErrorKind::DisplayVersion) {
                    faults.push(format!("{}: {line}: {fault:?}", page.display()));
                }
            }
            // A span may name the beginning of a command line, with capitals where something is to be filled in.
            for line in spans.iter().filter(ours) {
                parsed += 1;
                let whole = line.replace(['[', ']'], "");
                let whole = whole.split(" …").next().unwrap_or_default();
                if whole.split(' ').nth(1) == Some("help") {
                    continue;
                }
                let fault = fault(whole, program, &cli);
                if matches!(fault, Some(ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand))
                {
                    faults.push(format!("{}: {line}: {fault:?}", page.display()));
                }
            }
        }
    }
    assert!(parsed > 150, "only {parsed} command lines found");
    assert!(faults.is_empty(), "{faults:#?}");
    // The test itself: a command and an option that are gone.
    let [(_, mavka), (_, lab)] = programs();
    let kinds =
        [("mavka league a.toml", "mavka", &mavka), ("mavka-lab data a --all", "mavka-lab", &lab)]
            .map(|(line, program, cli)| fault(line, program, cli));
    assert_eq!(kinds, [Some(ErrorKind::InvalidSubcommand), Some(ErrorKind::UnknownArgument)]);
}

#[test]
fn every_command_is_in_the_table_of_commands() {
    let text = read(&root().join("docs/src/guide/commands.md"));
    for (program, cli) in programs() {
        for command in cli.get_subcommands() {
            let name = command.get_name();
            let row = text.lines().any(|line| {
                let words = line.strip_prefix(&format!("| `{program} "));
                subcommand(words.unwrap_or_default())
                    .is_some_and(|word| word.trim_end_matches('`') == name)
            });
            assert!(row, "docs/src/guide/commands.md has no row for `{program} {name}`");
        }
    }
}

#[test]
fn the_summary_lists_every_chapter() {
    let folder = root().join("docs/src");
    let summary = read(&folder.join("SUMMARY.md"));
    let listed: BTreeSet<PathBuf> =
        links(&summary).into_iter().map(|link| folder.join(link)).collect();
    let mut pages: BTreeSet<PathBuf> = book().into_iter().collect();
    pages.remove(&folder.join("SUMMARY.md"));
    assert_eq!(listed, pages);
}

/// The pages whose links are checked.
fn linked_pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|page| root().join(page)).collect();
    pages.extend(book());
    pages
}

/// The targets of a page's links and pictures.
fn links(text: &str) -> Vec<&str> {
    let (prose, _) = prose_and_shell(text);
    let targets = prose.into_iter().flat_map(|line| line.split("](").skip(1));
    targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// The anchors of a page: its headings as GitHub and mdBook spell them.
fn anchors(text: &str) -> BTreeSet<String> {
    let (prose, _) = prose_and_shell(text);
    let headings = prose.into_iter().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    // The text alone of a link.
    let text = heading.replace("](", "\u{0}").replace('[', "");
    let text: String = text
        .split('\u{0}')
        .enumerate()
        .map(|(at, part)| if at == 0 { part } else { part.split_once(')').map_or("", |p| p.1) })
        .collect();
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut broken = Vec::new();
    for page in linked_pages() {
        let text = read(&page);
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().unwrap().join(path),
            };
            let found = target.exists()
                && (heading.is_empty() || anchors(&read(&target)).contains(heading));
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_file_that_is_named_exists() {
    let mut missing = Vec::new();
    let mut named = 0;
    for page in guide() {
        let text = read(&page);
        let (prose, _) = prose_and_shell(&text);
        for span in prose.into_iter().flat_map(code_spans) {
            let is_path = FOLDERS.iter().any(|folder| span.starts_with(folder));
            if is_path && !span.contains(' ') {
                named += 1;
                if !root().join(span).exists() {
                    missing.push(format!("{}: {span}", page.display()));
                }
            }
        }
    }
    assert!(named > 100, "only {named} files found");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// A text's words in lower case, each between two spaces.
fn plain(text: &str) -> String {
    let letters = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' });
    let text = letters.collect::<String>().to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    format!(" {} ", words.join(" "))
}

#[test]
fn the_guide_keeps_to_the_fields_words() {
    let mut found = Vec::new();
    for page in guide() {
        let text = read(&page);
        // The engine's own text is not the guide's.
        let text = match text.contains(OPTIONS_BEGIN) {
            true => text.replace(options_of(&text), ""),
            false => text,
        };
        let words = plain(&text);
        for word in PRIVATE_WORDS.into_iter().chain(["goes on"]) {
            if words.contains(&format!(" {word} ")) {
                found.push(format!("{}: {word}", page.display()));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn sentences_of_the_guide_begin_with_their_subject() {
    let mut found = Vec::new();
    for page in guide() {
        let text = read(&page);
        let (mut begins, mut code) = (true, false);
        for line in text.lines() {
            code ^= line.starts_with("```");
            let words = line.trim_start_matches(['-', '*', '#', '>', '|', ' ']);
            begins |= words.len() < line.len() || words.is_empty();
            if code || line.starts_with('#') {
                continue;
            }
            if inverted(words, &mut begins) > 0 {
                found.push(format!("{}: {line}", page.display()));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
