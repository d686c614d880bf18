//! Trainings as jobs that any scheduler can run.
//!
//! A sweep's trainings are pure functions of their settings, and the result of each is a
//! [result](crate::ResultCache) named by their hash. So work needs no queue and no leases: [`Plan`] lists
//! the trainings of a request, and a job is that same request with a [`Share`] of one training.
//! Running a job again goes on with its checkpoint, or does nothing; the same request without a
//! share reads what the jobs left. [`Bill`] says beforehand what all of it takes, [`Status`] how
//! far it is.

mod bill;
mod plan;
mod share;
mod status;

pub use bill::{Bill, BillLine, Hours, seconds_per_image};
pub use plan::{Job, Machine, Plan, PlanError};
pub use share::{Ledger, Listed, Share};
pub use status::{Failure, State, Status, cache_directory, forget_failure, keep_failure};
