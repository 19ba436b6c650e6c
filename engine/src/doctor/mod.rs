//! `mavka doctor`: checks everything that play depends on and explains faults in plain words. Changes nothing; checks
//! are independent, so that one fault does not hide the next.

mod finding;
mod guis;
mod protocol;
mod stored;

pub use finding::{Finding, Verdict};
pub use guis::engine;

use crate::markup::counted;
use crate::options::settings::Settings;
use crate::play::analyst::{Analyst, Effort};
use crate::play::network::open::Source;
use crate::play::network::{Installed, load, words};
use crate::process::files::{check_ordinary, target};
use crate::process::host;
use chess::game::Game;
use chess::syzygy::Tables;
use nn::device::{Adapter, Backend, adapters, card, is_cpu, pick};
use nn::evaluator::self_check::{Checked, self_check};
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Duration of the speed test.
const SPEED_TIME: Duration = Duration::from_millis(500);
/// Playouts before it.
const WARM_UP: u64 = 64;
/// Tree memory for that, in MB at most.
const SPEED_HASH_MB: usize = 64;
/// Memory of the engine besides tree and cache, in MB.
const OVERHEAD_MB: usize = 100;

/// Runs all checks under `settings`; `report` receives each finding immediately. Returns the worst verdict.
pub fn examine(settings: &Settings, report: &mut dyn FnMut(&Finding)) -> Verdict {
    let mut worst = Verdict::Fine;
    let checks: [fn(&Settings) -> Vec<Finding>; 8] =
        [network, device, threads, memory, tables, log_file, speed, protocol::check];
    for check in checks {
        for finding in check(settings) {
            worst = worst.max(finding.verdict);
            report(&finding);
        }
    }
    guis::found().iter().for_each(report);
    worst
}

/// The network, and whether all implementations on this CPU agree.
fn network(settings: &Settings) -> Vec<Finding> {
    let file = settings.weights_file.as_str();
    let network = match load((!file.is_empty()).then(|| Path::new(file))) {
        Ok(network) => network,
        Err(why) => {
            let text = format!("{why}; the built-in network would play");
            return vec![Finding::new("network", Verdict::Fault, text)];
        }
    };
    let c = &network.layout.config;
    let details = format!(
        "{}, {} wide, {} layers, {} parameters",
        network.hash, c.width, c.layers, network.layout.len
    );
    let name = if file.is_empty() { "built in" } else { file };
    let mut findings = vec![Finding::new("network", Verdict::Fine, name).with_details([details])];
    match self_check(&network) {
        Ok(ways) => findings.extend(answers(&ways)),
        Err(why) => {
            let text = format!("the network does not compute: {why}");
            findings.push(Finding::new("network", Verdict::Fault, text));
        }
    }
    findings.extend(stored::check(&network));
    findings
}

/// One finding for all ways of computing that are right, and one for each that is not.
fn answers(ways: &[Checked]) -> Vec<Finding> {
    let line = |way: &Checked| match &way.result {
        Ok(found) => format!(
            "{}, {}: at most {:.4} from plain loops; positions alone at most {:.4} from many at once",
            way.isa, way.arithmetic, found.most, found.in_batches
        ),
        Err(why) => format!("{}, {}: {why}", way.isa, way.arithmetic),
    };
    let (right, wrong): (Vec<&Checked>, Vec<&Checked>) =
        ways.iter().partition(|way| way.is_right());
    let mut findings: Vec<Finding> =
        wrong.into_iter().map(|way| Finding::new("answers", Verdict::Fault, line(way))).collect();
    if !right.is_empty() {
        let ways = counted(right.len(), "way");
        let text = format!("the same in {ways} of computing that this processor has");
        let details = right.into_iter().map(line);
        findings.push(Finding::new("answers", Verdict::Fine, text).with_details(details));
    }
    findings
}

fn device(settings: &Settings) -> Vec<Finding> {
    let (device, note) = pick(Source::of(settings).backend);
    let finding = match note {
        Some(note) => Finding::new("device", Verdict::Warning, note),
        None if settings.backend == Backend::BurnCpu => {
            let details = "as `Backend` says: slower than the hand-written kernels".to_owned();
            Finding::new("device", Verdict::Fine, "the CPU, by burn").with_details([details])
        }
        None if is_cpu(&device) => {
            let (text, why) = match settings.backend {
                Backend::Cpu => ("the CPU", "as `Backend` says"),
                _ if cfg!(any(feature = "gpu", feature = "cuda")) => {
                    ("the CPU", "no graphics card answers")
                }
                _ => (
                    "the CPU; a graphics card plays in a build with `--features gpu`",
                    "this build knows no graphics card",
                ),
            };
            let details = format!("by hand-written kernels: {why}");
            Finding::new("device", Verdict::Fine, text).with_details([details])
        }
        None => {
            let name = card(&device).map_or("a GPU".to_owned(), |card| words(&card));
            Finding::new("device", Verdict::Fine, name)
        }
    };
    let listed = match adapters() {
        Ok(adapters) => {
            let line = |(index, Adapter { name, kind, api }): (usize, Adapter)| {
                let text = format!("{}: {name} ({kind}, {api})", index + 1);
                Finding::new("adapter", Verdict::Fine, text)
            };
            adapters.into_iter().enumerate().map(line).collect()
        }
        Err(why) => vec![Finding::new("adapter", Verdict::Warning, format!("none: {why}"))],
    };
    [vec![finding], listed].concat()
}

fn threads(settings: &Settings) -> Vec<Finding> {
    let (requested, used) = (settings.threads, host::threads(settings.threads));
    let finding = if used < requested {
        let text = format!("{requested} asked for, this machine's cores can use {used}");
        Finding::new("threads", Verdict::Warning, text)
    } else {
        Finding::new("threads", Verdict::Fine, format!("{used}"))
    };
    vec![finding]
}

fn memory(settings: &Settings) -> Vec<Finding> {
    let (requested, granted) = (settings.hash_mb, host::hash_mb(settings.hash_mb, 0));
    let total = granted + settings.nn_cache_mb + OVERHEAD_MB;
    let finding = if granted < requested {
        let text = format!(
            "Hash {requested} MB is more than this machine has free; {granted} MB would be used"
        );
        Finding::new("memory", Verdict::Warning, text)
    } else {
        let details = format!("Hash {granted} MB, NNCacheSize {} MB", settings.nn_cache_mb);
        let text = format!("about {total} MB in all");
        Finding::new("memory", Verdict::Fine, text).with_details([details])
    };
    vec![finding]
}

/// Positions with few pieces: the bundled tables contain them.
const ENDINGS: [&str; 5] = [
    "8/8/8/8/8/2k5/8/K6Q w - - 0 1",
    "8/8/8/8/8/2k5/8/K6R w - - 0 1",
    "8/8/8/8/8/2k5/6P1/K7 w - - 0 1",
    "8/8/8/8/8/2k5/6p1/K6R w - - 0 1",
    "8/8/8/8/5n2/2k5/8/K6Q w - - 0 1",
];

fn tables(settings: &Settings) -> Vec<Finding> {
    let path = &settings.syzygy_path;
    let tables = Tables::with_bundled(path);
    for game in ENDINGS.iter().flat_map(|fen| Game::from_fen(fen, false)) {
        // A table's error is reported at its first probe.
        let _ = tables.wdl(game.position());
    }
    let finding = match tables.take_warning() {
        Some(warning) => Finding::new("tables", Verdict::Warning, format!("{tables}; {warning}")),
        None if path.is_empty() => {
            Finding::new("tables", Verdict::Fine, "up to four pieces, built in")
        }
        None if tables.found() == 0 => Finding::new("tables", Verdict::Warning, tables.to_string()),
        None => Finding::new("tables", Verdict::Fine, tables.to_string()),
    };
    vec![finding]
}

fn log_file(settings: &Settings) -> Vec<Finding> {
    if settings.log_file.is_empty() {
        return Vec::new();
    }
    let path = &settings.log_file;
    let finding = match can_append(Path::new(path)) {
        Ok(()) => Finding::new("log file", Verdict::Fine, path.as_str()),
        Err(why) => {
            Finding::new("log file", Verdict::Warning, format!("cannot write `{path}`: {why}"))
        }
    };
    vec![finding]
}

/// Whether `path` can be appended to or created. Opening without writing changes no file; of a folder only the
/// permissions are read.
fn can_append(path: &Path) -> io::Result<()> {
    let path = target(path)?;
    check_ordinary(&path)?;
    match File::options().read(true).append(true).open(&path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map(drop),
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::metadata(folder.unwrap_or(Path::new(".")))?;
    match folder.is_dir() && !folder.permissions().readonly() {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn speed(settings: &Settings) -> Vec<Finding> {
    // Ample for the time; the memory that was asked for is checked without taking it.
    let settings = Settings { hash_mb: settings.hash_mb.min(SPEED_HASH_MB), ..settings.clone() };
    let measured = Analyst::new(&Installed::default(), settings).map_err(|why| why.to_string());
    let measured = measured.and_then(|mut analyst| {
        let name = analyst.network().to_owned();
        let mut search =
            |effort| analyst.search(&Game::default(), effort, &mut |_| ControlFlow::Continue(()));
        // The first evaluations fill caches and wake threads, which a GUI's figures do not show.
        let found = search(Effort::Nodes(WARM_UP)).and_then(|_| search(Effort::Time(SPEED_TIME)));
        found.map(|found| (name, found)).map_err(|why| why.to_string())
    });
    let finding = match measured {
        Ok((name, found)) => {
            let per_second = found.playouts as f64 / SPEED_TIME.as_secs_f64();
            let verdict = if found.playouts > 1 { Verdict::Fine } else { Verdict::Fault };
            let text = format!(
                "{}, in the opening; your GUI shows it as nps or N/s",
                speed_words(per_second)
            );
            Finding::new("speed", verdict, text).with_details([name])
        }
        Err(why) => Finding::new("speed", Verdict::Fault, why),
    };
    vec![finding]
}

/// As GUIs show it: in thousands from a thousand on.
fn speed_words(per_second: f64) -> String {
    if per_second < 1e3 {
        format!("{per_second:.0} nodes a second")
    } else {
        format!("{:.1} thousand nodes a second ({:.1} kN/s)", per_second / 1e3, per_second / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Position;

    fn worst(findings: &[Finding]) -> Verdict {
        findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Fine)
    }

    #[test]
    fn speed_is_shown_as_in_guis() {
        assert_eq!(speed_words(276.4), "276 nodes a second");
        assert_eq!(speed_words(12_340.0), "12.3 thousand nodes a second (12.3 kN/s)");
    }

    #[test]
    fn the_endings_are_positions() {
        for fen in ENDINGS {
            let game = Game::from_fen(fen, false).unwrap();
            assert!(!game.position().legal_moves().is_empty(), "{fen}");
        }
    }

    #[test]
    fn excessive_options_are_warnings() {
        let settings = Settings {
            threads: 1000,
            hash_mb: 1_000_000_000,
            syzygy_path: "/no/such/folder".to_owned(),
            log_file: "/no/such/folder/mavka.log".to_owned(),
            ..Settings::default()
        };
        let modest = Settings { threads: 1, hash_mb: 1, ..Settings::default() };
        for check in [threads, memory, tables, log_file] {
            assert_eq!(worst(&check(&settings)), Verdict::Warning, "{:?}", check(&settings));
            let unasked = check(&modest).iter().any(|finding| finding.verdict != Verdict::Fine);
            assert!(!unasked, "{:?}", check(&modest));
        }
    }

    #[test]
    fn the_device_is_the_one_that_the_option_names() {
        let named = |backend| device(&Settings { backend, ..Settings::default() });
        assert_eq!(named(Backend::BurnCpu)[0].text, "the CPU, by burn");
        let by_kernels = &named(Backend::Cpu)[0];
        assert_eq!(by_kernels.text, "the CPU");
        assert!(by_kernels.details[0].contains("by hand-written kernels: as `Backend` says"));
    }

    #[test]
    fn a_log_file_is_neither_created_nor_changed() {
        let folder = std::env::temp_dir().join(format!("mavka-doctor-log-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("mavka.log");
        let log_file = path.display().to_string();
        let settings = Settings { log_file, ..Settings::default() };
        assert_eq!(worst(&super::log_file(&settings)), Verdict::Fine);
        assert!(!path.exists(), "created");
        fs::write(&path, "kept").unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(worst(&super::log_file(&settings)), Verdict::Fine);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        let log_file = folder.display().to_string();
        let no_file = Settings { log_file, ..settings };
        assert_eq!(worst(&super::log_file(&no_file)), Verdict::Warning);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_network_that_is_none_is_a_fault() {
        let folder = std::env::temp_dir().join(format!("mavka-doctor-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let damaged = folder.join("damaged.safetensors");
        std::fs::write(&damaged, b"no network").unwrap();
        for file in [damaged, folder.join("missing.safetensors")] {
            let weights_file = file.display().to_string();
            let settings = Settings { weights_file: weights_file.clone(), ..Settings::default() };
            let findings = network(&settings);
            assert_eq!(worst(&findings), Verdict::Fault);
            assert!(findings[0].text.contains(&weights_file), "{findings:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
