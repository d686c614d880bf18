//! The multiplications of a training step, f32.

mod conv;
mod direct;
mod direct_weights;
mod ensemble;
mod matmul;
mod planes;
mod pointwise;
mod shape;
mod simd;
mod tile;
mod workers;

pub use conv::Conv;
pub use ensemble::{EnsembleDense, EnsembleShape};
pub use shape::{ConvShape, ShapeError};
pub use simd::Isa;
