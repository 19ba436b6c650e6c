//! Short runs over random games: stopped, resumed, refused.

use super::*;
use crate::data::testing::{Sample, mavg_bytes};
use crate::net::Layout;
use crate::precision::Arithmetic;
use crate::train::CpuStep;

/// A run over a few random games, in a folder of its own.
struct Place {
    sample: Sample,
    session: Session,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("mavka-{name}-{}", std::process::id()));
        let session = Session {
            folder,
            checkpoint_every: Duration::from_secs(3600),
            excluded: Arc::default(),
        };
        Place { sample: Sample::new(name, &mavg_bytes(3, 20)), session }
    }

    fn config(&self) -> RunConfig {
        let network = NetConfig::tiny();
        let schedule = Schedule { examples: 80, ..Schedule::default() };
        let data = vec![(self.sample.0.clone(), 1.0)];
        RunConfig { network, data, buffer: 20, batch: 8, schedule, ..RunConfig::default() }
    }

    fn run(&self, config: &RunConfig, watch: &mut Steps) -> Result<Network, TrainError> {
        let layout = Layout::new(&config.network);
        let mut step = CpuStep::new(layout, config.loss.clone(), Arithmetic::Single, 1);
        run(config, &self.session, &mut step, watch)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.session.folder.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.session.folder);
    }
}

/// Counts steps and ends the run after `most` of them.
#[derive(Default)]
struct Steps {
    most: u64,
    /// Examples after each step.
    seen: Vec<u64>,
    checkpoints: usize,
}

impl Watcher for Steps {
    fn step(&mut self, progress: &Progress) -> bool {
        self.seen.push(progress.seen);
        (self.seen.len() as u64) < self.most
    }

    fn checkpoint(&mut self, _: &Progress, _: &Network) {
        self.checkpoints += 1;
    }
}

#[test]
fn a_run_goes_on_where_it_stopped() {
    let place = Place::new("run-resumes");
    let config = place.config();
    let mut first = Steps { most: 4, ..Steps::default() };
    let stopped = place.run(&config, &mut first).unwrap();
    assert_eq!((first.seen, first.checkpoints), (vec![8, 16, 24, 32], 1));
    let kept = State::load_or_new(&config, &place.session.folder).unwrap();
    assert_eq!((kept.step, kept.seen, &kept.average), (4, 32, &stopped.values));
    assert_ne!(kept.network.values, Network::new(&config.network, config.seed).values);
    assert!(kept.optimizer.first.iter().any(|m| *m != 0.0));

    let mut second = Steps { most: 100, ..Steps::default() };
    let ended = place.run(&config, &mut second).unwrap();
    assert_eq!((second.seen.first(), second.seen.last()), (Some(&40), Some(&80)));
    assert_ne!(ended.values, stopped.values);
    let saved = Network::load(&place.path("network.safetensors")).unwrap();
    for (a, b) in saved.values.iter().zip(&ended.values) {
        assert!((a - b).abs() <= b.abs() / 1024.0 + 1e-6, "{a} was {b}");
    }

    // A run that has ended trains no further.
    let mut third = Steps { most: 100, ..Steps::default() };
    assert_eq!(place.run(&config, &mut third).unwrap().values, ended.values);
    assert!(third.seen.is_empty());
}

#[test]
fn a_folder_serves_one_network_and_one_process() {
    let place = Place::new("run-folder");
    let config = place.config();
    let mut watch = Steps { most: 1, ..Steps::default() };
    place.run(&config, &mut watch).unwrap();
    let held = hold(&place.session.folder).unwrap();
    let error = place.run(&config, &mut watch).unwrap_err().to_string();
    assert!(error.contains("run-folder") && error.contains("another process"), "{error}");
    drop(held);
    let other = RunConfig { network: NetConfig { ffn: 12, ..config.network.clone() }, ..config };
    let error = place.run(&other, &mut watch).unwrap_err().to_string();
    assert!(error.contains("another network"), "{error}");
}
