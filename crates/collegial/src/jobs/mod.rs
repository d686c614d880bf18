//! Trainings as jobs of a scheduler: [`plan`] lists them, [`job`] runs one, [`gather`] makes of
//! what is finished what one process would have made, [`status`] says how far they are.
//!
//! A job replays its request with a [share](collegial_experiments::jobs) of one training; everything
//! that a plan's jobs write is in the plan's directory, which its user names.

pub mod gather;
pub mod job;
pub mod plan;
mod shell;
pub mod status;

use std::num::NonZeroU32;
use std::path::Path;

use collegial_arch::Spec;
use collegial_experiments::jobs::{Ledger, Share};
use collegial_experiments::reproduce::Item;
use collegial_train::Backends;
use serde::{Deserialize, Serialize};

use crate::{Error, ModelRef, Monitor, TrainingOptions, reproduce, sweep, validate};

/// A request whose trainings can be jobs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "verb", content = "request", rename_all = "lowercase")]
pub enum Task {
    /// Figures and tables of the paper.
    Reproduce(reproduce::Request),
    /// Any networks.
    Sweep(sweep::Request),
    /// Designs along a curve.
    Validate(validate::Request),
}

impl Task {
    /// The same with all that a worker elsewhere needs: whole paths, and networks instead of files
    /// of them. What is written goes to `directory`.
    fn settled(self, directory: &Path) -> Result<Self, Error> {
        let whole = |path: &Path| std::path::absolute(path).map_err(Error::reading(path));
        let absolute = |training: TrainingOptions| {
            whole(&training.data).map(|data| TrainingOptions { data, ..training })
        };
        Ok(match self {
            Self::Reproduce(request) => Self::Reproduce(reproduce::Request {
                data: request.data.as_deref().map(whole).transpose()?,
                records: request.records.as_deref().map(whole).transpose()?,
                out: Some(directory.to_owned()),
                ..request
            }),
            Self::Sweep(request) => {
                let models = request.models.iter().map(portable);
                Self::Sweep(sweep::Request {
                    models: models.collect::<Result<_, _>>()?,
                    training: absolute(request.training)?,
                    out: Some(directory.to_owned()),
                    ..request
                })
            }
            Self::Validate(request) => {
                let model = portable(&request.model.model)?;
                Self::Validate(validate::Request {
                    model: crate::Model { model, ..request.model },
                    training: absolute(request.training)?,
                    out: Some(directory.to_owned()),
                    ..request
                })
            }
        })
    }

    /// The same without the place where it is written: a plan's own directory, which another host may
    /// see under another path.
    fn placeless(self) -> Self {
        match self {
            Self::Validate(request) => Self::Validate(validate::Request { out: None, ..request }),
            Self::Sweep(request) => Self::Sweep(sweep::Request { out: None, ..request }),
            Self::Reproduce(request) => Self::Reproduce(reproduce::Request { out: None, ..request }),
        }
    }

    /// Whether both ask for the same, however often.
    fn asks_the_same(&self, other: &Self) -> bool {
        let often = |task: &Self| match task.clone().placeless() {
            Self::Validate(request) => Self::Validate(validate::Request { runs: None, ..request }),
            Self::Sweep(request) => {
                Self::Sweep(sweep::Request { runs: sweep::Request::default().runs, ..request })
            }
            Self::Reproduce(request) => {
                Self::Reproduce(reproduce::Request { command: String::new(), ..request })
            }
        };
        often(self) == often(other)
    }

    /// Enters all trainings in the ledger. What a pilot plans is settled by what is finished of it.
    fn list(&mut self, ledger: &Ledger, monitor: &dyn Monitor) -> Result<(), Error> {
        // Nothing is trained, so that no backend is needed.
        let planned = self.share(Share::Nothing(ledger), Backends::NATIVE, monitor)?;
        if let Self::Validate(request) = self {
            request.runs = planned;
        }
        Ok(())
    }

    /// Does one training.
    fn train(&self, part: &str, backends: Backends, monitor: &dyn Monitor) -> Result<(), Error> {
        self.share(Share::One(part), backends, monitor).map(|_| ())
    }

    /// Does a share of the trainings, and gives how often `validate` wants each.
    fn share(
        &self,
        share: Share<'_>,
        backends: Backends,
        monitor: &dyn Monitor,
    ) -> Result<Option<NonZeroU32>, Error> {
        match self {
            Self::Reproduce(request) => {
                reproduce::compute(request, share, backends, monitor, Item::trains, |_| Ok(()))?;
                Ok(None)
            }
            Self::Sweep(request) => sweep::answer(request, share, backends, monitor).map(|_| None),
            Self::Validate(request) => {
                let validated = validate::answer(request, share, backends, monitor)?;
                Ok(NonZeroU32::new(validated.validation.planned_runs))
            }
        }
    }
}

/// A model that means the same elsewhere: a name stays one, a file becomes its network.
fn portable(model: &ModelRef) -> Result<ModelRef, Error> {
    let spec = model.open()?.into_spec();
    let name = spec.name();
    let means_it = name.parse::<Spec>().is_ok_and(|known| known == spec);
    Ok(if means_it { ModelRef::Name(name) } else { spec.into() })
}
