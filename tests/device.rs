//! The search on a simulated device: an evaluator that answers by a hash, after as long as a measured card takes for a batch
//! of that size. It shows what the pool does with a card where there is none.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::Setup;
use engine::options::settings::Backend;
use engine::play::network::{Network, NetworkError, Networks, hashed};
use engine::process::time::Clock;
use mavka_tests::Session;
use nn::evaluator::burn::{Lanes, PATIENCE};
use nn::evaluator::fake::Quick;
use nn::{EvalError, Evaluation, Evaluator, Query};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Rows of a batch, and milliseconds that it takes.
type Card = &'static [(usize, f64)];

/// NVIDIA H200, the fifteenth network (`docs/src/speed.md`).
const H200: Card = &[(32, 5.1), (256, 7.2), (1024, 12.4)];
/// A graphics unit inside a processor; made up.
const INTEGRATED: Card = &[(32, 4.0), (64, 8.0), (256, 30.0)];

/// A fault of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// One batch takes that long.
    Stalls(Duration),
    /// One batch fails.
    Fails,
}

/// The batch of the trouble, after those that measure the device.
const TROUBLED: usize = 60;

/// Computes one batch at a time; another waits for it.
struct Device {
    lanes: Lanes<usize, Result<(), EvalError>>,
    sizes: Vec<usize>,
}

/// Lanes of a device on a GPU.
const LANES: usize = 2;

impl Device {
    fn new(card: Card, slowdown: f64, trouble: Trouble) -> Device {
        let shared = Arc::new((Mutex::new(()), AtomicUsize::new(0)));
        let make = move || {
            let shared = shared.clone();
            Ok(move |rows: usize| {
                let (computes, batches) = &*shared;
                let _computes = computes.lock().unwrap();
                thread::sleep(time(card, rows).mul_f64(slowdown));
                match trouble {
                    _ if batches.fetch_add(1, Relaxed) != TROUBLED => {}
                    Trouble::Stalls(time) => thread::sleep(time.mul_f64(slowdown)),
                    Trouble::Fails => return Err(EvalError::Device("it is gone".to_owned())),
                    Trouble::None => {}
                }
                Ok(())
            })
        };
        let lanes = Lanes::new(LANES, make).unwrap().with_patience(PATIENCE.mul_f64(slowdown));
        Device { lanes, sizes: card.iter().map(|(size, _)| *size).collect() }
    }
}

fn time(card: Card, rows: usize) -> Duration {
    let (most, longest) = card[card.len() - 1];
    let holds = |rows| card.iter().find(|(size, _)| *size >= rows);
    let rest =
        if rows.is_multiple_of(most) { 0.0 } else { holds(rows % most).map_or(0.0, |it| it.1) };
    Duration::from_secs_f64(((rows / most) as f64 * longest + rest) / 1e3)
}

impl Evaluator for Device {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        let answers = Quick.evaluate(batch)?;
        let size = self.sizes.iter().find(|size| **size >= batch.len());
        let asked = self.lanes.ask(batch.len(), size.copied().unwrap_or(batch.len()));
        self.lanes.wait(&asked)??;
        Ok(answers)
    }

    fn batches(&self) -> &[usize] {
        &self.sizes
    }

    fn preferred_batch(&self) -> usize {
        256
    }

    fn in_flight(&self) -> usize {
        LANES
    }
}

struct OnDevice(Card, f64, Trouble);

impl Networks for OnDevice {
    fn open(&self, _: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        if backend == Backend::Cpu {
            return Ok(hashed());
        }
        let evaluator = Arc::new(Device::new(self.0, self.1, self.2));
        Ok(Network { evaluator, name: "a simulated device".to_owned(), on_gpu: true, players: 1 })
    }
}

/// A clock that is slower than the machine's by this factor: as if the processor were as many times as fast.
struct SlowClock(Instant, f64);

impl Clock for SlowClock {
    fn now(&self) -> Duration {
        self.0.elapsed().div_f64(self.1)
    }

    fn time_until(&self, moment: Duration) -> Option<Duration> {
        Some(moment.saturating_sub(self.now()).mul_f64(self.1))
    }
}

/// Games of one engine against itself from the first position.
struct Play {
    card: Card,
    slowdown: f64,
    trouble: Trouble,
    /// Milliseconds of a side's clock, and of its increment.
    clock: [i64; 2],
    /// Moves of both sides together.
    plies: usize,
}

/// The result of a [`Play`].
#[derive(Debug, Default)]
struct Played {
    playouts: f64,
    seconds: f64,
    /// Moves after the flag fell.
    late: usize,
    /// Least that was ever left on a clock, in milliseconds.
    least: f64,
}

impl Play {
    fn run(&self) -> Played {
        let clock = Arc::new(SlowClock(Instant::now(), self.slowdown));
        let networks = Arc::new(OnDevice(self.card, self.slowdown, self.trouble));
        let mut session =
            Session::start(Setup { networks, clock: clock.clone(), ..Setup::default() });
        for option in ["Backend value gpu", "BlunderCheck value false", "Threads value 2"] {
            session.send(&format!("setoption name {option}"));
        }
        session.send("isready");
        session.drain_until_ready();
        let mut left = [self.clock[0] as f64; 2];
        let mut moves = String::new();
        let mut played = Played { least: f64::INFINITY, ..Played::default() };
        for ply in 0..self.plies {
            session.send(&format!("position startpos moves{moves}"));
            let [white, black] = left.map(|ms| ms as i64);
            let increment = self.clock[1];
            let begun = clock.now();
            session
                .send(&format!("go wtime {white} btime {black} winc {increment} binc {increment}"));
            let best = session.expect("bestmove *");
            let used = clock.now().saturating_sub(begun).as_secs_f64();
            let side = &mut left[ply % 2];
            *side -= used * 1e3;
            played.late += usize::from(*side < 0.0);
            played.least = played.least.min(*side);
            *side += increment as f64;
            played.seconds += used;
            let number = |name: &str| {
                let info = session.final_info().unwrap_or_default();
                let mut words = info.split(' ').skip_while(|word| *word != name).skip(1);
                words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or_default()
            };
            played.playouts += number("nps") * number("time") / 1e3;
            let Some(best) = best.split(' ').nth(1).filter(|best| *best != "(none)") else { break };
            moves.push(' ');
            moves.push_str(best);
        }
        session.finish();
        played
    }
}

#[test]
fn a_device_that_stalls_or_fails_in_mid_game_loses_no_move() {
    for trouble in [Trouble::Stalls(Duration::from_secs(1)), Trouble::Fails] {
        let clock = [10_000, 100];
        let play = Play { card: H200, slowdown: 1.0, trouble, clock, plies: 4 };
        let played = play.run();
        assert!(played.late == 0 && played.playouts > 0.0, "{trouble:?}: {played:?}");
    }
}

/// A processor that takes so long for a position, beside the integrated card.
struct BesideCpu(Duration);

impl Networks for BesideCpu {
    fn open(&self, file: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        let cpu = Slow(self.0);
        match backend {
            Backend::Cpu => Ok(Network { evaluator: Arc::new(cpu), ..hashed() }),
            _ => OnDevice(INTEGRATED, 1.0, Trouble::None).open(file, backend),
        }
    }
}

struct Slow(Duration);

impl Evaluator for Slow {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        thread::sleep(self.0 * u32::try_from(batch.len()).unwrap());
        Quick.evaluate(batch)
    }
}

#[test]
fn a_card_chosen_by_auto_plays_if_it_is_much_faster_than_the_cpu() {
    for (cpu, backend, card_plays) in
        [(0, "auto", false), (0, "gpu", true), (20, "auto", true), (20, "gpu", true)]
    {
        let networks = Arc::new(BesideCpu(Duration::from_millis(cpu)));
        let mut session = Session::start(Setup { networks, ..Setup::default() });
        session.send("debug on");
        session.send(&format!("setoption name Backend value {backend}"));
        session.send("isready");
        let said = session.drain_until_ready().join("\n");
        let says = |words: &str| said.contains(words);
        assert_eq!(says("playing with a simulated device"), card_plays, "{cpu} {backend}: {said}");
        assert_eq!(says("using the CPU (`Backend` `gpu` takes the card)"), !card_plays, "{said}");
        session.send("go nodes 50");
        session.expect("bestmove *");
        session.finish();
    }
}

/// Prints playouts a second under two clocks, and the clocks' least.
#[test]
#[ignore = "a measurement"]
fn playouts_under_a_clock() {
    let slowdown = std::env::var("MAVKA_SLOWDOWN").ok().and_then(|text| text.parse().ok());
    let slowdown: f64 = slowdown.unwrap_or(1.0);
    println!("clock {slowdown} times as slow as this machine's, 2 threads");
    let stall = Trouble::Stalls(Duration::from_secs(1));
    for (name, card, trouble) in [
        ("H200", H200, Trouble::None),
        ("integrated", INTEGRATED, Trouble::None),
        ("H200 stalls 1 s", H200, stall),
        ("H200 fails", H200, Trouble::Fails),
    ] {
        let best = card.iter().map(|(rows, ms)| *rows as f64 / ms * 1e3).fold(0.0, f64::max);
        for (control, clock) in [("10+0.1", [10_000, 100]), ("1+0.01", [1_000, 10])] {
            let plies = if trouble == Trouble::None { 30 } else { 60 };
            let played = Play { card, slowdown, trouble, clock, plies }.run();
            let speed = played.playouts / played.seconds;
            println!(
                "{name:16} {control:7} {speed:8.0} playouts/s, {:3.0} % of the table's best; {:4.0} ms a move; least {:6.0} ms left, {} late",
                100.0 * speed / best,
                1e3 * played.seconds / plies as f64,
                played.least,
                played.late
            );
        }
    }
}
