//! The threads that computations run on: started once, not for every call, and anew in a process
//! that was forked.

use std::sync::{Arc, Mutex};

use collegial::Error;
use collegial_report::visible;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::CollegialError;

/// The pool of the last call, with the process and the number of threads it belongs to.
static LAST: Mutex<Option<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// A number of threads as the program's `--threads` takes it.
#[derive(Clone, Copy)]
pub struct Threads(usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = given.str()?.to_string_lossy().into_owned();
        collegial::threads(&text).map(Self).map_err(|accepted| {
            CollegialError::new_err(format!("threads= is {}; {accepted}", visible(&text)))
        })
    }
}

/// Runs work on so many threads, by default one per core.
pub fn on_threads<T: Send>(
    threads: Option<Threads>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    pool(threads.map_or(0, |Threads(count)| count))?.install(work)
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
