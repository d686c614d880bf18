//! Common parts of all crates of collegial: random numbers, statistics, named arrays, atomic files,
//! progress and SIMD dispatch. Nothing here knows of networks.
//!
//! The main type is [`Rng`]: a counter-based generator (Philox) at (seed, stream, trial). Together
//! with [`sample_blocks`] it makes every Monte Carlo result of the crates above (the kernel sampler,
//! Algorithm 1 of the paper, the bootstrap of its fit) the same bit for bit on any number of
//! threads, shards and restarts, and on any CPU. [`Moments`] estimates the paper's quantity of
//! interest, the second-moment ratio E\[K^2\] / E\[K\]^2 of the tangent kernel K, with its standard
//! error.
//!
//! - [`random`] and [`stats`]: random numbers, moments, intervals, regressions;
//! - [`tensors`]: named arrays, safetensors and .npy;
//! - [`files`]: atomic writes, with fault injection for tests; [`checksum`] inside a file;
//!   [`protobuf`] for ONNX and TensorBoard;
//! - [`Monitor`]: progress and stop, one trait for every long loop;
//! - [`simd`]: one portable source compiled for several instruction sets.

pub mod checksum;
mod clock;
pub mod files;
mod monitor;
pub mod protobuf;
pub mod random;
pub mod simd;
pub mod smooth;
pub mod special;
pub mod stats;
pub mod tensors;

pub use clock::Instant;
pub use monitor::{Monitor, Named, Silent};
pub use random::{Rng, philox};
pub use stats::{
    Interval, Moments, Ordered, Regression, Tally, TallyError, bootstrap, centred_logs, correlation,
    interpolated, sample_blocks, spearman, tally_blocks,
};
