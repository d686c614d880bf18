//! A pool for many small computations, one thread each.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::Error;

/// Does `work(0)..work(count)` on `workers` workers that share the threads of the current pool, and
/// gives the results in order. After a failure no further work is begun, and the first error is
/// given.
///
/// # Errors
///
/// That of the work that failed.
pub fn in_parallel<T: Send, E: Send + From<Error>>(
    count: usize,
    workers: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let workers = workers.clamp(1, count.max(1));
    let threads = (rayon::current_num_threads() / workers).max(1);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Mutex<Vec<(usize, Result<T, E>)>> = Mutex::new(vec![]);
    let worker = || {
        let done = || failed.load(Ordering::SeqCst);
        while !done() {
            let index = next.fetch_add(1, Ordering::SeqCst);
            if index >= count {
                break;
            }
            let result = work(index);
            if result.is_err() {
                failed.store(true, Ordering::SeqCst);
            }
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
        }
    };
    if workers == 1 {
        worker();
    } else {
        let pools: Result<Vec<_>, _> =
            (0..workers).map(|_| rayon::ThreadPoolBuilder::new().num_threads(threads).build()).collect();
        let pools = pools.map_err(|error| Error::Threads { reason: error.to_string() })?;
        let started = std::thread::scope(|scope| {
            pools.iter().try_for_each(|pool| {
                let thread = std::thread::Builder::new().spawn_scoped(scope, || pool.install(worker));
                // Those that did start need not go on.
                thread.inspect_err(|_| failed.store(true, Ordering::SeqCst)).map(drop)
            })
        });
        started.map_err(|error| Error::Threads { reason: error.to_string() })?;
    }
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_on_any_number_of_workers() {
        for workers in [1, 2, 5] {
            let results = in_parallel(7, workers, |index| Ok::<_, Error>(index * index)).unwrap();
            assert_eq!(results, [0, 1, 4, 9, 16, 25, 36], "{workers}");
        }
        assert!(in_parallel(0, 2, |_| Ok::<_, Error>(())).unwrap().is_empty());
    }

    #[test]
    fn the_first_failure_ends_it() {
        let begun = AtomicUsize::new(0);
        let result: Result<Vec<()>, Error> = in_parallel(100, 1, |index| {
            begun.fetch_add(1, Ordering::SeqCst);
            if index == 3 { Err(Error::Interrupted) } else { Ok(()) }
        });
        assert!(matches!(result, Err(Error::Interrupted)));
        assert_eq!(begun.load(Ordering::SeqCst), 4);
    }
}
