//! The page of `mavka analyse` in a real browser: every check passes on the page, and fails on a copy with one fault.
//! Pictures of both are left in `target/page`. Without Chromium the checks are reported as skipped, and counted.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod browser;
mod checks;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use browser::Browser;
use checks::{CHECKS, Check};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Games with clocks, variations, mistakes, and tags that would be markup.
const GAMES: &str = include_str!("games.pgn");
/// The game of README's picture.
const SHOWN: &str = include_str!("../../docs/pictures/immortal.pgn");
/// Name, width, height and colours of the pictures.
const PICTURES: [(&str, u32, u32, bool); 4] = [
    ("desktop", 1366, 1900, false),
    ("desktop-dark", 1366, 1900, true),
    ("phone", 360, 3000, false),
    ("phone-dark", 390, 3000, true),
];

/// The folder of the pages and pictures, empty.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../page");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// The page of some games.
fn page(folder: &Path, games: &str, options: [&str; 2]) -> String {
    let [path, out, html] = ["games.pgn", "out.pgn", "page.html"].map(|name| folder.join(name));
    fs::write(&path, games).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_mavka-executables"))
        .arg("analyse")
        .args(options)
        .arg("--out")
        .args([&out, Path::new("--html"), &html, &path])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::read_to_string(&html).unwrap()
}

/// The page with the fault of a check: another text in place of one. A changed script or style sheet would not
/// run under the page's policy, so the policy goes, too.
fn faulty(page: &str, Check { name, fault: [from, to], keeps_policy, .. }: &Check) -> String {
    assert!(page.contains(from), "{name}: {from}");
    let page = page.replace(from, to);
    let begin = page.find("<meta http-equiv").expect("the policy");
    let end = begin + page[begin..].find('\n').expect("its end");
    if *keeps_policy { page } else { page[..begin].to_owned() + &page[end..] }
}

fn skip(check: usize) {
    // Past the harness, which hides what passing tests print.
    let line = format!("skipped: no Chromium (check {} left out)\n", check + 1);
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

#[test]
fn the_page_works_in_a_browser_and_each_check_finds_its_fault() {
    let Some(program) = browser::installed() else {
        (0..CHECKS.len()).for_each(skip);
        return;
    };
    let folder = folder();
    let page = page(&folder, GAMES, ["--player", "Rossi, Libertà"]);
    let mut browser = Browser::start(&program);
    let url = |name: &str| format!("file://{}", folder.join(name).display());
    for (name, width, height, is_dark) in PICTURES {
        browser.window(width, 900, is_dark);
        browser.open(&url("page.html"));
        checks::settled(&mut browser).unwrap();
        let picture = STANDARD.decode(browser.picture(width, height)).unwrap();
        fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    }
    let mut wrong = Vec::new();
    for check in &CHECKS {
        let name = check.name;
        if let Err(why) = check.run(&mut browser, &url("page.html")) {
            wrong.push(format!("{name}: {why}"));
        }
        let file = format!("fault-{}.html", name.replace(' ', "-"));
        fs::write(folder.join(&file), faulty(&page, check)).unwrap();
        match check.run(&mut browser, &url(&file)) {
            Ok(()) => wrong.push(format!("{name}: passes on the page with its fault")),
            Err(why) => println!("{name}, with its fault: {why}"),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "draws assets/analysis.png: docs/pictures/pictures.toml"]
fn the_readmes_picture() {
    let folder = folder();
    page(&folder, SHOWN, ["--nodes", "400"]);
    let mut browser = Browser::start(&browser::installed().expect("Chromium"));
    browser.window(1100, 900, false);
    browser.open(&format!("file://{}", folder.join("page.html").display()));
    checks::settled(&mut browser).unwrap();
    checks::click_text(&mut browser, ".moves-list .move", "Bxg1").unwrap();
    browser.click(".sight summary").unwrap();
    browser.eval("scrollTo(0, 0)").unwrap();
    let picture = STANDARD.decode(browser.picture(1100, 1330)).unwrap();
    fs::write(folder.join("readme.png"), picture).unwrap();
}
