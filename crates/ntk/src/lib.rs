//! How a network's tangent kernel behaves at initialisation.
//!
//! The variance of the empirical NTK is what the paper's method rests on. Three ways lead to it, each the oracle of the
//! next: [`exact`] moments (fully connected ReLU networks), the [`LawSampler`] (any chain of layers, without drawing a weight
//! matrix), and [`explicit`] weights (any network, N x N).
//!
//! [`NetworkDraws`] measures the kernel of a whole network over initialisations, norms over a batch included.
//!
//! The main type is [`LawSampler`]; [`Fit`] is the paper's Algorithm 1 on top of it.

pub mod covariance;
pub mod draws;
mod error;
pub mod exact;
pub mod explicit;
pub mod fit;
mod law;
pub mod nmk;

pub use draws::NetworkDraws;
pub use error::Error;
pub use exact::{ExactMoments, SingleColumn};
pub use explicit::ExplicitKernel;
pub use fit::Fit;
pub use law::{BLOCK, LawSampler, Output, Workspace};
