//! Compute kernels: convolutions and matrix products of a training step, f32, on slices.
//!
//! [`Conv`] plans and runs convolutions, the block-diagonal dense layers of an MLP ensemble among
//! them; a plan says how much scratch it needs, the caller passes it, and no pass allocates.
//! [`multiply`] is a single product. From the outside in:
//!
//! - `method` has the dispatch rules, `algorithm` what they choose: `pointwise` (1x1, matrix
//!   products), `winograd` (wide 3x3) or `direct`;
//! - `product` and `pointwise_weights` cut matrix products into blocks, `pack` and `panels` are
//!   a block's inner loops: an sgemm of our own, since one that is called per image (the `gemm`
//!   crate, the benchmarks' yardstick) packs the weights again each time, and allocates to do so;
//! - `input` is an array, or the norm and ReLU of one, applied as it is packed; `epilogue` adds
//!   biases and takes statistics while results are in cache;
//! - `padded` lays out zero-padded images, `tile` holds the two register-blocked inner loops,
//!   `simd` their vectors and `neon` those of aarch64; `avx512` are `tile`'s and `panels`' loops in
//!   wider registers.
//!
//! The partition of work into tasks depends on the shape alone, so results do not depend on the
//! number of threads.

mod algorithm;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod conv;
mod direct;
mod epilogue;
mod input;
mod matrix;
mod method;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
mod pack;
mod padded;
mod panels;
mod pointwise;
mod pointwise_weights;
mod product;
mod shape;
mod simd;
mod tile;
mod weights;
mod winograd;

pub use conv::Conv;
pub use epilogue::Bias;
pub(crate) use epilogue::{Epilogue, Piece};
pub(crate) use input::{Affine, Input};
pub use matrix::{Matrix, multiply};
pub use method::Method;
pub use shape::{ConvShape, ShapeError};
pub use simd::Isa;
pub(crate) use weights::{Operands, Weights};
