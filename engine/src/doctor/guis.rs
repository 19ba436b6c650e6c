//! Finds chess GUIs on this machine and explains how to add the engine to each.

use super::finding::{Finding, Verdict};
use std::env;
use std::path::{Path, PathBuf};

/// Program, name, and instructions with `{}` for the engine's path.
const GUIS: [(&str, &str, &str); 17] = [
    ("Arena", "Arena", "Engines, Install New Engine: `{}`, type UCI"),
    ("cutechess", "Cute Chess", CUTE_CHESS),
    ("xboard", "xboard", "xboard -fcp {} -fUCI"),
    ("pychess", "PyChess", "Edit, Engines, New: `{}`, Save"),
    ("en-croissant", "En Croissant", "Engines, Add new, Local: `{}`"),
    ("org.encroissant.app", "En Croissant", "Engines, Add new, Local: `{}`"),
    ("nibbler", "Nibbler", "Engine, Choose engine…: `{}`"),
    ("scid", "Scid", SCID),
    ("scidvspc", "Scid vs. PC", SCID),
    ("gnome-chess", "GNOME Chess", GNOME),
    ("org.gnome.Chess", "GNOME Chess", GNOME),
    ("knights", "Knights", KNIGHTS),
    ("org.kde.knights", "Knights", KNIGHTS),
    ("eboard", "eboard", "Peer, Play against Engine, Generic Engine…: polyglot -noini -ec {}"),
    ("cutechess-cli", "cutechess-cli", "cutechess-cli -engine name=Mavka cmd={} proto=uci …"),
    ("fastchess", "fastchess", "fastchess -engine name=Mavka cmd={} …"),
    ("lucaschess", "Lucas Chess", "Tools, Engines, External engines, New: `{}`"),
];
const CUTE_CHESS: &str = "Tools, Settings, Engines, +: a name (OK is grey without one), command `{}`, protocol UCI; \
                          in the time control a Margin of 100 ms, or Infinite to analyse";
const SCID: &str = "Tools, Analysis Engine…, New…: command `{}`, UCI";
const GNOME: &str =
    "write into ~/.config/gnome-chess/engines.conf the lines [Mavka], protocol=uci, binary={}";
const KNIGHTS: &str =
    "Settings, Configure Knights, Computer Engines, Add: command `{}`, UCI; play with a clock";

/// Installation folders of GUIs, whether on the search path or not: Debian, Flatpak, Snap, Arena's installer.
const FOLDERS: [&str; 5] = [
    "/usr/games",
    "/usr/local/games",
    "/var/lib/flatpak/exports/bin",
    "/snap/bin",
    r"C:\Program Files (x86)\Arena",
];

/// Path of this program.
#[must_use]
pub fn engine() -> PathBuf {
    env::current_exe().unwrap_or_else(|_| PathBuf::from("mavka"))
}

/// One finding per installed GUI, or that there is none.
pub(super) fn found() -> Vec<Finding> {
    let mut folders: Vec<PathBuf> =
        env::var_os("PATH").map_or_else(Vec::new, |path| env::split_paths(&path).collect());
    folders.extend(FOLDERS.map(PathBuf::from));
    let home = env::var_os("HOME").map(PathBuf::from);
    folders.extend(home.map(|home| home.join(".local/share/flatpak/exports/bin")));
    in_folders(&folders, &engine())
}

fn in_folders(folders: &[PathBuf], engine: &Path) -> Vec<Finding> {
    let engine = engine.display().to_string();
    let is_there = |program: &str| {
        folders.iter().any(|folder| {
            folder.join(program).is_file() || folder.join(format!("{program}.exe")).is_file()
        })
    };
    let mut findings = Vec::new();
    for (program, name, how) in GUIS {
        if is_there(program) {
            // A shell splits a path at its blanks.
            let bare = !how.contains("`{}`") && engine.contains(' ');
            let path = if bare { format!("'{engine}'") } else { engine.clone() };
            let text = format!("{name}: {}", how.replace("{}", &path));
            findings.push(Finding::new("GUI", Verdict::Fine, text));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::new("GUI", Verdict::Fine, "none found on this computer"));
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
        let found = |engine: &str| in_folders(std::slice::from_ref(&folder), Path::new(engine));
        let none = found("/opt/mavka");
        assert!(none.len() == 1 && none[0].text.contains("none found"), "{none:?}");
        fs::write(folder.join("xboard"), "").unwrap();
        let one = found("/opt/mavka");
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].text, "xboard: xboard -fcp /opt/mavka -fUCI");
        assert_eq!(found("/my chess/mavka")[0].text, "xboard: xboard -fcp '/my chess/mavka' -fUCI");
        for (program, name) in [
            ("cutechess", "Cute Chess:"),
            ("scid", "Scid:"),
            ("gnome-chess", "GNOME Chess:"),
            ("knights", "Knights:"),
            ("eboard", "eboard:"),
        ] {
            fs::write(folder.join(program), "").unwrap();
            let all = found("/opt/mavka");
            let own = all.iter().find(|finding| finding.text.starts_with(name));
            assert!(own.is_some_and(|finding| finding.text.contains("/opt/mavka")), "{all:?}");
        }
        // Cute Chess leaves its users without a hint of these.
        let all = found("/opt/mavka");
        let text = all.iter().map(|finding| &finding.text).find(|text| text.starts_with("Cute"));
        for hint in ["a name", "Margin", "Infinite"] {
            assert!(text.is_some_and(|text| text.contains(hint)), "{hint}: {text:?}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
