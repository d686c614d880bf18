//! The threads that computations run on: started once, not for every call, and anew in a process
//! that was forked.

use std::sync::{Arc, Mutex};

use collegial::message::option;
use collegial::{Error, InvalidRequest};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool of the last call, with the process and the number of threads it belongs to.
static LAST: Mutex<Option<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// A number of threads as the program's `--threads` takes it, or why it is none.
pub struct Threads(Result<usize, InvalidRequest>);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    /// An error here would get a note of Python's; [`on_threads`] says it in one sentence.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = given.str()?.to_string_lossy().into_owned();
        Ok(Self(collegial::threads(&text).map_err(|accepted| {
            InvalidRequest([option("threads"), format!(" is {text}; {accepted}").into()].into())
        })))
    }
}

/// Runs work on so many threads, by default one per core.
pub fn on_threads<T: Send>(
    threads: Option<Threads>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let threads = threads.map_or(Ok(0), |Threads(count)| count)?;
    pool(threads)?.install(work)
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
