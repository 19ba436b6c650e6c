//! An evaluator whose callers share batches: the queries of many games that wait at the same time are one batch of the
//! device. One process feeds a GPU with it.

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::{Chess, Move};
use std::io;
use std::sync::Arc;
use std::thread;

/// Gathers the batches of its callers.
pub struct Gathered {
    questions: Sender<EvaluationRequest>,
}

/// A caller's batch.
struct EvaluationRequest {
    positions: Vec<(Chess, Vec<Move>)>,
    answer: Sender<Result<Vec<Evaluation>, EvalError>>,
}

impl Gathered {
    /// Starts a thread for each batch that `inner` keeps in flight; they end when this evaluator is dropped. A batch
    /// holds at most `most` positions, or one caller's batch if that is larger.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new(inner: &Arc<dyn Evaluator>, most: usize) -> io::Result<Gathered> {
        let (questions, waiting) = unbounded::<EvaluationRequest>();
        for _ in 0..inner.in_flight().max(1) {
            let (inner, waiting) = (inner.clone(), waiting.clone());
            thread::Builder::new()
                .name("gather".to_owned())
                .spawn(move || answer_all(inner.as_ref(), &waiting, most))?;
        }
        Ok(Gathered { questions })
    }
}

impl Evaluator for Gathered {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        let owned = |query: &Query<'_>| (query.position.clone(), query.legal.to_vec());
        let (answer, answered) = bounded(1);
        let question = EvaluationRequest { positions: batch.iter().map(owned).collect(), answer };
        let gone = || EvalError::Device("its thread has ended".to_owned());
        self.questions.send(question).map_err(|_| gone())?;
        answered.recv().unwrap_or_else(|_| Err(gone()))
    }
}

/// Answers questions until no caller is left. The queries that wait when the device is free become one batch.
fn answer_all(inner: &dyn Evaluator, waiting: &Receiver<EvaluationRequest>, most: usize) {
    let mut first = waiting.recv().ok();
    while let Some(question) = first.take() {
        let mut size = question.positions.len();
        let mut gathered = vec![question];
        while let Ok(next) = waiting.try_recv() {
            if size + next.positions.len() > most {
                first = Some(next);
                break;
            }
            size += next.positions.len();
            gathered.push(next);
        }
        answer(inner, &gathered);
        if first.is_none() {
            first = waiting.recv().ok();
        }
    }
}

/// Evaluates all questions as one batch. A receiver may be gone.
fn answer(inner: &dyn Evaluator, gathered: &[EvaluationRequest]) {
    let positions = gathered.iter().flat_map(|question| &question.positions);
    let batch: Vec<Query<'_>> =
        positions.map(|(position, legal)| Query { position, legal }).collect();
    match inner.evaluate(&batch) {
        Ok(answers) => {
            let mut answers = answers.into_iter();
            for question in gathered {
                let own = answers.by_ref().take(question.positions.len()).collect();
                let _ = question.answer.send(Ok(own));
            }
        }
        Err(why) => {
            for question in gathered {
                let _ = question.answer.send(Err(why.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::evaluator::fake::Hashed;
    use shakmaty::Position;
    use std::sync::{Barrier, Mutex};

    /// Holds its first batch until all callers have asked, and notes the batch sizes.
    struct Slow {
        callers: Barrier,
        sizes: Mutex<Vec<usize>>,
    }

    impl Evaluator for Slow {
        fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
            let first = {
                let mut sizes = self.sizes.lock().unwrap();
                sizes.push(batch.len());
                sizes.len() == 1
            };
            if first {
                self.callers.wait();
            }
            Hashed::default().evaluate(batch)
        }
    }

    #[test]
    fn all_that_wait_are_one_batch_and_each_caller_gets_its_own_answers() {
        let slow = Arc::new(Slow { callers: Barrier::new(2), sizes: Mutex::default() });
        let inner: Arc<dyn Evaluator> = slow.clone();
        let gathered = Gathered::new(&inner, 6).unwrap();
        let mut positions = vec![Chess::default()];
        for _ in 0..4 {
            let mut next = positions[positions.len() - 1].clone();
            next.play_unchecked(next.legal_moves()[3]);
            positions.push(next);
        }
        let ask = |position: &Chess, times: usize| {
            let legal = position.legal_moves();
            let query = Query { position, legal: &legal };
            let answers = gathered.evaluate(&vec![query; times]).unwrap();
            assert_eq!(answers, Hashed::default().evaluate(&vec![query; times]).unwrap());
        };
        thread::scope(|scope| {
            scope.spawn(|| ask(&positions[0], 2));
            while slow.sizes.lock().unwrap().is_empty() {
                thread::yield_now();
            }
            // The first caller is being answered: the others wait.
            for position in &positions[1..] {
                scope.spawn(|| ask(position, 2));
            }
            while gathered.questions.len() < 4 {
                thread::yield_now();
            }
            slow.callers.wait();
        });
        let sizes = slow.sizes.lock().unwrap();
        assert_eq!(*sizes, [2, 6, 2], "two positions each, at most six in a batch");
    }
}
