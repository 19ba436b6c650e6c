//! The recipe of self-play, from random values and with tiny counts: what a generation leaves, and that a run is continued.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// Runs the recipe up to this number of generations, and returns the lines of its curve: generation, opponent and games.
fn run(folder: &Path, generations: usize) -> Vec<(u64, String, u64)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut config: Value =
        serde_json::from_str(&fs::read_to_string(root.join("assets/recipes/zero.json")).unwrap())
            .unwrap();
    for (size, value) in [("width", 16), ("layers", 1), ("heads", 2), ("ffn", 16)] {
        config["network"][size] = json!(value);
    }
    let config_file = folder.join("tiny.json");
    fs::write(&config_file, config.to_string()).unwrap();
    let settings = [
        ("INIT", "random"),
        ("GAMES", "6"),
        ("EXAMPLES", "512"),
        ("MATCH", "2"),
        ("NODES", "4"),
        ("RAMP", "2"),
        ("CORES", "1"),
        ("SETTLED", "2"),
        ("RATE", "1e-3 5e-4"),
        ("WINDOW", "1 2"),
        ("DRAWN", "30 10"),
        ("PLAY", "--rules-only --full 8 --quick 4 --max-plies 30 --random-plies 10"),
    ];
    let mut command = Command::new("bash");
    command.arg(root.join("assets/recipes/selfplay.sh")).arg(folder.join("run"));
    command.arg(generations.to_string()).envs(settings).env("CONFIG", config_file);
    command.env("LAB", env!("CARGO_BIN_EXE_mavka-executables"));
    command.env("MAVKA_EXECUTABLE", "mavka-lab").stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let curve = fs::read_to_string(folder.join("run/curve.jsonl")).unwrap();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let outcomes = ["wins", "draws", "losses"].map(|name| line[name].as_u64().unwrap());
        assert_eq!(line["games"], outcomes.iter().sum::<u64>());
        let score = (outcomes[0] as f64 + 0.5 * outcomes[1] as f64) / 2.0;
        assert_eq!(line["score"].as_f64(), Some(score));
        let opponent = line["opponent"].as_str().unwrap().to_owned();
        (line["generation"].as_u64().unwrap(), opponent, line["games"].as_u64().unwrap())
    };
    curve.lines().map(line).collect()
}

#[test]
fn a_run_from_random_values_has_a_curve_and_is_continued() {
    let folder = std::env::temp_dir().join(format!("mavka-recipes-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let measured = |generations: u64| -> Vec<(u64, String, u64)> {
        let opponents = |generation: u64| match generation {
            0 => vec!["random", "alpha-beta-1"],
            _ => vec!["random", "alpha-beta-1", "before"],
        };
        let lines = |n: u64| opponents(n).into_iter().map(move |name| (n, name.to_owned(), 2));
        (0..=generations).flat_map(lines).collect()
    };
    let sorted = |mut lines: Vec<(u64, String, u64)>| {
        lines.sort();
        lines
    };
    assert_eq!(sorted(run(&folder, 1)), sorted(measured(1)));
    let written = |name: &str| -> SystemTime {
        fs::metadata(folder.join("run").join(name)).unwrap().modified().unwrap()
    };
    let names = ["0.safetensors", "1.safetensors", "1.games.zst", "1.random.csv"];
    let before = names.map(written);
    assert_eq!(sorted(run(&folder, 2)), sorted(measured(2)));
    assert_eq!(names.map(written), before, "nothing is done twice");
    let network = |name: &str| fs::read(folder.join("run").join(name)).unwrap();
    assert!(network("0.safetensors") != network("1.safetensors"), "it has learnt");
    assert_eq!(network("best.safetensors"), network("2.safetensors"), "the newest one plays");
    // The second generation is settled: it learns from the games of both, by the second rate.
    let settings = |generation: u64| -> (usize, Value) {
        let file = network(&format!("{generation}/config.json"));
        let config: Value = serde_json::from_slice(&file).unwrap();
        (config["data"].as_array().unwrap().len(), config["schedule"]["rate"].clone())
    };
    assert_eq!([settings(1), settings(2)], [(1, json!(1e-3)), (2, json!(5e-4))]);
    // And it has all of its games.
    let games =
        |name: &str| train::data::FileReader::open(&folder.join("run").join(name)).unwrap().count();
    assert_eq!([games("1.games.zst"), games("2.games.zst")], [3, 6]);
    fs::remove_dir_all(&folder).unwrap();
}
