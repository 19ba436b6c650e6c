//! Finds chess GUIs on this machine and explains how to add the engine to each.

use super::finding::{Finding, Verdict};
use std::env;
use std::path::{Path, PathBuf};

/// Program name, and instructions with `{}` for the engine's path.
const GUIS: [(&str, &str); 9] = [
    ("Arena", "Engines, Install New Engine: `{}`, type UCI"),
    ("cutechess", "Tools, Settings, Engines, +: command `{}`, protocol UCI"),
    ("cutechess-cli", "cutechess-cli -engine name=Mavka cmd={} proto=uci …"),
    ("fastchess", "fastchess -engine name=Mavka cmd={} …"),
    ("xboard", "xboard -fcp {} -fUCI"),
    ("pychess", "Edit, Engines, New: `{}`"),
    ("en-croissant", "Engines, Add new, Local: `{}`"),
    ("org.encroissant.app", "En Croissant: Engines, Add new, Local: `{}`"),
    ("nibbler", "Engine, Choose engine…: `{}`"),
];

/// Installation folders of GUIs, whether on the search path or not: Debian, Flatpak, Arena's installer.
const FOLDERS: [&str; 4] = [
    "/usr/games",
    "/usr/local/games",
    "/var/lib/flatpak/exports/bin",
    r"C:\Program Files (x86)\Arena",
];

/// One finding per installed GUI; general instructions if there is none.
pub(super) fn found() -> Vec<Finding> {
    let engine = env::current_exe().unwrap_or_else(|_| PathBuf::from("mavka"));
    let mut folders: Vec<PathBuf> =
        env::var_os("PATH").map_or_else(Vec::new, |path| env::split_paths(&path).collect());
    folders.extend(FOLDERS.map(PathBuf::from));
    in_folders(&folders, &engine)
}

fn in_folders(folders: &[PathBuf], engine: &Path) -> Vec<Finding> {
    let engine = engine.display().to_string();
    let there = |name: &str| {
        folders.iter().any(|folder| {
            folder.join(name).is_file() || folder.join(format!("{name}.exe")).is_file()
        })
    };
    let mut findings: Vec<Finding> = GUIS
        .iter()
        .filter(|(name, _)| there(name))
        .map(|(name, how)| {
            Finding::new("GUI", Verdict::Fine, format!("{name}: {}", how.replace("{}", &engine)))
        })
        .collect();
    if findings.is_empty() {
        let text = format!("none found; add `{engine}` to yours as a UCI engine");
        findings.push(Finding::new("GUI", Verdict::Fine, text));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_gui_on_the_path_gets_instructions() {
        let folder = env::temp_dir().join(format!("mavka-guis-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let none = in_folders(std::slice::from_ref(&folder), Path::new("/opt/mavka"));
        assert!(none.len() == 1 && none[0].text.contains("add `/opt/mavka`"), "{none:?}");
        fs::write(folder.join("xboard"), "").unwrap();
        let one = in_folders(std::slice::from_ref(&folder), Path::new("/opt/mavka"));
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].text, "xboard: xboard -fcp /opt/mavka -fUCI");
        fs::remove_dir_all(&folder).unwrap();
    }
}
