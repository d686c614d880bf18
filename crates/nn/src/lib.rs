//! How a network computes: the CPU engine of `collegial`.
//!
//! [`kernels`] holds the multiplications, f32 and NCHW: convolutions of any group width, 1x1 convolutions, and the
//! block-diagonal dense layers of an ensemble, each with its forward pass and both gradients. Collegial ensembles
//! (section 3 of the paper) are networks of many narrow groups, the shapes on which general libraries reach a tenth
//! to a third of the machine; these kernels are why training one is as fast as its FLOPs suggest.
//!
//! The main type is [`kernels::Conv`]: a shape turned into a plan that runs the three passes.

pub mod kernels;
