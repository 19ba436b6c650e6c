//! How the engine opens networks, chooses and gives up devices.

use engine::Setup;
use engine::options::settings::Backend;
use engine::play::network::{Network, NetworkError, Networks};
use mavka_tests::{PATIENCE, Session, setup};
use nn::evaluator::fake::{Breakdown, Failing, Hashed};
use nn::{EvalError, Evaluation, Evaluator, Query};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[test]
fn weights_are_read_and_damaged_ones_refused() {
    let folder = std::env::temp_dir().join(format!("mavka-weights-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let network = nn::checkpoint::Network::new(&nn::net::NetConfig::default(), 1);
    let bytes = network.to_bytes(nn::checkpoint::Precision::Full).unwrap();
    fs::write(folder.join("whole.net"), &bytes).unwrap();
    fs::write(folder.join("half.net"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(folder.join("empty.net"), b"").unwrap();
    fs::write(
        folder.join("text.net"),
        b"this is no network, but it is longer than a header would be",
    )
    .unwrap();
    let mut session = Session::start(Setup::default());
    for name in ["half.net", "empty.net", "text.net", "missing.net", ""] {
        session.send(&format!("setoption name WeightsFile value {}", folder.join(name).display()));
        session.send("isready");
        session.expect("info string cannot use network *");
        session.expect("info string playing with built-in network *");
        session.drain_until_ready();
        session.send("go nodes 20");
        session.expect("bestmove *");
    }
    session.send("debug on");
    session
        .send(&format!("setoption name WeightsFile value {}", folder.join("whole.net").display()));
    session.send("isready");
    session.expect("info string playing with*whole.net*");
    session.drain_until_ready();
    session.send("go nodes 20");
    session.expect("bestmove *");
    session.finish();
    fs::remove_dir_all(&folder).unwrap();
}

/// Black's queen hangs: kernels and burn take it.
#[test]
fn burn_chooses_the_moves_of_a_go_too() {
    for backend in ["cpu", "burn-cpu"] {
        let mut session = Session::start(Setup::default());
        session.send("setoption name Threads value 1");
        session.send(&format!("setoption name Backend value {backend}"));
        session.send("isready");
        assert_eq!(session.drain_until_ready(), [""; 0], "{backend}");
        session
            .send("position fen rnb1kbnr/pppp1ppp/8/4p1q1/4P3/3P4/PPP2PPP/RNBQKBNR w KQkq - 1 3");
        session.send("go nodes 60");
        session.expect("info * nodes 60 *");
        session.expect("bestmove c1g5*");
        session.finish();
    }
}

/// A machine whose GPU is missing, or broken, or too small, as seen when the network is put on it or
/// when it is first asked.
struct WithoutGpu(fn() -> Result<Network, NetworkError>);

impl Networks for WithoutGpu {
    fn open(&self, _: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        match backend {
            Backend::Cpu => Ok(engine::play::network::hashed()),
            _ => (self.0)(),
        }
    }
}

#[test]
fn without_a_gpu_the_cpu_plays_and_one_line_says_why() {
    type Gpu = fn() -> Result<Network, NetworkError>;
    let missing: [(Gpu, &str); 3] = [
        (
            || Err(NetworkError::Backend("CUDA is not available; using the CPU".to_owned())),
            "CUDA is not available; using the CPU",
        ),
        (
            || Err(NetworkError::Device(EvalError::Device("out of memory".to_owned()))),
            "the network does not run on the GPU (the device failed: out of memory); using the CPU",
        ),
        (
            || {
                let evaluator = Arc::new(Failing::after(1, Breakdown::Error));
                Ok(Network { evaluator, name: "on a GPU".to_owned(), on_gpu: true, players: 1 })
            },
            "the network does not run on the GPU (the device failed: the fake device failed as it was told to); using the CPU",
        ),
    ];
    for (gpu, why) in missing {
        for backend in ["auto", "cuda"] {
            let networks = Arc::new(WithoutGpu(gpu));
            let mut session = Session::start(Setup { networks, ..Setup::default() });
            session.send(&format!("setoption name Backend value {backend}"));
            session.send("isready");
            assert_eq!(session.drain_until_ready(), [format!("info string {why}")]);
            session.send("go nodes 20");
            session.expect("bestmove *");
            session.send("isready");
            assert_eq!(session.drain_until_ready(), [""; 0], "said once");
            session.finish();
        }
    }
}

#[test]
fn a_gpu_that_fails_in_mid_game_is_given_up_for_the_cpu() {
    let gpu = || {
        let evaluator = Arc::new(Failing::after(30, Breakdown::Error));
        Ok(Network { evaluator, name: "on a GPU".to_owned(), on_gpu: true, players: 1 })
    };
    let networks = Arc::new(WithoutGpu(gpu));
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    for option in ["Backend value cuda", "MinibatchSize value 1"] {
        session.send(&format!("setoption name {option}"));
    }
    session.send("isready");
    assert_eq!(session.drain_until_ready(), [""; 0], "it still computes");
    session.send("go nodes 200");
    session.expect(
        "info string the network does not run on the GPU (the device failed: *); using the CPU",
    );
    session.expect("info * nodes 200 *");
    session.expect("bestmove *");
    session.send("setoption name Clear Hash");
    session.send("go nodes 200");
    session.expect("info * nodes 200 *");
    session.expect("bestmove *");
    session.send("isready");
    assert_eq!(session.drain_until_ready(), [""; 0], "said once");
    session.finish();
}

#[test]
fn a_cpu_that_fails_is_not_called_a_gpu() {
    let networks = Arc::new(WithoutGpu(|| {
        let evaluator = Arc::new(Failing::after(30, Breakdown::Error));
        Ok(Network { evaluator, name: "on the CPU".to_owned(), on_gpu: false, players: 1 })
    }));
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    session.send("setoption name MinibatchSize value 1");
    session.send("go nodes 200");
    session.expect("info string the search ended early: *");
    session.expect("bestmove *");
    let said = session.finish();
    assert!(!said.iter().any(|line| line.contains("GPU")), "{said:?}");
}

/// Notes which files are asked for and which network answers.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

struct Named(String, Noting);

impl Evaluator for Named {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.1.0.lock().unwrap().push(self.0.clone());
        Hashed::default().evaluate(batch)
    }
}

impl Networks for Noting {
    fn open(&self, file: Option<&Path>, _: Backend) -> Result<Network, NetworkError> {
        let name = file.map_or_else(String::new, |file| file.display().to_string());
        let evaluator = Arc::new(Named(name.clone(), self.clone()));
        Ok(Network { evaluator, name, on_gpu: false, players: 1 })
    }
}

#[test]
fn the_network_of_weights_file_answers_every_search() {
    let noting = Noting::default();
    let networks = Arc::new(noting.clone());
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    session.send("setoption name NNCacheSize value 0");
    let mut answers = |file: &str, go: &str| {
        session.send(&format!("setoption name WeightsFile value {file}"));
        session.send("ucinewgame");
        session.send("isready");
        session.drain_until_ready();
        noting.0.lock().unwrap().clear();
        session.send(go);
        session.expect("bestmove *");
        let asked = noting.0.lock().unwrap().clone();
        assert!(asked.iter().all(|name| *name == asked[0]), "{asked:?}");
        asked[0].clone()
    };
    for go in ["go nodes 20", "go wtime 9000 btime 9000"] {
        assert_eq!(answers("<empty>", go), "");
        assert_eq!(answers("a.net", go), "a.net");
    }
    session.finish();
}

/// Reports which files are opened.
struct Reporting(Mutex<Sender<String>>);

impl Networks for Reporting {
    fn open(&self, file: Option<&Path>, _: Backend) -> Result<Network, NetworkError> {
        let name = file.map_or_else(String::new, |file| file.display().to_string());
        self.0.lock().unwrap().send(name).unwrap();
        Ok(engine::play::network::hashed())
    }
}

#[test]
fn the_network_is_opened_once_as_soon_as_uci_is_answered() {
    for file in ["", "a.net"] {
        let (opened, opening) = channel();
        let networks = Arc::new(Reporting(Mutex::new(opened)));
        let mut session = Session::start(Setup { networks, ..Setup::default() });
        session.send("uci");
        assert_eq!(opening.recv_timeout(PATIENCE).unwrap(), "", "before any other command");
        session.send(&format!("setoption name WeightsFile value {file}"));
        session.send("go nodes 20");
        session.expect("uciok");
        session.expect("bestmove *");
        session.send("isready");
        session.drain_until_ready();
        session.finish();
        let others: Vec<String> = opening.try_iter().collect();
        assert_eq!(others, if file.is_empty() { vec![] } else { vec![file] });
    }
}

/// Takes two batches at once and notes whether it ever got them.
#[derive(Default)]
struct TwoAtOnce {
    inside: Mutex<usize>,
    more: Condvar,
    met: Arc<AtomicBool>,
}

impl Evaluator for TwoAtOnce {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        let mut inside = self.inside.lock().unwrap();
        *inside += 1;
        self.more.notify_all();
        // The first questions come alone.
        let wait = Duration::from_millis(50);
        let alone = |inside: &mut usize| *inside < 2 && !self.met.load(Relaxed);
        let (mut inside, waited) = self.more.wait_timeout_while(inside, wait, alone).unwrap();
        if !waited.timed_out() {
            self.met.store(true, Relaxed);
            self.more.notify_all();
        }
        *inside -= 1;
        drop(inside);
        Hashed::default().evaluate(batch)
    }

    fn in_flight(&self) -> usize {
        2
    }
}

#[test]
fn a_device_that_takes_two_batches_at_once_gets_them() {
    let device = TwoAtOnce::default();
    let met = device.met.clone();
    let mut session = Session::start(setup(device));
    session.send("setoption name Threads value 1");
    session.send("go nodes 300");
    session.expect("bestmove *");
    session.finish();
    assert!(met.load(Relaxed));
}

/// Opens `slow.net` only when the gate is open, any other network at once.
#[derive(Clone, Default)]
struct Gated {
    noting: Noting,
    gate: Arc<(Mutex<bool>, Condvar)>,
    begun: Arc<(Mutex<bool>, Condvar)>,
}

impl Gated {
    fn raise(flag: &(Mutex<bool>, Condvar)) {
        *flag.0.lock().unwrap() = true;
        flag.1.notify_all();
    }

    fn wait(flag: &(Mutex<bool>, Condvar)) {
        let guard = flag.0.lock().unwrap();
        let (guard, _) = flag.1.wait_timeout_while(guard, PATIENCE, |raised| !*raised).unwrap();
        assert!(*guard, "never raised");
    }
}

impl Networks for Gated {
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        if file.is_some_and(|file| file == Path::new("slow.net")) {
            Gated::raise(&self.begun);
            Gated::wait(&self.gate);
        }
        self.noting.open(file, backend)
    }
}

/// A network that is loaded on the clock would leave no time for the move.
#[test]
fn a_move_on_a_clock_does_not_wait_for_another_network() {
    for is_loaded in [true, false] {
        let gated = Gated::default();
        let networks = Arc::new(gated.clone());
        let mut session = Session::start(Setup { networks, ..Setup::default() });
        session.send("setoption name NNCacheSize value 0");
        session.send("uci");
        session.expect("uciok");
        if is_loaded {
            session.send("isready");
            session.drain_until_ready();
        }
        session.send("setoption name WeightsFile value slow.net");
        Gated::wait(&gated.begun);
        let asked = || std::mem::take(&mut *gated.noting.0.lock().unwrap());
        for go in ["go wtime 4000 btime 4000", "go movetime 200", "go wtime 500 winc 100"] {
            session.send("position startpos moves e2e4 e7e5");
            session.send(go);
            session.expect("info string slow.net is still being loaded; playing with*");
            session.expect("bestmove *");
            assert!(asked().iter().all(String::is_empty), "{go}");
        }
        Gated::raise(&gated.gate);
        session.send("isready");
        session.drain_until_ready();
        asked();
        session.send("go movetime 200");
        session.expect("bestmove *");
        let asked = asked();
        assert!(!asked.is_empty() && asked.iter().all(|name| name == "slow.net"), "{asked:?}");
        session.finish();
    }
}

/// A search without a clock can wait, and does.
#[test]
fn a_search_without_a_clock_waits_for_its_network() {
    let gated = Gated::default();
    let networks = Arc::new(gated.clone());
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    session.send("setoption name NNCacheSize value 0");
    session.send("isready");
    session.drain_until_ready();
    gated.noting.0.lock().unwrap().clear();
    session.send("setoption name WeightsFile value slow.net");
    session.send("go nodes 20");
    Gated::wait(&gated.begun);
    assert!(gated.noting.0.lock().unwrap().is_empty(), "no search yet");
    Gated::raise(&gated.gate);
    session.expect("bestmove *");
    let asked = gated.noting.0.lock().unwrap().clone();
    assert!(asked.iter().all(|name| name == "slow.net"), "{asked:?}");
    session.finish();
}
