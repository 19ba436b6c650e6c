//! Deals tasks to threads: each worker takes the next one as soon as it is free.

use crossbeam::channel::{bounded, unbounded};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Stop flag of work that is never stopped early.
pub static NEVER: AtomicBool = AtomicBool::new(false);

/// How many work, and until when.
#[derive(Clone, Copy, Debug)]
pub struct WorkerLimits<'a> {
    /// Workers, at least one.
    pub count: usize,
    /// Once it is raised, no further task is begun.
    pub stop: &'a AtomicBool,
}

/// One worker for each core.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Deals all `tasks` to a crew, each worker of which `start` makes on its own thread. `listen` hears of each result on
/// the calling thread, in the order of completion. The first error ends it; tasks under way are waited for.
///
/// # Errors
/// What `start`, a worker or `listen` says.
pub fn deal<T: Sync, R: Send, E: Send, W: FnMut(&T) -> Result<R, E>>(
    tasks: &[T],
    crew: WorkerLimits<'_>,
    start: impl Fn() -> Result<W, E> + Sync,
    mut listen: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let (jobs, queue) = unbounded();
    for task in tasks {
        // The queue is held below, so this cannot fail.
        let _ = jobs.send(task);
    }
    drop(jobs);
    let (results, finished) = bounded(0);
    thread::scope(|scope| {
        for _ in 0..crew.count.max(1).min(tasks.len()) {
            let (queue, results, start) = (queue.clone(), results.clone(), &start);
            scope.spawn(move || {
                let mut work = match start() {
                    Ok(work) => work,
                    Err(why) => return drop(results.send(Err(why))),
                };
                for task in queue {
                    if crew.stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let done = work(task).map(|result| (task, result));
                    let failed = done.is_err();
                    // The receiver is gone after an error elsewhere.
                    if results.send(done).is_err() || failed {
                        return;
                    }
                }
            });
        }
        drop(results);
        finished.into_iter().try_for_each(|done| {
            let (task, result) = done?;
            listen(task, result)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn crew(count: usize) -> WorkerLimits<'static> {
        WorkerLimits { count, stop: &NEVER }
    }

    fn error<T>() -> Result<T, String> {
        Err("broken".to_owned())
    }

    #[test]
    fn every_task_is_done_once_and_each_worker_starts_once() {
        let tasks: Vec<usize> = (0..50).collect();
        let started = AtomicUsize::new(0);
        let start = || {
            started.fetch_add(1, Ordering::Relaxed);
            Ok::<_, String>(|task: &usize| Ok(task * 2))
        };
        let mut done = Vec::new();
        let listen = |task: &usize, result| {
            assert_eq!(result, task * 2);
            done.push(*task);
            Ok(())
        };
        assert_eq!(deal(&tasks, crew(3), start, listen), Ok(()));
        done.sort_unstable();
        assert_eq!(done, tasks);
        assert_eq!(started.into_inner(), 3);
    }

    #[test]
    fn the_first_error_ends_it_wherever_it_comes_from() {
        let tasks: Vec<usize> = (0..50).collect();
        let sound = || Ok(|task: &usize| Ok(*task));
        assert_eq!(deal(&tasks, crew(2), sound, |_, _| error()), error());
        let failing = || Ok(|task: &usize| if *task == 7 { error() } else { Ok(()) });
        assert_eq!(deal(&tasks, crew(2), failing, |_, ()| Ok(())), error());
        let absent = || if tasks.is_empty() { Ok(|_: &usize| Ok(())) } else { error() };
        let mut heard = 0;
        let listen = |_: &usize, ()| {
            heard += 1;
            Ok(())
        };
        assert_eq!(deal(&tasks, crew(2), absent, listen), error());
        assert_eq!(heard, 0);
    }

    #[test]
    fn a_raised_flag_ends_it_after_the_tasks_under_way() {
        let tasks: Vec<usize> = (0..50).collect();
        let (stop, mut heard) = (AtomicBool::new(false), 0);
        let start = || {
            Ok::<_, String>(|task: &usize| {
                if *task == 10 {
                    stop.store(true, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let listen = |_: &usize, ()| {
            heard += 1;
            Ok(())
        };
        assert_eq!(deal(&tasks, WorkerLimits { count: 1, stop: &stop }, start, listen), Ok(()));
        assert_eq!(heard, 11);
    }

    #[test]
    fn without_tasks_no_worker_starts() {
        let start = || if true { error() } else { Ok(|_: &u8| Ok(())) };
        assert_eq!(deal(&[], crew(4), start, |_, ()| Ok(())), Ok(()));
    }
}
