//! Counter-based random numbers: a draw depends on its seed, stream and trial alone.

pub(crate) mod normal;
pub mod philox;
mod rng;

pub use rng::Rng;
