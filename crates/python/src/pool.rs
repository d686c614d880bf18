//! The threads that computations run on: started once, not for every call, and anew in a process
//! that was forked.

use std::sync::{Arc, Mutex};

use collegial::Error;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool of the last call, with the process and the number of threads it belongs to.
static LAST: Mutex<Option<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs work on so many threads, by default one per core.
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    pool(threads.unwrap_or(0))?.install(work)
}

fn pool(threads: usize) -> Result<Arc<ThreadPool>, Error> {
    let process = std::process::id();
    let Ok(mut last) = LAST.lock() else { return start(threads) };
    match last.take() {
        Some((owner, count, pool)) if (owner, count) == (process, threads) => {
            *last = Some((owner, count, Arc::clone(&pool)));
            return Ok(pool);
        }
        // The threads of a parent do not exist in its child: waiting for them to end would never
        // end.
        Some((owner, _, pool)) if owner != process => std::mem::forget(pool),
        _ => {}
    }
    let pool = start(threads)?;
    *last = Some((process, threads, Arc::clone(&pool)));
    Ok(pool)
}

fn start(threads: usize) -> Result<Arc<ThreadPool>, Error> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Arc::new).map_err(|error| Error::Threads { threads, reason: error.to_string() })
}
