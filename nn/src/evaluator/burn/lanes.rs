//! Worker threads for a device: two keep it busy with one batch while the next is prepared.
//!
//! The work function is created in its own thread and never leaves it. burn keeps one stream of work per
//! thread, and a tensor used on another thread waits for its creator's queue.

use crate::evaluator::error::EvalError;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Longest time for an answer: of a driver that hangs. The slowest first batch, whose kernels are compiled, took
/// some 10 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers each `Q` with an `A`. Dropping it ends the threads, each after its current answer.
pub struct Lanes<Q, A> {
    questions: Sender<(Q, Sender<A>)>,
}

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
        Ok(Lanes { questions })
    }

    /// Queues the question for the next free thread without waiting; [`wait`] waits.
    pub fn ask(&self, question: Q) -> Receiver<A> {
        let (to, answer) = bounded(1);
        // Without a thread the sender is dropped here, which the receiver notices.
        let _ = self.questions.send((question, to));
        answer
    }
}

/// Waits for an answer.
///
/// # Errors
/// The thread ended without one, or gives none: it is left to itself.
pub fn wait<A>(answer: &Receiver<A>) -> Result<A, EvalError> {
    wait_for(answer, PATIENCE)
}

fn wait_for<A>(answer: &Receiver<A>, patience: Duration) -> Result<A, EvalError> {
    answer.recv_timeout(patience).map_err(|why| match why {
        RecvTimeoutError::Disconnected => gone(),
        RecvTimeoutError::Timeout => {
            EvalError::Device(format!("no answer within {} s", patience.as_secs()))
        }
    })
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
            let both = [lanes.ask(round), lanes.ask(100 + round)];
            assert_eq!(both.map(|answer| wait(&answer)), [Ok(round + 1), Ok(101 + round)]);
        }
    }

    #[test]
    fn a_device_that_hangs_is_not_waited_for() {
        let (end, never) = bounded::<()>(0);
        let lanes = Lanes::new(1, move || {
            let never = never.clone();
            Ok(move |x: u32| never.recv().map_or(x, |()| x))
        });
        let answer = lanes.unwrap().ask(1);
        let error = wait_for(&answer, Duration::from_millis(1)).unwrap_err().to_string();
        assert!(error.contains("no answer within"), "{error}");
        drop(end);
        assert_eq!(wait(&answer), Ok(1));
    }

    #[test]
    fn what_fails_to_start_says_why_and_what_dies_says_that() {
        let refuse = || Err::<fn(u32) -> u32, _>(EvalError::Device("no memory".to_owned()));
        let error = Lanes::new(2, refuse).err();
        assert_eq!(error, Some(EvalError::Device("no memory".to_owned())));
        let lanes = Lanes::new(1, || Ok(|x: u32| if x == 0 { panic!("gone") } else { x })).unwrap();
        assert_eq!(wait(&lanes.ask(3)), Ok(3));
        for question in [0, 3] {
            assert_eq!(wait(&lanes.ask(question)), Err(gone()));
        }
    }
}
