//! What every sweep is given: a seed, its finished parts, and a monitor.

use collegial_core::Monitor;
use collegial_train::{Backends, Engine};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::jobs::Share;
use crate::{Error, Parts};

/// What a sweep is given. Threads are those of the current rayon pool.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Seed of everything random.
    pub seed: u64,
    /// Finished parts.
    pub parts: &'a Parts,
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
    pub fn new(seed: u64, parts: &'a Parts, monitor: &'a dyn Monitor) -> Self {
        Self { seed, parts, monitor, share: Share::All, engine: Engine::Native, backends: Backends::NATIVE }
    }

    /// The result of one part: read from its file where it was computed before with the same
    /// settings and seed, else computed and kept. Results are plain JSON: no NaN and no infinity.
    ///
    /// # Errors
    ///
    /// Those of the computation; if it was interrupted meanwhile, its result is dropped.
    pub fn part<T: Serialize + DeserializeOwned, E: From<Error>>(
        &self,
        name: &str,
        settings: &impl Serialize,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.part_or_old(name, settings, None::<&()>, compute)
    }

    /// The same; a part that an older version kept under `old` settings is taken too.
    ///
    /// # Errors
    ///
    /// As [`part`](Self::part).
    pub fn part_or_old<T: Serialize + DeserializeOwned, E: From<Error>>(
        &self,
        name: &str,
        settings: &impl Serialize,
        old: Option<&impl Serialize>,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.go_on()?;
        if let Some(kept) = self.parts.find(name, &(self.seed, settings), self.monitor)? {
            return Ok(kept);
        }
        if let Some(old) = old
            && let Some(kept) = self.parts.find(name, &(self.seed, old), self.monitor)?
        {
            return Ok(kept);
        }
        let start = std::time::Instant::now();
        let result = compute()?;
        self.go_on()?;
        self.parts.keep(name, &(self.seed, settings), &result, start.elapsed().as_secs_f64())?;
        Ok(result)
    }

    /// Whether a part was computed before.
    pub fn has_part(&self, name: &str, settings: &impl Serialize) -> bool {
        self.parts.has(name, &(self.seed, settings))
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
