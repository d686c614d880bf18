//! Chance and its bookkeeping: random numbers that do not depend on who draws them, and moments
//! that do not depend on who adds them up.
//!
//! The main type is [`Rng`]: a generator positioned at (seed, stream, trial). Together with
//! [`sample_blocks`] it makes every Monte Carlo result of the crates above (the kernel's law
//! sampler, Algorithm 1 of the paper, the bootstrap of its fit) the same bit for bit on any number
//! of threads, shards and restarts, and on any CPU. [`Moments`] estimates the paper's quantity of
//! interest, the second-moment ratio E\[K^2\] / E\[K\]^2 of the tangent kernel K, with its standard
//! error.

pub mod block;
mod clock;
pub mod interval;
pub mod moments;
pub mod monitor;
pub mod normal;
pub mod philox;
pub mod rank;
pub mod regression;
pub mod resample;
pub mod rng;
pub mod simd;
pub mod smooth;
pub mod special;

pub use block::{Tally, TallyError, sample_blocks, tally_blocks};
pub use clock::Instant;
pub use interval::Interval;
pub use moments::Moments;
pub use monitor::{Monitor, Named, Silent};
pub use rank::spearman;
pub use regression::{Regression, centred_logs};
pub use resample::bootstrap;
pub use rng::Rng;
