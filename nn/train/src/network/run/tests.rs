//! Short runs over random games: stopped, resumed, refused.

use super::super::schedule::Schedule;
use super::super::watch::Progress;
use super::*;
use crate::data::testing::{Sample, mavg_bytes};
use crate::network::{BOARD, CpuStep, Learns, Rewards, TeamConfig};
use nn::checkpoint::{Precision, load_training, save_training};
use nn::net::{Layout, NetConfig};
use nn::precision::Arithmetic;
use std::ops::Range;

/// A run over a few random games, in its own folder.
struct Place {
    sample: Sample,
    session: Session,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("mavka-{name}-{}", std::process::id()));
        let session = Session { folder, checkpoint_every: Duration::from_secs(3600) };
        Place { sample: Sample::new(name, &mavg_bytes(3, 20)), session }
    }

    fn config(&self) -> RunConfig {
        let network = NetConfig::tiny();
        let schedule = Schedule { examples: 80, ..Schedule::default() };
        let data = vec![(self.sample.0.clone(), 1.0)];
        RunConfig { network, data, buffer: 20, batch: 8, schedule, ..RunConfig::default() }
    }

    fn run(&self, config: &RunConfig, watch: &mut Steps) -> Result<Network, TrainError> {
        let layout = Layout::new(&NetConfig { players: 1, ..config.network.clone() });
        let mut step = CpuStep::new(layout, config.loss.clone(), Arithmetic::Single, 1);
        run(config, &self.session, &mut step, watch)
    }

    fn state(&self, config: &RunConfig) -> Result<TrainingState, TrainError> {
        TrainingState::load_or_new(config, &KeySet::default(), &self.session.folder)
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

/// Counts steps and ends the run after `most`.
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
fn a_run_resumes_where_it_stopped() {
    let place = Place::new("run-resumes");
    let config = place.config();
    let mut first = Steps { most: 4, ..Steps::default() };
    let stopped = place.run(&config, &mut first).unwrap();
    assert_eq!((first.seen, first.checkpoints), (vec![8, 16, 24, 32], 1));
    let kept = place.state(&config).unwrap();
    assert_eq!((kept.step, kept.seen, &kept.average), (4, 32, &stopped.values));
    assert_ne!(kept.network.values, Network::new(&config.network, config.seed).values);
    assert!(kept.learner.optimizer.first.iter().any(|m| *m != 0.0));

    let mut second = Steps { most: 100, ..Steps::default() };
    let ended = place.run(&config, &mut second).unwrap();
    assert_eq!((second.seen.first(), second.seen.last()), (Some(&40), Some(&80)));
    assert_ne!(ended.values, stopped.values);
    let saved = Network::load(&place.path("network.safetensors")).unwrap();
    for (a, b) in saved.values.iter().zip(&ended.values) {
        assert!((a - b).abs() <= b.abs() / 1024.0 + 1e-6, "{a} was {b}");
    }

    // A finished run trains no further.
    let mut third = Steps { most: 100, ..Steps::default() };
    assert_eq!(place.run(&config, &mut third).unwrap().values, ended.values);
    assert!(third.seen.is_empty());
}

#[test]
fn a_teacher_changes_what_is_learnt_and_must_be_there() {
    let place = Place::new("run-teacher");
    let config = place.config();
    let mut watch = Steps { most: 3, ..Steps::default() };
    let alone = place.run(&config, &mut watch).unwrap();
    let (path, pupil) = (place.path("teacher.safetensors"), Place::new("run-pupil"));
    let taught = RunConfig { teacher: Some(path.clone()), ..config.clone() };
    let error = pupil.run(&taught, &mut watch).unwrap_err().to_string();
    assert!(error.contains("teacher.safetensors"), "{error}");
    Network::new(&NetConfig::default(), 9).save(&path, Precision::Full).unwrap();
    let mut watch = Steps { most: 3, ..Steps::default() };
    let teacher = RunConfig { data: vec![(pupil.sample.0.clone(), 1.0)], ..taught };
    let learnt = pupil.run(&teacher, &mut watch).unwrap();
    assert_eq!(watch.seen, [8, 16, 24]);
    assert_ne!(learnt.values, alone.values);
}

#[test]
fn players_of_a_team_come_to_differ_and_need_a_teacher_and_their_rewards() {
    let place = Place::new("run-team");
    let path = place.path("rewards.json");
    let network = NetConfig { players: 3, ..NetConfig::tiny() };
    let alone = RunConfig { network: network.clone(), ..place.config() };
    let team = Some(TeamConfig { rewards: path.clone(), strength: 1.0, slack: 0.5 });
    let untaught = RunConfig { team: team.clone(), ..alone.clone() };
    let teacher = place.path("teacher.safetensors");
    let config = RunConfig { teacher: Some(teacher.clone()), ..untaught.clone() };
    let single = RunConfig { team, teacher: Some(teacher.clone()), ..place.config() };
    let mut watch = Steps { most: 6, ..Steps::default() };
    let mut why = |config: &RunConfig| place.run(config, &mut watch).unwrap_err().to_string();
    assert!(why(&alone).contains("a network of several players needs a team"));
    std::fs::create_dir_all(&place.session.folder).unwrap();
    Network::new(&NetConfig::tiny(), 9).save(&teacher, Precision::Full).unwrap();
    assert!(why(&untaught).contains("a team needs a teacher"));
    assert!(why(&single).contains("a team needs a network of several players"));
    assert!(why(&config).contains("rewards.json"));
    let write = |players: usize| {
        let number = |at: usize| (at * 37 % 101) as f32 / 10.0;
        let players = vec![(0..BOARD).map(number).collect(); players];
        std::fs::write(&path, serde_json::to_string(&Rewards { players }).unwrap()).unwrap();
    };
    write(2);
    assert!(why(&config).contains("rewards of 2 players, expected 3"));
    write(3);
    let learnt = place.run(&config, &mut watch).unwrap();
    let players = learnt.layout.players.clone().unwrap();
    let len = network.player_segments() * network.width;
    let rows: Vec<&[f32]> = learnt.values[players.clone()].chunks(len).collect();
    assert!(rows[0].iter().all(|value| *value == 0.0), "the first is the network itself");
    // The first is the embedding's; those of the last normalisation matter as well.
    let learns = |row: &[f32]| row[..8].iter().chain(&row[len - 8..]).all(|value| *value != 0.0);
    assert!(learns(rows[1]) && learns(rows[2]) && rows[1] != rows[2]);

    // Their vectors alone.
    let other = Place::new("run-team-players");
    let alone = RunConfig { learns: Learns::Players, ..config.clone() };
    let mut watch = Steps { most: 6, ..Steps::default() };
    let learnt = other.run(&alone, &mut watch).unwrap();
    let before = Network::new(&network, config.seed);
    assert!(learnt.values[..players.start + len] == before.values[..players.start + len]);
    assert!(learnt.values[players.start + len..].chunks(len).all(learns));
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

#[test]
fn a_configuration_is_replaced_whole() {
    let place = Place::new("run-config");
    std::fs::create_dir_all(&place.session.folder).unwrap();
    let [path, old] = ["config.json", "old.json"].map(|name| place.path(name));
    std::fs::write(&path, "old").unwrap();
    // A second name of the same file shows whether its content is touched.
    std::fs::hard_link(&path, &old).unwrap();
    save_config(&place.config(), &place.session.folder).unwrap();
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    let saved: RunConfig = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(saved.batch, place.config().batch);
}

#[test]
fn a_dead_mixer_is_no_end_of_the_data() {
    let place = Place::new("run-mixer");
    let config = place.config();
    std::fs::create_dir_all(&place.session.folder).unwrap();
    let state = place.state(&config).unwrap();
    let csv = LossCsv::open(&place.path("losses.csv"), 0).unwrap();
    let training = Training {
        config: &config,
        session: &place.session,
        state,
        csv,
        teacher: None,
        players: None,
    };
    // Closed, as a panicked thread leaves it.
    let (_, batches) = crossbeam::channel::unbounded();
    let mut step =
        CpuStep::new(Layout::new(&config.network), config.loss.clone(), Arithmetic::Single, 1);
    let ended = training.run(&batches, &mut step, &mut Steps { most: 100, ..Steps::default() });
    assert!(matches!(ended, Err(TrainError::MixerDied)));
}

#[test]
fn what_is_excluded_belongs_to_the_run() {
    let place = Place::new("run-exclude");
    let suite = place.sample.0.with_extension("epd");
    std::fs::write(&suite, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n").unwrap();
    let config = RunConfig { exclude: vec![suite.clone()], ..place.config() };
    place.run(&config, &mut Steps { most: 2, ..Steps::default() }).unwrap();
    // As the command reads it when the run is resumed without naming the suites.
    let text = std::fs::read_to_string(place.path("config.json")).unwrap();
    let saved: RunConfig = serde_json::from_str(&text).unwrap();
    assert_eq!(saved.exclude, config.exclude);
    let again = place.run(&saved, &mut Steps { most: 2, ..Steps::default() });
    assert!(again.is_ok());
    let other = RunConfig { exclude: Vec::new(), ..saved.clone() };
    let error = place.run(&other, &mut Steps::default()).unwrap_err();
    assert!(matches!(error, TrainError::OtherExclusion(_)), "{error}");
    std::fs::remove_file(&suite).unwrap();
    let error = place.run(&saved, &mut Steps::default()).unwrap_err().to_string();
    assert!(error.contains("run-exclude"), "a suite that is gone is named: {error}");
}

#[test]
fn rows_after_the_checkpoint_are_written_again() {
    let place = Place::new("run-rows");
    let mut config = place.config();
    config.schedule.examples = 50 * 8;
    place.run(&config, &mut Steps { most: 25, ..Steps::default() }).unwrap();
    let path = place.path("losses.csv");
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept.lines().count(), 2, "{kept}");
    // Killed after step 40, with a checkpoint of step 25.
    std::fs::write(&path, format!("{kept}40,320,1e-3,1,9,1,1\n60,4")).unwrap();
    place.run(&config, &mut Steps { most: 100, ..Steps::default() }).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let steps: Vec<&str> = text.lines().filter_map(|row| row.split(',').next()).collect();
    assert_eq!(steps, ["step", "20", "40"]);
    assert!(text.starts_with(&kept) && !text.contains("1e-3,1,9,1,1"), "{text}");
}

/// Finite losses, and this gradient.
struct Broken(f32);

impl Step for Broken {
    fn gradient(
        &mut self,
        _: &[f32],
        _: &[Example],
        grads: &mut [f32],
    ) -> Result<LossSums, StepError> {
        grads.fill(0.0);
        grads[3] = self.0;
        Ok(LossSums::default())
    }
}

#[test]
fn a_gradient_that_is_not_finite_leaves_the_checkpoint_alone() {
    let place = Place::new("run-gradient");
    let config = place.config();
    place.run(&config, &mut Steps { most: 2, ..Steps::default() }).unwrap();
    let files = ["state.safetensors", "network.safetensors", "losses.csv"];
    let read = || files.map(|name| std::fs::read(place.path(name)).unwrap());
    let good = read();
    for number in [f32::NAN, f32::INFINITY] {
        let mut watch = Steps { most: 1, ..Steps::default() };
        let ended = run(&config, &place.session, &mut Broken(number), &mut watch);
        let fault = ended.unwrap_err().to_string();
        assert!(fault.contains("the gradient is not finite at step 2"), "{fault}");
        assert_eq!((watch.seen.len(), watch.checkpoints), (0, 0));
        assert!(read() == good, "a file was written");
    }
}

#[test]
fn a_parameter_that_is_not_finite_leaves_the_checkpoint_alone() {
    let place = Place::new("run-parameter");
    let config = place.config();
    place.run(&config, &mut Steps { most: 2, ..Steps::default() }).unwrap();
    let read = || std::fs::read(place.path("state.safetensors")).unwrap();
    let good = read();
    let mut state = place.state(&config).unwrap();
    state.network.values[0] = f32::NAN;
    let fault = state.save(&place.session.folder).unwrap_err().to_string();
    assert!(fault.contains("\"embed.rows\" holds NaN at 0"), "{fault}");
    assert!(read() == good, "the file was written");
}

#[test]
fn optimiser_state_of_another_length_is_refused_by_name() {
    let place = Place::new("run-optimiser");
    let config = place.config();
    place.run(&config, &mut Steps { most: 2, ..Steps::default() }).unwrap();
    let len = Layout::new(&config.network).len;
    let other = RunConfig { learns: Learns::Transitions, ..config.clone() };
    let part = Layout::new(&config.network).of_transitions().iter().map(Range::len).sum::<usize>();
    let fault = place.state(&other).err().unwrap().to_string();
    let expected = format!("\"extra.first\" has length {len}, expected {part}");
    assert!(fault.contains("state.safetensors") && fault.contains(&expected), "{fault}");

    // A state without its second moments.
    let path = place.path("state.safetensors");
    let (network, extras, facts) = load_training(&path).unwrap();
    let kept: Vec<(&str, &[f32])> = extras
        .iter()
        .filter(|(name, _)| name != "second")
        .map(|(name, values)| (name.as_str(), values.as_slice()))
        .collect();
    save_training(&path, &network, &kept, &facts).unwrap();
    let fault = place.state(&config).err().unwrap().to_string();
    let expected = format!("\"extra.second\" has length 0, expected {len}");
    assert!(fault.contains(&expected), "{fault}");
}
