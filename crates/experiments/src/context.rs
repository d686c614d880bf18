//! The context of a sweep: a seed, its finished results, and a monitor.

use collegial_core::Monitor;
use collegial_train::{Backends, Engine};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cache::Defect;
use crate::jobs::Share;
use crate::{Error, ResultCache};

/// What a sweep is given. Threads are those of the current rayon pool.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Seed of everything random.
    pub seed: u64,
    /// Finished results.
    pub cache: &'a ResultCache,
    /// Whoever watches.
    pub monitor: &'a dyn Monitor,
    /// Which trainings are done here.
    pub share: Share<'a>,
    /// Who computes them.
    pub engine: Engine,
    /// The backends that this process has.
    pub backends: Backends,
}

impl<'a> Context<'a> {
    /// A context in which every training is done, by the native engine.
    pub fn new(seed: u64, cache: &'a ResultCache, monitor: &'a dyn Monitor) -> Self {
        Self { seed, cache, monitor, share: Share::All, engine: Engine::Native, backends: Backends::NATIVE }
    }

    /// A result: read from its file where it was computed before with the same
    /// settings and seed, else computed and kept. Results are plain JSON: no NaN and no infinity.
    ///
    /// # Errors
    ///
    /// Those of the computation; if it was interrupted meanwhile, its result is dropped.
    pub fn cached<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        settings: &impl Serialize,
        compute: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.cached_if(name, settings, |_| Ok(()), compute)
    }

    /// The same for results that can be impossible: a file whose result is so is not used.
    pub(crate) fn cached_if<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        settings: &impl Serialize,
        check: impl FnOnce(&T) -> Result<(), Defect>,
        compute: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.go_on()?;
        let settings = &(self.seed, settings);
        let kept = self.cache.read(name, settings);
        match kept.and_then(|kept| kept.map(|kept| check(&kept).map(|()| kept)).transpose()) {
            Ok(Some(kept)) => return Ok(kept),
            Ok(None) => {}
            Err(reason) => {
                let path = self.cache.file(name, settings)?;
                self.monitor.say(&format!("{}: {reason}; computing it again", path.display()));
            }
        }
        let start = std::time::Instant::now();
        let result = compute()?;
        self.go_on()?;
        self.cache.keep(name, settings, &result, start.elapsed().as_secs_f64())?;
        Ok(result)
    }

    /// Nothing, unless the monitor says stop.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`].
    pub fn go_on(&self) -> Result<(), Error> {
        if self.monitor.stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
