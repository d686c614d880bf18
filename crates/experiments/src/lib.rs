//! Many trainings: does the kernel's variance rank the test errors of designs (section 5 of the
//! paper)?
//!
//! The main type is [`Sweep`]: designs of a [`Line`] along the primal or dual curve of a search,
//! each trained several times ([`train_all`]), with mean test errors, standard errors and the rank
//! correlation between what was predicted and what was measured; [`power`] plans how often. What a
//! sweep comes to is an enum with a written rule: [`Order`], [`Difference`], [`validate::Verdict`].
//! Every finished run is cached ([`ResultCache`]), so that an interrupted sweep repeats nothing.

mod board;
mod cache;
mod context;
mod correlation;
mod designs;
mod error;
pub mod evidence;
pub mod jobs;
mod pool;
pub mod power;
pub mod reproduce;
mod row;
pub mod score;
mod show;
mod sweep;
pub mod synthetic;
mod training;
pub mod validate;

pub use cache::ResultCache;
pub use context::Context;
pub use correlation::{Correlation, Order, mean, rank_correlation, standard_error};
pub use designs::{Candidate, Line, fitted_alpha};
pub use error::Error;
pub use pool::in_parallel;
pub use row::{Difference, Row};
pub use sweep::Sweep;
#[cfg(test)]
pub(crate) use sweep::made_up;
pub use training::{MOST_TRAININGS, Run, Training, train_all};
