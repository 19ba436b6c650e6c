//! The doctor, on a sound engine and on faults put in on purpose.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::doctor::{Finding, Verdict, examine};
use engine::options::settings::Settings;
use std::fs;

fn findings(settings: &Settings) -> (Verdict, Vec<Finding>) {
    let mut findings = Vec::new();
    let worst = examine(settings, &mut |finding| findings.push(finding.clone()));
    (worst, findings)
}

#[test]
fn a_sound_engine_is_sound_and_every_fault_is_found() {
    let sound = Settings { threads: 1, hash_mb: 16, ..Settings::default() };
    let (worst, all) = findings(&sound);
    assert_eq!(worst, Verdict::Fine, "{all:#?}");
    let ways = all.iter().filter(|finding| finding.subject == "answers").count();
    assert!(ways >= 1, "{all:#?}");

    let folder = std::env::temp_dir().join(format!("mavka-faults-{}", std::process::id()));
    fs::create_dir_all(folder.join("tables")).unwrap();
    let bundled = include_bytes!("../assets/mavka.safetensors");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let mut flipped = bundled.to_vec();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    file("tables/KQvK.rtbw", b"no table");
    let path = |name: &str| folder.join(name).display().to_string();
    let faults = [
        ("network", Settings { weights_file: path("missing"), ..sound.clone() }),
        ("network", Settings { weights_file: file("short", &bundled[..100_000]), ..sound.clone() }),
        ("network", Settings { weights_file: file("flipped", &flipped), ..sound.clone() }),
        ("network", Settings { weights_file: file("text", b"no network"), ..sound.clone() }),
        ("network", Settings { weights_file: path("tables"), ..sound.clone() }),
        ("threads", Settings { threads: 1024, ..sound.clone() }),
        ("memory", Settings { hash_mb: 1 << 40, ..sound.clone() }),
        ("tables", Settings { syzygy_path: path("nowhere"), ..sound.clone() }),
        ("tables", Settings { syzygy_path: path("tables"), ..sound.clone() }),
        ("log file", Settings { log_file: path("nowhere/log"), ..sound.clone() }),
    ];
    for (subject, settings) in &faults {
        let (worst, all) = findings(settings);
        assert!(worst > Verdict::Fine, "{subject}: {all:#?}");
        let named =
            |finding: &Finding| finding.verdict > Verdict::Fine && finding.subject == *subject;
        assert!(all.iter().any(named), "{subject}: {all:#?}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
