//! Worker threads for a device: two keep it busy with one batch while the next is prepared.
//!
//! The work function is created in its own thread and never leaves it. burn keeps one stream of work per
//! thread, and a tensor used on another thread waits for its creator's queue.
//!
//! A device that has answered before and then says nothing for long has failed: the clock of a game runs meanwhile.

use crate::evaluator::error::EvalError;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Answers each `Q` with an `A`. Dropping it ends the threads, each after its current answer.
pub struct Lanes<Q, A> {
    questions: Sender<(Q, Sender<A>)>,
    /// Longest time of an answer of each kind, zero after the first, which does not count: the device compiles its kernels
    /// then.
    longest: Mutex<HashMap<usize, Duration>>,
    /// Least time to wait for an answer.
    patience: Duration,
}

/// A question under way.
pub struct Asked<A> {
    answer: Receiver<A>,
    kind: usize,
    since: Instant,
}

/// Longest time for the first answers of a kind, of a driver that hangs: the slowest first batch, whose kernels are compiled,
/// took some 10 s.
const PATIENCE_AT_FIRST: Duration = Duration::from_secs(60);

/// Least time to wait for a device that has answered before. Guess: a driver that resets its card takes seconds.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// Multiple of the longest answer that is waited for. Guess.
const LONGER: u32 = 10;

impl<Q: Send + 'static, A: Send + 'static> Lanes<Q, A> {
    /// Starts `count` threads and waits until `make` has created the work function in each.
    ///
    /// # Errors
    /// `make`'s error; a thread cannot be started, or `make` panicked.
    pub fn new<W: FnMut(Q) -> A>(
        count: usize,
        make: impl Fn() -> Result<W, EvalError> + Send + Sync + 'static,
    ) -> Result<Lanes<Q, A>, EvalError> {
        let (questions, waiting) = unbounded::<(Q, Sender<A>)>();
        let (ready, made) = unbounded();
        let make = Arc::new(make);
        for _ in 0..count {
            let (waiting, make, ready) = (waiting.clone(), make.clone(), ready.clone());
            let lane = move || match make() {
                Ok(mut work) => {
                    let _ = ready.send(Ok(()));
                    drop(ready);
                    for (question, to) in waiting {
                        // The receiver may be gone.
                        let _ = to.send(work(question));
                    }
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            };
            thread::Builder::new()
                .name("device".to_owned())
                .spawn(lane)
                .map_err(|error| EvalError::Device(format!("no thread for it: {error}")))?;
        }
        drop(ready);
        for _ in 0..count {
            made.recv().unwrap_or_else(|_| Err(gone()))?;
        }
        Ok(Lanes { questions, longest: Mutex::default(), patience: PATIENCE })
    }

    /// The same with another least time to wait.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Lanes<Q, A> {
        Lanes { patience, ..self }
    }

    /// Queues the question for the next free thread without waiting. Answers of one `kind` take about as long.
    pub fn ask(&self, question: Q, kind: usize) -> Asked<A> {
        let (to, answer) = bounded(1);
        let since = Instant::now();
        // Without a thread the sender is dropped here, which the receiver notices.
        let _ = self.questions.send((question, to));
        Asked { answer, kind, since }
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// The thread ended without one, or gave none for far longer than it ever took for one of this kind.
    pub fn wait(&self, asked: &Asked<A>) -> Result<A, EvalError> {
        let longest = || self.longest.lock().unwrap_or_else(PoisonError::into_inner);
        let usual = longest().get(&asked.kind).copied();
        let patience = match usual {
            None | Some(Duration::ZERO) => PATIENCE_AT_FIRST,
            Some(usual) => self.patience.max(usual * LONGER),
        };
        let answer = asked.answer.recv_timeout(patience).map_err(|why| match why {
            RecvTimeoutError::Timeout => silent(asked.since.elapsed()),
            RecvTimeoutError::Disconnected => gone(),
        })?;
        let took = asked.since.elapsed();
        longest().entry(asked.kind).and_modify(|most| *most = took.max(*most)).or_default();
        Ok(answer)
    }
}

fn silent(since: Duration) -> EvalError {
    EvalError::Device(format!("no answer for {:.1} s", since.as_secs_f64()))
}

fn gone() -> EvalError {
    EvalError::Device("its thread has ended".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn two_lanes_answer_two_at_once() {
        let meeting = Arc::new(Barrier::new(2));
        // A barrier: one lane alone would block forever.
        let make = move || {
            let meeting = meeting.clone();
            Ok(move |x: u32| {
                meeting.wait();
                x + 1
            })
        };
        let lanes = Lanes::new(2, make).unwrap();
        for round in 0..20 {
            let both = [lanes.ask(round, 0), lanes.ask(100 + round, 0)];
            assert_eq!(both.map(|asked| lanes.wait(&asked)), [Ok(round + 1), Ok(101 + round)]);
        }
    }

    #[test]
    fn what_fails_to_start_says_why_and_what_dies_says_that() {
        let refuse = || Err::<fn(u32) -> u32, _>(EvalError::Device("no memory".to_owned()));
        let error = Lanes::new(2, refuse).err();
        assert_eq!(error, Some(EvalError::Device("no memory".to_owned())));
        let lanes = Lanes::new(1, || Ok(|x: u32| if x == 0 { panic!("gone") } else { x })).unwrap();
        assert_eq!(lanes.wait(&lanes.ask(3, 0)), Ok(3));
        for question in [0, 3] {
            assert_eq!(lanes.wait(&lanes.ask(question, 0)), Err(gone()));
        }
    }

    #[test]
    fn a_device_that_has_answered_is_not_waited_for_for_ever() {
        let patience = Duration::from_millis(20);
        // Ends the stalls.
        let (end, ended) = bounded::<()>(0);
        let make = move || {
            let ended = ended.clone();
            Ok(move |stalls: bool| {
                if stalls {
                    let _ = ended.recv();
                }
            })
        };
        let lanes = Lanes::new(2, make).unwrap().with_patience(patience);
        let first = lanes.ask(true, 7);
        thread::scope(|scope| {
            let waits = scope.spawn(|| lanes.wait(&first));
            // However long it takes: the device compiles.
            assert!(end.send_timeout((), Duration::from_secs(60)).is_ok());
            assert_eq!(waits.join().unwrap(), Ok(()));
        });
        // The second time is the first to be known.
        assert_eq!(lanes.wait(&lanes.ask(false, 7)), Ok(()));
        let error = lanes.wait(&lanes.ask(true, 7)).unwrap_err();
        assert!(
            matches!(&error, EvalError::Device(why) if why.starts_with("no answer for 0.")),
            "{error}"
        );
        assert_eq!(lanes.wait(&lanes.ask(false, 7)), Ok(()), "the other lane still answers");
        drop(end);
    }
}
