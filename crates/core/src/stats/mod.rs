//! Statistics: running moments that merge in a fixed order, intervals, the bootstrap, least squares
//! and rank correlation.

mod block;
mod interval;
mod moments;
mod rank;
mod regression;
mod resample;

pub use block::{Tally, TallyError, sample_blocks, tally_blocks};
pub use interval::{Interval, interpolated};
pub use moments::Moments;
pub use rank::{Ordered, correlation, spearman};
pub use regression::{Regression, centred_logs};
pub use resample::bootstrap;
