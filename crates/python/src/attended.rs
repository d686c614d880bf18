//! Long work under a Python call: other Python threads run meanwhile, Ctrl-C is heard, and progress is reported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use collegial::ask::{Monitor, Refusal};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::CollegialError;

/// Between two looks at signals and progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the work, told to stop, is given to do so. Work that never looks is left to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// What the work and the thread that waits for it tell each other.
#[derive(Clone, Default)]
pub struct Watch(Arc<Shared>);

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    /// The share that is done, where it has changed since the last look.
    news: Mutex<Option<f64>>,
}

impl Monitor for Watch {
    fn progress(&self, share: f64, _state: Option<&str>) {
        if let Ok(mut news) = self.0.news.lock() {
            *news = Some(share);
        }
    }

    fn stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }
}

impl Watch {
    /// Looks at signals, and passes news on.
    fn look(&self, progress: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        let news = self.0.news.lock().ok().and_then(|mut news| news.take());
        if let (Some(progress), Some(share)) = (progress, news) {
            progress.call1((share, 1.0))?;
        }
        Ok(())
    }
}

/// Runs `work` on a thread of its own while this one attends to Python.
pub fn attended<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Watch) -> Result<T, Refusal> + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::default();
    let (sender, receiver) = channel();
    // In a mutex only because the receiver, like this thread, leaves Python for the time of waiting.
    let receiver = Mutex::new(receiver);
    let theirs = watch.clone();
    std::thread::Builder::new().name("collegial".into()).spawn(move || {
        // Nobody listens any more where the call was interrupted.
        let _ = sender.send(work(theirs));
    })?;
    let wait = |time| {
        py.detach(|| {
            receiver
                .lock()
                .map_or(Err(RecvTimeoutError::Disconnected), |receiver| receiver.recv_timeout(time))
        })
    };
    loop {
        let result = wait(LOOK_EVERY);
        if let Err(error) = watch.look(progress, py) {
            watch.0.stopped.store(true, Ordering::Relaxed);
            // Whatever it ends with, the call ends with the error.
            let _ = wait(GRACE);
            return Err(error);
        }
        match result {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(Refusal::Sentence(sentence))) => return Err(CollegialError::new_err(sentence)),
            Ok(Err(Refusal::Interrupted)) => return Err(PyKeyboardInterrupt::new_err(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the computation broke off; what it said is on stderr"));
            }
        }
    }
}
