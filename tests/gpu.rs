//! A game on a graphics card by wgpu, or on the software that stands in for one: `.ci/gpu`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use burn::tensor::Device;
use engine::Setup;
use engine::doctor::examine;
use engine::options::settings::{Backend, Settings};
use engine::play::network::{Installed, Network, NetworkError, Networks, load};
use mavka_tests::Session;
use nn::evaluator::burn::BurnEvaluator;
use std::path::Path;
use std::sync::Arc;

/// Black's queen hangs; mate on the back rank.
const POSITIONS: [(&str, &str); 2] = [
    ("rnb1kbnr/pppp1ppp/8/4p1q1/4P3/3P4/PPP2PPP/RNBQKBNR w KQkq - 1 3", "c1g5"),
    ("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8"),
];

fn on_card() -> Session {
    let mut session = Session::start(Setup::default());
    for option in ["Backend value gpu", "BlunderCheck value false"] {
        session.send(&format!("setoption name {option}"));
    }
    session.send("isready");
    session.expect("info string playing with built-in network *, GPU: *");
    session.drain_until_ready();
    session
}

#[test]
fn a_card_is_named_and_chooses_the_moves_of_a_go() {
    let mut session = on_card();
    for (fen, best) in POSITIONS {
        session.send("ucinewgame");
        session.send(&format!("position fen {fen}"));
        session.send("go nodes 100");
        let said = session.expect("bestmove *");
        assert!(said.starts_with(&format!("bestmove {best}")), "{fen}: {said}");
    }
    session.send("setoption name WorldModel value learned");
    session.send("position startpos moves e2e4 e7e5");
    session.send("go nodes 30");
    session.expect("bestmove *");
    session.send("isready");
    assert_eq!(session.drain_until_ready(), [""; 0], "nothing to complain of");
    session.finish();
}

/// The built-in network on a card whose handle the test has.
struct Losable(Device);

impl Networks for Losable {
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        if backend == Backend::Cpu {
            return Installed::default().open(file, backend);
        }
        let evaluator = BurnEvaluator::new(&load(None)?, &self.0).map_err(NetworkError::Device)?;
        let name = "a card".to_owned();
        Ok(Network { evaluator: Arc::new(evaluator), name, on_gpu: true, players: 1 })
    }
}

#[test]
fn a_card_lost_in_mid_game_leaves_the_game_to_the_cpu() {
    let (device, setup) = Device::wgpu_options().init_with_setup().expect("an adapter");
    let networks = Arc::new(Losable(device));
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    session.send("setoption name Backend value gpu");
    session.send("isready");
    session.drain_until_ready();
    session.send("position startpos");
    session.send("go nodes 10");
    session.expect("bestmove *");
    session.send("position startpos moves e2e4");
    session.send("go infinite");
    session.expect("info depth *");
    setup.device.destroy();
    session.expect("info string the network does not run on the GPU (*); using the CPU");
    session.expect("info depth *");
    session.send("stop");
    session.expect("bestmove *");
    for _ in 0..2 {
        session.send("go nodes 100");
        session.expect("bestmove *");
    }
    session.send("isready");
    assert_eq!(session.drain_until_ready(), [""; 0], "said once");
    session.finish();
}

#[test]
fn the_doctor_lists_the_adapters() {
    let settings =
        Settings { backend: Backend::Gpu, threads: 1, hash_mb: 16, ..Settings::default() };
    let mut lines = Vec::new();
    examine(&settings, &mut |finding| lines.push(finding.to_string()));
    let names = |subject: &str| lines.iter().any(|line| line.contains(subject));
    assert!(names("adapter    1: "), "{lines:#?}");
    assert!(!names("device     the CPU"), "{lines:#?}");
}
