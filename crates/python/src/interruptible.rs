//! Long work under a Python call: other Python threads run meanwhile, Ctrl-C is heard, and progress
//! is reported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use collegial::train::{Log, RunEpoch};
use collegial::{Error, Monitor};
use collegial_report::visible;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::rendering::exception;

/// Between two looks at signals and news.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the work, told to stop, is given to do so. Work that does not look in time is left to end
/// by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Whom the news of a computation go to.
#[derive(Default)]
pub struct Listeners<'py> {
    /// Called with the share that is done, and 1.
    pub progress: Option<Bound<'py, PyAny>>,
    /// Called with the JSON of every epoch.
    pub epoch: Option<Bound<'py, PyAny>>,
}

/// What the work and the thread that waits for it tell each other.
#[derive(Clone, Default)]
pub struct Watch(Arc<Shared>);

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    news: Mutex<News>,
}

/// What has happened since the last look.
#[derive(Default)]
struct News {
    share: Option<f64>,
    said: Vec<String>,
    epochs: Vec<String>,
}

impl Monitor for Watch {
    fn progress(&self, share: f64, _state: Option<&str>) {
        self.tell(|news| news.share = Some(share));
    }

    fn say(&self, sentence: &str) {
        self.tell(|news| news.said.push(visible(sentence)));
    }

    fn stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }
}

impl Log for Watch {
    fn epoch(&self, epoch: &RunEpoch) {
        if let Ok(json) = collegial::to_json(epoch) {
            self.tell(|news| news.epochs.push(json));
        }
    }
}

impl Watch {
    fn tell(&self, news: impl FnOnce(&mut News)) {
        if let Ok(mut all) = self.0.news.lock() {
            news(&mut all);
        }
    }

    /// Looks at signals, and passes news on.
    fn look(&self, listeners: &Listeners<'_>, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        let news = self.0.news.lock().map(|mut news| std::mem::take(&mut *news)).unwrap_or_default();
        if !news.said.is_empty() {
            let log = py.import("logging")?.call_method1("getLogger", ("collegial",))?;
            for sentence in news.said {
                log.call_method1("info", ("%s", sentence))?;
            }
        }
        if let Some(epoch) = &listeners.epoch {
            for json in news.epochs {
                epoch.call1((json,))?;
            }
        }
        if let (Some(progress), Some(share)) = (&listeners.progress, news.share) {
            progress.call1((share, 1.0))?;
        }
        Ok(())
    }
}

/// Runs `work` on a thread of its own while this one listens to Python.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    listeners: &Listeners<'_>,
    work: impl FnOnce(&Watch) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    collegial::environment::check().map_err(|error| exception(&error))?;
    let watch = Watch::default();
    let (sender, receiver) = channel();
    // In a mutex only because the receiver, like this thread, leaves Python for the time of
    // waiting.
    let receiver = Mutex::new(receiver);
    let theirs = watch.clone();
    std::thread::Builder::new().name("collegial".into()).spawn(move || {
        // Nobody listens any more where the call was interrupted.
        let _ = sender.send(work(&theirs));
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
        if let Err(error) = watch.look(listeners, py) {
            watch.0.stopped.store(true, Ordering::Relaxed);
            // Whatever it ends with, the call ends with the error.
            let _ = wait(GRACE);
            return Err(error);
        }
        match result {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(Error::Interrupted)) => return Err(PyKeyboardInterrupt::new_err(())),
            Ok(Err(error)) => return Err(exception(&error)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the computation broke off; what it said is on stderr"));
            }
        }
    }
}
