//! Designs trained several times over, to see whether the kernel's variance ranks their test errors (section 5).
//!
//! [`Line`] chooses designs along the primal or dual curve of a search, [`train_all`] trains each of them several times, and a
//! [`Sweep`] holds what came out: mean test errors with standard errors, and the rank correlation between what was
//! predicted and what was measured. Every finished run is a part, so that an interrupted experiment repeats nothing.

mod correlation;
mod designs;
pub mod dynamics;
pub mod images;
mod pool;
mod sweep;
pub mod synthetic;
mod training;

pub(crate) use correlation::standard_error;
pub use correlation::{Correlation, rank_correlation};
pub use designs::{Candidate, Line, fitted_alpha};
pub use pool::in_parallel;
pub use sweep::{Row, Sweep};
pub use training::{Run, Training, train_all};
