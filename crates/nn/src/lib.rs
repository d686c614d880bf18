//! CPU engine: training and inference of networks given as graphs.
//!
//! The main type is [`Network`]: a [`Graph`](collegial_arch::Graph) planned once for a batch size,
//! with its parameters, gradients and all memory of a training step. Collegial ensembles (section 3
//! of the paper) are networks of many narrow groups, the shapes on which general libraries reach a
//! tenth to a third of the machine; here a step takes about as long as its FLOPs suggest.
//!
//! - [`kernels`] holds the multiplications: convolutions of any group width with their gradients. A
//!   dense layer is a 1x1 convolution of one image whose pixels are the samples, so ensembles of
//!   small dense layers run on the same kernels.
//! - Norms, biases, residual sums and ReLUs are fused into one pass over memory per direction.
//! - [`Optimiser`] updates all parameters in one pass.
//!
//! Everything is f32 with sums in f64 where they are long, and reproducible bit for bit on any
//! number of threads.

mod builder;

mod error;
mod fold;
pub mod kernels;
mod loss;
mod lower;
pub mod memory;
mod network;
mod observed;
mod optimiser;
mod options;
mod parameters;
mod passes;
mod profile;
mod program;
mod schedule;
mod state;
mod thread_team;
mod workers;

pub use builder::NetworkBuilder;
pub use error::Error;
pub use loss::{cross_entropy, half_squares};
pub use network::Network;
pub use observed::{Extent, Layer, Layout, Observed, Observer};
pub use optimiser::{AdamConstants, Optimiser, UpdateRule};
pub use options::{Mode, NormPolicy, Parametrisation};
pub use parameters::{Fans, Parameter};
pub use profile::{Pass, Profile};
pub use program::Kind;
